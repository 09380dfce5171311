/* SPDX-License-Identifier: Apache-2.0
 * Embeddings through the public API: against the f64 run of transformers and against vLLM, the same bits however a prompt is
 * computed, what the files of a model may say, and what is refused by name. */
#include "test.h"

#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/json.h"
#include "io/tensors.h"
#include "vllmc.h"

enum { HIDDEN = 64, PROMPTS = 5 };
struct vectors { float v[PROMPTS][HIDDEN]; };

static vc_status try_open(vc_model **m, const vc_model_params *p, vc_err *err) {
    vc_model_params q = *p;
    q.kv_cache_memory_bytes = 16 << 20;
    if (!q.threads) q.threads = 2;
    return vc_model_open(m, &q, err);
}

static vc_model *open_model(const vc_model_params *p) {
    vc_model *m = NULL;
    vc_err err = VC_ERR_INIT;
    if (try_open(&m, p, &err) != VC_OK) fail_msg("%s", err.text);
    return m;
}

static vc_model_params params(const char *path, const char *pooler) {
    vc_model_params p;
    vc_model_params_init(&p);
    p.path = path;
    p.pooler_config = pooler;
    return p;
}

static json_t *golden(const char *model) {
    char name[128];
    json_t *root = NULL;
    vc_err err = VC_ERR_INIT;
    snprintf(name, sizeof name, "models/%s/golden.json", model);
    if (vc_json_load(&root, vc_golden(name), &err) != VC_OK) fail_msg("%s", err.text);
    return root;
}

static uint32_t prompt_of(const json_t *root, uint32_t i, int32_t *ids) {
    const json_t *list = json_array_get(json_object_get(root, "prompts"), i);
    for (size_t k = 0; k < json_array_size(list); k++) ids[k] = (int32_t)json_integer_value(json_array_get(list, k));
    return (uint32_t)json_array_size(list);
}

static void submit(vc_model *m, const int32_t *ids, uint32_t n, int activation, size_t user) {
    vc_request_params p;
    vc_err err = VC_ERR_INIT;
    vc_request_params_init(&p);
    p.prompt_ids = ids;
    p.num_prompt_ids = n;
    p.use_activation = activation;
    p.user = (void *)user;
    if (vc_submit(m, &p, NULL, &err) != VC_OK) fail_msg("%s", err.text);
}

/* All that is in the engine, each into its place. */
static uint32_t collect(vc_model *m, struct vectors *out) {
    vc_err err = VC_ERR_INIT;
    vc_output *o;
    uint32_t cached = 0;
    vc_status s;
    while ((s = vc_next(m, -1, &o, &err)) == VC_OK) {
        if (o->error.status != VC_OK) fail_msg("%s", o->error.text);
        assert_true(o->finished && o->request_finished);
        assert_string_equal(o->finish_reason, "stop");
        assert_int_equal(o->num_token_ids, 0);
        assert_int_equal(o->num_embedding, HIDDEN);
        memcpy(out->v[(size_t)o->user], o->embedding, sizeof out->v[0]);
        cached += o->num_cached_tokens;
        vc_output_free(o);
    }
    assert_int_equal(s, VC_E_DONE);
    return cached;
}

/* The prompts of a golden, one after the other, or all at once. */
static uint32_t run(vc_model *m, const json_t *root, bool together, struct vectors *out) {
    uint32_t cached = 0;
    for (uint32_t i = 0; i < PROMPTS; i++) {
        int32_t ids[128];
        uint32_t n = prompt_of(root, i, ids);
        submit(m, ids, n, -1, i);
        if (!together) cached += collect(m, out);
    }
    return cached + collect(m, out);
}

static double cosine(const float *a, const float *b) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < HIDDEN; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

