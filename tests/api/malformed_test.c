/* SPDX-License-Identifier: Apache-2.0
 * Every malformed file through vc_model_open: no crash, and an error that names the file where the container or the model
 * is broken. Files whose container is fine hold no whole model either, so none of them opens. */
#include "test.h"

#include <jansson.h>

#include "vllmc.h"

static void open_one(const char *folder, const json_t *c, int *seen) {
    const char *file = json_string_value(json_object_get(c, "file")), *expect = json_string_value(json_object_get(c, "expect"));
    if (!file) file = json_string_value(json_object_get(c, "name"));
    assert_non_null(file);
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    vc_model_params p;
    vc_err err = VC_ERR_INIT;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = path;
    p.max_num_seqs = 1;
    p.threads = 1;
    p.max_model_len = 64;
    vc_status s = vc_model_open(&m, &p, &err);
    if (s == VC_OK) {
        vc_model_close(&m);
        if (strncmp(expect, "error", 5) == 0) fail_msg("%s opens, but %s is expected", file, expect);
    } else {
        if (!err.text[0]) fail_msg("%s: an error without text", file);
        bool config = strstr(file, ".safetensors") != NULL;      /* no config.json lies beside: that is the first thing missing */
        if (!config && !strstr(err.text, file) && strcmp(expect, "error_model") != 0) fail_msg("%s: '%s' does not name the file", file, err.text);
    }
    ++*seen;
}

static void all_files(void **state) {
    (void)state;
    const char *cases = vc_golden("gguf-quants/malformed/cases.jsonl");
    if (!cases && vc_left_out("malformed files")) skip();
    char folder[1024], line[4096];
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(cases) - strlen("/cases.jsonl")), cases);
    FILE *f = fopen(cases, "r");
    assert_non_null(f);
    int seen = 0;
    while (fgets(line, sizeof line, f)) {
        json_t *c = json_loads(line, 0, NULL);
        assert_non_null(c);
        open_one(folder, c, &seen);
        json_decref(c);
    }
    fclose(f);
    assert_true(seen > 50);
    printf("%d malformed files\n", seen);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(all_files) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
