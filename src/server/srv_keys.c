/* SPDX-License-Identifier: Apache-2.0
 * srv_keys.c: API keys: compared by their digests, limited by token buckets that hold one minute's worth. Reading the
 * file is srv_keys_file.c. */
#define OPENSSL_SUPPRESS_DEPRECATED /* the one-shot SHA256 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/clock.h"
#include "server/srv_keys_file.h"

struct srv_keys {
    pthread_mutex_t lock;
    struct srv_key **v;
    size_t n;
};

struct srv_key *srv_key_ref(struct srv_key *k) {
    if (k) atomic_fetch_add(&k->refs, 1);
    return k;
}

void srv_key_unref(struct srv_key *k) {
    if (k && atomic_fetch_sub(&k->refs, 1) == 1) free(k);
}

const char *srv_key_name(const struct srv_key *k) { return k->name; }

static void list_free(struct srv_key **v, size_t n) {
    for (size_t i = 0; i < n; i++) srv_key_unref(v[i]);
    free(v);
}

vc_status srv_keys_open(const struct vc_server_params *p, struct srv_keys **out, vc_err *err) {
    *out = NULL;
    if (!p->num_api_keys && !p->api_key_file) return VC_OK;
    struct srv_keys *ks = calloc(1, sizeof *ks);
    if (!ks) return vc_fail(err, VC_E_NOMEM, "out of memory");
    pthread_mutex_init(&ks->lock, NULL);
    vc_status s = srv_keys_reload(ks, p, err);
    if (s == VC_OK)
        *out = ks;
    else
        srv_keys_close(ks);
    return s;
}

void srv_keys_close(struct srv_keys *ks) {
    if (!ks) return;
    list_free(ks->v, ks->n);
    pthread_mutex_destroy(&ks->lock);
    free(ks);
}

/* Lock held: a key that was there keeps its object, and so do the calls that count on it. */
static void carry_over(struct srv_keys *ks, struct srv_key **v, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ks->n; k++) {
            struct srv_key *old = ks->v[k];
            if (strcmp(old->name, v[i]->name) != 0) continue;
            memcpy(old->digest, v[i]->digest, sizeof old->digest);
            for (int b = 0; b < SRV_NUM_BUCKETS; b++) {
                if (old->bucket[b].per_minute != v[i]->bucket[b].per_minute) old->bucket[b] = v[i]->bucket[b];
            }
            srv_key_unref(v[i]);
            v[i] = old;
            atomic_fetch_add(&old->refs, 1);
        }
}

vc_status srv_keys_reload(struct srv_keys *ks, const struct vc_server_params *p, vc_err *err) {
    struct srv_key **v = NULL;
    size_t n = 0;
    VC_TRY(srv_keys_read(p, &v, &n, err));
    pthread_mutex_lock(&ks->lock);
    carry_over(ks, v, n);
    struct srv_key **old = ks->v;
    size_t num_old = ks->n;
    ks->v = v;
    ks->n = n;
    pthread_mutex_unlock(&ks->lock);
    list_free(old, num_old);
    return VC_OK;
}

struct srv_key *srv_keys_find(struct srv_keys *ks, const char *text) {
    unsigned char digest[SRV_DIGEST];
    struct srv_key *found = NULL;
    SHA256((const unsigned char *)text, strlen(text), digest);
    pthread_mutex_lock(&ks->lock);
    for (size_t i = 0; i < ks->n; i++)
        if (CRYPTO_memcmp(digest, ks->v[i]->digest, sizeof digest) == 0) found = ks->v[i];
    if (found) atomic_fetch_add(&found->refs, 1);
    pthread_mutex_unlock(&ks->lock);
    return found;
}

/* ---- limits ---- */

static void refill(struct srv_key *k) {
    double now = vc_now(), dt = k->at > 0 ? now - k->at : 0;
    for (int i = 0; i < SRV_NUM_BUCKETS; i++) {
        struct srv_bucket *b = &k->bucket[i];
        b->left = fmin(b->per_minute, b->left + dt * b->per_minute / 60);
    }
    k->at = now;
}

static struct srv_allowance allowance(const struct srv_bucket *b) {
    if (!b->per_minute) return (struct srv_allowance){ 0 };
    return (struct srv_allowance){ b->per_minute, b->left > 0 ? (uint64_t)b->left : 0,
                                   (b->per_minute - b->left) * 60 / b->per_minute };
}

/* Seconds until the bucket holds `want`. */
static double wait_for(const struct srv_bucket *b, double want) {
    return b->per_minute && b->left < want ? (want - b->left) * 60 / b->per_minute : 0;
}

bool srv_key_admit(struct srv_keys *ks, struct srv_key *k, struct srv_rate *rate) {
    struct srv_bucket *requests = &k->bucket[SRV_REQUESTS], *tokens = &k->bucket[SRV_TOKENS];
    pthread_mutex_lock(&ks->lock);
    refill(k);
    rate->wait = fmax(wait_for(requests, 1), wait_for(tokens, 1));
    if (rate->wait <= 0 && requests->per_minute) requests->left -= 1;
    rate->requests = allowance(requests);
    rate->tokens = allowance(tokens);
    pthread_mutex_unlock(&ks->lock);
    return rate->wait <= 0;
}

void srv_key_tokens(struct srv_keys *ks, struct srv_key *k, uint64_t n) {
    pthread_mutex_lock(&ks->lock);
    if (k->bucket[SRV_TOKENS].per_minute) k->bucket[SRV_TOKENS].left -= (double)n;
    pthread_mutex_unlock(&ks->lock);
}

const char *srv_duration(double s, char *dst, size_t cap) {
    unsigned long long ms = s > 0 ? (unsigned long long)ceil(s * 1000) : 0;
    if (ms < 1000)
        snprintf(dst, cap, "%llums", ms);
    else if (ms < 60000)
        snprintf(dst, cap, "%gs", (double)ms / 1000);
    else
        snprintf(dst, cap, "%llum%llus", ms / 60000, ms % 60000 / 1000);
    return dst;
}
