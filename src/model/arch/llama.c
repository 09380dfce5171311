/* SPDX-License-Identifier: Apache-2.0
 * llama.c: Llama and its close kin: Mistral, Ministral, Qwen2 differ in biases, windows and scaling of q only. */
#include "model/archs.h"
#include "model/config.h"

static const struct vc_key llama_keys[] = {
    VC_KEYS_ATTENTION_BIAS
    VC_KEY("mlp_bias", NULL, BOOL, 0, mlp_bias, 0, 0, 1),
    { .hf = NULL, .gguf = NULL },
};
static const char *const llama_names[] = { "LlamaForCausalLM", "LlamaModel", NULL };
const struct vc_arch vc_arch_llama = {
    .name = "llama", .hf_names = llama_names, .gguf_name = "llama", .flags = VC_ARCH_GGUF_ROPE_PAIRS,
    .keys = llama_keys, .layer = vc_layer_prenorm,
};

static const struct vc_key mistral_keys[] = {
    VC_KEY("sliding_window", "attention.sliding_window", U32, 0, sliding_window, 0, 1, 1u << 30),
    { .hf = NULL, .gguf = NULL },
};
static const char *const mistral_names[] = { "MistralForCausalLM", "Ministral3ForCausalLM", "MistralModel", NULL };
const struct vc_arch vc_arch_mistral = {
    .name = "mistral", .hf_names = mistral_names, .gguf_name = NULL, .flags = VC_ARCH_GGUF_ROPE_PAIRS | VC_ARCH_WINDOW_ALL,
    .keys = mistral_keys, .layer = vc_layer_prenorm,
};

static const struct vc_key qwen2_keys[] = {
    VC_KEYS_SWITCHED_WINDOW
    VC_KEY("max_window_layers", NULL, U32, 0, max_window_layers, 0, 0, 1u << 20),
    { .hf = NULL, .gguf = NULL },
};
static const char *const qwen2_names[] = { "Qwen2ForCausalLM", "Qwen2Model", NULL };
const struct vc_arch vc_arch_qwen2 = {
    .name = "qwen2", .hf_names = qwen2_names, .gguf_name = "qwen2", .flags = VC_ARCH_QKV_BIAS,
    .keys = qwen2_keys, .layer = vc_layer_prenorm,
};
