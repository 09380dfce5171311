/* SPDX-License-Identifier: Apache-2.0
 * Structured output over a real vocabulary: bench_grammar MODEL CASES.jsonl [REPEAT]. For each spec that compiles,
 * the time to compile it (with what does not depend on the text), and the time of each mask along its accepted texts:
 * the first time (cold caches) and again. Times are those of the thread. One line of CSV per spec, then means and
 * percentiles. The same vocabulary in the order of specs, so later ones profit from loops that earlier ones had
 * analysed, as in a server. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "text/grammar.h"
#include "text/tokenizer.h"

struct times { double *v; size_t n, cap; };

static void add(struct times *t, double us) {
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 1024;
        t->v = realloc(t->v, t->cap * sizeof *t->v);
        if (!t->v) exit(1);
    }
    t->v[t->n++] = us;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void print(const char *what, struct times *t, const char *unit) {
    double sum = 0;
    if (!t->n) return;
    qsort(t->v, t->n, sizeof *t->v, by_value);
    for (size_t i = 0; i < t->n; i++) sum += t->v[i];
    printf("%-28s %8zu values: mean %.2f, median %.2f, p99 %.1f, p99.9 %.1f, max %.1f %s\n", what, t->n,
           sum / (double)t->n, t->v[t->n / 2], t->v[(size_t)((double)t->n * 0.99)],
           t->v[(size_t)((double)t->n * 0.999)], t->v[t->n - 1], unit);
}

struct bench {
    struct vc_tokenizer *t;
    struct vc_grammar_vocab *v;
    uint32_t *bits;
    struct times compile, cold, warm, step;
    int repeat;
};

/* Time of this thread alone: other programs on the machine don't count. */
static uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
static double us_since(uint64_t t0) { return (double)(cpu_ns() - t0) / 1000.0; }

/* One text through a matcher, a mask before each token. Returns the time of its masks. */
static double text(struct bench *b, struct vc_grammar *g, const char *s, size_t n, struct times *masks) {
    struct vc_ids ids = { 0 };
    struct vc_matcher *m = NULL;
    vc_err err = VC_ERR_INIT;
    double sum = 0;
    if (vc_tok_encode(b->t, s, n, 0, &ids, &err) != VC_OK || vc_matcher_new(&m, g, b->v, &err) != VC_OK) exit(1);
    for (size_t i = 0; i <= ids.n; i++) {
        uint64_t t0 = cpu_ns();
        if (vc_matcher_mask(m, b->bits, &err) != VC_OK) printf("mask: %s\n", err.text);
        double us = us_since(t0);
        add(masks, us);
        sum += us;
        if (i == ids.n) break;
        t0 = cpu_ns();
        if (!vc_matcher_accept_token(m, ids.v[i])) break;
        add(&b->step, us_since(t0));
    }
    vc_matcher_del(m);
    vc_ids_free(&ids);
    return sum;
}

static void one(struct bench *b, const json_t *c) {
    const char *id = json_string_value(json_object_get(c, "id")), *kind = json_string_value(json_object_get(c, "kind"));
    const json_t *spec = json_object_get(c, "spec"), *accept = json_object_get(c, "accept");
    if (!spec || json_is_null(spec)) return;
    char *s = json_is_string(spec) && strcmp(kind, "json_schema") ? strdup(json_string_value(spec))
                                                                  : json_dumps(spec, JSON_ENCODE_ANY);
    struct vc_grammar *g = NULL;
    vc_err err = VC_ERR_INIT;
    uint64_t t0 = cpu_ns();
    vc_status st =
        vc_grammar_compile(&g, (enum vc_grammar_kind)vc_grammar_kind_of(kind), s, strlen(s), NULL, NULL, &err);
    double compile = us_since(t0);
    if (st == VC_OK) st = vc_grammar_prepare(g, b->v, &err);
    double both = us_since(t0);
    free(s);
    if (st != VC_OK) return;
    add(&b->compile, both / 1000);
    double cold = 0;
    size_t before = b->cold.n;
    for (size_t i = 0; i < json_array_size(accept); i++) {
        const json_t *x = json_array_get(accept, i);
        cold += text(b, g, json_string_value(x), json_string_length(x), &b->cold);
        for (int k = 0; k < b->repeat; k++) text(b, g, json_string_value(x), json_string_length(x), &b->warm);
    }
    size_t n = b->cold.n - before;
    double worst = 0;
    for (size_t i = before; i < b->cold.n; i++) worst = b->cold.v[i] > worst ? b->cold.v[i] : worst;
    printf("%s,%.3f,%.3f,%zu,%.2f,%.1f\n", id, compile / 1000, both / 1000, n, n ? cold / (double)n : 0.0, worst);
    vc_grammar_unref(g);
}

int main(int argc, char **argv) {
    struct bench b = { .repeat = argc > 3 ? atoi(argv[3]) : 1 };
    vc_err err = VC_ERR_INIT;
    FILE *f = argc > 2 ? fopen(argv[2], "rb") : NULL;
    if (!f || vc_tokenizer_open(&b.t, argv[1], &err) != VC_OK) {
        fprintf(stderr, "usage: bench_grammar MODEL CASES.jsonl [REPEAT]\n%s\n", err.text);
        return 1;
    }
    int32_t eos = vc_tok_eos(b.t);
    uint64_t t0 = cpu_ns();
    if (vc_grammar_tokens(&b.v, b.t, &eos, 1, &err) != VC_OK) return 1;
    printf("vocabulary of %u tokens: trie in %.1f ms\n", vc_grammar_vocab_size(b.v), us_since(t0) / 1000);
    b.bits = malloc((vc_grammar_mask_words(b.v) + 1) * sizeof *b.bits);
    if (!b.bits) return 1;
    printf("id,compile_ms,prepared_ms,masks,cold_mean_us,cold_max_us\n");
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    while ((n = getline(&line, &cap, f)) > 0) {
        json_error_t e;
        json_t *c = json_loadb(line, (size_t)n, JSON_ALLOW_NUL, &e);
        if (c) one(&b, c);
        json_decref(c);
    }
    print("compile and prepare", &b.compile, "ms");
    print("masks, first time", &b.cold, "us");
    print("masks, again", &b.warm, "us");
    print("accepting a token", &b.step, "us");
    free(line);
    fclose(f);
    free(b.bits);
    vc_grammar_vocab_del(b.v);
    vc_tokenizer_close(b.t);
    return 0;
}
