/* SPDX-License-Identifier: Apache-2.0
 * replay_test.c: the recorded requests of vLLM's server (goldens/api/transcript.jsonl) to ours, on SmolLM2-135M in bf16:
 * status, keys and types, error type, param and code, greedy text, log-probabilities within 0.2 of vLLM's before a first
 * difference. What may differ is a row of `known`, as in doc/compat.md. */
#include "server/client.h"

#include <math.h>

/* Entries by number. STATUS: our answer has this status instead. TEXT: drawn or close to a tie; shape only. OURS: our
 * status and shape are our own. ORDER: chunks of several choices come in a free order; only [DONE] is compared. */
enum { TEXT = 1, OURS = 2, ORDER = 4 };
static const struct { int n, how; long status; const char *why; } known[] = {
    { 8, OURS, 200, "the web page" },
    { 23, OURS, 200, "n above 1 at temperature 0 is served" },
    { 24, TEXT, 0, "seeded" }, { 25, TEXT, 0, "seeded" }, { 26, TEXT, 0, "seeded" },
    { 39, OURS, 200, "n above 1 at temperature 0 is served" },
    { 43, TEXT, 0, "near a tie: two candidates within 0.1" },
    { 49, ORDER, 0, "seeded" }, { 52, ORDER, 0, "the order of two streams is free" },
    { 55, TEXT, 0, "white space of JSON is ours" },
    { 69, OURS, 200, "n above 1 at temperature 0 is served" }, { 72, OURS, 200, "n above 1 at temperature 0 is served" },
    { 73, TEXT, 0, "seeded" }, { 74, ORDER, 0, "seeded" }, { 77, TEXT, 0, "seeded" },
    { 85, TEXT, 0, "white space of JSON is ours" }, { 86, TEXT, 0, "white space of JSON is ours" },
    { 91, TEXT, 0, "arguments follow the schema" }, { 92, OURS, 200, "arguments follow the schema" },
    { 93, OURS, 200, "arguments follow the schema" }, { 94, OURS, 200, "arguments follow the schema" },
    { 96, TEXT, 0, "no markup is generated around a forced call" }, { 97, TEXT, 0, "no markup is generated around a forced call" },
    { 154, TEXT, 0, "near a tie: two candidates within 0.13" },
    { 164, OURS, 400, "an id outside the vocabulary is an error" },
};

struct state { int n, how, faults; double sum; size_t count; bool quiet; };

static void say(struct state *s, const char *path, const char *what) {
    if (s->faults++ < 6 && !s->quiet) print_error("entry %d: %s: %s\n", s->n, path, what);
}

/* Values that are random, name this program, or change with it. */
static bool free_value(const char *path) {
    static const char *const ends[] = { ".id", ".created", ".created_at", ".root", ".system_fingerprint", ".version", ".message", ".rank" };
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (n >= strlen(ends[i]) && !strcmp(path + n - strlen(ends[i]), ends[i])) return true;
    return false;
}

static void compare(struct state *s, const json_t *want, const json_t *got, const char *path, int depth);

static void compare_objects(struct state *s, const json_t *want, const json_t *got, const char *path, int depth) {
    const char *key;
    json_t *v;
    char at[512];
    bool tokens = strstr(path, "top_logprobs") || strstr(path, "prompt_logprobs");      /* keys are tokens: near ties may swap the last */
    json_object_foreach((json_t *)(uintptr_t)want, key, v) {
        snprintf(at, sizeof at, "%s.%s", path, key);
        const json_t *g = json_object_get(got, key);
        if (g) compare(s, v, g, at, depth);
        else if (!tokens) say(s, at, "missing");
    }
    json_object_foreach((json_t *)(uintptr_t)got, key, v) {
        snprintf(at, sizeof at, "%s.%s", path, key);
        if (!json_object_get(want, key) && !tokens) say(s, at, "not in vLLM's answer");
    }
    if (tokens && json_object_size(want) != json_object_size(got)) say(s, path, "another number of candidates");
}

static void compare_numbers(struct state *s, const json_t *want, const json_t *got, const char *path) {
    double a = json_number_value(want), b = json_number_value(got);
    if (free_value(path) || s->how & TEXT) return;
    if (json_is_integer(want) && json_is_integer(got)) {
        if (json_integer_value(want) != json_integer_value(got)) say(s, path, "another number");
        return;
    }
    if (a < -15) return;                        /* far tails move more */
    s->sum += fabs(a - b);
    s->count++;
    if (fabs(a - b) > 0.2) say(s, path, "log-probabilities more than 0.2 apart");
}

static void compare(struct state *s, const json_t *want, const json_t *got, const char *path, int depth) {
    char at[512];
    if (depth > 40) return;
    if (json_is_number(want) && json_is_number(got)) {
        compare_numbers(s, want, got, path);
    } else if (json_typeof(want) != json_typeof(got)) {
        bool content = (s->how & TEXT) && (strstr(path, "stop_reason") || strstr(path, "content"));
        if (!content && !(json_is_boolean(want) && json_is_boolean(got))) say(s, path, "another type");
        else if (json_is_boolean(want) && !content) say(s, path, "another value");
    } else if (json_is_object(want)) {
        compare_objects(s, want, got, path, depth + 1);
    } else if (json_is_array(want)) {
        if (json_array_size(want) != json_array_size(got) && !(s->how & TEXT)) say(s, path, "another length");
        for (size_t i = 0; i < json_array_size(want) && i < json_array_size(got); i++) {
            snprintf(at, sizeof at, "%s[%zu]", path, i);
            compare(s, json_array_get(want, i), json_array_get(got, i), at, depth + 1);
        }
    } else if (json_is_string(want) && !free_value(path) && !(s->how & TEXT)) {
        if (strcmp(json_string_value(want), json_string_value(got)) != 0) say(s, path, "another text");
    }
}

