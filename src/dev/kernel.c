/* SPDX-License-Identifier: Apache-2.0 */
#include "dev/kernel.h"

bool vc_kernel_covers(const struct vc_kernel *k, const struct vc_contract *c, const struct vc_dims *d) {
    if (k->op != c->op || k->core != c->core) return false;
    if (!(k->in0 >> d->in0 & 1) || !(k->weight >> d->weight & 1) || !(k->out0 >> d->out0 & 1)) return false;
    for (int s = 0; s < VC_NUM_SLOTS; s++) {
        const struct vc_slot_info *info = vc_slot_info((enum vc_slot)s);
        if (info->op == c->op && info->inner && c->slot[s] != VC_F32 && !(k->inner >> s & 1)) return false;
    }
    return !k->accepts || k->accepts(c, d);
}

const struct vc_kernel *vc_kernel_select(const struct vc_kernel *rows, enum vc_tier tier, const struct vc_contract *c, const struct vc_dims *d, uint32_t m) {
    for (const struct vc_kernel *k = rows; k->name; k++)
        if (k->tier <= tier && m >= k->m_lo && m <= k->m_hi && vc_kernel_covers(k, c, d)) return k;
    return NULL;
}

const struct vc_packer *vc_packer_select(const struct vc_packer *rows, enum vc_op op, enum vc_arith core, enum vc_dtype panel) {
    for (const struct vc_packer *p = rows; p->bytes; p++)
        if (p->op == op && p->core == core && p->panel >> panel & 1) return p;
    return NULL;
}
