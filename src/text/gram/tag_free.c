/* SPDX-License-Identifier: Apache-2.0
 * tag_free.c: free text beside triggers. With D any text and T the triggers: text without one is D − D T D; text up to
 * the first one, which is t, is (D t) − (D T .D), . any character: no trigger is complete before the end. */
#include "text/gram/tag_int.h"

vc_gram_node vc_tag_alt(struct vc_tag_cx *t, const struct vc_tag_strs *s) {
    vc_gram_node *v = VC_NEW_ARRAY(&t->arena, vc_gram_node, s->n + 1);
    for (uint32_t i = 0; v && i < s->n; i++) v[i] = vc_gram_text(t->g, s->v[i].p, s->v[i].n);
    return v ? vc_gram_alt(t->g, v, s->n) : 0;
}

vc_gram_node vc_tag_without(struct vc_tag_cx *t, const struct vc_tag_strs *s) {
    if (!s->n) return t->any;
    return vc_gram_minus(t->g, t->any, vc_gram_seq(t->g, (vc_gram_node[]){ t->any, vc_tag_alt(t, s), t->any }, 3));
}

vc_gram_node vc_tag_up_to(struct vc_tag_cx *t, vc_str trigger, const struct vc_tag_strs *triggers,
                          const struct vc_tag_strs *excludes) {
    vc_gram_node text = vc_gram_seq2(t->g, t->any, vc_gram_text(t->g, trigger.p, trigger.n));
    vc_gram_node early = vc_gram_seq(t->g, (vc_gram_node[]){ t->any, vc_tag_alt(t, triggers), t->dot, t->any }, 4);
    vc_gram_node bad = vc_gram_seq(t->g, (vc_gram_node[]){ t->any, vc_tag_alt(t, excludes), t->any }, 3);
    return vc_gram_minus(t->g, text, excludes->n ? vc_gram_alt2(t->g, early, bad) : early);
}

vc_gram_node vc_tag_dispatch(struct vc_tag_cx *t, const struct vc_tag_strs *triggers, const struct vc_tag_part *part,
                             uint32_t n, const struct vc_tag_strs *excludes, bool once) {
    struct vc_tag_strs stop = { VC_NEW_ARRAY(&t->arena, vc_str, (size_t)triggers->n + excludes->n + 1), 0 };
    vc_gram_node *way = VC_NEW_ARRAY(&t->arena, vc_gram_node, (size_t)n + 1),
                 *rest = VC_NEW_ARRAY(&t->arena, vc_gram_node, (size_t)n + 1);
    if (!stop.v || !way || !rest) return 0;
    for (uint32_t i = 0; i < triggers->n; i++) stop.v[stop.n++] = triggers->v[i];
    for (uint32_t i = 0; i < excludes->n; i++) stop.v[stop.n++] = excludes->v[i];
    uint32_t ways = 0;
    for (uint32_t i = 0; i < triggers->n; i++) {
        uint32_t rests = 0;
        for (uint32_t k = 0; k < n; k++)
            if (vc_str_eq(part[k].trigger, triggers->v[i])) rest[rests++] = part[k].rest;
        if (!rests || ways >= n) continue;
        way[ways++] =
            vc_gram_seq2(t->g, vc_tag_up_to(t, triggers->v[i], triggers, excludes), vc_gram_alt(t->g, rest, rests));
    }
    vc_gram_node one = vc_gram_alt(t->g, way, ways), text = vc_tag_without(t, &stop);
    return once ? vc_gram_alt2(t->g, text, one) : vc_gram_seq2(t->g, vc_gram_star(t->g, one), text);
}
