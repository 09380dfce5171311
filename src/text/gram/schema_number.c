/* SPDX-License-Identifier: Apache-2.0
 * schema_number.c: numbers. Without limits a number is what JSON calls one; with limits it is written without an
 * exponent and follows a small automaton over its digits: how many were read (as far as the limits need it), how they
 * compare with the first digits of each limit, and the remainder by multipleOf. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

enum { STATES_MAX = 50000, DIVISOR_MAX = 4096, SCALE_MAX = 18, F64_DIGITS = 15, FRAC_INT = 9, FRAC_FRAC = 6 };
enum { START, ZERO, INT, DOT, FRAC };
enum { LESS, SAME, MORE };

/* Numbers x ≥ 0 with lo ≤ x ≤ hi (open: <) that are multiples of div · 10^-scale. */
struct spec {
    struct vc_dec lo, hi;
    bool has_lo, has_hi, lo_open, hi_open, divided;
    unsigned types;
    uint64_t div;
    int32_t scale, int_max, frac_max;              /* digits before and after the point: at most, 0 without a limit */
    int32_t int_sat, frac_sat;                     /* where counting them stops */
};

struct state {
    uint8_t phase, lo, hi, nonzero;
    int32_t pos;
    uint32_t rest;
};

struct walk {
    struct vc_schema_cx *cx;
    struct spec s;
    struct state *state;         /* owned */
    uint32_t (*next)[11];        /* owned: by digit, 10 the point; UINT32_MAX: no way */
    vc_gram_node *node;          /* owned */
    uint32_t *slot;              /* owned: hash to state + 1 */
    uint8_t *live;               /* owned: an end can be reached */
    uint32_t n, cap;
};

static int32_t int_digits(const struct vc_dec *d) { return VC_MAX(d->point, 1); }
static int32_t frac_digits(const struct vc_dec *d) { return VC_MAX(d->n - d->point, 0); }

/* One more digit d of the whole part, number pos (from 1). */
static uint8_t cmp_int(const struct vc_dec *b, uint8_t was, int32_t pos, int d) {
    if (pos > int_digits(b)) return MORE;
    int own = vc_dec_place(b, int_digits(b) - pos);
    return was != SAME ? was : d < own ? LESS : d > own ? MORE : SAME;
}

/* The whole part is complete with pos digits. */
static uint8_t cmp_end(const struct vc_dec *b, uint8_t was, int32_t pos) {
    return pos < int_digits(b) ? LESS : pos > int_digits(b) ? MORE : was;
}

/* The number is complete with read digits after the point. */
static uint8_t cmp_all(const struct vc_dec *b, uint8_t was, int32_t read) {
    return was == SAME && read < frac_digits(b) ? LESS : was;
}

static uint8_t cmp_frac(const struct vc_dec *b, uint8_t was, int32_t pos, int d) {
    int own = vc_dec_place(b, -pos);
    return was != SAME ? was : d < own ? LESS : d > own ? MORE : SAME;
}

static bool divides(const struct spec *s, const struct state *t, int32_t read) {
    uint64_t r = t->rest;
    for (int32_t i = read; i < s->scale; i++) r = r * 10 % s->div;
    return r == 0;
}

static bool accepts(const struct spec *s, const struct state *t) {
    bool whole = t->phase == ZERO || t->phase == INT;
    if (!whole && t->phase != FRAC) return false;
    if (whole ? !(s->types & VC_ST_INT) : s->types == VC_ST_FRAC && !t->nonzero) return false;
    int32_t read = whole ? 0 : t->pos;
    uint8_t lo = cmp_all(&s->lo, whole && s->has_lo ? cmp_end(&s->lo, t->lo, t->pos) : t->lo, read);
    uint8_t hi = cmp_all(&s->hi, whole && s->has_hi ? cmp_end(&s->hi, t->hi, t->pos) : t->hi, read);
    if (s->has_lo && (lo == LESS || (lo == SAME && s->lo_open))) return false;
    if (s->has_hi && (hi == MORE || (hi == SAME && s->hi_open))) return false;
    return divides(s, t, read);
}

