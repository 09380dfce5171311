/* SPDX-License-Identifier: Apache-2.0
 * json_get.c: typed access by dotted path. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/json.h"

const char *vc_json_type_name(const json_t *v) {
    if (!v) return "nothing";
    switch (json_typeof(v)) {
    case JSON_OBJECT: return "object";
    case JSON_ARRAY: return "array";
    case JSON_STRING: return "string";
    case JSON_INTEGER: return "integer";
    case JSON_REAL: return "real number";
    case JSON_TRUE: case JSON_FALSE: return "bool";
    default: return "null";
    }
}

/* One step: member of an object, or element of an array by a decimal index. */
static json_t *step(const json_t *v, const char *key, size_t n) {
    if (json_is_object(v)) return json_object_getn(v, key, n);
    if (!json_is_array(v) || !n || n > 9) return NULL;
    size_t i = 0;
    for (size_t k = 0; k < n; k++) {
        if (key[k] < '0' || key[k] > '9') return NULL;
        i = i * 10 + (size_t)(key[k] - '0');
    }
    return json_array_get(v, i);
}

json_t *vc_json_at(const json_t *root, const char *path) {
    const json_t *v = root;
    for (const char *p = path; v;) {
        size_t n = strcspn(p, ".");
        json_t *next = step(v, p, n);
        if (!p[n]) return next;
        v = next;
        p += n + 1;
    }
    return NULL;
}

enum { REQUIRED, OPTIONAL };

/* *v is NULL with success when the value is absent or null and optional. */
static vc_status get(const json_t *root, const char *path, const char *want, int need, json_t **v, vc_err *err) {
    json_t *x = vc_json_at(root, path);
    *v = json_is_null(x) ? NULL : x;
    if (*v || need == OPTIONAL) return VC_OK;
    return vc_fail(err, VC_E_NOT_FOUND, "key '%s' is %s, expected %s", path, x ? "null" : "missing", want);
}

static vc_status wrong(const json_t *v, const char *path, const char *want, vc_err *err) {
    return vc_fail(err, VC_E_FORMAT, "key '%s' is of type %s, expected %s", path, vc_json_type_name(v), want);
}

static vc_status get_str(const json_t *root, const char *path, vc_str *v, int need, vc_err *err) {
    json_t *x = NULL;
    VC_TRY(get(root, path, "a string", need, &x, err));
    if (!x) return VC_OK;
    if (!json_is_string(x)) return wrong(x, path, "a string", err);
    *v = (vc_str){ json_string_value(x), json_string_length(x) };
    return VC_OK;
}

static vc_status get_bool(const json_t *root, const char *path, bool *v, int need, vc_err *err) {
    json_t *x = NULL;
    VC_TRY(get(root, path, "true or false", need, &x, err));
    if (!x) return VC_OK;
    if (!json_is_boolean(x)) return wrong(x, path, "true or false", err);
    *v = json_is_true(x);
    return VC_OK;
}

/* An integer, or a real that is a whole number, as int64 (*negative false) or as uint64 above INT64_MAX. */
static vc_status get_whole(const json_t *root, const char *path, const char *want, int need, bool *there,
                           int64_t *i, uint64_t *u, vc_err *err) {
    json_t *x = NULL;
    *there = false;
    VC_TRY(get(root, path, want, need, &x, err));
    if (!x) return VC_OK;
    if (json_is_integer(x)) {
        *i = json_integer_value(x);
        *u = *i >= 0 ? (uint64_t)*i : 0;
    } else if (json_is_real(x)) {
        double d = json_real_value(x);
        if (!(d >= -0x1p63 && d < 0x1p64) || d != floor(d))
            return vc_fail(err, VC_E_FORMAT, "key '%s' is %g, expected %s", path, d, want);
        *i = d < 0x1p63 ? (int64_t)d : INT64_MAX;
        *u = d >= 0 ? (uint64_t)d : 0;
    } else {
        return wrong(x, path, want, err);
    }
    *there = true;
    return VC_OK;
}

static vc_status get_i64(const json_t *root, const char *path, int64_t *v, int need, vc_err *err) {
    bool there = false;
    int64_t i = 0;
    uint64_t u = 0;
    VC_TRY(get_whole(root, path, "an integer", need, &there, &i, &u, err));
    if (!there) return VC_OK;
    if (i >= 0 && u > INT64_MAX)
        return vc_fail(err, VC_E_FORMAT, "key '%s' is %llu, expected an integer below 2^63", path,
                       (unsigned long long)u);
    *v = i;
    return VC_OK;
}

