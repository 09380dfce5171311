/* SPDX-License-Identifier: Apache-2.0
 * print.c: the plan as text, for `vllmc info --plan` and for people who compare contracts. */
#include "prog/prog_int.h"

static void add_operand(const struct vc_prog *p, const struct vc_operand *o, struct vc_buf *out) {
    switch (o->kind) {
        case VC_OPND_STREAM: vc_buf_printf(out, " s%u:%s", o->id, vc_dtype_name(p->streams[o->id].dtype)); break;
        case VC_OPND_WEIGHT: vc_buf_printf(out, " w%u:%s", o->id, vc_dtype_name(p->weights[o->id].dtype)); break;
        case VC_OPND_KV: vc_buf_printf(out, " kv:%s", vc_dtype_name((enum vc_dtype)p->numerics.slot[VC_SLOT_KV])); break;
        case VC_OPND_INPUT: case VC_OPND_NONE: break;
    }
}

void vc_prog_print(const struct vc_prog *p, struct vc_buf *out) {
    for (uint32_t i = 0; i < p->num_lines; i++) {
        const struct line *l = &p->lines[i];
        vc_buf_printf(out, "%-24s %-9s %-12s", l->label, vc_op_info(l->op)->name, vc_arith_info(l->core)->name);
        for (int k = 0; k < VC_MAX_IN; k++) add_operand(p, &l->in[k], out);
        vc_buf_adds(out, " ->");
        for (int k = 0; k < VC_MAX_OUT; k++) add_operand(p, &l->out[k], out);
        for (int s = 0; s < VC_NUM_SLOTS; s++) {
            const struct vc_slot_info *info = vc_slot_info((enum vc_slot)s);
            if (info->op == l->op && info->inner && p->numerics.slot[s] != VC_F32)
                vc_buf_printf(out, " %s=%s", info->name, vc_dtype_name((enum vc_dtype)p->numerics.slot[s]));
        }
        static const uint32_t at[] = { 1, 4, 64 };
        const char *last = "";
        for (size_t m = 0; m < VC_ARRAY_LEN(at); m++) {
            if (at[m] > l->dims.max_rows) break;
            const char *name = p->dev->be->describe(p->dev, l->kernel, at[m]);
            if (name != last) vc_buf_printf(out, "%s%s", m ? ", " : "  [", name);
            last = name;
        }
        vc_buf_adds(out, "]\n");
    }
}
