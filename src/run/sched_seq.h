/* SPDX-License-Identifier: Apache-2.0
 *
 * sched_seq.h: making a vc_seq in one allocation, and appending a token to it. Only for sched.c. */
#ifndef VC_RUN_SCHED_SEQ_H
#define VC_RUN_SCHED_SEQ_H

#include "run/sched.h"

/* hashes: with room for block hashes (prefix caching is on). Errors as vc_sched_add. */
vc_status vc_seq_new(struct vc_seq **out, const struct vc_seq_params *p, uint32_t block_size,
                     uint32_t max_model_len, bool hashes, vc_err *err);
/* Appends an output (capacity: max_tokens outputs) and says whether it ends the sequence. */
enum vc_finish vc_seq_append(struct vc_seq *q, int32_t token);

#endif
