/* SPDX-License-Identifier: Apache-2.0
 * Nodes as a graph: nullability through rules, the same node without the empty text, copies and a canonical text. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

enum { MAX_DEPTH = 200, MAX_CANON = 1 << 16 };

static bool nullable_by_kids(const struct vc_gram *g, const struct gnode *x) {
    const uint32_t *k = g->kids + x->off;
    switch (x->kind) {
    case GN_SEQ:
        for (uint32_t i = 0; i < x->n; i++) {
            if (!(g->nodes[k[i]].flags & GN_NULLABLE)) return false;
        }
        return true;
    case GN_ALT:
        for (uint32_t i = 0; i < x->n; i++) {
            if (g->nodes[k[i]].flags & GN_NULLABLE) return true;
        }
        return false;
    case GN_REPEAT: return !x->min || g->nodes[k[0]].flags & GN_NULLABLE;
    case GN_RULE: return k[0] && g->nodes[k[0]].flags & GN_NULLABLE;
    default: return x->flags & GN_NULLABLE;
    }
}

/* Least fixed point; only nodes with rules inside can change. Passes go down and up by turns, so that chains of rules
 * take few. */
bool vc_gram_settle(struct vc_gram *g) {
    bool again = true;
    for (bool up = false; again; up = !up) {
        again = false;
        for (size_t j = 0; j < g->n_nodes; j++) {
            struct gnode *x = &g->nodes[up ? g->n_nodes - 1 - j : j];
            if (!(x->flags & GN_RULES) || x->flags & GN_NULLABLE || !nullable_by_kids(g, x)) continue;
            x->flags |= GN_NULLABLE;
            again = true;
        }
        g->ticks |= 1023;
        if (!vc_gram_in_time(g)) return false;
    }
    return true;
}

static vc_gram_node nonnull(struct vc_gram *g, vc_gram_node x, unsigned depth);

/* v[0 … n) all nullable: one of them is the first that is not empty. */
static vc_gram_node nonnull_seq(struct vc_gram *g, const uint32_t *v, size_t n, unsigned depth) {
    vc_gram_node *alt = malloc((n + 1) * sizeof *alt), *seq = malloc((n + 1) * sizeof *seq);
    vc_gram_node r = 0;
    if (!alt || !seq) {
        vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    } else {
        for (size_t i = 0; i < n; i++) {
            seq[0] = nonnull(g, v[i], depth);
            memcpy(seq + 1, v + i + 1, (n - i - 1) * sizeof *seq);
            alt[i] = vc_gram_seq(g, seq, n - i);
        }
        r = vc_gram_alt(g, alt, n);
    }
    free(alt);
    free(seq);
    return r;
}

static vc_gram_node nonnull_made(struct vc_gram *g, vc_gram_node x, unsigned depth) {
    const struct gnode n = g->nodes[x];
    if (n.kind == GN_EMPTY) return vc_gram_alt(g, NULL, 0);
    uint32_t *k = malloc((n.n + 1) * sizeof *k);
    if (!k) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    memcpy(k, g->kids + n.off, n.n * sizeof *k);
    vc_gram_node r = 0;
    switch (n.kind) {
    case GN_SEQ: r = nonnull_seq(g, k, n.n, depth); break;
    case GN_ALT:
        for (uint32_t i = 0; i < n.n; i++) k[i] = nonnull(g, k[i], depth);
        r = vc_gram_alt(g, k, n.n);
        break;
    case GN_REPEAT:
        r = g->nodes[k[0]].flags & GN_NULLABLE ? vc_gram_repeat(g, nonnull(g, k[0], depth), 1, n.max)
                                               : vc_gram_repeat(g, k[0], 1, n.max);
        break;
    case GN_RULE:
        r = vc_gram_rule(g);
        if (!r) break;
        g->nonnull[x] = r;                  /* recursion meets the rule */
        vc_gram_define(g, r, nonnull(g, k[0], depth));
        break;
    case GN_BOTH: r = vc_gram_both(g, nonnull(g, k[0], depth), k[1]); break;
    case GN_MINUS: r = vc_gram_minus(g, nonnull(g, k[0], depth), k[1]); break;
    default: break;
    }
    free(k);
    return r;
}

