/* SPDX-License-Identifier: Apache-2.0
 * Nodes: hash-consed, each with what the compiler asks of it (empty text, first bytes, about how many states). */
#include "text/gram/gram_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/rng.h"

enum { N_EMPTY = 1, N_NOTHING = 2 };

bool vc_gram_grow(void **p, size_t n, size_t *cap, size_t elem) {
    if (n <= *cap) return true;
    size_t c = *cap < 16 ? 16 : *cap + *cap / 2;
    if (c < n) c = n;
    if (c > SIZE_MAX / elem) return false;
    void *q = realloc(*p, c * elem);
    if (!q) return false;
    *p = q;
    *cap = c;
    return true;
}

vc_gram_node vc_gram_fail(struct vc_gram *g, vc_status s, const char *fmt, ...) {
    if (g->err.status != VC_OK) return 0;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    vc_fail(&g->err, s, "%s", text);
    return 0;
}

vc_status vc_gram_status(const struct vc_gram *g, vc_err *err) {
    if (g->err.status == VC_OK) return VC_OK;
    return vc_fail(err, g->err.status, "%s", g->err.text);
}

bool vc_gram_in_time(struct vc_gram *g) {
    if (g->err.status != VC_OK) return false;
    if (++g->ticks % 1024 || vc_now_ns() < g->end_ns) return true;
    vc_gram_fail(g, VC_E_INVALID, "grammar: compiling takes longer than the budget of %u ms", g->lim.time_ms);
    return false;
}

static uint64_t hash_node(const struct vc_gram *g, const struct gnode *x) {
    uint64_t h = vc_mix64(x->kind + (uint64_t)(x->flags & GN_EXACT) * 64 + ((uint64_t)x->min << 32) + x->max);
    if (!x->n) return h;
    const void *p = x->kind == GN_TEXT ? (const void *)(g->bytes + x->off)
                    : x->kind == GN_CLASS ? (const void *)(g->ranges + x->off) : (const void *)(g->kids + x->off);
    size_t bytes = x->kind == GN_TEXT ? x->n : x->kind == GN_CLASS ? x->n * sizeof *g->ranges : x->n * sizeof *g->kids;
    const unsigned char *c = p;
    for (size_t i = 0; i < bytes; i++) h = (h ^ c[i]) * 0x100000001B3u;
    return vc_mix64(h);
}

static bool same_node(const struct vc_gram *g, const struct gnode *a, const struct gnode *b) {
    if (a->kind != b->kind || a->n != b->n || a->min != b->min || a->max != b->max) return false;
    if ((a->flags ^ b->flags) & GN_EXACT) return false;
    if (!a->n) return true;
    if (a->kind == GN_TEXT) return !memcmp(g->bytes + a->off, g->bytes + b->off, a->n);
    if (a->kind == GN_CLASS) return !memcmp(g->ranges + a->off, g->ranges + b->off, a->n * sizeof *g->ranges);
    return !memcmp(g->kids + a->off, g->kids + b->off, a->n * sizeof *g->kids);
}

static bool bigger_table(struct vc_gram *g) {
    size_t cap = g->cap_table ? g->cap_table * 2 : 256;
    uint32_t *t = calloc(cap, sizeof *t);
    if (!t) return false;
    for (size_t i = 1; i < g->n_nodes; i++) {
        if (g->nodes[i].kind == GN_RULE) continue;
        size_t at = hash_node(g, &g->nodes[i]) & (cap - 1);
        while (t[at]) at = (at + 1) & (cap - 1);
        t[at] = (uint32_t)i;
    }
    free(g->table);
    g->table = t;
    g->cap_table = cap;
    return true;
}

