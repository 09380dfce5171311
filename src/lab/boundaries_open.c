/* SPDX-License-Identifier: Apache-2.0
 * boundaries_open.c: opens a recording, moves tensors to the device, runs one op, counts differing words. */
#include <stdio.h>
#include <string.h>

#include "base/ckd.h"
#include "io/json.h"
#include "lab/boundaries.h"
#include "num/half.h"

struct lab_replay_block {
    struct lab_replay_block *next;
    void *p;
    size_t bytes;
};

static vc_status read_config(struct lab_replay *r, vc_err *err) {
    VC_TRY(vc_json_u32(r->config, "hidden_size", &r->hidden, err));
    VC_TRY(vc_json_u32(r->config, "num_attention_heads", &r->heads, err));
    VC_TRY(vc_json_u32(r->config, "num_key_value_heads", &r->kv_heads, err));
    VC_TRY(vc_json_u32(r->config, "head_dim", &r->head_dim, err));
    VC_TRY(vc_json_u32(r->config, "num_experts", &r->experts, err));
    VC_TRY(vc_json_u32(r->config, "num_experts_per_tok", &r->top_k, err));
    VC_TRY(vc_json_u32(r->config, "moe_intermediate_size", &r->intermediate, err));
    VC_TRY(vc_json_f32(r->config, "rms_norm_eps", &r->eps, err));
    VC_TRY(vc_json_f32(r->config, "rope_theta", &r->theta, err));
    const struct vc_tensor *ids = vc_tensors_find(r->captured, "embed.ids");
    if (!ids || ids->n_dims != 1 || ids->dims[0] < 1 || ids->dims[0] > 4096)
        return vc_fail(err, VC_E_FORMAT, "%s: boundaries-l33.safetensors: embed.ids is missing", r->path);
    r->rows = (uint32_t)ids->dims[0];
    return VC_OK;
}

vc_status lab_replay_open(struct lab_replay *r, const char *dir, vc_err *err) {
    char name[4096];
    struct vc_dev_params p = { 0 };
    *r = (struct lab_replay){ .path = dir };
    snprintf(name, sizeof name, "%s/boundaries-l33.json", dir);
    VC_TRY(vc_json_load(&r->json, name, err));
    snprintf(name, sizeof name, "%s/model/config.json", dir);
    VC_TRY(vc_json_load(&r->config, name, err));
    snprintf(name, sizeof name, "%s/boundaries-l33.safetensors", dir);
    VC_TRY(vc_tensors_open_safetensors(&r->captured, name, err));
    snprintf(name, sizeof name, "%s/model", dir);
    VC_TRY(vc_tensors_open_safetensors(&r->weights, name, err));
    VC_TRY(read_config(r, err));
    return vc_back_cpu.open(&r->dev, &p, err);
}

void lab_replay_close(struct lab_replay *r) {
    for (struct lab_replay_block *b = r->blocks; b; b = b->next) r->dev->be->free(r->dev, b->p, b->bytes);
    if (r->dev) r->dev->be->close(r->dev);
    vc_tensors_close(r->captured);
    vc_tensors_close(r->weights);
    json_decref(r->json);
    json_decref(r->config);
    vc_arena_free(&r->arena);
}

struct vc_view lab_matrix(struct lab_replay *r, uint32_t rows, uint32_t cols, enum vc_dtype dtype) {
    struct vc_view v = { .rows = rows,
                         .cols = cols,
                         .dtype = dtype,
                         .stride = vc_round_up((size_t)cols * vc_dtype_info(dtype)->bytes, 64) };
    size_t bytes = v.stride * rows + 4096; /* kernels may read a vector past the end */
    struct lab_replay_block *b = VC_NEW(&r->arena, struct lab_replay_block);
    v.data = b ? r->dev->be->alloc(r->dev, bytes, VC_MEM_DENSE) : NULL;
    if (!v.data) {
        vc_fail(&r->err, VC_E_NOMEM, "out of memory for a matrix of %u x %u", rows, cols);
        return v;
    }
    *b = (struct lab_replay_block){ r->blocks, v.data, bytes };
    r->blocks = b;
    return v;
}

