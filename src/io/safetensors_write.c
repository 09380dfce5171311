/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ckd.h"
#include "io/json_out.h"
#include "io/safetensors.h"

/* The header with its length in front, padded with blanks so that the data begins at a multiple of 8. */
static vc_status make_header(struct vc_buf *b, const struct vc_tensor *v, size_t n, const char *path, vc_err *err) {
    struct vc_json_out w;
    uint64_t at = 0;
    vc_buf_add(b, "\0\0\0\0\0\0\0\0", 8);
    vc_jo_init(&w, b, VC_JSON_COMPACT);
    vc_jo_begin_obj(&w);
    for (size_t i = 0; i < n; i++) {
        uint64_t elems = 1, bytes, end;
        for (uint32_t k = 0; k < v[i].n_dims; k++)
            if (vc_ckd_mul(&elems, elems, v[i].dims[k]))
                return vc_fail(err, VC_E_INVALID, "%s: tensor '%s': its size overflows", path, v[i].name);
        if (v[i].dtype >= VC_NUM_DTYPES || !vc_dtype_info(v[i].dtype)->safetensors[0])
            return vc_fail(err, VC_E_UNSUPPORTED, "%s: tensor '%s': safetensors has no format %s", path, v[i].name,
                           vc_dtype_name(v[i].dtype));
        if (vc_dtype_bytes(v[i].dtype, elems, &bytes) || vc_ckd_add(&end, at, bytes))
            return vc_fail(err, VC_E_INVALID, "%s: tensor '%s': its size overflows", path, v[i].name);
        vc_jo_key(&w, v[i].name);
        vc_jo_begin_obj(&w);
        vc_jo_key(&w, "dtype");
        vc_jo_str(&w, vc_dtype_info(v[i].dtype)->safetensors);
        vc_jo_key(&w, "shape");
        vc_jo_begin_arr(&w);
        for (uint32_t k = 0; k < v[i].n_dims; k++) vc_jo_uint(&w, v[i].dims[k]);
        vc_jo_end_arr(&w);
        vc_jo_key(&w, "data_offsets");
        vc_jo_begin_arr(&w);
        vc_jo_uint(&w, at);
        vc_jo_uint(&w, end);
        vc_jo_end_arr(&w);
        vc_jo_end_obj(&w);
        at = end;
    }
    vc_jo_end_obj(&w);
    while (!b->failed && b->n % 8) vc_buf_addc(b, ' ');
    if (b->failed) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    uint64_t len = b->n - 8;
    memcpy(b->p, &len, 8);
    return VC_OK;
}

static bool write_all(FILE *f, const struct vc_buf *header, const struct vc_tensor *v, size_t n) {
    if (fwrite(header->p, 1, header->n, f) != header->n) return false;
    for (size_t i = 0; i < n; i++) {
        uint64_t elems = 1, bytes = 0;
        for (uint32_t k = 0; k < v[i].n_dims; k++) elems *= v[i].dims[k];
        if (vc_dtype_bytes(v[i].dtype, elems, &bytes)) return false;
        if (bytes && fwrite(v[i].data, 1, (size_t)bytes, f) != bytes) return false;
    }
    return true;
}

static vc_status write_file(const char *path, const char *tmp, const struct vc_buf *header,
                            const struct vc_tensor *v, size_t n, vc_err *err) {
    FILE *f = fopen(tmp, "wb");
    if (!f) return vc_fail(err, VC_E_IO, "%s: %s", tmp, strerror(errno));
    bool ok = write_all(f, header, v, n);
    int code = errno;
    if (fclose(f) && ok) {
        ok = false;
        code = errno;
    }
    if (ok && rename(tmp, path)) {
        ok = false;
        code = errno;
    }
    if (ok) return VC_OK;
    remove(tmp);
    return vc_fail(err, VC_E_IO, "%s: %s", path, strerror(code));
}

vc_status vc_safetensors_write(const char *path, const struct vc_tensor *v, size_t n, vc_err *err) {
    struct vc_buf header = { 0 }, tmp = { 0 };
    vc_status s = make_header(&header, v, n, path, err);
    vc_buf_printf(&tmp, "%s.tmp", path);
    if (s == VC_OK && tmp.failed) s = vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    if (s == VC_OK) s = write_file(path, tmp.p, &header, v, n, err);
    vc_buf_free(&header);
    vc_buf_free(&tmp);
    return s;
}
