/* SPDX-License-Identifier: Apache-2.0
 * pack.h: from checkpoint tensors to kernel panels: which bytes, where, and the work itself. */
#ifndef VC_MODEL_PACK_H
#define VC_MODEL_PACK_H

#include "model/weights.h"

/* Plans the panel of `experts` (1: a plain linear) times n tensors one below the other; t[e * n + i]. *v gets its data
 * pointer when vc_pack_place has allocated the region; *stride, if not NULL, the bytes from expert to expert. */
vc_status vc_pack_plan(struct vc_weights *w, enum vc_op op, enum vc_arith core, const struct vc_tensor *const *t, uint32_t n, uint32_t experts,
                       struct vc_view *v, size_t *stride, vc_err *err);
/* Allocates the region and sets all data pointers. */
vc_status vc_pack_place(struct vc_weights *w, vc_err *err);
/* x rounded to a plain float format (VC_NO_DTYPE: unchanged). */
float vc_cast_value(enum vc_dtype cast, float x);

#endif
