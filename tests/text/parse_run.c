/* SPDX-License-Identifier: Apache-2.0 */
#include "parse_run.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void add(struct vc_buf *b, vc_str s) { vc_buf_add(b, s.p, s.n); }

static void on_delta(void *user, const struct vc_parse_delta *d) {
    struct parse_result *r = user;
    bool kept = d->index < RUN_MAX_CALLS;
    struct parse_call *c = &r->call[kept ? d->index : 0];
    uint32_t cp;
    for (size_t i = 0, k; i < d->text.n; i += k) {
        k = vc_utf8_decode(d->text.p + i, d->text.n - i, &cp);
        if (!k) {
            r->wrong = "a delta is not valid UTF-8";
            break;
        }
    }
    r->n_deltas++;
    switch (d->kind) {
        case VC_PARSE_REASONING: add(&r->reasoning, d->text); break;
        case VC_PARSE_CONTENT: add(&r->content, d->text); break;
        case VC_PARSE_CALL_BEGIN:
            if (d->index != r->n_calls) r->wrong = "calls do not count up";
            r->n_calls++;
            if (kept) add(&c->name, d->text);
            break;
        case VC_PARSE_CALL_ARGS:
            if (d->index + 1 != r->n_calls || (kept && c->ended)) r->wrong = "arguments of no open call";
            r->n_args++;
            if (kept) add(&c->args, d->text);
            break;
        default:
            if (d->index + 1 != r->n_calls || (kept && c->ended)) r->wrong = "end of no open call";
            if (!kept) break;
            c->ended = true;
            c->complete = d->complete;
    }
}

const char *cut_name(int cut) {
    static char s[16];
    switch (cut) {
        case CUT_WHOLE: return "whole";
        case CUT_ONE: return "one push";
        case CUT_TOKEN: return "tokens";
        case CUT_RANDOM: return "random";
        default: snprintf(s, sizeof s, "%d bytes", cut); return s;
    }
}

static size_t step(const char *s, size_t n, int cut, uint32_t *seed) {
    if (cut == CUT_RANDOM) {
        *seed = *seed * 1664525u + 1013904223u;
        size_t k = 1 + (*seed >> 16) % 9;
        return k < n ? k : n;
    }
    if (cut == CUT_TOKEN) {
        size_t k = 1;
        while (k < n && isalnum((unsigned char)s[k - 1]) && isalnum((unsigned char)s[k])) k++;
        return k;
    }
    return cut < 0 || (size_t)cut > n ? n : (size_t)cut;
}

void parse_run(struct parse_result *r, const char *tool, const char *reasoning, const json_t *tools, const char *text,
               size_t n, int cut, uint32_t seed) {
    memset(r, 0, sizeof *r);
    struct vc_parser_params p = {
        .tool_parser = tool, .reasoning_parser = reasoning, .tools = tools, .whole = cut == CUT_WHOLE
    };
    struct vc_parse_sink sink = { on_delta, r };
    struct vc_parser *parser;
    vc_err err = VC_ERR_INIT;
    if (vc_parser_new(&parser, &p, &err)) {
        r->wrong = "the parser could not be made";
        fprintf(stderr, "%s\n", err.text);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = step(text + i, n - i, cut, &seed);
        if (vc_parser_push(parser, text + i, k, &sink, &err)) r->wrong = "push failed";
    }
    if (vc_parser_finish(parser, &sink, &err)) r->wrong = "finish failed";
    if (vc_parser_calls(parser) != r->n_calls) r->wrong = "calls are counted wrongly";
    for (uint32_t i = 0; i < r->n_calls && i < RUN_MAX_CALLS; i++) {
        if (!r->call[i].ended) r->wrong = "a call has no end";
        if (r->call[i].complete && !parse_is_json(r->call[i].args.p))
            r->wrong = "a complete call's arguments are no JSON";
    }
    vc_parser_del(parser);
}

void parse_result_free(struct parse_result *r) {
    vc_buf_free(&r->reasoning);
    vc_buf_free(&r->content);
    for (size_t i = 0; i < RUN_MAX_CALLS; i++) {
        vc_buf_free(&r->call[i].name);
        vc_buf_free(&r->call[i].args);
    }
}

static bool same(const struct vc_buf *a, const struct vc_buf *b) {
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

const char *parse_result_differs(const struct parse_result *a, const struct parse_result *b) {
    if (!same(&a->reasoning, &b->reasoning)) return "reasoning";
    if (!same(&a->content, &b->content)) return "content";
    if (a->n_calls != b->n_calls) return "number of calls";
    for (uint32_t i = 0; i < a->n_calls && i < RUN_MAX_CALLS; i++) {
        if (!same(&a->call[i].name, &b->call[i].name)) return "name";
        if (!same(&a->call[i].args, &b->call[i].args)) return "arguments";
        if (a->call[i].complete != b->call[i].complete) return "completeness";
    }
    return NULL;
}

/* jansson has no keys with NULs: they are read as U+0001. */
static json_t *load(const char *s) {
    if (!s) return NULL;
    struct vc_buf b = { 0 };
    vc_buf_adds(&b, s);
    for (char *at = b.p; at && (at = strstr(at, "\\u0000")); at++) at[5] = '1';
    json_t *j = b.p ? json_loads(b.p, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL) : NULL;
    vc_buf_free(&b);
    return j;
}

bool parse_is_json(const char *s) {
    json_t *j = load(s);
    json_decref(j);
    return j != NULL;
}

bool parse_json_equal(const char *a, const char *b) {
    json_t *x = load(a), *y = load(b);
    bool eq = x && y ? json_equal(x, y) : !strcmp(a ? a : "", b ? b : "");
    json_decref(x);
    json_decref(y);
    return eq;
}