/* False: the number cannot go on so. */
static bool step(const struct spec *s, const struct state *from, int d, struct state *to) {
    *to = *from;
    if (d == 10) {
        if ((from->phase != ZERO && from->phase != INT) || !(s->types & VC_ST_FRAC)) return false;
        if (s->divided && !s->scale) return false;
        to->phase = DOT;
        if (s->has_lo) to->lo = cmp_end(&s->lo, from->lo, from->pos);
        if (s->has_hi) to->hi = cmp_end(&s->hi, from->hi, from->pos);
        to->pos = 0;
        return !s->has_hi || to->hi != MORE;
    }
    if (from->phase == ZERO) return false;
    int32_t pos = from->pos + 1;
    bool whole = from->phase == START || from->phase == INT;
    if (whole) {
        if (s->int_max && pos > s->int_max) return false;
        to->phase = from->phase == START && d == 0 ? ZERO : INT;
        if (s->has_lo) to->lo = cmp_int(&s->lo, from->lo, pos, d);
        if (s->has_hi) to->hi = cmp_int(&s->hi, from->hi, pos, d);
        if (s->has_hi && (pos > int_digits(&s->hi) || (pos == int_digits(&s->hi) && to->hi == MORE))) return false;
        to->pos = VC_MIN(pos, s->int_sat);
    } else {
        if ((s->divided && pos > s->scale) || (s->frac_max && pos > s->frac_max)) return false;
        to->phase = FRAC;
        if (s->has_lo) to->lo = cmp_frac(&s->lo, from->lo, pos, d);
        if (s->has_hi) to->hi = cmp_frac(&s->hi, from->hi, pos, d);
        if (s->has_hi && to->hi == MORE) return false;
        to->nonzero = s->types == VC_ST_FRAC && (from->nonzero || d);
        to->pos = s->frac_max || s->divided ? pos : VC_MIN(pos, s->frac_sat);
    }
    if (s->div > 1) to->rest = (uint32_t)((from->rest * (uint64_t)10 + (uint64_t)d) % s->div);
    return true;
}

static uint32_t hash(const struct state *t) {
    uint64_t h = (uint64_t)t->phase << 60 ^ (uint64_t)t->lo << 56 ^ (uint64_t)t->hi << 52 ^ (uint64_t)t->nonzero << 51 ^
                 (uint64_t)(uint32_t)t->pos << 20 ^ t->rest;
    return (uint32_t)(h * 0x9E3779B97F4A7C15u >> 40);
}

static bool same(const struct state *a, const struct state *b) {
    return a->phase == b->phase && a->lo == b->lo && a->hi == b->hi && a->nonzero == b->nonzero && a->pos == b->pos &&
           a->rest == b->rest;
}

static bool grow(struct walk *w) {
    uint32_t cap = w->cap ? w->cap * 2 : 256;
    void *a = realloc(w->state, cap * sizeof *w->state);
    if (a) w->state = a;
    void *b = realloc(w->next, cap * sizeof *w->next);
    if (b) w->next = b;
    uint32_t *slot = calloc((size_t)cap * 2, sizeof *slot);
    if (!a || !b || !slot) {
        free(slot);
        return false;
    }
    free(w->slot);
    w->slot = slot;
    w->cap = cap;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t at = hash(&w->state[i]) & (cap * 2 - 1);
        while (slot[at]) at = (at + 1) & (cap * 2 - 1);
        slot[at] = i + 1;
    }
    return true;
}

