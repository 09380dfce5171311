/* SPDX-License-Identifier: Apache-2.0
 * A real model writes under the schemas of schema_suite.jsonl, 1 to 32 requests at once: every answer that ends by
 * itself fulfils its schema by the slow validator (schema_check.c); one that is cut could have gone on. Two
 * unconstrained requests run beside them each time and keep their ids and log-probabilities bit for bit. --full takes
 * 200 schemas instead of 50. VLLMC_SCHEMA_DUMP=FILE writes the answers for tests/text/make/schema_judge.py. */
#include "schema_run.h"

#include "text/gram/schema_build.h"
#include "vllmc.h"

enum { AT_ONCE = 32, TEXT = 8192, NEIGHBOURS = 2, NEIGHBOUR_TOKENS = 40 };
static uint32_t num_schemas = 50;

struct request { json_t *spec; struct vc_buf text; char answer[TEXT], reason[16]; uint64_t id; };
struct neighbour { uint64_t id; uint32_t n; int32_t ids[NEIGHBOUR_TOKENS]; vc_logprob logprobs[NEIGHBOUR_TOKENS][3]; };
struct tally { size_t requests, ended, cut, invalid, failed; };

static const char *model_path(void) {
    static char path[1024];
    const char *dir = getenv("VLLMC_TEST_MODELS"), *home = getenv("HOME");
    snprintf(path, sizeof path, "%s%s/SmolLM2-135M-Instruct.Q4_1.gguf",
             dir    ? dir
             : home ? home
                    : "",
             dir ? "" : "/.cache/vllmc/models");
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fclose(f);
    return path;
}

static vc_model *open_model(const char *path) {
    vc_model_params p;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = path;
    p.max_num_seqs = AT_ONCE + NEIGHBOURS;
    p.max_model_len = 512;
    if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}

/* Rows with something to say, evenly taken from the file. */
static uint32_t read_rows(struct request *r, uint32_t most) {
    uint32_t rows = 0, n = 0, at = 0;
    const char *path = vc_golden("structured/schema_suite.jsonl");
    assert_non_null(path);
    FILE *f = fopen(path, "rb");
    for (json_t *row; (row = schema_next_row(f)); json_decref(row)) rows++;
    rewind(f);
    for (json_t *row; (row = schema_next_row(f)) && n < most; json_decref(row), at++) {
        if ((uint64_t)at * most / rows < n || !json_array_size(json_object_get(row, "accept"))) continue;
        r[n].spec = json_incref(json_object_get(row, "spec"));
        r[n].text = schema_text(r[n].spec);
        n++;
    }
    fclose(f);
    return n;
}

static bool submit(vc_model *m, struct request *r, uint32_t seed) {
    vc_request_params p;
    vc_err err = VC_ERR_INIT;
    vc_request_params_init(&p);
    p.prompt = "<|im_start|>user\nGive an example of a JSON value for this program.<|im_end|>\n<|im_start|>assistant\n";
    p.constraint_kind = "json_schema";
    p.constraint = r->text.p;
    p.sampling.max_tokens = 120;
    p.sampling.temperature = seed % 3 ? 0.9f : 0;
    p.sampling.seed = seed;
    p.sampling.has_seed = 1;
    vc_status s = vc_submit(m, &p, &r->id, &err);
    if (s != VC_OK && s != VC_E_UNSUPPORTED) printf("%s: %s\n", r->text.p, err.text);
    r->answer[0] = r->reason[0] = '\0';
    return s == VC_OK;
}

static void submit_neighbour(vc_model *m, struct neighbour *w, uint32_t i) {
    vc_request_params p;
    vc_err err = VC_ERR_INIT;
    vc_request_params_init(&p);
    p.prompt = i ? "Once upon a time" : "The capital of France is";
    p.sampling.max_tokens = NEIGHBOUR_TOKENS;
    p.sampling.ignore_eos = 1;
    p.sampling.logprobs = 2;
    p.sampling.temperature = i ? 0.9f : 0;
    p.sampling.seed = 7;
    p.sampling.has_seed = 1;
    memset(w, 0, sizeof *w);
    if (vc_submit(m, &p, &w->id, &err) != VC_OK) fail_msg("%s", err.text);
}

static void take_neighbour(struct neighbour *w, const vc_output *o) {
    assert_true(w->n + o->num_token_ids <= NEIGHBOUR_TOKENS && (!o->num_token_ids || o->num_logprobs == 3));
    for (uint32_t k = 0; k < o->num_token_ids; k++, w->n++) {
        w->ids[w->n] = o->token_ids[k];
        memcpy(w->logprobs[w->n], o->logprobs + (size_t)k * 3, sizeof w->logprobs[0]);
    }
}

