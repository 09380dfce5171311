/* SPDX-License-Identifier: Apache-2.0
 * chat_request.h: an OpenAI chat request's messages, tools and template variables, checked and put into the form that
 * chat templates take, as vLLM does (renderers/chat_utils.py, parse_chat_messages). Results are jansson values that
 * the caller owns; the inputs are not changed. Errors are VC_E_INVALID: `path` names the field
 * (messages[3].content[1].type), the text begins with it. */
#ifndef VC_TEXT_CHAT_REQUEST_H
#define VC_TEXT_CHAT_REQUEST_H

#include <jansson.h>

#include "base/status.h"
#include "text/template.h"

/* The field at fault, or "" where the error is of no one field. err->text is "path: words", or the words alone then. */
struct vc_chat_fault { char path[128]; };

/* What is to be known about a template and its model; fill once per template. */
struct vc_chat_style {
    enum vc_content_format format;
    bool developer; /* the template knows the developer role; else it is made a system message at the front */
    const char *model_name;     /* for "NAME is not a multimodal model"; borrowed */
};
struct vc_chat_style vc_chat_style_of(const struct vc_template *t, const char *model_name);

/* messages → the array a template gets. Per message: role; content as a string (text parts joined by "\\n") or as
 * parts; of an assistant the tool_calls, their arguments from JSON text to an object ({} when they are none), and
 * reasoning (also as reasoning_content, either name is taken); tool_call_id of a tool; name; task; tools of a
 * developer. A missing content is empty. Image, audio, video and file parts are refused: "NAME is not a multimodal
 * model". Other fields are left out. */
vc_status vc_chat_messages(json_t **out, const json_t *messages, const struct vc_chat_style *style,
                           struct vc_chat_fault *fault, vc_err *err);

/* tools → the array a template gets: {"type": "function", "function": {"name", "description", "parameters",
 * "strict"?}}, with null for a missing description or parameters. *out is NULL for no tools (NULL, null). */
vc_status vc_chat_tools(json_t **out, const json_t *tools, struct vc_chat_fault *fault, vc_err *err);

/* Template variables: `defaults` of the server, over them `request` (chat_template_kwargs, without null and "auto"),
 * over them reasoning_effort and what follows from it: enable_thinking, unless the request gives it. All may be NULL.
 */
vc_status vc_chat_kwargs(json_t **out, const json_t *defaults, const json_t *request, const char *reasoning_effort,
                         struct vc_chat_fault *fault, vc_err *err);

#endif
