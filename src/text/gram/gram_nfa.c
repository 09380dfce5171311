/* SPDX-License-Identifier: Apache-2.0
 * The NFA of a grammar: one part per rule; states that can't reach the end of their rule are found, left recursion is
 * taken out where it is direct (A = A x | y is y x*) and refused where it is not. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

static bool no_memory(struct vc_gram *g) {
    vc_gram_fail(g, VC_E_NOMEM, "grammar: out of memory");
    return false;
}

bool vc_nfa_state(struct vc_gram *g, struct nfa *a, uint32_t *s) {
    if (++g->total_states > g->lim.states) {
        vc_gram_fail(g, VC_E_INVALID, "grammar: its automaton has more than %u states", g->lim.states);
        return false;
    }
    *s = a->n_states++;
    return true;
}

bool vc_nfa_edge(struct vc_gram *g, struct nfa *a, struct nedge e) {
    if (a->n_edges / 8 > g->lim.states) {
        vc_gram_fail(g, VC_E_INVALID, "grammar: its automaton is too large (%zu edges)", a->n_edges);
        return false;
    }
    if (!VC_GRAM_ROOM(a->edges, a->n_edges, a->cap_edges)) return no_memory(g);
    a->edges[a->n_edges++] = e;
    return true;
}

bool vc_nfa_site(struct vc_gram *g, struct nfa *a, struct nsite s, uint32_t *site) {
    if (!VC_GRAM_ROOM(a->sites, a->n_sites, a->cap_sites)) return no_memory(g);
    *site = (uint32_t)a->n_sites;
    a->sites[a->n_sites++] = s;
    return true;
}

void vc_nfa_free(struct nfa *a) {
    for (size_t i = 0; i < a->n_sites; i++) free(a->sites[i].live.rows);
    free(a->edges);
    free(a->sites);
    free(a->rules);
    free(a->marks);
    memset(a, 0, sizeof *a);
}

/* Edges by the states whose liveness they wait for: their end, and for calls the rule's first state too. */
struct waiting { uint32_t *at, *list; };
static bool waiting_made(const struct nfa *a, struct waiting *w) {
    w->at = calloc((size_t)a->n_states + 2, sizeof *w->at);      /* begin of s in at[s + 1] while the list is filled */
    w->list = malloc((2 * a->n_edges + 1) * sizeof *w->list);
    if (!w->at || !w->list) return false;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < a->n_edges; i++) {
            uint32_t key[2] = { a->edges[i].to,
                                a->edges[i].kind == NE_CALL ? a->rules[a->edges[i].arg].start : UINT32_MAX };
            for (int k = 0; k < 2; k++) {
                if (key[k] == UINT32_MAX) continue;
                if (pass) w->list[w->at[key[k] + 1]++] = (uint32_t)i;
                else w->at[key[k] + 2]++;
            }
        }
        if (pass) break;
        for (uint32_t s = 2; s <= a->n_states + 1; s++) w->at[s] += w->at[s - 1];
    }
    return true;
}

bool vc_nfa_trim(const struct nfa *a, uint8_t *live) {
    struct waiting w = { 0 };
    uint32_t *stack = malloc(((size_t)a->n_states + 1) * sizeof *stack);
    bool ok = stack && waiting_made(a, &w);
    size_t n = 0;
    if (ok) memset(live, 0, a->n_states);
    for (size_t i = 0; ok && i < a->n_rules; i++) {
        live[a->rules[i].final] = 1;
        stack[n++] = a->rules[i].final;
    }
    while (ok && n) {
        uint32_t s = stack[--n];
        for (uint32_t k = w.at[s]; k < w.at[s + 1]; k++) {
            const struct nedge *e = &a->edges[w.list[k]];
            if (live[e->from] || !live[e->to]) continue;
            if (e->kind == NE_CALL && !live[a->rules[e->arg].start]) continue;
            live[e->from] = 1;
            stack[n++] = e->from;
        }
    }
    free(stack);
    free(w.at);
    free(w.list);
    return ok;
}

