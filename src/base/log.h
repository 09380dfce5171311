/* SPDX-License-Identifier: Apache-2.0
 * log.h: one line per event, to stderr or the callback of vc_log_set. */
#ifndef VC_BASE_LOG_H
#define VC_BASE_LOG_H

#include "base/status.h"

enum vc_log_level { VC_LOG_ERROR, VC_LOG_WARN, VC_LOG_INFO, VC_LOG_DEBUG };
void vc_log_line(enum vc_log_level level, const char *fmt, ...) VC_PRINTF(2, 3);
int vc_log_level(void);
void vc_log_set_level(int level);           /* at any time, from any thread; vc_log_set before other threads log */

#endif
