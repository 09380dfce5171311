/* SPDX-License-Identifier: Apache-2.0
 * template.h: chat templates. A template is compiled once and is then immutable; any number of threads may render it.
 * Language and environment are those of transformers' render_jinja_template (Jinja2 3.1, ImmutableSandboxedEnvironment,
 * trim_blocks, lstrip_blocks, break/continue, generation tag, raise_exception, strftime_now, tojson without \u escapes). */
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
};

struct vc_template_args {
    const json_t *messages;             /* array of objects */
    const json_t *tools, *documents;    /* arrays; NULL: none */
    const json_t *kwargs; /* object of further variables (enable_thinking …), or NULL. None of them may take the
                                           name of a variable that is set here, nor of a global function: VC_E_INVALID names it */
    bool add_generation_prompt, continue_final_message;
    const char *bos_token, *eos_token, *unk_token, *pad_token;  /* NULL: not defined */
    int64_t now;                        /* unix time for strftime_now, shown in the machine's time zone */
    struct vc_template_limits limits;
};

/* VC_E_TEMPLATE with line and column when the text is not a template. `text` is not kept. */
vc_status vc_template_compile(struct vc_template **out, const char *text, size_t n, vc_err *err);
void vc_template_del(struct vc_template *t);

/* Appends the rendered text to *out; on error *out is as it was. The message of the template's own raise_exception is passed
 * on as it is (VC_E_TEMPLATE); all other errors say line and column. continue_final_message cuts the text behind the content
 * of the last message, as transformers does. */
vc_status vc_template_render(const struct vc_template *t, const struct vc_template_args *a, struct vc_buf *out,
                             vc_err *err);

/* Renders with the members of an object as the only variables besides the globals (messages, tools … have no meaning). */
vc_status vc_template_render_vars(const struct vc_template *t, const json_t *vars, int64_t now,
                                  const struct vc_template_limits *limits, struct vc_buf *out, vc_err *err);

#endif
