/* SPDX-License-Identifier: Apache-2.0
 * gguf_split_test.c: three-part models made here, whole and damaged. */
#include "gguf_writer.h"

#include <unistd.h>

#include "io/tensors.h"

/* What goes into a part; `no`, `count` as written in its keys. */
struct part { uint16_t no, count; int32_t tensors; const char *name; };

static const char *part_path(const char *stem, int i, int n) {
    static char path[8][512];
    static int at;
    char *p = path[at++ % 8];
    snprintf(p, sizeof path[0], "%s/split_%s-%05d-of-%05d.gguf", VC_TEST_TMP, stem, i, n);
    return p;
}

static void write_part(const char *path, const struct part *x, float value) {
    struct vc_buf b = { 0 };
    const uint64_t ne[2] = { 4, 2 };
    gw_begin(&b, 1, x->tensors >= 0 ? 3 : 2);
    gw_kv(&b, "split.no", VC_GGUF_U16, &x->no, 2);
    gw_kv(&b, "split.count", VC_GGUF_U16, &x->count, 2);
    if (x->tensors >= 0) gw_kv(&b, "split.tensors.count", VC_GGUF_I32, &x->tensors, 4);
    gw_tensor(&b, x->name, 2, ne, 0, 0);
    gw_pad(&b, 32);
    for (int i = 0; i < 8; i++) vc_buf_add(&b, (const char *)&value, 4);
    gw_save(&b, path);
    vc_buf_free(&b);
}

static const struct part good[3] = { { 0, 3, 3, "a" }, { 1, 3, 3, "b" }, { 2, 3, 3, "c" } };

static void write_all(const char *stem, const struct part x[3]) {
    for (int i = 0; i < 3; i++) write_part(part_path(stem, i + 1, 3), &x[i], (float)(i + 1));
}

static void refused(const char *path, vc_status want, const char *word, const char *file) {
    struct vc_gguf *g;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_gguf_open(&g, path, &err);
    if (s != want || g || !strstr(err.text, word) || !strstr(err.text, file))
        fail_msg("%s: '%s' lacks '%s' or '%s'", vc_status_name(s), err.text, word, file);
}

static void test_good(void **state) {
    (void)state;
    struct vc_gguf *g;
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    write_all("good", good);
    if (vc_gguf_open(&g, part_path("good", 1, 3), &err)) fail_msg("%s", err.text);
    assert_int_equal(vc_gguf_num_files(g), 3);
    assert_int_equal(vc_tensors_open_gguf(&t, g, &err), VC_OK);
    assert_int_equal(vc_tensors_count(t), 3);
    assert_int_equal(vc_tensors_num_files(t), 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct vc_tensor *x = vc_tensors_find(t, good[i].name);
        float v;
        assert_true(x && x->file == i && x->bytes == 32 && x->dims[0] == 2 && x->dims[1] == 4);
        assert_string_equal(vc_tensors_file(t, i), part_path("good", (int)i + 1, 3));
        vc_tensors_drop(t, x);
        memcpy(&v, x->data, 4);
        assert_true(v == (float)(i + 1));
    }
    vc_tensors_close(t);
    vc_gguf_close(g);
}

static void test_bad(void **state) {
    (void)state;
    struct part x[3];
    write_all("later", good);
    refused(part_path("later", 2, 3), VC_E_INVALID, "is part 2 of 3", "-00001-of-00003.gguf");

    write_all("missing", good);
    assert_int_equal(unlink(part_path("missing", 3, 3)), 0);
    refused(part_path("missing", 1, 3), VC_E_NOT_FOUND, "part 3 of 3", part_path("missing", 3, 3));

    memcpy(x, good, sizeof x);
    x[1].no = 2;
    write_all("number", x);
    refused(part_path("number", 1, 3), VC_E_FORMAT, "are 2 and 3, expected 1 and 3", part_path("number", 2, 3));

    memcpy(x, good, sizeof x);
    x[2].name = "a";
    write_all("twice", x);
    refused(part_path("twice", 1, 3), VC_E_FORMAT, "tensor 'a' is there twice", part_path("twice", 3, 3));

    memcpy(x, good, sizeof x);
    x[0].tensors = 4;
    write_all("count", x);
    refused(part_path("count", 1, 3), VC_E_FORMAT, "'split.tensors.count' is 4", "hold 3 tensors");

    write_part(VC_TEST_TMP "/split_named_otherwise.gguf", &good[0], 1);
    refused(VC_TEST_TMP "/split_named_otherwise.gguf", VC_E_FORMAT, "must end in -00001-of-00003.gguf", "split.count");
}

static void test_memory(void **state) {
    (void)state;
    struct vc_buf b = { 0 };
    struct vc_gguf *g;
    vc_err err = VC_ERR_INIT;
    gw_begin(&b, 0, 1);
    gw_kv(&b, "split.count", VC_GGUF_U16, "\2\0", 2);
    assert_int_equal(vc_gguf_open_mem(&g, b.p, b.n, "in memory", &err), VC_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "in memory"));
    vc_buf_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_good), cmocka_unit_test(test_bad),
                                        cmocka_unit_test(test_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
