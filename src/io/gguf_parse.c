/* SPDX-License-Identifier: Apache-2.0
 * gguf_parse.c: header, key-values and tensor infos of one GGUF file. Every read goes through take(), which knows
 * how many bytes are left; counts and lengths are compared with that before anything is allocated or looped over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "io/gguf_int.h"

enum { MAX_NAME = 65535, DEFAULT_ALIGN = 32, MAX_GGUF_DIMS = 4, MIN_KV = 14, MIN_TENSOR = 25 };

struct cursor {
    struct vc_gguf_file *f;
    struct vc_arena *a;
    size_t at;
    vc_err *err;
    char where[160];        /* "key 'x'" or "tensor 'y'" for messages */
};

static const uint8_t elem_bytes[VC_GGUF_NUM_TYPES] = {
    [VC_GGUF_U8] = 1,  [VC_GGUF_I8] = 1,  [VC_GGUF_U16] = 2, [VC_GGUF_I16] = 2,
    [VC_GGUF_U32] = 4, [VC_GGUF_I32] = 4, [VC_GGUF_F32] = 4, [VC_GGUF_BOOL] = 1,
    [VC_GGUF_U64] = 8, [VC_GGUF_I64] = 8, [VC_GGUF_F64] = 8,
};

static size_t left(const struct cursor *c) { return c->f->n - c->at; }

static vc_status take(struct cursor *c, const uint8_t **p, uint64_t n, const char *what) {
    *p = c->f->p;
    if (n > left(c))
        return vc_fail(c->err, VC_E_FORMAT,
                       "%s: offset %zu: %s%s%s needs %llu bytes, but only %zu are left (file cut short, or a wrong "
                       "length)",
                       c->f->path, c->at, c->where, c->where[0] ? ": " : "", what, (unsigned long long)n, left(c));
    *p = c->f->p + c->at;
    c->at += (size_t)n;
    return VC_OK;
}

static vc_status take_u32(struct cursor *c, uint32_t *v, const char *what) {
    const uint8_t *p = NULL;
    VC_TRY(take(c, &p, 4, what));
    memcpy(v, p, 4);
    return VC_OK;
}

static vc_status take_u64(struct cursor *c, uint64_t *v, const char *what) {
    const uint8_t *p = NULL;
    VC_TRY(take(c, &p, 8, what));
    memcpy(v, p, 8);
    return VC_OK;
}

static vc_status take_str(struct cursor *c, vc_str *s, const char *what) {
    uint64_t n = 0;
    const uint8_t *p = NULL;
    VC_TRY(take_u64(c, &n, what));
    VC_TRY(take(c, &p, n, what));
    *s = (vc_str){ (const char *)p, (size_t)n };
    return VC_OK;
}

/* A key or tensor name as a C string in the arena: 1…65535 bytes without NUL. */
static vc_status take_name(struct cursor *c, const char **name, const char *what) {
    size_t start = c->at;
    vc_str s = { 0 };
    c->where[0] = '\0';
    VC_TRY(take_str(c, &s, what));
    if (s.n == 0 || s.n > MAX_NAME)
        return vc_fail(c->err, VC_E_FORMAT, "%s: offset %zu: %s of %zu bytes, expected 1 to %d", c->f->path, start,
                       what, s.n, (int)MAX_NAME);
    if (memchr(s.p, 0, s.n))
        return vc_fail(c->err, VC_E_FORMAT, "%s: offset %zu: %s holds a NUL", c->f->path, start, what);
    char *copy = vc_arena_strndup(c->a, s.p, s.n);
    if (!copy) return vc_fail(c->err, VC_E_NOMEM, "%s: out of memory", c->f->path);
    char text[120];
    snprintf(c->where, sizeof c->where, "%s '%s'", what, vc_printable(text, sizeof text, s.p, s.n));
    *name = copy;
    return VC_OK;
}