static double largest_difference(const float *a, const float *b) {
    double most = 0;
    for (int i = 0; i < HIDDEN; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

static const struct kind { const char *model, *pooler, *tensor; bool recorded; } kinds[] = {
    { "qwen3-embed", NULL, "pooled_last", true },
    { "qwen3-embed", "{\"pooling_type\":\"MEAN\"}", "pooled_mean", false },
    { "qwen3-embed", "{\"seq_pooling_type\":\"CLS\"}", "pooled_cls", false },
    { "llama-embed", "{\"pooling_type\":\"MEAN\"}", "pooled_mean", true },
    { "llama-embed", "{\"pooling_type\":\"LAST\",\"use_activation\":null}", "pooled_last", false },
    { "llama-embed", "{\"pooling_type\":\"CLS\",\"task\":\"embed\"}", "pooled_cls", false },
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const char *folder(const char *model) {
    static char name[64];
    snprintf(name, sizeof name, "models/%s", model);
    return vc_golden(name);
}

static void read_truth(const struct kind *k, struct vectors *t) {
    char name[64];
    struct vc_tensors *ts = NULL;
    vc_err err = VC_ERR_INIT;
    snprintf(name, sizeof name, "models/%s/golden.safetensors", k->model);
    if (vc_tensors_open_safetensors(&ts, vc_golden(name), &err) != VC_OK) fail_msg("%s", err.text);
    for (int i = 0; i < PROMPTS; i++) {
        snprintf(name, sizeof name, "%s.%d", k->tensor, i);
        const struct vc_tensor *x = vc_tensors_find(ts, name);
        assert_non_null(x);
        assert_int_equal(x->bytes, sizeof t->v[i]);
        memcpy(t->v[i], x->data, sizeof t->v[i]);
    }
    vc_tensors_close(ts);
}

/* Cosine to the f64 run under the default profile (vLLM's roundings in bf16) and under f32. */
static void truth(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct vectors want, got;
        json_t *root = golden(kinds[k].model);
        read_truth(&kinds[k], &want);
        for (int f32 = 0; f32 < 2; f32++) {
            vc_model_params p = params(folder(kinds[k].model), kinds[k].pooler);
            if (f32) p.numerics = "f32";
            vc_model *m = open_model(&p);
            run(m, root, true, &got);
            double least = 1;
            for (int i = 0; i < PROMPTS; i++) least = fmin(least, cosine(got.v[i], want.v[i]));
            print_message("%s %s %s: smallest cosine 1 - %.3g\n", kinds[k].model, kinds[k].tensor, f32 ? "f32" : "vllm", 1 - least);
            assert_true(least >= (f32 ? 1 - 1e-11 : 0.9998));
            if (f32)
                for (int i = 0; i < PROMPTS; i++) assert_true(largest_difference(got.v[i], want.v[i]) < 2e-6);
            else if (kinds[k].recorded) assert_true(least >= 0.9999);
            vc_model_close(&m);
        }
        json_decref(root);
    }
}

/* vLLM's own vectors, recorded to six digits. */
static void as_vllm(void **state) {
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        struct vectors got;
        if (!kinds[k].recorded) continue;
        json_t *root = golden(kinds[k].model), *list = vc_json_at(root, "refs.vllm_bf16_cc1.pooled");
        vc_model_params p = params(folder(kinds[k].model), kinds[k].pooler);
        vc_model *m = open_model(&p);
        run(m, root, false, &got);
        double most = 0;
        for (int i = 0; i < PROMPTS; i++)
            for (int d = 0; d < HIDDEN; d++)
                most = fmax(most, fabs((double)got.v[i][d] - json_number_value(json_array_get(json_array_get(list, (size_t)i), (size_t)d))));
        print_message("%s: largest difference to vLLM %.3g\n", kinds[k].model, most);
        assert_true(most < 1.01e-6);
        vc_model_close(&m);
        json_decref(root);
    }
}

/* Alone, together, in small chunks, with warm and without prefix cache, on one thread: the same bits. */
static void same_bits(void **state) {
    (void)state;
    for (int k = 0; k < 4; k++) {
        struct vectors base, got;
        json_t *root = golden(kinds[k].model);
        vc_model_params p = params(folder(kinds[k].model), kinds[k].pooler);
        vc_model *m = open_model(&p);
        assert_int_equal(run(m, root, false, &base), 0);
        uint32_t cached = run(m, root, true, &got);
        assert_memory_equal(&got, &base, sizeof base);
        assert_int_equal(cached, !strcmp(kinds[k].tensor, "pooled_last") ? 16 + 32 + 64 : 0);     /* of 17, 40 and 75 tokens; others need every row */
        vc_model_close(&m);
        for (int how = 0; how < 3; how++) {
            vc_model_params q = p;
            q.max_num_batched_tokens = how == 0 ? 7 : how == 1 ? 16 : 2048;
            q.enable_prefix_caching = how == 1;
            q.threads = how == 2 ? 1 : 3;
            q.no_fuse = how == 2;
            m = open_model(&q);
            run(m, root, how != 2, &got);
            assert_memory_equal(&got, &base, sizeof base);
            vc_model_close(&m);
        }
        json_decref(root);
    }
}

/* A pool of six pages, and chunks of 16 tokens side by side: the later ones are set back and begin again. */
static void small_pool(void **state) {
    (void)state;
    for (int k = 0; k < 3; k++) {
        struct vectors base, got;
        json_t *root = golden(kinds[k].model);
        vc_model_params p = params(folder(kinds[k].model), kinds[k].pooler);
        vc_model *m = open_model(&p);
        run(m, root, false, &base);
        vc_model_info info = { .struct_size = sizeof info };
        vc_model_get_info(m, &info);
        vc_model_close(&m);
        p.max_model_len = 96;
        p.max_num_batched_tokens = 64;
        p.reserve_full_isl = p.enable_prefix_caching = 0;
        p.long_prefill_token_threshold = 16;
        p.kv_cache_memory_bytes = info.kv_bytes / (info.num_kv_blocks + 1) * 6 + 4096;
        vc_err err = VC_ERR_INIT;
        p.threads = 2;
        if (vc_model_open(&m, &p, &err) != VC_OK) fail_msg("%s", err.text);
        int32_t ids[128];
        static const uint32_t which[] = { 4, 4, 4, 3 };
        for (uint32_t i = 0; i < 4; i++) {
            uint32_t n = prompt_of(root, which[i], ids);
            submit(m, ids, n, -1, i);
        }
        collect(m, &got);
        for (uint32_t i = 0; i < 4; i++) assert_memory_equal(got.v[i], base.v[which[i]], sizeof got.v[i]);
        vc_stats stats = { .struct_size = sizeof stats };
        assert_int_equal(vc_get_stats(m, &stats), VC_OK);
        assert_true(stats.preemptions > 0);
        assert_int_equal(stats.prompt_tokens, 3 * 75 + 40);
        assert_int_equal(stats.running + stats.waiting, 0);
        vc_model_close(&m);
        json_decref(root);
    }
}

/* Not normalised: the hidden state itself; transformers' f32 run of a model with an output head has it as the head's input. */
static void hidden_states(void **state) {
    (void)state;
    struct vectors got;
    json_t *root = golden("llama");
    struct vc_tensors *ts = NULL;
    vc_err err = VC_ERR_INIT;
    if (vc_tensors_open_safetensors(&ts, vc_golden("models/llama/golden.safetensors"), &err) != VC_OK) fail_msg("%s", err.text);
    const struct vc_tensor *x = vc_tensors_find(ts, "hidden.norm");
    vc_model_params p = params(vc_golden("models/llama/config.json"), NULL);
    char path[1024];
    snprintf(path, sizeof path, "%.*s", (int)(strlen(p.path) - strlen("/config.json")), p.path);
    p.path = path;
    p.convert = "embed";
    p.numerics = "f32";
    vc_model *m = open_model(&p);
    int32_t ids[128];
    uint32_t n = prompt_of(root, 1, ids);
    submit(m, ids, n, 0, 0);
    submit(m, ids, n, 1, 1);
    collect(m, &got);
    const float *want = (const float *)x->data + (size_t)(n - 1) * HIDDEN;
    assert_true(largest_difference(got.v[0], want) < 2e-5);
    double length = 0;
    for (int i = 0; i < HIDDEN; i++) length += (double)got.v[1][i] * (double)got.v[1][i];
    assert_true(fabs(length - 1) < 1e-6);
    assert_true(cosine(got.v[0], got.v[1]) > 1 - 1e-12);
    vc_model_close(&m);
    vc_tensors_close(ts);
    json_decref(root);
}

/* ---- files ---- */

static void put(const char *dir, const char *name, const char *text) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* A folder beside the golden's weights, with more lines in its config.json. */
static const char *copy_model(const char *model, const char *name, const char *more) {
    static char dir[1100];
    char from[1200], to[1200], text[8192] = "{";
    snprintf(dir, sizeof dir, "%s/embed-%d-%s", VC_TEST_TMP, (int)getpid(), name);
    mkdir(dir, 0700);
    snprintf(from, sizeof from, "%s/model.safetensors", folder(model));
    snprintf(to, sizeof to, "%s/model.safetensors", dir);
    unlink(to);
    assert_int_equal(symlink(from, to), 0);
    snprintf(from, sizeof from, "%s/config.json", folder(model));
    FILE *f = fopen(from, "rb");
    assert_non_null(f);
    strcat(text, more);
    size_t at = strlen(text), n = fread(text + at, 1, sizeof text - at - 1, f);
    fclose(f);
    text[at + n] = '\0';
    *strchr(text + at, '{') = ' ';
    put(dir, "config.json", text);
    return dir;
}

static void remove_model(const char *dir) {
    static const char *const names[] = { "model.safetensors", "config.json", "modules.json", "1_Pooling/config.json", "1_Pooling", "" };
    char path[1200];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        remove(path);
    }
}