/* ---- left recursion ---- */
/* Collects the alternatives of a node into v. */
static bool alternatives(struct vc_gram *g, vc_gram_node x, uint32_t **v, size_t *n, size_t *cap) {
    size_t done = 0;
    if (!VC_GRAM_ROOM(*v, *n, *cap)) return no_memory(g);
    (*v)[(*n)++] = x;
    for (; done < *n; done++) {
        while (g->nodes[(*v)[done]].kind == GN_ALT) {
            const struct gnode *a = &g->nodes[(*v)[done]];
            uint32_t off = a->off, kids = a->n;
            (*v)[done] = g->kids[off];
            for (uint32_t i = 1; i < kids; i++) {
                if (*n > g->lim.nodes || !VC_GRAM_ROOM(*v, *n, *cap)) return no_memory(g);
                (*v)[(*n)++] = g->kids[off + i];
            }
        }
    }
    return true;
}

static bool direct_left(struct vc_gram *g, vc_gram_node rule) {
    uint32_t *v = NULL;
    size_t n = 0, cap = 0, n_tail = 0, n_base = 0;
    bool ok = alternatives(g, g->kids[g->nodes[rule].off], &v, &n, &cap);
    uint32_t *tail = malloc((n + 1) * sizeof *tail);
    ok = ok && (tail || no_memory(g));
    bool found = false;
    for (size_t i = 0; ok && i < n; i++) {
        const struct gnode x = g->nodes[v[i]];
        if (v[i] == rule) {
            found = true;
        } else if (x.kind == GN_SEQ && g->kids[x.off] == rule) {
            found = true;
            uint32_t *rest = malloc(x.n * sizeof *rest);
            if (!rest) ok = no_memory(g);
            else memcpy(rest, g->kids + x.off + 1, (x.n - 1) * sizeof *rest);
            if (rest) tail[n_tail++] = vc_gram_seq(g, rest, x.n - 1);
            free(rest);
        } else {
            v[n_base++] = v[i];
        }
    }
    if (ok && found) {
        vc_gram_node body = vc_gram_seq2(g, vc_gram_alt(g, v, n_base), vc_gram_star(g, vc_gram_alt(g, tail, n_tail)));
        ok = body != 0;
        g->kids[g->nodes[rule].off] = body;
    }
    free(v);
    free(tail);
    return ok;
}

static int name_len(const struct gnode *x) { return (int)VC_MIN(x->max, 80u); }

/* Walks from root: undefined rules fail, direct left recursion is rewritten, uses are counted. */
static bool survey(struct vc_gram *g, vc_gram_node root) {
    uint32_t *stack = NULL;
    size_t n = 0, cap = 0;
    uint8_t *seen = NULL;
    size_t n_seen = 0;
    bool ok = VC_GRAM_ROOM(stack, n, cap);
    if (ok) stack[n++] = root;
    while (ok && n && (ok = vc_gram_in_time(g))) {
        vc_gram_node x = stack[--n];
        if (x >= n_seen) {
            size_t m = g->n_nodes + g->n_nodes / 2 + 16;
            uint8_t *s = realloc(seen, m);
            if (s) seen = s;
            uint32_t *u = realloc(g->uses, m * sizeof *u);
            if (u) g->uses = u;
            if (!s || !u) {
                ok = no_memory(g);
                break;
            }
            memset(seen + n_seen, 0, m - n_seen);
            memset(g->uses + n_seen, 0, (m - n_seen) * sizeof *u);
            n_seen = g->n_uses = m;
        }
        g->uses[x]++;
        if (seen[x]) continue;
        seen[x] = 1;
        if (g->nodes[x].kind == GN_RULE) {
            const struct gnode *r = &g->nodes[x];
            if (!g->kids[r->off]) {
                vc_gram_fail(g, VC_E_INVALID, "grammar: rule \"%.*s\" is not defined", name_len(r),
                             r->max ? g->bytes + r->min : "");
                ok = false;
            } else {
                ok = direct_left(g, x);
            }
        }
        const struct gnode *k = &g->nodes[x];
        for (uint32_t i = 0; ok && k->kind >= GN_SEQ && i < k->n; i++) {
            ok = VC_GRAM_ROOM(stack, n, cap) || no_memory(g);
            if (ok) stack[n++] = g->kids[k->off + i];
        }
    }
    free(stack);
    free(seen);
    return ok;
}