/* x is new: its index, or that of an equal one (then the caller drops what x points to). */
static vc_gram_node intern(struct vc_gram *g, const struct gnode *x) {
    if (g->n_nodes * 2 >= g->cap_table && !bigger_table(g))
        return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    size_t at = 0;
    if (x->kind != GN_RULE) {
        at = hash_node(g, x) & (g->cap_table - 1);
        for (; g->table[at]; at = (at + 1) & (g->cap_table - 1)) {
            if (same_node(g, &g->nodes[g->table[at]], x)) return g->table[at];
        }
    }
    if (g->n_nodes >= g->lim.nodes) return vc_gram_fail(g, VC_E_INVALID, "grammar: more than %u nodes", g->lim.nodes);
    if (!VC_GRAM_ROOM(g->nodes, g->n_nodes, g->cap_nodes)) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    g->nodes[g->n_nodes] = *x;
    if (x->kind != GN_RULE) g->table[at] = (uint32_t)g->n_nodes;
    return (vc_gram_node)g->n_nodes++;
}

static uint32_t sat_add(uint32_t a, uint32_t b) { return a > UINT32_MAX - b ? UINT32_MAX : a + b; }
static uint32_t sat_mul(uint32_t a, uint32_t b) {
    uint64_t r = (uint64_t)a * b;
    return r > UINT32_MAX ? UINT32_MAX : (uint32_t)r;
}

static bool add_bytes(struct vc_gram *g, const char *p, size_t n) {
    if (g->n_bytes + n > g->lim.memory_bytes / 4 || g->n_bytes + n > UINT32_MAX) {
        vc_gram_fail(g, VC_E_INVALID, "grammar: its texts are larger than the memory budget");
        return false;
    }
    if (!vc_gram_grow((void **)&g->bytes, g->n_bytes + n, &g->cap_bytes, 1)) {
        vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
        return false;
    }
    if (n) memcpy(g->bytes + g->n_bytes, p, n);
    g->n_bytes += n;
    return true;
}

static bool add_kids(struct vc_gram *g, const uint32_t *v, size_t n) {
    if (g->n_kids + n > 8 * (size_t)g->lim.nodes) {
        vc_gram_fail(g, VC_E_INVALID, "grammar: more than %u nodes", g->lim.nodes);
        return false;
    }
    if (!vc_gram_grow((void **)&g->kids, g->n_kids + n, &g->cap_kids, sizeof *g->kids)) {
        vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
        return false;
    }
    if (n) memcpy(g->kids + g->n_kids, v, n * sizeof *v);
    g->n_kids += n;
    return true;
}

static void first_set(uint32_t first[8], unsigned lo, unsigned hi) {
    for (unsigned b = lo; b <= hi; b++) first[b / 32] |= 1u << b % 32;
}
static void first_or(uint32_t *a, const uint32_t *b) {
    for (int i = 0; i < 8; i++) a[i] |= b[i];
}
static unsigned first_count(const uint32_t *a) {
    unsigned n = 0;
    for (int i = 0; i < 256; i++) n += a[i / 32] >> i % 32 & 1;
    return n;
}

