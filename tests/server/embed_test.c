/* SPDX-License-Identifier: Apache-2.0
 * embed_test.c: embeddings over HTTP: vectors against the f64 run, every encoding, order, errors; scores and ranks; what a model
 * does not have is a 404, as in vLLM. */
#include <math.h>

#include "base/base64.h"
#include "io/json.h"
#include "io/tensors.h"
#include "num/round.h"
#include "server/client.h"

enum { MOST = 256 };
static size_t g_hidden;                    /* values of a vector */
static struct server g_server;

static size_t bytes_of_vector(void) { return g_hidden * sizeof(float); }

static int open_tokens(void **state) {
    (void)state;
    g_hidden = 64;
    SERVER_START(&g_server, vc_golden("models/qwen3-embed"), "--served-model-name", "e", "--kv-cache-memory-bytes", "16M", "--threads", "1");
    return 0;
}

static int open_text(void **state) {
    (void)state;
    g_hidden = 256;
    SERVER_START(&g_server, vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "--convert", "embed", "--pooler-config", "{\"pooling_type\":\"MEAN\"}", "--kv-cache-memory-bytes", "16M",
                 "--threads", "1", "--chat-template", "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}");
    return 0;
}

/* A vocabulary that puts <s> and </s> around texts. */
static int open_ends(void **state) {
    (void)state;
    g_hidden = 256;
    SERVER_START(&g_server, vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "--tokenizer", vc_golden("tokenizers/trained/bl_roberta"), "--convert", "embed", "--kv-cache-memory-bytes", "16M",
                 "--threads", "1");
    return 0;
}

static int open_both(void **state) {
    (void)state;
    static char first[1100], second[1100];
    snprintf(first, sizeof first, "text=%s", vc_golden("models/llama"));
    snprintf(second, sizeof second, "vectors=%s,pooler-config={\"pooling_type\":\"MEAN\",\"use_activation\":false},max-model-len=64", vc_golden("models/qwen3-embed"));
    SERVER_START(&g_server, "--model", first, "--model", second, "--kv-cache-memory-bytes", "16M", "--threads", "1");
    return 0;
}

static int close_server(void **state) {
    (void)state;
    return server_stop(&g_server);
}

static json_t *ask_ok(const char *path, const char *body) {
    struct answer a = post(&g_server, path, body);
    if (a.status != 200) fail_msg("%s %.200s: %ld %.300s", path, body, a.status, a.body);
    json_t *v = answer_json(&a);
    answer_free(&a);
    return v;
}

static void refused(const char *path, const char *body, long status, const char *word) {
    struct answer a = post(&g_server, path, body);
    if (a.status != status || !strstr(a.body, word)) fail_msg("%s %.200s: %ld %.300s (expected %ld, '%s')", path, body, a.status, a.body, status, word);
    answer_free(&a);
}

static void not_found(const char *path) { refused(path, "{}", 404, "{\"detail\":\"Not Found\"}"); }

static const json_t *datum(const json_t *v, size_t i, const char *key) {
    const json_t *d = json_array_get(json_object_get(v, "data"), i);
    assert_int_equal(json_integer_value(json_object_get(d, "index")), i);
    return json_object_get(d, key);
}

static void numbers(const json_t *list, float *v) {
    assert_int_equal(json_array_size(list), g_hidden);
    for (size_t i = 0; i < g_hidden; i++) v[i] = (float)json_number_value(json_array_get(list, i));
}

