/* SPDX-License-Identifier: Apache-2.0
 * test.h: what every test includes. */
#ifndef VC_TEST_H
#define VC_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Path of reference data: the committed copy if it is there, else the complete set, else NULL (the caller then prints
 * that it left the case out, and skips). The result lives in a ring of static buffers. */
static inline const char *vc_golden(const char *name) {
    static char ring[16][1024];
    static unsigned at;
    const char *roots[2] = { VC_TEST_GOLDENS, VC_GOLDENS };
    for (int i = 0; i < 2; i++) {
        if (!roots[i][0]) continue;
        char *path = ring[at++ % 16];
        snprintf(path, sizeof ring[0], "%s/%s", roots[i], name);
        FILE *f = fopen(path, "rb");
        if (f) {
            fclose(f);
            return path;
        }
    }
    return NULL;
}

static inline bool vc_left_out(const char *what) {
    printf("left out: %s (not on this machine)\n", what);
    return true;
}

#endif
