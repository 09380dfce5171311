/* SPDX-License-Identifier: Apache-2.0
 * Construction, strings, lists, dicts, iteration. */
#include "text/jinja/jinja_value.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/str.h"
#include "text/jinja/jinja_ast.h"
#include "text/jinja/jinja_run.h"

void *vc_j_alloc(vc_jx *x, size_t bytes) {
    if (bytes > x->max_memory || x->a->used > x->max_memory - bytes)
        vc_j_raise(x, "the template needs more than %llu bytes of memory", (unsigned long long)x->max_memory);
    void *p = vc_arena_zalloc(x->a, bytes ? bytes : 1);
    if (!p) vc_j_raise(x, "out of memory");
    return p;
}

void *vc_j_array(vc_jx *x, size_t n, size_t size) {
    if (n > SIZE_MAX / 2 / size)
        vc_j_raise(x, "the template needs more than %llu bytes of memory", (unsigned long long)x->max_memory);
    return vc_j_alloc(x, n * size);
}

/* ---- strings ---- */
size_t vc_j_count_cp(const char *p, size_t n) {
    size_t c = 0;
    for (size_t i = 0; i < n; i++) c += ((unsigned char)p[i] & 0xC0) != 0x80;
    return c;
}

vc_jv vc_j_str(vc_jx *x, const char *p, size_t n) {
    struct vc_jstr *s = VC_J_NEW(x, struct vc_jstr);
    vc_j_step(x, n / 64);
    *s = (struct vc_jstr){ p ? p : "", n, vc_j_count_cp(p, n) };
    return vc_j_wrap(s);
}

vc_jv vc_j_copy(vc_jx *x, const char *p, size_t n) {
    char *q = vc_j_alloc(x, n);
    if (n) memcpy(q, p, n);
    return vc_j_str(x, q, n);
}

vc_jv vc_j_lit(vc_jx *x, const char *s) { return vc_j_str(x, s, strlen(s)); }

bool vc_j_str_is(const struct vc_jstr *s, const char *lit) { return s->n == strlen(lit) && !memcmp(s->p, lit, s->n); }
bool vc_j_str_same(const struct vc_jstr *a, const struct vc_jstr *b) {
    return a->n == b->n && (!a->n || !memcmp(a->p, b->p, a->n));
}

size_t vc_j_offset(const struct vc_jstr *s, size_t cp) {
    if (s->len == s->n) return VC_MIN(cp, s->n);
    size_t i = 0;
    for (; i < s->n; i++) {
        if (((unsigned char)s->p[i] & 0xC0) == 0x80) continue;
        if (cp-- == 0) break;
    }
    return i;
}

vc_jv vc_j_substr(vc_jx *x, const struct vc_jstr *s, size_t byte, size_t n) { return vc_j_str(x, s->p + byte, n); }

/* Room for n more bytes: where they go. */
static char *room(vc_jx *x, struct vc_jbuf *b, size_t n) {
    if (n > b->cap - b->n) {
        if (n > x->max_memory)
            vc_j_raise(x, "the template needs more than %llu bytes of memory", (unsigned long long)x->max_memory);
        size_t cap = VC_MAX(b->cap * 2, b->n + n);
        if (cap < 64) cap = 64;
        char *q = vc_j_alloc(x, cap);
        if (b->n) memcpy(q, b->p, b->n);
        b->p = q;
        b->cap = cap;
    }
    return b->p + b->n;
}

static void check_output(vc_jx *x, const struct vc_jbuf *b) {
    if (b == x->out && b->n > x->max_output)
        vc_j_raise(x, "the template writes more than %llu bytes", (unsigned long long)x->max_output);
}

void vc_j_put(vc_jx *x, struct vc_jbuf *b, const char *p, size_t n) {
    if (!n) return;
    memcpy(room(x, b, n), p, n);
    b->n += n;
    check_output(x, b);
}

void vc_j_puts(vc_jx *x, struct vc_jbuf *b, const char *s) { vc_j_put(x, b, s, strlen(s)); }
void vc_j_putc(vc_jx *x, struct vc_jbuf *b, char c) { vc_j_put(x, b, &c, 1); }
void vc_j_puts_str(vc_jx *x, struct vc_jbuf *b, const struct vc_jstr *s) { vc_j_put(x, b, s->p, s->n); }

void vc_j_putcp(vc_jx *x, struct vc_jbuf *b, uint32_t cp) {
    char s[4];
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = n; i-- > 1; cp >>= 6) s[i] = (char)(0x80 | (cp & 0x3F));
    s[0] = (char)(lead[n] | cp);
    vc_j_put(x, b, s, n);
}

