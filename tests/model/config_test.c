/* SPDX-License-Identifier: Apache-2.0
 * Strict reading of config.json: what is missing, unknown or out of range is named; what follows from the values is right. */
#include "test.h"

#include "model/config.h"

static const char base[] =
    "{\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":64,\"intermediate_size\":128,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
    "\"num_key_value_heads\":2,\"vocab_size\":256,\"max_position_embeddings\":512,\"rms_norm_eps\":1e-6,\"hidden_act\":\"silu\",\"rope_theta\":10000.0}";

/* The base with one key replaced (value NULL: removed). Caller decrefs. */
static json_t *with(const char *key, const char *value) {
    json_t *root = json_loads(base, 0, NULL);
    assert_non_null(root);
    if (!value) {
        json_object_del(root, key);
    } else {
        json_t *v = json_loads(value, JSON_DECODE_ANY, NULL);
        assert_non_null(v);
        json_object_set_new(root, key, v);
    }
    return root;
}

static vc_status read(json_t *root, struct vc_config *c, struct vc_arena *a, vc_err *err) {
    vc_status s = vc_config_from_json(c, a, root, "config.json", err);
    json_decref(root);
    return s;
}

static void refuses(void **state) {
    (void)state;
    static const struct { const char *key, *value, *named; } bad[] = {
        { "hidden_size", NULL, "hidden_size" },
        { "intermediate_size", NULL, "intermediate_size" },
        { "num_hidden_layers", NULL, "num_hidden_layers" },
        { "num_attention_heads", NULL, "num_attention_heads" },
        { "vocab_size", NULL, "vocab_size" },
        { "max_position_embeddings", NULL, "max_position_embeddings" },
        { "rms_norm_eps", NULL, "rms_norm_eps" },
        { "hidden_act", NULL, "hidden_act" },
        { "rope_theta", NULL, "rope_theta" },
        { "architectures", NULL, "architectures" },
        { "architectures", "[\"WonderForCausalLM\"]", "WonderForCausalLM" },
        { "architectures", "[\"WonderForCausalLM\"]", "Qwen3MoeForCausalLM" },
        { "hidden_act", "\"quick_gelu\"", "quick_gelu" },
        { "hidden_size", "\"64\"", "hidden_size" },
        { "hidden_size", "-64", "hidden_size" },
        { "num_hidden_layers", "0", "num_hidden_layers" },
        { "num_hidden_layers", "4000000000", "num_hidden_layers" },
        { "num_key_value_heads", "3", "num_key_value_heads" },
        { "head_dim", "12", "head_dim" },
        { "head_dim", "584", "head_dim" },
        { "rope_scaling", "{\"rope_type\":\"spiral\",\"factor\":2}", "spiral" },
        { "rope_scaling", "{\"rope_type\":\"linear\"}", "factor" },
        { "rope_scaling", "{\"rope_type\":\"llama3\",\"factor\":8,\"original_max_position_embeddings\":64,\"high_freq_factor\":4}", "low_freq_factor" },
        { "rope_scaling", "{\"rope_type\":\"longrope\",\"factor\":4,\"short_factor\":[1],\"long_factor\":[1],\"original_max_position_embeddings\":64}", "short_factor" },
        { "rope_parameters", "{\"rope_type\":7,\"rope_theta\":1e4}", "rope_type" },
        { "layer_types", "[\"full_attention\"]", "layer_types" },
        { "layer_types", "[\"full_attention\",\"linear_attention\"]", "linear_attention" },
        { "quantization_config", "{\"quant_method\":\"awq\"}", "quantization_config" },
        { "tie_word_embeddings", "1", "tie_word_embeddings" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vc_config c;
        struct vc_arena a = { 0 };
        vc_err err = VC_ERR_INIT;
        vc_status s = read(with(bad[i].key, bad[i].value), &c, &a, &err);
        vc_arena_free(&a);
        if (s == VC_OK) fail_msg("%s = %s is accepted", bad[i].key, bad[i].value ? bad[i].value : "(absent)");
        if (!strstr(err.text, bad[i].named)) fail_msg("'%s' does not name %s", err.text, bad[i].named);
        if (!strstr(err.text, "config.json") && !strstr(err.text, bad[i].key)) fail_msg("'%s' does not say where", err.text);
    }
}

static void follows(void **state) {
    (void)state;
    struct vc_config c;
    struct vc_arena a = { 0 };
    vc_err err = VC_ERR_INIT;
    assert_int_equal(read(json_loads(base, 0, NULL), &c, &a, &err), VC_OK);
    assert_int_equal(c.head_dim, 16);
    assert_true(c.attn_scale == 0.25f);
    assert_int_equal(c.num_ropes, 1);
    assert_int_equal(c.rope[0].kind, VC_ROPE_DEFAULT);
    assert_int_equal(c.rope[0].rotary_dim, 16);
    assert_false(c.qkv_bias);
    assert_int_equal(vc_config_sym(&c, VC_SYM_KV), 32);
    assert_int_equal(read(with("num_key_value_heads", NULL), &c, &a, &err), VC_OK);
    assert_int_equal(c.num_kv_heads, 4);
    assert_int_equal(read(with("attention_bias", "true"), &c, &a, &err), VC_OK);
    assert_true(c.qkv_bias && c.o_bias && !c.mlp_bias);
    vc_arena_free(&a);
}

/* Gemma 3's older files: a pattern instead of layer_types, local and global bases outside of rope_parameters. */
static void gemma_layers(void **state) {
    (void)state;
    json_t *root = with("architectures", "[\"Gemma3ForCausalLM\"]");
    json_object_set_new(root, "num_hidden_layers", json_integer(7));
    json_object_set_new(root, "sliding_window", json_integer(512));
    json_object_set_new(root, "sliding_window_pattern", json_integer(3));
    json_object_set_new(root, "query_pre_attn_scalar", json_integer(256));
    json_object_set_new(root, "rope_theta", json_real(1e6));
    json_object_set_new(root, "rope_scaling", json_loads("{\"rope_type\":\"linear\",\"factor\":8.0}", 0, NULL));
    struct vc_config c;
    struct vc_arena a = { 0 };
    vc_err err = VC_ERR_INIT;
    if (read(root, &c, &a, &err) != VC_OK) fail_msg("%s", err.text);
    static const uint8_t sliding[7] = { 1, 1, 0, 1, 1, 0, 1 };
    assert_memory_equal(c.layer_sliding, sliding, 7);
    assert_true(c.attn_scale == 0.0625f && c.norm_offset == 1.0f && c.embed_scale == 8.0f && c.tie_word_embeddings);
    assert_int_equal(c.num_ropes, 2);
    assert_int_equal(c.rope[0].kind, VC_ROPE_LINEAR);
    assert_true(c.rope[0].theta == 1e6 && c.rope[1].theta == 1e4);
    assert_int_equal(c.rope[1].kind, VC_ROPE_DEFAULT);
    vc_arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(refuses), cmocka_unit_test(follows), cmocka_unit_test(gemma_layers) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