static double cosine(const float *a, const float *b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < g_hidden; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

/* The golden's prompts in one request: the order is kept, each vector is that of its prompt. */
static void truth(void **state) {
    (void)state;
    struct vc_tensors *ts = NULL;
    vc_err err = VC_ERR_INIT;
    json_t *golden = NULL;
    if (vc_json_load(&golden, vc_golden("models/qwen3-embed/golden.json"), &err) != VC_OK) fail_msg("%s", err.text);
    if (vc_tensors_open_safetensors(&ts, vc_golden("models/qwen3-embed/golden.safetensors"), &err) != VC_OK) fail_msg("%s", err.text);
    json_t *body = json_pack("{s:O,s:s,s:s,s:i}", "input", json_object_get(golden, "prompts"), "model", "e", "user", "someone", "priority", 3);
    char *text = json_dumps(body, 0);
    json_t *v = ask_ok("/v1/embeddings", text);
    assert_string_equal(json_string_value(json_object_get(v, "object")), "list");
    assert_string_equal(json_string_value(json_object_get(v, "model")), "e");
    assert_memory_equal(json_string_value(json_object_get(v, "id")), "embd-", 5);
    assert_int_equal(json_integer_value(vc_json_at(v, "usage.prompt_tokens")), 1 + 5 + 17 + 40 + 75);
    assert_int_equal(json_integer_value(vc_json_at(v, "usage.total_tokens")), 1 + 5 + 17 + 40 + 75);
    for (size_t i = 0; i < 5; i++) {
        char name[32];
        float got[MOST];
        snprintf(name, sizeof name, "pooled_last.%zu", i);
        numbers(datum(v, i, "embedding"), got);
        assert_true(cosine(got, vc_tensors_find(ts, name)->data) > 0.9999);
        assert_string_equal(json_string_value(datum(v, i, "object")), "embedding");
    }
    json_decref(v);
    json_decref(body);
    json_decref(golden);
    free(text);
    vc_tensors_close(ts);
}

static void get_vector(const char *body, float *v) {
    json_t *a = ask_ok("/v1/embeddings", body);
    numbers(datum(a, 0, "embedding"), v);
    json_decref(a);
}

static size_t get_base64(const char *body, uint8_t *bytes) {
    json_t *a = ask_ok("/v1/embeddings", body);
    const json_t *s = datum(a, 0, "embedding");
    size_t n = vc_base64_decode(bytes, json_string_value(s), json_string_length(s));
    json_decref(a);
    return n;
}

/* Numbers read back to the very f32 that base64 has; smaller formats lie within half a step; big-endian is the same turned round. */
static void encodings(void **state) {
    (void)state;
    static const struct { const char *name; enum vc_dtype dtype; size_t size; } formats[] = {
        { "float32", VC_F32, 4 }, { "float16", VC_F16, 2 }, { "bfloat16", VC_BF16, 2 }, { "fp8_e4m3", VC_F8E4M3, 1 }, { "fp8_e5m2", VC_F8E5M2, 1 },
    };
    float v[MOST], same[MOST];
    uint8_t bytes[4 * MOST], turned[4 * MOST];
    char body[256];
    get_vector("{\"input\":[7,8,9,10]}", v);
    assert_int_equal(get_base64("{\"input\":[7,8,9,10],\"encoding_format\":\"base64\"}", bytes), bytes_of_vector());
    memcpy(same, bytes, bytes_of_vector());
    assert_memory_equal(v, same, bytes_of_vector());
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
        size_t size = formats[f].size;
        snprintf(body, sizeof body, "{\"input\":[7,8,9,10],\"encoding_format\":\"base64\",\"embed_dtype\":\"%s\",\"endianness\":\"little\"}", formats[f].name);
        assert_int_equal(get_base64(body, bytes), g_hidden * size);
        for (size_t i = 0; i < g_hidden; i++) {
            uint64_t bits = 0;
            for (size_t k = 0; k < size; k++) bits |= (uint64_t)bytes[i * size + k] << 8 * k;
            double x = vc_bits_value(formats[f].dtype, bits);
            assert_true(fabs(x - (double)v[i]) <= vc_ulp(formats[f].dtype, (double)v[i]) / 2);
        }
        snprintf(body, sizeof body, "{\"input\":[7,8,9,10],\"encoding_format\":\"bytes_only\",\"embed_dtype\":\"%s\",\"endianness\":\"big\"}", formats[f].name);
        struct answer a = post(&g_server, "/v1/embeddings", body);
        assert_int_equal(a.status, 200);
        assert_int_equal(a.n, g_hidden * size);
        assert_string_equal(answer_header(&a, "content-type"), "application/octet-stream");
        for (size_t i = 0; i < a.n; i++) turned[i / size * size + size - 1 - i % size] = (uint8_t)a.body[i];
        assert_memory_equal(turned, bytes, a.n);
        answer_free(&a);
    }
}

