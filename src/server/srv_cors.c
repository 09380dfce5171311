/* SPDX-License-Identifier: Apache-2.0
 * srv_cors.c: what pages of other origins may ask for (CORS): the answer to preflight requests, with Starlette's words.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "server/srv_int.h"

/* Every browser may send these (Fetch standard, CORS-safelisted request headers). */
static const char *const safe_headers[] = { "Accept", "Accept-Language", "Content-Language", "Content-Type" };

static bool listed(const char *const *list, size_t n, const char *word, size_t len) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], "*") || (strlen(list[i]) == len && !strncasecmp(list[i], word, len))) return true;
    return false;
}

static bool method_allowed(const struct srv *s, const char *method) {
    return !s->p.num_allowed_methods || listed(s->p.allowed_methods, s->p.num_allowed_methods, method, strlen(method));
}

/* Each name of the list "a, b". */
static bool headers_allowed(const struct srv *s, const char *names) {
    if (!s->p.num_allowed_headers) return true;
    for (const char *p = names; *p;) {
        p += strspn(p, ", \t");
        size_t n = strcspn(p, ", \t");
        if (n && !listed(safe_headers, VC_ARRAY_LEN(safe_headers), p, n) &&
            !listed(s->p.allowed_headers, s->p.num_allowed_headers, p, n))
            return false;
        p += n;
    }
    return true;
}

void srv_preflight(struct srv_call *c) {
    struct vc_buf b = { 0 };
    const char *method = srv_header(c, "Access-Control-Request-Method"),
               *names = srv_header(c, "Access-Control-Request-Headers");
    static const char *const what[] = { "origin", "method", "headers" };
    bool bad[] = { !c->origin || !srv_origin_allowed(c->srv, c->origin), !method || !method_allowed(c->srv, method),
                   names && !headers_allowed(c->srv, names) };
    const char *sep = "Disallowed CORS ";
    for (size_t i = 0; i < VC_ARRAY_LEN(what); i++) {
        if (!bad[i]) continue;
        vc_buf_printf(&b, "%s%s", sep, what[i]);
        sep = ", ";
    }
    if (!b.n) {
        vc_buf_adds(&b, "OK");
        srv_reply(c, 200, "text/plain; charset=utf-8", &b);
    } else {
        srv_reply(c, 400, "text/plain; charset=utf-8", &b);
    }
}

static bool is_any(const char *const *list, size_t n) { return !n || listed(list, n, "*", 1); }

const char *srv_cors_methods(const struct srv *s, char *dst, size_t cap) {
    if (is_any(s->p.allowed_methods, s->p.num_allowed_methods)) return "GET, POST, OPTIONS";
    int n = 0;
    for (size_t i = 0; i < s->p.num_allowed_methods && n >= 0 && (size_t)n < cap; i++)
        n += snprintf(dst + n, cap - (size_t)n, "%s%s", i ? ", " : "", s->p.allowed_methods[i]);
    return dst;
}

/* All: those that the browser asks for, which may hold no line break. */
const char *srv_cors_headers(const struct srv_call *c, char *dst, size_t cap) {
    const struct srv *s = c->srv;
    const char *names = srv_header(c, "Access-Control-Request-Headers");
    if (is_any(s->p.allowed_headers, s->p.num_allowed_headers))
        return names ? names : "Authorization, Content-Type, X-Api-Key, X-Request-Id, Anthropic-Version";
    int n = snprintf(dst, cap, "%s, %s, %s, %s", safe_headers[0], safe_headers[1], safe_headers[2], safe_headers[3]);
    for (size_t i = 0; i < s->p.num_allowed_headers && n >= 0 && (size_t)n < cap; i++)
        n += snprintf(dst + n, cap - (size_t)n, ", %s", s->p.allowed_headers[i]);
    return dst;
}
