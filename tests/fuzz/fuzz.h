/* SPDX-License-Identifier: Apache-2.0
 * fuzz.h: the entry point that every fuzz target defines (LLVM's libFuzzer). It returns 0 and must not keep data. */
#ifndef VC_FUZZ_H
#define VC_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What a target promises beyond not crashing. */
#define FUZZ_CHECK(x)                                                                              \
    do {                                                                                           \
        if (!(x)) abort();                                                                           \
    } while (0)

#endif