static void refused(const vc_model_params *p, vc_status want, const char *word) {
    vc_model *m = NULL;
    vc_err err = VC_ERR_INIT;
    vc_status s = try_open(&m, p, &err);
    if (s != want || !strstr(err.text, word)) fail_msg("%s: '%s' (expected '%s')", vc_status_name(s), err.text, word);
    assert_null(m);
}

static void sentence_transformers(void **state) {
    (void)state;
    struct vectors want, got;
    const struct kind mean = kinds[1];
    json_t *root = golden("qwen3-embed");
    read_truth(&mean, &want);
    const char *dir = copy_model("qwen3-embed", "st", "");
    char sub[1200];
    snprintf(sub, sizeof sub, "%s/1_Pooling", dir);
    mkdir(sub, 0700);
    put(dir, "modules.json", "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
                             "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}]");
    put(dir, "1_Pooling/config.json", "{\"word_embedding_dimension\":64,\"pooling_mode_cls_token\":false,\"pooling_mode_mean_tokens\":true,\"include_prompt\":true}");
    vc_model_params p = params(dir, NULL);
    p.numerics = "f32";
    vc_model *m = open_model(&p);
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(m, &info);
    assert_string_equal(info.pooling, "MEAN");
    run(m, root, true, &got);
    double length = 0;
    for (int i = 0; i < PROMPTS; i++) assert_true(cosine(got.v[i], want.v[i]) > 1 - 1e-11);
    for (int i = 0; i < HIDDEN; i++) length += (double)got.v[0][i] * (double)got.v[0][i];
    assert_true(length > 1.5);                              /* no Normalize module */
    vc_model_close(&m);
    put(dir, "1_Pooling/config.json", "{\"pooling_mode_max_tokens\":true}");
    refused(&p, VC_E_UNSUPPORTED, "pooling_mode_max_tokens");
    put(dir, "modules.json", "[{\"path\":\"2_Dense\",\"type\":\"sentence_transformers.models.Dense\"}]");
    refused(&p, VC_E_UNSUPPORTED, "Dense");
    put(dir, "modules.json", "[{\"path\":\"../x\",\"type\":\"sentence_transformers.models.Pooling\"}]");
    refused(&p, VC_E_FORMAT, "Pooling");
    put(dir, "modules.json", "{}");
    refused(&p, VC_E_FORMAT, "modules.json");
    remove_model(dir);
    json_decref(root);
}

