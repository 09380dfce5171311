/* SPDX-License-Identifier: Apache-2.0
 * same_bits.h: one request run in one setting, and everything that must not depend on the setting. */
#ifndef VC_TEST_SAME_BITS_H
#define VC_TEST_SAME_BITS_H

#include <stdbool.h>

#include "vllmc.h"

enum { SB_MAX_OUT = 48, SB_TOP = 3, SB_CHOICES = 2, SB_CROWD = 3 };   /* CROWD: neighbours of one that is preempted */

enum sb_cache { SB_OFF, SB_COLD, SB_WARM, SB_HALF };
/* A way to run a request. Zero is the plain way: alone, everything in one step, pages of 16, one thread, cache off. */
struct sb_setting {
    const char *name;
    uint32_t neighbours, before, budget, block, threads; /* before: neighbours that were there first */
    enum sb_cache cache;
    int preempt, no_fuse;
    const char *tier; /* VLLMC_CPU */
};
struct sb_request {
    uint32_t len, seeded, out;
}; /* seeded: temperature 0.8; else greedy; n = 2 */
/* What a request gave. */
struct sb_result {
    int32_t token[SB_CHOICES][SB_MAX_OUT];
    vc_logprob logprob[SB_CHOICES][SB_MAX_OUT][1 + SB_TOP];
    uint32_t num[SB_CHOICES], cached;
    uint64_t preemptions;
};

/* An opened model is kept from request to request of one setting. */
struct sb_model {
    vc_model *m;
    const char *path, *numerics;
    const struct sb_setting *s;
    uint32_t vocab;
};
vc_status sb_open(struct sb_model *b, uint32_t max_len, uint64_t kv_bytes, vc_err *err);
vc_status sb_run(struct sb_model *b, const struct sb_request *r, struct sb_result *out, vc_err *err);
/* Bytes of the cache for so many tokens. */
bool sb_windows(const struct sb_model *b);
uint64_t sb_kv_bytes(const struct sb_model *b, uint32_t tokens);

#endif