/* Edges by first state. */
static uint32_t *by_from(const struct nfa *a, uint32_t **list) {
    uint32_t *at = calloc((size_t)a->n_states + 2, sizeof *at);
    *list = malloc((a->n_edges + 1) * sizeof **list);
    if (!at || !*list) {
        free(at);
        return NULL;
    }
    for (size_t i = 0; i < a->n_edges; i++) at[a->edges[i].from + 1]++;
    for (uint32_t s = 1; s <= a->n_states; s++) at[s] += at[s - 1];
    for (size_t i = a->n_edges; i-- > 0;) (*list)[--at[a->edges[i].from + 1]] = (uint32_t)i;
    /* at[s + 1] is the begin of s now; shift back. */
    for (uint32_t s = 0; s < a->n_states; s++) at[s] = at[s + 1];
    at[a->n_states] = (uint32_t)a->n_edges;
    return at;
}

struct left {
    struct vc_gram *g;
    uint32_t *at, *list, *stack, *path, *next, *first, *calls;
    uint8_t *seen, *colour;
    size_t n_calls, cap_calls;
};

/* Rules that rule r can call before it has taken a byte, appended to calls. */
static bool left_calls(struct left *l, uint32_t r) {
    const struct nfa *a = &l->g->nfa;
    size_t n = 0;
    l->stack[n++] = a->rules[r].start;
    l->seen[a->rules[r].start] = 1;
    while (n) {
        uint32_t s = l->stack[--n];
        for (uint32_t k = l->at[s]; k < l->at[s + 1]; k++) {
            const struct nedge *e = &a->edges[l->list[k]];
            if (e->kind == NE_BYTE) continue;
            if (e->kind == NE_CALL) {
                if (!VC_GRAM_ROOM(l->calls, l->n_calls, l->cap_calls)) return no_memory(l->g);
                l->calls[l->n_calls++] = e->arg;
                if (!(l->g->nodes[a->rules[e->arg].node].flags & GN_NULLABLE)) continue;
            }
            if (!l->seen[e->to]) {
                l->seen[e->to] = 1;
                l->stack[n++] = e->to;
            }
        }
    }
    return true;
}

static vc_status cycle(struct left *l, vc_err *err) {
    const struct nfa *a = &l->g->nfa;
    for (uint32_t r = 0; r < a->n_rules; r++) {
        l->first[r] = (uint32_t)l->n_calls;
        if (!left_calls(l, r)) return vc_gram_status(l->g, err);
    }
    l->first[a->n_rules] = (uint32_t)l->n_calls;
    for (uint32_t r = 0; r < a->n_rules; r++) {
        size_t n = 0;
        if (l->colour[r]) continue;
        l->colour[r] = 1;
        l->next[r] = l->first[r];
        l->path[n++] = r;
        while (n) {
            uint32_t at = l->path[n - 1];
            if (l->next[at] == l->first[at + 1]) {
                l->colour[at] = 2;
                n--;
                continue;
            }
            uint32_t to = l->calls[l->next[at]++];
            if (l->colour[to] == 1) {
                const struct gnode *x = &l->g->nodes[a->rules[to].node];
                bool named = x->kind == GN_RULE && x->max;
                return vc_fail(err, VC_E_UNSUPPORTED,
                               "grammar: left recursion%s%.*s%s that is not of the form a ::= a … | …",
                               named ? " through the rule \"" : "", named ? name_len(x) : 0,
                               named ? l->g->bytes + x->min : "", named ? "\"" : "");
            }
            if (l->colour[to]) continue;
            l->colour[to] = 1;
            l->next[to] = l->first[to];
            l->path[n++] = to;
        }
    }
    return VC_OK;
}