vc_status vc_gram_new(struct vc_gram **out, const struct vc_gram_limits *limits, vc_err *err) {
    *out = NULL;
    struct vc_gram *g = calloc(1, sizeof *g);
    if (!g) return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    if (limits) g->lim = *limits;
    if (!g->lim.nodes) g->lim.nodes = 4000000;
    if (!g->lim.states) g->lim.states = 1000000;
    if (!g->lim.memory_bytes) g->lim.memory_bytes = 256u << 20;
    if (!g->lim.time_ms) g->lim.time_ms = 5000;
    if (!g->lim.depth) g->lim.depth = 1000;
    if (!g->lim.items) g->lim.items = 65536;
    g->end_ns = vc_now_ns() + (uint64_t)g->lim.time_ms * 1000000u;
    g->nodes = calloc(16, sizeof *g->nodes);
    if (!g->nodes) {
        free(g);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    g->cap_nodes = 16;
    g->n_nodes = 1;
    intern(g, &(struct gnode){ .kind = GN_EMPTY, .flags = GN_NULLABLE, .size = 1 });
    intern(g, &(struct gnode){ .kind = GN_CLASS, .size = 1 });
    if (g->n_nodes != 3) {
        vc_gram_del(g);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    *out = g;
    return VC_OK;
}

void vc_gram_del(struct vc_gram *g) {
    if (!g) return;
    free(g->nodes);
    free(g->kids);
    free(g->ranges);
    free(g->bytes);
    free(g->table);
    free(g->rule_of);
    free(g->uses);
    free(g->nonnull);
    vc_nfa_free(&g->nfa);
    free(g);
}

vc_gram_node vc_gram_text(struct vc_gram *g, const char *bytes, size_t n) {
    if (g->err.status != VC_OK) return 0;
    if (!n) return N_EMPTY;
    if (n > g->lim.nodes)
        return vc_gram_fail(g, VC_E_INVALID, "grammar: a text of %zu bytes is over the budget of %u nodes", n,
                            g->lim.nodes);
    size_t off = g->n_bytes;
    if (!add_bytes(g, bytes, n)) return 0;
    struct gnode x = { .kind = GN_TEXT, .off = (uint32_t)off, .n = (uint32_t)n, .size = (uint32_t)n };
    first_set(x.first, (unsigned char)bytes[0], (unsigned char)bytes[0]);
    size_t before = g->n_nodes;
    vc_gram_node r = intern(g, &x);
    if (g->n_nodes == before) g->n_bytes = off;
    return r;
}

static int by_first(const void *a, const void *b) {
    const struct vc_gram_range *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Appends [lo, hi] without surrogates to the ranges that begin at off, which are sorted. */
static bool push_range(struct vc_gram *g, size_t off, uint32_t lo, uint32_t hi) {
    if (hi > 0x10FFFF) hi = 0x10FFFF;
    if (lo >= 0xD800 && lo <= 0xDFFF) lo = 0xE000;
    if (hi >= 0xD800 && hi <= 0xDFFF) hi = 0xD7FF;
    if (lo > hi) return true;
    if (lo < 0xD800 && hi > 0xDFFF) return push_range(g, off, lo, 0xD7FF) && push_range(g, off, 0xE000, hi);
    if (g->n_ranges > off && g->ranges[g->n_ranges - 1].last + 1 >= lo) {
        if (hi > g->ranges[g->n_ranges - 1].last) g->ranges[g->n_ranges - 1].last = hi;
        return true;
    }
    if (!VC_GRAM_ROOM(g->ranges, g->n_ranges, g->cap_ranges)) return false;
    g->ranges[g->n_ranges++] = (struct vc_gram_range){ lo, hi };
    return true;
}

/* UTF-8 lead byte. */
static unsigned lead(uint32_t c) {
    return c < 0x80 ? c : c < 0x800 ? 0xC0 | c >> 6 : c < 0x10000 ? 0xE0 | c >> 12 : 0xF0 | c >> 18;
}

vc_gram_node vc_gram_class(struct vc_gram *g, const struct vc_gram_range *r, size_t n, bool negate) {
    if (g->err.status != VC_OK) return 0;
    if (n > g->lim.nodes) return vc_gram_fail(g, VC_E_INVALID, "grammar: a class of %zu ranges", n);
    struct vc_gram_range *s = malloc((n + 1) * sizeof *s);
    if (!s) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    if (n) memcpy(s, r, n * sizeof *s);
    if (n) qsort(s, n, sizeof *s, by_first);
    size_t off = g->n_ranges;
    uint32_t at = 0;
    bool ok = true;
    struct vc_buf one = { 0 };
    for (size_t i = 0; i < n && ok; i++) {
        if (s[i].first > s[i].last) continue;
        if (negate && s[i].first > at) ok = push_range(g, off, at, s[i].first - 1);
        if (!negate) ok = push_range(g, off, s[i].first, s[i].last);
        if (s[i].last >= at) at = s[i].last == UINT32_MAX ? UINT32_MAX : s[i].last + 1;
    }
    if (ok && negate && at <= 0x10FFFF) ok = push_range(g, off, at, 0x10FFFF);
    free(s);
    if (!ok) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    if (g->n_ranges - off == 1 && g->ranges[off].first == g->ranges[off].last) {
        g->n_ranges = off;
        vc_buf_utf8(&one, g->ranges[off].first);
        vc_gram_node t =
            one.failed ? vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory") : vc_gram_text(g, one.p, one.n);
        vc_buf_free(&one);
        return t;
    }
    struct gnode x = { .kind = GN_CLASS, .off = (uint32_t)off, .n = (uint32_t)(g->n_ranges - off), .size = 1 };
    for (size_t i = off; i < g->n_ranges; i++) {
        first_set(x.first, lead(g->ranges[i].first), lead(g->ranges[i].last));
        if (g->ranges[i].last >= 0x80) x.size = sat_add(x.size, 3);
    }
    /* Lead bytes between those of ASCII and those above are none. */
    for (int b = 0x80; b < 0xC2; b++) x.first[b / 32] &= ~(1u << b % 32);
    size_t before = g->n_nodes;
    vc_gram_node v = intern(g, &x);
    if (g->n_nodes == before) g->n_ranges = off;
    return v;
}

/* A node over kids; drops them again where an equal node exists. */
static vc_gram_node over(struct vc_gram *g, struct gnode x, const uint32_t *v, size_t n) {
    size_t off = g->n_kids, before = g->n_nodes;
    if (!add_kids(g, v, n)) return 0;
    x.off = (uint32_t)off;
    x.n = (uint32_t)n;
    vc_gram_node r = intern(g, &x);
    if (g->n_nodes == before) g->n_kids = off;
    return r;
}

enum { INHERIT = GN_RULES | GN_COUNTED | GN_SITE };

/* Texts side by side become one, up to a length that keeps building piece by piece cheap. */
static size_t merge_texts(struct vc_gram *g, uint32_t *w, size_t n) {
    enum { MAX_TEXT = 256 };
    size_t m = 0;
    for (size_t i = 0; i < n;) {
        char text[MAX_TEXT];
        size_t len = 0, k = i;
        for (; k < n && g->nodes[w[k]].kind == GN_TEXT && len + g->nodes[w[k]].n <= MAX_TEXT; k++) {
            memcpy(text + len, g->bytes + g->nodes[w[k]].off, g->nodes[w[k]].n);
            len += g->nodes[w[k]].n;
        }
        if (k <= i + 1) w[m++] = w[i++];
        else w[m++] = vc_gram_text(g, text, len), i = k;
    }
    return m;
}

vc_gram_node vc_gram_seq(struct vc_gram *g, const vc_gram_node *v, size_t n) {
    if (!vc_gram_in_time(g)) return 0;
    uint32_t *w = malloc((n + 1) * sizeof *w);
    if (!w) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    struct gnode x = { .kind = GN_SEQ, .flags = GN_NULLABLE };
    size_t m = 0;
    bool open = true, nothing = false, failed = false;
    for (size_t i = 0; i < n; i++) {
        if (!v[i] || v[i] >= g->n_nodes) failed = true;
        if (failed) break;
        const struct gnode *k = &g->nodes[v[i]];
        nothing |= v[i] == N_NOTHING;
        if (v[i] == N_EMPTY) continue;
        x.flags |= k->flags & INHERIT;
        x.size = sat_add(x.size, k->size);
        if (open) first_or(x.first, k->first);
        if (!(k->flags & GN_NULLABLE)) {
            if (!(k->flags & GN_RULES)) open = false;
            x.flags &= (uint8_t)~GN_NULLABLE;
        }
        w[m++] = v[i];
    }
    if (!failed && !nothing) m = merge_texts(g, w, m);
    for (size_t i = 0; i < m; i++) failed |= !w[i];
    vc_gram_node r = failed ? 0 : nothing ? N_NOTHING : m == 0 ? N_EMPTY : m == 1 ? w[0] : over(g, x, w, m);
    free(w);
    if (failed) return vc_gram_fail(g, VC_E_INVALID, "grammar: a part of it failed");
    return r;
}

vc_gram_node vc_gram_alt(struct vc_gram *g, const vc_gram_node *v, size_t n) {
    if (!vc_gram_in_time(g)) return 0;
    uint32_t *w = malloc((n + 1) * sizeof *w);
    if (!w) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    struct gnode x = { .kind = GN_ALT };
    size_t m = 0;
    bool failed = false;
    for (size_t i = 0; i < n; i++) {
        if (!v[i] || v[i] >= g->n_nodes) failed = true;
        if (failed) break;
        const struct gnode *k = &g->nodes[v[i]];
        if (v[i] == N_NOTHING || (m && w[m - 1] == v[i])) continue;
        x.flags |= k->flags & (INHERIT | GN_NULLABLE);
        x.size = sat_add(x.size, k->size);
        first_or(x.first, k->first);
        w[m++] = v[i];
    }
    vc_gram_node r = failed ? 0 : m == 0 ? N_NOTHING : m == 1 ? w[0] : over(g, x, w, m);
    free(w);
    if (failed) return vc_gram_fail(g, VC_E_INVALID, "grammar: a part of it failed");
    return r;
}

static bool small_repeat(const struct gnode *body, uint32_t min, uint32_t max) {
    if (max == VC_GRAM_INF) return min <= 1 || sat_mul(min, body->size) <= 64;
    return max <= 1 || sat_mul(max, body->size) <= 64;
}
/* A loop whose texts are worth one analysis per vocabulary instead of one per place. */
static bool heavy_repeat(const struct gnode *body, uint32_t max) {
    return !(body->flags & (GN_RULES | GN_SITE)) && max > 3 && body->size <= 1024 && first_count(body->first) >= 8;
}

bool vc_gram_unroll(const struct vc_gram *g, const struct gnode *x) {
    return small_repeat(&g->nodes[g->kids[x->off]], x->min, x->max) && !(x->flags & GN_EXACT);
}

static vc_gram_node repeat(struct vc_gram *g, vc_gram_node b, uint32_t min, uint32_t max, uint8_t flags) {
    const struct gnode *k = &g->nodes[b];
    struct gnode x = { .kind = GN_REPEAT, .min = min, .max = max, .flags = (uint8_t)((k->flags & INHERIT) | flags) };
    if (!min || k->flags & GN_NULLABLE) x.flags |= GN_NULLABLE;
    memcpy(x.first, k->first, sizeof x.first);
    uint32_t copies = max == VC_GRAM_INF ? min + 1 : max;
    bool small = small_repeat(k, min, max) && !(flags & GN_EXACT);
    if (!small) x.flags |= GN_COUNTED | GN_SITE;
    if (heavy_repeat(k, max)) x.flags |= GN_SITE;
    x.size = small ? sat_mul(k->size, copies) : sat_add(k->size, 3);
    x.size = sat_add(x.size, 2);
    return over(g, x, &b, 1);
}

vc_gram_node vc_gram_repeat(struct vc_gram *g, vc_gram_node b, uint32_t min, uint32_t max) {
    if (!vc_gram_in_time(g)) return 0;
    if (!b || b >= g->n_nodes) return vc_gram_fail(g, VC_E_INVALID, "grammar: a part of it failed");
    if (min > max || min == VC_GRAM_INF)
        return vc_gram_fail(g, VC_E_INVALID, "grammar: a repeat of at least %u and at most %u", min, max);
    if (!max || b == N_EMPTY) return N_EMPTY;
    if (b == N_NOTHING) return min ? N_NOTHING : N_EMPTY;
    if (min == 1 && max == 1) return b;
    const struct gnode *k = &g->nodes[b];
    if (k->kind == GN_REPEAT && k->max == VC_GRAM_INF && k->min <= 1 && min <= 1) {
        return vc_gram_repeat(g, g->kids[k->off], min && k->min, VC_GRAM_INF);
    }
    return repeat(g, b, min, max, 0);
}

vc_gram_node vc_gram_exact_loop(struct vc_gram *g, vc_gram_node b, bool counted) {
    if (!b) return 0;
    return repeat(g, b, 0, counted ? 1u << 30 : VC_GRAM_INF, GN_EXACT);
}

static vc_gram_node two(struct vc_gram *g, vc_gram_node a, vc_gram_node b, enum gnode_kind kind) {
    if (!vc_gram_in_time(g)) return 0;
    if (!a || !b || a >= g->n_nodes || b >= g->n_nodes)
        return vc_gram_fail(g, VC_E_INVALID, "grammar: a part of it failed");
    if (a == N_NOTHING || (kind == GN_BOTH && b == N_NOTHING)) return N_NOTHING;
    if (b == N_NOTHING || (kind == GN_BOTH && a == b)) return a;
    if ((g->nodes[a].flags | g->nodes[b].flags) & GN_RULES) {
        return vc_gram_fail(g, VC_E_UNSUPPORTED, "grammar: the intersection or difference of recursive parts");
    }
    /* The side that keeps its counts is a. */
    if (kind == GN_BOTH && g->nodes[b].flags & GN_COUNTED) {
        const struct gnode *x = &g->nodes[a], *y = &g->nodes[b];
        if (!(x->flags & GN_COUNTED) || (y->kind == GN_REPEAT && x->kind != GN_REPEAT) ||
            (y->kind == GN_REPEAT && x->kind == GN_REPEAT && y->max > x->max)) {
            vc_gram_node c = a;
            a = b;
            b = c;
        }
    }
    const struct gnode *x = &g->nodes[a], *y = &g->nodes[b];
    struct gnode r = { .kind = (uint8_t)kind, .flags = (uint8_t)(x->flags & (GN_COUNTED | GN_SITE)) };
    bool null = x->flags & GN_NULLABLE && (kind == GN_BOTH ? y->flags & GN_NULLABLE : !(y->flags & GN_NULLABLE));
    if (null) r.flags |= GN_NULLABLE;
    for (int i = 0; i < 8; i++) r.first[i] = kind == GN_BOTH ? x->first[i] & y->first[i] : x->first[i];
    r.size = sat_mul(x->size, VC_MIN(y->size, 16u));
    return over(g, r, (vc_gram_node[]){ a, b }, 2);
}

vc_gram_node vc_gram_both(struct vc_gram *g, vc_gram_node a, vc_gram_node b) { return two(g, a, b, GN_BOTH); }
vc_gram_node vc_gram_minus(struct vc_gram *g, vc_gram_node a, vc_gram_node b) { return two(g, a, b, GN_MINUS); }

vc_gram_node vc_gram_rule(struct vc_gram *g) {
    if (!vc_gram_in_time(g)) return 0;
    struct gnode x = { .kind = GN_RULE, .flags = GN_RULES, .size = 1 };
    memset(x.first, 0xFF, sizeof x.first);
    return over(g, x, (uint32_t[]){ 0 }, 1);
}

void vc_gram_define(struct vc_gram *g, vc_gram_node rule, vc_gram_node body) {
    if (!rule || g->err.status != VC_OK) return;
    if (!body || body >= g->n_nodes || rule >= g->n_nodes || g->nodes[rule].kind != GN_RULE ||
        g->kids[g->nodes[rule].off]) {
        vc_gram_fail(g, VC_E_INVALID, "grammar: a rule's body failed, or it is defined twice");
        return;
    }
    g->kids[g->nodes[rule].off] = body;
}

void vc_gram_name_rule(struct vc_gram *g, vc_gram_node rule, const char *name, size_t n) {
    if (!rule) return;
    size_t off = g->n_bytes;
    if (!add_bytes(g, name, n)) return;
    g->nodes[rule].min = (uint32_t)off;
    g->nodes[rule].max = (uint32_t)n;
}

bool vc_gram_nullable(struct vc_gram *g, vc_gram_node x) {
    if (!x || x >= g->n_nodes) return false;
    if (g->nodes[x].flags & GN_RULES) vc_gram_settle(g);
    return g->nodes[x].flags & GN_NULLABLE;
}

bool vc_gram_has_rules(struct vc_gram *g, vc_gram_node x) {
    return x && x < g->n_nodes && g->nodes[x].flags & GN_RULES;
}
