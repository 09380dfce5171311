/* SPDX-License-Identifier: Apache-2.0
 * schema_keyword.c: reading the keywords of one schema object. One function per form of value; which keyword has which
 * form is in schema_keyword.def. Each value is checked as the meta-schema of draft 2020-12 asks. */
#include <stdlib.h>
#include <string.h>

#include "text/gram/schema_doc.h"
#include "text/gram/schema_format.h"

enum { COUNT_MAX = 1 << 30 /* counts above are no limit any more */, NAMES_MAX = 10000 };

typedef vc_status form_fn(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v);

static vc_status no_memory(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k) {
    return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "the schema is too large");
}

static vc_str str_of(const json_t *v) { return (vc_str){ json_string_value(v), json_string_length(v) }; }

static unsigned type_bits(vc_str name) {
    static const struct { const char *name; unsigned bits; } types[] = {
        { "null", VC_ST_NULL },      { "boolean", VC_ST_BOOL },   { "integer", VC_ST_INT },  { "number", VC_ST_NUMBER },
        { "string", VC_ST_STRING },  { "array", VC_ST_ARRAY },    { "object", VC_ST_OBJECT },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(types); i++)
        if (vc_str_is(name, types[i].name)) return types[i].bits;
    return 0;
}

static vc_status one_type(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, const json_t *v,
                          unsigned *bits) {
    if (!json_is_string(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a type's name or a list of names");
    unsigned b = type_bits(str_of(v));
    char shown[64];
    if (!b)
        return vc_schema_fail(d, VC_E_INVALID, id, k,
                              "\"%s\" is no type; types are null, boolean, integer, number, string, array, object",
                              vc_printable(shown, sizeof shown, json_string_value(v), json_string_length(v)));
    *bits |= b;
    return VC_OK;
}

static vc_status form_TYPE(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    unsigned bits = 0;
    if (json_is_array(v)) {
        if (!json_array_size(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "the list of types is empty");
        for (size_t i = 0; i < json_array_size(v); i++) VC_TRY(one_type(d, id, k, json_array_get(v, i), &bits));
    } else {
        VC_TRY(one_type(d, id, k, v, &bits));
    }
    d->node[id].types = bits;
    return VC_OK;
}

static vc_status form_ENUM(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_array(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a list");
    if (!json_array_size(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "the list is empty");
    if (!vc_schema_has(&d->node[id], VC_KW_CONST)) d->node[id].value = v;
    return VC_OK;
}

static vc_status form_CONST(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)k;
    (void)arg;
    d->node[id].value = v;
    return VC_OK;
}

static vc_status form_NUMBER(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    if (!json_is_number(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a number");
    struct vc_dec *n = &d->node[id].num[arg];
    if (!vc_dec_from_json(n, v, &d->arena)) return no_memory(d, id, k);
    if (k == VC_KW_MULTIPLE_OF && (!n->n || n->neg)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be above 0");
    return VC_OK;
}

static vc_status form_COUNT(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    double f = json_number_value(v);
    if (!json_is_number(v) || f < 0 || (f < COUNT_MAX && f != (double)(uint32_t)f))
        return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a whole number, 0 or more");
    bool least = k == VC_KW_MIN_LENGTH || k == VC_KW_MIN_ITEMS || k == VC_KW_MIN_CONTAINS || k == VC_KW_MIN_PROPERTIES;
    if (f >= COUNT_MAX && least)
        return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "at most %d is supported", COUNT_MAX);
    d->node[id].count[arg] = f >= COUNT_MAX ? UINT32_MAX : (uint32_t)f;
    return VC_OK;
}

static vc_status form_FLAG(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_boolean(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be true or false");
    d->node[id].unique = json_is_true(v);
    return VC_OK;
}

static vc_status form_PATTERN(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_string(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a string");
    d->node[id].pattern = str_of(v);
    return VC_OK;
}

static vc_status form_FORMAT(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_string(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a string");
    int format = vc_schema_format_find(str_of(v));
    if (format == VC_FORMAT_REFUSED)
        return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "\"%s\" is not enforced by a grammar", json_string_value(v));
    d->node[id].format = format;
    return VC_OK;
}

/* A schema below node id at place "keyword" or "keyword/token". */
static vc_status child(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, const vc_str *token, json_t *v,
                       uint32_t *out) {
    struct vc_buf key = { 0 };
    if (!json_is_object(v) && !json_is_boolean(v)) {
        const char *hint =
            k == VC_KW_ITEMS && json_is_array(v) ? "; a list of schemas is prefixItems since draft 2020-12" : "";
        return vc_schema_fail(d, VC_E_INVALID, id, k, "%s%.*s%s must be a schema, an object or a boolean%s",
                              token ? "\"" : "", token ? (int)VC_MIN(token->n, 100) : 5, token ? token->p : "value",
                              token ? "\"" : "", hint);
    }
    vc_buf_adds(&key, vc_schema_keyword_name(k));
    if (token) (void)vc_schema_pointer_add(&key, *token);
    uint32_t had = key.failed ? 0 : vc_schema_find(d, id, (vc_str){ key.p, key.n });
    *out = key.failed ? 0 : had ? had : vc_schema_add(d, id, (vc_str){ key.p, key.n }, v);
    vc_buf_free(&key);
    return *out ? VC_OK : no_memory(d, id, k);
}

static vc_status form_SCHEMA(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    uint32_t at;
    VC_TRY(child(d, id, k, NULL, v, &at));
    *(uint32_t *)(void *)((char *)&d->node[id] + arg) = at;
    return VC_OK;
}

static vc_status form_LIST(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    size_t n = json_array_size(v);
    if (!json_is_array(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a list of schemas");
    if (!n) return vc_schema_fail(d, VC_E_INVALID, id, k, "the list of schemas is empty");
    struct vc_schema_list list = { VC_NEW_ARRAY(&d->arena, uint32_t, n), (uint32_t)n };
    if (!list.v) return no_memory(d, id, k);
    for (size_t i = 0; i < n; i++) {
        char text[24];
        vc_str token = { text, (size_t)snprintf(text, sizeof text, "%zu", i) };
        VC_TRY(child(d, id, k, &token, json_array_get(v, i), &list.v[i]));
    }
    *(struct vc_schema_list *)(void *)((char *)&d->node[id] + arg) = list;
    return VC_OK;
}

static vc_status read_map(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, json_t *v,
                          struct vc_schema_map *map) {
    const char *name;
    size_t len;
    json_t *value;
    if (!json_is_object(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be an object of schemas");
    if (json_object_size(v) > NAMES_MAX) return vc_schema_fail(d, VC_E_INVALID, id, k, "more than %d names", NAMES_MAX);
    map->v = VC_NEW_ARRAY(&d->arena, struct vc_schema_named, json_object_size(v) + 1);
    if (!map->v) return no_memory(d, id, k);
    json_object_keylen_foreach(v, name, len, value) {
        struct vc_schema_named *e = &map->v[map->n++];
        e->name = (vc_str){ name, len };
        VC_TRY(child(d, id, k, &e->name, value, &e->node));
    }
    return VC_OK;
}

static vc_status form_MAP(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    struct vc_schema_map map = { NULL, 0 };
    VC_TRY(read_map(d, id, k, v, &map));
    *(struct vc_schema_map *)(void *)((char *)&d->node[id] + arg) = map;
    return VC_OK;
}

static vc_status form_DEFS(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    struct vc_schema_map map = { NULL, 0 };
    return read_map(d, id, k, v, &map);
}

static vc_status read_names(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, const json_t *v,
                            vc_str **out, uint32_t *num) {
    size_t n = json_array_size(v);
    if (!json_is_array(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a list of names");
    if (n > NAMES_MAX) return vc_schema_fail(d, VC_E_INVALID, id, k, "more than %d names", NAMES_MAX);
    *out = VC_NEW_ARRAY(&d->arena, vc_str, n + 1);
    if (!*out) return no_memory(d, id, k);
    *num = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *e = json_array_get(v, i);
        if (!json_is_string(e)) return vc_schema_fail(d, VC_E_INVALID, id, k, "entry %zu is no string", i);
        bool twice = false;
        for (uint32_t j = 0; j < *num && !twice; j++) twice |= vc_str_eq((*out)[j], str_of(e));
        if (twice) return vc_schema_fail(d, VC_E_INVALID, id, k, "entry %zu is there twice", i);
        (*out)[(*num)++] = str_of(e);
    }
    return VC_OK;
}

static vc_status form_NAMES(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    return read_names(d, id, k, v, &d->node[id].required, &d->node[id].num_required);
}

static vc_status form_NEEDS(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    const char *name;
    size_t len;
    json_t *value;
    if (!json_is_object(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be an object of lists of names");
    struct vc_schema_need *need = VC_NEW_ARRAY(&d->arena, struct vc_schema_need, json_object_size(v) + 1);
    if (!need) return no_memory(d, id, k);
    d->node[id].needs = need;
    json_object_keylen_foreach(v, name, len, value) {
        need->name = (vc_str){ name, len };
        VC_TRY(read_names(d, id, k, value, &need->v, &need->n));
        need++;
        d->node[id].num_needs++;
    }
    return VC_OK;
}

static vc_status form_REF(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_string(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a string");
    if (d->node[id].ref.p) return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "beside another reference");
    d->node[id].ref = str_of(v);
    return VC_OK;
}

static vc_status form_ANCHOR(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_string(v) || !json_string_length(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a name");
    if (d->node[id].anchor.p && !vc_str_eq(d->node[id].anchor, str_of(v)))
        return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "beside another anchor");
    d->node[id].anchor = str_of(v);
    return VC_OK;
}

static vc_status form_ID(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (!json_is_string(v)) return vc_schema_fail(d, VC_E_INVALID, id, k, "must be a string");
    d->node[id].id = str_of(v);
    d->node[id].resource = id;
    return VC_OK;
}

static vc_status form_TEXT(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    return json_is_string(v) ? VC_OK : vc_schema_fail(d, VC_E_INVALID, id, k, "must be a string");
}

static vc_status form_IGNORE(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)d;
    (void)id;
    (void)k;
    (void)arg;
    (void)v;
    return VC_OK;
}

static vc_status form_UNLESS(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    if (json_is_false(v)) return VC_OK;
    return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "not of JSON Schema; use \"type\": [\"…\", \"null\"]");
}

static vc_status form_REFUSE(struct vc_schema_doc *d, uint32_t id, enum vc_schema_keyword k, size_t arg, json_t *v) {
    (void)arg;
    (void)v;
    return vc_schema_fail(d, VC_E_UNSUPPORTED, id, k, "not a keyword of draft 2020-12");
}

static const struct { const char *name; form_fn *form; size_t arg; } row[VC_KW_COUNT] = {
#define VC_KEYWORD(id, name, form, arg) [VC_KW_##id] = { name, form_##form, arg },
#include "text/gram/schema_keyword.def"
#undef VC_KEYWORD
};

const char *vc_schema_keyword_name(enum vc_schema_keyword k) {
    return k > VC_KW_NONE && k < VC_KW_COUNT ? row[k].name : "";
}

static enum vc_schema_keyword find(const char *name, size_t len) {
    for (int k = VC_KW_NONE + 1; k < VC_KW_COUNT; k++)
        if (vc_str_is((vc_str){ name, len }, row[k].name)) return (enum vc_schema_keyword)k;
    return VC_KW_NONE;
}

/* Two limits of one object that leave nothing. */
static vc_status check_limits(struct vc_schema_doc *d, uint32_t id) {
    static const struct { enum vc_schema_keyword lo, hi; } pair[] = {
        { VC_KW_MIN_LENGTH, VC_KW_MAX_LENGTH }, { VC_KW_MIN_ITEMS, VC_KW_MAX_ITEMS },
        { VC_KW_MIN_CONTAINS, VC_KW_MAX_CONTAINS }, { VC_KW_MIN_PROPERTIES, VC_KW_MAX_PROPERTIES },
    };
    const struct vc_schema_node *n = &d->node[id];
    for (size_t i = 0; i < VC_ARRAY_LEN(pair); i++)
        if (vc_schema_has(n, pair[i].lo) && vc_schema_has(n, pair[i].hi) &&
            n->count[row[pair[i].lo].arg] > n->count[row[pair[i].hi].arg])
            return vc_schema_fail(d, VC_E_INVALID, id, pair[i].lo, "more than %s", row[pair[i].hi].name);
    for (int lo = 0; lo < 2; lo++) {
        for (int hi = 0; hi < 2; hi++) {
            enum vc_schema_keyword kl = lo ? VC_KW_EXCLUSIVE_MINIMUM : VC_KW_MINIMUM,
                                   kh = hi ? VC_KW_EXCLUSIVE_MAXIMUM : VC_KW_MAXIMUM;
            if (!vc_schema_has(n, kl) || !vc_schema_has(n, kh)) continue;
            int c = vc_dec_cmp(&n->num[row[kl].arg], &n->num[row[kh].arg]);
            if (c > 0 || (c == 0 && (lo || hi)))
                return vc_schema_fail(d, VC_E_INVALID, id, kl, "no number is left below %s", row[kh].name);
        }
    }
    return VC_OK;
}

static bool asks(const struct vc_schema_node *n, enum vc_schema_keyword k) {
    if (k == VC_KW_FORMAT) return n->format >= 0;
    if (k == VC_KW_UNIQUE_ITEMS) return n->unique;
    return k < VC_KW_ANCHOR;
}

vc_status vc_schema_keywords(struct vc_schema_doc *d, uint32_t id) {
    json_t *json = (json_t *)(uintptr_t)d->node[id].json, *v;
    const char *name;
    size_t len;
    if (json_is_boolean(json)) {
        if (json_is_false(json)) d->node[id].types = 0;
        return VC_OK;
    }
    if (!json_is_object(json))
        return vc_schema_fail(d, VC_E_INVALID, id, VC_KW_NONE, "a schema is an object or a boolean");
    v = json_object_get(json, "$id");    /* before the children, which it concerns */
    if (v) VC_TRY(form_ID(d, id, VC_KW_ID, 0, v));
    json_object_keylen_foreach(json, name, len, v) {
        enum vc_schema_keyword k = find(name, len);
        if (!k) continue;
        VC_TRY(row[k].form(d, id, k, row[k].arg, v));
        d->node[id].has[k >> 6] |= (uint64_t)1 << (k & 63);
        d->node[id].asks |= asks(&d->node[id], k);
    }
    return check_limits(d, id);
}
