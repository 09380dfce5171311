/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/info_tables.h"

#include <string.h>

#include "cli/term.h"
#include "dev/kernel.h"
#include "op/numerics.h"

static void heading(struct vc_buf *b, const char *text) {
    vc_buf_printf(b, "%s%s%s\n", cli_style(CLI_BOLD), text, cli_style(CLI_PLAIN));
}

void cli_ops_text(struct vc_buf *b, enum vc_tier tier) {
    heading(b, "ops");
    for (int i = 0; i < VC_NUM_OPS; i++) {
        const struct vc_op_info *o = vc_op_info((enum vc_op)i);
        vc_buf_printf(b, "  %-11s (%s) -> (%s)  %s\n", o->name, o->inputs, o->outputs, o->text);
    }
    heading(b, "\narithmetic cores");
    for (int i = 0; i < VC_NUM_ARITHS; i++)
        vc_buf_printf(b, "  %-13s %s\n", vc_arith_info((enum vc_arith)i)->name, vc_arith_info((enum vc_arith)i)->text);
    heading(b, "\nkernels, best first (- : of a better tier than the one in use)");
    for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++)
        vc_buf_printf(b, "%s %-30s %-10s %-13s %s\n", k->tier > tier ? "-" : " ", k->name, vc_op_info(k->op)->name,
                      vc_arith_info(k->core)->name, vc_tier_name(k->tier));
}

void cli_ops_json(struct vc_json_out *w, enum vc_tier tier) {
    vc_jo_key(w, "ops");
    vc_jo_begin_arr(w);
    for (int i = 0; i < VC_NUM_OPS; i++) vc_jo_str(w, vc_op_info((enum vc_op)i)->name);
    vc_jo_end_arr(w);
    vc_jo_key(w, "cores");
    vc_jo_begin_arr(w);
    for (int i = 0; i < VC_NUM_ARITHS; i++) vc_jo_str(w, vc_arith_info((enum vc_arith)i)->name);
    vc_jo_end_arr(w);
    vc_jo_key(w, "kernels");
    vc_jo_begin_arr(w);
    for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++) {
        vc_jo_begin_obj(w);
        vc_jo_key(w, "name");
        vc_jo_str(w, k->name);
        vc_jo_key(w, "op");
        vc_jo_str(w, vc_op_info(k->op)->name);
        vc_jo_key(w, "core");
        vc_jo_str(w, vc_arith_info(k->core)->name);
        vc_jo_key(w, "tier");
        vc_jo_str(w, vc_tier_name(k->tier));
        vc_jo_key(w, "usable");
        vc_jo_bool(w, k->tier <= tier);
        vc_jo_end_obj(w);
    }
    vc_jo_end_arr(w);
}

/* Format of a slot under a profile when run in bf16; "f32" where the profile is silent. */
static const char *slot_format(enum vc_profile p, enum vc_slot s) {
    struct vc_numerics n;
    vc_err err = VC_ERR_INIT;
    if (vc_numerics_parse(&n, vc_profile_name(p), VC_BF16, &err) != VC_OK) return "?";
    return vc_dtype_name((enum vc_dtype)n.slot[s]);
}

void cli_slots_text(struct vc_buf *b) {
    heading(b, "profiles");
    for (int p = 0; p < VC_NUM_PROFILES; p++)
        vc_buf_printf(b, "  %-14s %s\n", vc_profile_name((enum vc_profile)p), vc_profile_text((enum vc_profile)p));
    heading(b, "\nrounding slots: format under each profile (run in bf16), meaning");
    vc_buf_printf(b, "  %-18s", "");
    for (int p = 0; p < VC_NUM_PROFILES; p++) vc_buf_printf(b, " %-13s", vc_profile_name((enum vc_profile)p));
    vc_buf_addc(b, '\n');
    for (int s = 0; s < VC_NUM_SLOTS; s++) {
        vc_buf_printf(b, "  %-18s", vc_slot_info((enum vc_slot)s)->name);
        for (int p = 0; p < VC_NUM_PROFILES; p++)
            vc_buf_printf(b, " %-13s", slot_format((enum vc_profile)p, (enum vc_slot)s));
        vc_buf_printf(b, " %s\n", vc_slot_info((enum vc_slot)s)->text);
    }
}

void cli_slots_json(struct vc_json_out *w) {
    vc_jo_key(w, "profiles");
    vc_jo_begin_obj(w);
    for (int p = 0; p < VC_NUM_PROFILES; p++) {
        vc_jo_key(w, vc_profile_name((enum vc_profile)p));
        vc_jo_begin_obj(w);
        for (int s = 0; s < VC_NUM_SLOTS; s++) {
            vc_jo_key(w, vc_slot_info((enum vc_slot)s)->name);
            vc_jo_str(w, slot_format((enum vc_profile)p, (enum vc_slot)s));
        }
        vc_jo_end_obj(w);
    }
    vc_jo_end_obj(w);
}

/* The text in brackets at the end of a line. */
static vc_str kernels_of(const char *line, size_t n) {
    size_t at = n;
    while (at > 0 && line[at - 1] != '[') at--;
    return at && n > at ? (vc_str){ line + at, n - at - 1 } : (vc_str){ line, 0 };
}

void cli_plan_summary(struct vc_buf *b, const struct vc_buf *plan) {
    enum { MOST = 64 };
    struct { vc_str op, kernels; uint32_t lines; } row[MOST];
    size_t rows = 0;
    for (const char *p = plan->p, *end = plan->p + plan->n; p && p < end;) {
        size_t n = strcspn(p, "\n"), label = strcspn(p, " "), gap = label + strspn(p + label, " ");
        vc_str op = { p + gap, strcspn(p + gap, " ") }, k = kernels_of(p, n);
        size_t i = 0;
        while (i < rows && !(vc_str_eq(row[i].op, op) && vc_str_eq(row[i].kernels, k))) i++;
        if (i == rows && rows < MOST) {
            row[rows].op = op;
            row[rows].kernels = k;
            row[rows++].lines = 0;
        }
        if (i < MOST) row[i].lines++;
        p += n + 1;
    }
    heading(b, "\nkernels (lines of the program, op, kernel by number of rows)");
    for (size_t i = 0; i < rows; i++)
        vc_buf_printf(b, "  %4u  %-10.*s %.*s\n", row[i].lines, (int)row[i].op.n, row[i].op.p, (int)row[i].kernels.n,
                      row[i].kernels.p);
}

void cli_plan_json(struct vc_json_out *w, const struct vc_buf *plan) {
    vc_jo_key(w, "plan");
    vc_jo_begin_arr(w);
    for (const char *p = plan->p, *end = plan->p + plan->n; p && p < end;) {
        size_t n = strcspn(p, "\n");
        vc_jo_strn(w, p, n);
        p += n + 1;
    }
    vc_jo_end_arr(w);
}
