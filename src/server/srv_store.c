/* SPDX-License-Identifier: Apache-2.0
 * srv_store.c: stored responses, first in first out, within SRV_STORE_ENTRIES and SRV_STORE_BYTES; those that are still
 * made stay. Ids are random, so that nobody guesses another's. */
#include "server/srv_store.h"

#include <stdlib.h>
#include <string.h>

struct srv_store *srv_store_new(void) {
    struct srv_store *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    pthread_mutex_init(&s->lock, NULL);
    s->tail = &s->head;
    return s;
}

struct srv_entry *srv_entry_new(const char *id, const char *body, size_t n, const json_t *messages) {
    struct srv_entry *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->status = SRV_ENDED;
    e->id = strdup(id);
    e->body = malloc(n + SRV_WORD_ROOM + 1);
    e->messages = json_deep_copy(messages);        /* jansson's counts are not for several threads */
    e->n = n;
    e->bytes = n + json_dumpb(messages, NULL, 0, JSON_COMPACT);
    if (!e->id || !e->body || !e->messages) {
        srv_entry_free(e);
        return NULL;
    }
    memcpy(e->body, body, n);
    e->body[n] = '\0';
    return e;
}

void srv_entry_free(struct srv_entry *e) {
    for (uint32_t i = 0; i < e->num_readers; i++) srv_call_unref(e->readers[i].call);
    if (e->job) srv_call_unref(e->job);
    free(e->readers);
    free(e->id);
    free(e->body);
    json_decref(e->messages);
    vc_buf_free(&e->events);
    free(e);
}

struct srv_entry *srv_store_find(struct srv_store *s, const char *id) {
    struct srv_entry *e = s->head;
    while (e && strcmp(e->id, id) != 0) e = e->next;
    return e;
}

void srv_store_add(struct srv_store *s, struct srv_entry *e) {
    *s->tail = e;
    s->tail = &e->next;
    s->entries++;
    s->bytes += e->bytes;
}

void srv_store_remove(struct srv_store *s, struct srv_entry *e) {
    struct srv_entry **at = &s->head;
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    if (!e->next) s->tail = at;
    s->entries--;
    s->bytes -= e->bytes;
    srv_entry_free(e);
}

bool srv_store_room(struct srv_store *s, size_t entries, size_t bytes) {
    while (s->entries + entries > SRV_STORE_ENTRIES || s->bytes + bytes > SRV_STORE_BYTES) {
        struct srv_entry *e = s->head;
        while (e && e->job) e = e->next;
        if (!e) return false;
        srv_store_remove(s, e);
    }
    return true;
}

void srv_store_del(struct srv_store *s) {
    if (!s) return;
    while (s->head) srv_store_remove(s, s->head);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void srv_store_put(struct srv_store *s, const char *id, const char *body, size_t n, const json_t *messages) {
    struct srv_entry *e = !s ? NULL : srv_entry_new(id, body, n, messages);
    if (!e) return;
    pthread_mutex_lock(&s->lock);
    struct srv_entry *old = srv_store_find(s, id);
    bool keep = e->bytes <= SRV_ENTRY_BYTES && !(old && old->job);
    if (keep && old) srv_store_remove(s, old);
    keep = keep && srv_store_room(s, 1, e->bytes);
    if (keep) srv_store_add(s, e);
    pthread_mutex_unlock(&s->lock);
    if (!keep) srv_entry_free(e);
}

json_t *srv_store_get(struct srv_store *s, const char *id, struct vc_buf *body, bool *made) {
    json_t *messages = NULL;
    if (!s) return NULL;
    pthread_mutex_lock(&s->lock);
    struct srv_entry *e = srv_store_find(s, id);
    if (e) {
        messages = json_deep_copy(e->messages);
        if (made) *made = e->status > SRV_IN_PROGRESS;
        if (body) vc_buf_add(body, e->body, e->n);
    }
    pthread_mutex_unlock(&s->lock);
    return messages;
}