/* The next "data: " line of a stream as JSON; NULL at its end, *done when that was [DONE]. */
static json_t *next_event(const char **p, bool *done) {
    const char *at = strstr(*p, "data: ");
    *done = false;
    if (!at) return NULL;
    at += 6;
    const char *end = strchr(at, '\n');
    size_t n = end ? (size_t)(end - at) : strlen(at);
    *p = at + n;
    if (n == 6 && !strncmp(at, "[DONE]", 6)) {
        *done = true;
        return NULL;
    }
    json_t *v = json_loadb(at, n, 0, NULL);
    assert_non_null(v);
    return v;
}

static void compare_streams(struct state *s, const char *want, const char *got) {
    for (;;) {
        bool want_done, got_done;
        json_t *w = next_event(&want, &want_done), *g = next_event(&got, &got_done);
        if (!w != !g && !(s->how & (TEXT | ORDER))) say(s, "stream", "another number of chunks");
        if (w && g && !(s->how & ORDER)) compare(s, w, g, "chunk", 0);
        bool end = !w || !g;
        if (end && !strstr(got, "data: [DONE]") && !got_done) say(s, "stream", "no [DONE]");
        json_decref(w);
        json_decref(g);
        if (end) return;
    }
}

static void compare_answer(struct state *s, const json_t *want, const struct answer *got) {
    const json_t *json = json_object_get(want, "json"), *headers = json_object_get(want, "headers");
    const char *raw = json_string_value(json_object_get(want, "raw")), *key;
    json_t *v;
    if (json) {
        json_t *g = answer_json(got);
        compare(s, json, g, "", 0);
        json_decref(g);
    } else if (raw && strstr(raw, "data: ")) {
        compare_streams(s, raw, got->body);
    } else if (raw && strcmp(raw, got->body) != 0) {
        say(s, "body", "another text");
    }
    json_object_foreach((json_t *)(uintptr_t)headers, key, v)
        if (strcmp(answer_header(got, key), json_string_value(v)) != 0) say(s, key, "another header");
}

static void one(const struct server *srv, const json_t *entry, struct state *total) {
    const json_t *rq = json_object_get(entry, "request"), *rs = json_object_get(entry, "response"), *json = json_object_get(rq, "json");
    const char *key, *method = json_string_value(json_object_get(rq, "method")), *path = json_string_value(json_object_get(rq, "path"));
    long status = (long)json_integer_value(json_object_get(rs, "status"));
    char header[256] = "";
    json_t *v;
    struct state s = { .n = (int)json_integer_value(json_object_get(entry, "n")) };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (known[i].n != s.n) continue;
        s.how = known[i].how;
        if (known[i].status) status = known[i].status;
    }
    json_object_foreach(json_object_get(rq, "headers"), key, v)
        if (!header[0] || !strcmp(key, "Origin")) snprintf(header, sizeof header, "%s: %s", key, json_string_value(v));
    char *body = json ? json_dumps(json, 0) : json_object_get(rq, "raw") ? strdup(json_string_value(json_object_get(rq, "raw"))) : NULL;
    if (!strcmp(method, "OPTIONS")) snprintf(header, sizeof header, "Access-Control-Request-Method: POST\r\nOrigin: http://example.com");
    struct answer a = ask(srv, method, path, body, body ? strlen(body) : 0, header[0] ? header : NULL);
    if (a.status != status) {
        print_error("entry %d (%s): status %ld, expected %ld: %.300s\n", s.n, json_string_value(json_object_get(entry, "name")), a.status, status, a.body);
        s.faults++;
    } else if (!(s.how & OURS)) {
        compare_answer(&s, rs, &a);
    }
    total->n++;
    total->faults += s.faults > 0;
    total->sum += s.sum;
    total->count += s.count;
    free(body);
    answer_free(&a);
}

static void replay(void **state) {
    (void)state;
    const char *golden = vc_golden("api/transcript.jsonl");
    char folder[1024] = "", gguf[1024] = "";
    if (real_model("smollm2-bf16")) snprintf(folder, sizeof folder, "%s", real_model("smollm2-bf16"));
    if (real_model("SmolLM2-135M-Instruct.Q4_1.gguf")) snprintf(gguf, sizeof gguf, "%s", real_model("SmolLM2-135M-Instruct.Q4_1.gguf"));
    if (!golden || !folder[0] || !gguf[0]) {
        vc_left_out("replay of the recorded server: goldens/api, smollm2-bf16 or its GGUF");
        skip();
    }
    struct server srv;
    SERVER_START(&srv, folder, "--tokenizer", gguf, "--served-model-name", "smollm2-135m", "--max-model-len", "2048", "--max-num-seqs", "8", "--block-size", "32",
                 "--kv-cache-memory-bytes", "256M", "--enable-auto-tool-choice", "--tool-call-parser", "hermes");
    struct state total = { 0 };
    char *text = read_text(golden);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *entry = json_loads(line, 0, NULL);
        assert_non_null(entry);
        one(&srv, entry, &total);
        json_decref(entry);
    }
    free(text);
    printf("%d requests, %d differ; log-probabilities: %zu compared, mean difference %.4f\n", total.n, total.faults, total.count,
           total.count ? total.sum / (double)total.count : 0);
    assert_int_equal(server_stop(&srv), 0);
    assert_int_equal(total.faults, 0);
    assert_true(total.count > 100 && total.sum / (double)total.count <= 0.03);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(replay) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
