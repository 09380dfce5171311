/* SPDX-License-Identifier: Apache-2.0
 * Nodes to NFA fragments (Thompson's construction), with a list of work instead of recursion. A fragment adds no edge
 * into its first state and none out of its last one, so fragments can be put together freely. A repeat is written out
 * when it is small, a plain loop when it counts nothing, and else a site: ENTER pushes a frame with count 0, INC
 * begins a round, EXIT leaves when there were enough. Parts that are large and used several times become rules. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

enum { OUTLINE = 256, MIN_TRIE = 4 };

struct part { uint32_t node, s, t; };
struct frag {
    struct vc_gram *g;
    struct nfa *a;
    int flags;
    struct part *v;
    size_t n, cap;
};

static bool push(struct frag *f, uint32_t node, uint32_t s, uint32_t t) {
    if (!VC_GRAM_ROOM(f->v, f->n, f->cap)) {
        vc_gram_fail(f->g, VC_E_NOMEM, "grammar: out of memory");
        return false;
    }
    f->v[f->n++] = (struct part){ node, s, t };
    return true;
}

static bool edge(struct frag *f, uint8_t kind, uint32_t s, uint32_t t, uint32_t arg) {
    return vc_nfa_edge(f->g, f->a, (struct nedge){ .from = s, .to = t, .kind = kind, .arg = arg });
}
static bool byte_edge(struct frag *f, uint32_t s, uint32_t t, uint8_t lo, uint8_t hi) {
    return vc_nfa_edge(f->g, f->a, (struct nedge){ .from = s, .to = t, .kind = NE_BYTE, .lo = lo, .hi = hi });
}

static bool text(struct frag *f, const unsigned char *p, uint32_t n, uint32_t s, uint32_t t) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = t;
        if (i + 1 < n && !vc_nfa_state(f->g, f->a, &to)) return false;
        if (!byte_edge(f, s, to, p[i], p[i])) return false;
        s = to;
    }
    return true;
}

/* Byte sequences of one class; equal tails are shared. */
struct tails {
    struct frag *f;
    uint32_t s, t;
    struct { uint8_t lo, hi; uint32_t to, state; } memo[64];
    size_t n;
};

static bool class_seq(void *ctx, const uint8_t (*seq)[2], unsigned n) {
    struct tails *c = ctx;
    uint32_t to = c->t;
    for (unsigned i = n; i-- > 1;) {
        uint32_t state = 0;
        bool have = false;
        for (size_t k = VC_MIN(c->n, VC_ARRAY_LEN(c->memo)); k-- > 0 && !have;) {
            have = c->memo[k].lo == seq[i][0] && c->memo[k].hi == seq[i][1] && c->memo[k].to == to;
            if (have) state = c->memo[k].state;
        }
        if (!have) {
            if (!vc_nfa_state(c->f->g, c->f->a, &state) || !byte_edge(c->f, state, to, seq[i][0], seq[i][1]))
                return false;
            size_t at = c->n++ % VC_ARRAY_LEN(c->memo);
            c->memo[at].lo = seq[i][0];
            c->memo[at].hi = seq[i][1];
            c->memo[at].to = to;
            c->memo[at].state = state;
        }
        to = state;
    }
    return byte_edge(c->f, c->s, to, seq[0][0], seq[0][1]);
}

static bool class(struct frag *f, const struct gnode *x, uint32_t s, uint32_t t) {
    struct tails c = { .f = f, .s = s, .t = t };
    for (uint32_t i = 0; i < x->n; i++) {
        struct vc_gram_range r = f->g->ranges[x->off + i];
        if (!vc_utf8_ranges(r.first, r.last, class_seq, &c)) return false;
    }
    return true;
}

static bool seq(struct frag *f, const struct gnode *x, uint32_t s, uint32_t t) {
    const uint32_t off = x->off, n = x->n;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t to = t;
        if (i + 1 < n && !vc_nfa_state(f->g, f->a, &to)) return false;
        if (!push(f, f->g->kids[off + i], s, to)) return false;
        s = to;
    }
    return true;
}

struct word { const unsigned char *p; uint32_t n; };
static int by_bytes(const void *a, const void *b) {
    const struct word *x = a, *y = b;
    int c = memcmp(x->p, y->p, VC_MIN(x->n, y->n));
    return c ? c : x->n < y->n ? -1 : x->n > y->n;
}