static void bytes_with_metadata(void **state) {
    (void)state;
    float v[MOST];
    struct answer a = post(&g_server, "/v1/embeddings", "{\"input\":[[1,2],[7,8,9,10]],\"encoding_format\":\"bytes\"}");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.n, 2 * bytes_of_vector());
    get_vector("{\"input\":[7,8,9,10]}", v);
    assert_memory_equal(a.body + bytes_of_vector(), v, bytes_of_vector());
    json_t *m = json_loads(answer_header(&a, "metadata"), 0, NULL);
    assert_non_null(m);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(m, "data"), 1), "start")), bytes_of_vector());
    assert_int_equal(json_integer_value(json_object_get(json_array_get(json_object_get(m, "data"), 1), "end")), 2 * bytes_of_vector());
    json_decref(m);
    answer_free(&a);
    char body[8192] = "{\"encoding_format\":\"bytes\",\"input\":[[1]";
    for (int i = 0; i < 400; i++) strcat(body, ",[1]");
    strcat(body, "]}");
    refused("/v1/embeddings", body, 400, "bytes_only");
}

/* vLLM's tokenizers of embedders cut at the right; truncation_side says otherwise. */
static void cut(void **state) {
    (void)state;
    float whole[MOST], got[MOST];
    get_vector("{\"input\":[5,6,7]}", whole);
    get_vector("{\"input\":[5,6,7,8,9],\"truncate_prompt_tokens\":3}", got);
    assert_memory_equal(got, whole, bytes_of_vector());
    get_vector("{\"input\":[1,2,5,6,7],\"truncate_prompt_tokens\":3,\"truncation_side\":\"left\"}", got);
    assert_memory_equal(got, whole, bytes_of_vector());
    get_vector("{\"input\":[5,6,7],\"truncate_prompt_tokens\":-1}", got);
    assert_memory_equal(got, whole, bytes_of_vector());
    get_vector("{\"input\":[5,6,7],\"use_activation\":false}", got);
    assert_true(cosine(got, whole) > 1 - 1e-6 && fabsf(got[0]) > fabsf(whole[0]));
    refused("/v1/embeddings", "{\"input\":[5],\"truncate_prompt_tokens\":513}", 400, "truncate_prompt_tokens=513");
    refused("/v1/embeddings", "{\"input\":[5],\"truncate_prompt_tokens\":0}", 400, "no tokens");
}

static void long_prompts(void **state) {
    (void)state;
    char body[4096] = "{\"input\":[1";
    for (int i = 1; i < 512; i++) strcat(body, ",1");
    strcat(body, "]}");
    json_decref(ask_ok("/v1/embeddings", body));            /* the whole context of 512 */
    strcpy(strrchr(body, ']'), ",1]}");
    refused("/v1/embeddings", body, 400, "maximum context length is 512");
}