/* A copy of a GGUF with `key` and one key more in front, 64 bytes together, so that the data stays where alignment wants it. */
static const char *gguf_with(const char *key, uint32_t value) {
    static char path[1100];
    char more[64] = "";
    size_t n = strlen(key), at = 0, rest = 64 - 2 * 16 - n, cap = 1 << 22;
    uint64_t len = n, pad = rest, kv;
    const uint32_t type = 4;                                /* u32 */
    memcpy(more, &len, 8);
    memcpy(more + 8, key, n);
    memcpy(more + 8 + n, &type, 4);
    memcpy(more + 12 + n, &value, 4);
    at = 16 + n;
    memcpy(more + at, &pad, 8);
    memset(more + at + 8, 'p', rest);
    memcpy(more + at + 8 + rest, &type, 4);
    char *whole = malloc(cap);
    FILE *f = fopen(vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), "rb");
    assert_non_null(whole);
    assert_non_null(f);
    size_t size = fread(whole, 1, cap, f);
    fclose(f);
    assert_true(size > 24 && size < cap);
    memcpy(&kv, whole + 16, 8);
    kv += 2;
    memcpy(whole + 16, &kv, 8);
    snprintf(path, sizeof path, "%s/embed-%d.gguf", VC_TEST_TMP, (int)getpid());
    f = fopen(path, "wb");
    assert_non_null(f);
    fwrite(whole, 1, 24, f);
    fwrite(more, 1, 64, f);
    fwrite(whole + 24, 1, size - 24, f);
    fclose(f);
    free(whole);
    return path;
}