/* UINT32_MAX: out of memory or states. */
static uint32_t add(struct walk *w, const struct state *t) {
    if (w->n == w->cap && (w->n >= STATES_MAX || !grow(w))) return UINT32_MAX;
    uint32_t at = hash(t) & (w->cap * 2 - 1);
    for (; w->slot[at]; at = (at + 1) & (w->cap * 2 - 1))
        if (same(&w->state[w->slot[at] - 1], t)) return w->slot[at] - 1;
    w->state[w->n] = *t;
    w->slot[at] = w->n + 1;
    return w->n++;
}

static bool explore(struct walk *w) {
    struct state start = { .phase = START, .lo = w->s.has_lo ? SAME : MORE, .hi = w->s.has_hi ? SAME : LESS };
    if (add(w, &start) == UINT32_MAX) return false;
    for (uint32_t i = 0; i < w->n; i++) {
        for (int d = 0; d <= 10; d++) {
            struct state to;
            uint32_t at = UINT32_MAX;
            if (step(&w->s, &w->state[i], d, &to)) {
                at = add(w, &to);
                if (at == UINT32_MAX) return false;
            }
            w->next[i][d] = at;
        }
    }
    return true;
}

/* live: from the ends backwards, until nothing changes; ways lead mostly to later states. */
static bool mark(struct walk *w) {
    w->live = calloc(w->n, 1);
    w->node = calloc(w->n, sizeof *w->node);
    if (!w->live || !w->node) return false;
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = w->n; i-- > 0;) {
            if (w->live[i]) continue;
            bool live = accepts(&w->s, &w->state[i]);
            for (int d = 0; d <= 10 && !live; d++) live = w->next[i][d] != UINT32_MAX && w->live[w->next[i][d]];
            w->live[i] = live;
            more |= live;
        }
    }
    return true;
}

/* States that form cycles with others: remainders of a whole part of any length. */
static bool in_cycle(const struct walk *w, uint32_t i) {
    return w->s.div > 1 && w->state[i].phase == INT && w->state[i].pos == w->s.int_sat && !w->s.has_hi;
}

static vc_gram_node digits(struct walk *w, unsigned set) {
    struct vc_gram_range r[11];
    size_t n = 0;
    for (uint32_t d = 0; d <= 10; d++) {
        uint32_t c = d == 10 ? '.' : '0' + d;
        if (set >> d & 1) r[n++] = (struct vc_gram_range){ c, c };
    }
    return vc_gram_class(w->cx->g, r, n, false);
}

/* The node of a state whose followers have theirs. */
static vc_gram_node state_node(struct walk *w, uint32_t i) {
    struct vc_gram *g = w->cx->g;
    vc_gram_node way[12];
    size_t n = 0;
    unsigned done = 0, self = 0;
    if (accepts(&w->s, &w->state[i])) way[n++] = vc_gram_text(g, "", 0);
    for (int d = 0; d <= 10; d++) {
        uint32_t to = w->next[i][d];
        if (done >> d & 1 || to == UINT32_MAX || !w->live[to]) continue;
        unsigned set = 0;
        for (int e = d; e <= 10; e++) set |= w->next[i][e] == to ? 1u << e : 0;
        done |= set;
        if (to == i && !in_cycle(w, i)) self = set;
        else way[n++] = vc_gram_seq2(g, digits(w, set), w->node[to]);
    }
    vc_gram_node rest = vc_gram_alt(g, way, n);
    return self ? vc_gram_seq2(g, vc_gram_star(g, digits(w, self)), rest) : rest;
}