void vc_j_putn(vc_jx *x, struct vc_jbuf *b, const char *unit, size_t n_unit, size_t times) {
    if (n_unit && times > x->max_memory / n_unit)
        vc_j_raise(x, "the template needs more than %llu bytes of memory", (unsigned long long)x->max_memory);
    size_t all = n_unit * times, have = VC_MIN(n_unit, all);
    if (!all) return;
    vc_j_step(x, all / 64);
    vc_j_put(x, b, unit, n_unit);
    for (size_t more; have < all; have += more) {      /* what is there twice over */
        more = VC_MIN(have, all - have);
        char *p = room(x, b, more);
        memcpy(p, p - have, more);
        b->n += more;
    }
    check_output(x, b);
}

vc_jv vc_j_done(vc_jx *x, struct vc_jbuf *b) { return vc_j_str(x, b->p, b->n); }

/* ---- lists ---- */
vc_jv vc_j_list(vc_jx *x, size_t cap) {
    struct vc_jlist *l = VC_J_NEW(x, struct vc_jlist);
    if (cap) l->v = vc_j_array(x, cap, sizeof *l->v);
    l->cap = cap;
    return (vc_jv){ .t = VC_J_LIST, .u.l = l };
}

vc_jv vc_j_tuple(vc_jx *x, size_t n, const vc_jv *v) {
    vc_jv t = vc_j_list(x, n);
    t.t = VC_J_TUPLE;
    t.u.l->n = n;
    if (v && n) memcpy(t.u.l->v, v, n * sizeof *v);
    return t;
}

void vc_j_push(vc_jx *x, vc_jv list, vc_jv v) {
    struct vc_jlist *l = list.u.l;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 8;
        vc_jv *p = vc_j_array(x, cap, sizeof *p);
        if (l->n) memcpy(p, l->v, l->n * sizeof *p);
        l->v = p;
        l->cap = cap;
    }
    l->v[l->n++] = v;
}

/* ---- dicts: entries in order, and above eight of them a table of open addressing ---- */
enum { NO_TABLE = 8 };

vc_jv vc_j_dict(vc_jx *x) { return (vc_jv){ .t = VC_J_DICT, .u.d = VC_J_NEW(x, struct vc_jdict) }; }

static bool same_key(vc_jx *x, const struct vc_jent *e, vc_jv k, uint64_t h) {
    return e->h == h && vc_j_eq(x, e->k, k);
}

vc_jv *vc_j_find(vc_jx *x, const struct vc_jdict *d, vc_jv k) {
    uint64_t h = vc_j_hash(x, k);
    if (!d->n_slot) {
        for (size_t i = 0; i < d->n; i++)
            if (same_key(x, &d->e[i], k, h)) return &d->e[i].v;
        return NULL;
    }
    for (size_t i = h & (d->n_slot - 1);; i = (i + 1) & (d->n_slot - 1)) {
        if (!d->slot[i]) return NULL;
        if (same_key(x, &d->e[d->slot[i] - 1], k, h)) return &d->e[d->slot[i] - 1].v;
    }
}

vc_jv *vc_j_find_cstr(vc_jx *x, const struct vc_jdict *d, const char *k) {
    struct vc_jstr s = { k, strlen(k), vc_j_count_cp(k, strlen(k)) };
    return vc_j_find(x, d, vc_j_wrap(&s));
}

static void put_slot(struct vc_jdict *d, size_t at) {
    size_t i = d->e[at].h & (d->n_slot - 1);
    while (d->slot[i]) i = (i + 1) & (d->n_slot - 1);
    d->slot[i] = (uint32_t)at + 1;
}

void vc_j_set(vc_jx *x, struct vc_jdict *d, vc_jv k, vc_jv v) {
    vc_jv *hit = vc_j_find(x, d, k);
    if (hit) {
        *hit = v;
        return;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap ? d->cap * 2 : 4;
        if (cap > UINT32_MAX / 4) vc_j_raise(x, "a dict has too many entries");
        struct vc_jent *e = vc_j_array(x, cap, sizeof *e);
        if (d->n) memcpy(e, d->e, d->n * sizeof *e);
        d->e = e;
        d->cap = cap;
        if (cap > NO_TABLE) {
            d->slot = vc_j_array(x, cap * 2, sizeof *d->slot);
            d->n_slot = cap * 2;
            for (size_t i = 0; i < d->n; i++) put_slot(d, i);
        }
    }
    d->e[d->n++] = (struct vc_jent){ k, v, vc_j_hash(x, k) };
    if (d->n_slot) put_slot(d, d->n - 1);
}

static uint64_t hash_bytes(uint64_t h, const char *p, size_t n) {
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        h = vc_mix64(h ^ w);
    }
    uint64_t w = n;
    for (size_t i = 0; i < n; i++) w = w << 8 | (unsigned char)p[i];
    return vc_mix64(h ^ w);
}

