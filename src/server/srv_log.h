/* SPDX-License-Identifier: Apache-2.0
 * srv_log.h: the server's log, written by a thread of its own. */
#ifndef VC_SERVER_SRV_LOG_H
#define VC_SERVER_SRV_LOG_H

#include "server/srv_int.h"

/* Takes the lines of vc_log_line until _stop, which waits a moment for those that are not written. NULL: no memory or
 * thread; lines then go to stderr as they did. json: an object per line. */
struct srv_log *srv_log_start(bool json);
void srv_log_stop(struct srv_log *l);
bool srv_log_json(const struct srv_log *l);
/* One line of a JSON log; members: "name":value, … without braces. */
void srv_log_object(struct srv_log *l, int level, const struct vc_buf *members);

#endif
