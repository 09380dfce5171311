/* SPDX-License-Identifier: Apache-2.0
 * tok_regex.h: the regular expressions of pre-tokenizers, written for Oniguruma (Ruby syntax, as the tokenizers crate
 * uses it) and run by PCRE2: classes with nesting and && are rewritten, \s \w \d \h \b and scripts take Oniguruma's
 * meaning. Compiled with JIT where the system allows it, else interpreted; limits turn runaway matches into errors. */
#ifndef VC_TEXT_TOK_REGEX_H
#define VC_TEXT_TOK_REGEX_H

#include "base/status.h"
#include "base/str.h"

struct vc_tok_regex;
struct vc_regex_run { void *data, *context, *stack; };    /* one thread's memory; zero-initialised, made at first use */

/* next: an older list that the result heads; vc_tok_regex_free frees the whole list. */
vc_status vc_tok_regex_new(struct vc_tok_regex **out, const char *pattern, size_t n, struct vc_tok_regex *next, vc_err *err);
void vc_tok_regex_free(struct vc_tok_regex *list);
/* First match at or after `from` in text[0 … n), valid UTF-8. *found false: none. */
vc_status vc_tok_regex_find(const struct vc_tok_regex *r, struct vc_regex_run *run, const char *text, size_t n, size_t from,
                            size_t *start, size_t *end, bool *found, vc_err *err);
void vc_regex_run_free(struct vc_regex_run *run);
/* The rewriting alone. */
vc_status vc_tok_regex_translate(struct vc_buf *out, const char *pattern, size_t n, vc_err *err);

#endif
