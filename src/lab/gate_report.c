/* SPDX-License-Identifier: Apache-2.0
 * gate_report.c: one gate as text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lab/gate.h"

static const char *paint(bool ok, const char *text) {
    static char buf[2][64];
    static unsigned at;
    if (!isatty(STDOUT_FILENO) || getenv("NO_COLOR")) return text;
    char *p = buf[at++ % 2];
    snprintf(p, sizeof buf[0], "\033[%dm%s\033[0m", ok ? 32 : 31, text);
    return p;
}

static void print_error(const char *what, const struct lab_error *ours, const struct lab_error *ref,
                        const char *ref_name) {
    if (!ours->n) return;
    printf("  %-30s max %.4g, rms %.4g over %llu values", what, ours->max, lab_error_rms(ours),
           (unsigned long long)ours->n);
    if (ref && ref->n) printf("; %s: max %.4g, rms %.4g", ref_name, ref->max, lab_error_rms(ref));
    printf("\n");
}

static void print_diff(const struct lab_gate *g, const struct lab_diff *d) {
    const struct lab_seq *s = &g->seq[d->seq];
    printf("    %s, step %u: %d instead of %d; logits %.6g and %.6g; ", s->name, d->step, d->ours, d->ref,
           d->logit_ours, d->logit_ref);
    if (isnan(d->margin))
        printf("no source knows both");
    else
        printf("margin %.4g (%.3g ulps) by %s", d->margin, d->margin_ulps, d->source);
    if (d->near_tie)
        printf(": near tie (at most %.3g)", d->limit);
    else if (d->router_tie)
        printf(": near tie of a router (%.2g bf16 ulps between its k-th and next logit)", d->router_margin_ulps);
    else
        printf(": not a tie");
    printf("\n");
}

static void print_body(const struct lab_gate *g) {
    if (g->kind != LAB_QUANTS) {
        printf("  %-30s %u of %u equal, %u of %u sequences in the reference set\n", "generating", g->free_equal,
               g->num_positions, g->num_members, g->num_answers);
        printf("  %-30s %u of %u equal", "given the reference's text", g->forced_equal, g->num_positions);
        if (g->not_judged) printf(", %u not judged (their rotary tables depend on the length)", g->not_judged);
        printf("\n");
    }
    if (g->num_answers < g->num_seqs)
        printf("  %-30s %u prompts: the reference has no answer\n", "skipped", g->num_seqs - g->num_answers);
    print_error("logits, all kept f64 rows", &g->rows, NULL, "");
    if (g->rows.n && g->f32_bound > 0) printf("  %-30s max %.4g\n", "  the reference's f32", g->f32_bound);
    if (g->rows.n && g->peer_max > 0) printf("  %-30s max %.4g\n", "  llama.cpp", g->peer_max);
    print_error("logits against f64", &g->logit, &g->logit_ref, g->ref);
    print_error("log-probabilities against f64", &g->logprob, &g->logprob_ref, g->ref);
    if (g->words_forced[0].total || g->words_forced[1].total) {
        uint64_t n = g->words_forced[0].total + g->words_forced[1].total,
                 d = g->words_forced[0].differ + g->words_forced[1].differ;
        printf("  %-30s %llu of %llu differ\n", "logit words", (unsigned long long)d, (unsigned long long)n);
    }
    if (g->num_diffs) printf("  differing positions\n");
    for (uint32_t i = 0; i < g->num_diffs; i++) {
        if (i == 40) {
            printf("    … and %u more (--json lists all)\n", g->num_diffs - i);
            break;
        }
        print_diff(g, &g->diff[i]);
    }
}

void lab_report_text(const struct lab_gate *g) {
    printf("%s: %s\n", g->path, g->title ? g->title : "?");
    if (g->ref)
        printf("  reference %s, numerics %s, weights %s\n", g->ref, g->numerics, g->dtype ? g->dtype : "as stored");
    if (g->error.status != VC_OK) {
        printf("  %s: %s\n%s\n\n", vc_status_name(g->error.status), g->error.text,
               g->left_out ? "left out" : paint(false, "FAIL"));
        return;
    }
    print_body(g);
    for (uint32_t i = 0; i < g->num_checks; i++)
        printf("  %s %-38s %s\n", paint(g->check[i].ok, g->check[i].ok ? "ok  " : "FAIL"), g->check[i].name,
               g->check[i].text);
    printf("%s\n\n", paint(g->pass, g->pass ? "PASS" : "FAIL"));
}
