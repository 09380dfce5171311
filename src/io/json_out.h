/* SPDX-License-Identifier: Apache-2.0
 * json_out.h: writing JSON into a vc_buf. Numbers are the shortest digits that read back to the same value; text is
 * made valid UTF-8 (invalid bytes become U+FFFD). The caller keeps begin/end and key/value balanced. */
#ifndef VC_IO_JSON_OUT_H
#define VC_IO_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

enum { VC_JSON_COMPACT = 0, VC_JSON_PRETTY = 1 /* two blanks a level */ };

struct vc_json_out {
    struct vc_buf *b;       /* borrowed */
    int flags;
    uint32_t depth;
    bool comma, after_key;
};

void vc_jo_init(struct vc_json_out *w, struct vc_buf *b, int flags);
void vc_jo_begin_obj(struct vc_json_out *w);
void vc_jo_end_obj(struct vc_json_out *w);
void vc_jo_begin_arr(struct vc_json_out *w);
void vc_jo_end_arr(struct vc_json_out *w);
void vc_jo_key(struct vc_json_out *w, const char *key);
void vc_jo_keyn(struct vc_json_out *w, const char *key, size_t n);
void vc_jo_str(struct vc_json_out *w, const char *s);           /* NULL: null */
void vc_jo_strn(struct vc_json_out *w, const char *s, size_t n);
void vc_jo_int(struct vc_json_out *w, int64_t v);
void vc_jo_uint(struct vc_json_out *w, uint64_t v);
void vc_jo_bool(struct vc_json_out *w, bool v);
void vc_jo_null(struct vc_json_out *w);
void vc_jo_f32(struct vc_json_out *w,
               float v); /* reads back to the same f32, also through an f64; NaN, Inf: null */
void vc_jo_f64(struct vc_json_out *w, double v);
void vc_jo_raw(struct vc_json_out *w, const char *json, size_t n);     /* a finished value, as it is */

/* The pieces alone. */
void vc_json_add_str(struct vc_buf *b, const char *s, size_t n);       /* with quotes */
void vc_json_add_f32(struct vc_buf *b, float v);
void vc_json_add_f64(struct vc_buf *b, double v);

#endif
