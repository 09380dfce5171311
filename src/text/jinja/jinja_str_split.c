/* SPDX-License-Identifier: Apache-2.0
 * String methods that cut, join and pad: split, splitlines, join, center, zfill, expandtabs. */
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_method.h"

static vc_jv piece(vc_jx *x, vc_jv self, size_t from, size_t to) {
    vc_jv r = vc_j_substr(x, self.u.s, from, to - from);
    r.sub = self.sub;
    return r;
}

static size_t next_cp(const struct vc_jstr *s, size_t at, uint32_t *cp) {
    size_t w = vc_utf8_decode(s->p + at, s->n - at, cp);
    return at + (w ? w : 1);
}

static size_t prev_cp(const struct vc_jstr *s, size_t at, uint32_t *cp) {
    size_t k = at - 1;
    while (k > 0 && ((unsigned char)s->p[k] & 0xC0) == 0x80) k--;
    vc_utf8_decode(s->p + k, at - k, cp);
    return k;
}

static vc_jv split_space(vc_jx *x, vc_jv self, int64_t max) {
    const struct vc_jstr *s = self.u.s;
    vc_jv l = vc_j_list(x, 0);
    uint32_t cp = 0;
    for (size_t i = 0;;) {
        for (size_t k; i < s->n && (k = next_cp(s, i, &cp), vc_j_space(cp));) i = k;
        if (i >= s->n) return l;
        size_t from = i;
        if (max-- == 0) {
            vc_j_push(x, l, piece(x, self, from, s->n));
            return l;
        }
        for (size_t k; i < s->n && (k = next_cp(s, i, &cp), !vc_j_space(cp));) i = k;
        vc_j_push(x, l, piece(x, self, from, i));
    }
}

static void reverse(struct vc_jlist *l) {
    for (size_t i = 0; i < l->n / 2; i++) {
        vc_jv t = l->v[i];
        l->v[i] = l->v[l->n - 1 - i];
        l->v[l->n - 1 - i] = t;
    }
}

static vc_jv rsplit_space(vc_jx *x, vc_jv self, int64_t max) {
    const struct vc_jstr *s = self.u.s;
    vc_jv l = vc_j_list(x, 0);
    uint32_t cp = 0;
    for (size_t i = s->n;;) {
        for (size_t k; i > 0 && (k = prev_cp(s, i, &cp), vc_j_space(cp));) i = k;
        if (i == 0) break;
        size_t to = i;
        if (max-- == 0) {
            vc_j_push(x, l, piece(x, self, 0, to));
            break;
        }
        for (size_t k; i > 0 && (k = prev_cp(s, i, &cp), !vc_j_space(cp));) i = k;
        vc_j_push(x, l, piece(x, self, i, to));
    }
    reverse(l.u.l);
    return l;
}

static vc_jv split_at(vc_jx *x, vc_jv self, const struct vc_jstr *t, int64_t max, bool last) {
    const struct vc_jstr *s = self.u.s;
    vc_jv l = vc_j_list(x, 0);
    if (!t->n) vc_j_raise(x, "empty separator");
    if (!last) {
        size_t at = 0, hit;
        for (; max-- != 0 && (hit = vc_j_search(s->p, s->n, t, at)) != SIZE_MAX; at = hit + t->n)
            vc_j_push(x, l, piece(x, self, at, hit));
        vc_j_push(x, l, piece(x, self, at, s->n));
        return l;
    }
    size_t end = s->n, hit;
    for (; max-- != 0 && (hit = vc_j_search_last(s->p, end, t)) != SIZE_MAX; end = hit)
        vc_j_push(x, l, piece(x, self, hit + t->n, end));
    vc_j_push(x, l, piece(x, self, 0, end));
    reverse(l.u.l);
    return l;
}

static vc_jv split(vc_jx *x, vc_jv self, vc_jv *arg, bool last) {
    int64_t max = vc_j_given(arg[1]) ? vc_j_as_index(x, arg[1], "maxsplit") : -1;
    if (max < 0) max = -1;
    vc_j_step(x, self.u.s->n / 64);
    if (!vc_j_given(arg[0]) || arg[0].t == VC_J_NONE)
        return last ? rsplit_space(x, self, max) : split_space(x, self, max);
    return split_at(x, self, vc_j_need_str(x, arg[0], "the separator"), max, last);
}
vc_jv vc_jm_split(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return split(x, self, arg, false);
}
vc_jv vc_jm_rsplit(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return split(x, self, arg, true);
}