/* Sorted words as a trie between s and t. */
static bool trie(struct frag *f, const struct word *w, size_t n, uint32_t s, uint32_t t) {
    uint32_t longest = 0;
    for (size_t i = 0; i < n; i++) longest = VC_MAX(longest, w[i].n);
    /* State after each byte of the word before; t is no state of the trie. */
    uint32_t *at = malloc(((size_t)longest + 1) * sizeof *at);
    if (!at) {
        vc_gram_fail(f->g, VC_E_NOMEM, "grammar: out of memory");
        return false;
    }
    uint32_t have = 0;          /* bytes of the word before whose states stand in at */
    at[0] = s;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        uint32_t k = 0;
        while (i && k < have && k + 1 < w[i].n && w[i].p[k] == w[i - 1].p[k]) k++;
        for (; k + 1 < w[i].n && ok; k++) {
            ok = vc_nfa_state(f->g, f->a, &at[k + 1]) && byte_edge(f, at[k], at[k + 1], w[i].p[k], w[i].p[k]);
        }
        have = k;
        ok = ok && byte_edge(f, at[k], t, w[i].p[k], w[i].p[k]);
    }
    free(at);
    return ok;
}

static bool alt(struct frag *f, const struct gnode *x, uint32_t s, uint32_t t) {
    const uint32_t off = x->off, n = x->n;
    struct word *w = malloc(((size_t)n + 1) * sizeof *w);
    if (!w) {
        vc_gram_fail(f->g, VC_E_NOMEM, "grammar: out of memory");
        return false;
    }
    size_t m = 0;
    bool ok = true;
    for (uint32_t i = 0; i < n; i++) {
        const struct gnode *k = &f->g->nodes[f->g->kids[off + i]];
        if (k->kind == GN_TEXT) w[m++] = (struct word){ (const unsigned char *)f->g->bytes + k->off, k->n };
    }
    bool use_trie = m >= MIN_TRIE;
    if (use_trie) {
        qsort(w, m, sizeof *w, by_bytes);
        ok = trie(f, w, m, s, t);
    }
    free(w);
    for (uint32_t i = 0; i < n && ok; i++) {
        uint32_t k = f->g->kids[off + i];
        if (!(use_trie && f->g->nodes[k].kind == GN_TEXT)) ok = push(f, k, s, t);
    }
    return ok;
}

/* min copies, then a loop or optional copies. */
static bool written_out(struct frag *f, uint32_t body, uint32_t min, uint32_t max, uint32_t s, uint32_t t) {
    uint32_t copies = max == VC_GRAM_INF ? min : max, at = s, to;
    if (max == VC_GRAM_INF && min == 1) copies = 0;
    for (uint32_t i = 0; i < copies; i++) {
        if (i >= min && !edge(f, NE_EPS, at, t, 0)) return false;
        if (!vc_nfa_state(f->g, f->a, &to) || !push(f, body, at, to)) return false;
        at = to;
    }
    if (max != VC_GRAM_INF) return edge(f, NE_EPS, at, t, 0);
    uint32_t loop, end;
    if (!vc_nfa_state(f->g, f->a, &loop) || !edge(f, NE_EPS, at, loop, 0)) return false;
    if (min == 1) {
        return vc_nfa_state(f->g, f->a, &end) && push(f, body, loop, end) && edge(f, NE_EPS, end, loop, 0) &&
               edge(f, NE_EPS, end, t, 0);
    }
    return push(f, body, loop, loop) && edge(f, NE_EPS, loop, t, 0);
}

static bool site(struct frag *f, uint32_t body, const struct gnode *x, uint32_t s, uint32_t t) {
    const struct gnode *k = &f->g->nodes[body];
    bool heavy = !(k->flags & (GN_RULES | GN_SITE)) && f->flags == 0 && x->flags & GN_SITE;
    struct nsite n = { .min = x->min, .max = x->max, .node = body, .exit_to = t };
    n.flags = (heavy ? NS_HEAVY : 0u) | (x->flags & GN_EXACT ? NS_EXACT : 0u);
    uint32_t head, first, end, id;
    if (!vc_nfa_state(f->g, f->a, &head) || !vc_nfa_state(f->g, f->a, &n.body) || !vc_nfa_state(f->g, f->a, &end))
        return false;
    if (!vc_nfa_site(f->g, f->a, n, &id)) return false;
    first = head;
    if (n.min && !vc_nfa_state(f->g, f->a, &first)) return false;      /* no way out before the first round */
    if (!edge(f, NE_ENTER, s, first, id)) return false;
    if (first != head && !edge(f, NE_INC, first, n.body, id)) return false;
    return edge(f, NE_INC, head, n.body, id) && edge(f, NE_EXIT, head, t, id) && edge(f, NE_EPS, end, head, 0) &&
           push(f, body, n.body, end);
}

