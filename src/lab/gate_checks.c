/* SPDX-License-Identifier: Apache-2.0
 * gate_checks.c: the rules. A gate passes when all its checks do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/gate.h"

static void add(struct lab_gate *g, bool ok, const char *name, const char *text) {
    if (g->num_checks == VC_ARRAY_LEN(g->check)) return;
    g->check[g->num_checks++] = (struct lab_check){ name, text, ok };
    g->pass = g->pass && ok;
}

static bool profile_is(const struct lab_gate *g, const char *name) {
    size_t n = strlen(name);
    return strncmp(g->numerics, name, n) == 0 && (g->numerics[n] == '\0' || g->numerics[n] == ',');
}

/* Sequences are members of the reference set; with --allow-ties every differing position is a near tie. */
static void sequences(struct lab_gate *g) {
    uint32_t ties = 0, routed = 0;
    for (uint32_t i = 0; i < g->num_diffs; i++) {
        ties += g->diff[i].near_tie || g->diff[i].router_tie;
        routed += !g->diff[i].near_tie && g->diff[i].router_tie;
    }
    bool members = g->num_members == g->num_answers, tied = ties == g->num_diffs && g->not_judged == 0;
    add(g, members || (g->args->allow_ties && tied), "sequences in the reference set",
        lab_text(g, "%u of %u%s", g->num_members, g->num_answers,
                 members ? ""
                 : !g->args->allow_ties
                     ? " (--allow-ties accepts near ties)"
                     : lab_text(g, "; %u of %u differing positions are near ties%s, %u positions not judged", ties,
                                g->num_diffs, routed ? " (some of a router)" : "", g->not_judged)));
}

static void same_bits(struct lab_gate *g) {
    char at[64] = "";
    for (uint32_t i = 0; i < g->num_concurrency; i++)
        snprintf(at + strlen(at), sizeof at - strlen(at), "%s%u", i ? ", " : "", g->concurrency[i]);
    uint32_t repeats = g->runs / g->num_concurrency;
    add(g, !g->not_same, "same bits",
        g->not_same ? g->not_same
                    : lab_text(g, "%u engine%s at concurrency %s, and read as one prompt", repeats,
                               repeats == 1 ? "" : "s", at));
}

static void words(struct lab_gate *g, double share_long) {
    for (int l = 0; l < 2; l++) {
        const struct lab_words *a = &g->words_forced[l], *b = &g->words_free[l];
        if (!a->total) continue;
        bool ok = l && share_long < 1 ? (double)a->differ <= (1 - share_long) * (double)a->total &&
                                            (double)b->differ <= (1 - share_long) * (double)b->total
                                      : a->differ == 0 && b->differ == 0;
        add(g, ok, l ? "logit words, contexts over 96" : "logit words, contexts to 96",
            lab_text(g, "%llu of %llu differ; %llu of %llu generating%s", (unsigned long long)a->differ,
                     (unsigned long long)a->total, (unsigned long long)b->differ, (unsigned long long)b->total,
                     l && share_long < 1 ? "; one in 1000 may" : ""));
    }
}

static bool has_words(const struct lab_gate *g) { return g->words_forced[0].total + g->words_forced[1].total > 0; }

/* Our rms error on vLLM's own ids against vLLM's. */
static void reported(struct lab_gate *g, struct lab_session *s) {
    double ours = lab_error_rms(&g->logprob), theirs = lab_error_rms(&g->logprob_ref);
    if (!g->logprob.n) return;
    add(g, ours <= 1.3 * theirs, "rms error of log-probabilities",
        lab_text(g, "%.5f, vLLM's own %.5f: %.3f times, at most 1.3", ours, theirs, theirs > 0 ? ours / theirs : 0.0));
    s->logprob.sum2 += g->logprob.sum2;
    s->logprob.n += g->logprob.n;
    s->logprob_ref.sum2 += g->logprob_ref.sum2;
    s->logprob_ref.n += g->logprob_ref.n;
    s->pooled++;
}

static void errors(struct lab_gate *g, struct lab_session *s) {
    bool f32 = profile_is(g, "f32");
    if (f32 && !g->ref_is_vllm && g->f32_bound > 0) {
        const struct lab_error *e = g->rows.n ? &g->rows : &g->logit;
        if (e->n)
            add(g, e->max <= 2 * g->f32_bound, "largest logit error",
                lab_text(g, "%.3g, at most 2 x %.3g, the reference's own in f32", e->max, g->f32_bound));
    }
    if (profile_is(g, "vllm") && g->ref_is_vllm) {
        if (g->kind == LAB_MOE && strcmp(g->ref, "vllm-eager") == 0)
            words(g, 1);
        else if (g->kind == LAB_MODELS && has_words(g))
            words(g, 0.999);
        else if (g->kind == LAB_MODELS)
            reported(g, s);
    }
}

static void greedy(struct lab_gate *g) {
    const char *wide = NULL;
    for (uint32_t i = 0; i < g->num_diffs; i++) /* diffs are in order: the first of each sequence */
        if (!wide && (i == 0 || g->diff[i].seq != g->diff[i - 1].seq)) {
            const struct lab_top *t = g->seq[g->diff[i].seq].step[g->diff[i].step].ref.top;
            if (t[0].value - t[1].value >= 0.5) wide = g->seq[g->diff[i].seq].name;
        }
    add(g, !wide && !g->not_judged, "first differences",
        wide ? lab_text(g, "%s: first different at a margin of 0.5 or more", wide)
             : lab_text(g, "%u of %u sequences equal; the others leave at a margin below 0.5", g->num_members,
                        g->num_answers));
    add(g, g->wide_differ == 0, "argmax where the margin is 0.5 or more",
        lab_text(g, "%u of %u equal", g->wide - g->wide_differ, g->wide));
    double rms = lab_error_rms(&g->gap);
    add(g, g->gap.n && rms <= 0.25, "rms difference of best - second",
        lab_text(g, "%.4f over %llu steps, at most 0.25", rms, (unsigned long long)g->gap.n));
}

static void quants(struct lab_gate *g) {
    double order = 1e-3, bound = profile_is(g, "f32") ? order : profile_is(g, "gguf") ? g->peer_max + order : NAN;
    if (!isnan(bound) && g->rows.n)
        add(g, g->rows.max <= bound, "largest logit error",
            lab_text(g, "%.4g, at most %.4g%s", g->rows.max, bound, profile_is(g, "gguf") ? ", llama.cpp's own and 0.001 for the order of f32 sums" : ""));
}

void lab_gate_checks(struct lab_gate *g, struct lab_session *s) {
    g->pass = g->error.status == VC_OK;
    if (g->pass) {
        switch (g->kind) {
            case LAB_MODELS:
            case LAB_MOE:
                sequences(g);
                errors(g, s);
                break;
            case LAB_GREEDY: greedy(g); break;
            case LAB_VLLM_FILE:
                sequences(g);
                add(g, g->digests_equal == g->num_positions, "rows of logits, by sha256",
                    lab_text(g, "%u of %u equal", g->digests_equal, g->num_positions));
                break;
            case LAB_QUANTS: quants(g); break;
        }
        same_bits(g);
    }
    g->left_out = g->kind == LAB_QUANTS && g->error.status == VC_E_UNSUPPORTED;
    s->ok = s->ok && (g->pass || g->left_out);
}
