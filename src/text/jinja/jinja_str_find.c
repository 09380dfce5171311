/* SPDX-License-Identifier: Apache-2.0
 * String methods that look for text: find, count, startswith, replace, strip, partition. Positions are code points. */
#include <string.h>

#include "base/str.h"
#include "text/jinja/jinja_method.h"

const struct vc_jstr *vc_j_need_str(vc_jx *x, vc_jv v, const char *what) {
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    if (v.t != VC_J_STR) vc_j_raise(x, "%s must be str, not %s", what, vc_j_type_name(v));
    return v.u.s;
}

/* Bytes [*b0, *b1) of s for start and end given as in Python; false when the range is empty because start is past the end. */
static bool window(vc_jx *x, const struct vc_jstr *s, vc_jv start, vc_jv end, size_t *b0, size_t *b1, int64_t *cp0) {
    int64_t n = (int64_t)s->len, a = 0, b = n;
    if (vc_j_given(start) && start.t != VC_J_NONE) a = vc_j_as_index(x, start, "start");
    if (vc_j_given(end) && end.t != VC_J_NONE) b = vc_j_as_index(x, end, "end");
    if (a < 0) a = VC_MAX(a + n, 0);
    if (b < 0) b = VC_MAX(b + n, 0);
    b = VC_MIN(b, n);
    *cp0 = a;
    if (a > b) return false;
    *b0 = vc_j_offset(s, (size_t)a);
    *b1 = vc_j_offset(s, (size_t)b);
    vc_j_step(x, s->n / 64);
    return true;
}

static int64_t find(vc_jx *x, vc_jv self, vc_jv *arg, bool last) {
    const struct vc_jstr *t = vc_j_need_str(x, arg[0], "the text to find");
    size_t b0, b1, hit;
    int64_t cp0;
    if (!window(x, self.u.s, arg[1], arg[2], &b0, &b1, &cp0)) return -1;
    const char *p = self.u.s->p;
    hit = last ? vc_j_search_last(p + b0, b1 - b0, t) : vc_j_search(p, b1, t, b0);
    if (hit == SIZE_MAX) return -1;
    if (last) hit += b0;
    return cp0 + (int64_t)vc_j_count_cp(p + b0, hit - b0);
}

vc_jv vc_jm_find(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_int(find(x, self, arg, false));
}
vc_jv vc_jm_rfind(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_int(find(x, self, arg, true));
}

static vc_jv must_find(vc_jx *x, vc_jv self, vc_jv *arg, bool last) {
    int64_t i = find(x, self, arg, last);
    if (i < 0) vc_j_raise(x, "substring not found");
    return vc_j_int(i);
}
vc_jv vc_jm_index(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return must_find(x, self, arg, false);
}
vc_jv vc_jm_rindex(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return must_find(x, self, arg, true);
}

vc_jv vc_jm_count(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    const struct vc_jstr *t = vc_j_need_str(x, arg[0], "the text to count");
    size_t b0, b1;
    int64_t cp0, n = 0;
    if (!window(x, self.u.s, arg[1], arg[2], &b0, &b1, &cp0)) return vc_j_int(0);
    if (!t->n) return vc_j_int((int64_t)vc_j_count_cp(self.u.s->p + b0, b1 - b0) + 1);
    for (size_t at = b0; (at = vc_j_search(self.u.s->p, b1, t, at)) != SIZE_MAX; at += t->n) n++;
    return vc_j_int(n);
}

static vc_jv affix(vc_jx *x, vc_jv self, vc_jv *arg, bool end) {
    size_t b0, b1;
    int64_t cp0;
    bool one = arg[0].t != VC_J_TUPLE, in = window(x, self.u.s, arg[1], arg[2], &b0, &b1, &cp0);
    size_t n = one ? 1 : arg[0].u.l->n;
    for (size_t i = 0; i < n; i++) {
        const struct vc_jstr *t =
            vc_j_need_str(x, one ? arg[0] : arg[0].u.l->v[i], end ? "endswith's argument" : "startswith's argument");
        vc_j_step(x, VC_MIN(t->n, self.u.s->n) / 64);
        if (in && t->n <= b1 - b0 && !memcmp(self.u.s->p + (end ? b1 - t->n : b0), t->p, t->n)) return vc_j_bool(true);
    }
    return vc_j_bool(false);
}
vc_jv vc_jm_startswith(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return affix(x, self, arg, false);
}
vc_jv vc_jm_endswith(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return affix(x, self, arg, true);
}

vc_jv vc_jm_removeprefix(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    const struct vc_jstr *s = self.u.s, *t = vc_j_need_str(x, arg[0], "removeprefix's argument");
    if (t->n > s->n || memcmp(s->p, t->p, t->n)) return self;
    return vc_j_substr(x, s, t->n, s->n - t->n);
}

