/* SPDX-License-Identifier: Apache-2.0
 * srv_keys.h: API keys with names and limits. Any thread may call; the ring's lock guards all but the references. */
#ifndef VC_SERVER_SRV_KEYS_H
#define VC_SERVER_SRV_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* One key. It outlives its ring while calls refer to it. */
struct srv_key;
/* The keys that are valid now; NULL: everyone may ask. */
struct srv_keys;
struct vc_server_params;

/* Those of --api-key and of --api-key-file in *out; NULL when neither is given. */
vc_status srv_keys_open(const struct vc_server_params *p, struct srv_keys **out, vc_err *err);
/* Reads them again: keys that keep their name keep what is left of their limits. On error what was there stays. */
vc_status srv_keys_reload(struct srv_keys *ks, const struct vc_server_params *p, vc_err *err);
void srv_keys_close(struct srv_keys *ks);
/* The key that is `text`, with a reference, or NULL. Every key is compared, by its SHA-256 in constant time. */
struct srv_key *srv_keys_find(struct srv_keys *ks, const char *text);
struct srv_key *srv_key_ref(struct srv_key *k);        /* the same, with one more; NULL is allowed, below, too */
void srv_key_unref(struct srv_key *k);
const char *srv_key_name(const struct srv_key *k);

/* What a key may still do: per minute, left, seconds until it is whole again. limit 0: without one. */
struct srv_allowance { uint32_t limit; uint64_t left; double reset; };
struct srv_rate { struct srv_allowance requests, tokens; double wait; };     /* wait: seconds, 0: admitted */
/* Takes one request; on refusal nothing is taken and rate->wait says how long. */
bool srv_key_admit(struct srv_keys *ks, struct srv_key *k, struct srv_rate *rate);
/* Tokens that were read or written; what is left may become negative. */
void srv_key_tokens(struct srv_keys *ks, struct srv_key *k, uint64_t n);
/* Seconds as "20ms", "1.5s", "6m0s". */
const char *srv_duration(double s, char *dst, size_t cap);

#endif