static vc_status take_type(struct cursor *c, enum vc_gguf_type *t, const char *what) {
    size_t start = c->at;
    uint32_t v = 0;
    VC_TRY(take_u32(c, &v, what));
    if (v >= VC_GGUF_NUM_TYPES)
        return vc_fail(c->err, VC_E_FORMAT, "%s: offset %zu: %s: %s %u, expected 0 to %d", c->f->path, start,
                       c->where, what, v, VC_GGUF_NUM_TYPES - 1);
    *t = (enum vc_gguf_type)v;
    return VC_OK;
}

static vc_status take_array(struct cursor *c, struct vc_gguf_value *v) {
    VC_TRY(take_type(c, &v->a.of, "element type"));
    if (v->a.of == VC_GGUF_ARRAY)
        return vc_fail(c->err, VC_E_UNSUPPORTED, "%s: offset %zu: %s: an array of arrays", c->f->path, c->at - 4,
                       c->where);
    size_t start = c->at;
    VC_TRY(take_u64(c, &v->a.n, "array length"));
    uint64_t size = v->a.of == VC_GGUF_STRING ? 8 : elem_bytes[v->a.of];      /* least bytes per element */
    if (v->a.n > left(c) / size)
        return vc_fail(c->err, VC_E_FORMAT,
                       "%s: offset %zu: %s: array of %llu elements of type %s does not fit the %zu bytes left",
                       c->f->path, start, c->where, (unsigned long long)v->a.n, vc_gguf_type_name(v->a.of),
                       left(c));
    v->a.data = c->f->p + c->at;
    if (v->a.of == VC_GGUF_STRING) {
        vc_str s;
        for (uint64_t i = 0; i < v->a.n; i++) VC_TRY(take_str(c, &s, "string of the array"));
    } else {
        c->at += (size_t)(v->a.n * size);
    }
    v->a.bytes = (size_t)(c->f->p + c->at - v->a.data);
    if (v->a.of == VC_GGUF_BOOL)
        for (uint64_t i = 0; i < v->a.n; i++)
            if (v->a.data[i] > 1)
                return vc_fail(c->err, VC_E_FORMAT, "%s: %s: element %llu is the bool %u, expected 0 or 1",
                               c->f->path, c->where, (unsigned long long)i, v->a.data[i]);
    return VC_OK;
}

static vc_status take_scalar(struct cursor *c, struct vc_gguf_value *v) {
    const uint8_t *p = NULL;
    VC_TRY(take(c, &p, elem_bytes[v->type], "value"));
    switch (v->type) {
    case VC_GGUF_U8: v->u = *p; break;
    case VC_GGUF_I8: { int8_t x; memcpy(&x, p, 1); v->i = x; break; }
    case VC_GGUF_U16: { uint16_t x; memcpy(&x, p, 2); v->u = x; break; }
    case VC_GGUF_I16: { int16_t x; memcpy(&x, p, 2); v->i = x; break; }
    case VC_GGUF_U32: { uint32_t x; memcpy(&x, p, 4); v->u = x; break; }
    case VC_GGUF_I32: { int32_t x; memcpy(&x, p, 4); v->i = x; break; }
    case VC_GGUF_F32: { float x; memcpy(&x, p, 4); v->f = (double)x; break; }
    case VC_GGUF_U64: memcpy(&v->u, p, 8); break;
    case VC_GGUF_I64: memcpy(&v->i, p, 8); break;
    case VC_GGUF_F64: memcpy(&v->f, p, 8); break;
    default:
        if (*p > 1)
            return vc_fail(c->err, VC_E_FORMAT, "%s: offset %zu: %s: bool of value %u, expected 0 or 1", c->f->path,
                           c->at - 1, c->where, *p);
        v->u = *p;
    }
    return VC_OK;
}

/* p with room for one more than n elements, or NULL (p stays valid) when memory is short. */
static void *grow(void *p, size_t *cap, size_t n, size_t size) {
    if (n < *cap) return p;
    size_t more = *cap ? *cap * 2 : 32;
    void *q = realloc(p, more * size);
    if (q) *cap = more;
    return q;
}

