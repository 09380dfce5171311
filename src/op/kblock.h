/* SPDX-License-Identifier: Apache-2.0
 * kblock.h: how matmul cuts K (cores pair and iblk): blocks of 1024 elements if K > 1024, else of 512; each block is
 * summed from 0 and the block sums are added left to right. The rule of vLLM's CPU path for two rows or more. */
#ifndef VC_OP_KBLOCK_H
#define VC_OP_KBLOCK_H

#include <stdint.h>

static inline uint32_t vc_kblock(uint32_t K) { return K > 1024 ? 1024 : 512; }

#endif
