/* SPDX-License-Identifier: Apache-2.0 */
#include "op/numerics.h"

#include <string.h>

#include "base/compat.h"

static const struct { const char *name, *text; } profiles[VC_NUM_PROFILES] = {
#define VC_PROFILE(id, name, text) [VC_PROFILE_##id] = { name, text },
#define VC_ROUND(p, s, f)
#define VC_CORE(p, c, a)
#include "op/profiles.def"
#undef VC_PROFILE
#undef VC_ROUND
#undef VC_CORE
};

enum { FMT_ACT = 0xFF, FMT_F32 = VC_F32, FMT_F16 = VC_F16, FMT_BF16 = VC_BF16 };
static const struct { uint8_t profile, slot, format; } rounds[] = {
#define VC_PROFILE(id, name, text)
#define VC_ROUND(p, s, f) { VC_PROFILE_##p, VC_SLOT_##s, FMT_##f },
#define VC_CORE(p, c, a)
#include "op/profiles.def"
#undef VC_PROFILE
#undef VC_ROUND
#undef VC_CORE
};
static const struct { uint8_t profile, choice, core; } cores[] = {
#define VC_PROFILE(id, name, text)
#define VC_ROUND(p, s, f)
#define VC_CORE(p, c, a) { VC_PROFILE_##p, VC_CHOICE_##c, VC_ARITH_##a },
#include "op/profiles.def"
#undef VC_PROFILE
#undef VC_ROUND
#undef VC_CORE
};

const char *vc_profile_name(enum vc_profile p) { return profiles[p].name; }
const char *vc_profile_text(enum vc_profile p) { return profiles[p].text; }

static void fill(struct vc_numerics *n, enum vc_profile p, enum vc_dtype act) {
    *n = (struct vc_numerics){ .profile = p, .act = act };
    for (int s = 0; s < VC_NUM_SLOTS; s++) n->slot[s] = VC_F32;
    for (size_t i = 0; i < VC_ARRAY_LEN(rounds); i++)
        if (rounds[i].profile == p) n->slot[rounds[i].slot] = rounds[i].format == FMT_ACT ? (uint8_t)act : rounds[i].format;
    for (size_t i = 0; i < VC_ARRAY_LEN(cores); i++)
        if (cores[i].profile == p) n->core[cores[i].choice] = cores[i].core;
}

static vc_status unknown_profile(vc_str name, vc_err *err) {
    struct vc_buf known = { 0 };
    for (int p = 0; p < VC_NUM_PROFILES; p++) vc_buf_printf(&known, "%s%s", p ? ", " : "", profiles[p].name);
    vc_fail(err, VC_E_INVALID, "numerics: unknown profile '%.*s'; known: %s", (int)name.n, name.p, known.p ? known.p : "");
    vc_buf_free(&known);
    return VC_E_INVALID;
}

static vc_status set_slot(struct vc_numerics *n, vc_str item, vc_err *err) {
    const char *eq = memchr(item.p, '=', item.n);
    if (!eq) return vc_fail(err, VC_E_INVALID, "numerics: '%.*s': expected slot=format", (int)item.n, item.p);
    vc_str slot = { item.p, (size_t)(eq - item.p) }, fmt = { eq + 1, item.n - slot.n - 1 };
    enum vc_dtype f = vc_str_is(fmt, "none") || vc_str_is(fmt, "f32") ? VC_F32
        : vc_str_is(fmt, "bf16") ? VC_BF16 : vc_str_is(fmt, "f16") ? VC_F16 : VC_NO_DTYPE;
    if (f == VC_NO_DTYPE)
        return vc_fail(err, VC_E_INVALID, "numerics: %.*s: unknown format '%.*s'; expected none, f32, bf16 or f16", (int)slot.n, slot.p, (int)fmt.n, fmt.p);
    for (int s = 0; s < VC_NUM_SLOTS; s++)
        if (vc_str_is(slot, vc_slot_info((enum vc_slot)s)->name)) {
            n->slot[s] = (uint8_t)f;
            return VC_OK;
        }
    return vc_fail(err, VC_E_INVALID, "numerics: unknown slot '%.*s' (vllmc info --slots lists them)", (int)slot.n, slot.p);
}

vc_status vc_numerics_parse(struct vc_numerics *n, const char *spec, enum vc_dtype act, vc_err *err) {
    const char *at = spec;
    for (int first = 1; ; first = 0) {
        size_t len = strcspn(at, ",");
        vc_str item = { at, len };
        if (first) {
            int p = 0;
            while (p < VC_NUM_PROFILES && !vc_str_is(item, profiles[p].name)) p++;
            if (p == VC_NUM_PROFILES) return unknown_profile(item, err);
            fill(n, (enum vc_profile)p, act);
        } else {
            VC_TRY(set_slot(n, item, err));
        }
        if (!at[len]) return VC_OK;
        at += len + 1;
    }
}

void vc_numerics_print(const struct vc_numerics *n, struct vc_buf *out) {
    struct vc_numerics plain;
    fill(&plain, n->profile, n->act);
    vc_buf_adds(out, profiles[n->profile].name);
    for (int s = 0; s < VC_NUM_SLOTS; s++)
        if (n->slot[s] != plain.slot[s])
            vc_buf_printf(out, ",%s=%s", vc_slot_info((enum vc_slot)s)->name, vc_dtype_name((enum vc_dtype)n->slot[s]));
}

void vc_contract_make(struct vc_contract *c, const struct vc_numerics *n, enum vc_op op, enum vc_arith core) {
    *c = (struct vc_contract){ .op = op, .core = core };
    memcpy(c->slot, n->slot, sizeof c->slot);
}
