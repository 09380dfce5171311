/* SPDX-License-Identifier: Apache-2.0
 * chat_int.h: shared by the files behind chat_request.h: the path to the field being read, errors that name it, and
 * results whose memory is checked. Not for use outside src/text/jinja. */
#ifndef VC_TEXT_JINJA_CHAT_INT_H
#define VC_TEXT_JINJA_CHAT_INT_H

#include "base/str.h"
#include "io/json.h"
#include "text/chat_request.h"

struct vc_chat_at {
    const struct vc_chat_style *style;  /* NULL while tools or variables are read */
    struct vc_chat_fault *fault;
    vc_err *err;
};

/* Appends to the path; returns its length before, for vc_chat_up. A path that is too long is cut. */
size_t vc_chat_down(struct vc_chat_at *c, const char *fmt, ...) VC_PRINTF(2, 3);
void vc_chat_up(struct vc_chat_at *c, size_t length);
vc_status vc_chat_bad(struct vc_chat_at *c, const char *fmt, ...) VC_PRINTF(2, 3);
vc_status vc_chat_no_memory(struct vc_chat_at *c);

/* Put a new reference into a list or an object; a NULL value means that there was no memory for it. */
vc_status vc_chat_add(struct vc_chat_at *c, json_t *list, json_t *value);
vc_status vc_chat_set(struct vc_chat_at *c, json_t *object, const char *key, json_t *value);

json_t *vc_chat_joined(const json_t *list);
enum vc_chat_tools_how { VC_CHAT_TOOLS_FILLED, VC_CHAT_TOOLS_AS_GIVEN };    /* are missing members written as null? */
vc_status vc_chat_tools_at(struct vc_chat_at *c, json_t **out, const json_t *tools, enum vc_chat_tools_how how);
vc_status vc_chat_fold_developer(struct vc_chat_at *c, json_t *messages);

#endif
