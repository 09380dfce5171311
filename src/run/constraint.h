/* SPDX-License-Identifier: Apache-2.0
 * constraint.h: what a sequence's output must follow, as the engine sees it: a set of allowed tokens that changes with every
 * token. Who makes one (the room api, from a grammar) embeds this struct; the engine calls the functions and knows no grammar. */
#ifndef VC_RUN_CONSTRAINT_H
#define VC_RUN_CONSTRAINT_H

#include <stdbool.h>
#include <stdint.h>

struct vc_constraint;
struct vc_constraint_ops {
    /* Sets bit i % 32 of bits[i / 32] iff token i may come next; false: anything may, and bits is not written. Called by the
     * thread that samples the row: for different constraints at the same time. */
    bool (*mask)(struct vc_constraint *c, uint32_t *bits);
    /* The token became an output. Called by the engine's thread, as is the next. */
    void (*accept)(struct vc_constraint *c, int32_t token);
    /* The one token that may come next, or -1: none, or more than one, or nobody knows. */
    int32_t (*forced)(struct vc_constraint *c);
};
struct vc_constraint { const struct vc_constraint_ops *ops; };

#endif
