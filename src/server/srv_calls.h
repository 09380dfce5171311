/* SPDX-License-Identifier: Apache-2.0
 * srv_calls.h: forced tool calls, from the text that follows their schema to deltas. One owner thread. */
#ifndef VC_SERVER_SRV_CALLS_H
#define VC_SERVER_SRV_CALLS_H

#include <stdbool.h>

#include "base/str.h"
#include "vllmc.h"

enum { SRV_CALLS_MOST = 16 };              /* deltas of one push; a push is the text of one token */
struct srv_calls {
    int state;
    bool named, named_now, named_sent, in_string, escaped, started, done;
    uint32_t depth, index, complete;       /* complete: calls whose arguments have ended */
    struct vc_buf name, args;
    size_t from, offset[SRV_CALLS_MOST];
    vc_tool_delta delta[SRV_CALLS_MOST]; uint32_t n;   /* of the last push; valid until the next */
};
void srv_calls_init(struct srv_calls *s, bool named);
/* tool_name: of a named call. */
void srv_calls_push(struct srv_calls *s, const char *text, size_t n, const char *tool_name);
void srv_calls_free(struct srv_calls *s);

#endif
