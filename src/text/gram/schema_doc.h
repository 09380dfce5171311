/* SPDX-License-Identifier: Apache-2.0
 * schema_doc.h: a JSON Schema document as a table of nodes. Every subschema is a node with its keywords read and
 * checked and every reference resolved; nothing of the JSON has to be looked at again except the values of enum and
 * const. Node 0 means "none", node 1 is the root. Read-only after vc_schema_doc_read. */
#ifndef VC_TEXT_SCHEMA_DOC_H
#define VC_TEXT_SCHEMA_DOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "text/gram/schema_decimal.h"
#include "text/grammar.h"

enum vc_schema_keyword {
    VC_KW_NONE,
#define VC_KEYWORD(id, name, form, arg) VC_KW_##id,
#include "text/gram/schema_keyword.def"
#undef VC_KEYWORD
    VC_KW_COUNT
};

/* Kinds of values, as bits. A number is INT or FRAC; a whole number that is spelt with a fraction counts as INT. */
enum {
    VC_ST_NULL = 1, VC_ST_TRUE = 2, VC_ST_FALSE = 4, VC_ST_INT = 8, VC_ST_FRAC = 16,
    VC_ST_STRING = 32, VC_ST_ARRAY = 64, VC_ST_OBJECT = 128,
    VC_ST_BOOL = VC_ST_TRUE | VC_ST_FALSE, VC_ST_NUMBER = VC_ST_INT | VC_ST_FRAC, VC_ST_ALL = 255
};
enum { VC_SN_MINIMUM, VC_SN_MAXIMUM, VC_SN_ABOVE, VC_SN_BELOW, VC_SN_MULTIPLE, VC_SN_COUNT };
enum {
    VC_SC_MIN_LENGTH, VC_SC_MAX_LENGTH, VC_SC_MIN_ITEMS, VC_SC_MAX_ITEMS, VC_SC_MIN_CONTAINS, VC_SC_MAX_CONTAINS,
    VC_SC_MIN_PROPERTIES, VC_SC_MAX_PROPERTIES, VC_SC_COUNT
};

struct vc_schema_list { uint32_t *v, n; };
struct vc_schema_named { vc_str name; uint32_t node; };
struct vc_schema_map { struct vc_schema_named *v; uint32_t n; };
struct vc_schema_need { vc_str name; vc_str *v; uint32_t n; };      /* dependentRequired: name needs v[0 … n) */

struct vc_schema_node {
    const json_t *json;
    vc_str key;                          /* place below the parent, as a JSON pointer without the first slash */
    uint32_t parent, resource;           /* resource: the node whose $id holds here, or the root */
    uint64_t has[2];                     /* bit per keyword */
    unsigned types;                      /* kinds that `type` allows */
    const json_t *value;                 /* enum: an array; else const */
    struct vc_dec num[VC_SN_COUNT];
    uint32_t count[VC_SC_COUNT];
    vc_str pattern, ref, anchor, id;
    int format;                          /* row of schema_format.def, -1: none that is checked */
    bool unique, asks;                   /* asks: some keyword is more than an annotation */
    struct vc_schema_list prefix, all, any, one;
    struct vc_schema_map properties, patterns, dependent;
    uint32_t items, contains, additional, names, unevaluated, unevaluated_items, not_, if_, then_, else_, target;
    vc_str *required;
    struct vc_schema_need *needs;
    uint32_t num_required, num_needs;
};

struct vc_schema_slot;
struct vc_schema_doc {
    json_t *json;                        /* owned */
    struct vc_arena arena;
    struct vc_schema_node *node;         /* owned; [1 … n) */
    uint32_t n, cap;
    struct vc_schema_slot *slot;         /* owned: (parent, key) to node */
    uint32_t slots;
    struct vc_grammar_where *where;       /* borrowed, may be NULL: filled by vc_schema_fail */
    vc_err *err;                         /* borrowed, may be NULL */
};

/* Reads text. E_FORMAT: no JSON; E_INVALID: no schema; E_UNSUPPORTED: a keyword that is not enforced. d is to be freed
 * in every case. */
vc_status vc_schema_doc_read(struct vc_schema_doc *d, const char *text, size_t n, struct vc_grammar_where *where,
                             vc_err *err);
/* The same for a tree, which stays the caller's (a reference is taken). */
vc_status vc_schema_doc_take(struct vc_schema_doc *d, const json_t *json, struct vc_grammar_where *where, vc_err *err);
void vc_schema_doc_free(struct vc_schema_doc *d);

static inline bool vc_schema_has(const struct vc_schema_node *s, enum vc_schema_keyword k) {
    return s->has[k >> 6] >> (k & 63) & 1;
}
const char *vc_schema_keyword_name(enum vc_schema_keyword k);
/* Fails with text "PATH: keyword: …" and fills d->where. node 0: the whole document. */
vc_status vc_schema_fail(struct vc_schema_doc *d, vc_status s, uint32_t node, enum vc_schema_keyword k, const char *fmt,
                         ...) VC_PRINTF(5, 6);
/* JSON pointer of a node as a URI fragment ("#/properties/a"); dst gets at most cap bytes. */
void vc_schema_path(const struct vc_schema_doc *d, uint32_t node, char *dst, size_t cap);

/* For schema_doc.c, schema_keyword.c and schema_ref.c. */
uint32_t vc_schema_add(struct vc_schema_doc *d, uint32_t parent, vc_str key, const json_t *json);    /* 0: no memory */
uint32_t vc_schema_find(const struct vc_schema_doc *d, uint32_t parent, vc_str key);                  /* 0: none */
vc_status vc_schema_keywords(struct vc_schema_doc *d, uint32_t node);     /* reads one node, adds its children */
vc_status vc_schema_resolve(struct vc_schema_doc *d, uint32_t node);      /* sets target; may add nodes */
/* A schema that holds at the same place as itself (a $ref to itself) has no meaning: E_INVALID. */
vc_status vc_schema_acyclic(struct vc_schema_doc *d);
bool vc_schema_pointer_add(struct vc_buf *b, vc_str token);               /* "/token", escaped by RFC 6901 */

#endif
