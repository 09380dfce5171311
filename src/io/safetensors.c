/* SPDX-License-Identifier: Apache-2.0
 * safetensors.c: the parser. Order of checks: header length, JSON, each entry by itself, then all entries together:
 * their byte ranges must cover the data section exactly once. */
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "io/json.h"
#include "io/map.h"

struct parser {
    const char *name;
    struct vc_arena *a;
    const uint8_t *data;
    uint64_t start, size;       /* data section */
    vc_err *err;
};

static vc_status bad(const struct parser *p, const char *tensor, const char *what) {
    char text[120];
    return vc_fail(p->err, VC_E_FORMAT, "%s: tensor '%s': %s", p->name,
                   vc_printable(text, sizeof text, tensor, strlen(tensor)), what);
}

static vc_status no_memory(const struct parser *p) { return vc_fail(p->err, VC_E_NOMEM, "%s: out of memory", p->name); }

static vc_status parse_dtype(const struct parser *p, const json_t *entry, struct vc_tensor *t) {
    const json_t *v = json_object_get(entry, "dtype");
    char text[160], word[64];
    if (!json_is_string(v)) return bad(p, t->name, "'dtype' is missing or no string");
    t->dtype = vc_dtype_by_safetensors(json_string_value(v), json_string_length(v));
    if (t->dtype != VC_NO_DTYPE) return VC_OK;
    snprintf(text, sizeof text, "unknown dtype '%s'",
             vc_printable(word, sizeof word, json_string_value(v), json_string_length(v)));
    return bad(p, t->name, text);
}

static vc_status parse_shape(const struct parser *p, const json_t *entry, struct vc_tensor *t, uint64_t *elems) {
    const json_t *v = json_object_get(entry, "shape");
    if (!json_is_array(v)) return bad(p, t->name, "'shape' is missing or no array");
    if (json_array_size(v) > VC_MAX_DIMS) return bad(p, t->name, "more than 8 dimensions");
    t->n_dims = (uint32_t)json_array_size(v);
    *elems = 1;
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const json_t *d = json_array_get(v, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return bad(p, t->name, "a dimension in 'shape' is no integer of 0 or more");
        t->dims[i] = (uint64_t)json_integer_value(d);
        if (vc_ckd_mul(elems, *elems, t->dims[i])) return bad(p, t->name, "the number of values overflows");
    }
    return VC_OK;
}

static vc_status parse_offsets(const struct parser *p, const json_t *entry, struct vc_tensor *t, uint64_t elems) {
    const json_t *v = json_object_get(entry, "data_offsets");
    uint64_t at[2], bytes;
    char text[200];
    if (!json_is_array(v) || json_array_size(v) != 2)
        return bad(p, t->name, "'data_offsets' is missing or no array of two");
    for (size_t i = 0; i < 2; i++) {
        const json_t *d = json_array_get(v, i);
        if (!json_is_integer(d) || json_integer_value(d) < 0)
            return bad(p, t->name, "'data_offsets' holds no integer of 0 or more");
        at[i] = (uint64_t)json_integer_value(d);
    }
    if (at[0] > at[1] || at[1] > p->size) {
        snprintf(text, sizeof text,
                 "data_offsets [%llu, %llu] do not fit the data section of %llu bytes (file cut short?)",
                 (unsigned long long)at[0], (unsigned long long)at[1], (unsigned long long)p->size);
        return bad(p, t->name, text);
    }
    if (vc_dtype_bytes(t->dtype, elems, &bytes)) return bad(p, t->name, "its size in bytes overflows");
    if (bytes != at[1] - at[0]) {
        snprintf(text, sizeof text, "shape and dtype need %llu bytes, data_offsets give %llu",
                 (unsigned long long)bytes, (unsigned long long)(at[1] - at[0]));
        return bad(p, t->name, text);
    }
    t->bytes = bytes;
    t->offset = p->start + at[0];
    t->data = p->data + at[0];
    return VC_OK;
}

