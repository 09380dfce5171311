/* SPDX-License-Identifier: Apache-2.0
 * schema_ref.c: where $ref leads: "#", "#/json/pointer" (RFC 6901, percent-decoded), "#anchor", or the $id of a schema
 * of this document with one of these behind it. Nothing is fetched. */
#include <string.h>

#include "text/gram/schema_doc.h"

static void percent_decode(struct vc_buf *b, vc_str s) {
    for (size_t i = 0; i < s.n; i++) {
        bool escape = s.p[i] == '%' && i + 2 < s.n;
        int high = escape ? vc_digit(s.p[i + 1], 16) : -1, low = escape ? vc_digit(s.p[i + 2], 16) : -1;
        if (high >= 0 && low >= 0) i += 2;
        vc_buf_addc(b, high >= 0 && low >= 0 ? (char)(high * 16 + low) : s.p[i]);
    }
}

static json_t *step(json_t *at, vc_str token) {
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < token.n; i++) {
        bool tilde = token.p[i] == '~' && i + 1 < token.n && (token.p[i + 1] == '0' || token.p[i + 1] == '1');
        vc_buf_addc(&b, tilde ? (token.p[i + 1] == '0' ? '~' : '/') : token.p[i]);
        i += tilde;
    }
    json_t *next = NULL;
    if (json_is_object(at)) next = json_object_getn(at, b.p ? b.p : "", b.n);
    if (json_is_array(at) && b.n && b.n < 9 && strspn(b.p, "0123456789") == b.n && (b.n == 1 || b.p[0] != '0')) {
        size_t i = 0;
        for (size_t k = 0; k < b.n; k++) i = i * 10 + (size_t)(b.p[k] - '0');
        next = json_array_get(at, i);
    }
    vc_buf_free(&b);
    return next;
}

/* The node at pointer p below node id. Nodes on the way are followed; a schema at a place where no keyword has put one
 * becomes a node of its own. */
static vc_status pointer(struct vc_schema_doc *d, uint32_t id, uint32_t from, vc_str p, uint32_t *out) {
    json_t *at = (json_t *)(uintptr_t)d->node[from].json;
    size_t start = 0, i = 0;
    while (i < p.n) {
        size_t end = i + 1;
        while (end < p.n && p.p[end] != '/') end++;
        at = p.p[i] == '/' ? step(at, (vc_str){ p.p + i + 1, end - i - 1 }) : NULL;
        if (!at) {
            char shown[200];
            return vc_schema_fail(d, VC_E_INVALID, id, VC_KW_REF, "\"%s\" leads nowhere",
                                  vc_printable(shown, sizeof shown, d->node[id].ref.p, d->node[id].ref.n));
        }
        i = end;
        uint32_t found = vc_schema_find(d, from, (vc_str){ p.p + start + 1, i - start - 1 });
        if (found) {
            from = found;
            start = i;
        }
    }
    if (start < p.n) {
        if (!json_is_object(at) && !json_is_boolean(at))
            return vc_schema_fail(d, VC_E_INVALID, id, VC_KW_REF, "does not lead to a schema");
        from = vc_schema_add(d, from, (vc_str){ p.p + start + 1, p.n - start - 1 }, at);
        if (!from) return vc_schema_fail(d, VC_E_UNSUPPORTED, id, VC_KW_REF, "the schema is too large");
    }
    *out = from;
    return VC_OK;
}

static uint32_t by_id(const struct vc_schema_doc *d, vc_str uri) {
    for (uint32_t i = 1; i < d->n; i++) {
        vc_str id = d->node[i].id;
        if (id.n && id.p[id.n - 1] == '#') id.n--;
        if (id.n && vc_str_eq(id, uri)) return i;
    }
    return 0;
}

static uint32_t by_anchor(const struct vc_schema_doc *d, uint32_t resource, vc_str name) {
    for (uint32_t i = 1; i < d->n; i++)
        if (d->node[i].resource == resource && d->node[i].anchor.p && vc_str_eq(d->node[i].anchor, name)) return i;
    return 0;
}

/* A dynamic anchor that is there once leads where a plain one would. */
static bool dynamic_is_plain(const struct vc_schema_doc *d, vc_str name) {
    uint32_t n = 0;
    for (uint32_t i = 1; i < d->n; i++)
        n += vc_schema_has(&d->node[i], VC_KW_DYNAMIC_ANCHOR) && vc_str_eq(d->node[i].anchor, name);
    return n <= 1;
}

vc_status vc_schema_resolve(struct vc_schema_doc *d, uint32_t id) {
    vc_str ref = d->node[id].ref;
    if (!ref.p) return VC_OK;
    bool dynamic = vc_schema_has(&d->node[id], VC_KW_DYNAMIC_REF);
    enum vc_schema_keyword k = dynamic ? VC_KW_DYNAMIC_REF : VC_KW_REF;
    char shown[200];
    vc_printable(shown, sizeof shown, ref.p, ref.n);
    const char *hash = ref.n ? memchr(ref.p, '#', ref.n) : NULL;
    vc_str uri = { ref.p, hash ? (size_t)(hash - ref.p) : ref.n };
    uint32_t from = uri.n ? by_id(d, uri) : d->node[id].resource;
    if (!from)
        return vc_schema_fail(d, VC_E_INVALID, id, k, "\"%s\" is no schema of this document; nothing is fetched",
                              shown);
    struct vc_buf frag = { 0 };
    if (hash) percent_decode(&frag, (vc_str){ hash + 1, ref.n - uri.n - 1 });
    vc_str f = { frag.p, frag.n };
    uint32_t target = from;
    vc_status s = VC_OK;
    if (frag.failed) {
        s = vc_schema_fail(d, VC_E_NOMEM, id, k, "out of memory");
    } else if (f.n && f.p[0] == '/') {
        s = pointer(d, id, from, f, &target);
    } else if (f.n) {
        target = by_anchor(d, from, f);
        if (!target) s = vc_schema_fail(d, VC_E_INVALID, id, k, "\"%s\": there is no such anchor", shown);
        else if (dynamic && !dynamic_is_plain(d, f))
            s = vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "\"%s\": several such anchors", shown);
    }
    vc_buf_free(&frag);
    if (s == VC_OK) d->node[id].target = target;
    return s;
}
