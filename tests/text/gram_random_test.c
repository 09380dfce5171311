/* SPDX-License-Identifier: Apache-2.0
 * Random grammars against a slow recogniser that shares nothing with the automaton: for each node the set of (begin,
 * end) pairs of the text that it matches, as bit rows, to a fixed point over the rules. On every config that is
 * reached, an accepting one must be reachable (no text is begun that can't be finished), and the text that gets there
 * must be right for the slow one too. */
#include "test.h"

#include "base/rng.h"
#include "text/gram/gram_int.h"

enum { MAX_NODES = 64, MAX_LEN = 40, SEEDS = 10000 };

enum kind { K_TEXT, K_CLASS, K_SEQ, K_ALT, K_REPEAT, K_RULE, K_BOTH, K_MINUS };
struct tnode {
    enum kind kind;
    char text[4];
    struct vc_gram_range r[2];
    unsigned n;             /* bytes, ranges or kids */
    bool negate, rules;
    uint32_t kid[3], min, max;
    vc_gram_node node;
};
struct tree {
    struct tnode v[MAX_NODES];
    unsigned n;
    uint64_t rng;
    struct vc_gram *g;
};

/* ---- the slow recogniser ---- */
typedef uint64_t rows[MAX_LEN + 1];       /* bit j of row i: bytes [i, j) match */

static uint64_t then(const uint64_t *b, uint64_t ends, unsigned n) {
    uint64_t out = 0;
    for (unsigned k = 0; k <= n; k++) {
        if (ends >> k & 1) out |= b[k];
    }
    return out;
}

static void rows_repeat(const struct tnode *x, const uint64_t *body, unsigned n, uint64_t *out) {
    uint32_t min = VC_MIN(x->min, (uint32_t)MAX_LEN + 2), max = VC_MIN(x->max, 2u * MAX_LEN + 4);
    for (unsigned i = 0; i <= n; i++) {
        uint64_t at = 1ull << i;
        out[i] = 0;
        for (uint32_t c = 0; c <= max && at; c++) {
            if (c >= min) out[i] |= at;
            at = then(body, at, n);
        }
    }
}

static void rows_class(const struct tnode *x, const char *s, unsigned n, uint64_t *out) {
    for (unsigned i = 0; i <= n; i++) {
        uint32_t c = 0;
        size_t len = i < n ? vc_utf8_decode(s + i, n - i, &c) : 0;
        bool in = false;
        for (unsigned k = 0; k < x->n; k++) in |= x->r[k].first <= c && c <= x->r[k].last;
        out[i] = len && in != x->negate ? 1ull << (i + len) : 0;
    }
}

static bool slow(const struct tree *t, unsigned root, const char *s, unsigned n) {
    static rows m[MAX_NODES];
    memset(m, 0, sizeof m);
    for (bool again = true; again;) {
        again = false;
        for (unsigned q = 0; q < t->n; q++) {
            const struct tnode *x = &t->v[q];
            rows out = { 0 };
            for (unsigned i = 0; i <= n; i++) {
                switch (x->kind) {
                case K_TEXT: out[i] = i + x->n <= n && !memcmp(s + i, x->text, x->n) ? 1ull << (i + x->n) : 0; break;
                case K_SEQ:
                    out[i] = 1ull << i;
                    for (unsigned k = 0; k < x->n; k++) out[i] = then(m[x->kid[k]], out[i], n);
                    break;
                case K_ALT:
                    for (unsigned k = 0; k < x->n; k++) out[i] |= m[x->kid[k]][i];
                    break;
                case K_RULE: out[i] = m[x->kid[0]][i]; break;
                case K_BOTH: out[i] = m[x->kid[0]][i] & m[x->kid[1]][i]; break;
                case K_MINUS: out[i] = m[x->kid[0]][i] & ~m[x->kid[1]][i]; break;
                default: break;
                }
            }
            if (x->kind == K_CLASS) rows_class(x, s, n, out);
            if (x->kind == K_REPEAT) rows_repeat(x, m[x->kid[0]], n, out);
            if (memcmp(out, m[q], sizeof out)) {
                memcpy(m[q], out, sizeof out);
                again = true;
            }
        }
    }
    return m[root][0] >> n & 1;
}

