/* SPDX-License-Identifier: Apache-2.0
 * tag_int.h: what tag_build.c and tag_free.c share. */
#ifndef VC_TEXT_TAG_INT_H
#define VC_TEXT_TAG_INT_H

#include <jansson.h>

#include "base/arena.h"
#include "base/str.h"
#include "text/gram/gram_build.h"

/* Strings that end or interrupt free text. */
struct vc_tag_strs { vc_str *v; uint32_t n; };

struct vc_tag_cx {
    struct vc_gram *g;
    int whitespace;
    uint32_t depth;
    struct vc_buf path;                    /* JSON pointer of the format being read */
    struct vc_arena arena;
    struct vc_grammar_where *where;        /* may be NULL */
    vc_err *err;
    vc_gram_node dot, any;                 /* one character; any text */
};

/* Errors name the place and the member. */
vc_status vc_tag_fail(struct vc_tag_cx *t, vc_status s, const char *member, const char *fmt, ...) VC_PRINTF(4, 5);
/* The list of strings under member (absent: none); after them those of more. Empty strings are an error. */
vc_status vc_tag_strings(struct vc_tag_cx *t, const json_t *o, const char *member, const struct vc_tag_strs *more,
                         struct vc_tag_strs *out);
vc_gram_node vc_tag_alt(struct vc_tag_cx *t, const struct vc_tag_strs *s);

/* tag_free.c. Text in which none of the strings occurs. */
vc_gram_node vc_tag_without(struct vc_tag_cx *t, const struct vc_tag_strs *s);
/* Text that ends with trigger, in which no trigger occurs earlier and none of excludes at all. */
vc_gram_node vc_tag_up_to(struct vc_tag_cx *t, vc_str trigger, const struct vc_tag_strs *triggers,
                          const struct vc_tag_strs *excludes);

/* What follows a trigger. */
struct vc_tag_part { vc_str trigger; vc_gram_node rest; };
/* Free text with parts: each trigger's first occurrence is followed by its rest. once: the first part is the end. */
vc_gram_node vc_tag_dispatch(struct vc_tag_cx *t, const struct vc_tag_strs *triggers, const struct vc_tag_part *part,
                             uint32_t n, const struct vc_tag_strs *excludes, bool once);

#endif