vc_status vc_nfa_left_recursion(struct vc_gram *g, vc_err *err) {
    const struct nfa *a = &g->nfa;
    struct left l = { .g = g };
    l.at = by_from(a, &l.list);
    l.stack = malloc(((size_t)a->n_states + 1) * sizeof *l.stack);
    l.seen = calloc((size_t)a->n_states + 1, 1);
    l.path = malloc((a->n_rules + 1) * sizeof *l.path);
    l.next = malloc((a->n_rules + 1) * sizeof *l.next);
    l.first = malloc((a->n_rules + 2) * sizeof *l.first);
    l.colour = calloc(a->n_rules + 1, 1);
    vc_status s = !l.at || !l.stack || !l.seen || !l.path || !l.next || !l.first || !l.colour
                      ? vc_fail(err, VC_E_NOMEM, "grammar: out of memory") : cycle(&l, err);
    free(l.at);
    free(l.list);
    free(l.stack);
    free(l.seen);
    free(l.path);
    free(l.next);
    free(l.first);
    free(l.colour);
    free(l.calls);
    return s;
}

/* ---- compiling ---- */
static bool all_rules(struct vc_gram *g, vc_gram_node root) {
    struct nfa *a = &g->nfa;
    struct nrule r = { .node = root };
    if (!vc_nfa_state(g, a, &r.start) || !vc_nfa_state(g, a, &r.final)) return false;
    if (!VC_GRAM_ROOM(a->rules, a->n_rules, a->cap_rules)) return no_memory(g);
    a->rules[a->n_rules++] = r;
    for (size_t i = 0; i < a->n_rules; i++) {
        r = a->rules[i];
        uint32_t x = i && g->nodes[r.node].kind == GN_RULE ? g->kids[g->nodes[r.node].off] : r.node;
        if (!x) return vc_gram_fail(g, VC_E_INVALID, "grammar: a rule is not defined");
        if (!vc_nfa_fragment(g, a, x, r.start, r.final, 0)) return false;
    }
    return true;
}

vc_status vc_gram_compile(struct vc_gram *g, vc_gram_node root, vc_err *err) {
    if (g->err.status == VC_OK && (!root || root >= g->n_nodes)) vc_gram_fail(g, VC_E_INVALID, "grammar: no root");
    g->ticks |= 1023;
    if (!vc_gram_in_time(g) || !survey(g, root) || !vc_gram_settle(g) || !all_rules(g, root))
        return vc_gram_status(g, err);
    VC_TRY(vc_nfa_left_recursion(g, err));
    uint8_t *live = malloc((size_t)g->nfa.n_states + 1);
    if (!live || !vc_nfa_trim(&g->nfa, live)) {
        free(live);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    bool any = live[g->nfa.rules[0].start];
    size_t n = 0;
    for (size_t i = 0; i < g->nfa.n_edges; i++) {
        const struct nedge e = g->nfa.edges[i];
        if (!live[e.from] || !live[e.to] || (e.kind == NE_CALL && !live[g->nfa.rules[e.arg].start])) continue;
        g->nfa.edges[n++] = e;
    }
    g->nfa.n_edges = n;
    free(live);
    if (!any) return vc_fail(err, VC_E_INVALID, "grammar: no text matches it");
    g->compiled = true;
    return VC_OK;
}

bool vc_gram_is_empty(struct vc_gram *g, vc_gram_node x) {
    struct nfa a = { 0 };
    struct nrule r = { 0 };
    if (g->err.status != VC_OK || !x || x >= g->n_nodes) return true;
    uint32_t before = g->total_states;
    bool empty = true;
    if (vc_nfa_state(g, &a, &r.start) && vc_nfa_state(g, &a, &r.final) &&
        VC_GRAM_ROOM(a.rules, a.n_rules, a.cap_rules)) {
        a.rules[a.n_rules++] = r;
        if (vc_nfa_fragment(g, &a, x, r.start, r.final, FR_PART)) {
            uint8_t *live = malloc(a.n_states);
            if (live && vc_nfa_trim(&a, live)) empty = !live[r.start];
            else no_memory(g);
            free(live);
        }
    }
    g->total_states = before;
    vc_nfa_free(&a);
    return empty;
}