static vc_status parse_kv(struct cursor *c) {
    struct vc_gguf_file *f = c->f;
    size_t cap = f->cap_kv;
    const char **key = grow(f->key, &cap, f->n_kv, sizeof *key);
    if (!key) return vc_fail(c->err, VC_E_NOMEM, "%s: out of memory", f->path);
    f->key = key;
    struct vc_gguf_value *v = grow(f->kv, &f->cap_kv, f->n_kv, sizeof *v);
    if (!v) return vc_fail(c->err, VC_E_NOMEM, "%s: out of memory", f->path);
    f->kv = v;
    v += f->n_kv;
    memset(v, 0, sizeof *v);
    VC_TRY(take_name(c, &f->key[f->n_kv], "key"));
    VC_TRY(take_type(c, &v->type, "value type"));
    if (v->type == VC_GGUF_STRING) VC_TRY(take_str(c, &v->s, "string"));
    else if (v->type == VC_GGUF_ARRAY) VC_TRY(take_array(c, v));
    else VC_TRY(take_scalar(c, v));
    f->n_kv++;
    return VC_OK;
}

static vc_status tensor_dtype(struct cursor *c, struct vc_tensor *t, uint32_t id) {
    static const char *const gone[] = {
        [4] = "Q4_2",      [5] = "Q4_3",      [9] = "Q8_1",        [15] = "Q8_K",       [31] = "Q4_0_4_4",
        [32] = "Q4_0_4_8", [33] = "Q4_0_8_8", [36] = "IQ4_NL_4_4", [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8",
    };
    t->dtype = vc_dtype_by_gguf(id);
    if (t->dtype != VC_NO_DTYPE) return VC_OK;
    if (id < VC_ARRAY_LEN(gone) && gone[id])
        return vc_fail(c->err, VC_E_FORMAT,
                       "%s: offset %zu: %s: type %u (%s) is not a storage format of GGUF (any more)", c->f->path,
                       c->at - 4, c->where, id, gone[id]);
    return vc_fail(c->err, VC_E_UNSUPPORTED, "%s: offset %zu: %s: unknown type %u", c->f->path, c->at - 4, c->where,
                   id);
}

/* Dims outermost first; the number of values must fit 63 bits, the innermost dimension be whole blocks. */
static vc_status tensor_size(struct cursor *c, struct vc_tensor *t, const uint64_t *ne) {
    const struct vc_dtype_info *info = vc_dtype_info(t->dtype);
    uint64_t n = 1, row = t->n_dims ? ne[0] : 1;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        if (ne[i] > INT64_MAX || vc_ckd_mul(&n, n, ne[i]) || n > INT64_MAX)
            return vc_fail(c->err, VC_E_FORMAT,
                           "%s: %s: dimension %u is %llu: the number of values is negative or overflows",
                           c->f->path, c->where, i, (unsigned long long)ne[i]);
        t->dims[t->n_dims - 1 - i] = ne[i];
    }
    if (row % info->block)
        return vc_fail(c->err, VC_E_FORMAT, "%s: %s: rows of %llu values, expected a multiple of %u for %s",
                       c->f->path, c->where, (unsigned long long)row, info->block, info->name);
    if (vc_dtype_bytes(t->dtype, n, &t->bytes))
        return vc_fail(c->err, VC_E_FORMAT, "%s: %s: its size in bytes overflows", c->f->path, c->where);
    return VC_OK;
}

