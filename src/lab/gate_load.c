/* SPDX-License-Identifier: Apache-2.0
 * gate_load.c: finds out what a path is, and the pieces that all loaders share. */
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "io/json.h"
#include "lab/gate.h"
#include "num/half.h"

bool lab_known_value(const struct lab_known *k, int32_t id, double *v) {
    if (k->row)
        *v = (double)k->row[id];
    else if (k->words)
        *v = (double)vc_bf16_f32(k->words[id]);
    else {
        uint32_t i = 0;
        while (i < k->num_top && k->top[i].id != id) i++;
        if (i == k->num_top) return false;
        *v = k->top[i].value;
    }
    return true;
}

double lab_error_rms(const struct lab_error *e) { return e->n ? sqrt(e->sum2 / (double)e->n) : 0.0; }

double lab_logsumexp(const float *row, uint32_t n) {
    double max = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < n; i++) max = (double)row[i] > max ? (double)row[i] : max;
    for (uint32_t i = 0; i < n; i++) sum += exp((double)row[i] - max);
    return max + log(sum);
}

const char *lab_text(struct lab_gate *g, const char *fmt, ...) {
    char buf[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(buf, sizeof buf, fmt, ap);
    va_end(ap);
    const char *s = vc_arena_strdup(&g->arena, buf);
    return s ? s : "";
}

bool lab_is_vllm(const char *numerics) { return strncmp(numerics, "vllm", 4) == 0; }

vc_status lab_file(struct lab_gate *g, int slot, const char *name, vc_err *err) {
    return vc_json_load(&g->json[slot], name ? lab_text(g, "%s/%s", g->path, name) : g->path, err);
}

vc_status lab_ints(struct lab_gate *g, const json_t *a, const char *what, int32_t **v, uint32_t *n, vc_err *err) {
    size_t count = json_array_size(a);
    if (!json_is_array(a) || count > 1u << 20)
        return vc_fail(err, VC_E_FORMAT, "%s: %s: expected an array of token ids", g->path, what);
    *v = VC_NEW_ARRAY(&g->arena, int32_t, count + 1);
    if (!*v) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (size_t i = 0; i < count; i++) {
        const json_t *x = json_array_get(a, i);
        if (!json_is_integer(x) || json_integer_value(x) < 0 || json_integer_value(x) >= (json_int_t)g->vocab)
            return vc_fail(err, VC_E_FORMAT, "%s: %s[%zu]: expected a token id below %u", g->path, what, i, g->vocab);
        (*v)[i] = (int32_t)json_integer_value(x);
    }
    *n = (uint32_t)count;
    return VC_OK;
}

/* [[id, value], …] */
vc_status lab_tops(struct lab_gate *g, const json_t *a, const char *what, struct lab_top **v, uint32_t *n,
                   vc_err *err) {
    size_t count = json_array_size(a);
    if (!json_is_array(a) || count > 4096)
        return vc_fail(err, VC_E_FORMAT, "%s: %s: expected an array of [id, value]", g->path, what);
    *v = VC_NEW_ARRAY(&g->arena, struct lab_top, count + 1);
    if (!*v) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (size_t i = 0; i < count; i++) {
        const json_t *id = json_array_get(json_array_get(a, i), 0), *x = json_array_get(json_array_get(a, i), 1);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) >= (json_int_t)g->vocab ||
            !json_is_number(x))
            return vc_fail(err, VC_E_FORMAT, "%s: %s[%zu]: expected [id, value]", g->path, what, i);
        (*v)[i] = (struct lab_top){ (int32_t)json_integer_value(id), json_number_value(x) };
    }
    *n = (uint32_t)count;
    return VC_OK;
}

/* A copy, because tensors in a file may lie unaligned. */
vc_status lab_f32_tensor(struct lab_gate *g, const struct vc_tensors *t, const char *name, const float **v,
                         uint32_t *rows, uint32_t cols, vc_err *err) {
    const struct vc_tensor *x = vc_tensors_find(t, name);
    if (!x) return vc_fail(err, VC_E_NOT_FOUND, "%s: tensor %s is missing", g->path, name);
    if (x->dtype != VC_F32 || x->n_dims != 2 || x->dims[1] != cols || x->dims[0] > 1u << 20)
        return vc_fail(err, VC_E_FORMAT, "%s: tensor %s: expected f32 [rows, %u]", g->path, name, cols);
    float *copy = vc_arena_alloc(&g->arena, (size_t)x->bytes + 1, 16);
    if (!copy) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    memcpy(copy, x->data, (size_t)x->bytes);
    *v = copy;
    *rows = (uint32_t)x->dims[0];
    return VC_OK;
}

vc_status lab_member(struct lab_gate *g, struct lab_seq *s, const int32_t *tokens, vc_err *err) {
    const int32_t **m = VC_NEW_ARRAY(&g->arena, const int32_t *, s->num_members + 1);
    if (!m) return vc_fail(err, VC_E_NOMEM, "out of memory for %s", g->path);
    for (uint32_t i = 0; i < s->num_members; i++) {
        if (memcmp(s->member[i], tokens, s->num_steps * sizeof *tokens) == 0) return VC_OK;
        m[i] = s->member[i];
    }
    m[s->num_members++] = tokens;
    s->member = m;
    return VC_OK;
}

static bool exists(struct lab_gate *g, const char *name) {
    struct stat st;
    return stat(lab_text(g, "%s/%s", g->path, name), &st) == 0;
}

/* A file: told apart by its keys. */
static vc_status load_file(struct lab_gate *g, vc_err *err) {
    VC_TRY(lab_file(g, 0, NULL, err));
    if (json_object_get(g->json[0], "models") && json_object_get(g->json[0], "made_by")) return lab_load_greedy(g, err);
    if (json_object_get(g->json[0], "batch8")) return lab_load_vllm_file(g, err);
    return vc_fail(err, VC_E_FORMAT,
                   "%s: not a reference that is known here: expected greedy.json or vllm.json of real-models", g->path);
}

vc_status lab_gate_load(struct lab_gate *g, const char *entry, vc_err *err) {
    struct stat st;
    if (stat(g->path, &st) != 0) return vc_fail(err, VC_E_IO, "%s: no such file or folder", g->path);
    if (!S_ISDIR(st.st_mode)) return load_file(g, err);
    if (exists(g, "golden.json")) return lab_load_models(g, err);
    if (exists(g, "vllm-eager.json")) return lab_load_moe(g, err);
    if (exists(g, "models.json")) return lab_load_quants(g, entry, err);
    return vc_fail(err, VC_E_NOT_FOUND, "%s: no reference: expected golden.json, vllm-eager.json or models.json in it",
                   g->path);
}

void lab_gate_free(struct lab_gate *g) {
    for (size_t i = 0; i < VC_ARRAY_LEN(g->tensors); i++) vc_tensors_close(g->tensors[i]);
    for (size_t i = 0; i < VC_ARRAY_LEN(g->json); i++) json_decref(g->json[i]);
    vc_arena_free(&g->arena);
}