vc_jv vc_j_splitlines(vc_jx *x, vc_jv self, bool keep) {
    const struct vc_jstr *s = self.u.s;
    vc_jv l = vc_j_list(x, 0);
    uint32_t cp = 0;
    size_t from = 0;
    for (size_t i = 0; i < s->n;) {
        size_t k = next_cp(s, i, &cp);
        if (vc_j_is_line_end(cp)) {
            if (cp == '\r' && k < s->n && s->p[k] == '\n') k++;
            vc_j_push(x, l, piece(x, self, from, keep ? k : i));
            from = k;
        }
        i = k;
    }
    if (from < s->n) vc_j_push(x, l, piece(x, self, from, s->n));
    return l;
}

vc_jv vc_jm_splitlines(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_splitlines(x, self, vc_j_truth(arg[0]));
}

vc_jv vc_jm_join(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    struct vc_jbuf b = { 0 };
    struct vc_jit it = vc_j_iter(x, arg[0]);
    vc_jv v;
    for (size_t i = 0; vc_j_next(x, &it, &v); i++) {
        if (v.t != VC_J_STR) vc_j_raise(x, "sequence item %zu: expected str instance, %s found", i, vc_j_type_name(v));
        if (i) vc_j_puts_str(x, &b, self.u.s);
        if (self.sub) vc_j_put_escaped(x, &b, v);
        else vc_j_puts_str(x, &b, v.u.s);
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = self.sub;
    return r;
}

vc_jv vc_j_pad(vc_jx *x, vc_jv v, int64_t width, uint32_t fill, int align) {
    int64_t n = (int64_t)v.u.s->len;
    if (width <= n) return v;
    uint64_t room = (uint64_t)(width - n), left = align < 0   ? 0
                                                  : align > 0 ? room
                                                              : room / 2 + (room & (uint64_t)width & 1);
    struct vc_jbuf b = { 0 }, f = { 0 };
    vc_j_putcp(x, &f, fill);
    vc_j_putn(x, &b, f.p, f.n, left);
    vc_j_puts_str(x, &b, v.u.s);
    vc_j_putn(x, &b, f.p, f.n, room - left);
    vc_jv r = vc_j_done(x, &b);
    r.sub = v.sub;
    return r;
}

static vc_jv pad(vc_jx *x, vc_jv self, vc_jv *arg, int align) {
    uint32_t fill = ' ';
    if (vc_j_given(arg[1])) {
        const struct vc_jstr *f = vc_j_need_str(x, arg[1], "the fill character");
        if (f->len != 1) vc_j_raise(x, "the fill character must be exactly one character long");
        vc_utf8_decode(f->p, f->n, &fill);
    }
    return vc_j_pad(x, self, vc_j_as_index(x, arg[0], "the width"), fill, align);
}
vc_jv vc_jm_center(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) { (void)c; return pad(x, self, arg, 0); }
vc_jv vc_jm_ljust(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) { (void)c; return pad(x, self, arg, -1); }
vc_jv vc_jm_rjust(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) { (void)c; return pad(x, self, arg, 1); }

vc_jv vc_jm_zfill(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    int64_t width = vc_j_as_index(x, arg[0], "the width");
    const struct vc_jstr *s = self.u.s;
    bool sign = s->n && (s->p[0] == '+' || s->p[0] == '-');
    if (width <= (int64_t)s->len) return self;
    struct vc_jbuf b = { 0 };
    if (sign) vc_j_putc(x, &b, s->p[0]);
    vc_j_putn(x, &b, "0", 1, (size_t)(width - (int64_t)s->len));
    vc_j_put(x, &b, s->p + sign, s->n - sign);
    return vc_j_done(x, &b);
}

vc_jv vc_jm_expandtabs(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    int64_t size = vc_j_given(arg[0]) ? vc_j_as_index(x, arg[0], "the tab size") : 8, col = 0;
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < self.u.s->n; i++) {
        char ch = self.u.s->p[i];
        if (ch == '\t') {
            int64_t k = size > 0 ? size - col % size : 0;
            vc_j_putn(x, &b, " ", 1, (size_t)k);
            col += k;
            continue;
        }
        vc_j_putc(x, &b, ch);
        if (ch == '\n' || ch == '\r') col = 0;
        else if (((unsigned char)ch & 0xC0) != 0x80) col++;
    }
    return vc_j_done(x, &b);
}