static vc_status parse_tensor(struct cursor *c) {
    struct vc_gguf_file *f = c->f;
    struct vc_tensor *t = grow(f->tensor, &f->cap_tensors, f->n_tensors, sizeof *t);
    if (!t) return vc_fail(c->err, VC_E_NOMEM, "%s: out of memory", f->path);
    f->tensor = t;
    t += f->n_tensors;
    uint64_t ne[MAX_GGUF_DIMS] = { 0 };
    uint32_t id = 0;
    memset(t, 0, sizeof *t);
    VC_TRY(take_name(c, &t->name, "tensor"));
    VC_TRY(take_u32(c, &t->n_dims, "number of dimensions"));
    if (t->n_dims > MAX_GGUF_DIMS)
        return vc_fail(c->err, VC_E_FORMAT, "%s: offset %zu: %s: %u dimensions, expected at most %d", f->path,
                       c->at - 4, c->where, t->n_dims, (int)MAX_GGUF_DIMS);
    for (uint32_t i = 0; i < t->n_dims; i++) VC_TRY(take_u64(c, &ne[i], "dimension"));
    VC_TRY(take_u32(c, &id, "type"));
    VC_TRY(tensor_dtype(c, t, id));
    VC_TRY(tensor_size(c, t, ne));
    VC_TRY(take_u64(c, &t->offset, "offset"));
    f->n_tensors++;
    return VC_OK;
}

static vc_status parse_header(struct cursor *c, uint64_t *n_tensors, uint64_t *n_kv) {
    const uint8_t *magic = NULL;
    struct vc_gguf_file *f = c->f;
    char text[32];
    VC_TRY(take(c, &magic, 4, "magic"));
    if (memcmp(magic, "GGUF", 4))
        return vc_fail(c->err, VC_E_FORMAT, "%s: begins with '%s', expected 'GGUF'", f->path,
                       vc_printable(text, sizeof text, (const char *)magic, 4));
    VC_TRY(take_u32(c, &f->version, "version"));
    if (f->version != 2 && f->version != 3) {
        bool swapped = (f->version & 0xFFFFu) == 0 && f->version;
        return vc_fail(c->err, VC_E_UNSUPPORTED, "%s: GGUF version %u%s, expected 2 or 3", f->path,
                       swapped ? f->version >> 24 : f->version, swapped ? " in big-endian byte order" : "");
    }
    VC_TRY(take_u64(c, n_tensors, "number of tensors"));
    VC_TRY(take_u64(c, n_kv, "number of key-values"));
    if (*n_tensors > f->n / MIN_TENSOR || *n_kv > f->n / MIN_KV)
        return vc_fail(c->err, VC_E_FORMAT,
                       "%s: offset 8: %llu tensors and %llu key-values cannot fit a file of %zu bytes", f->path,
                       (unsigned long long)*n_tensors, (unsigned long long)*n_kv, f->n);
    return VC_OK;
}

static vc_status read_alignment(struct cursor *c) {
    struct vc_gguf_file *f = c->f;
    const struct vc_gguf_value *v = vc_gguf_file_find(f, "general.alignment");
    f->align = DEFAULT_ALIGN;
    if (!v) return VC_OK;
    if (v->type != VC_GGUF_U32)
        return vc_fail(c->err, VC_E_FORMAT, "%s: key 'general.alignment' has type %s, expected u32", f->path,
                       vc_gguf_type_name(v->type));
    if (v->u == 0 || (v->u & (v->u - 1)))
        return vc_fail(c->err, VC_E_FORMAT, "%s: key 'general.alignment' is %llu, expected a power of two", f->path,
                       (unsigned long long)v->u);
    f->align = v->u;
    return VC_OK;
}

