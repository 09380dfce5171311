/* SPDX-License-Identifier: Apache-2.0
 * Filters over text. */
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_filter.h"

VC_J_FILTER(upper) { VC_J_UNUSED; return vc_j_case(x, vc_j_to_str(x, arg[0]), VC_J_UPPER); }
VC_J_FILTER(lower) { VC_J_UNUSED; return vc_j_case(x, vc_j_to_str(x, arg[0]), VC_J_LOWER); }
VC_J_FILTER(capitalize) { VC_J_UNUSED; return vc_j_case(x, vc_j_to_str(x, arg[0]), VC_J_CAPITALIZE); }
VC_J_FILTER(string) { VC_J_UNUSED; return vc_j_to_str(x, arg[0]); }
VC_J_FILTER(trim) { VC_J_UNUSED; return vc_j_strip(x, vc_j_to_str(x, arg[0]), arg[1], 3); }
VC_J_FILTER(center) {
    VC_J_UNUSED;
    return vc_j_pad(x, vc_j_to_str(x, arg[0]), vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "center's width") : 80,
                    ' ', 0);
}

/* Words, apart by white space, '-', '(', '{', '[' and '<', each with its first character in upper case. */
VC_J_FILTER(title) {
    VC_J_UNUSED;
    vc_jv v = vc_j_to_str(x, arg[0]);
    const struct vc_jstr *s = v.u.s;
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < s->n;) {
        size_t first = 0, k = i;
        while (k < s->n) {
            uint32_t cp = 0;
            size_t w = vc_utf8_decode(s->p + k, s->n - k, &cp);
            if (cp == '-' || cp == '(' || cp == '{' || cp == '[' || cp == '<' || vc_j_space(cp) || w == 0) break;
            k += w;
            if (!first) first = w;
        }
        if (k == i) {
            uint32_t cp = 0;
            size_t w = VC_MAX(vc_utf8_decode(s->p + k, s->n - k, &cp), 1u);
            vc_j_put(x, &b, s->p + k, w);
            i = k + w;
            continue;
        }
        vc_j_puts_str(x, &b, vc_j_case(x, vc_j_substr(x, s, i, first), VC_J_UPPER).u.s);
        vc_j_puts_str(x, &b, vc_j_case(x, vc_j_substr(x, s, i + first, k - i - first), VC_J_LOWER).u.s);
        i = k;
    }
    return vc_j_done(x, &b);
}

VC_J_FILTER(replace) {
    VC_J_UNUSED;
    vc_jv s = vc_j_to_str(x, arg[0]), from = vc_j_to_str(x, arg[1]), to = vc_j_to_str(x, arg[2]);
    int64_t count = vc_j_has(arg[3]) ? vc_j_as_index(x, arg[3], "replace's count") : -1;
    bool markup = x->autoescape && (s.sub || from.sub || to.sub);
    if (markup) {
        s = vc_j_escape(x, s);
        to = vc_j_escape(x, to);
    }
    vc_jv r = vc_j_replace(x, s.u.s, from.u.s, to.u.s, count);
    r.sub = markup;
    return r;
}

VC_J_FILTER(format) {
    VC_J_UNUSED;
    struct vc_jcall rest = { c->v + 1, c->n - 1, c->kw, c->n_kw };
    return vc_j_percent(x, vc_j_to_str(x, arg[0]), vc_j_none(), &rest);
}

VC_J_FILTER(indent) {
    VC_J_UNUSED;
    const struct vc_jstr *s = vc_j_need_str(x, arg[0], "the text to indent");
    struct vc_jbuf pad = { 0 }, b = { 0 };
    if (vc_j_given(arg[1]) && arg[1].t == VC_J_STR) {
        vc_j_puts_str(x, &pad, arg[1].u.s);
    } else {
        int64_t w = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "indent's width") : 4;
        vc_j_putn(x, &pad, " ", 1, w > 0 ? (size_t)w : 0);
    }
    vc_j_puts_str(x, &b, s);
    vc_j_putc(x, &b, '\n');
    vc_jv lines = vc_j_splitlines(x, vc_j_done(x, &b), false);
    struct vc_jbuf out = { 0 };
    for (size_t i = 0; i < lines.u.l->n; i++) {
        const struct vc_jstr *line = lines.u.l->v[i].u.s;
        if (i) vc_j_putc(x, &out, '\n');
        if (i ? line->n || vc_j_flag(arg[3]) : vc_j_flag(arg[2])) vc_j_put(x, &out, pad.p, pad.n);
        vc_j_puts_str(x, &out, line);
    }
    vc_jv r = vc_j_done(x, &out);
    r.sub = arg[0].sub;
    return r;
}

