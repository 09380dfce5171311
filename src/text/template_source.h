/* SPDX-License-Identifier: Apache-2.0
 * template_source.h: where chat templates come from: a GGUF file, a model folder or its tokenizer_config.json,
 * chat_template.jinja, chat_template.json, or a file that is the template itself; with the special tokens that
 * templates are given. No vocabulary is loaded. A result owns its memory and is immutable. */
#ifndef VC_TEXT_TEMPLATE_SOURCE_H
#define VC_TEXT_TEMPLATE_SOURCE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"

struct vc_gguf;

struct vc_template_named { const char *name; vc_str text; };    /* "default", "tool_use", … */

struct vc_template_source {
    struct vc_arena arena;
    const char *path;                       /* of the file that holds the templates */
    struct vc_template_named v[16];
    size_t n;
    const char *bos_token, *eos_token, *unk_token, *pad_token;      /* NULL: not known */
};

/* VC_E_NOT_FOUND when there is no template: *s is then empty. */
vc_status vc_template_source_open(struct vc_template_source *s, const char *path, vc_err *err);
/* From an open GGUF file; path is for error texts. */
vc_status vc_template_source_from_gguf(struct vc_template_source *s, const struct vc_gguf *g, const char *path, vc_err *err);
void vc_template_source_close(struct vc_template_source *s);

/* The template of this name; without a name, as transformers chooses: the only one, or "tool_use" for a request with
 * tools if there is one, else "default". VC_E_NOT_FOUND says which names there are. */
vc_status vc_template_source_pick(const struct vc_template_source *s, const char *name, bool with_tools,
                                  const struct vc_template_named **out, vc_err *err);

#endif
