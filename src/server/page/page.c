/* SPDX-License-Identifier: Apache-2.0
 * page.c: headers of the page and its validator. */
#include "server/page/page.h"

#include <string.h>

const char *const vc_page_headers[] = {
    "Content-Security-Policy", vc_page_csp,
    "ETag", vc_page_etag,
    "Cache-Control", "no-cache",
    "X-Content-Type-Options", "nosniff",
    "Referrer-Policy", "no-referrer",
    "Cross-Origin-Opener-Policy", "same-origin",
    "Permissions-Policy", "camera=(), geolocation=(), microphone=()",
    NULL
};

/* A list of tags, each perhaps W/ for the weak comparison, or *. */
bool vc_page_unchanged(const char *if_none_match) {
    size_t n = strlen(vc_page_etag);
    const char *p = if_none_match ? if_none_match : "";
    for (;;) {
        p += strspn(p, " \t,");
        if (*p == '*') return p[1 + strspn(p + 1, " \t")] == '\0';
        if (p[0] == 'W' && p[1] == '/') p += 2;
        if (*p != '"') return false;
        const char *end = strchr(p + 1, '"');
        if (!end) return false;
        if ((size_t)(end + 1 - p) == n && !memcmp(p, vc_page_etag, n)) return true;
        p = end + 1;
    }
}
