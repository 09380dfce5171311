/* SPDX-License-Identifier: Apache-2.0
 * gguf_get.c: key-values by name and type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/gguf_int.h"

const char *vc_gguf_type_name(enum vc_gguf_type t) {
    static const char *const name[VC_GGUF_NUM_TYPES] = { "u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                         "bool", "string", "array", "u64", "i64", "f64" };
    return t < VC_GGUF_NUM_TYPES ? name[t] : "unknown";
}

const struct vc_gguf_value *vc_gguf_find(const struct vc_gguf *g, const char *key) {
    return vc_gguf_file_find(&g->file[0], key);
}
size_t vc_gguf_num_kv(const struct vc_gguf *g) { return g->file[0].n_kv; }
const char *vc_gguf_key(const struct vc_gguf *g, size_t i) { return g->file[0].key[i]; }
const struct vc_gguf_value *vc_gguf_at(const struct vc_gguf *g, size_t i) { return &g->file[0].kv[i]; }

bool vc_gguf_value_u64(const struct vc_gguf_value *v, uint64_t *u) {
    switch (v->type) {
    case VC_GGUF_U8: case VC_GGUF_U16: case VC_GGUF_U32: case VC_GGUF_U64:
        *u = v->u;
        return true;
    case VC_GGUF_I8: case VC_GGUF_I16: case VC_GGUF_I32: case VC_GGUF_I64:
        *u = (uint64_t)v->i;
        return v->i >= 0;
    default:
        return false;
    }
}

static vc_status get(const struct vc_gguf *g, const char *key, const struct vc_gguf_value **v, vc_err *err) {
    *v = vc_gguf_find(g, key);
    return *v ? VC_OK : vc_fail(err, VC_E_NOT_FOUND, "%s: key '%s' is missing", vc_gguf_path(g), key);
}

static vc_status wrong(const struct vc_gguf *g, const char *key, const struct vc_gguf_value *v, const char *want,
                       vc_err *err) {
    if (v->type == VC_GGUF_ARRAY)
        return vc_fail(err, VC_E_FORMAT, "%s: key '%s' has type array of %s, expected %s", vc_gguf_path(g), key,
                       vc_gguf_type_name(v->a.of), want);
    return vc_fail(err, VC_E_FORMAT, "%s: key '%s' has type %s, expected %s", vc_gguf_path(g), key,
                   vc_gguf_type_name(v->type), want);
}

static bool is_int(enum vc_gguf_type t) { return t <= VC_GGUF_I32 || t == VC_GGUF_U64 || t == VC_GGUF_I64; }
static bool is_signed(enum vc_gguf_type t) {
    return t == VC_GGUF_I8 || t == VC_GGUF_I16 || t == VC_GGUF_I32 || t == VC_GGUF_I64;
}

static vc_status get_uint(const struct vc_gguf *g, const char *key, uint64_t *v, uint64_t max, const char *want,
                          vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    uint64_t u = 0;
    VC_TRY(get(g, key, &x, err));
    if (!is_int(x->type)) return wrong(g, key, x, want, err);
    if (!vc_gguf_value_u64(x, &u) || u > max) {
        if (is_signed(x->type))
            return vc_fail(err, VC_E_FORMAT, "%s: key '%s' is %lld (%s), outside %s", vc_gguf_path(g), key,
                           (long long)x->i, vc_gguf_type_name(x->type), want);
        return vc_fail(err, VC_E_FORMAT, "%s: key '%s' is %llu (%s), outside %s", vc_gguf_path(g), key,
                       (unsigned long long)x->u, vc_gguf_type_name(x->type), want);
    }
    *v = u;
    return VC_OK;
}

vc_status vc_gguf_u32(const struct vc_gguf *g, const char *key, uint32_t *v, vc_err *err) {
    uint64_t u = 0;
    VC_TRY(get_uint(g, key, &u, UINT32_MAX, "u32", err));
    *v = (uint32_t)u;
    return VC_OK;
}

vc_status vc_gguf_u64(const struct vc_gguf *g, const char *key, uint64_t *v, vc_err *err) {
    return get_uint(g, key, v, UINT64_MAX, "u64", err);
}

vc_status vc_gguf_f32(const struct vc_gguf *g, const char *key, float *v, vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    VC_TRY(get(g, key, &x, err));
    if (x->type != VC_GGUF_F32 && x->type != VC_GGUF_F64) return wrong(g, key, x, "f32", err);
    *v = (float)x->f;
    return VC_OK;
}

vc_status vc_gguf_bool(const struct vc_gguf *g, const char *key, bool *v, vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    VC_TRY(get(g, key, &x, err));
    if (x->type != VC_GGUF_BOOL) return wrong(g, key, x, "bool", err);
    *v = x->u != 0;
    return VC_OK;
}

vc_status vc_gguf_str(const struct vc_gguf *g, const char *key, vc_str *v, vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    VC_TRY(get(g, key, &x, err));
    if (x->type != VC_GGUF_STRING) return wrong(g, key, x, "string", err);
    *v = x->s;
    return VC_OK;
}

vc_status vc_gguf_strings(const struct vc_gguf *g, const char *key, const vc_str **v, size_t *n, vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    VC_TRY(get(g, key, &x, err));
    if (x->type != VC_GGUF_ARRAY || x->a.of != VC_GGUF_STRING) return wrong(g, key, x, "array of string", err);
    vc_str **table = &g->strings[x - g->file[0].kv];
    if (!*table) {
        vc_str *s = malloc(((size_t)x->a.n + 1) * sizeof *s);       /* n is at most the file's size / 8 */
        if (!s) return vc_fail(err, VC_E_NOMEM, "%s: out of memory for key '%s'", vc_gguf_path(g), key);
        const uint8_t *p = x->a.data;
        for (uint64_t i = 0; i < x->a.n; i++) {                     /* lengths were checked at opening */
            uint64_t len;
            memcpy(&len, p, 8);
            s[i] = (vc_str){ (const char *)p + 8, (size_t)len };
            p += 8 + len;
        }
        *table = s;
    }
    *v = *table;
    *n = (size_t)x->a.n;
    return VC_OK;
}