static void errors(void **state) {
    (void)state;
    static const struct { const char *body, *word; } bad[] = {
        { "{}", "body.input" }, { "{\"input\":null}", "body.input" }, { "{\"input\":[]}", "at least one" }, { "{\"input\":[[]]}", "no tokens" }, { "{\"input\":{}}", "body.input" },
        { "{\"input\":[1.5]}", "body.input" }, { "{\"input\":[[1],2]}", "body.input.1" }, { "{\"input\":[-1]}", "body.input" }, { "{\"input\":[256]}", "256 is out of vocabulary" },
        { "{\"input\":\"text\"}", "tokenizer" }, { "{\"input\":[1],\"encoding_format\":\"hex\"}", "'float', 'base64', 'bytes' or 'bytes_only'" },
        { "{\"input\":[1],\"embed_dtype\":\"int8\"}", "body.embed_dtype" }, { "{\"input\":[1],\"endianness\":\"middle\"}", "body.endianness" },
        { "{\"input\":[1],\"dimensions\":32}", "matryoshka" }, { "{\"input\":[1],\"dimensions\":0}", "greater than 0" }, { "{\"input\":[1],\"dimensions\":\"x\"}", "body.dimensions" },
        { "{\"input\":[1],\"normalize\":true}", "use_activation" }, { "{\"input\":[1],\"padding\":\"max_length\"}", "padding" }, { "{\"input\":[1],\"cache_salt\":\"\"}", "cache_salt" },
        { "{\"input\":[1],\"mm_processor_kwargs\":{\"a\":1}}", "mm_processor_kwargs" }, { "{\"input\":[1],\"truncation_side\":\"up\"}", "truncation_side" },
        { "{\"messages\":[]}", "empty" }, { "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", "template" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) refused("/v1/embeddings", bad[i].body, 400, bad[i].word);
    refused("/v1/embeddings", "{\"input\":[1],\"model\":\"x\"}", 404, "does not exist");
    json_decref(ask_ok("/v1/embeddings", "{\"input\":[1],\"something\":1,\"padding\":\"do_not_pad\",\"dimensions\":null,\"cache_salt\":\"s\"}"));
    refused("/pooling", "{\"input\":[1],\"task\":\"token_embed\"}", 400, "Unsupported task: 'token_embed'");
    refused("/pooling", "{\"input\":[1],\"dimensions\":64}", 400, "dimensions is currently not supported");
}

/* Each of vLLM's fields, honoured or refused by name. */
static void every_field(void **state) {
    (void)state;
    static const struct { const char *name, *value; long status; } rows[] = {
        { "add_special_tokens", "false", 200 }, { "cache_salt", "\"s\"", 200 }, { "dimensions", "64", 400 }, { "embed_dtype", "\"float16\"", 200 },
        { "encoding_format", "\"base64\"", 200 }, { "endianness", "\"big\"", 200 }, { "input", "[5]", 200 }, { "mm_processor_kwargs", "{\"a\":1}", 400 },
        { "model", "\"e\"", 200 }, { "padding", "\"max_length\"", 400 }, { "priority", "1", 200 }, { "request_id", "\"mine\"", 200 },
        { "truncate_prompt_tokens", "1", 200 }, { "truncation_side", "\"left\"", 200 }, { "use_activation", "false", 200 }, { "user", "\"u\"", 200 },
    };
    json_t *all = json_load_file(VC_TEST_GOLDENS "/../server/vllm_fields.json", 0, NULL), *names = json_object_get(all, "embeddings");
    assert_true(json_array_size(names) > 10);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        size_t k = 0;
        while (k < sizeof rows / sizeof rows[0] && strcmp(rows[k].name, name) != 0) k++;
        if (k == sizeof rows / sizeof rows[0]) fail_msg("no case for %s", name);
        char body[256];
        snprintf(body, sizeof body, "{%s\"%s\":%s}", strcmp(name, "input") ? "\"input\":[5]," : "", name, rows[k].value);
        refused("/v1/embeddings", body, rows[k].status, rows[k].status == 200 ? strcmp(name, "request_id") ? "embd-" : "embd-mine" : strcmp(name, "dimensions") ? name : "matryoshka");
    }
    json_decref(all);
}

static void pooling(void **state) {
    (void)state;
    float want[MOST], got[MOST];
    get_vector("{\"input\":[3,4]}", want);
    json_t *v = ask_ok("/pooling", "{\"input\":[[3,4]],\"task\":\"embed\"}");
    assert_string_equal(json_string_value(datum(v, 0, "object")), "pooling");
    numbers(datum(v, 0, "data"), got);
    assert_memory_equal(got, want, bytes_of_vector());
    json_decref(v);
}

/* vLLM has no route for what the model cannot do. */
static void no_text(void **state) {
    (void)state;
    static const char *const paths[] = { "/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens", "/classify",
                                         "/v1/load_lora_adapter", "/v1/unload_lora_adapter" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) not_found(paths[i]);
    struct answer a = get(&g_server, "/v1/responses/resp_1");
    assert_int_equal(a.status, 404);
    answer_free(&a);
    a = get(&g_server, "/v1/embeddings");
    assert_int_equal(a.status, 405);
    answer_free(&a);
    assert_true(metric(&g_server, "vllm:prompt_tokens_total{engine=\"0\",model_name=\"e\"}") > 100);
    assert_int_equal((int)metric(&g_server, "vllm:generation_tokens_total{engine=\"0\",model_name=\"e\"}"), 0);
}

/* ---- texts ---- */

static double score(const char *a, const char *b) {
    char body[512];
    snprintf(body, sizeof body, "{\"text_1\":\"%s\",\"text_2\":\"%s\"}", a, b);
    json_t *v = ask_ok("/score", body);
    double s = json_number_value(datum(v, 0, "score"));
    json_decref(v);
    return s;
}

