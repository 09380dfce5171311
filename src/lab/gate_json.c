/* SPDX-License-Identifier: Apache-2.0
 * gate_json.c: one gate as JSON. */
#include <math.h>

#include "io/json_out.h"
#include "lab/gate.h"

static void text(struct vc_json_out *w, const char *key, const char *v) {
    vc_jo_key(w, key);
    vc_jo_str(w, v);
}
static void count(struct vc_json_out *w, const char *key, uint64_t v) {
    vc_jo_key(w, key);
    vc_jo_uint(w, v);
}
static void real(struct vc_json_out *w, const char *key, double v) {
    vc_jo_key(w, key);
    if (isfinite(v))
        vc_jo_f64(w, v);
    else
        vc_jo_null(w);
}
static void flag(struct vc_json_out *w, const char *key, bool v) {
    vc_jo_key(w, key);
    vc_jo_bool(w, v);
}

static void error(struct vc_json_out *w, const char *key, const struct lab_error *e) {
    if (!e->n) return;
    vc_jo_key(w, key);
    vc_jo_begin_obj(w);
    real(w, "max", e->max);
    real(w, "rms", lab_error_rms(e));
    count(w, "values", e->n);
    vc_jo_end_obj(w);
}

static void words(struct vc_json_out *w, const char *key, const struct lab_words v[2]) {
    if (!v[0].total && !v[1].total) return;
    vc_jo_key(w, key);
    vc_jo_begin_obj(w);
    count(w, "differ_to_96", v[0].differ);
    count(w, "total_to_96", v[0].total);
    count(w, "differ_over_96", v[1].differ);
    count(w, "total_over_96", v[1].total);
    vc_jo_end_obj(w);
}

static void diffs(struct vc_json_out *w, const struct lab_gate *g) {
    vc_jo_key(w, "differing_positions");
    vc_jo_begin_arr(w);
    for (uint32_t i = 0; i < g->num_diffs; i++) {
        const struct lab_diff *d = &g->diff[i];
        vc_jo_begin_obj(w);
        text(w, "sequence", g->seq[d->seq].name);
        count(w, "step", d->step);
        vc_jo_key(w, "token");
        vc_jo_int(w, d->ours);
        vc_jo_key(w, "reference_token");
        vc_jo_int(w, d->ref);
        real(w, "logit", d->logit_ours);
        real(w, "logit_of_reference_token", d->logit_ref);
        real(w, "margin", d->margin);
        real(w, "margin_ulps", d->margin_ulps);
        text(w, "margin_source", isnan(d->margin) ? NULL : d->source);
        real(w, "near_tie_limit", d->limit);
        flag(w, "near_tie", d->near_tie);
        flag(w, "router_tie", d->router_tie);
        real(w, "router_margin_ulps", d->router_margin_ulps);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

static void results(struct vc_json_out *w, const struct lab_gate *g) {
    count(w, "positions", g->num_positions);
    count(w, "equal_generating", g->free_equal);
    count(w, "equal_forced", g->forced_equal);
    count(w, "not_judged", g->not_judged);
    count(w, "sequences", g->num_answers);
    count(w, "members", g->num_members);
    count(w, "skipped_prompts", g->num_seqs - g->num_answers);
    count(w, "runs", g->runs);
    error(w, "logit_error_rows", &g->rows);
    error(w, "logit_error", &g->logit);
    error(w, "logit_error_reference", &g->logit_ref);
    error(w, "logprob_error", &g->logprob);
    error(w, "logprob_error_reference", &g->logprob_ref);
    error(w, "gap_error", &g->gap);
    if (g->f32_bound > 0) real(w, "reference_f32_max_error", g->f32_bound);
    if (g->peer_max > 0) real(w, "peer_max_error", g->peer_max);
    words(w, "words_forced", g->words_forced);
    words(w, "words_generating", g->words_free);
    if (g->digests) {
        count(w, "rows", g->digests);
        count(w, "rows_equal", g->digests_equal);
    }
    diffs(w, g);
    vc_jo_key(w, "checks");
    vc_jo_begin_arr(w);
    for (uint32_t i = 0; i < g->num_checks; i++) {
        vc_jo_begin_obj(w);
        text(w, "name", g->check[i].name);
        text(w, "text", g->check[i].text);
        flag(w, "ok", g->check[i].ok);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

void lab_report_json(const struct lab_gate *g, struct vc_json_out *w) {
    vc_jo_begin_obj(w);
    text(w, "path", g->path);
    text(w, "title", g->title);
    text(w, "reference", g->ref);
    text(w, "numerics", g->numerics);
    text(w, "architecture", g->architecture);
    text(w, "dtype", g->dtype ? g->dtype : "as stored");
    if (g->error.status != VC_OK) {
        text(w, "error", vc_status_name(g->error.status));
        text(w, "error_text", g->error.text);
        flag(w, "left_out", g->left_out);
    } else
        results(w, g);
    flag(w, "pass", g->pass);
    vc_jo_end_obj(w);
}
