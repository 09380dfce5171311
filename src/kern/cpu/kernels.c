/* SPDX-License-Identifier: Apache-2.0
 * kernels.c: all kernel rows and packers of the CPU, from the tables beside the kernels (best tier first). */
#include "dev/kernel.h"

/* Prototypes. */
#define VC_KERNEL(name, op, core, tier, in0, weight, out0, m_lo, m_hi, inner, accepts, scratch, ph0, ph1, ph2)
#define VC_KERNEL_FN(fn) vc_op_fn fn;
#define VC_KERNEL_ACCEPTS(fn) bool fn(const struct vc_contract *, const struct vc_dims *);
#define VC_KERNEL_SCRATCH(fn) size_t fn(const struct vc_dims *, uint32_t);
#define VC_PACKER(op, core, panel, bytes, unit, pack) size_t bytes(enum vc_dtype, uint32_t, uint32_t); void pack(const struct vc_pack_job *);
#include "kern/cpu/kernels.def"
#undef VC_KERNEL
#undef VC_KERNEL_FN
#undef VC_KERNEL_ACCEPTS
#undef VC_KERNEL_SCRATCH
#undef VC_PACKER

#define VC_KERNEL_FN(fn)
#define VC_KERNEL_ACCEPTS(fn)
#define VC_KERNEL_SCRATCH(fn)

const struct vc_kernel vc_cpu_kernels[] = {
#define VC_KERNEL(name, op, core, tier, in0, weight, out0, m_lo, m_hi, inner, accepts, scratch, ph0, ph1, ph2)                  \
    { name, VC_OP_##op, VC_ARITH_##core, VC_TIER_##tier, in0, weight, out0, m_lo, m_hi, inner, accepts, scratch, { ph0, ph1, ph2 } },
#define VC_PACKER(op, core, panel, bytes, unit, pack)
#include "kern/cpu/kernels.def"
#undef VC_KERNEL
#undef VC_PACKER
    { .name = NULL },
};

const struct vc_packer vc_cpu_packers[] = {
#define VC_KERNEL(name, op, core, tier, in0, weight, out0, m_lo, m_hi, inner, accepts, scratch, ph0, ph1, ph2)
#define VC_PACKER(op, core, panel, bytes, unit, pack) { VC_ARITH_##core, VC_OP_##op, panel, bytes, unit, pack },
#include "kern/cpu/kernels.def"
#undef VC_KERNEL
#undef VC_PACKER
    { .bytes = NULL },
};
