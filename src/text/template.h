/* SPDX-License-Identifier: Apache-2.0
 * template.h: chat templates. A template is compiled once and is then immutable; any number of threads may render it.
 * Language and environment are those of transformers' render_jinja_template (Jinja2 3.1,
 * ImmutableSandboxedEnvironment, trim_blocks, lstrip_blocks, break/continue, generation tag, raise_exception,
 * strftime_now, tojson without \u escapes). */
#ifndef VC_TEXT_TEMPLATE_H
#define VC_TEXT_TEMPLATE_H

#include <jansson.h>

#include "base/status.h"
#include "base/str.h"

struct vc_template;

/* Limits of one render; 0 takes the default. Exceeding one is VC_E_TEMPLATE with a text that names it. */
struct vc_template_limits {
    uint64_t steps;         /* evaluated nodes and loop rounds; default 50,000,000 */
    uint64_t output_bytes;  /* default 64 MiB */
    uint64_t memory_bytes;  /* everything a render allocates; default 256 MiB */
    uint32_t depth;         /* nested nodes, macro calls and values; default 1000 */
    uint32_t ms;            /* wall-clock time; default 5000, looked at every few thousand steps */
};

/* Where in the template an error is; both 0 when it is in no place of it. */
struct vc_template_place { uint32_t line, column; };

struct vc_template_args {
    const json_t *messages;             /* array of objects */
    const json_t *tools, *documents;    /* arrays; NULL: none */
    /* Object of further variables (enable_thinking …), or NULL. None of them may take the name of a global function,
     * of messages, tools or add_generation_prompt, nor of documents or a special token that is given here:
     * VC_E_INVALID names it. */
    const json_t *kwargs;
    bool add_generation_prompt, continue_final_message;
    const char *bos_token, *eos_token, *unk_token, *pad_token;  /* NULL: not defined */
    int64_t now;                        /* unix time for strftime_now, shown in the machine's time zone */
    struct vc_template_limits limits;
    struct vc_template_place *place;    /* NULL, or set on error */
};

/* VC_E_TEMPLATE with line and column when the text is not a template. `text` is not kept. */
vc_status vc_template_compile(struct vc_template **out, const char *text, size_t n, vc_err *err);
vc_status vc_template_compile_at(struct vc_template **out, const char *text, size_t n, struct vc_template_place *place,
                                 vc_err *err);
void vc_template_del(struct vc_template *t);

/* Appends the rendered text to *out; on error *out is as it was. The message of the template's own raise_exception is
 * passed on as it is (VC_E_TEMPLATE); all other errors say line and column. continue_final_message cuts the text
 * behind the content of the last message, as transformers does. */
vc_status vc_template_render(const struct vc_template *t, const struct vc_template_args *a, struct vc_buf *out,
                             vc_err *err);

/* Renders with the members of an object as the only variables besides the globals (messages, tools … have no meaning).
 */
vc_status vc_template_render_vars(const struct vc_template *t, const json_t *vars, int64_t now,
                                  const struct vc_template_limits *limits, struct vc_buf *out, vc_err *err);

/* ---- what a template reads ---- */

/* Is `name` a variable that the template takes from its caller (as jinja2.meta.find_undeclared_variables)? */
bool vc_template_uses(const struct vc_template *t, const char *name);
/* The i-th of these variables in alphabetical order, owned by t; NULL behind the last. */
const char *vc_template_variable(const struct vc_template *t, size_t i);
/* Does the text have "developer" or 'developer' in it? Where not, vLLM hands developer messages over as system
 * messages. */
bool vc_template_knows_developer(const struct vc_template *t);

/* How a message's content is to be given: as one string, or as a list of parts {"type": "text", "text": …}. */
enum vc_content_format { VC_CONTENT_STRING, VC_CONTENT_PARTS };

/* vLLM's --chat-template-content-format auto: parts where the template has a loop over a message's content, found in
 * the syntax tree as in vLLM's _detect_content_format; then one user message is rendered in both forms, and where only
 * one of them gives its text, that form is taken. Renders twice: keep the answer. */
enum vc_content_format vc_template_content_format(const struct vc_template *t);

#endif
