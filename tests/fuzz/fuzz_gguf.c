/* SPDX-License-Identifier: Apache-2.0
 * fuzz_gguf.c: any bytes as a GGUF file: refused with a text that names the file, or every key, string and tensor
 * readable. */
#include "fuzz.h"

#include <string.h>

#include "io/tensors.h"

static unsigned touch(const void *p, uint64_t n) {
    unsigned sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += ((const uint8_t *)p)[i];
    return sum;
}

static unsigned read_values(const struct vc_gguf *g) {
    unsigned sum = 0;
    for (size_t i = 0; i < vc_gguf_num_kv(g); i++) {
        const struct vc_gguf_value *v = vc_gguf_at(g, i);
        const char *key = vc_gguf_key(g, i);
        const vc_str *s;
        size_t n;
        FUZZ_CHECK(vc_gguf_find(g, key) == v);
        if (v->type == VC_GGUF_STRING) sum += touch(v->s.p, v->s.n);
        if (v->type != VC_GGUF_ARRAY) continue;
        sum += touch(v->a.data, v->a.bytes);
        if (v->a.of != VC_GGUF_STRING) {
            for (size_t k = 0; k < v->a.n; k++) sum += vc_gguf_elem_f64(v, k) > 0;
            continue;
        }
        FUZZ_CHECK(vc_gguf_strings(g, key, &s, &n, NULL) == VC_OK && n == v->a.n);
        for (size_t k = 0; k < n; k++) sum += touch(s[k].p, s[k].n);
    }
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct vc_gguf *g;
    struct vc_tensors *t;
    vc_err err = VC_ERR_INIT;
    volatile unsigned sum = 0;
    if (vc_gguf_open_mem(&g, data, n, "fuzz.gguf", &err)) {
        FUZZ_CHECK(!g && strstr(err.text, "fuzz.gguf"));
        return 0;
    }
    sum = read_values(g);
    FUZZ_CHECK(vc_tensors_open_gguf(&t, g, &err) == VC_OK);
    for (size_t i = 0; i < vc_tensors_count(t); i++) {
        const struct vc_tensor *x = vc_tensors_at(t, i);
        uint64_t bytes;
        FUZZ_CHECK(vc_tensors_find(t, x->name) == x);
        FUZZ_CHECK(!vc_dtype_bytes(x->dtype, vc_tensor_elems(x), &bytes) && bytes == x->bytes);
        sum = sum + touch(x->data, x->bytes);
    }
    vc_tensors_close(t);
    vc_gguf_close(g);
    return 0;
}
