/* SPDX-License-Identifier: Apache-2.0 */
#include "op/rowwise.h"

struct vc_row_operands vc_op_rowwise(enum vc_op op) {
    static const struct vc_row_operands table[VC_NUM_OPS] = {
        [VC_OP_EMBED] = { 1, 1 },        [VC_OP_RMSNORM] = { 1 | 4, 1 | 2 }, [VC_OP_HEADNORM] = { 1, 1 },    [VC_OP_QUANTIZE] = { 1, 1 },
        [VC_OP_ROPE] = { 1 | 4, 1 },     [VC_OP_ROWSCALE] = { 1 | 2, 1 },    [VC_OP_KVSTORE] = { 1 | 2 | 4, 0 }, [VC_OP_ACTMUL] = { 1, 1 },
        [VC_OP_ROUTER] = { 1, 1 | 2 },   [VC_OP_SOFTCAP] = { 1, 1 },
    };
    return table[op];
}
