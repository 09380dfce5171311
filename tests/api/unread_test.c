/* SPDX-License-Identifier: Apache-2.0
 * Tensors beside those that a family reads: one of the model's own part is an error that names it, others are not. */
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/safetensors.h"
#include "vllmc.h"

static char g_folder[1024];

static void write_extra(const char *file, const char *tensor) {
    char path[1200];
    const float zero[64] = { 0 };
    struct vc_tensor t = { .name = tensor, .dtype = VC_F32, .n_dims = 1, .dims = { 64 }, .data = zero, .bytes = sizeof zero };
    vc_err err = VC_ERR_INIT;
    snprintf(path, sizeof path, "%s/%s", g_folder, file);
    if (vc_safetensors_write(path, &t, 1, &err) != VC_OK) fail_msg("%s: %s", tensor, err.text);
}

static vc_status open_it(vc_err *err) {
    vc_model_params p;
    vc_model *m = NULL;
    vc_model_params_init(&p);
    p.path = g_folder;
    p.max_num_seqs = 1;
    p.threads = 1;
    p.max_model_len = 64;
    vc_status s = vc_model_open(&m, &p, err);
    if (s == VC_OK) vc_model_close(&m);
    return s;
}

static int make_folder(void **state) {
    (void)state;
    const char *model = vc_golden("models/llama/config.json");
    assert_non_null(model);
    static const char *const files[] = { "config.json", "generation_config.json", "model.safetensors" };
    snprintf(g_folder, sizeof g_folder, "%s/unread-model", VC_TEST_TMP);
    mkdir(g_folder, 0755);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char from[1200], to[1200];
        snprintf(from, sizeof from, "%.*s%s", (int)(strlen(model) - strlen("config.json")), model, files[i]);
        snprintf(to, sizeof to, "%s/%s", g_folder, files[i]);
        unlink(to);
        assert_int_equal(symlink(from, to), 0);
    }
    return 0;
}

static void extras(void **state) {
    (void)state;
    static const struct { const char *file, *tensor; bool refused; } rows[] = {
        { "extra.safetensors", "model.layers.0.self_attn.q_proj.bias", true },
        { "extra.safetensors", "model.layers.0.self_attn.q_proj.weight_scale", true },
        { "extra.safetensors", "model.layers.0.self_attn.q_norm.weight", true },
        { "extra.safetensors", "model.layers.99.input_layernorm.weight", true },
        { "extra.safetensors", "layers.0.self_attn.q_proj.bias", true },
        { "extra.safetensors", "model.layers.0.self_attn.rotary_emb.inv_freq", false },
        { "extra.safetensors", "score.weight", false },
        { "consolidated.safetensors", "layers.0.attention.wq.weight", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[1200];
        vc_err err = VC_ERR_INIT;
        write_extra(rows[i].file, rows[i].tensor);
        vc_status s = open_it(&err);
        snprintf(path, sizeof path, "%s/%s", g_folder, rows[i].file);
        unlink(path);
        if (s != (rows[i].refused ? VC_E_UNSUPPORTED : VC_OK)) fail_msg("%s: status %d %s", rows[i].tensor, s, err.text);
        if (rows[i].refused && (!strstr(err.text, rows[i].tensor) || !strstr(err.text, path))) fail_msg("%s: %s", rows[i].tensor, err.text);
    }
    vc_err err = VC_ERR_INIT;
    assert_int_equal(open_it(&err), VC_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(extras) };
    return cmocka_run_group_tests(tests, make_folder, NULL);
}