/* ---- random trees ---- */
static uint32_t below(struct tree *t, uint32_t n) { return vc_rng_below(&t->rng, n); }

static unsigned leaf(struct tree *t) {
    struct tnode *x = &t->v[t->n];
    memset(x, 0, sizeof *x);
    if (below(t, 3)) {
        x->kind = K_TEXT;
        x->n = below(t, 8) ? 1 + below(t, 2) : below(t, 4);
        for (unsigned i = 0; i < x->n; i++) x->text[i] = (char)('a' + below(t, 3));
        x->node = vc_gram_text(t->g, x->text, x->n);
    } else {
        x->kind = K_CLASS;
        x->n = 1 + below(t, 2);
        x->negate = !below(t, 6);
        for (unsigned i = 0; i < x->n; i++) {
            static const uint32_t from[] = { 'a', 'b', 'c', 0xE9, 0x4E00, 0x1F600, 0x7F0, 0xFF00 };
            x->r[i].first = from[below(t, 4) ? below(t, 3) : below(t, 8)];
            x->r[i].last = x->r[i].first + (x->r[i].first < 128 ? below(t, 3) : below(t, 5000));
        }
        x->node = vc_gram_class(t->g, x->r, x->n, x->negate);
    }
    return t->n++;
}

static unsigned kid_node(struct tree *t, enum kind kind, unsigned n, const uint32_t *kid, uint32_t min, uint32_t max) {
    struct tnode x = { .kind = kind, .n = n, .min = min, .max = max };
    vc_gram_node v[3];
    for (unsigned i = 0; i < n; i++) {
        x.kid[i] = kid[i];
        v[i] = t->v[kid[i]].node;
        x.rules |= t->v[kid[i]].rules;
    }
    x.node = kind == K_SEQ ? vc_gram_seq(t->g, v, n) : kind == K_ALT ? vc_gram_alt(t->g, v, n)
             : kind == K_REPEAT ? vc_gram_repeat(t->g, v[0], min, max)
             : kind == K_BOTH ? vc_gram_both(t->g, v[0], v[1]) : vc_gram_minus(t->g, v[0], v[1]);
    t->v[t->n] = x;
    return t->n++;
}

static unsigned tree(struct tree *t, unsigned depth, bool regular);

static unsigned repeat(struct tree *t, unsigned depth, bool regular) {
    unsigned k = tree(t, depth - 1, regular), q = t->n++;
    struct tnode *x = &t->v[q];
    static const uint32_t mins[] = { 0, 0, 1, 2, 3, 5, 100 }, more[] = { 0, 1, 2, 3, 7, 200, 65536 };
    memset(x, 0, sizeof *x);
    x->kind = K_REPEAT;
    x->kid[0] = k;
    x->n = 1;
    x->min = mins[below(t, below(t, 5) ? 5 : 7)];
    x->max = below(t, 3) ? x->min + more[below(t, 7)] : VC_GRAM_INF;
    x->rules = t->v[k].rules;
    x->node = vc_gram_repeat(t->g, t->v[k].node, x->min, x->max);
    return q;
}

static unsigned tree(struct tree *t, unsigned depth, bool regular) {
    if (!depth || t->n + 12 > MAX_NODES) return leaf(t);
    uint32_t pick = below(t, 12);
    if (pick < 2) return leaf(t);
    if (pick < 5) return repeat(t, depth, regular);
    if (pick == 5 && !regular) {
        for (unsigned i = 0; i < t->n; i++) {
            if (t->v[i].kind == K_RULE && below(t, 2)) return i;
        }
    }
    bool product = pick >= 10 && depth >= 2;
    unsigned n = product ? 2 : 1 + below(t, 3);
    uint32_t kid[3];
    for (unsigned i = 0; i < n; i++) kid[i] = tree(t, depth - 1, regular || product);
    return kid_node(t, product ? (pick == 10 ? K_BOTH : K_MINUS) : below(t, 2) ? K_SEQ : K_ALT, n, kid, 0, 0);
}

