/* SPDX-License-Identifier: Apache-2.0
 * tok_run.h: running a tokenizer against a golden file (goldens/tokenizers/README.md names the fields). */
#ifndef VC_TESTS_TEXT_TOK_RUN_H
#define VC_TESTS_TEXT_TOK_RUN_H

#include "test.h"
#include "text/tokenizer.h"

/* The strings of strings.jsonl; loaded once, NULL when the file is absent. */
struct tok_string { char *text; size_t n; const char *name; };
const struct tok_string *tok_strings(size_t *n);

/* Compares everything a Hugging Face golden holds (ids, ids_special, offsets, decode, decode_skip_special, pieces), or
 * llama.cpp's (ids, ids_parse_special_false, ids_add_special). skip: names of strings that are set aside, ending in NULL.
 * offsets false: those are not compared. Prints "NAME: equal/total" and returns the number of records that differ. */
size_t tok_check_hf(const struct vc_tokenizer *t, const char *golden, const char *name, const char *const *skip, bool offsets);
size_t tok_check_llama(const struct vc_tokenizer *t, const char *golden, const char *name, const char *const *skip);
/* The lines of pairs.jsonl; tokenizers that are not on this machine count as absent. */
bool tok_check_pairs(const char *golden, size_t *equal, size_t *total, size_t *absent);

#endif
