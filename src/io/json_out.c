/* SPDX-License-Identifier: Apache-2.0 */
#include "io/json_out.h"

#include <math.h>
#include <string.h>

#include "num/digits.h"

void vc_jo_init(struct vc_json_out *w, struct vc_buf *b, int flags) {
    *w = (struct vc_json_out){ .b = b, .flags = flags };
}

static void line(struct vc_json_out *w) {
    if (!(w->flags & VC_JSON_PRETTY)) return;
    vc_buf_addc(w->b, '\n');
    for (uint32_t i = 0; i < w->depth; i++) vc_buf_add(w->b, "  ", 2);
}

/* Comma and line break before a value or key, unless it follows its key. */
static void before(struct vc_json_out *w) {
    if (!w->after_key) {
        if (w->comma) vc_buf_addc(w->b, ',');
        if (w->depth) line(w);
        else if (w->comma && (w->flags & VC_JSON_PRETTY)) vc_buf_addc(w->b, '\n');
    }
    w->comma = true;
    w->after_key = false;
}

static void begin(struct vc_json_out *w, char c) {
    before(w);
    vc_buf_addc(w->b, c);
    w->depth++;
    w->comma = false;
}

static void end(struct vc_json_out *w, char c) {
    if (w->depth) w->depth--;
    if (w->comma) line(w);          /* an empty object or array stays on its line */
    vc_buf_addc(w->b, c);
    w->comma = true;
    w->after_key = false;
}

void vc_jo_begin_obj(struct vc_json_out *w) { begin(w, '{'); }
void vc_jo_end_obj(struct vc_json_out *w) { end(w, '}'); }
void vc_jo_begin_arr(struct vc_json_out *w) { begin(w, '['); }
void vc_jo_end_arr(struct vc_json_out *w) { end(w, ']'); }

void vc_jo_keyn(struct vc_json_out *w, const char *key, size_t n) {
    before(w);
    vc_json_add_str(w->b, key, n);
    vc_buf_addc(w->b, ':');
    if (w->flags & VC_JSON_PRETTY) vc_buf_addc(w->b, ' ');
    w->after_key = true;
}
void vc_jo_key(struct vc_json_out *w, const char *key) { vc_jo_keyn(w, key, strlen(key)); }

void vc_jo_raw(struct vc_json_out *w, const char *json, size_t n) {
    before(w);
    vc_buf_add(w->b, json, n);
}
void vc_jo_strn(struct vc_json_out *w, const char *s, size_t n) {
    before(w);
    vc_json_add_str(w->b, s, n);
}
void vc_jo_str(struct vc_json_out *w, const char *s) {
    if (s) vc_jo_strn(w, s, strlen(s));
    else vc_jo_null(w);
}
void vc_jo_int(struct vc_json_out *w, int64_t v) {
    before(w);
    vc_buf_printf(w->b, "%lld", (long long)v);
}
void vc_jo_uint(struct vc_json_out *w, uint64_t v) {
    before(w);
    vc_buf_printf(w->b, "%llu", (unsigned long long)v);
}
void vc_jo_bool(struct vc_json_out *w, bool v) {
    if (v) vc_jo_raw(w, "true", 4);
    else vc_jo_raw(w, "false", 5);
}
void vc_jo_null(struct vc_json_out *w) { vc_jo_raw(w, "null", 4); }
void vc_jo_f32(struct vc_json_out *w, float v) {
    before(w);
    vc_json_add_f32(w->b, v);
}
void vc_jo_f64(struct vc_json_out *w, double v) {
    before(w);
    vc_json_add_f64(w->b, v);
}

void vc_json_add_f32(struct vc_buf *b, float v) {
    char text[VC_DIGITS_MAX];
    if (isfinite(v)) vc_buf_add(b, text, vc_print_f32(text, v));
    else vc_buf_adds(b, "null");
}

void vc_json_add_f64(struct vc_buf *b, double v) {
    char text[VC_DIGITS_MAX];
    if (isfinite(v)) vc_buf_add(b, text, vc_print_f64(text, v));
    else vc_buf_adds(b, "null");
}

static void add_escape(struct vc_buf *b, unsigned char c) {
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"': vc_buf_add(b, "\\\"", 2); break;
    case '\\': vc_buf_add(b, "\\\\", 2); break;
    case '\n': vc_buf_add(b, "\\n", 2); break;
    case '\r': vc_buf_add(b, "\\r", 2); break;
    case '\t': vc_buf_add(b, "\\t", 2); break;
    case '\b': vc_buf_add(b, "\\b", 2); break;
    case '\f': vc_buf_add(b, "\\f", 2); break;
    default:
        vc_buf_add(b, "\\u00", 4);
        vc_buf_addc(b, hex[c >> 4]);
        vc_buf_addc(b, hex[c & 15]);
    }
}

/* Length of the invalid sequence at s: its longest beginning that could be completed, at least 1 (Unicode 15, 3.9,
 * U+FFFD substitution of maximal subparts). */
static size_t bad_length(const char *s, size_t n) {
    size_t k = 1;
    while (k < n && k < 3 && vc_utf8_partial(s, k + 1) == k + 1) k++;
    return k;
}

void vc_json_add_str(struct vc_buf *b, const char *s, size_t n) {
    size_t start = 0, at = 0;
    uint32_t cp;
    vc_buf_addc(b, '"');
    while (at < n) {
        unsigned char c = (unsigned char)s[at];
        if (c >= 0x20 && c < 0x80 && c != '"' && c != '\\') {
            at++;
            continue;
        }
        size_t len = c < 0x80 ? 1 : vc_utf8_decode(s + at, n - at, &cp);
        if (c >= 0x80 && len) {
            at += len;
            continue;
        }
        if (at > start) vc_buf_add(b, s + start, at - start);
        if (c < 0x80) add_escape(b, c);
        else vc_buf_add(b, "\xEF\xBF\xBD", 3);
        at += len ? len : bad_length(s + at, n - at);
        start = at;
    }
    if (n > start) vc_buf_add(b, s + start, n - start);
    vc_buf_addc(b, '"');
}
