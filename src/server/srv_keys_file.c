/* SPDX-License-Identifier: Apache-2.0
 * srv_keys_file.c: the keys of --api-key, and the file of --api-key-file: lines of
 *     NAME KEY [REQUESTS-PER-MINUTE [TOKENS-PER-MINUTE]]
 * apart by blanks or tabs; # begins a comment line; a limit of 0 or - is none. KEY is the key itself, or sha256:HEX, its
 * digest.
 * Messages name the line, never a key. */
#define OPENSSL_SUPPRESS_DEPRECATED /* the one-shot SHA256 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/log.h"
#include "base/str.h"
#include "server/srv_keys_file.h"

enum { FILE_MOST = 1 << 20 };

struct list {
    struct srv_key **v;
    size_t n, cap;
};

static bool good_name(const char *s) {
    size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-");
    return n && n <= SRV_KEY_NAME && !s[n];
}

static vc_status add(struct list *l, const struct srv_key *key, const char *where, vc_err *err) {
    for (size_t i = 0; i < l->n; i++) {
        if (!strcmp(l->v[i]->name, key->name))
            return vc_fail(err, VC_E_INVALID, "%s: the name %s was given before", where, key->name);
        if (!memcmp(l->v[i]->digest, key->digest, sizeof key->digest))
            return vc_fail(err, VC_E_INVALID, "%s: the key of %s is that of %s", where, key->name, l->v[i]->name);
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct srv_key **v = realloc(l->v, cap * sizeof *v);
        if (!v) return vc_fail(err, VC_E_NOMEM, "out of memory");
        l->v = v;
        l->cap = cap;
    }
    struct srv_key *k = malloc(sizeof *k);
    if (!k) return vc_fail(err, VC_E_NOMEM, "out of memory");
    *k = *key;
    atomic_init(&k->refs, 1);
    l->v[l->n++] = k;
    return VC_OK;
}

/* The digest of a key, or the one that is given in its place. */
static bool digest_of(const char *text, unsigned char digest[SRV_DIGEST]) {
    static const char mark[] = "sha256:";
    if (strncmp(text, mark, sizeof mark - 1) != 0) {
        SHA256((const unsigned char *)text, strlen(text), digest);
        return true;
    }
    text += sizeof mark - 1;
    if (strlen(text) != 2 * SRV_DIGEST) return false;
    for (size_t i = 0; i < SRV_DIGEST; i++) {
        int high = vc_digit(text[2 * i], 16), low = vc_digit(text[2 * i + 1], 16);
        if (high < 0 || low < 0) return false;
        digest[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

static bool limit_of(const char *s, struct srv_bucket *b) {
    char *end;
    if (!s || !strcmp(s, "-")) return true;
    errno = 0;
    unsigned long v = strtoul(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || v > UINT32_MAX) return false;
    *b = (struct srv_bucket){ (uint32_t)v, (double)v };
    return true;
}

static vc_status line(struct list *l, char *text, const char *where, vc_err *err) {
    struct srv_key key = { .refs = 0 };
    char *next = NULL, *name = strtok_r(text, " \t", &next);
    if (!name || *name == '#') return VC_OK;
    char *secret = strtok_r(NULL, " \t", &next), *limit[SRV_NUM_BUCKETS] = { NULL, NULL };
    for (int i = 0; secret && i < SRV_NUM_BUCKETS; i++) limit[i] = strtok_r(NULL, " \t", &next);
    if (!secret || strtok_r(NULL, " \t", &next))
        return vc_fail(err, VC_E_FORMAT, "%s: expected NAME KEY [REQUESTS-PER-MINUTE [TOKENS-PER-MINUTE]]", where);
    if (!good_name(name))
        return vc_fail(err, VC_E_FORMAT, "%s: a name has letters, digits and ._@- alone, at most %d", where,
                       SRV_KEY_NAME);
    if (!digest_of(secret, key.digest))
        return vc_fail(err, VC_E_FORMAT, "%s: sha256: is followed by 64 hexadecimal digits", where);
    for (int i = 0; i < SRV_NUM_BUCKETS; i++)
        if (!limit_of(limit[i], &key.bucket[i]))
            return vc_fail(err, VC_E_FORMAT, "%s: a limit is a whole number per minute, or -", where);
    memcpy(key.name, name, strlen(name) + 1);
    return add(l, &key, where, err);
}

static vc_status read_file(const char *path, struct vc_buf *b, vc_err *err) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f) return vc_fail(err, VC_E_IO, "--api-key-file %s: %s", path, strerror(errno));
    if (fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & (S_IROTH | S_IWOTH)))
        vc_log_line(VC_LOG_WARN, "--api-key-file %s: other users can read or write it; chmod 600", path);
    while (b->n <= FILE_MOST && vc_buf_reserve(b, 4096)) {
        size_t n = fread(b->p + b->n, 1, 4096, f);
        if (!n) break;
        b->n += n;
    }
    bool bad = ferror(f) != 0;
    fclose(f);
    if (b->failed) return vc_fail(err, VC_E_NOMEM, "out of memory");
    if (bad || b->n > FILE_MOST)
        return vc_fail(err, VC_E_IO, "--api-key-file %s: %s", path, bad ? "cannot be read" : "is larger than 1 MiB");
    if (b->n && memchr(b->p, '\0', b->n)) return vc_fail(err, VC_E_FORMAT, "--api-key-file %s: is no text", path);
    vc_buf_addc(b, '\0');
    return b->failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : VC_OK;
}

static vc_status from_file(struct list *l, const char *path, vc_err *err) {
    struct vc_buf b = { 0 };
    vc_status s = read_file(path, &b, err);
    unsigned number = 0;
    for (char *at = b.p, *next; s == VC_OK && at && *at; at = next) {
        char where[512];
        size_t n = strcspn(at, "\n");
        next = at + n + (at[n] != '\0');
        at[n] = '\0';
        if (n && at[n - 1] == '\r') at[n - 1] = '\0';
        snprintf(where, sizeof where, "--api-key-file %.400s line %u", path, ++number);
        s = line(l, at, where, err);
    }
    if (b.p) OPENSSL_cleanse(b.p, b.n);
    vc_buf_free(&b);
    if (s == VC_OK && !l->n)
        s = vc_fail(err, VC_E_FORMAT, "--api-key-file %s: holds no key, so nobody could ask", path);
    return s;
}

vc_status srv_keys_read(const struct vc_server_params *p, struct srv_key ***v, size_t *n, vc_err *err) {
    struct list l = { 0 };
    vc_status s = VC_OK;
    for (size_t i = 0; s == VC_OK && i < p->num_api_keys; i++) {
        struct srv_key key = { .refs = 0 };
        snprintf(key.name, sizeof key.name, "api-key-%zu", i + 1);
        SHA256((const unsigned char *)p->api_keys[i], strlen(p->api_keys[i]), key.digest);
        s = add(&l, &key, "--api-key", err);
    }
    if (s == VC_OK && p->api_key_file) s = from_file(&l, p->api_key_file, err);
    if (s != VC_OK) {
        for (size_t i = 0; i < l.n; i++) srv_key_unref(l.v[i]);
        free(l.v);
        return s;
    }
    *v = l.v;
    *n = l.n;
    return VC_OK;
}