/* Followers first, with a stack of its own. */
static bool emit(struct walk *w) {
    uint32_t *stack = malloc(w->n * sizeof *stack), top = 0;
    uint8_t *at = calloc(w->n, 1);    /* next digit to look at; 12: done */
    bool ok = stack && at;
    for (uint32_t i = 0; ok && i < w->n; i++) {
        if (!w->live[i] || !in_cycle(w, i)) continue;
        w->node[i] = vc_gram_rule(w->cx->g);
        at[i] = 12;
    }
    for (uint32_t root = 0; ok && root < w->n; root++) {
        if (!w->live[root] || (root && !in_cycle(w, root))) continue;
        stack[top++] = root;
        at[root] = 0;
        while (top) {
            uint32_t i = stack[top - 1];
            if (at[i] <= 10) {
                uint32_t to = w->next[i][at[i]++];
                if (to != UINT32_MAX && to != i && w->live[to] && !at[to] && !w->node[to]) stack[top++] = to;
                continue;
            }
            top--;
            vc_gram_node body = state_node(w, i);
            at[i] = 12;
            if (in_cycle(w, i)) vc_gram_define(w->cx->g, w->node[i], body);
            else w->node[i] = body;
        }
    }
    free(stack);
    free(at);
    return ok;
}

/* x ≥ 0 within s; matches nothing where there is none. */
static vc_status magnitude(struct vc_schema_cx *cx, const struct spec *s, uint32_t node, vc_gram_node *out) {
    struct walk w = { .cx = cx, .s = *s };
    int32_t most = VC_MAX(s->has_lo ? int_digits(&s->lo) : 0, s->has_hi ? int_digits(&s->hi) : 0);
    int32_t frac = VC_MAX(s->has_lo ? frac_digits(&s->lo) : 0, s->has_hi ? frac_digits(&s->hi) : 0);
    w.s.int_sat = most + 1;
    w.s.frac_sat = VC_MAX(frac, s->scale) + 1;
    /* Near an open limit, more digits than an f64 holds would round to the limit itself; and a number that must not be
     * whole would be. */
    if ((s->has_lo && s->lo_open) || (s->has_hi && s->hi_open)) {
        w.s.frac_max = VC_MAX(F64_DIGITS - most, frac + 2);
        if (most >= F64_DIGITS && w.s.types & VC_ST_INT) w.s.types = VC_ST_INT;
    }
    if (s->types == VC_ST_FRAC) {
        w.s.int_max = VC_MAX(FRAC_INT, most);
        w.s.int_sat = w.s.int_max + 1;
        w.s.frac_max = VC_MAX(FRAC_FRAC, frac + 2);
    }
    bool ok = explore(&w) && mark(&w);
    *out = vc_gram_alt(cx->g, NULL, 0);
    if (ok && w.live[0]) {
        ok = emit(&w);
        *out = w.node[0];
    }
    free(w.state);
    free(w.next);
    free(w.node);
    free(w.slot);
    free(w.live);
    return ok ? VC_OK
              : vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, node, VC_KW_MULTIPLE_OF, "these limits need too many states");
}

/* Both signs of lo … hi; -0 is not written. */
static vc_status range(struct vc_schema_cx *cx, const struct spec *s, uint32_t node, vc_gram_node *out) {
    struct vc_dec zero = { 0 };
    struct spec pos = *s, neg = *s;
    vc_gram_node way[2];
    size_t n = 0;
    int lo0 = s->has_lo ? vc_dec_cmp(&s->lo, &zero) : -1, hi0 = s->has_hi ? vc_dec_cmp(&s->hi, &zero) : 1;
    if (lo0 < 0) pos.has_lo = false;
    if (hi0 > 0 || (hi0 == 0 && !s->hi_open)) VC_TRY(magnitude(cx, &pos, node, &way[n++]));
    neg.has_lo = true;
    neg.lo = hi0 < 0 ? vc_dec_neg(s->hi) : zero;
    neg.lo_open = hi0 < 0 ? s->hi_open : true;
    neg.has_hi = s->has_lo;
    neg.hi = vc_dec_neg(s->lo);
    neg.hi_open = s->lo_open;
    if (lo0 < 0) {
        vc_gram_node m;
        VC_TRY(magnitude(cx, &neg, node, &m));
        way[n++] = vc_gram_seq2(cx->g, vc_gram_text(cx->g, "-", 1), m);
    }
    *out = vc_gram_alt(cx->g, way, n);
    return VC_OK;
}

