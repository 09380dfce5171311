/* SPDX-License-Identifier: Apache-2.0
 * The matcher's own promises (rollback, clones, forced bytes, end of sequence, memory) and what hostile specs meet. */
#include "test.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/rng.h"
#include "text/gram/gram_int.h"

static struct vc_grammar *compile(enum vc_grammar_kind kind, const char *s) {
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_grammar_compile(&g, kind, s, strlen(s), NULL, NULL, &err) != VC_OK) fail_msg("%s: %s", s, err.text);
    return g;
}

static struct vc_matcher *matcher(struct vc_grammar *g, struct vc_grammar_vocab *v) {
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_matcher_new(&m, g, v, &err), VC_OK);
    return m;
}

static bool bytes(struct vc_matcher *m, const char *s) { return vc_matcher_accept_bytes(m, s, strlen(s)); }

static bool whole(enum vc_grammar_kind kind, const char *spec, const char *text) {
    struct vc_grammar *g = compile(kind, spec);
    struct vc_matcher *m = matcher(g, NULL);
    bool ok = bytes(m, text) && vc_matcher_accepting(m);
    vc_matcher_del(m);
    vc_grammar_unref(g);
    return ok;
}

/* Tokens a, b, ab, aba, "", end. */
static struct vc_grammar_vocab *small(void) {
    static const char *const t[] = { "a", "b", "ab", "aba", "", "" };
    static const uint32_t n[] = { 1, 1, 2, 3, 0, 0 };
    struct vc_grammar_vocab *v = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_grammar_vocab_new(&v, t, n, 6, (int32_t[]){ 5 }, 1, &err), VC_OK);
    return v;
}

static uint32_t mask(struct vc_matcher *m) {
    uint32_t bits[1];
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_matcher_mask(m, bits, &err), VC_OK);
    return bits[0];
}

static void steps(void **state) {
    (void)state;
    struct vc_grammar_vocab *v = small();
    struct vc_grammar *g = compile(VC_GRAMMAR_REGEX, "(ab){2,3}");
    struct vc_matcher *m = matcher(g, v), *c = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(mask(m), 1 | 4 | 8);
    assert_false(vc_matcher_accept_token(m, 1));
    assert_false(vc_matcher_accept_token(m, 4));
    assert_false(vc_matcher_accept_token(m, 5));
    assert_false(vc_matcher_accept_token(m, -1));
    assert_false(vc_matcher_accept_token(m, 6));
    assert_true(vc_matcher_accept_token(m, 3));          /* aba */
    assert_int_equal(mask(m), 2);
    int32_t only;
    assert_int_equal(vc_matcher_forced_token(m, &only, &err), VC_OK);
    assert_int_equal(only, 1);
    assert_int_equal(vc_matcher_clone(&c, m, &err), VC_OK);
    assert_true(vc_matcher_accept_token(m, 1));          /* abab */
    assert_true(vc_matcher_accepting(m));
    assert_int_equal(mask(m), 1 | 4 | 32);
    assert_int_equal(mask(c), 2);                        /* a clone goes its own way */
    assert_true(vc_matcher_accept_token(m, 5));
    assert_true(vc_matcher_done(m));
    assert_int_equal(mask(m), 0);
    assert_false(vc_matcher_accept_token(m, 0));
    assert_false(vc_matcher_rollback(m, 4));
    assert_true(vc_matcher_rollback(m, 1));
    assert_false(vc_matcher_done(m));
    assert_true(vc_matcher_accept_token(m, 2));
    assert_true(vc_matcher_done(m));                     /* three times is all */
    assert_int_equal(mask(m), 32);
    assert_true(vc_matcher_rollback(m, 3));
    assert_int_equal(mask(m), 1 | 4 | 8);
    assert_int_equal(vc_matcher_prefix(m, "ababac", 6), 5);
    assert_int_equal(mask(m), 1 | 4 | 8);
    vc_matcher_reset(c);
    assert_int_equal(mask(c), 1 | 4 | 8);
    vc_matcher_del(c);
    vc_matcher_del(m);
    vc_grammar_unref(g);
    vc_grammar_vocab_del(v);
}

