/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as the output of a model: the first four choose the formats, the size of the pushes and the request, the
 * rest is text. Every cutting must give the same deltas, in one order, valid UTF-8, and JSON where a call is
 * complete. */
#include <string.h>

#include "fuzz/fuzz.h"
#include "text/parser.h"

struct taken {
    struct vc_buf all, args; /* kind, index and text of each delta, joined; arguments of the open call */
    int kind;
    uint32_t index;
};

static void on_delta(void *user, const struct vc_parse_delta *d) {
    struct taken *t = user;
    uint32_t cp;
    for (size_t i = 0, k; i < d->text.n; i += k) {
        k = vc_utf8_decode(d->text.p + i, d->text.n - i, &cp);
        FUZZ_CHECK(k);
    }
    if (d->kind > VC_PARSE_CONTENT || t->kind != (int)d->kind || t->index != d->index) {
        if (d->kind != VC_PARSE_CALL_ARGS || t->kind != (int)d->kind)
            vc_buf_printf(&t->all, "\n%d %u %d ", (int)d->kind, d->index, d->complete);
    }
    t->kind = (int)d->kind;
    t->index = d->index;
    vc_buf_add(&t->all, d->text.p, d->text.n);
    if (d->kind == VC_PARSE_CALL_BEGIN) t->args.n = 0;
    if (d->kind == VC_PARSE_CALL_ARGS) vc_buf_add(&t->args, d->text.p, d->text.n);
    if (d->kind == VC_PARSE_CALL_END && d->complete && t->args.n && !strstr(t->args.p, "\\u0000")) {
        json_t *j = json_loadb(t->args.p, t->args.n, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
        /* jansson reads no number beyond a double's range and no nesting beyond 2048; the parser passes the first on.
         */
        FUZZ_CHECK(j || memchr(t->args.p, 'e', t->args.n) || memchr(t->args.p, 'E', t->args.n) || t->args.n > 300);
        json_decref(j);
    }
}

static void run(const struct vc_parser_params *q, const char *s, size_t n, size_t step, struct taken *t) {
    struct vc_parser *p = NULL;
    struct vc_parse_sink sink = { on_delta, t };
    vc_err err = VC_ERR_INIT;
    t->kind = -1;
    if (vc_parser_new(&p, q, &err)) return;
    for (size_t i = 0, k; i < n; i += k) {
        k = step && step < n - i ? step : n - i;
        FUZZ_CHECK(vc_parser_push(p, s + i, k, &sink, &err) == VC_OK);
    }
    FUZZ_CHECK(vc_parser_finish(p, &sink, &err) == VC_OK);
    vc_parser_del(p);
}

static size_t count(const struct vc_parser_name *(*name)(size_t)) {
    size_t n = 0;
    while (name(n)) n++;
    return n;
}

static const json_t *tools(void) {
    static json_t *t;
    static const char text[] = "[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{"
                               "\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
                               "\"integer\"},\"c\":{\"type\":[\"object\",\"null\"]}}}}}]";
    if (!t) t = json_loads(text, 0, NULL);
    return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    if (n < 4 || n > 20000) return 0;
    const struct vc_parser_name *tool = vc_parser_tool_name(data[0] % (count(vc_parser_tool_name) + 1));
    const struct vc_parser_name *think = vc_parser_reasoning_name(data[1] % (count(vc_parser_reasoning_name) + 1));
    struct vc_parser_params q = {
        .tool_parser = tool ? tool->name : NULL,
        .reasoning_parser = think ? think->name : NULL,
        .tools = data[3] & 1 ? tools() : NULL,
        .thinking_open = data[3] & 2,
        .thinking_off = data[3] & 4,
        .no_calls = (data[3] & 24) == 24,
    };
    struct taken one = { 0 }, cut = { 0 }, whole = { 0 };
    const char *text = (const char *)data + 4;
    run(&q, text, n - 4, 0, &one);
    run(&q, text, n - 4, 1 + data[2] % 16, &cut);
    FUZZ_CHECK(one.all.n == cut.all.n && (!one.all.n || !memcmp(one.all.p, cut.all.p, one.all.n)));
    q.whole = true;
    run(&q, text, n - 4, 0, &whole);
    vc_buf_free(&one.all);
    vc_buf_free(&one.args);
    vc_buf_free(&cut.all);
    vc_buf_free(&cut.args);
    vc_buf_free(&whole.all);
    vc_buf_free(&whole.args);
    return 0;
}
