/* SPDX-License-Identifier: Apache-2.0
 * gate_router.c: how close a router's choice was: probes on the router's logits of the last prompt token. */
#include <math.h>
#include <string.h>

#include "api/api_int.h"
#include "lab/gate_run.h"
#include "num/half.h"
#include "num/round.h"

struct look {
    uint32_t experts, top_k;
    double ulps;
};

static double value(const struct vc_view *v, uint32_t c) {
    const char *row = (const char *)v->data + (size_t)(v->rows - 1) * v->stride;
    if (v->dtype == VC_F32) return (double)((const float *)(const void *)row)[c];
    uint16_t h = ((const uint16_t *)(const void *)row)[c];
    return (double)(v->dtype == VC_BF16 ? vc_bf16_f32(h) : vc_f16_f32(h));
}

/* The k-th and (k+1)-th largest by counting: experts are few. */
static double nth_largest(const struct vc_view *v, uint32_t n) {
    for (uint32_t c = 0; c < v->cols; c++) {
        double x = value(v, c);
        uint32_t above = 0, equal = 0;
        for (uint32_t i = 0; i < v->cols; i++) {
            double y = value(v, i);
            above += y > x;
            equal += y == x;
        }
        if (above <= n && n < above + equal) return x;
    }
    return NAN;
}

static void probe(void *ctx, const char *label, const struct vc_view *out) {
    struct look *l = ctx;
    if (!strstr(label, "router") || strstr(label, "topk") || out->cols != l->experts || !out->rows ||
        !vc_dtype_is_float(out->dtype))
        return;
    double a = nth_largest(out, l->top_k - 1), b = nth_largest(out, l->top_k), ulps = (a - b) / vc_ulp(VC_BF16, a);
    if (ulps < l->ulps) l->ulps = ulps;
}

vc_status lab_router_margin(vc_model *m, const int32_t *prompt, uint32_t num_prompt, double *ulps, vc_err *err) {
    struct vc_net *net = vc_engine_net(vc_model_engine(m));
    struct look l = { net->config.num_experts, net->config.num_experts_per_tok, INFINITY };
    *ulps = INFINITY;
    if (l.experts <= l.top_k || l.top_k == 0) return VC_OK;
    struct lab_job j = { .prompt = prompt, .num_prompt = num_prompt, .max_tokens = 1 };
    vc_prog_set_probe(net->prog, probe, &l);
    vc_status s = lab_run_jobs(m, &j, 1, 1, err);
    vc_prog_set_probe(net->prog, NULL, NULL);
    *ulps = l.ulps;
    return s;
}
