/* SPDX-License-Identifier: Apache-2.0
 * tok_ranks.h: byte-level BPE from ranks (tiktoken): the pair whose joined bytes have the lowest rank is merged first. Built
 * as the table of merges that does the same. */
#ifndef VC_TEXT_TOK_RANKS_H
#define VC_TEXT_TOK_RANKS_H

#include "text/tok/tok_int.h"

/* A token beside the ranks. */
struct vc_tok_named { int32_t id; bool special; vc_str text; };

/* Fills t: tokens first_id + rank for bytes[rank], those in `named` (texts in the arena), words cut by `pattern` (matches only).
 * The bytes must lie in the arena; a rank without bytes is not used. */
vc_status vc_tok_from_ranks(struct vc_tokenizer *t, const vc_str *bytes, uint32_t n, uint32_t first_id, const struct vc_tok_named *named, uint32_t num_named,
                            vc_str pattern, vc_err *err);

#endif
