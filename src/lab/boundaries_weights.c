/* SPDX-License-Identifier: Apache-2.0
 * boundaries_weights.c: the checkpoint's tensors as kernel panels, kept in their own rows too, so that a contract
 * without a kernel runs on the reference. */
#include <stdio.h>
#include <string.h>

#include "base/ckd.h"
#include "lab/boundaries.h"

const char *lab_join(struct lab_replay *r, const char *a, const char *b, const char *c) {
    char s[256];
    snprintf(s, sizeof s, "%s%s%s", a, b, c);
    const char *p = vc_arena_strdup(&r->arena, s);
    return p ? p : "";
}

bool lab_numerics(struct lab_replay *r, const char *spec, struct vc_numerics *n) {
    return r->err.status == VC_OK && vc_numerics_parse(n, spec, VC_BF16, &r->err) == VC_OK;
}

const struct vc_tensor *lab_weight(struct lab_replay *r, const struct lab_stage *s, const char *name) {
    char full[256];
    if (s->prefix[0])
        snprintf(full, sizeof full, "model.layers.%c.%s", s->prefix[1], name);
    else
        snprintf(full, sizeof full, "%s", name);
    const struct vc_tensor *t = vc_tensors_find(r->weights, full);
    if (!t || t->dtype != VC_BF16 || t->n_dims < 1 || t->n_dims > 2)
        vc_fail(&r->err, VC_E_NOT_FOUND, "%s/model: tensor %s is missing or not a bf16 matrix", r->path, full);
    return r->err.status == VC_OK ? t : NULL;
}

/* n tensors one below the other, as experts copies of that: panel in data, rows in raw. */
struct vc_view lab_panel(struct lab_replay *r, enum vc_op op, enum vc_arith core, const struct vc_tensor *const *t,
                         uint32_t n, uint32_t experts, size_t *stride) {
    struct vc_view v = { .dtype = VC_BF16 };
    for (uint32_t i = 0; i < n * experts; i++)
        if (!t[i] || t[i]->n_dims != 2) return v;
    v.cols = (uint32_t)t[0]->dims[1];
    for (uint32_t i = 0; i < n; i++) v.rows += (uint32_t)t[i]->dims[0];
    struct vc_view raw = lab_matrix(r, experts, v.rows * v.cols, VC_BF16);
    const struct vc_packer *p = r->dev->be->packer(r->dev, op, core, VC_BF16);
    *stride = p ? vc_round_up(p->bytes(VC_BF16, v.rows, v.cols), 64) : (size_t)v.rows * v.cols * 2;
    struct vc_view data = lab_matrix(r, experts, (uint32_t)(*stride / 2), VC_BF16);
    if (r->err.status != VC_OK) return v;
    for (uint32_t e = 0; e < experts; e++) {
        char *dst = (char *)raw.data + (size_t)e * v.rows * v.cols * 2;
        uint32_t at = 0;
        for (uint32_t i = 0; i < n; i++) {
            const struct vc_tensor *x = t[e * n + i];
            uint32_t rows = (uint32_t)x->dims[0];
            if (x->dims[1] != v.cols || at + rows > v.rows) {
                vc_fail(&r->err, VC_E_FORMAT, "%s/model: tensor %s has another shape than its neighbours", r->path,
                        x->name);
                return v;
            }
            memcpy(dst + (size_t)at * v.cols * 2, x->data, (size_t)x->bytes);
            struct vc_pack_job j = { .src = VC_BF16,
                                     .panel = VC_BF16,
                                     .raw = dst + (size_t)at * v.cols * 2,
                                     .rows = rows,
                                     .K = v.cols,
                                     .N = v.rows,
                                     .at = at,
                                     .dst = (char *)data.data + e * *stride };
            if (p) p->pack(&j);
            at += rows;
        }
    }
    v.data = p ? data.data : raw.data;
    v.raw = raw.data;
    return v;
}