static vc_status get_uint(const json_t *root, const char *path, uint64_t *v, uint64_t max, int need, vc_err *err) {
    bool there = false;
    int64_t i = 0;
    uint64_t u = 0;
    VC_TRY(get_whole(root, path, "an integer of 0 or more", need, &there, &i, &u, err));
    if (!there) return VC_OK;
    if (i < 0)
        return vc_fail(err, VC_E_FORMAT, "key '%s' is %lld, expected an integer of 0 or more", path, (long long)i);
    if (u > max)
        return vc_fail(err, VC_E_FORMAT, "key '%s' is %llu, expected at most %llu", path, (unsigned long long)u,
                       (unsigned long long)max);
    *v = u;
    return VC_OK;
}

static vc_status get_u64(const json_t *root, const char *path, uint64_t *v, int need, vc_err *err) {
    return get_uint(root, path, v, UINT64_MAX, need, err);
}

static vc_status get_u32(const json_t *root, const char *path, uint32_t *v, int need, vc_err *err) {
    uint64_t u = *v;
    VC_TRY(get_uint(root, path, &u, UINT32_MAX, need, err));
    *v = (uint32_t)u;
    return VC_OK;
}

static vc_status get_f64(const json_t *root, const char *path, double *v, int need, vc_err *err) {
    json_t *x = NULL;
    VC_TRY(get(root, path, "a number", need, &x, err));
    if (!x) return VC_OK;
    if (!json_is_number(x)) return wrong(x, path, "a number", err);
    *v = json_number_value(x);
    return VC_OK;
}

static vc_status get_f32(const json_t *root, const char *path, float *v, int need, vc_err *err) {
    double d = (double)*v;
    VC_TRY(get_f64(root, path, &d, need, err));
    if (fabs(d) > 3.4028235677973366e38)
        return vc_fail(err, VC_E_FORMAT, "key '%s' is %g, expected a number within the range of f32", path, d);
    *v = (float)d;
    return VC_OK;
}

static vc_status get_obj(const json_t *root, const char *path, json_t **v, int need, vc_err *err) {
    json_t *x = NULL;
    VC_TRY(get(root, path, "an object", need, &x, err));
    if (!x) return VC_OK;
    if (!json_is_object(x)) return wrong(x, path, "an object", err);
    *v = x;
    return VC_OK;
}

static vc_status get_arr(const json_t *root, const char *path, json_t **v, int need, vc_err *err) {
    json_t *x = NULL;
    VC_TRY(get(root, path, "an array", need, &x, err));
    if (!x) return VC_OK;
    if (!json_is_array(x)) return wrong(x, path, "an array", err);
    *v = x;
    return VC_OK;
}

vc_status vc_json_str(const json_t *r, const char *p, vc_str *v, vc_err *err) {
    return get_str(r, p, v, REQUIRED, err);
}
vc_status vc_json_bool(const json_t *r, const char *p, bool *v, vc_err *err) {
    return get_bool(r, p, v, REQUIRED, err);
}
vc_status vc_json_i64(const json_t *r, const char *p, int64_t *v, vc_err *err) {
    return get_i64(r, p, v, REQUIRED, err);
}
vc_status vc_json_u64(const json_t *r, const char *p, uint64_t *v, vc_err *err) {
    return get_u64(r, p, v, REQUIRED, err);
}
vc_status vc_json_f64(const json_t *r, const char *p, double *v, vc_err *err) {
    return get_f64(r, p, v, REQUIRED, err);
}
vc_status vc_json_obj(const json_t *r, const char *p, json_t **v, vc_err *err) {
    return get_obj(r, p, v, REQUIRED, err);
}
vc_status vc_json_arr(const json_t *r, const char *p, json_t **v, vc_err *err) {
    return get_arr(r, p, v, REQUIRED, err);
}
/* u32 and f32 start from a value of their own: *v need not be set by the caller of a required getter. */
vc_status vc_json_u32(const json_t *r, const char *p, uint32_t *v, vc_err *err) {
    return *v = 0, get_u32(r, p, v, REQUIRED, err);
}
vc_status vc_json_f32(const json_t *r, const char *p, float *v, vc_err *err) {
    return *v = 0, get_f32(r, p, v, REQUIRED, err);
}

vc_status vc_json_opt_str(const json_t *r, const char *p, vc_str *v, vc_err *err) {
    return get_str(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_bool(const json_t *r, const char *p, bool *v, vc_err *err) {
    return get_bool(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_i64(const json_t *r, const char *p, int64_t *v, vc_err *err) {
    return get_i64(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_u64(const json_t *r, const char *p, uint64_t *v, vc_err *err) {
    return get_u64(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_u32(const json_t *r, const char *p, uint32_t *v, vc_err *err) {
    return get_u32(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_f64(const json_t *r, const char *p, double *v, vc_err *err) {
    return get_f64(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_f32(const json_t *r, const char *p, float *v, vc_err *err) {
    return get_f32(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_obj(const json_t *r, const char *p, json_t **v, vc_err *err) {
    return get_obj(r, p, v, OPTIONAL, err);
}
vc_status vc_json_opt_arr(const json_t *r, const char *p, json_t **v, vc_err *err) {
    return get_arr(r, p, v, OPTIONAL, err);
}