/* llama.cpp's numbers: 0 none, 1 mean, 2 cls, 3 last, 4 rank. */
static void gguf(void **state) {
    (void)state;
    static const char *const names[] = { NULL, "MEAN", "CLS", "LAST" };
    for (uint32_t type = 0; type < 4; type++) {
        vc_model_params p = params(gguf_with("llama.pooling_type", type), NULL);
        vc_model *m = open_model(&p);
        vc_model_info info = { .struct_size = sizeof info };
        vc_model_get_info(m, &info);
        if (names[type]) assert_string_equal(info.pooling, names[type]);
        else assert_null(info.pooling);
        vc_model_close(&m);
        p.runner = "generate";                              /* the user has the last word */
        m = open_model(&p);
        vc_model_get_info(m, &info);
        assert_null(info.pooling);
        vc_model_close(&m);
    }
    vc_model_params p = params(gguf_with("llama.pooling_type", 4), NULL);
    refused(&p, VC_E_UNSUPPORTED, "pooling_type");
    unlink(p.path);
}

static vc_output *one(vc_model *m, uint32_t dimensions) {
    vc_request_params p;
    vc_err err = VC_ERR_INIT;
    vc_output *o = NULL;
    vc_request_params_init(&p);
    p.prompt_ids = (const int32_t[]){ 5, 6, 7 };
    p.num_prompt_ids = 3;
    p.dimensions = dimensions;
    if (vc_submit(m, &p, NULL, &err) != VC_OK) fail_msg("%s", err.text);
    assert_int_equal(vc_next(m, -1, &o, &err), VC_OK);
    return o;
}

static void not_taken(vc_model *m, vc_request_params *p, vc_status want, const char *word) {
    vc_err err = VC_ERR_INIT;
    p->prompt_ids = p->prompt_ids ? p->prompt_ids : (const int32_t[]){ 5 };
    p->num_prompt_ids = p->num_prompt_ids ? p->num_prompt_ids : 1;
    vc_status s = vc_submit(m, p, NULL, &err);
    if (s != want || !strstr(err.text, word)) fail_msg("%s: '%s' (expected '%s')", vc_status_name(s), err.text, word);
}

static void dimensions(void **state) {
    (void)state;
    const char *dir = copy_model("qwen3-embed", "dims", "\"matryoshka_dimensions\":[16,32,64,128],");
    vc_model_params p = params(dir, NULL);
    vc_model *m = open_model(&p);
    vc_output *whole = one(m, 0), *cut = one(m, 16);
    assert_int_equal(whole->num_embedding, HIDDEN);
    assert_int_equal(cut->num_embedding, 16);
    double length = 0;
    for (int i = 0; i < 16; i++) {
        length += (double)cut->embedding[i] * (double)cut->embedding[i];
        assert_true(fabs((double)(cut->embedding[i] / whole->embedding[i] - cut->embedding[0] / whole->embedding[0])) < 1e-5);
    }
    assert_true(fabs(length - 1) < 1e-6);                   /* cut first, then brought to length 1 */
    vc_output_free(whole);
    vc_output_free(cut);
    vc_request_params r;
    vc_request_params_init(&r);
    r.dimensions = 17;
    not_taken(m, &r, VC_E_INVALID, "only supports [16, 32, 64, 128]");
    r.dimensions = 128;
    not_taken(m, &r, VC_E_INVALID, "have 64");
    vc_model_close(&m);
    p.pooler_config = "{\"dimensions\":32}";
    m = open_model(&p);
    whole = one(m, 0);
    assert_int_equal(whole->num_embedding, 32);
    vc_output_free(whole);
    vc_model_close(&m);
    remove_model(dir);
}

