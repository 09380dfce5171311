/* SPDX-License-Identifier: Apache-2.0
 * moe.c: experts by the pair and chain cores, float formats. The hidden values go straight into the packed rows
 * (pair_loop.h) that the down product reads. */
#include "kern/cpu/moe_plan.h"
#include "kern/cpu/pair_loop.h"
#include "op/kblock.h"

enum { GATE_COLS = 64, UP_COLS = 80 };                /* up begins anywhere in a group of 16 columns */

static size_t floats16(size_t n) { return (n + 15) & ~(size_t)15; }
static size_t down_floats(uint32_t P, uint32_t H) {
    const size_t all = (size_t)P * ((H + 63) & ~63u);
    return VC_MIN(all, VC_MAX((size_t)MOE_DOWN, (size_t)P * 64));
}
/* Floats of a part's memory behind its lists. */
static size_t own_floats(uint32_t P, uint32_t H) {
    return LOOP_FLOATS +
           VC_MAX(floats16(MOE_ROWS * vc_panel_kp(H)) + MOE_ROWS * (GATE_COLS + UP_COLS), floats16(down_floats(P, H)));
}
static size_t own_bytes(uint32_t E, uint32_t P, uint32_t H) {
    return moe_lists(E, P) + own_floats(P, H) * sizeof(float);
}

struct part { struct moe m; float *loop, *own, *hidden; };
static struct part part_of(const struct vc_op_call *c, uint32_t part, uint32_t parts, int sort) {
    const struct vc_moe_args *a = c->args;
    const uint32_t P = c->in[0].rows * a->top_k, H = c->out[0].cols;
    char *mine = (char *)c->scratch + part * own_bytes(a->num_experts, P, H);
    struct part p = { .m = moe_of(c, mine, sort) };
    p.loop = (float *)(void *)(mine + moe_lists(a->num_experts, P));
    p.own = p.loop + LOOP_FLOATS;
    p.hidden = (float *)(void *)((char *)c->scratch + parts * own_bytes(a->num_experts, P, H));
    return p;
}

/* Where finished outputs go: out[row][n - n0]. */
struct keep { float *out; size_t width; uint32_t n0; };
static void keep(const struct pair_job *j, uint32_t r0, uint32_t r1, uint32_t n0, uint32_t n1, float *tot) {
    const struct keep *k = j->ctx;
    for (uint32_t r = r0; r < r1; r++)
        memcpy(k->out + r * k->width + (n0 - k->n0), tot + (size_t)(r - r0) * VC_PANEL_COLS, (n1 - n0) * sizeof(float));
}

/* The product of M rows of expert e with weight `in`. */
static struct pair_job job_of(const struct part *p, int in, uint32_t e, uint32_t M, uint32_t K, enum vc_dtype x,
                              const struct keep *k) {
    const struct vc_op_call *c = p->m.c;
    const int pair = c->contract->core == VC_ARITH_PAIR;
    const size_t stride = in == 3 ? p->m.a->stride13 : p->m.a->stride2, kp = vc_panel_kp(K);
    struct pair_job j = { .format = c->in[in].dtype,
                          .order = pair ? ODD_FIRST : ASCENDING,
                          .M = M,
                          .N = c->in[in].rows,
                          .kp = kp,
                          .kblock = pair ? vc_kblock(K) : kp,
                          .w = (const char *)c->in[in].data + e * stride,
                          .scratch = p->loop,
                          .done = keep,
                          .ctx = k };
    VC_K(vc_pair_choose)(&j, x);
    return j;
}