static uint64_t gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* The least common multiple of all multipleOf. */
static vc_status divisor(struct vc_schema_cx *cx, const struct vc_cell *list, struct spec *s) {
    s->div = 1;
    for (const struct vc_cell *c = list; c; c = c->next) {
        const struct vc_dec *d = &c->dec;
        int32_t low = d->point - d->n, scale = VC_MAX(-low, 0);
        uint64_t m = 0;
        bool fits = d->n <= 9 && low <= 9 && scale <= SCALE_MAX;
        for (int32_t i = 0; i < d->n && fits; i++) m = m * 10 + (uint64_t)(d->digits[i] - '0');
        for (int32_t i = 0; i < low && fits; i++) m *= 10;
        for (; fits && c != list && s->scale < scale; s->scale++) {
            s->div *= 10;
            fits = s->div < 1000000000;
        }
        for (int32_t i = scale; i < s->scale && fits; i++) {
            m *= 10;
            fits = m < 1000000000000;
        }
        if (fits && c == list) s->scale = scale;
        if (fits) s->div = c == list ? m : s->div / gcd(s->div, m) * m;
        if (!fits || s->div > DIVISOR_MAX)
            return vc_schema_fail(cx->doc, VC_E_UNSUPPORTED, c->id, VC_KW_MULTIPLE_OF,
                                  "only divisors with up to %d remainders are enforced", DIVISOR_MAX);
    }
    return VC_OK;
}

static int by_value(const void *a, const void *b) {
    const struct vc_cell *x = *(const struct vc_cell *const *)a, *y = *(const struct vc_cell *const *)b;
    return vc_dec_cmp(&x->dec, &y->dec);
}

vc_status vc_schema_number(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out) {
    struct spec s = { .lo = c->lo,
                      .hi = c->hi,
                      .has_lo = c->has_lo,
                      .has_hi = c->has_hi,
                      .lo_open = c->lo_open,
                      .hi_open = c->hi_open,
                      .types = c->types & VC_ST_NUMBER,
                      .div = 1,
                      .divided = c->multiples != NULL };
    uint32_t n = 0, node = c->multiples ? c->multiples->id : 0;
    if (!c->has_lo && !c->has_hi && !c->multiples && !c->not_numbers && s.types & VC_ST_INT) {
        const char *text =
            s.types & VC_ST_FRAC ? "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?(?:[eE][+-]?[0-9]+)?" : "-?(?:0|[1-9][0-9]*)";
        *out = vc_gram_regex(cx->g, text, strlen(text), 0, cx->doc->err);
        return *out ? VC_OK : vc_gram_status(cx->g, cx->doc->err);
    }
    VC_TRY(divisor(cx, c->multiples, &s));
    const struct vc_cell **not = vc_cell_array(cx, c->not_numbers, &n);
    if (!not) return vc_schema_memory(cx);
    qsort(not, n, sizeof *not, by_value);
    vc_gram_node all = vc_gram_alt(cx->g, NULL, 0);
    for (uint32_t i = 0; i <= n; i++) {    /* between two forbidden values */
        struct spec part = s;
        vc_gram_node one;
        if (i < n && (!part.has_hi || vc_dec_cmp(&not[i]->dec, &part.hi) <= 0)) {
            part.has_hi = part.hi_open = true;
            part.hi = not[i]->dec;
        }
        if (i > 0 && (!part.has_lo || vc_dec_cmp(&not[i - 1]->dec, &part.lo) >= 0)) {
            part.has_lo = part.lo_open = true;
            part.lo = not[i - 1]->dec;
        }
        int cmp = part.has_lo && part.has_hi ? vc_dec_cmp(&part.lo, &part.hi) : -1;
        if (cmp > 0 || (cmp == 0 && (part.lo_open || part.hi_open))) continue;
        VC_TRY(range(cx, &part, node, &one));
        all = vc_gram_alt2(cx->g, all, one);
    }
    *out = all;
    return VC_OK;
}
