/* SPDX-License-Identifier: Apache-2.0
 * srv_auth.c: what a request needs before it is looked at: a key, a place within its limits, an allowed origin. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/srv_int.h"

bool srv_authorized(struct srv_call *c, const char *authorization, const char *x_api_key) {
    struct srv_keys *keys = c->srv->keys;
    if (!keys) return true;
    if (authorization && !strncasecmp(authorization, "Bearer ", 7)) c->key = srv_keys_find(keys, authorization + 7);
    if (!c->key && x_api_key) c->key = srv_keys_find(keys, x_api_key);
    return c->key != NULL;
}

/* Requests that cost the engine something are counted. */
bool srv_admitted(struct srv_call *c) {
    char wait[32];
    if (!c->key || !c->route || !(c->route->flags & SRV_POST) || (c->route->flags & SRV_INLINE)) return true;
    c->rated = true;
    if (srv_key_admit(c->srv->keys, c->key, &c->rate)) return true;
    bool tokens = c->rate.tokens.limit && !c->rate.tokens.left;
    srv_error(c, 429, NULL, NULL, "Rate limit reached for the key %s: %u %s per minute. Try again in %s.",
              srv_key_name(c->key), tokens ? c->rate.tokens.limit : c->rate.requests.limit,
              tokens ? "tokens" : "requests", srv_duration(c->rate.wait, wait, sizeof wait));
    snprintf(c->extra_value, sizeof c->extra_value, "%.0f", ceil(c->rate.wait)); /* Retry-After */
    return false;
}

bool srv_origin_allowed(struct srv *s, const char *origin) {
    bool yes = false;
    pthread_mutex_lock(&s->lock);
    for (size_t i = 0; s->origins[i] && !yes; i++) yes = !strcmp(s->origins[i], "*") || !strcmp(s->origins[i], origin);
    pthread_mutex_unlock(&s->lock);
    return yes;
}
