/* SPDX-License-Identifier: Apache-2.0
 * parse_run.h: runs the output parser over a text cut in some way and collects what it gives. */
#ifndef VC_TEST_PARSE_RUN_H
#define VC_TEST_PARSE_RUN_H

#include "base/str.h"
#include "text/parser.h"

enum { RUN_MAX_CALLS = 256 };

struct parse_call {
    struct vc_buf name, args;
    bool ended, complete;
};
struct parse_result {
    struct vc_buf reasoning, content;
    struct parse_call call[RUN_MAX_CALLS];
    uint32_t n_calls;        /* as the parser counts */
    size_t n_deltas, n_args; /* deltas, and those of arguments */
    const char *wrong;       /* a rule of the order of deltas that was broken, or NULL */
};

/* How a text is cut: WHOLE waits with everything, ONE is one push, TOKEN cuts words and punctuation, RANDOM takes 1…9
 * bytes by `seed`; other values are bytes per push. */
enum { CUT_WHOLE = -1, CUT_ONE = -2, CUT_TOKEN = -3, CUT_RANDOM = -4 };
const char *cut_name(int cut);

void parse_run(struct parse_result *r, const char *tool, const char *reasoning, const json_t *tools, const char *text,
               size_t n, int cut, uint32_t seed);
void parse_result_free(struct parse_result *r);

/* NULL if equal, else what differs. */
const char *parse_result_differs(const struct parse_result *a, const struct parse_result *b);
bool parse_json_equal(const char *a, const char *b); /* as values; a number equals another of the same value */
bool parse_is_json(const char *s);

#endif