static void forced(void **state) {
    (void)state;
    struct vc_grammar *g = compile(
        VC_GRAMMAR_EBNF, "root ::= \"{\\\"name\\\": \" [ab] \", \\\"\xC3\xA9\\\": \" (\"true\" | \"tree\") \"}\"?");
    struct vc_matcher *m = matcher(g, NULL);
    char b[64];
    size_t n = vc_matcher_forced(m, b, sizeof b);
    assert_int_equal(n, 9);
    assert_memory_equal(b, "{\"name\": ", 9);
    assert_int_equal(vc_matcher_forced(m, b, 3), 3);
    assert_true(bytes(m, "{\"name\": b"));
    n = vc_matcher_forced(m, b, sizeof b);
    assert_memory_equal(b, ", \"\xC3\xA9\": tr", n);
    assert_int_equal(n, 10);
    assert_true(bytes(m, ", \"\xC3\xA9\": true"));
    assert_int_equal(vc_matcher_forced(m, b, sizeof b), 0);       /* may end here */
    vc_matcher_del(m);
    vc_grammar_unref(g);
}

/* ---- expressions ---- */
static void regexes(void **state) {
    (void)state;
    static const struct { const char *rx, *yes, *no;
    } t[] = {
        { "a|^b|c$", "b", "d" },
        { "^(^a|b$)$", "a", "ab" },
        { "(a|b|)c?", "", "cc" },
        { "[]a]+", "]a]", "b" },
        { "[^]a]", "b", "]" },
        { "a{,2}b", "aab", "aaab" },
        { "a{2}{", "aa{", "aa" },
        { "[\\d-]+", "1-2", "a" },
        { "\\x41\\u0042\\U00000043", "ABC", "AB" },
        { "\\A\\w+\\Z", "a_1", "a b" },
        { "[\\w.]+@\\S+", "a.b@c", "@" },
        { "\\.\\/\\-", "./-", "a/-" },
        { "(?P<n>a)(?<m>b)(?:c)", "abc", "ab" },
        { ".", "\r", "\n" },
        { "\\p{Lu}\\P{L}",
          "\xC3\x89"
          "1",
          "aa" },
        { "[a\\-z]+", "a-z", "b" },
        { "(a{2,3}){2}", "aaaaaa", "aaa" },
        { "(a?){3}", "aa", "aaaa" },
        { "((a?)*b?)*", "aabab", "c" },
        { "x{0}y", "y", "xy" },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(t); i++) {
        if (!whole(VC_GRAMMAR_REGEX, t[i].rx, t[i].yes)) fail_msg("%s refuses %s", t[i].rx, t[i].yes);
        if (whole(VC_GRAMMAR_REGEX, t[i].rx, t[i].no)) fail_msg("%s takes %s", t[i].rx, t[i].no);
    }
    static const struct { const char *rx, *says; vc_status s;
    } bad[] = {
        { "a(?!b)", "look-around", VC_E_UNSUPPORTED },
        { "(?<=a)b", "look-around", VC_E_UNSUPPORTED },
        { "(a)\\1", "back ref", VC_E_UNSUPPORTED },
        { "a\\b", "boundar", VC_E_UNSUPPORTED },
        { "a++", "possessive", VC_E_UNSUPPORTED },
        { "(?i)a", "group", VC_E_UNSUPPORTED },
        { "(^a)*", "anchor", VC_E_UNSUPPORTED },
        { "a{3,2}", "maximum", VC_E_INVALID },
        { "[b-a]", "byte 1", VC_E_INVALID },
        { "ab)", "byte 2", VC_E_INVALID },
        { "\\q", "escape", VC_E_INVALID },
        { "a\xFF", "UTF-8", VC_E_INVALID },
        { "a$b", "no text", VC_E_INVALID },
        { "[^\\x00-\\U0010ffff]", "no text", VC_E_INVALID },
        { "x**", "repeat of a repeat", VC_E_INVALID },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(bad); i++) {
        struct vc_grammar *g = NULL;
        vc_err err = VC_ERR_INIT;
        vc_status s = vc_grammar_compile(&g, VC_GRAMMAR_REGEX, bad[i].rx, strlen(bad[i].rx), NULL, NULL, &err);
        if (s != bad[i].s || !strstr(err.text, bad[i].says)) fail_msg("%s: %d %s", bad[i].rx, (int)s, err.text);
    }
}