/* Root: one rule (sometimes two), so that recursion happens. */
static unsigned whole(struct tree *t) {
    unsigned rules = below(t, 3);
    for (unsigned i = 0; i < rules; i++) {
        t->v[t->n++] = (struct tnode){ .kind = K_RULE, .n = 1, .rules = true, .node = vc_gram_rule(t->g) };
    }
    for (unsigned i = 0; i < rules; i++) {
        unsigned body = tree(t, 3, false);
        t->v[i].kid[0] = body;
        vc_gram_define(t->g, t->v[i].node, t->v[body].node);
    }
    return tree(t, 4, false);
}

/* A counted repeat that is a site of the automaton: its body is large. */
static unsigned counted(struct tree *t, bool nested) {
    struct tnode c = { .kind = K_CLASS, .n = 2, .r = { { 'a', 'a' + below(t, 3) }, { 0x4E00, 0x5E00 } } };
    c.node = vc_gram_class(t->g, c.r, 2, false);
    t->v[t->n] = c;
    uint32_t at = t->n++, min = below(t, 2) ? below(t, 12) : 0,
             max = below(t, 5) ? VC_MAX(17u, min + below(t, 12)) : VC_GRAM_INF;
    if (max == VC_GRAM_INF) min += 17;
    at = kid_node(t, K_REPEAT, 1, &at, min, max);
    if (!nested) return at;
    if (below(t, 2)) {
        uint32_t seq[2] = { at, leaf(t) };
        at = kid_node(t, K_SEQ, 2, seq, 0, 0);
    }
    return kid_node(t, K_REPEAT, 1, &at, below(t, 3), 17 + below(t, 5));
}

/* Counts through products, and counts in counts. */
static unsigned whole_counted(struct tree *t) {
    uint32_t kid[3], n = 0;
    if (below(t, 2)) kid[n++] = leaf(t);
    if (below(t, 3)) {
        uint32_t side[2] = { counted(t, false), 0 };
        if (below(t, 2)) {
            uint32_t seq[3] = { leaf(t), side[0], leaf(t) };
            side[0] = kid_node(t, K_SEQ, 3, seq, 0, 0);
        }
        side[1] = tree(t, 3, true);
        if (below(t, 4)) side[1] = kid_node(t, K_REPEAT, 1, &side[1], below(t, 3), VC_GRAM_INF);
        kid[n++] = kid_node(t, below(t, 3) ? K_BOTH : K_MINUS, 2, side, 0, 0);
        if (!below(t, 4)) kid[n - 1] = kid_node(t, K_REPEAT, 1, &kid[n - 1], 0, VC_GRAM_INF);
    } else {
        kid[n++] = counted(t, true);
    }
    if (below(t, 2)) kid[n++] = leaf(t);
    return kid_node(t, K_SEQ, n, kid, 0, 0);
}

/* ---- comparing ---- */
static void fail_with(uint64_t seed, const char *what, const char *s, unsigned n) {
    printf("seed %llu: %s: text (%u) ", (unsigned long long)seed, what, n);
    for (unsigned i = 0; i < n; i++) printf("%02x", (unsigned char)s[i]);
    printf("\n");
    fail();
}

static bool fast(struct vc_matcher *m, const char *s, unsigned n) {
    vc_matcher_reset(m);
    return vc_matcher_accept_bytes(m, s, n) && vc_matcher_accepting(m);
}

