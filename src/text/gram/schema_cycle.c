/* SPDX-License-Identifier: Apache-2.0
 * schema_cycle.c: refuses references that lead back to where they stand without a property or an item between. */
#include <stdlib.h>

#include "text/gram/schema_doc.h"

/* Follower number i of node n at the same place of a value; 0: no more. */
static uint32_t follower(const struct vc_schema_node *n, uint32_t i) {
    const struct vc_schema_list *list[] = { &n->all, &n->any, &n->one };
    const uint32_t one[] = { n->target, n->not_, n->if_, n->then_, n->else_ };
    for (size_t l = 0; l < VC_ARRAY_LEN(list); l++) {
        if (i < list[l]->n) return list[l]->v[i];
        i -= list[l]->n;
    }
    if (i < n->dependent.n) return n->dependent.v[i].node;
    i -= n->dependent.n;
    for (size_t k = 0; k < VC_ARRAY_LEN(one); k++)
        if (one[k] && i-- == 0) return one[k];
    return 0;
}

vc_status vc_schema_acyclic(struct vc_schema_doc *d) {
    enum { FRESH, OPEN, DONE };
    uint8_t *mark = calloc(d->n, 1);
    uint32_t *stack = malloc(d->n * sizeof *stack), *next = calloc(d->n, sizeof *next), bad = 0;
    bool memory = mark && stack && next;
    for (uint32_t root = 1; root < d->n && memory && !bad; root++) {
        uint32_t top = 0;
        if (mark[root] != FRESH) continue;
        stack[top++] = root;
        mark[root] = OPEN;
        while (top && !bad) {
            uint32_t at = stack[top - 1], to = follower(&d->node[at], next[at]++);
            if (!to) {
                mark[at] = DONE;
                top--;
            } else if (mark[to] == OPEN) {
                bad = at;
            } else if (mark[to] == FRESH) {
                mark[to] = OPEN;
                stack[top++] = to;
            }
        }
    }
    free(mark);
    free(stack);
    free(next);
    if (!memory) return vc_fail(d->err, VC_E_NOMEM, "JSON schema: out of memory");
    return bad ? vc_schema_fail(d, VC_E_INVALID, bad, VC_KW_REF,
                                "leads back to itself without a property or an item between")
               : VC_OK;
}