VC_J_FILTER(truncate) {
    VC_J_UNUSED;
    const struct vc_jstr *s = vc_j_need_str(x, arg[0], "the text to truncate"),
                         *end =
                             vc_j_given(arg[3]) ? vc_j_need_str(x, arg[3], "truncate's end") : vc_j_lit(x, "...").u.s;
    int64_t length = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "truncate's length") : 255,
            leeway = vc_j_has(arg[4]) ? vc_j_as_index(x, arg[4], "truncate's leeway") : 5;
    if (length < (int64_t)end->len || leeway < 0)
        vc_j_raise(x, "truncate needs a length of at least that of its end, and a leeway of at least 0");
    if ((int64_t)s->len <= length + leeway) return arg[0];
    size_t n = vc_j_offset(s, (size_t)(length - (int64_t)end->len)), cut = n;
    if (!vc_j_flag(arg[2])) {
        while (cut > 0 && s->p[cut - 1] != ' ') cut--;
        cut = cut ? cut - 1 : n;
    }
    struct vc_jbuf b = { 0 };
    vc_j_put(x, &b, s->p, cut);
    vc_j_puts_str(x, &b, end);
    return vc_j_done(x, &b);
}

static bool word_char(uint32_t cp) {
    return cp == '_' || vc_j_is_alpha(cp) || vc_j_is_numeric(cp) || vc_j_is_digit(cp);
}

VC_J_FILTER(wordcount) {
    VC_J_UNUSED;
    const struct vc_jstr *s = vc_j_to_str(x, arg[0]).u.s;
    int64_t n = 0;
    bool in = false;
    uint32_t cp = 0;
    for (size_t i = 0, w; i < s->n && (w = vc_utf8_decode(s->p + i, s->n - i, &cp)) > 0; i += w) {
        bool word = word_char(cp);
        n += word && !in;
        in = word;
    }
    return vc_j_int(n);
}

/* ---- wordwrap: textwrap.wrap of every line, white space kept as it is but dropped where lines meet ---- */
static bool wrap_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static bool letter_at(const struct vc_jstr *s, size_t i) {
    return i < s->n && (((s->p[i] | 0x20) >= 'a' && (s->p[i] | 0x20) <= 'z') || (unsigned char)s->p[i] >= 0x80);
}

/* End of the piece that starts at `at`: a run of spaces, or a word, cut behind a hyphen between letters. */
static size_t piece_end(const struct vc_jstr *s, size_t at, bool hyphens) {
    size_t k = at;
    bool space = wrap_space(s->p[at]);
    while (k < s->n && wrap_space(s->p[k]) == space) {
        k++;
        if (!space && hyphens && s->p[k - 1] == '-' && k >= at + 3 && letter_at(s, k - 2) && letter_at(s, k - 3) &&
            letter_at(s, k) && letter_at(s, k + 1))
            break;
    }
    return k;
}

struct wrap { vc_jv lines; struct vc_jbuf line; size_t len; };

static void flush(vc_jx *x, struct wrap *w) {
    while (w->line.n && wrap_space(w->line.p[w->line.n - 1])) w->line.n--;
    if (w->line.n) vc_j_push(x, w->lines, vc_j_copy(x, w->line.p, w->line.n));
    w->line.n = w->len = 0;
}

static void wrap_line(vc_jx *x, struct wrap *w, const struct vc_jstr *s, size_t width, bool break_long, bool hyphens) {
    for (size_t i = 0; i < s->n;) {
        size_t end = piece_end(s, i, hyphens), n = vc_j_count_cp(s->p + i, end - i);
        vc_j_step(x, 1);
        if (w->len + n <= width || (!w->len && !break_long)) {
            if (!(w->len == 0 && w->lines.u.l->n && wrap_space(s->p[i]))) {
                vc_j_put(x, &w->line, s->p + i, end - i);
                w->len += n;
            }
            i = end;
        } else if (n > width && break_long && !wrap_space(s->p[i])) {
            struct vc_jstr rest = { s->p + i, end - i, n };
            size_t take = vc_j_offset(&rest, width - w->len);
            vc_j_put(x, &w->line, s->p + i, take);
            flush(x, w);
            i += take;
        } else {
            if (wrap_space(s->p[i])) i = end;
            flush(x, w);
        }
    }
    flush(x, w);
}

VC_J_FILTER(wordwrap) {
    VC_J_UNUSED;
    vc_j_need_str(x, arg[0], "the text to wrap");
    int64_t width = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "wordwrap's width") : 79;
    if (width <= 0) vc_j_raise(x, "invalid width %lld (must be > 0)", (long long)width);
    bool break_long = !vc_j_given(arg[2]) || vc_j_truth(arg[2]), hyphens = !vc_j_given(arg[4]) || vc_j_truth(arg[4]);
    const struct vc_jstr *sep =
        vc_j_has(arg[3]) ? vc_j_need_str(x, arg[3], "wordwrap's wrapstring") : vc_j_lit(x, "\n").u.s;
    vc_jv lines = vc_j_splitlines(x, arg[0], false);
    struct vc_jbuf out = { 0 };
    for (size_t i = 0; i < lines.u.l->n; i++) {
        struct wrap w = { .lines = vc_j_list(x, 0) };
        wrap_line(x, &w, lines.u.l->v[i].u.s, (size_t)width, break_long, hyphens);
        if (i) vc_j_puts_str(x, &out, sep);
        for (size_t k = 0; k < w.lines.u.l->n; k++) {
            if (k) vc_j_puts_str(x, &out, sep);
            vc_j_puts_str(x, &out, w.lines.u.l->v[k].u.s);
        }
    }
    return vc_j_done(x, &out);
}