static bool repeat(struct frag *f, const struct gnode *x, uint32_t s, uint32_t t) {
    uint32_t body = f->g->kids[x->off];
    struct gnode y = *x;
    if (f->g->nodes[body].flags & GN_NULLABLE) {
        /* (a?){2,5} is (a){0,5}: each round takes at least a byte. */
        body = vc_gram_nonnull(f->g, body);
        vc_gram_node r = x->flags & GN_EXACT ? vc_gram_exact_loop(f->g, body, x->max != VC_GRAM_INF)
                                             : vc_gram_repeat(f->g, body, 0, x->max);
        if (!r) return false;
        y = f->g->nodes[r];
        if (y.kind != GN_REPEAT) return push(f, r, s, t);
        body = f->g->kids[y.off];
    }
    bool plain = f->flags & FR_UNROLL || vc_gram_unroll(f->g, &y);
    bool in_place = plain && (f->flags || !(y.flags & GN_SITE) || f->g->nodes[body].flags & GN_SITE);
    if (!in_place) return site(f, body, &y, s, t);
    return written_out(f, body, y.min, y.max, s, t);
}

static bool call(struct frag *f, uint32_t node, uint32_t s, uint32_t t) {
    struct vc_gram *g = f->g;
    if (node >= g->n_rule_of) {
        size_t n = g->n_nodes + g->n_nodes / 2 + 16;
        uint32_t *p = realloc(g->rule_of, n * sizeof *p);
        if (!p) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
        memset(p + g->n_rule_of, 0, (n - g->n_rule_of) * sizeof *p);
        g->rule_of = p;
        g->n_rule_of = n;
    }
    if (!g->rule_of[node]) {
        struct nrule r = { .node = node };
        if (!vc_nfa_state(g, f->a, &r.start) || !vc_nfa_state(g, f->a, &r.final)) return false;
        if (!VC_GRAM_ROOM(f->a->rules, f->a->n_rules, f->a->cap_rules))
            return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
        f->a->rules[f->a->n_rules++] = r;
        g->rule_of[node] = (uint32_t)f->a->n_rules;
    }
    return edge(f, NE_CALL, s, t, g->rule_of[node] - 1);
}

static bool one(struct frag *f, struct part p, bool top) {
    struct vc_gram *g = f->g;
    const struct gnode x = g->nodes[p.node];
    bool shared = !top && !f->flags && p.node < g->n_uses && g->uses[p.node] > 1 && x.size > OUTLINE;
    if (shared && x.kind >= GN_SEQ && x.kind != GN_RULE) return call(f, p.node, p.s, p.t);
    switch ((enum gnode_kind)x.kind) {
    case GN_EMPTY: return edge(f, NE_EPS, p.s, p.t, 0);
    case GN_TEXT: return text(f, (const unsigned char *)g->bytes + x.off, x.n, p.s, p.t);
    case GN_CLASS: return class(f, &x, p.s, p.t);
    case GN_SEQ: return seq(f, &x, p.s, p.t);
    case GN_ALT: return alt(f, &x, p.s, p.t);
    case GN_REPEAT: return repeat(f, &x, p.s, p.t);
    case GN_RULE: return call(f, p.node, p.s, p.t);
    case GN_BOTH:
    case GN_MINUS: return vc_nfa_product(g, f->a, &x, p.s, p.t, f->flags);
    case GN_FAILED: break;
    }
    return vc_gram_fail(g, VC_E_INVALID, "grammar: a part of it failed");
}

bool vc_nfa_fragment(struct vc_gram *g, struct nfa *a, vc_gram_node x, uint32_t s, uint32_t t, int flags) {
    struct frag f = { .g = g, .a = a, .flags = flags };
    bool ok = push(&f, x, s, t), top = true;
    while (ok && f.n) {
        ok = vc_gram_in_time(g) && one(&f, f.v[--f.n], top);
        top = false;
    }
    free(f.v);
    return ok;
}
