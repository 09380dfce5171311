/* SPDX-License-Identifier: Apache-2.0
 * The gate can fail: copies of four models with one config value changed must not pass under f32, three of them not
 * under vllm either. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/json.h"
#include "lab/lab.h"
#include "test.h"

/* Each changes one value of the config; false: the model has no such key. */
static bool window_by(json_t *c, int by) {
    json_t *v = json_object_get(c, "sliding_window");
    return json_is_integer(v) && json_integer_set(v, json_integer_value(v) + by) == 0;
}
static bool window_more(json_t *c) { return window_by(c, 1); }
static bool window_less(json_t *c) { return window_by(c, -1); }
static bool norm_topk(json_t *c) {
    json_t *v = json_object_get(c, "norm_topk_prob");
    return json_is_boolean(v) && json_object_set_new(c, "norm_topk_prob", json_boolean(!json_is_true(v))) == 0;
}
static bool act(json_t *c) {
    const char *key = json_object_get(c, "hidden_activation") ? "hidden_activation" : "hidden_act",
               *v = json_string_value(json_object_get(c, key));
    return v && json_object_set_new(c, key, json_string(strcmp(v, "silu") == 0 ? "gelu_pytorch_tanh" : "silu")) == 0;
}
static bool theta_of(json_t *o) {
    json_t *v = json_object_get(o, "rope_theta");
    return json_is_real(v) && json_real_set(v, json_real_value(v) * 1.02) == 0;
}
static bool theta(json_t *c) {
    json_t *p = json_object_get(c, "rope_parameters"), *full = json_object_get(p, "full_attention");
    return full ? theta_of(full) && theta_of(json_object_get(p, "sliding_attention")) : theta_of(p);
}
static bool eps(json_t *c) {
    json_t *v = json_object_get(c, "rms_norm_eps");
    return json_is_real(v) && json_real_set(v, json_real_value(v) * 100) == 0;
}
static const struct {
    const char *name;
    bool (*change)(json_t *);
} mutations[] = {
    { "sliding_window + 1", window_more }, { "sliding_window - 1", window_less },
    { "norm_topk_prob", norm_topk },       { "hidden_act", act },
    { "rope_theta x 1.02", theta },        { "rms_norm_eps x 100", eps },
};
static const struct {
    const char *name;
    bool vllm;
} models[] = {
    { "mistral", true },
    { "qwen3-moe", true },
    { "gemma3", true },
    { "llama-rope-yarn", false },
};

static void link_file(const char *from, const char *to, const char *name) {
    char a[1300], b[1300];
    snprintf(a, sizeof a, "%s/%s", from, name);
    snprintf(b, sizeof b, "%s/%s", to, name);
    unlink(b);
    if (access(a, R_OK) == 0) assert_int_equal(symlink(a, b), 0);
}

/* A copy of a model folder under the build tree, config.json written from c. */
static void make_copy(const char *from, const char *to, const json_t *c) {
    static const char *const files[] = { "model.safetensors", "golden.json", "golden.safetensors",
                                         "vllm_logits.safetensors" };
    char path[1300];
    assert_true(mkdir(to, 0777) == 0 || errno == EEXIST);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) link_file(from, to, files[i]);
    snprintf(path, sizeof path, "%s/config.json", to);
    assert_int_equal(json_dump_file(c, path, JSON_REAL_PRECISION(17)), 0);
}

static int gate(const char *numerics, const char *dir) {
    char lab[] = "lab", cmd[] = "gate", opt[] = "--numerics", *num = strdup(numerics), *path = strdup(dir),
         *argv[] = { lab, cmd, opt, num, path, NULL };
    int rc = vc_lab_main(5, argv);
    free(num);
    free(path);
    return rc;
}

static void one_model(const char *name, bool vllm) {
    char golden[256], from[1024], to[1200];
    snprintf(golden, sizeof golden, "models/%s", name);
    const char *p = vc_golden(golden);
    if (!p) {
        vc_left_out(golden);
        return;
    }
    snprintf(from, sizeof from, "%s", p);
    for (size_t i = 0; i <= sizeof mutations / sizeof *mutations; i++) {
        bool none = i == sizeof mutations / sizeof *mutations; /* the last copy is unchanged and must pass */
        vc_err err = VC_ERR_INIT;
        json_t *c = NULL;
        snprintf(to, sizeof to, "%s/config.json", from);
        assert_int_equal(vc_json_load(&c, to, &err), VC_OK);
        if (!none && !mutations[i].change(c)) {
            printf("left out: %s has no %s\n", name, mutations[i].name);
            json_decref(c);
            continue;
        }
        snprintf(to, sizeof to, "%s/gate-fail-%s", VC_TEST_TMP, name);
        make_copy(from, to, c);
        json_decref(c);
        printf("---- %s, %s\n", name, none ? "unchanged" : mutations[i].name);
        assert_int_equal(gate("f32", to), none ? 0 : 1);
        if (vllm) assert_int_equal(gate("vllm", to), none ? 0 : 1);
    }
}

static void mutated(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) one_model(models[i].name, models[i].vllm);
}

static void usage(void **state) {
    (void)state;
    char lab[] = "lab", cmd[] = "gate", bad[] = "--nope", ref[] = "--ref", x[] = "x", none[] = "/nonexistent";
    char *a[] = { lab, cmd, NULL }, *b[] = { lab, cmd, bad, NULL }, *c[] = { lab, cmd, ref, NULL },
         *d[] = { lab, cmd, ref, x, none, NULL };
    assert_int_equal(vc_lab_main(2, a), 2);
    assert_int_equal(vc_lab_main(3, b), 2);
    assert_int_equal(vc_lab_main(3, c), 2);
    assert_int_equal(vc_lab_main(5, d), 1);
}

/* --json is one object whose numbers are those of the text. */
static void json_report(void **state) {
    (void)state;
    const char *dir = vc_golden("models/llama"), *file = VC_TEST_TMP "/gate-report.json";
    if (!dir && vc_left_out("models/llama")) skip();
    char lab[] = "lab", cmd[] = "gate", json[] = "--json", num[] = "--numerics=f32", *path = strdup(dir),
         *argv[] = { lab, cmd, json, num, path, NULL };
    fflush(stdout);
    int saved = dup(STDOUT_FILENO);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    dup2(fileno(f), STDOUT_FILENO);
    int rc = vc_lab_main(5, argv);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    fclose(f);
    free(path);
    json_t *root = NULL;
    vc_err err = VC_ERR_INIT;
    assert_int_equal(rc, 0);
    assert_int_equal(vc_json_load(&root, file, &err), VC_OK);
    assert_true(json_is_true(vc_json_at(root, "pass")));
    assert_int_equal(json_integer_value(vc_json_at(root, "gates.0.positions")), 120);
    assert_int_equal(json_integer_value(vc_json_at(root, "gates.0.equal_forced")), 120);
    double max = json_number_value(vc_json_at(root, "gates.0.logit_error_rows.max"));
    assert_true(max > 0 && max < 1e-3);
    json_decref(root);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(mutated), cmocka_unit_test(usage),
                                        cmocka_unit_test(json_report) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