struct vc_view lab_input(struct lab_replay *r, const char *name) {
    const struct vc_tensor *t = vc_tensors_find(r->captured, name);
    if (!t || t->n_dims < 1 || t->dims[0] < 1 || t->dims[0] > 1u << 16 || vc_tensor_elems(t) > 1u << 24) {
        vc_fail(&r->err, VC_E_NOT_FOUND, "%s: boundaries-l33.safetensors: tensor %s is missing or too large", r->path,
                name);
        return (struct vc_view){ .dtype = VC_F32 };
    }
    uint32_t rows = (uint32_t)t->dims[0], cols = (uint32_t)(vc_tensor_elems(t) / rows);
    struct vc_view v = lab_matrix(r, rows, cols, t->dtype);
    size_t row = (size_t)(t->bytes / rows);
    for (uint32_t i = 0; v.data && i < rows; i++)
        r->dev->be->put(r->dev, (char *)v.data + i * v.stride, (const char *)t->data + i * row, row);
    return v;
}

uint64_t lab_differ(struct lab_replay *r, const struct vc_view *got, const char *name, uint64_t *total) {
    struct vc_view want = lab_input(r, name);
    uint64_t n = 0;
    *total = 0;
    if (r->err.status != VC_OK) return 0;
    if (want.rows != got->rows || want.cols != got->cols) {
        vc_fail(&r->err, VC_E_FORMAT, "%s: tensor %s is [%u, %u], expected [%u, %u]", r->path, name, want.rows,
                want.cols, got->rows, got->cols);
        return 0;
    }
    *total = (uint64_t)want.rows * want.cols;
    for (uint32_t i = 0; i < want.rows; i++)
        for (uint32_t c = 0; c < want.cols; c++) {
            const char *a = (const char *)got->data + i * got->stride, *b = (const char *)want.data + i * want.stride;
            if (want.dtype == VC_BF16) {
                uint16_t x = got->dtype == VC_F32 ? vc_f32_bf16(((const float *)(const void *)a)[c])
                                                  : ((const uint16_t *)(const void *)a)[c];
                n += x != ((const uint16_t *)(const void *)b)[c];
            } else
                n += ((const uint32_t *)(const void *)a)[c] != ((const uint32_t *)(const void *)b)[c];
        }
    return n;
}

void lab_run_op(struct lab_replay *r, const struct vc_numerics *n, enum vc_op op, enum vc_arith core, const void *args,
                struct vc_dims dims, const struct vc_view *in, uint32_t num_in, const struct vc_view *out,
                uint32_t num_out) {
    struct vc_contract c;
    struct vc_dev_kernel *k;
    if (r->err.status != VC_OK) return;
    vc_contract_make(&c, n, op, core);
    dims.max_rows = in[0].rows;
    dims.max_seqs = 1;
    dims.in0 = in[0].dtype;
    uint32_t w = op == VC_OP_MOE ? 3 : 1;
    dims.weight = num_in > w ? in[w].dtype : VC_F32;
    dims.out0 = out[0].dtype;
    dims.args = args;
    if (r->dev->be->prepare(r->dev, &c, &dims, &k, &r->err) != VC_OK) return;
    struct vc_op_call call = { .args = args };
    memcpy(call.in, in, num_in * sizeof *in);
    for (uint32_t i = num_in; i < VC_MAX_IN; i++) call.in[i].dtype = VC_F32;
    memcpy(call.out, out, num_out * sizeof *out);
    for (uint32_t i = num_out; i < VC_MAX_OUT; i++) call.out[i].dtype = VC_F32;
    r->dev->be->enqueue(r->dev, k, &call);
    r->dev->be->sync(r->dev);
}
