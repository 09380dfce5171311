/* SPDX-License-Identifier: Apache-2.0
 * srv_store.h: responses that may be asked for again, gone on from, or that are made while nobody waits. What is in a
 * srv_entry is guarded by its store's lock. Order of locks: that of the call which makes the response, the store's, that
 * of a call which reads it. */
#ifndef VC_SERVER_SRV_STORE_H
#define VC_SERVER_SRV_STORE_H

#include "server/srv_int.h"

enum { SRV_STORE_ENTRIES = 1024, SRV_STORE_BYTES = 64 << 20, SRV_ENTRY_BYTES = SRV_STORE_BYTES / 4 };

enum { SRV_WORD_ROOM = 8 };                /* by which the words of the status differ in length, at most */

enum srv_entry_status { SRV_QUEUED, SRV_IN_PROGRESS, SRV_CANCELLED, SRV_FAILED, SRV_ENDED };
/* A call that is sent the events of a stream, from number `next` on. */
struct srv_reader { struct srv_call *call; uint64_t next; };
struct srv_entry {
    struct srv_entry *next;
    char *id;
    char *body; size_t n;                  /* the response object; SRV_WORD_ROOM bytes more are there */
    json_t *messages;                      /* the conversation so far */
    size_t bytes;                          /* counted for it in the store */

    struct srv_call *job;                  /* makes it in the background; a reference. NULL: it is done */
    enum srv_entry_status status;          /* SRV_ENDED: body says how */
    size_t status_at;                      /* where the word stands in the body while it is another one */
    bool streams, lost;                    /* it has events; they are not kept, as they were too many */
    struct vc_buf events; uint64_t num_events;
    struct srv_reader *readers; uint32_t num_readers;      /* references */
};
struct srv_store { pthread_mutex_t lock; struct srv_entry *head, **tail; size_t entries, bytes; };

/* A copy of body and of messages; NULL: no memory. */
struct srv_entry *srv_entry_new(const char *id, const char *body, size_t n, const json_t *messages);
void srv_entry_free(struct srv_entry *e);

/* Lock held, all of these. */
struct srv_entry *srv_store_find(struct srv_store *s, const char *id);
/* Drops the oldest that are done until there is room for so much more; false: there is none. */
bool srv_store_room(struct srv_store *s, size_t entries, size_t bytes);
void srv_store_add(struct srv_store *s, struct srv_entry *e);
void srv_store_remove(struct srv_store *s, struct srv_entry *e);       /* and frees it */

#endif
