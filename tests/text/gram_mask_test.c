/* SPDX-License-Identifier: Apache-2.0
 * Masks against brute force: on states of random walks a token must be allowed iff each of its bytes can be taken,
 * one after the other (whether a config can come to an end is gram_random_test's business). Made-up vocabulary, and
 * those of real models. */
#include "test.h"

#include "base/rng.h"
#include "text/gram/gram_int.h"
#include "text/tokenizer.h"

enum { STATES = 300 };      /* per vocabulary of a real model */

struct spec { enum vc_grammar_kind kind; const char *text; };
#define JSON_RULES                                                                                                   \
    "value ::= object | array | string | number | \"true\" | \"false\" | \"null\"\n"                                 \
    "object ::= \"{\" ws (string ws \":\" ws value ws (\",\" ws string ws \":\" ws value ws)*)? \"}\"\n"             \
    "array ::= \"[\" ws (value ws (\",\" ws value ws)*)? \"]\"\n"                                                    \
    "string ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | \"\\\\\" ([\"\\\\/bfnrt] | \"u\" [0-9a-fA-F]{4}))* \"\\\"\"\n"      \
    "number ::= \"-\"? (\"0\" | [1-9] [0-9]*) (\".\" [0-9]+)? ([eE] [+-]? [0-9]+)?\n"                                \
    "ws ::= [ \\t\\n\\r]{0,32}\n"
static const struct spec specs[] = {
    { VC_GRAMMAR_EBNF, "root ::= value\n" JSON_RULES },
    { VC_GRAMMAR_EBNF, "root ::= \"{\" ws \"\\\"name\\\"\" ws \":\" ws string ws \",\" ws \"\\\"tags\\\":\" array "
                       "\"}\"\n" JSON_RULES },
    { VC_GRAMMAR_EBNF,
      "root ::= \"[\" (short \",\"){2,40} \"]\"\nshort ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{3,9} \"\\\"\"" },
    { VC_GRAMMAR_EBNF, "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{1000,65536} \"\\\"\"" },
    { VC_GRAMMAR_EBNF, "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{0,20} \"\\\"\" [ a-z]{2,5} \"!\"" },
    { VC_GRAMMAR_EBNF, "root ::= \"<\" [^<>]* (\"<b>\" root \"</b>\" [^<>]*)* \">\"" },
    { VC_GRAMMAR_EBNF, "root ::= expr\nexpr ::= expr (\"+\" | \"-\") term | term\nterm ::= [0-9]+ | \"(\" expr \")\" "
                       "| [a-z] [a-z0-9]{0,30}" },
    { VC_GRAMMAR_EBNF, "root ::= ([a-z]{2,12} \" \"){3,9} [A-Z]{1,12} | [a-z ]{4,30} \".\"" },
    { VC_GRAMMAR_REGEX, "[a-zA-Z0-9_.]{1,64}@[a-z0-9]+(\\.[a-z]{2,10}){1,3}" },
    { VC_GRAMMAR_REGEX, "(.|\\n)*end" },
    { VC_GRAMMAR_REGEX, ".*[^ ]{12}[a-z]{3,30}\\.?" },
    { VC_GRAMMAR_REGEX, "((the|of|and|to) ?|[^a-m]{5,8}){2,50}" },
    { VC_GRAMMAR_REGEX, "([a-z]{1,20}){1,20}-x" },
    { VC_GRAMMAR_REGEX, "\\w+(\\s\\w+){0,1000}\\s?" },
    { VC_GRAMMAR_CHOICE, "[\"yes\", \"no\", \"maybe\", \"the quick brown fox\", \"the quick\", \"n\\u00e9\"]" },
};

static unsigned n_states, n_allowed;

/* Compares the mask of one state; returns the number of allowed ids, and one of them, drawn evenly, in *pick. */
static unsigned state_equal(struct vc_matcher *m, const struct spec *s, uint32_t *bits, uint64_t *rng, int32_t *pick) {
    struct vc_grammar *r = m->g;
    const struct vc_grammar_vocab *v = m->v;
    vc_err err = VC_ERR_INIT;
    if (vc_matcher_mask(m, bits, &err) != VC_OK) fail_msg("%s: %s", s->text, err.text);
    unsigned allowed = 0;
    for (uint32_t id = 0; id < v->size; id++) {
        bool want = v->off[id + 1] > v->off[id];
        uint32_t c = m->hist[m->n - 1];
        for (uint32_t i = v->off[id]; want && i < v->off[id + 1]; i++) {
            c = vc_conf_next(r, c, r->cls[(unsigned char)v->blob[i]]);
            want = c != GC_DEAD;
        }
        for (size_t k = 0; k < v->n_eos; k++) {
            if ((uint32_t)v->eos[k] == id) want = vc_matcher_accepting(m);
        }
        if ((bits[id / 32] >> id % 32 & 1) != want) {
            char text[64];
            printf("%s: after %zu steps id %u (\"%s\") is %s\n", s->text, m->n - 1, id,
                   vc_printable(text, sizeof text, v->blob + v->off[id], v->off[id + 1] - v->off[id]),
                   want ? "missing" : "allowed");
            fail();
        }
        if (want && vc_rng_below(rng, ++allowed) == 0) *pick = (int32_t)id;
    }
    n_states++;
    n_allowed += allowed;
    return allowed;
}

