/* SPDX-License-Identifier: Apache-2.0 */
#include "run/sample_penalty.h"

#include <assert.h>
#include <stdlib.h>

#include "base/rng.h"

bool vc_counts_init(struct vc_token_counts *c, uint32_t cap) {
    uint64_t size = 16;
    while (size < (uint64_t)cap * 2) size *= 2;
    *c = (struct vc_token_counts){ .cap = cap, .mask = (uint32_t)(size - 1) };
    c->id = malloc(cap * sizeof *c->id);
    c->outputs = malloc(cap * sizeof *c->outputs);
    c->slot = calloc((size_t)size, sizeof *c->slot);
    if (c->id && c->outputs && c->slot) return true;
    vc_counts_free(c);
    return false;
}

void vc_counts_free(struct vc_token_counts *c) {
    free(c->id);
    free(c->outputs);
    free(c->slot);
    *c = (struct vc_token_counts){ 0 };
}

void vc_counts_add(struct vc_token_counts *c, int32_t token, bool output) {
    uint32_t at = (uint32_t)vc_mix64((uint64_t)(uint32_t)token) & c->mask;
    while (c->slot[at] && c->id[c->slot[at] - 1] != token) at = (at + 1) & c->mask;
    if (!c->slot[at]) {
        assert(c->n < c->cap);
        c->id[c->n] = token;
        c->outputs[c->n] = 0;
        c->slot[at] = ++c->n;
    }
    c->outputs[c->slot[at] - 1] += output;
}

void vc_penalize(const struct vc_token_counts *c, const struct vc_sampling *p, float *x, uint32_t vocab) {
    const float r = p->repetition_penalty, inv = 1.0f / r;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->id[i] < 0 || (uint32_t)c->id[i] >= vocab) continue;
        float v = x[c->id[i]];
        v = v > 0 ? v * inv : v * r;
        if (c->outputs[i]) {
            v -= p->frequency_penalty * (float)c->outputs[i];
            v -= p->presence_penalty;
        }
        x[c->id[i]] = v;
    }
}
