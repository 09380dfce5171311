/* SPDX-License-Identifier: Apache-2.0 */
#define OPENSSL_SUPPRESS_DEPRECATED   /* the low-level SHA-256 calls allocate nothing, EVP's do */
#include "kv/hash.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/sha.h>
#include <xxhash.h>

struct vc_hasher {
    enum vc_hash_algo algo;
    struct vc_block_hash none;
    SHA256_CTX sha;
    XXH3_state_t *xxh;       /* owned; NULL for SHA-256 */
    uint32_t n;              /* bytes waiting in buf */
    uint8_t buf[1024];
};

uint32_t vc_hasher_bytes(const struct vc_hasher *h) { return h->algo == VC_HASH_SHA256_CBOR ? 32 : 16; }

const struct vc_block_hash *vc_hasher_none(const struct vc_hasher *h) { return &h->none; }

static void start(struct vc_hasher *h) {
    h->n = 0;
    if (h->xxh) XXH3_128bits_reset(h->xxh);
    else SHA256_Init(&h->sha);
}

static void absorb(struct vc_hasher *h, const void *p, size_t n) {
    if (h->xxh) XXH3_128bits_update(h->xxh, p, n);
    else SHA256_Update(&h->sha, p, n);
}

static void flush(struct vc_hasher *h) {
    absorb(h, h->buf, h->n);
    h->n = 0;
}

static void finish(struct vc_hasher *h, struct vc_block_hash *out) {
    flush(h);
    memset(out, 0, sizeof *out);
    if (h->xxh) {
        XXH128_canonical_t c;
        XXH128_canonicalFromHash(&c, XXH3_128bits_digest(h->xxh));
        memcpy(out->b, c.digest, sizeof c.digest);
    } else {
        SHA256_Final(out->b, &h->sha);
    }
}

/* CBOR head: major type and argument, shortest form (RFC 8949, section 3). */
static void head(struct vc_hasher *h, unsigned major, uint64_t v) {
    if (sizeof h->buf - h->n < 9) flush(h);
    uint8_t *p = h->buf + h->n;
    unsigned m = major << 5, bytes = v < 24 ? 0 : v <= 0xff ? 1 : v <= 0xffff ? 2 : v <= 0xffffffffu ? 4 : 8;
    unsigned code = bytes == 0 ? (unsigned)v : bytes == 1 ? 24 : bytes == 2 ? 25 : bytes == 4 ? 26 : 27;
    *p++ = (uint8_t)(m | code);
    for (unsigned i = bytes; i-- > 0;) *p++ = (uint8_t)(v >> (8 * i));
    h->n = (uint32_t)(p - h->buf);
}

static void string(struct vc_hasher *h, unsigned major, const void *p, size_t n) {
    head(h, major, n);
    flush(h);
    absorb(h, p, n);
}

enum { CBOR_UINT = 0, CBOR_BYTES = 2, CBOR_TEXT = 3, CBOR_ARRAY = 4 };

static void text(struct vc_hasher *h, const char *s) { string(h, CBOR_TEXT, s, strlen(s)); }

vc_status vc_hasher_new(struct vc_hasher **out, enum vc_hash_algo algo, const char *seed, vc_err *err) {
    *out = NULL;
    struct vc_hasher *h = calloc(1, sizeof *h);
    if (!h) return vc_fail(err, VC_E_NOMEM, "prefix cache: no memory for the hasher");
    h->algo = algo;
    if (algo == VC_HASH_XXHASH_CBOR) {
        h->xxh = XXH3_createState();
        if (!h->xxh) {
            free(h);
            return vc_fail(err, VC_E_NOMEM, "prefix cache: no memory for the hasher");
        }
    }
    start(h);
    text(h, seed ? seed : VC_HASH_DEFAULT_SEED);
    finish(h, &h->none);
    *out = h;
    return VC_OK;
}

void vc_hasher_del(struct vc_hasher *h) {
    if (!h) return;
    if (h->xxh) XXH3_freeState(h->xxh);
    free(h);
}

/* extra: null, or the array of ["lora", name, path] and ["cache_salt", salt]. */
static void extras(struct vc_hasher *h, const struct vc_hash_extra *extra, bool first) {
    bool lora = extra && extra->lora_name, salt = extra && first && extra->cache_salt && extra->cache_salt[0];
    if (!lora && !salt) {
        static const uint8_t null = 0xf6;
        flush(h);
        absorb(h, &null, 1);
        return;
    }
    head(h, CBOR_ARRAY, (uint64_t)lora + salt);
    if (lora) {
        head(h, CBOR_ARRAY, 3);
        text(h, "lora");
        text(h, extra->lora_name);
        text(h, extra->lora_path ? extra->lora_path : "");
    }
    if (salt) {
        head(h, CBOR_ARRAY, 2);
        text(h, "cache_salt");
        text(h, extra->cache_salt);
    }
}

void vc_hash_block(struct vc_hasher *h, const struct vc_block_hash *parent, const int32_t *tokens, uint32_t n,
                   const struct vc_hash_extra *extra, struct vc_block_hash *out) {
    start(h);
    head(h, CBOR_ARRAY, 3);
    string(h, CBOR_BYTES, parent ? parent->b : h->none.b, vc_hasher_bytes(h));
    head(h, CBOR_ARRAY, n);
    for (uint32_t i = 0; i < n; i++) {
        assert(tokens[i] >= 0);
        head(h, CBOR_UINT, (uint64_t)tokens[i]);
    }
    extras(h, extra, !parent);
    finish(h, out);
}
