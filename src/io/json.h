/* SPDX-License-Identifier: Apache-2.0
 * json.h: reading JSON with jansson: duplicate keys and nesting above VC_JSON_MAX_DEPTH are errors, NULs in strings are
 * kept; typed getters by dotted path ("rope_parameters.rope_type"; a number steps into an array). A key that itself
 * contains a dot is reached with json_object_get. */
#ifndef VC_IO_JSON_H
#define VC_IO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/status.h"
#include "base/str.h"

enum { VC_JSON_MAX_DEPTH = 512 };

/* *out is a new reference: json_decref. Any JSON value may be the root. name stands before the position in errors:
 * E_FORMAT "NAME:LINE:COLUMN: …". */
vc_status vc_json_parse(json_t **out, const char *text, size_t n, const char *name, vc_err *err);
vc_status vc_json_load(json_t **out, const char *path, vc_err *err);    /* through map.h: the same refusals */

/* The value at path, borrowed; NULL if any step is absent. */
json_t *vc_json_at(const json_t *root, const char *path);
const char *vc_json_type_name(const json_t *v);     /* "object", "string", …; "nothing" for NULL */

/* Required: absent or null is E_NOT_FOUND, another type or range E_FORMAT; both name the path and the expected type.
 * Strings borrow from the tree. f64 and f32 take integers too; u32, u64 and i64 take reals that are whole numbers. */
vc_status vc_json_str(const json_t *root, const char *path, vc_str *v, vc_err *err);
vc_status vc_json_bool(const json_t *root, const char *path, bool *v, vc_err *err);
vc_status vc_json_i64(const json_t *root, const char *path, int64_t *v, vc_err *err);
vc_status vc_json_u64(const json_t *root, const char *path, uint64_t *v, vc_err *err);
vc_status vc_json_u32(const json_t *root, const char *path, uint32_t *v, vc_err *err);
vc_status vc_json_f64(const json_t *root, const char *path, double *v, vc_err *err);
vc_status vc_json_f32(const json_t *root, const char *path, float *v, vc_err *err);
vc_status vc_json_obj(const json_t *root, const char *path, json_t **v, vc_err *err);
vc_status vc_json_arr(const json_t *root, const char *path, json_t **v, vc_err *err);

/* Optional: absent or null leaves *v as it is and is success; another type or range is E_FORMAT as above. */
vc_status vc_json_opt_str(const json_t *root, const char *path, vc_str *v, vc_err *err);
vc_status vc_json_opt_bool(const json_t *root, const char *path, bool *v, vc_err *err);
vc_status vc_json_opt_i64(const json_t *root, const char *path, int64_t *v, vc_err *err);
vc_status vc_json_opt_u64(const json_t *root, const char *path, uint64_t *v, vc_err *err);
vc_status vc_json_opt_u32(const json_t *root, const char *path, uint32_t *v, vc_err *err);
vc_status vc_json_opt_f64(const json_t *root, const char *path, double *v, vc_err *err);
vc_status vc_json_opt_f32(const json_t *root, const char *path, float *v, vc_err *err);
vc_status vc_json_opt_obj(const json_t *root, const char *path, json_t **v, vc_err *err);
vc_status vc_json_opt_arr(const json_t *root, const char *path, json_t **v, vc_err *err);

#endif