vc_status vc_gguf_array(const struct vc_gguf *g, const char *key, enum vc_gguf_type of, const void **data,
                        size_t *n, vc_err *err) {
    const struct vc_gguf_value *x = NULL;
    char want[32];
    VC_TRY(get(g, key, &x, err));
    if (of == VC_GGUF_STRING || of == VC_GGUF_ARRAY)
        return vc_fail(err, VC_E_INVALID, "vc_gguf_array: elements of type %s", vc_gguf_type_name(of));
    snprintf(want, sizeof want, "array of %s", vc_gguf_type_name(of));
    if (x->type != VC_GGUF_ARRAY || x->a.of != of) return wrong(g, key, x, want, err);
    *data = x->a.data;
    *n = (size_t)x->a.n;
    return VC_OK;
}

int64_t vc_gguf_elem_int(const struct vc_gguf_value *v, size_t i) {
    const uint8_t *p = v->a.data;
    switch (v->a.of) {
    case VC_GGUF_U8: case VC_GGUF_BOOL: return p[i];
    case VC_GGUF_I8: { int8_t x; memcpy(&x, p + i, 1); return x; }
    case VC_GGUF_U16: { uint16_t x; memcpy(&x, p + 2 * i, 2); return x; }
    case VC_GGUF_I16: { int16_t x; memcpy(&x, p + 2 * i, 2); return x; }
    case VC_GGUF_U32: { uint32_t x; memcpy(&x, p + 4 * i, 4); return x; }
    case VC_GGUF_I32: { int32_t x; memcpy(&x, p + 4 * i, 4); return x; }
    case VC_GGUF_U64: { uint64_t x; memcpy(&x, p + 8 * i, 8); return x > INT64_MAX ? INT64_MAX : (int64_t)x; }
    case VC_GGUF_I64: { int64_t x; memcpy(&x, p + 8 * i, 8); return x; }
    default: return 0;
    }
}

double vc_gguf_elem_f64(const struct vc_gguf_value *v, size_t i) {
    const uint8_t *p = v->a.data;
    if (v->a.of == VC_GGUF_F32) { float x; memcpy(&x, p + 4 * i, 4); return (double)x; }
    if (v->a.of == VC_GGUF_F64) { double x; memcpy(&x, p + 8 * i, 8); return x; }
    if (v->a.of == VC_GGUF_U64) { uint64_t x; memcpy(&x, p + 8 * i, 8); return (double)x; }
    return (double)vc_gguf_elem_int(v, i);
}
