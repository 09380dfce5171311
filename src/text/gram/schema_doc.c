/* SPDX-License-Identifier: Apache-2.0
 * schema_doc.c: the table of nodes: reading a document without recursion, places of nodes, errors with places. */
#include "text/gram/schema_doc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "io/json.h"

enum { NODES_MAX = 200000, PATH_DEPTH = 1200 };

struct vc_schema_slot { uint64_t hash; uint32_t node; };

static uint64_t hash_of(uint32_t parent, vc_str key) {
    uint64_t h = vc_mix64(parent + 1);
    for (size_t i = 0; i < key.n; i++) h = (h ^ (unsigned char)key.p[i]) * 0x100000001B3u;
    return vc_mix64(h);
}

/* The slot that holds (parent, key), or the empty one where it belongs. */
static struct vc_schema_slot *slot_of(const struct vc_schema_doc *d, uint32_t parent, vc_str key, uint64_t hash) {
    for (uint32_t i = (uint32_t)hash & (d->slots - 1);; i = (i + 1) & (d->slots - 1)) {
        struct vc_schema_slot *s = &d->slot[i];
        if (!s->node) return s;
        const struct vc_schema_node *n = &d->node[s->node];
        if (s->hash == hash && n->parent == parent && vc_str_eq(n->key, key)) return s;
    }
}

static bool grow(struct vc_schema_doc *d) {
    uint32_t cap = d->cap ? d->cap * 2 : 32, slots = cap * 2;
    struct vc_schema_node *node = realloc(d->node, cap * sizeof *node);
    if (node) d->node = node;
    struct vc_schema_slot *slot = calloc(slots, sizeof *slot), *old = d->slot;
    if (!node || !slot) {
        free(slot);
        return false;
    }
    uint32_t was = d->slots;
    d->cap = cap;
    d->slot = slot;
    d->slots = slots;
    for (uint32_t i = 0; i < was; i++) {
        if (!old[i].node) continue;
        const struct vc_schema_node *n = &d->node[old[i].node];
        *slot_of(d, n->parent, n->key, old[i].hash) = old[i];
    }
    free(old);
    return true;
}

uint32_t vc_schema_add(struct vc_schema_doc *d, uint32_t parent, vc_str key, const json_t *json) {
    if (d->n >= NODES_MAX || (d->n == d->cap && !grow(d))) return 0;
    char *copy = vc_arena_strndup(&d->arena, key.p ? key.p : "", key.n);
    if (!copy) return 0;
    uint32_t id = d->n++;
    uint64_t hash = hash_of(parent, key);
    d->node[id] = (struct vc_schema_node){
        .json = json, .key = { copy, key.n }, .parent = parent, .types = VC_ST_ALL, .format = -1,
        .resource = parent ? d->node[parent].resource : id,
    };
    *slot_of(d, parent, d->node[id].key, hash) = (struct vc_schema_slot){ hash, id };
    return id;
}

uint32_t vc_schema_find(const struct vc_schema_doc *d, uint32_t parent, vc_str key) {
    return slot_of(d, parent, key, hash_of(parent, key))->node;
}

bool vc_schema_pointer_add(struct vc_buf *b, vc_str token) {
    vc_buf_addc(b, '/');
    for (size_t i = 0; i < token.n; i++) {
        if (token.p[i] == '~') vc_buf_adds(b, "~0");
        else if (token.p[i] == '/') vc_buf_adds(b, "~1");
        else vc_buf_addc(b, token.p[i]);
    }
    return !b->failed;
}

void vc_schema_path(const struct vc_schema_doc *d, uint32_t node, char *dst, size_t cap) {
    uint32_t up[PATH_DEPTH], n = 0;
    for (uint32_t i = node; i > 1 && n < PATH_DEPTH; i = d->node[i].parent) up[n++] = i;
    struct vc_buf b = { 0 };
    vc_buf_addc(&b, '#');
    while (n) {
        vc_str key = d->node[up[--n]].key;
        vc_buf_addc(&b, '/');
        vc_buf_add(&b, key.p, key.n);
    }
    size_t len = b.p ? b.n : 0;
    if (len >= cap) len = cap - 1 - vc_utf8_partial(b.p, cap - 1);
    if (len) memcpy(dst, b.p, len);
    dst[len] = '\0';
    vc_buf_free(&b);
}

vc_status vc_schema_fail(struct vc_schema_doc *d, vc_status s, uint32_t node, enum vc_schema_keyword k, const char *fmt,
                         ...) {
    char text[512];
    struct vc_grammar_where here = { { 0 }, { 0 } };
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const char *name = k ? vc_schema_keyword_name(k) : "";
    snprintf(here.keyword, sizeof here.keyword, "%s", name);
    vc_schema_path(d, node ? node : 1, here.path, sizeof here.path);
    if (d->where) *d->where = here;
    return vc_fail(d->err, s, "JSON schema at %s: %s%s%s", here.path, name, k ? ": " : "", text);
}

/* Nodes are read in the order in which they were found; references may add more, which are read in turn. */
static vc_status read_all(struct vc_schema_doc *d) {
    uint32_t read = 1, resolved = 1;
    if (!grow(d)) return vc_fail(d->err, VC_E_NOMEM, "JSON schema: out of memory");
    d->node[d->n++] = (struct vc_schema_node){ .format = -1 };
    if (!vc_schema_add(d, 0, VC_STR("#"), d->json)) return vc_fail(d->err, VC_E_NOMEM, "JSON schema: out of memory");
    while (read < d->n) {
        for (; read < d->n; read++) VC_TRY(vc_schema_keywords(d, read));
        for (; resolved < d->n && resolved < read; resolved++) VC_TRY(vc_schema_resolve(d, resolved));
    }
    if (d->arena.failed) return vc_fail(d->err, VC_E_NOMEM, "JSON schema: out of memory");
    return VC_OK;
}

vc_status vc_schema_doc_take(struct vc_schema_doc *d, const json_t *json, struct vc_grammar_where *where, vc_err *err) {
    *d = (struct vc_schema_doc){ .where = where, .err = err };
    d->json = json_incref((json_t *)(uintptr_t)json);
    return read_all(d);
}

vc_status vc_schema_doc_read(struct vc_schema_doc *d, const char *text, size_t n, struct vc_grammar_where *where,
                             vc_err *err) {
    *d = (struct vc_schema_doc){ .where = where, .err = err };
    if (where) *where = (struct vc_grammar_where){ { 0 }, "#" };
    vc_status s = vc_json_parse(&d->json, text, n, "JSON schema", err);
    return s == VC_OK ? read_all(d) : s;
}

void vc_schema_doc_free(struct vc_schema_doc *d) {
    json_decref(d->json);
    free(d->node);
    free(d->slot);
    vc_arena_free(&d->arena);
    *d = (struct vc_schema_doc){ 0 };
}
