/* SPDX-License-Identifier: Apache-2.0
 * gate_ties.c: every position where the engine's token differs from the reference's in the reference's own context, the
 * truth's margin there, and whether it is a near tie: a margin of at most one bf16 ulp at that magnitude, or of five
 * times the rms error of vLLM's own reported values on this reference set. */
#include <math.h>

#include "lab/gate.h"
#include "num/round.h"
#include "op/numerics.h"

/* Distance of two ids by a source, or NAN. *size: the larger magnitude, where the source has absolute values. */
static double margin_of(const struct lab_known *k, int32_t a, int32_t b, double *size) {
    double x, y;
    if (!lab_known_value(k, a, &x) || !lab_known_value(k, b, &y)) return NAN;
    if (k->row || k->words || k->kind == LAB_LOGIT) *size = fmax(fabs(x), fabs(y));
    return fabs(x - y);
}

static enum vc_dtype logit_grid(const char *numerics) {
    struct vc_numerics n;
    if (vc_numerics_parse(&n, numerics, VC_BF16, NULL) != VC_OK) return VC_F32;
    return (enum vc_dtype)n.slot[VC_SLOT_LOGIT];
}

static void fill(const struct lab_gate *g, struct lab_diff *d, const struct lab_step *st, bool varies,
                 enum vc_dtype grid) {
    double size = fmax(fabs(d->logit_ours), fabs(d->logit_ref));
    const struct {
        const struct lab_known *k;
        const char *name;
    } sources[] = { { varies ? &st->pair : &st->truth, "the f64 truth" },
                    { &st->pair, "the f64 truth" },
                    { &st->ref, g->ref } };
    d->margin = NAN;
    for (size_t i = 0; i < VC_ARRAY_LEN(sources) && isnan(d->margin); i++) {
        d->margin = margin_of(sources[i].k, d->ours, d->ref, &size);
        d->source = sources[i].name;
    }
    d->margin_ulps = d->margin / vc_ulp(grid, size);
    d->limit = fmax(vc_ulp(VC_BF16, size), 5 * g->vllm_rms);
    if (g->kind == LAB_GREEDY) d->limit = 0.5; /* llama.cpp's own distance from exact logits is 0.1 to 1 */
    d->near_tie = d->margin <= d->limit;
}

vc_status lab_gate_ties(struct lab_gate *g, vc_err *err) {
    uint32_t n = 0, at = 0;
    for (uint32_t i = 0; i < g->num_seqs; i++)
        for (uint32_t k = 0; g->seq[i].tokens && k < g->seq[i].num_steps; k++)
            n += g->forced[i].pos[k].judged && g->forced[i].pos[k].ours != g->seq[i].tokens[k];
    g->diff = VC_NEW_ARRAY(&g->arena, struct lab_diff, n + 1);
    if (!g->diff) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    enum vc_dtype grid = logit_grid(g->numerics);
    for (uint32_t i = 0; i < g->num_seqs; i++) {
        const struct lab_seq *s = &g->seq[i];
        for (uint32_t k = 0; s->tokens && k < s->num_steps; k++) {
            const struct lab_pos *p = &g->forced[i].pos[k];
            if (!p->judged || p->ours == s->tokens[k]) continue;
            struct lab_diff *d = &g->diff[at++];
            *d = (struct lab_diff){ .seq = i,
                                    .step = k,
                                    .ours = p->ours,
                                    .ref = s->tokens[k],
                                    .logit_ours = (double)p->logit_ours,
                                    .logit_ref = (double)p->logit_ref,
                                    .router_margin_ulps = INFINITY };
            fill(g, d, &s->step[k], g->forced[i].rope_varies, grid);
        }
    }
    g->num_diffs = at;
    return VC_OK;
}
