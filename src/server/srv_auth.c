/* SPDX-License-Identifier: Apache-2.0
 * srv_auth.c: API keys and allowed origins. */
#include <string.h>
#include <strings.h>

#include "server/srv_int.h"

/* Equal or not in a time that depends on the lengths alone. */
static bool same_key(const char *a, const char *b) {
    size_t na = strlen(a), nb = strlen(b);
    unsigned char diff = na != nb;
    for (size_t i = 0; i < na; i++) diff |= (unsigned char)((unsigned char)a[i] ^ (unsigned char)(nb ? b[i % nb] : 0));
    return diff == 0;
}

static bool known_key(const struct srv *s, const char *key) {
    bool found = false;
    for (size_t i = 0; i < s->p.num_api_keys; i++) found |= same_key(key, s->p.api_keys[i]);
    return found;
}

bool srv_authorized(const struct srv *s, const char *authorization, const char *x_api_key) {
    if (!s->p.num_api_keys) return true;
    if (authorization && !strncasecmp(authorization, "Bearer ", 7) && known_key(s, authorization + 7)) return true;
    return x_api_key && known_key(s, x_api_key);
}

bool srv_origin_allowed(const struct srv *s, const char *origin) {
    for (size_t i = 0; i < s->p.num_allowed_origins; i++)
        if (!strcmp(s->p.allowed_origins[i], "*") || !strcmp(s->p.allowed_origins[i], origin)) return true;
    return false;
}
