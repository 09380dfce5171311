/* SPDX-License-Identifier: Apache-2.0
 * srv_store.c: stored responses, first in first out, within MAX_ENTRIES and MAX_BYTES. Ids are random, so that nobody
 * guesses another's. */
#include <stdlib.h>
#include <string.h>

#include "server/srv_int.h"

enum { MAX_ENTRIES = 1024, MAX_BYTES = 64 << 20 };
struct entry { struct entry *next; char *id, *body; size_t n; json_t *messages; };
struct srv_store { pthread_mutex_t lock; struct entry *head, **tail; size_t entries, bytes; };

struct srv_store *srv_store_new(void) {
    struct srv_store *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->tail = &s->head;
    return s;
}

static void entry_free(struct entry *e) {
    free(e->id);
    free(e->body);
    json_decref(e->messages);
    free(e);
}

static void drop_oldest(struct srv_store *s) {
    struct entry *e = s->head;
    s->head = e->next;
    if (!s->head) s->tail = &s->head;
    s->entries--;
    s->bytes -= e->n;
    entry_free(e);
}

void srv_store_del(struct srv_store *s) {
    if (!s) return;
    while (s->head) drop_oldest(s);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void srv_store_put(struct srv_store *s, const char *id, const char *body, size_t n, json_t *messages) {
    struct entry *e = s ? calloc(1, sizeof *e) : NULL;
    if (!e) return;
    e->id = strdup(id);
    e->body = malloc(n + 1);
    e->messages = json_deep_copy(messages);        /* jansson's counts are not for several threads */
    size_t history = json_dumpb(messages, NULL, 0, JSON_COMPACT);
    e->n = n + history;
    if (!e->id || !e->body || !e->messages || e->n > MAX_BYTES / 4) {
        entry_free(e);
        return;
    }
    memcpy(e->body, body, n);
    e->body[n] = '\0';
    pthread_mutex_lock(&s->lock);
    *s->tail = e;
    s->tail = &e->next;
    s->entries++;
    s->bytes += e->n;
    while (s->entries > MAX_ENTRIES || s->bytes > MAX_BYTES) drop_oldest(s);
    pthread_mutex_unlock(&s->lock);
}

json_t *srv_store_get(struct srv_store *s, const char *id, struct vc_buf *body) {
    json_t *messages = NULL;
    if (!s) return NULL;
    pthread_mutex_lock(&s->lock);
    struct entry *e = s->head;
    while (e && strcmp(e->id, id) != 0) e = e->next;
    if (e) {
        messages = json_deep_copy(e->messages);
        if (body) vc_buf_adds(body, e->body);
    }
    pthread_mutex_unlock(&s->lock);
    return messages;
}