static vc_status parse_meta(struct parser *p, json_t *meta, struct vc_safetensors *out) {
    const char *key;
    json_t *v;
    if (!json_is_object(meta)) return vc_fail(p->err, VC_E_FORMAT, "%s: '__metadata__' is no object", p->name);
    out->meta = vc_arena_array(p->a, json_object_size(meta) + 1, sizeof *out->meta);
    if (!out->meta) return no_memory(p);
    json_object_foreach(meta, key, v) {
        char text[120];
        if (!json_is_string(v))
            return vc_fail(p->err, VC_E_FORMAT, "%s: '__metadata__.%s' is no string", p->name,
                           vc_printable(text, sizeof text, key, strlen(key)));
        out->meta[out->n_meta].key = vc_arena_strdup(p->a, key);
        out->meta[out->n_meta].value = vc_arena_strdup(p->a, json_string_value(v));
        if (!out->meta[out->n_meta].key || !out->meta[out->n_meta].value) return no_memory(p);
        out->n_meta++;
    }
    return VC_OK;
}

static vc_status parse_entries(struct parser *p, json_t *root, struct vc_safetensors *out) {
    const char *key;
    json_t *v;
    if (!json_is_object(root)) return vc_fail(p->err, VC_E_FORMAT, "%s: the header is no JSON object", p->name);
    out->v = vc_arena_array(p->a, json_object_size(root) + 1, sizeof *out->v);
    if (!out->v) return no_memory(p);
    json_object_foreach(root, key, v) {
        if (!strcmp(key, "__metadata__")) {
            VC_TRY(parse_meta(p, v, out));
            continue;
        }
        struct vc_tensor *t = &out->v[out->n];
        uint64_t elems = 0;
        t->name = vc_arena_strdup(p->a, key);
        if (!t->name) return no_memory(p);
        if (!json_is_object(v)) return bad(p, key, "its entry is no object");
        VC_TRY(parse_dtype(p, v, t));
        VC_TRY(parse_shape(p, v, t, &elems));
        VC_TRY(parse_offsets(p, v, t, elems));
        out->n++;
    }
    return VC_OK;
}

static int by_offset(const void *pa, const void *pb) {
    const struct vc_tensor *a = *(const struct vc_tensor *const *)pa, *b = *(const struct vc_tensor *const *)pb;
    return a->offset != b->offset ? (a->offset < b->offset ? -1 : 1) : (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

static vc_status check_cover(const struct parser *p, const struct vc_safetensors *s) {
    const struct vc_tensor **order = malloc((s->n + 1) * sizeof *order);
    if (!order) return no_memory(p);
    vc_status r = VC_OK;
    uint64_t end = p->start;
    for (size_t i = 0; i < s->n; i++) order[i] = &s->v[i];
    qsort(order, s->n, sizeof *order, by_offset);
    for (size_t i = 0; i < s->n && r == VC_OK; i++) {
        if (order[i]->offset < end) r = bad(p, order[i]->name, "overlaps another tensor");
        else if (order[i]->offset > end) r = bad(p, order[i]->name, "bytes before it belong to no tensor");
        end = order[i]->offset + order[i]->bytes;
    }
    free(order);
    if (r == VC_OK && end != p->start + p->size)
        return vc_fail(p->err, VC_E_FORMAT, "%s: %llu bytes at the end belong to no tensor", p->name,
                       (unsigned long long)(p->start + p->size - end));
    return r;
}

vc_status vc_safetensors_parse(struct vc_safetensors *out, struct vc_arena *a, const void *bytes, size_t n,
                               const char *name, vc_err *err) {
    uint64_t header;
    json_t *root = NULL;
    *out = (struct vc_safetensors){ 0 };
    VC_TRY(vc_map_check(bytes, n, name, err));
    if (n < 8) return vc_fail(err, VC_E_FORMAT, "%s: %zu bytes, too short for a safetensors file", name, n);
    memcpy(&header, bytes, 8);
    if (header > VC_SAFETENSORS_MAX_HEADER || header > n - 8)
        return vc_fail(err, VC_E_FORMAT,
                       "%s: header of %llu bytes does not fit the file of %zu bytes (not a safetensors file, or "
                       "cut short?)",
                       name, (unsigned long long)header, n);
    VC_TRY(vc_json_parse(&root, (const char *)bytes + 8, (size_t)header, name, err));
    struct parser p = { name, a, (const uint8_t *)bytes + 8 + header, 8 + header, n - 8 - header, err };
    vc_status s = parse_entries(&p, root, out);
    json_decref(root);
    return s == VC_OK ? check_cover(&p, out) : s;
}