/* Search, JSON spelling: what a schema's pattern becomes. */
static bool pattern(const char *rx, int flags, const char *text) {
    struct vc_gram *b = NULL;
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_gram_new(&b, NULL, &err), VC_OK);
    vc_gram_node r = vc_gram_regex(b, rx, strlen(rx), flags, &err);
    if (!r || vc_gram_compile(b, r, &err) != VC_OK || vc_gram_finish(&g, b, &err) != VC_OK)
        fail_msg("%s: %s", rx, err.text);
    struct vc_matcher *m = matcher(g, NULL);
    bool ok = bytes(m, text) && vc_matcher_accepting(m);
    vc_matcher_del(m);
    vc_grammar_unref(g);
    return ok;
}

static void patterns(void **state) {
    (void)state;
    enum { S = VC_GRAM_RX_SEARCH, J = VC_GRAM_RX_JSON, E = VC_GRAM_RX_ECMA, X = VC_GRAM_RX_ANY_ESCAPE };
    assert_true(pattern("b+", S, "xbx") && !pattern("b+", S, "x"));
    assert_true(pattern("^b|c$", S, "bx") && pattern("^b|c$", S, "xc") && !pattern("^b|c$", S, "xbx"));
    assert_true(pattern("(^|,)a(,|$)", S, "x,a,y") && pattern("(^|,)a(,|$)", S, "a") &&
                !pattern("(^|,)a(,|$)", S, "ba"));
    assert_true(pattern("", S, "anything") && pattern("", S, ""));
    assert_true(pattern("^\"\\\\\\n$", S | J, "\\\"\\\\\\n") && !pattern("^\"$", S | J, "\""));
    assert_true(pattern("^\\x01$", S | J, "\\u0001") && !pattern("^\\x01$", S | J, "\\u0002") &&
                !pattern("^\\x01$", S | J, "\x01"));
    assert_true(pattern("^\xC3\xA9$", J | X, "\\u00e9") && pattern("^\xC3\xA9$", J | X, "\\u00E9") &&
                !pattern("^\xC3\xA9$", J, "\\u00e9"));
    assert_true(pattern("^\\ud83d\\ude00$", J | X | E, "\\ud83D\\uDE00") &&
                pattern("^\\u{1F600}$", J | X | E, "\xF0\x9F\x98\x80"));
    assert_true(!pattern("^[\\u{1F600}-\\u{1F64F}]$", J | X | E, "\\ud83d\\ude50") &&
                pattern("^[^a]$", J | X | E, "\\ud83d\\ude50"));
    assert_true(pattern("^.$", E, "\xC2\x85") && !pattern("^.$", E, "\xE2\x80\xA8") &&
                pattern("^.$", 0, "\xE2\x80\xA8"));
    assert_true(pattern("^\\s$", E, "\xC2\xA0") && !pattern("^\\s$", 0, "\xC2\xA0"));
}

/* ---- hostile ---- */
static vc_status refused(enum vc_grammar_kind kind, const char *s, size_t n, char *why, size_t cap) {
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    uint64_t t0 = vc_now_ns();
    vc_status st = vc_grammar_compile(&g, kind, s, n, NULL, NULL, &err);
    vc_grammar_unref(g);
    snprintf(why, cap, "%s", err.text);
    assert_true(vc_now_ns() - t0 < 60000000000u);        /* budgets are of 5 s; a slow machine has time */
    return st;
}

static char *repeated(const char *a, size_t na, const char *mid, const char *b, size_t nb) {
    struct vc_buf x = { 0 };
    for (size_t i = 0; i < na; i++) vc_buf_adds(&x, a);
    vc_buf_adds(&x, mid);
    for (size_t i = 0; i < nb; i++) vc_buf_adds(&x, b);
    return vc_buf_take(&x, NULL);
}