uint64_t vc_j_hash(vc_jx *x, vc_jv v) {
    uint64_t h = vc_mix64(x->seed + v.t);
    vc_j_step(x, 1);
    switch (v.t) {
    case VC_J_STR:
    case VC_J_BYTES:
        vc_j_step(x, v.u.s->n / 64);
        return hash_bytes(h, v.u.s->p, v.u.s->n);
    case VC_J_BOOL:
    case VC_J_INT: return vc_mix64(x->seed ^ (uint64_t)vc_j_small(v));
    case VC_J_FLOAT:    /* equal to the int of the same value */
        if (v.u.f >= -0x1p63 && v.u.f < 0x1p63 && v.u.f == (double)(int64_t)v.u.f)
            return vc_mix64(x->seed ^ (uint64_t)(int64_t)v.u.f);
        return vc_mix64(x->seed ^ 77);
    case VC_J_BIG: return vc_mix64(x->seed ^ 77);
    case VC_J_TUPLE:
        vc_j_enter(x);
        for (size_t i = 0; i < v.u.l->n; i++) h = vc_mix64(h ^ vc_j_hash(x, v.u.l->v[i]));
        vc_j_leave(x);
        return h;
    case VC_J_LIST:
    case VC_J_DICT:
    case VC_J_VIEW: vc_j_raise(x, "unhashable type: '%s'", vc_j_type_name(v));
    default: return h;
    }
}

/* ---- the rest ---- */
vc_jv vc_j_iter_of(vc_jx *x, vc_jv list, const char *kind) {
    struct vc_jseq *s = VC_J_NEW(x, struct vc_jseq);
    *s = (struct vc_jseq){ list.u.l, 0, kind };
    return (vc_jv){ .t = VC_J_ITER, .u.it = s };
}

vc_jv vc_j_undef_attr(vc_jx *x, vc_jv obj, vc_jv name, bool unsafe) {
    struct vc_jundef *u = VC_J_NEW(x, struct vc_jundef);
    vc_jv s = vc_j_to_str(x, name);
    *u = (struct vc_jundef){ vc_j_type_name(obj), s.u.s, unsafe };
    return (vc_jv){ .t = VC_J_UNDEF, .u.un = u };
}

bool vc_j_iterable(vc_jv v) {
    switch (v.t) {
    case VC_J_UNDEF: case VC_J_STR: case VC_J_BYTES: case VC_J_LIST: case VC_J_TUPLE: case VC_J_DICT: case VC_J_VIEW:
    case VC_J_RANGE: case VC_J_ITER: case VC_J_LOOP: return true;
    default: return false;
    }
}

struct vc_jit vc_j_iter(vc_jx *x, vc_jv v) {
    if (!vc_j_iterable(v) || v.t == VC_J_LOOP) vc_j_raise(x, "'%s' object is not iterable", vc_j_type_name(v));
    return (struct vc_jit){ v, 0 };
}

bool vc_j_next(vc_jx *x, struct vc_jit *it, vc_jv *out) {
    vc_jv v = it->v;
    vc_j_step(x, 1);
    switch (v.t) {
    case VC_J_STR: {
        if (it->at >= v.u.s->n) return false;
        uint32_t cp = 0;
        size_t w = vc_utf8_decode(v.u.s->p + it->at, v.u.s->n - it->at, &cp);
        *out = vc_j_substr(x, v.u.s, it->at, w ? w : 1);
        it->at += w ? w : 1;
        return true;
    }
    case VC_J_BYTES:
        if (it->at >= v.u.s->n) return false;
        *out = vc_j_int((unsigned char)v.u.s->p[it->at++]);
        return true;
    case VC_J_LIST:
    case VC_J_TUPLE:
        if (it->at >= v.u.l->n) return false;
        *out = v.u.l->v[it->at++];
        return true;
    case VC_J_DICT:
    case VC_J_VIEW: {
        if (it->at >= v.u.d->n) return false;
        const struct vc_jent *e = &v.u.d->e[it->at++];
        bool items = v.t == VC_J_VIEW && v.sub == VC_J_ITEMS, values = v.t == VC_J_VIEW && v.sub == VC_J_VALUES;
        *out = items ? vc_j_tuple(x, 2, (vc_jv[]){ e->k, e->v }) : values ? e->v : e->k;
        return true;
    }
    case VC_J_RANGE:
        if ((int64_t)it->at >= v.u.r->n) return false;
        *out = vc_j_int(v.u.r->start + v.u.r->step * (int64_t)it->at++);
        return true;
    case VC_J_ITER:
        if (v.u.it->at >= v.u.it->l->n) return false;
        *out = v.u.it->l->v[v.u.it->at++];
        return true;
    default: return false;
    }
}

vc_jv vc_j_to_list(vc_jx *x, vc_jv v) {
    vc_jv l = vc_j_list(x, 0), e;
    struct vc_jit it = vc_j_iter(x, v);
    while (vc_j_next(x, &it, &e)) vc_j_push(x, l, e);
    return l;
}