static void collect(vc_model *m, struct request *const *r, uint32_t n, struct neighbour *beside) {
    vc_err err = VC_ERR_INIT;
    vc_status s;
    for (vc_output *o; (s = vc_next(m, -1, &o, &err)) == VC_OK; vc_output_free(o)) {
        for (uint32_t i = 0; i < NEIGHBOURS; i++)
            if (beside[i].id == o->request_id) take_neighbour(&beside[i], o);
        for (uint32_t i = 0; i < n; i++) {
            if (r[i]->id != o->request_id) continue;
            if (strlen(r[i]->answer) + o->text_len < TEXT) strcat(r[i]->answer, o->text);
            if (o->finished) snprintf(r[i]->reason, sizeof r[i]->reason, "%s", o->finish_reason);
        }
    }
    assert_int_equal(s, VC_E_DONE);
}

static void same_bits(const struct neighbour *alone, const struct neighbour *beside, uint32_t at_once) {
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        assert_int_equal(alone[i].n, NEIGHBOUR_TOKENS);
        if (beside[i].n != alone[i].n || memcmp(alone[i].ids, beside[i].ids, sizeof alone[i].ids) != 0 ||
            memcmp(alone[i].logprobs, beside[i].logprobs, sizeof alone[i].logprobs) != 0)
            fail_msg("an unconstrained request changed beside %u constrained ones", at_once);
    }
}

static bool fulfils(const json_t *spec, const char *text) {
    struct vc_schema_doc doc = { 0 };
    bool valid = false;
    json_t *v = json_loadb(text, strlen(text), JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, NULL);
    assert_int_equal(vc_schema_doc_take(&doc, spec, NULL, NULL), VC_OK);
    struct vc_schema_cx cx = { .doc = &doc };
    struct vc_goal *goal = vc_schema_goal(&cx, (uint32_t[]){ VC_LIT(1) }, 1);
    if (v) assert_int_equal(vc_schema_valid(&cx, goal, v, &valid), VC_OK);
    vc_schema_matchers_free(&cx);
    free(cx.goal);
    vc_arena_free(&cx.arena);
    vc_schema_doc_free(&doc);
    json_decref(v);
    return valid;
}

static void judge(const struct request *r, struct tally *t, FILE *dump) {
    struct vc_grammar *g;
    struct vc_grammar_where where;
    vc_err err;
    size_t at, n = strlen(r->answer);
    bool ended = !strcmp(r->reason, "stop");
    t->requests++;
    t->ended += ended;
    t->cut += !strcmp(r->reason, "length");
    assert_int_equal(schema_compile(&g, VC_GRAMMAR_JSON_SCHEMA, &r->text, VC_GRAMMAR_WS_DEFAULT, &where, &err), VC_OK);
    bool accepted = schema_accepts(g, r->answer, n, &at);
    vc_grammar_unref(g);
    /* A text that was cut may lack the rest of its last character. */
    bool good = ended ? accepted && fulfils(r->spec, r->answer) : at + 4 > n;
    t->invalid += !good;
    if (!good) printf("%s\n %s: %s\n", r->text.p, r->reason, r->answer);
    if (!dump || !ended) return;
    json_t *row = json_pack("{s:O, s:s}", "spec", r->spec, "text", r->answer);
    json_dumpf(row, dump, JSON_COMPACT);
    fputc('\n', dump);
    json_decref(row);
}

static void generate(void **state) {
    (void)state;
    const char *path = model_path(), *dump_path = getenv("VLLMC_SCHEMA_DUMP");
    if (!path) {
        vc_left_out("SmolLM2-135M-Instruct.Q4_1.gguf");
        return;
    }
    struct tally t = { 0 };
    FILE *dump = dump_path ? fopen(dump_path, "wb") : NULL;
    struct request *r = calloc(num_schemas, sizeof *r);
    uint32_t n = read_rows(r, num_schemas), at_once = 1;
    vc_model *m = open_model(path);
    struct neighbour alone[NEIGHBOURS] = { 0 }, beside[NEIGHBOURS];
    for (uint32_t i = 0; i < NEIGHBOURS; i++) {
        submit_neighbour(m, &alone[i], i);
        collect(m, NULL, 0, alone);
    }
    for (uint32_t i = 0; i < n; at_once = at_once == AT_ONCE ? 1 : at_once * 2) {
        struct request *now[AT_ONCE];
        uint32_t k = 0;
        for (; k < at_once && i < n; i++) {
            if (submit(m, &r[i], i)) now[k++] = &r[i];
            else t.failed++;
        }
        for (uint32_t j = 0; j < NEIGHBOURS; j++) submit_neighbour(m, &beside[j], j);
        collect(m, now, k, beside);
        same_bits(alone, beside, k);
        for (uint32_t j = 0; j < k; j++) judge(now[j], &t, dump);
    }
    vc_model_close(&m);
    for (uint32_t i = 0; i < n; i++) {
        json_decref(r[i].spec);
        vc_buf_free(&r[i].text);
    }
    free(r);
    if (dump) fclose(dump);
    printf("%zu requests, %zu ended by themselves, %zu cut, %zu refused, %zu wrong\n", t.requests, t.ended, t.cut,
           t.failed, t.invalid);
    assert_int_equal(t.invalid, 0);
    assert_true(t.ended * 2 > t.requests);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(generate) };
    if (argc > 1 && !strcmp(argv[1], "--full")) num_schemas = 200;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