static void hostile(void **state) {
    (void)state;
    char why[1100];
    /* Linear where backtracking is not. */
    char *as = repeated("a", 20000, "", "", 0);
    assert_false(whole(VC_GRAMMAR_REGEX, "(a+)+b", as));
    assert_false(whole(VC_GRAMMAR_REGEX, "(a|a)*(a|aa)*b", as));
    assert_true(whole(VC_GRAMMAR_REGEX, "(a|aa)*(a*)*", as));
    assert_true(whole(VC_GRAMMAR_REGEX, "a{1,1000000}", as) && !whole(VC_GRAMMAR_REGEX, "a{1000000}", as));
    assert_true(whole(VC_GRAMMAR_REGEX, "(a{1,1000}){1,1000}", as));
    assert_true(whole(VC_GRAMMAR_REGEX, "[ab]{0,4000000000}", as));
    as[1500] = 0;
    assert_true(whole(VC_GRAMMAR_EBNF, "root ::= s\ns ::= \"a\" s | \"a\" s s | \"\"", as));
    assert_true(whole(VC_GRAMMAR_REGEX, "[ab]*a[ab]{1000}", as));         /* a thousand counts at once */
    assert_true(whole(VC_GRAMMAR_EBNF, "root ::= \"a\" root \"b\" | \"a\" root \"c\" | \"a\" root | \"\"", as));
    free(as);
    /* Nested too deeply, or too large. */
    char *deep = repeated("(", 100000, "a", ")", 100000);
    assert_int_equal(refused(VC_GRAMMAR_REGEX, deep, strlen(deep), why, sizeof why), VC_E_INVALID);
    assert_non_null(strstr(why, "nested"));
    free(deep);
    deep = repeated("(", 100000, "", "", 0);
    assert_int_equal(refused(VC_GRAMMAR_REGEX, deep, strlen(deep), why, sizeof why), VC_E_INVALID);
    free(deep);
    deep = repeated("(", 100000, "\"a\"", ")?", 100000);
    char *rule = repeated("root ::= ", 1, deep, "", 0);
    assert_int_equal(refused(VC_GRAMMAR_EBNF, rule, strlen(rule), why, sizeof why), VC_E_INVALID);
    free(rule);
    free(deep);
    deep = repeated("[", 100000, "", "", 0);
    assert_int_not_equal(refused(VC_GRAMMAR_CHOICE, deep, strlen(deep), why, sizeof why), VC_OK);
    free(deep);
    deep = repeated("((a{9}|b){9}|c){9}|", 3000, "d", "", 0);
    refused(VC_GRAMMAR_REGEX, deep, strlen(deep), why, sizeof why);
    free(deep);
    /* A rule that doubles thirty times. */
    struct vc_buf doubling = { 0 };
    vc_buf_adds(&doubling, "root ::= r30\nr0 ::= \"a\"?\n");
    for (int i = 1; i <= 30; i++) vc_buf_printf(&doubling, "r%d ::= r%d r%d\n", i, i - 1, i - 1);
    refused(VC_GRAMMAR_EBNF, doubling.p, doubling.n, why, sizeof why);
    vc_buf_free(&doubling);
    static const struct { const char *text; vc_status s; const char *says; } bad[] = {
        { "root ::= root", VC_E_INVALID, "no text" },
        { "root ::= root root | \"a\"", VC_OK, "" },
        { "root ::= x root | \"a\"\nx ::= \"b\"?", VC_E_UNSUPPORTED, "left recursion" },
        { "root ::= a\na ::= b \"x\" | \"y\"\nb ::= a \"z\"", VC_E_UNSUPPORTED, "left recursion" },
        { "root ::= \"a\" root", VC_E_INVALID, "no text" },
        { "root ::= a\n", VC_E_INVALID, "line 1, column 10" },
        { "root ::= \"a\"{99999999999}", VC_E_INVALID, "repeat count" },
        { "root ::= \"a\"\nroot ::= \"b\"", VC_E_INVALID, "twice" },
        { "root ::= (=\"a\") \"b\"", VC_E_UNSUPPORTED, "look-ahead" },
        { "", VC_E_INVALID, "root" },
        { "root ::= \"\\ud800\"", VC_E_INVALID, "number" },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(bad); i++) {
        vc_status s = refused(VC_GRAMMAR_EBNF, bad[i].text, strlen(bad[i].text), why, sizeof why);
        if (s != bad[i].s || !strstr(why, bad[i].says)) fail_msg("%s: %d %s", bad[i].text, (int)s, why);
    }
    assert_int_equal(refused(VC_GRAMMAR_CHOICE, "[]", 2, why, sizeof why), VC_E_INVALID);
    assert_int_equal(refused(VC_GRAMMAR_CHOICE, "[1]", 3, why, sizeof why), VC_E_INVALID);
    assert_int_equal(refused(VC_GRAMMAR_REGEX, "a\0b", 3, why, sizeof why), VC_OK);
}

