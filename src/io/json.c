/* SPDX-License-Identifier: Apache-2.0
 * json.c: text to tree. jansson recurses while parsing, so the depth is limited by a scan before it sees the text; the
 * same scan finds integers beyond 64 bits (tokenizer_config.json files have a model_max_length of 10^30), which
 * jansson would refuse: they are read as reals. */
#include "io/json.h"

#include <stdlib.h>
#include <string.h>

#include "io/map.h"

struct scan { size_t deep_at; size_t long_ints; };

static bool digit(char c) { return c >= '0' && c <= '9'; }

/* Does the number token text[at…end) hold an integer that does not fit int64? */
static bool too_long(const char *p, size_t n) {
    size_t i = n && p[0] == '-', start = i;
    while (i < n && digit(p[i])) i++;
    if (i != n || n - start < 19 || p[start] == '0') return false;
    return n - start > 19 || memcmp(p + start, "9223372036854775807", 19) > 0;
}

static size_t number_end(const char *p, size_t at, size_t n) {
    while (at < n && (digit(p[at]) || p[at] == '-' || p[at] == '+' || p[at] == '.' || p[at] == 'e' || p[at] == 'E'))
        at++;
    return at;
}

static size_t string_end(const char *p, size_t at, size_t n) {
    for (at++; at < n && p[at] != '"'; at++)
        if (p[at] == '\\') at++;
    return at < n ? at + 1 : n;
}

/* Walks the tokens; with `out`, copies the text and makes long integers reals. deep_at: SIZE_MAX, or where the nesting
 * exceeds the limit. */
static struct scan scan(const char *p, size_t n, struct vc_buf *out) {
    struct scan s = { SIZE_MAX, 0 };
    size_t depth = 0, copied = 0;
    for (size_t at = 0; at < n;) {
        char c = p[at];
        if (c == '"') {
            at = string_end(p, at, n);
        } else if (c == '-' || digit(c)) {
            size_t end = number_end(p, at, n);
            if (too_long(p + at, end - at)) {
                s.long_ints++;
                if (out) {
                    vc_buf_add(out, p + copied, end - copied);
                    vc_buf_adds(out, ".0");
                    copied = end;
                }
            }
            at = end;
        } else {
            if (c == '{' || c == '[') depth++;
            if (depth > VC_JSON_MAX_DEPTH && s.deep_at == SIZE_MAX) s.deep_at = at;
            if ((c == '}' || c == ']') && depth) depth--;
            at++;
        }
    }
    if (out) vc_buf_add(out, p + copied, n - copied);
    return s;
}

static void position(const char *p, size_t at, int *line, int *column) {
    *line = 1;
    *column = 1;
    for (size_t i = 0; i < at; i++) {
        if (p[i] == '\n') { (*line)++; *column = 1; }
        else (*column)++;
    }
}

vc_status vc_json_parse(json_t **out, const char *text, size_t n, const char *name, vc_err *err) {
    struct vc_buf copy = { 0 };
    json_error_t e;
    char what[JSON_ERROR_TEXT_LENGTH * 4];
    *out = NULL;
    struct scan s = scan(text, n, NULL);
    if (s.deep_at != SIZE_MAX) {
        int line, column;
        position(text, s.deep_at, &line, &column);
        return vc_fail(err, VC_E_FORMAT, "%s:%d:%d: nested more than %d levels deep", name, line, column,
                       (int)VC_JSON_MAX_DEPTH);
    }
    if (s.long_ints) {
        scan(text, n, &copy);
        if (copy.failed) {
            vc_buf_free(&copy);
            return vc_fail(err, VC_E_NOMEM, "%s: out of memory", name);
        }
        text = copy.p;
        n = copy.n;
    }
    *out = json_loadb(text ? text : "", n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    vc_buf_free(&copy);
    if (*out) return VC_OK;
    vc_status status = json_error_code(&e) == json_error_out_of_memory ? VC_E_NOMEM : VC_E_FORMAT;
    return vc_fail(err, status, "%s:%d:%d: %s", name, e.line < 1 ? 1 : e.line, e.column < 0 ? 0 : e.column,
                   vc_printable(what, sizeof what, e.text, strlen(e.text)));
}

vc_status vc_json_load(json_t **out, const char *path, vc_err *err) {
    struct vc_map m;
    *out = NULL;
    VC_TRY(vc_map_open(&m, path, err));
    vc_status s = vc_json_parse(out, (const char *)m.p, m.n, path, err);
    vc_map_close(&m);
    return s;
}