static vc_gram_node nonnull(struct vc_gram *g, vc_gram_node x, unsigned depth) {
    if (!x || !(g->nodes[x].flags & GN_NULLABLE)) return x;
    if (depth > 4 * MAX_DEPTH)
        return vc_gram_fail(g, VC_E_INVALID, "grammar: optional parts are nested more than %d deep", 4 * MAX_DEPTH);
    if (x >= g->n_nonnull) {
        size_t n = g->n_nodes + g->n_nodes / 2 + 16;
        uint32_t *p = realloc(g->nonnull, n * sizeof *p);
        if (!p) return vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
        memset(p + g->n_nonnull, 0, (n - g->n_nonnull) * sizeof *p);
        g->nonnull = p;
        g->n_nonnull = n;
    }
    if (!g->nonnull[x]) {
        vc_gram_node r = nonnull_made(g, x, depth + 1);
        g->nonnull[x] = r;
    }
    return g->nonnull[x];
}

vc_gram_node vc_gram_nonnull(struct vc_gram *g, vc_gram_node x) { return nonnull(g, x, 0); }

static bool canon(const struct vc_gram *g, vc_gram_node x, struct vc_buf *out, unsigned depth) {
    const struct gnode *n = &g->nodes[x];
    if (depth > MAX_DEPTH || out->n > MAX_CANON || n->kind == GN_RULE) return false;
    uint32_t head[4] = { n->kind | (uint32_t)(n->flags & GN_EXACT) << 8, n->n, n->min, n->max };
    vc_buf_add(out, (const char *)head, sizeof head);
    if (n->kind == GN_TEXT) vc_buf_add(out, g->bytes + n->off, n->n);
    if (n->kind == GN_CLASS) vc_buf_add(out, (const char *)(g->ranges + n->off), n->n * sizeof *g->ranges);
    if (n->kind < GN_SEQ) return !out->failed;
    for (uint32_t i = 0; i < n->n; i++) {
        if (!canon(g, g->kids[n->off + i], out, depth + 1)) return false;
    }
    return !out->failed;
}

bool vc_gram_canon(const struct vc_gram *g, vc_gram_node x, struct vc_buf *out) { return canon(g, x, out, 0); }

static vc_gram_node copy(struct vc_gram *to, const struct vc_gram *from, vc_gram_node x, unsigned depth) {
    const struct gnode *n = &from->nodes[x];
    if (depth > MAX_DEPTH) return vc_gram_fail(to, VC_E_INVALID, "grammar: nested more than %d deep", MAX_DEPTH);
    switch (n->kind) {
    case GN_EMPTY: return vc_gram_text(to, "", 0);
    case GN_TEXT: return vc_gram_text(to, from->bytes + n->off, n->n);
    case GN_CLASS: return vc_gram_class(to, from->ranges + n->off, n->n, false);
    case GN_FAILED:
    case GN_RULE: return vc_gram_fail(to, VC_E_INVALID, "grammar: a rule can't be copied");
    default: break;
    }
    uint32_t *k = malloc((n->n + 1) * sizeof *k);
    if (!k) return vc_gram_fail(to, VC_E_NOMEM, "grammar: out of memory");
    vc_gram_node r = 1;
    for (uint32_t i = 0; i < n->n && r; i++) r = k[i] = copy(to, from, from->kids[n->off + i], depth + 1);
    if (r) {
        r = n->kind == GN_SEQ ? vc_gram_seq(to, k, n->n) : n->kind == GN_ALT ? vc_gram_alt(to, k, n->n)
            : n->kind == GN_REPEAT ? vc_gram_repeat(to, k[0], n->min, n->max)
            : n->kind == GN_BOTH ? vc_gram_both(to, k[0], k[1]) : vc_gram_minus(to, k[0], k[1]);
    }
    free(k);
    return r;
}

vc_gram_node vc_gram_copy(struct vc_gram *to, struct vc_gram *from, vc_gram_node x) { return copy(to, from, x, 0); }
