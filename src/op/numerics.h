/* SPDX-License-Identifier: Apache-2.0
 * numerics.h: a profile made concrete: the format of every slot and the core of every choice.
 * Tables: profiles.def, slots.def, arith.def. Text form: "vllm", or "vllm,norm.pregamma=f32,…". */
#ifndef VC_OP_NUMERICS_H
#define VC_OP_NUMERICS_H

#include "base/status.h"
#include "base/str.h"
#include "op/op.h"

enum vc_profile {
#define VC_PROFILE(id, name, text) VC_PROFILE_##id,
#define VC_ROUND(p, s, f)
#define VC_CORE(p, c, a)
#include "op/profiles.def"
#undef VC_PROFILE
#undef VC_ROUND
#undef VC_CORE
    VC_NUM_PROFILES
};
enum vc_choice { VC_CHOICE_NORM, VC_CHOICE_ATTENTION, VC_CHOICE_ROUTER, VC_CHOICE_EXPERTS, VC_CHOICE_ROPE, VC_NUM_CHOICES };

struct vc_numerics {
    enum vc_profile profile;
    enum vc_dtype act;                    /* dtype of the run: what ACT stands for */
    uint8_t slot[VC_NUM_SLOTS];           /* enum vc_dtype: F32, BF16 or F16 */
    uint8_t core[VC_NUM_CHOICES];         /* enum vc_arith */
};

const char *vc_profile_name(enum vc_profile p);
const char *vc_profile_text(enum vc_profile p);
/* spec: profile[,slot=format…]; act: VC_BF16, VC_F16 or VC_F32. An unknown name is an error with the known ones. */
vc_status vc_numerics_parse(struct vc_numerics *n, const char *spec, enum vc_dtype act, vc_err *err);
void vc_numerics_print(const struct vc_numerics *n, struct vc_buf *out);     /* the text form */
/* The contract of one op line. */
void vc_contract_make(struct vc_contract *c, const struct vc_numerics *n, enum vc_op op, enum vc_arith core);

#endif
