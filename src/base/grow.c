/* SPDX-License-Identifier: Apache-2.0 */
#include "base/grow.h"

#include <stdlib.h>

#include "base/ckd.h"

bool vc_grow(void **v, size_t used, size_t *cap, size_t n, size_t size) {
    uint64_t need, want, bytes;
    if (vc_ckd_add(&need, used, n) || vc_ckd_add(&want, *cap, *cap) || vc_ckd_add(&want, want, 16)) return false;
    if (need <= *cap) return true;
    if (want < need) want = need;
    if (vc_ckd_mul(&bytes, want, size)) return false;
    void *p = realloc(*v, (size_t)bytes);
    if (!p) return false;
    *v = p;
    *cap = (size_t)want;
    return true;
}