static void scores(void **state) {
    (void)state;
    float a[MOST], b[MOST];
    json_t *v = ask_ok("/v1/embeddings", "{\"input\":[\"one cat\",\"two dogs\",\"\\u00e9t\\u00e9\"],\"encoding_format\":\"float\"}");
    numbers(datum(v, 0, "embedding"), a);
    numbers(datum(v, 1, "embedding"), b);
    assert_true(fabs(score("one cat", "two dogs") - cosine(a, b)) < 1e-6);
    assert_true(fabs(score("one cat", "one cat") - 1) < 1e-6);
    numbers(datum(v, 2, "embedding"), b);
    double third = cosine(a, b);
    json_decref(v);
    static const char *const bodies[] = { "{\"queries\":\"one cat\",\"documents\":[\"two dogs\",\"\\u00e9t\\u00e9\"]}", "{\"queries\":\"one cat\",\"items\":[\"two dogs\",\"\\u00e9t\\u00e9\"]}",
                                          "{\"data_1\":[\"one cat\",\"one cat\"],\"data_2\":[\"two dogs\",\"\\u00e9t\\u00e9\"]}" };
    for (size_t i = 0; i < 3; i++) {
        v = ask_ok(i ? "/v1/score" : "/score", bodies[i]);
        assert_int_equal(json_array_size(json_object_get(v, "data")), 2);
        assert_true(fabs(json_number_value(datum(v, 1, "score")) - third) < 1e-6);
        assert_string_equal(json_string_value(datum(v, 1, "object")), "score");
        json_decref(v);
    }
    refused("/score", "{\"text_1\":[\"a\",\"b\"],\"text_2\":[\"c\"]}", 400, "1:1, 1:N or N:N");
    refused("/score", "{\"text_1\":[],\"text_2\":[\"c\"]}", 400, "At least one text element");
    refused("/score", "{\"text_1\":\"a\",\"text_2\":[]}", 400, "At least one text_pair element");
    refused("/score", "{\"text_1\":\"a\"}", 400, "text_2");
    refused("/score", "{\"text_1\":\"a\",\"text_2\":[1]}", 400, "body.text_2");
}

static void ranks(void **state) {
    (void)state;
    static const char *const paths[] = { "/rerank", "/v1/rerank", "/v2/rerank" }, *const texts[] = { "blue", "a red house", "red", "x" };
    for (size_t p = 0; p < 3; p++) {
        json_t *v = ask_ok(paths[p], "{\"query\":\"red\",\"documents\":[\"blue\",\"a red house\",\"red\",\"x\"]}"), *list = json_object_get(v, "results");
        double last = 2;
        assert_int_equal(json_array_size(list), 4);
        for (size_t i = 0; i < 4; i++) {
            const json_t *r = json_array_get(list, i);
            size_t index = (size_t)json_integer_value(json_object_get(r, "index"));
            double s = json_number_value(json_object_get(r, "relevance_score"));
            assert_true(s <= last);
            assert_string_equal(json_string_value(vc_json_at(r, "document.text")), texts[index]);
            assert_true(fabs(s - score("red", texts[index])) < 1e-6);
            last = s;
        }
        assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "index")), 2);
        json_decref(v);
    }
    json_t *v = ask_ok("/rerank", "{\"query\":\"red\",\"documents\":[\"blue\",\"red\"],\"top_n\":1}");
    assert_int_equal(json_array_size(json_object_get(v, "results")), 1);
    json_decref(v);
    refused("/rerank", "{\"query\":\"red\",\"documents\":[]}", 400, "At least one");
    refused("/rerank", "{\"query\":\"red\"}", 400, "body.documents");
    refused("/rerank", "{\"documents\":[\"a\"]}", 400, "body.query");
}

/* A conversation is its rendered text; the beginning of an answer is left out unless it is asked for. */
static void conversations(void **state) {
    (void)state;
    float a[MOST], b[MOST];
    get_vector("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}", a);
    get_vector("{\"input\":\"[user]hi\",\"add_special_tokens\":false}", b);
    assert_memory_equal(a, b, bytes_of_vector());
    get_vector("{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"add_generation_prompt\":true}", a);
    get_vector("{\"input\":\"[user]hi[assistant]\",\"add_special_tokens\":false}", b);
    assert_memory_equal(a, b, bytes_of_vector());
    refused("/v1/embeddings", "{\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],\"chat_template\":\"x\"}", 400, "trust-request-chat-template");
    refused("/v1/embeddings", "{\"input\":\"\"}", 400, "no tokens");
}

