/* SPDX-License-Identifier: Apache-2.0
 * gram_dfa.h: the deterministic automaton of an NFA without calls and sites, its states made when they are first
 * asked for. State 0 is the empty set, from which nothing is reached. */
#ifndef VC_TEXT_GRAM_DFA_H
#define VC_TEXT_GRAM_DFA_H

#include "text/gram/gram_int.h"

struct dstate { uint32_t off, n, hash; uint32_t *next; bool accept; };
struct dfa {
    struct vc_gram *g;
    const struct nfa *a;
    uint32_t final;
    uint32_t *at, *list;                    /* edges by first state */
    uint8_t *live;                          /* states that reach the final one */
    struct dstate *states; size_t n_states, cap_states;
    uint32_t *sets; size_t n_sets, cap_sets;
    uint32_t *table; size_t cap_table;
    uint32_t *work, *seen; uint32_t n_work, stamp;
};
/* a must outlive d. start: an NFA state; the result in *first. */
bool vc_dfa_init(struct dfa *d, struct vc_gram *g, const struct nfa *a, uint32_t start, uint32_t final,
                 uint32_t *first);
const uint32_t *vc_dfa_next(struct dfa *d, uint32_t s);      /* 256 states; NULL: failed; valid until the next call */
void vc_dfa_free(struct dfa *d);

#endif
