/* SPDX-License-Identifier: Apache-2.0
 * pprint: pprint.pformat() of Python with its defaults: 80 columns, one blank a level, dicts in the order of their
 * keys. */
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_filter.h"

enum { WIDTH = 80 };

/* Keys that can be compared belong to one group; groups are in the order of their types' names, as Python falls back
 * to. */
static int group_of(vc_jv k) {
    return k.t == VC_J_NONE    ? 0
           : vc_j_is_num(k)    ? 1
           : k.t == VC_J_UNDEF ? 2
           : k.t == VC_J_STR   ? 3
           : k.t == VC_J_TUPLE ? 4
                               : 5;
}

/* A copy whose dicts are in the order of their keys. */
static vc_jv sorted_copy(vc_jx *x, vc_jv v) {
    vc_j_enter(x);
    vc_j_step(x, 1);
    if (v.t == VC_J_LIST || v.t == VC_J_TUPLE) {
        vc_jv l = vc_j_tuple(x, v.u.l->n, v.u.l->v);
        l.t = v.t;
        for (size_t i = 0; i < l.u.l->n; i++) l.u.l->v[i] = sorted_copy(x, l.u.l->v[i]);
        v = l;
    } else if (v.t == VC_J_DICT) {
        size_t n = v.u.d->n, at = 0;
        vc_jv d = vc_j_dict(x), *order = vc_j_array(x, n, sizeof *order), *key = vc_j_array(x, n, sizeof *key);
        for (int g = 0; g <= 5; g++) {
            size_t from = at;
            for (size_t i = 0; i < n; i++) {
                if (group_of(v.u.d->e[i].k) != g) continue;
                order[at] = vc_j_int((int64_t)i);
                key[at++] = v.u.d->e[i].k;
            }
            if (g == 1 || g == 3 || g == 4) vc_j_sort(x, order + from, key + from, at - from, false);
        }
        for (size_t i = 0; i < n; i++) {
            const struct vc_jent *e = &v.u.d->e[order[i].u.i];
            vc_j_set(x, d.u.d, e->k, sorted_copy(x, e->v));
        }
        v = d;
    }
    vc_j_leave(x);
    return v;
}

static vc_jv repr_of(vc_jx *x, vc_jv v) {
    struct vc_jbuf b = { 0 };
    vc_j_put_repr(x, &b, v);
    return vc_j_done(x, &b);
}

static void new_line(vc_jx *x, struct vc_jbuf *b, int64_t indent, const char *before) {
    vc_j_puts(x, b, before);
    vc_j_putc(x, b, '\n');
    vc_j_putn(x, b, " ", 1, (size_t)indent);
}

static void put(vc_jx *x, struct vc_jbuf *b, vc_jv v, int64_t indent, int64_t allowance, int level);

static void put_items(vc_jx *x, struct vc_jbuf *b, const struct vc_jlist *l, int64_t indent, int64_t allowance,
                      int level) {
    for (size_t i = 0; i < l->n; i++) {
        if (i) new_line(x, b, indent + 1, ",");
        put(x, b, l->v[i], indent + 1, i + 1 == l->n ? allowance : 1, level);
    }
}

static void put_pairs(vc_jx *x, struct vc_jbuf *b, const struct vc_jdict *d, int64_t indent, int64_t allowance,
                      int level) {
    for (size_t i = 0; i < d->n; i++) {
        if (i) new_line(x, b, indent + 1, ",");
        vc_jv k = repr_of(x, d->e[i].k);
        vc_j_puts_str(x, b, k.u.s);
        vc_j_puts(x, b, ": ");
        put(x, b, d->e[i].v, indent + 1 + (int64_t)k.u.s->len + 2, i + 1 == d->n ? allowance : 1, level);
    }
}