static int by_offset(const void *pa, const void *pb) {
    const struct vc_tensor *a = *(const struct vc_tensor *const *)pa, *b = *(const struct vc_tensor *const *)pb;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static vc_status overlap(const struct vc_gguf_file *f, const struct vc_tensor *a, const struct vc_tensor *b,
                         vc_err *err) {
    char na[120], nb[120];
    return vc_fail(err, VC_E_FORMAT,
                   "%s: tensor '%s' at offset %llu overlaps tensor '%s' (offset %llu, %llu bytes)", f->path,
                   vc_printable(nb, sizeof nb, b->name, strlen(b->name)), (unsigned long long)b->offset,
                   vc_printable(na, sizeof na, a->name, strlen(a->name)), (unsigned long long)a->offset,
                   (unsigned long long)a->bytes);
}

static vc_status check_overlap(struct vc_gguf_file *f, vc_err *err) {
    const struct vc_tensor **order = malloc((f->n_tensors + 1) * sizeof *order);
    if (!order) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", f->path);
    vc_status s = VC_OK;
    for (size_t i = 0; i < f->n_tensors; i++) order[i] = &f->tensor[i];
    qsort(order, f->n_tensors, sizeof *order, by_offset);
    for (size_t i = 1; i < f->n_tensors && s == VC_OK; i++) {
        const struct vc_tensor *a = order[i - 1], *b = order[i];
        if (b->offset - a->offset < a->bytes && b->bytes)
            s = overlap(f, a, b, err);
    }
    free(order);
    return s;
}

/* From offsets in the data section to places in the file. */
static vc_status place_tensors(struct cursor *c) {
    struct vc_gguf_file *f = c->f;
    if (!f->n_tensors) return VC_OK;
    f->data_start = vc_round_up(c->at, f->align);
    if (f->data_start > f->n)
        return vc_fail(c->err, VC_E_FORMAT,
                       "%s: tensor data would begin at offset %llu, past the end of the file (%zu bytes)", f->path,
                       (unsigned long long)f->data_start, f->n);
    uint64_t size = f->n - f->data_start;
    for (size_t i = 0; i < f->n_tensors; i++) {
        struct vc_tensor *t = &f->tensor[i];
        char text[120];
        vc_printable(text, sizeof text, t->name, strlen(t->name));
        if (t->offset % f->align)
            return vc_fail(c->err, VC_E_FORMAT, "%s: tensor '%s': offset %llu is no multiple of the alignment %llu",
                           f->path, text, (unsigned long long)t->offset, (unsigned long long)f->align);
        if (t->offset > size || t->bytes > size - t->offset)
            return vc_fail(c->err, VC_E_FORMAT,
                           "%s: tensor '%s': %llu bytes at data offset %llu reach past the end: the data section "
                           "has %llu bytes (file cut short?)",
                           f->path, text, (unsigned long long)t->bytes, (unsigned long long)t->offset,
                           (unsigned long long)size);
        t->offset += f->data_start;
        t->data = f->p + t->offset;
    }
    return check_overlap(f, c->err);
}

vc_status vc_gguf_parse(struct vc_gguf_file *f, struct vc_arena *a, vc_err *err) {
    struct cursor c = { f, a, 0, err, "" };
    uint64_t n_tensors = 0, n_kv = 0;
    size_t dup;
    VC_TRY(vc_map_check(f->p, f->n, f->path, err));
    VC_TRY(parse_header(&c, &n_tensors, &n_kv));
    for (uint64_t i = 0; i < n_kv; i++) VC_TRY(parse_kv(&c));
    int r = vc_names_build(&f->keys, f->key, f->n_kv, &dup);
    if (r < 0) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", f->path);
    if (r) {
        char text[120];
        return vc_fail(err, VC_E_FORMAT, "%s: key '%s' is there twice", f->path,
                       vc_printable(text, sizeof text, f->key[dup], strlen(f->key[dup])));
    }
    VC_TRY(read_alignment(&c));
    for (uint64_t i = 0; i < n_tensors; i++) VC_TRY(parse_tensor(&c));
    c.where[0] = '\0';
    return place_tensors(&c);
}

void vc_gguf_file_free(struct vc_gguf_file *f) {
    vc_names_free(&f->keys);
    free(f->key);
    free(f->kv);
    free(f->tensor);
    vc_map_close(&f->map);
}

const struct vc_gguf_value *vc_gguf_file_find(const struct vc_gguf_file *f, const char *key) {
    size_t i = vc_names_find(&f->keys, key);
    return i == SIZE_MAX ? NULL : &f->kv[i];
}