static void requests(void **state) {
    (void)state;
    vc_model_params p = params(folder("qwen3-embed"), "{\"max_embed_len\":100}");
    vc_model *m = open_model(&p);
    int32_t ids[512] = { 0 };
    vc_request_params r;
    vc_request_params_init(&r);
    r.dimensions = 32;
    not_taken(m, &r, VC_E_INVALID, "matryoshka");
    vc_request_params_init(&r);
    r.sampling.n = 2;
    not_taken(m, &r, VC_E_INVALID, "one embedding");
    vc_request_params_init(&r);
    r.constraint_kind = "regex";
    r.constraint = "a";
    not_taken(m, &r, VC_E_INVALID, "constraints");
    vc_request_params_init(&r);
    r.prompt_ids = ids;
    r.num_prompt_ids = 101;
    not_taken(m, &r, VC_E_TOO_LONG, "max_embed_len");
    vc_model_close(&m);
    p = params(folder("qwen3-embed"), NULL);                /* the whole context may be prompt */
    m = open_model(&p);
    vc_output *o = NULL;
    vc_err err = VC_ERR_INIT;
    r.num_prompt_ids = 512;
    if (vc_submit(m, &r, NULL, &err) != VC_OK) fail_msg("%s", err.text);
    assert_int_equal(vc_next(m, -1, &o, &err), VC_OK);
    assert_int_equal(o->num_embedding, HIDDEN);
    vc_output_free(o);
    vc_model_close(&m);
    p = params(vc_golden("gguf-quants/models/tiny-Q4_0.gguf"), NULL);
    m = open_model(&p);
    vc_model_info info = { .struct_size = sizeof info };
    vc_model_get_info(m, &info);
    assert_null(info.pooling);
    vc_request_params_init(&r);
    r.use_activation = 1;
    not_taken(m, &r, VC_E_INVALID, "generates text");
    vc_model_close(&m);
}

static void wishes(void **state) {
    (void)state;
    static const struct { const char *runner, *convert, *pooler; vc_status want; const char *word; } bad[] = {
        { "draft", NULL, NULL, VC_E_UNSUPPORTED, "runner" }, { "x", NULL, NULL, VC_E_INVALID, "runner" }, { NULL, "classify", NULL, VC_E_UNSUPPORTED, "classif" },
        { NULL, "x", NULL, VC_E_INVALID, "convert" }, { "generate", NULL, NULL, VC_E_FORMAT, "lm_head.weight is missing" }, { "generate", "embed", NULL, VC_E_INVALID, "convert" },
        { NULL, NULL, "[]", VC_E_INVALID, "object" }, { NULL, NULL, "{", VC_E_FORMAT, "pooler_config" }, { NULL, NULL, "{\"pooling_type\":\"ALL\"}", VC_E_UNSUPPORTED, "ALL" },
        { NULL, NULL, "{\"pooling_type\":\"max\"}", VC_E_INVALID, "pooling_type" }, { NULL, NULL, "{\"normalize\":true}", VC_E_INVALID, "use_activation" },
        { NULL, NULL, "{\"step_tag_id\":1}", VC_E_UNSUPPORTED, "step_tag_id" }, { NULL, NULL, "{\"dimensions\":32}", VC_E_INVALID, "matryoshka" },
        { NULL, NULL, "{\"enable_chunked_processing\":true}", VC_E_UNSUPPORTED, "enable_chunked_processing" }, { NULL, NULL, "{\"use_activation\":1}", VC_E_INVALID, "use_activation" },
        { NULL, NULL, "{\"pooling_type\":\"CLS\",\"seq_pooling_type\":\"CLS\"}", VC_E_INVALID, "both" }, { NULL, NULL, "{\"max_embed_len\":0}", VC_E_INVALID, "max_embed_len" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        vc_model_params p = params(folder("qwen3-embed"), bad[i].pooler);
        p.runner = bad[i].runner;
        p.convert = bad[i].convert;
        refused(&p, bad[i].want, bad[i].word);
    }
    vc_model_params p = params(folder("llama"), "{\"pooling_type\":\"LAST\"}");
    refused(&p, VC_E_INVALID, "generates text");
    p.runner = "pooling";
    p.convert = "none";
    refused(&p, VC_E_INVALID, "LlamaForCausalLM generates text");
    const char *dir = copy_model("qwen3-embed", "both", "\"is_causal\":false,");
    p = params(dir, NULL);
    refused(&p, VC_E_UNSUPPORTED, "is_causal");
    remove_model(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(truth), cmocka_unit_test(as_vllm), cmocka_unit_test(same_bits), cmocka_unit_test(small_pool),
                                        cmocka_unit_test(hidden_states), cmocka_unit_test(sentence_transformers), cmocka_unit_test(gguf), cmocka_unit_test(dimensions),
                                        cmocka_unit_test(requests), cmocka_unit_test(wishes) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
