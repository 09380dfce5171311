/* SPDX-License-Identifier: Apache-2.0 */
#include "op/op.h"

#include "op/ref/ref.h"

static const struct vc_op_info ops[VC_NUM_OPS] = {
#define VC_OP(id, name, in, out, text) [VC_OP_##id] = { #name, in, out, text },
#include "op/ops.def"
#undef VC_OP
};
enum { INNER = 1, STORE = 0 };
static const struct vc_slot_info slots[VC_NUM_SLOTS] = {
#define VC_SLOT(id, name, op, kind, text) [VC_SLOT_##id] = { name, text, VC_OP_##op, kind },
#include "op/slots.def"
#undef VC_SLOT
};
static const struct vc_arith_info ariths[VC_NUM_ARITHS] = {
#define VC_ARITH(id, name, op, cls, c, text) [VC_ARITH_##id] = { name, text, VC_OP_##op },
#include "op/arith.def"
#undef VC_ARITH
};

const struct vc_op_info *vc_op_info(enum vc_op op) { return &ops[op]; }
const struct vc_slot_info *vc_slot_info(enum vc_slot s) { return &slots[s]; }
const struct vc_arith_info *vc_arith_info(enum vc_arith a) { return &ariths[a]; }

vc_op_fn *const vc_op_ref[VC_NUM_OPS] = {
#define VC_OP(id, name, in, out, text) [VC_OP_##id] = vc_ref_##name,
#include "op/ops.def"
#undef VC_OP
};
