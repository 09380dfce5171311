/* SPDX-License-Identifier: Apache-2.0
 * grow.h: arrays of malloc that grow by doubling. */
#ifndef VC_BASE_GROW_H
#define VC_BASE_GROW_H

#include <stdbool.h>
#include <stddef.h>

/* Room for n more elements of `size` bytes behind the first `used` of *v, which may move and is freed with free(); false:
 * out of memory, and nothing has changed. */
bool vc_grow(void **v, size_t used, size_t *cap, size_t n, size_t size);

#endif