vc_jv vc_jm_removesuffix(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    const struct vc_jstr *s = self.u.s, *t = vc_j_need_str(x, arg[0], "removesuffix's argument");
    if (t->n > s->n || memcmp(s->p + s->n - t->n, t->p, t->n)) return self;
    return vc_j_substr(x, s, 0, s->n - t->n);
}

vc_jv vc_j_replace(vc_jx *x, const struct vc_jstr *s, const struct vc_jstr *from, const struct vc_jstr *to,
                   int64_t count) {
    struct vc_jbuf b = { 0 };
    size_t at = 0;
    if (count < 0) count = INT64_MAX;
    vc_j_step(x, s->n / 64);
    if (!from->n) {     /* between all characters */
        for (size_t i = 0; i <= s->n; i++) {
            bool border = i == s->n || ((unsigned char)s->p[i] & 0xC0) != 0x80;
            if (border && count-- > 0) vc_j_puts_str(x, &b, to);
            if (i < s->n) vc_j_putc(x, &b, s->p[i]);
        }
        return vc_j_done(x, &b);
    }
    for (size_t hit; count > 0 && (hit = vc_j_search(s->p, s->n, from, at)) != SIZE_MAX; count--) {
        vc_j_put(x, &b, s->p + at, hit - at);
        vc_j_puts_str(x, &b, to);
        at = hit + from->n;
    }
    if (at == 0) return vc_j_wrap(s);
    vc_j_put(x, &b, s->p + at, s->n - at);
    return vc_j_done(x, &b);
}

vc_jv vc_jm_replace(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    vc_jv from = arg[0], to = arg[1];
    vc_j_need_str(x, from, "replace's first argument");
    vc_j_need_str(x, to, "replace's second argument");
    if (self.sub) to = vc_j_escape(x, to);
    vc_jv r = vc_j_replace(x, self.u.s, from.u.s, to.u.s,
                           vc_j_given(arg[2]) ? vc_j_as_index(x, arg[2], "replace's count") : -1);
    r.sub = self.sub;
    return r;
}

static bool in_set(vc_jx *x, const struct vc_jstr *chars, uint32_t cp) {
    if (!chars) return vc_j_space(cp);
    vc_j_step(x, chars->n / 16);
    for (size_t i = 0, w; i < chars->n; i += w) {
        uint32_t k = 0;
        w = vc_utf8_decode(chars->p + i, chars->n - i, &k);
        if (w == 0) return false;
        if (k == cp) return true;
    }
    return false;
}

vc_jv vc_j_strip(vc_jx *x, vc_jv v, vc_jv chars, int sides) {
    const struct vc_jstr *s = v.u.s, *set = NULL;
    if (vc_j_given(chars) && chars.t != VC_J_NONE) set = vc_j_need_str(x, chars, "strip's argument");
    size_t a = 0, b = s->n;
    uint32_t cp = 0;
    for (size_t w; (sides & 1) && a < b && (w = vc_utf8_decode(s->p + a, b - a, &cp)) > 0 && in_set(x, set, cp);) a += w;
    while ((sides & 2) && b > a) {
        size_t k = b - 1;
        while (k > a && ((unsigned char)s->p[k] & 0xC0) == 0x80) k--;
        if (!vc_utf8_decode(s->p + k, b - k, &cp) || !in_set(x, set, cp)) break;
        b = k;
    }
    if (a == 0 && b == s->n) return v;
    vc_jv r = vc_j_substr(x, s, a, b - a);
    r.sub = v.sub;
    return r;
}

vc_jv vc_jm_strip(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_strip(x, self, arg[0], 3);
}
vc_jv vc_jm_lstrip(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_strip(x, self, arg[0], 1);
}
vc_jv vc_jm_rstrip(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return vc_j_strip(x, self, arg[0], 2);
}

static vc_jv partition(vc_jx *x, vc_jv self, vc_jv sep, bool last) {
    const struct vc_jstr *s = self.u.s, *t = vc_j_need_str(x, sep, "partition's argument");
    if (!t->n) vc_j_raise(x, "empty separator");
    vc_j_step(x, s->n / 64);
    size_t hit = last ? vc_j_search_last(s->p, s->n, t) : vc_j_search(s->p, s->n, t, 0);
    vc_jv none = vc_j_lit(x, "");
    if (hit == SIZE_MAX)
        return last ? vc_j_tuple(x, 3, (vc_jv[]){ none, none, self })
                    : vc_j_tuple(x, 3, (vc_jv[]){ self, none, none });
    return vc_j_tuple(x, 3,
                      (vc_jv[]){ vc_j_substr(x, s, 0, hit), sep, vc_j_substr(x, s, hit + t->n, s->n - hit - t->n) });
}
vc_jv vc_jm_partition(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return partition(x, self, arg[0], false);
}
vc_jv vc_jm_rpartition(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    (void)c;
    return partition(x, self, arg[0], true);
}