/* Deep recursion of the text itself, far beyond what a budget of memory can keep of it. */
static void memory(void **state) {
    (void)state;
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    struct vc_grammar_options opt = { .limits = { .memory_bytes = 4 << 20 } };
    static const char s[] = "root ::= \"[\" root \"]\" | [a-z]{0,100000} \"!\"";
    assert_int_equal(vc_grammar_compile(&g, VC_GRAMMAR_EBNF, s, sizeof s - 1, &opt, NULL, &err), VC_OK);
    struct vc_matcher *m = matcher(g, NULL), *c = NULL;
    char *text = malloc(100000);
    uint64_t rng = 3;
    for (size_t i = 0; i < 100000; i++) text[i] = (char)('a' + vc_rng_below(&rng, 26));
    for (int round = 0; round < 3; round++) {
        vc_matcher_reset(m);
        assert_true(bytes(m, "[[["));
        for (size_t i = 0; i < 100000; i += 25) assert_true(vc_matcher_accept_bytes(m, text + i, 25));
        if (!c) assert_int_equal(vc_matcher_clone(&c, m, &err), VC_OK);
        assert_true(vc_matcher_rollback(m, 1000));       /* configs of long ago, after collections */
        for (size_t i = 0; i < 25000; i += 25) assert_true(vc_matcher_accept_bytes(m, text + i, 25));
        assert_false(bytes(m, "a"));
        assert_true(bytes(m, "!]]]") && vc_matcher_accepting(m));
        struct vc_grammar_stats st;
        vc_grammar_stats(g, &st);
        assert_true(st.cache_bytes <= 4 << 20);
    }
    assert_false(bytes(c, "a"));
    assert_true(bytes(c, "!]]]") && vc_matcher_done(c));
    /* 10^5 open brackets take what the budget gives, then nothing more, and the matcher is as before. */
    vc_matcher_reset(m);
    size_t depth = 0;
    while (depth < 100000 && bytes(m, "[")) depth++;
    assert_true(depth > 100);
    vc_matcher_reset(m);
    assert_true(bytes(m, "[a!]") && vc_matcher_accepting(m));
    free(text);
    vc_matcher_del(c);
    vc_matcher_del(m);
    vc_grammar_unref(g);
}

static void *thread(void *arg) {
    struct vc_matcher *m = arg;
    uint64_t rng = (uint64_t)(uintptr_t)m;
    for (int i = 0; i < 300; i++) {
        uint32_t bits = mask(m);
        uint32_t id = vc_rng_below(&rng, 6);
        bool ok = vc_matcher_accept_token(m, (int32_t)id);
        if (ok != (bits >> id & 1)) return arg;
        if (vc_matcher_done(m)) vc_matcher_reset(m);
    }
    return NULL;
}

static void threads(void **state) {
    (void)state;
    struct vc_grammar_vocab *v = small();
    struct vc_grammar *g = compile(VC_GRAMMAR_REGEX, "(a[ab]{0,20}|[a-z]{9,12}b)*");
    pthread_t t[4];
    struct vc_matcher *m[4];
    for (int i = 0; i < 4; i++) {
        m[i] = matcher(g, v);
        assert_int_equal(pthread_create(&t[i], NULL, thread, m[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        assert_null(bad);
        vc_matcher_del(m[i]);
    }
    vc_grammar_unref(g);
    vc_grammar_vocab_del(v);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(steps),   cmocka_unit_test(forced),
                                        cmocka_unit_test(regexes), cmocka_unit_test(patterns),
                                        cmocka_unit_test(hostile), cmocka_unit_test(memory),
                                        cmocka_unit_test(threads) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