static void get_ids(int a, int b, int c, int d, float *v) {
    char body[128];
    snprintf(body, sizeof body, "{\"input\":[%d,%d,%d,%d]}", a, b, c, d);
    get_vector(body, v);
}

/* A text that is cut keeps what the tokenizer adds at its ends, as with the tokenizers of transformers. */
static void cut_inside(void **state) {
    (void)state;
    float got[MOST], want[MOST];
    int id[64];
    json_t *v = ask_ok("/tokenize", "{\"prompt\":\"Some words that are cut on one side or the other.\"}"), *list = json_object_get(v, "tokens");
    int n = (int)json_array_size(list);
    assert_true(n > 8 && n < 64);
    for (int i = 0; i < n; i++) id[i] = (int)json_integer_value(json_array_get(list, (size_t)i));
    get_vector("{\"input\":\"Some words that are cut on one side or the other.\",\"truncate_prompt_tokens\":4}", got);
    get_ids(id[0], id[1], id[2], id[n - 1], want);
    assert_memory_equal(got, want, bytes_of_vector());
    get_vector("{\"input\":\"Some words that are cut on one side or the other.\",\"truncate_prompt_tokens\":4,\"truncation_side\":\"left\"}", got);
    get_ids(id[0], id[n - 3], id[n - 2], id[n - 1], want);
    assert_memory_equal(got, want, bytes_of_vector());
    get_vector("{\"input\":\"Some words that are cut on one side or the other.\",\"truncate_prompt_tokens\":4,\"add_special_tokens\":false}", got);
    get_ids(id[1], id[2], id[3], id[4], want);
    assert_memory_equal(got, want, bytes_of_vector());
    json_decref(v);
}

/* vLLM's truncate_text_to_tokens with the same tokenizer.json in tokenizers 0.23: what is left of a text. */
static const struct { const char *text; int most; const char *left; } cuts[] = {
    { "Some words that are cut on one side or the other.", 1, "S" },
    { "Some words that are cut on one side or the other.", 5, "Some wor" },
    { "Some words that are cut on one side or the other.", 13, "Some words that are cut on one" },
    { "Some words that are cut on one side or the other.", 19, "Some words that are cut on one side or the other." },
    { "  two  blanks before, and behind  ", 1, "" },
    { "  two  blanks before, and behind  ", 3, "  two " },
    { "  two  blanks before, and behind  ", 8, "  two  blanks" },
    { "na\xC3\xAFve caf\xC3\xA9 \xE5\x8C\x97\xE4\xBA\xAC is far", 3, "na\xC3\xAFve ca" },
    { "na\xC3\xAFve caf\xC3\xA9 \xE5\x8C\x97\xE4\xBA\xAC is far", 8, "na\xC3\xAFve caf\xC3\xA9 " },
    { "smile \xF0\x9F\x98\x80\xF0\x9F\x98\x80 twice", 5, "smile \xF0\x9F\x98\x80" },
    { "<s> is a word <mask>here", 2, "<s> is" },
};

static int64_t prompt_tokens(const json_t *v) {
    return json_integer_value(json_object_get(json_object_get(v, "usage"), "prompt_tokens"));
}

