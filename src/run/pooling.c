/* SPDX-License-Identifier: Apache-2.0
 * pooling.c: vectors of sequences that pool: hidden states after the final norm as they leave the steps, of the last
 * token, of the first, or their mean. A mean is a sum in f64 in the order of positions, so that no cut into chunks
 * changes it. The length of a vector is the root of its squares' sum in f64 in the order of dimensions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/engine_int.h"

static uint32_t hidden(const struct vc_engine *e) { return e->net->config.hidden_size; }

vc_status vc_engine_check_pool(const struct vc_engine *e, const struct vc_engine_seq_params *p, vc_err *err) {
    const struct vc_pooler *pooler = &e->net->pooler;
    uint32_t len = e->net->max_model_len, d, most = pooler->max_embed_len ? VC_MIN(pooler->max_embed_len, len) : len;
    if (p->num_prompt > most)
        return vc_fail(err, VC_E_TOO_LONG, "prompt: %u tokens, but %s is %u", p->num_prompt,
                       most < len ? "max_embed_len" : "max_model_len", most);
    VC_TRY(vc_pooler_dimensions(pooler, &e->net->config, p->pool.dimensions, &d, err));
    if (!vc_sched_fits_prompt(e->sched, p->num_prompt))
        return vc_fail(
            err, VC_E_TOO_LONG, "prompt: %u tokens do not fit the KV cache of %u tokens", p->num_prompt,
            vc_net_kv_tokens(e->net, e->net->kv.pages - 1, e->params.block_size, e->params.max_num_batched_tokens));
    return VC_OK;
}

vc_status vc_pooled_new(struct pooled **out, const struct vc_engine *e, const struct vc_engine_pool *p, vc_err *err) {
    const struct vc_pooler *pooler = &e->net->pooler;
    struct pooled *q = *out = calloc(1, sizeof *q);
    if (!q) return vc_fail(err, VC_E_NOMEM, "out of memory for an embedding");
    q->use_activation = p->use_activation < 0 ? pooler->use_activation : p->use_activation != 0;
    q->vector = calloc(hidden(e), sizeof *q->vector);
    if (pooler->type == VC_POOL_MEAN) q->sum = calloc(hidden(e), sizeof *q->sum);
    if (!q->vector || (pooler->type == VC_POOL_MEAN && !q->sum))
        return vc_fail(err, VC_E_NOMEM, "out of memory for an embedding of %u values", hidden(e));
    return vc_pooler_dimensions(pooler, &e->net->config, p->dimensions, &q->dimensions, err);
}

void vc_pooled_del(struct pooled *p) {
    if (!p) return;
    free(p->sum);
    free(p->vector);
    free(p);
}

bool vc_pool_wants(const struct vc_engine *e, const struct vc_sched_item *it, uint32_t pos) {
    bool last = it->samples && pos + 1 == it->num_computed + it->num_tokens;
    return last || e->net->pooler.type == VC_POOL_MEAN || (e->net->pooler.type == VC_POOL_CLS && pos == 0);
}

/* x / max(|x|, 1e-12), as torch's normalize but in f64 until the end. */
static void to_unit_length(float *x, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    double length = sqrt(sum);
    if (length < 1e-12) length = 1e-12;
    for (uint32_t i = 0; i < n; i++) x[i] = (float)((double)x[i] / length);
}

/* False: a value is not finite. */
static bool finish(const struct vc_engine *e, struct pooled *q, const struct vc_seq *s) {
    if (q->sum)
        for (uint32_t i = 0; i < hidden(e); i++) q->vector[i] = (float)(q->sum[i] / s->num_prompt);
    for (uint32_t i = 0; i < hidden(e); i++)
        if (!isfinite(q->vector[i])) return false;
    if (q->use_activation) to_unit_length(q->vector, q->dimensions);
    return q->done = true;
}

static void take_row(struct vc_engine *e, uint32_t r) {
    const struct out_row *o = &e->outs[e->head_first + r];
    const struct vc_seq *s = e->step->items[o->item].seq;
    struct vc_engine_seq *q = s->user;
    struct pooled *p = q->pooled;
    const float *x = vc_engine_row(e, r, 0);
    if (p->sum) {
        if (o->pos == 0) memset(p->sum, 0, hidden(e) * sizeof *p->sum);      /* also after a preemption */
        for (uint32_t i = 0; i < hidden(e); i++) p->sum[i] += (double)x[i];
    } else if (e->net->pooler.type == VC_POOL_LAST || o->pos == 0) {
        memcpy(p->vector, x, hidden(e) * sizeof *p->vector);
    }
    if (!o->samples || finish(e, p, s)) return;
    vc_fail(&q->error, VC_E_NUMERIC, "the hidden states of the prompt hold a value that is not finite");
    e->failed[o->item] = 1;
}

void vc_pool_rows(struct vc_engine *e) {
    for (uint32_t r = 0; r < e->head_count; r++) take_row(e, r);
}