static void walks(struct vc_grammar_vocab *v, const struct spec *s, unsigned states, uint64_t seed) {
    struct vc_grammar *g = NULL;
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_grammar_compile(&g, s->kind, s->text, strlen(s->text), NULL, NULL, &err) != VC_OK)
        fail_msg("%s: %s", s->text, err.text);
    assert_int_equal(vc_matcher_new(&m, g, v, &err), VC_OK);
    uint32_t *bits = malloc((vc_grammar_mask_words(v) + 1) * sizeof *bits);
    uint64_t rng = seed;
    while (states--) {
        int32_t pick = -1;
        unsigned allowed = state_equal(m, s, bits, &rng, &pick);
        assert_true(allowed > 0);
        int32_t only;
        assert_int_equal(vc_matcher_forced_token(m, &only, &err), VC_OK);
        assert_int_equal(only, allowed == 1 ? pick : -1);
        /* Drawn evenly, long tokens and odd bytes are common, as they should be here. */
        if (!vc_matcher_accept_token(m, pick)) fail_msg("%s: an allowed token is refused", s->text);
        if (vc_matcher_done(m)) vc_matcher_reset(m);
        if (m->n > 3 && !vc_rng_below(&rng, 6)) assert_true(vc_matcher_rollback(m, 1 + vc_rng_below(&rng, 3)));
    }
    free(bits);
    vc_matcher_del(m);
    vc_grammar_unref(g);
}

static void all_specs(struct vc_grammar_vocab *v, unsigned states, const char *name) {
    n_states = n_allowed = 0;
    for (size_t i = 0; i < VC_ARRAY_LEN(specs); i++)
        walks(v, &specs[i], states / (unsigned)VC_ARRAY_LEN(specs) + 1, i + 1);
    printf("%s: %u states of %zu grammars equal, %u ids allowed in the mean\n", name, n_states, VC_ARRAY_LEN(specs),
           n_allowed / n_states);
}

/* Single bytes, runs, pieces of JSON and words, cut characters, double entries. */
static void made_up(void **state) {
    (void)state;
    enum { N = 4000 };
    static char text[N][40];
    static uint32_t len[N];
    const char *bytes[N];
    uint64_t rng = 5;
    for (unsigned i = 0; i < N; i++) {
        static const char *const parts[] = { "\"",
                                             "\",",
                                             "\":",
                                             " ",
                                             "  ",
                                             "a",
                                             "b",
                                             "the",
                                             "of",
                                             "\\",
                                             "\\\"",
                                             "\\u",
                                             "00",
                                             "{",
                                             "}",
                                             "]",
                                             "[",
                                             ",",
                                             "\n",
                                             "\xC3\xA9",
                                             "\xE4\xB8",
                                             "\x80",
                                             "\xF0\x9F\x98\x80",
                                             "x",
                                             "1",
                                             "-",
                                             ".",
                                             "<",
                                             ">",
                                             "<b>",
                                             "Z",
                                             "!",
                                             "e",
                                             "@",
                                             "(" };
        bytes[i] = text[i];
        if (i < 256) {
            text[i][0] = (char)i;
            len[i] = 1;
            continue;
        }
        unsigned n = i < 300 ? 1 : 1 + vc_rng_below(&rng, 4), same = vc_rng_below(&rng, 5);
        if (!same) n = 1 + vc_rng_below(&rng, 9);
        uint32_t pick = vc_rng_below(&rng, (uint32_t)VC_ARRAY_LEN(parts));
        for (unsigned k = 0; k < n; k++) {
            if (same) pick = vc_rng_below(&rng, (uint32_t)VC_ARRAY_LEN(parts));
            size_t m = strlen(parts[pick]);
            memcpy(text[i] + len[i], parts[pick], m);
            len[i] += (uint32_t)m;
        }
    }
    len[3000] = 0;
    struct vc_grammar_vocab *v = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_grammar_vocab_new(&v, bytes, len, N, (int32_t[]){ 3000, 77777 }, 2, &err), VC_OK);
    all_specs(v, 3000, "made-up vocabulary");
    vc_grammar_vocab_del(v);
}

static void real(const char *file, const char *name) {
    char path[512];
    const char *home = getenv("HOME");
    snprintf(path, sizeof path, "%s/.cache/vllmc/models/%s", home ? home : "", file);
    FILE *f = fopen(path, "rb");
    if (!f) {
        vc_left_out(file);
        return;
    }
    fclose(f);
    struct vc_tokenizer *t = NULL;
    struct vc_grammar_vocab *v = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(vc_tokenizer_open(&t, path, &err), VC_OK);
    int32_t eos = vc_tok_eos(t);
    assert_int_equal(vc_grammar_tokens(&v, t, &eos, 1, &err), VC_OK);
    for (uint32_t i = 0; i < v->size; i++) {
        if (vc_tok_is_special(t, (int32_t)i)) assert_true(v->off[i + 1] == v->off[i]);
    }
    all_specs(v, STATES, name);
    vc_grammar_vocab_del(v);
    vc_tokenizer_close(t);
}

static void smollm2(void **state) {
    (void)state;
    real("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2");
}
static void gemma(void **state) {
    (void)state;
    real("gemma-3-270m-q4_k_m.gguf", "Gemma 3");
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(made_up), cmocka_unit_test(smollm2), cmocka_unit_test(gemma) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