/* End of the part of a line that starts at `at`: non-blanks and the blanks behind them. */
static size_t part_end(const struct vc_jstr *s, size_t at) {
    uint32_t cp = 0;
    size_t w;
    for (; at < s->n && (w = vc_utf8_decode(s->p + at, s->n - at, &cp)) > 0 && !vc_j_space(cp);) at += w;
    for (; at < s->n && (w = vc_utf8_decode(s->p + at, s->n - at, &cp)) > 0 && vc_j_space(cp);) at += w;
    return at;
}

/* A line that is too long, in chunks of whole parts. last: it is the last line, whose end must leave `allowance`
 * columns. */
static void wrap_line(vc_jx *x, vc_jv chunks, const struct vc_jstr *s, int64_t width, int64_t allowance, bool last) {
    size_t from = 0, to = 0;
    while (to < s->n) {
        size_t end = part_end(s, to);
        int64_t room = last && end == s->n ? width - allowance : width;
        if ((int64_t)repr_of(x, vc_j_substr(x, s, from, end - from)).u.s->len > room) {
            if (to > from) vc_j_push(x, chunks, repr_of(x, vc_j_substr(x, s, from, to - from)));
            from = to;
        }
        to = end;
    }
    if (to > from) vc_j_push(x, chunks, repr_of(x, vc_j_substr(x, s, from, to - from)));
}

static void put_text(vc_jx *x, struct vc_jbuf *b, vc_jv v, int64_t indent, int64_t allowance, int level) {
    vc_jv lines = vc_j_splitlines(x, v, true), chunks = vc_j_list(x, 0);
    if (level == 1) {
        indent++;
        allowance++;
    }
    for (size_t i = 0; i < lines.u.l->n; i++) {
        bool last = i + 1 == lines.u.l->n;
        vc_jv rep = repr_of(x, lines.u.l->v[i]);
        if ((int64_t)rep.u.s->len <= WIDTH - indent - (last ? allowance : 0)) vc_j_push(x, chunks, rep);
        else wrap_line(x, chunks, lines.u.l->v[i].u.s, WIDTH - indent, allowance, last);
    }
    bool bracket = level == 1 && chunks.u.l->n != 1;
    if (bracket) vc_j_putc(x, b, '(');
    for (size_t i = 0; i < chunks.u.l->n; i++) {
        if (i) new_line(x, b, indent, "");
        vc_j_puts_str(x, b, chunks.u.l->v[i].u.s);
    }
    if (bracket) vc_j_putc(x, b, ')');
}

static void put(vc_jx *x, struct vc_jbuf *b, vc_jv v, int64_t indent, int64_t allowance, int level) {
    vc_jv rep = repr_of(x, v);
    bool split = (int64_t)rep.u.s->len > WIDTH - indent - allowance;
    vc_j_enter(x);
    if (split && v.t == VC_J_LIST) {
        vc_j_putc(x, b, '[');
        put_items(x, b, v.u.l, indent, allowance + 1, level + 1);
        vc_j_putc(x, b, ']');
    } else if (split && v.t == VC_J_TUPLE) {
        const char *end = v.u.l->n == 1 ? ",)" : ")";
        vc_j_putc(x, b, '(');
        put_items(x, b, v.u.l, indent, allowance + (int64_t)strlen(end), level + 1);
        vc_j_puts(x, b, end);
    } else if (split && v.t == VC_J_DICT) {
        vc_j_putc(x, b, '{');
        put_pairs(x, b, v.u.d, indent, allowance + 1, level + 1);
        vc_j_putc(x, b, '}');
    } else if (split && v.t == VC_J_STR && !v.sub && v.u.s->n) {
        put_text(x, b, v, indent, allowance, level + 1);
    } else {
        vc_j_puts_str(x, b, rep.u.s);
    }
    vc_j_leave(x);
}

VC_J_FILTER(pprint) {
    VC_J_UNUSED;
    struct vc_jbuf b = { 0 };
    put(x, &b, sorted_copy(x, arg[0]), 0, 0, 0);
    return vc_j_done(x, &b);
}
