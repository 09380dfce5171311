/* SPDX-License-Identifier: Apache-2.0
 * rowwise.h: ops that compute row r of their outputs from row r of their row operands alone. A device may take a share
 * of the rows through a run of such lines without meeting the other workers in between, so the memory plan counts such
 * a run as one moment. */
#ifndef VC_OP_ROWWISE_H
#define VC_OP_ROWWISE_H

#include "op/op.h"

/* Operands that have one row per row of in[0] (bit k: in[k] or out[k]); the others are shared by all rows. in == 0: not row-wise. */
struct vc_row_operands { uint8_t in, out; };
struct vc_row_operands vc_op_rowwise(enum vc_op op);

#endif