/* Hidden values [n0, n1) of all rows of a chunk, from gate and up, into the packed rows at h. */
static void pack_hidden(const struct part *p, const struct pair_job *j, const float *gate, const float *up, uint32_t n0,
                        uint32_t n1, float *h) {
    const size_t kp = vc_panel_kp(p->m.I);
    for (uint32_t t = 0; t < num_tiles(j->M); t++) {
        const uint32_t r0 = tile_row(j->M, t), mr = tile_row(j->M, t + 1) - r0;
        for (uint32_t i = 0; i < mr; i++)
            for (uint32_t n = n0; n < n1; n += 16) {
                float v[16];
                const size_t r = r0 + i;
                vc_vf_store(v, moe_hidden(p->m.c, vc_vf_load(gate + r * GATE_COLS + (n - n0)),
                                          vc_vf_load(up + r * UP_COLS + (n - n0))));
                for (uint32_t q = 0; q < 16 && n + q < kp; q++)
                    h[packed_at(j->M, kp, r0, mr, (n + q) ^ (uint32_t)j->order) + i] = n + q < p->m.I ? v[q] : 0.0f;
            }
    }
}

static void gate_up(const struct moe *m, void *ctx, uint32_t e, uint32_t b0, uint32_t b1) {
    const struct part *p = ctx;
    const struct vc_view *x = &m->c->in[0];
    float *rows = p->own, *gate = rows + floats16(MOE_ROWS * vc_panel_kp(m->H)), *up = gate + MOE_ROWS * GATE_COLS;
    for (uint32_t at = m->first[e]; at < m->first[e + 1]; at += MOE_ROWS) {
        const uint32_t M = VC_MIN((uint32_t)MOE_ROWS, m->first[e + 1] - at);
        const struct row_source s = { x->dtype, x->data, x->stride, m->token + at, m->H };
        struct keep k;
        struct pair_job j = job_of(p, 3, e, M, m->H, x->dtype, &k);
        pack_rows(&s, M, j.kp, j.order, 0, j.kp, rows);
        j.a = rows;
        for (uint32_t b = b0; b < b1; b++) {
            const uint32_t n0 = b * GATE_COLS, n1 = VC_MIN(n0 + GATE_COLS, m->I), lo = (m->I + n0) & ~15u;
            k = (struct keep){ gate, GATE_COLS, n0 };
            loop_outputs(&j, n0, n1);
            k = (struct keep){ up, UP_COLS, lo };
            loop_outputs(&j, lo, m->I + n1);
            pack_hidden(p, &j, gate, up + (m->I + n0 - lo), n0, n1, p->hidden + at * vc_panel_kp(m->I));
        }
    }
}

vc_op_fn VC_K(vc_moe_hidden), VC_K(vc_moe_down);
void VC_K(vc_moe_hidden)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    struct part p = part_of(c, part, parts, 1);
    moe_shares(&p.m, (p.m.I + GATE_COLS - 1) / GATE_COLS, part, parts, gate_up, &p);
}

void VC_K(vc_moe_down)(const struct vc_op_call *c, uint32_t part, uint32_t parts) {
    const struct part p = part_of(c, part, parts, 0);
    const struct moe *m = &p.m;
    const uint32_t cols = moe_down_cols(m->P, m->H);
    const enum vc_dtype x = (enum vc_dtype)c->contract->slot[VC_SLOT_EXPERT_HIDDEN];
    uint64_t lo, hi;
    vc_share(m->H, 16, part, parts, &lo, &hi);
    for (uint32_t c0 = (uint32_t)lo, c1; c0 < hi; c0 = c1) {
        c1 = VC_MIN(c0 + cols, (uint32_t)hi);
        for (uint32_t e = 0; e < m->a->num_experts; e++)
            for (uint32_t at = m->first[e]; at < m->first[e + 1]; at += MOE_ROWS) {
                const struct keep k = { p.own + (size_t)at * cols, cols, c0 };
                struct pair_job j = job_of(&p, 4, e, VC_MIN((uint32_t)MOE_ROWS, m->first[e + 1] - at), m->I, x, &k);
                j.a = p.hidden + at * j.kp;
                loop_outputs(&j, c0, c1);
            }
        moe_combine(m, p.own, cols, c0, c1);
    }
}

size_t VC_K(vc_moe_scratch)(const struct vc_dims *d, uint32_t parts);
size_t VC_K(vc_moe_scratch)(const struct vc_dims *d, uint32_t parts) {
    const uint32_t P = d->max_rows * d->top_k;
    return parts * own_bytes(d->num_experts, P, d->N) + P * vc_panel_kp(d->intermediate) * sizeof(float);
}
