/* SPDX-License-Identifier: Apache-2.0
 * srv_route.c: the table of routes. */
#include <string.h>

#include "server/srv_openapi.h"

const struct srv_route srv_routes[SRV_NUM_ROUTES] = {
#define SRV_ROUTE(id, path, flags, fn, bodies, answer, text) \
    { path, (unsigned)(flags), fn, (unsigned)(bodies), SRV_ANSWER_##answer, text },
#include "server/routes.def"
#undef SRV_ROUTE
};

/* Is path the pattern with some name for its {id}? */
static bool matches(const char *pattern, const char *path) {
    size_t before = strcspn(pattern, "{"), name;
    if (strncmp(pattern, path, before) != 0) return false;
    name = strcspn(path + before, "/");
    return name && !strcmp(path + before + name, pattern + before + strlen("{id}"));
}

const struct srv_route *srv_route_find(const char *path) {
    for (size_t i = 0; i < SRV_NUM_ROUTES; i++)
        if (!strcmp(srv_routes[i].path, path)) return &srv_routes[i];
    for (size_t i = 0; i < SRV_NUM_ROUTES; i++) {
        if ((srv_routes[i].flags & SRV_PREFIX) && matches(srv_routes[i].path, path)) return &srv_routes[i];
    }
    return NULL;
}

bool srv_route_of(const struct srv_route *r, const struct srv_model *m) {
    if (r->flags & SRV_GENERATES) return !m->info.pooling;
    return !(r->flags & SRV_POOLS) || m->info.pooling;
}

bool srv_route_served(const struct srv_route *r, const struct srv *s) {
    if (!atomic_load(&s->loaded)) return true;
    for (uint32_t i = 0; i < s->num_models; i++)
        if (srv_route_of(r, &s->models[i])) return true;
    return false;
}
