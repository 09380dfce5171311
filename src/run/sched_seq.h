/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_seq.h: making a vc_seq in one allocation, and appending a token to it. Only for sched.c. */
#ifndef VC_RUN_SCHED_SEQ_H
#define VC_RUN_SCHED_SEQ_H

#include "run/sched.h"

/* c: block_size, max_model_len, prefix_caching (then with room for block hashes). Errors as vc_sched_add. */
vc_status vc_seq_new(struct vc_seq **out, const struct vc_seq_params *p, const struct vc_sched_config *c,
                     uint32_t num_groups, vc_err *err);
/* Appends an output (capacity: max_tokens outputs) and says whether it ends the sequence. */
enum vc_finish vc_seq_append(struct vc_seq *q, int32_t token);

#endif
