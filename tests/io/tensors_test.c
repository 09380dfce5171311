/* SPDX-License-Identifier: Apache-2.0
 * tensors_test.c: safetensors written by vc_safetensors_write and read back: one file, folders with and without
 * index. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/compat.h"
#include "io/safetensors.h"

static const float data_a[6] = { 1, 2, 3, 4, 5, 6 };
static const uint16_t data_b[3] = { 0x3F80, 0x4000, 0x4040 };
static const struct vc_tensor a = {
    .name = "layer.0.a", .dtype = VC_F32, .n_dims = 2, .dims = { 2, 3 }, .data = data_a
};
static const struct vc_tensor b = {
    .name = "b \"quoted\" é", .dtype = VC_BF16, .n_dims = 1, .dims = { 3 }, .data = data_b
};
static const struct vc_tensor scalar = { .name = "scalar", .dtype = VC_U8, .data = "\7" };
static const struct vc_tensor none = { .name = "none", .dtype = VC_F32, .n_dims = 2, .dims = { 0, 5 } };

static const char *folder(const char *name) {
    static char path[4][512];
    static int at;
    char *p = path[at++ % 4];
    snprintf(p, sizeof path[0], "%s/tensors_%s", VC_TEST_TMP, name);
    mkdir(p, 0700);
    return p;
}

static const char *in(const char *dir, const char *name) {
    static char path[4][640];
    static int at;
    char *p = path[at++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static void save(const char *path, const struct vc_tensor *v, size_t n) {
    vc_err err = VC_ERR_INIT;
    if (vc_safetensors_write(path, v, n, &err)) fail_msg("%s", err.text);
}

static void save_text(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void refused(const char *path, vc_status want, const char *word, const char *other) {
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_tensors_open_safetensors(&t, path, &err);
    if (s != want || t || !strstr(err.text, word) || !strstr(err.text, other))
        fail_msg("%s: '%s' lacks '%s' or '%s'", vc_status_name(s), err.text, word, other);
}

static void test_one_file(void **state) {
    (void)state;
    const struct vc_tensor v[] = { a, b, scalar, none };
    const char *path = in(folder("one"), "x.safetensors");
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    save(path, v, 4);
    if (vc_tensors_open_safetensors(&t, path, &err)) fail_msg("%s", err.text);
    assert_int_equal(vc_tensors_count(t), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct vc_tensor *x = vc_tensors_find(t, v[i].name);
        assert_ptr_equal(x, vc_tensors_at(t, i));
        assert_true(x && x->dtype == v[i].dtype && x->n_dims == v[i].n_dims &&
                    !memcmp(x->dims, v[i].dims, sizeof x->dims));
        if (x->bytes) assert_memory_equal(x->data, v[i].data, x->bytes);
    }
    assert_true(vc_tensor_elems(vc_tensors_at(t, 2)) == 1 && vc_tensor_elems(vc_tensors_at(t, 3)) == 0);
    assert_null(vc_tensors_find(t, "layer.0"));
    vc_tensors_close(t);
    vc_tensors_close(NULL);
    assert_int_not_equal(access(in(folder("one"), "x.safetensors.tmp"), F_OK), 0);
    assert_int_equal(vc_safetensors_write("/there/is/none", v, 4, &err), VC_E_IO);
    const struct vc_tensor q = { .name = "q", .dtype = VC_Q4_0, .n_dims = 1, .dims = { 32 } };
    assert_int_equal(vc_safetensors_write(path, &q, 1, &err), VC_E_UNSUPPORTED);
}

static void test_folder(void **state) {
    (void)state;
    const char *dir = folder("plain");
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    save(in(dir, "2.safetensors"), &b, 1);
    save(in(dir, "1.safetensors"), &a, 1);
    save(in(dir, "golden.safetensors"), &a, 1);             /* not part of a model */
    save(in(dir, "vllm_logits.safetensors"), &a, 1);
    if (vc_tensors_open_safetensors(&t, dir, &err)) fail_msg("%s", err.text);
    assert_int_equal(vc_tensors_count(t), 2);
    assert_string_equal(vc_tensors_file(t, 0), in(dir, "1.safetensors"));
    const struct vc_tensor *x = vc_tensors_find(t, b.name);
    assert_true(x && x->file == 1);
    vc_tensors_drop(t, x);
    assert_memory_equal(x->data, data_b, 6);
    vc_tensors_close(t);
    dir = folder("double");
    save(in(dir, "1.safetensors"), &a, 1);
    save(in(dir, "2.safetensors"), &a, 1);
    refused(dir, VC_E_FORMAT, "'layer.0.a' is in two files", "2.safetensors");
    refused(folder("nothing"), VC_E_NOT_FOUND, "no *.safetensors", "tensors_nothing");
    refused("/there/is/none", VC_E_NOT_FOUND, "No such file", "/there/is/none");
}

