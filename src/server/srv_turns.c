/* SPDX-License-Identifier: Apache-2.0
 * srv_turns.c: whose step it is. Engines that share the processors run one step at a time, in the order in which they
 * asked, so that each step has all threads of its pool running and none waits for one that another engine displaced. */
#include <stdlib.h>

#include "server/srv_int.h"

struct srv_turns {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint64_t next, now; /* the next ticket; the one whose turn it is */
};

struct srv_turns *srv_turns_new(void) {
    struct srv_turns *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->moved, NULL);
    return t;
}

void srv_turns_del(struct srv_turns *t) {
    if (!t) return;
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->moved);
    free(t);
}

void srv_turn(int begins, void *turns) {
    struct srv_turns *t = turns;
    pthread_mutex_lock(&t->lock);
    if (begins) {
        uint64_t mine = t->next++;
        while (t->now != mine) pthread_cond_wait(&t->moved, &t->lock);
    } else {
        t->now++;
        pthread_cond_broadcast(&t->moved);
    }
    pthread_mutex_unlock(&t->lock);
}