/* From each of the first configs, breadth first to an accepting one. */
static void live(uint64_t seed, const struct tree *t, unsigned root, struct vc_grammar *r) {
    enum { STARTS = 12, REACH = 3000 };
    static uint32_t conf[REACH], from[REACH];
    static uint8_t byte[REACH];
    unsigned n = 0;
    conf[n] = r->initial, from[n++] = 0;
    for (unsigned i = 0; i < n && n < STARTS; i++) {
        for (unsigned k = 0; k < r->n_cls && n < STARTS; k++) {
            uint32_t to = vc_conf_next(r, conf[i], k);
            assert_int_not_equal(to, GC_NONE);
            if (to != GC_DEAD) conf[n] = to, from[n] = i, byte[n++] = r->rep[k];
        }
    }
    unsigned starts = n;
    static uint8_t seen[1 << 16];
    for (unsigned s = 0; s < starts; s++) {
        memset(seen, 0, sizeof seen);
        conf[starts] = conf[s], from[starts] = s;
        unsigned end = starts + 1, found = 0;
        for (unsigned i = starts; i < end && !found; i++) {
            if (r->confs[conf[i]].accepting) found = i;
            for (unsigned k = 0; k < r->n_cls && end < REACH && !found; k++) {
                uint32_t to = vc_conf_next(r, conf[i], k);
                if (to == GC_NONE) return;
                if (to == GC_DEAD || to >= sizeof seen || seen[to]) continue;
                seen[to] = 1;
                conf[end] = to, from[end] = i, byte[end++] = r->rep[k];
            }
        }
        if (!found && end < REACH) fail_with(seed, "a config can't come to an end", "", 0);
        char path[REACH];
        unsigned len = 0;
        for (unsigned i = found; found && i; i = from[i]) {
            if (i != starts) path[len++] = (char)byte[i];
        }
        if (!found || len > MAX_LEN) continue;
        for (unsigned i = 0; i < len / 2; i++) {
            char c = path[i];
            path[i] = path[len - 1 - i];
            path[len - 1 - i] = c;
        }
        if (!slow(t, root, path, len)) fail_with(seed, "reached, but not a text of it", path, len);
    }
}

static unsigned n_compared, n_accepted, n_compiled, n_none, n_refused, n_budget;

static void compare(uint64_t seed, struct tree *t, unsigned root, struct vc_grammar *r) {
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_matcher_new(&m, r, NULL, &err), VC_OK);
    char s[MAX_LEN + 4];
    for (unsigned i = 0; i < 40; i++) {
        unsigned n = 0, len = i < 20 ? below(t, 6) : below(t, 34), same = below(t, 3);
        while (n < len) {
            static const char *const parts[] = {
                "a", "b", "c", "a", "b", "c", "aa", "\xC3\xA9", "\xE4\xB8\x80", "\xF0\x9F\x98\x80", "\x80", "d"
            };
            const char *p = parts[below(t, i & 1 ? 6 : 12)];
            if (i >= 30 && below(t, 8)) p = parts[same];
            if (n + 4 > MAX_LEN) break;
            memcpy(s + n, p, strlen(p));
            n += (unsigned)strlen(p);
        }
        if (n > MAX_LEN) continue;
        bool want = slow(t, root, s, n);
        n_compared++;
        n_accepted += want;
        if (fast(m, s, n) != want) fail_with(seed, want ? "not accepted" : "accepted", s, n);
    }
    vc_matcher_del(m);
    live(seed, t, root, r);
}

static void random_grammars(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct tree t;
        t.n = 0;
        t.rng = seed * 7919;
        vc_err err = VC_ERR_INIT;
        struct vc_gram_limits lim = { .states = 30000, .items = 4096 };
        assert_int_equal(vc_gram_new(&t.g, &lim, &err), VC_OK);
        unsigned root = seed % 4 ? whole(&t) : whole_counted(&t);
        vc_status st = vc_gram_compile(t.g, t.v[root].node, &err);
        struct vc_grammar *r = NULL;
        if (st == VC_OK) {
            assert_int_equal(vc_gram_finish(&r, t.g, &err), VC_OK);
            n_compiled++;
            compare(seed, &t, root, r);
            vc_grammar_unref(r);
            continue;
        }
        vc_gram_del(t.g);
        if (strstr(err.text, "no text matches")) {
            n_none++;
            char s[MAX_LEN];
            for (unsigned i = 0; i < 20; i++) {
                unsigned n = below(&t, 6);
                for (unsigned k = 0; k < n; k++) s[k] = (char)('a' + below(&t, 3));
                if (slow(&t, root, s, n)) fail_with(seed, "said to be empty", s, n);
            }
        } else if (st == VC_E_UNSUPPORTED) {
            n_refused++;            /* left recursion */
        } else {
            n_budget++;
            if (n_budget < 5) printf("seed %llu: %s\n", (unsigned long long)seed, err.text);
        }
    }
    printf("%d grammars: %u compared on %u texts (%u accepted), %u empty, %u left-recursive, %u over a budget\n",
           SEEDS, n_compiled, n_compared, n_accepted, n_none, n_refused, n_budget);
    assert_true(n_compiled > SEEDS * 6 / 10);
    assert_true(n_budget < SEEDS / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_grammars) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
