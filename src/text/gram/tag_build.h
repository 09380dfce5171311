/* SPDX-License-Identifier: Apache-2.0
 * tag_build.h: structural tags: free text with parts that follow a grammar. */
#ifndef VC_TEXT_TAG_BUILD_H
#define VC_TEXT_TAG_BUILD_H

#include "text/gram/gram_build.h"

/* spec is vLLM's {"structures", "triggers"} or xgrammar's {"format"}. Errors as those of vc_schema_build. */
vc_status vc_tag_build(struct vc_gram *g, const char *spec, size_t n, int whitespace, vc_gram_node *root,
                       struct vc_grammar_where *where, vc_err *err);

#endif
