/* SPDX-License-Identifier: Apache-2.0
 * malformed_test.c: every file of goldens/gguf-quants/malformed has the outcome that cases.jsonl expects, and each
 * message names the file. error_model files open here: what is wrong with them is the model's matter. */
#include "test.h"

#include "io/json.h"
#include "io/map.h"
#include "io/tensors.h"

static vc_status open_any(const char *path, vc_err *err) {
    struct vc_gguf *g = NULL;
    struct vc_tensors *t = NULL;
    bool gguf = vc_str_ends(vc_str_of(path), ".gguf");
    vc_status s = gguf ? vc_gguf_open(&g, path, err) : vc_tensors_open_safetensors(&t, path, err);
    if (gguf && s == VC_OK) s = vc_tensors_open_gguf(&t, g, err);
    volatile uint8_t sum = 0;           /* touch all data: it must be mapped */
    for (size_t i = 0; s == VC_OK && i < vc_tensors_count(t); i++) {
        const struct vc_tensor *x = vc_tensors_at(t, i);
        for (uint64_t k = 0; k < x->bytes; k++) sum = (uint8_t)(sum + ((const uint8_t *)x->data)[k]);
        assert_ptr_equal(vc_tensors_find(t, x->name), x);
    }
    vc_tensors_close(t);
    vc_gguf_close(g);
    return s;
}

static void test_cases(void **state) {
    (void)state;
    struct vc_map m;
    vc_err err = VC_ERR_INIT;
    const char *list = vc_golden("gguf-quants/malformed/cases.jsonl");
    assert_non_null(list);
    assert_int_equal(vc_map_open(&m, list, &err), VC_OK);
    unsigned n[2] = { 0, 0 }, wrong = 0;
    for (const char *p = (const char *)m.p, *end = p + m.n; p < end;) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        size_t len = nl ? (size_t)(nl - p) : (size_t)(end - p);
        json_t *c;
        vc_str file, expect;
        char path[512];
        assert_int_equal(vc_json_parse(&c, p, len, "cases.jsonl", &err), VC_OK);
        assert_int_equal(vc_json_str(c, "file", &file, &err), VC_OK);
        assert_int_equal(vc_json_str(c, "expect", &expect, &err), VC_OK);
        snprintf(path, sizeof path, "%.*s%s", (int)(strlen(list) - strlen("cases.jsonl")), list, file.p);
        memset(&err, 0, sizeof err);
        vc_status s = open_any(path, &err);
        bool ok = vc_str_is(expect, "either") || (s == VC_OK) == !vc_str_is(expect, "error");
        if (s != VC_OK && !strstr(err.text, file.p)) ok = false;
        if (s != VC_OK && strstr(file.p, "lfs_pointer") && !strstr(err.text, "Git LFS")) ok = false;
        if (!ok) print_error("%s: expected %s, got %s '%s'\n", file.p, expect.p, vc_status_name(s), err.text);
        wrong += !ok;
        n[vc_str_ends(file, ".gguf")]++;
        json_decref(c);
        p += len + 1;
    }
    vc_map_close(&m);
    printf("%u GGUF and %u safetensors files, %u not as expected\n", n[1], n[0], wrong);
    assert_true(n[0] >= 40 && n[1] >= 55);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