static const char *indexed(const char *name, const char *index) {
    const char *dir = folder(name);
    save(in(dir, "m-1.safetensors"), &a, 1);
    save(in(dir, "m-2.safetensors"), &scalar, 1);
    save(in(dir, "other.safetensors"), &a, 1);          /* not in the index: never opened */
    save_text(in(dir, "model.safetensors.index.json"), index);
    return dir;
}

static void test_index(void **state) {
    (void)state;
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    const char *dir = indexed("index", "{\"metadata\":{\"total_size\":25},\"weight_map\":{\"scalar\":\"m-2."
                                       "safetensors\",\"layer.0.a\":\"m-1.safetensors\"}}");
    if (vc_tensors_open_safetensors(&t, dir, &err)) fail_msg("%s", err.text);
    assert_int_equal(vc_tensors_count(t), 2);
    assert_string_equal(vc_tensors_file(t, vc_tensors_find(t, "scalar")->file), in(dir, "m-2.safetensors"));
    vc_tensors_close(t);
    static const struct { const char *name, *index, *word; vc_status status;
    } bad[] = {
        { "i1", "{\"weight_map\":{\"scalar\":\"m-1.safetensors\"}}", "'scalar' is not in 'm-1.safetensors'",
          VC_E_FORMAT },
        { "i2", "{\"weight_map\":{\"layer.0.a\":\"m-1.safetensors\",\"x\":\"m-1.safetensors\"}}", "'x' is not in",
          VC_E_FORMAT },
        { "i3", "{\"weight_map\":{\"layer.0.a\":\"m-9.safetensors\"}}", "No such file", VC_E_NOT_FOUND },
        { "i4", "{\"weight_map\":{\"layer.0.a\":\"../index/m-1.safetensors\"}}",
          "'weight_map.layer.0.a' is not the name of a file", VC_E_FORMAT },
        { "i5", "{\"weight_map\":{\"layer.0.a\":\"..\"}}", "is not the name of a file", VC_E_FORMAT },
        { "i6", "{\"weight_map\":{\"layer.0.a\":7}}", "is not the name of a file", VC_E_FORMAT },
        { "i7", "{\"weight_map\":{\"layer.0.a\":\"m-1.safetensors\\u0000\"}}", "is not the name of a file",
          VC_E_FORMAT },
        { "i8", "{\"weight_map\":{}}", "'weight_map' is empty", VC_E_FORMAT },
        { "i9", "{}", "'weight_map' is missing", VC_E_NOT_FOUND },
        { "i10", "{\"weight_map\":[]}", "'weight_map' is of type array", VC_E_FORMAT },
        { "i11", "{\"weight_map\":", "model.safetensors.index.json:1", VC_E_FORMAT },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(bad); i++)
        refused(indexed(bad[i].name, bad[i].index), bad[i].status, bad[i].word, "tensors_i");
}

static void test_metadata(void **state) {
    (void)state;
    static const char json[] = "{\"__metadata__\":{\"format\":\"pt\"},\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_"
                               "offsets\":[0,1]}}";
    uint8_t bytes[8 + sizeof json] = { sizeof json - 1 };
    struct vc_safetensors s;
    struct vc_arena arena = { 0 };
    memcpy(bytes + 8, json, sizeof json);
    assert_int_equal(vc_safetensors_parse(&s, &arena, bytes, sizeof bytes, "in memory", NULL), VC_OK);
    assert_true(s.n == 1 && s.n_meta == 1);
    assert_string_equal(s.meta[0].key, "format");
    assert_string_equal(s.meta[0].value, "pt");
    vc_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_one_file), cmocka_unit_test(test_folder),
                                        cmocka_unit_test(test_index), cmocka_unit_test(test_metadata) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
