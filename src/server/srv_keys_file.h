/* SPDX-License-Identifier: Apache-2.0
 * srv_keys_file.h: a key as it is kept, and how the list of keys is read. */
#ifndef VC_SERVER_SRV_KEYS_FILE_H
#define VC_SERVER_SRV_KEYS_FILE_H

#include <stdatomic.h>

#include "server/server.h"
#include "server/srv_keys.h"

enum { SRV_DIGEST = 32, SRV_KEY_NAME = 64 };
enum { SRV_REQUESTS, SRV_TOKENS, SRV_NUM_BUCKETS };
struct srv_bucket { uint32_t per_minute; double left; };   /* per_minute 0: no limit */
struct srv_key {
    atomic_uint refs;
    char name[SRV_KEY_NAME + 1];
    unsigned char digest[SRV_DIGEST];      /* SHA-256 of the key; its text is not kept */
    struct srv_bucket bucket[SRV_NUM_BUCKETS];
    double at;                             /* of the last refill; 0: none yet */
};

/* All keys of p with one reference each in a list of the caller's; at least one, or an error. */
vc_status srv_keys_read(const struct vc_server_params *p, struct srv_key ***v, size_t *n, vc_err *err);

#endif