/* Each side is cut by itself: the answer is that for the texts that are left. */
static void cut_sides(void **state) {
    (void)state;
    static const char other[] = "another text to compare with";
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++)
        for (int doc = 0; doc < 2; doc++) {
            char whole[512], left[512];
            const char *field = doc ? "max_tokens_per_doc" : "max_tokens_per_query";
            snprintf(whole, sizeof whole, "{\"text_1\":\"%s\",\"text_2\":\"%s\",\"%s\":%d}", doc ? other : cuts[i].text,
                     doc ? cuts[i].text : other, field, cuts[i].most);
            snprintf(left, sizeof left, "{\"text_1\":\"%s\",\"text_2\":\"%s\"}", doc ? other : cuts[i].left,
                     doc ? cuts[i].left : other);
            json_t *a = ask_ok("/score", whole), *b = ask_ok("/score", left);
            if (json_number_value(datum(a, 0, "score")) != json_number_value(datum(b, 0, "score"))) fail_msg("%s is not cut as '%s'", whole, cuts[i].left);
            assert_int_equal(prompt_tokens(a), prompt_tokens(b));
            json_decref(a);
            json_decref(b);
        }
    json_t *a = ask_ok("/rerank", "{\"query\":\"Some words\",\"documents\":[\"Some words that\",\"b\"],\"max_tokens_per_query\":3,\"max_tokens_per_doc\":5}");
    json_t *b = ask_ok("/rerank", "{\"query\":\"Some\",\"documents\":[\"Some wor\",\"b\"],\"max_tokens_per_query\":0}");
    assert_true(json_number_value(json_object_get(json_array_get(json_object_get(a, "results"), 0), "relevance_score"))
                == json_number_value(json_object_get(json_array_get(json_object_get(b, "results"), 0), "relevance_score")));
    json_decref(a);
    json_decref(b);
    refused("/score", "{\"text_1\":\"a\",\"text_2\":\"b\",\"max_tokens_per_doc\":-1}", 400, "max_tokens_per_doc must be a non-negative integer");
    refused("/rerank", "{\"query\":\"a\",\"documents\":[\"b\"],\"max_tokens_per_query\":256}", 400, "max_tokens_per_query (256) must be less than max_model_len (256).");
    refused("/score", "{\"text_1\":\"a\",\"text_2\":\"b\",\"max_tokens_per_doc\":null}", 400, "max_tokens_per_doc");
}

/* ---- two models ---- */

static void chosen_by_route(void **state) {
    (void)state;
    float got[MOST];
    json_t *v = ask_ok("/v1/embeddings", "{\"input\":[1,2]}");
    assert_string_equal(json_string_value(json_object_get(v, "model")), "vectors");
    g_hidden = 64;
    numbers(datum(v, 0, "embedding"), got);
    assert_true(cosine(got, got) > 0.999 && fabsf(got[0]) + fabsf(got[1]) + fabsf(got[2]) > 1);      /* options of its own: not of length 1 */
    json_decref(v);
    v = ask_ok("/v1/completions", "{\"prompt\":[1,2],\"max_tokens\":2}");
    assert_string_equal(json_string_value(json_object_get(v, "model")), "text");
    json_decref(v);
    refused("/v1/embeddings", "{\"input\":[1,2],\"model\":\"text\"}", 400, "generates text");
    refused("/v1/completions", "{\"prompt\":[1,2],\"model\":\"vectors\"}", 400, "makes embeddings");
    refused("/v1/embeddings", "{\"input\":[1,2],\"model\":\"none\"}", 404, "does not exist");
}

static int open_llama(void **state) {
    (void)state;
    SERVER_START(&g_server, vc_golden("models/llama"), "--kv-cache-memory-bytes", "16M", "--threads", "1");
    return 0;
}

static void no_vectors(void **state) {
    (void)state;
    static const char *const paths[] = { "/v1/embeddings", "/pooling", "/score", "/v1/score", "/rerank", "/v1/rerank", "/v2/rerank", "/classify", "/v1/load_lora_adapter",
                                         "/v1/unload_lora_adapter" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) not_found(paths[i]);
    json_decref(ask_ok("/v1/completions", "{\"prompt\":[1,2],\"max_tokens\":1}"));
}

int main(void) {
    const struct CMUnitTest tokens[] = { cmocka_unit_test(truth), cmocka_unit_test(encodings), cmocka_unit_test(bytes_with_metadata), cmocka_unit_test(cut),
                                         cmocka_unit_test(long_prompts), cmocka_unit_test(errors), cmocka_unit_test(every_field), cmocka_unit_test(pooling), cmocka_unit_test(no_text) };
    const struct CMUnitTest texts[] = { cmocka_unit_test(scores), cmocka_unit_test(ranks), cmocka_unit_test(conversations) };
    const struct CMUnitTest ends[] = { cmocka_unit_test(cut_inside), cmocka_unit_test(cut_sides) };
    const struct CMUnitTest both[] = { cmocka_unit_test(chosen_by_route) }, llama[] = { cmocka_unit_test(no_vectors) };
    int failed = cmocka_run_group_tests(tokens, open_tokens, close_server);
    failed += cmocka_run_group_tests(texts, open_text, close_server);
    failed += cmocka_run_group_tests(ends, open_ends, close_server);
    failed += cmocka_run_group_tests(both, open_both, close_server);
    return failed + cmocka_run_group_tests(llama, open_llama, close_server);
}
