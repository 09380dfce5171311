/* SPDX-License-Identifier: Apache-2.0
 * fuzz_safetensors.c: any bytes as a safetensors file: refused with a text that names it, or all tensors readable and
 * together exactly the data section. */
#include "fuzz.h"

#include <string.h>

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct vc_safetensors s;
    struct vc_arena a = { 0 };
    vc_err err = VC_ERR_INIT;
    volatile unsigned sum = 0;
    if (vc_safetensors_parse(&s, &a, data, n, "fuzz.safetensors", &err)) {
        FUZZ_CHECK(strstr(err.text, "fuzz.safetensors"));
    } else {
        uint64_t header, total = 0;
        memcpy(&header, data, 8);
        for (size_t i = 0; i < s.n; i++) {
            for (uint64_t k = 0; k < s.v[i].bytes; k++) sum = sum + ((const uint8_t *)s.v[i].data)[k];
            total += s.v[i].bytes;
        }
        FUZZ_CHECK(total == n - 8 - header);
        for (size_t i = 0; i < s.n_meta; i++) sum = sum + (unsigned)(strlen(s.meta[i].key) + strlen(s.meta[i].value));
    }
    vc_arena_free(&a);
    return 0;
}
