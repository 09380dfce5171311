/* SPDX-License-Identifier: Apache-2.0
 * schema_string.c: strings. A string without patterns may be spelt in any way that JSON allows; one with a pattern, a
 * format or forbidden values is spelt with escapes only where JSON demands them, so that its value is plain. */
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"
#include "text/gram/schema_format.h"

/* What is asked of a string's value. */
struct lang {
    uint32_t min, max;
    const struct vc_cell *patterns, *formats, *not_strings;     /* as in vc_clause */
    const struct vc_cell *more_patterns, *not_names;            /* the same, of the object whose names these are */
    vc_gram_node base;                                          /* 0, or the values to choose from */
};

static bool plain(const struct lang *l) {
    return !l->patterns && !l->formats && !l->not_strings && !l->more_patterns && !l->not_names && !l->base;
}

/* Every way to spell text with escapes only where JSON demands them. */
static vc_gram_node spelling(struct vc_schema_cx *cx, vc_str text) {
    vc_gram_node *v = VC_NEW_ARRAY(&cx->arena, vc_gram_node, text.n + 1);
    size_t n = 0;
    for (size_t i = 0; v && i < text.n;) {
        uint32_t cp = 0;
        size_t len = vc_utf8_decode(text.p + i, text.n - i, &cp);
        if (!len) return 0;
        v[n++] = vc_gram_json_class(cx->g, &(struct vc_gram_range){ cp, cp }, 1, false, false);
        i += len;
    }
    return v ? vc_gram_seq(cx->g, v, n) : 0;
}

static vc_status regex(struct vc_schema_cx *cx, const struct vc_cell *c, bool format, vc_gram_node *out) {
    vc_err err = VC_ERR_INIT;
    vc_str text = format ? vc_schema_format_regex((int)c->a) : c->text;
    int flags = VC_GRAM_RX_JSON | VC_GRAM_RX_ECMA | (format ? 0 : VC_GRAM_RX_SEARCH);
    *out = vc_gram_regex(cx->g, text.p, text.n, flags, &err);
    if (*out) return VC_OK;
    enum vc_schema_keyword k = format ? VC_KW_FORMAT : (enum vc_schema_keyword)c->a;
    vc_status s = err.status != VC_OK ? err.status : vc_gram_status(cx->g, &err);
    return vc_schema_fail(cx->doc, s != VC_OK ? s : VC_E_INVALID, c->id, k, "%s", err.text);
}

/* base and all (not neg) or without all (neg) of list. */
static vc_status narrow(struct vc_schema_cx *cx, const struct vc_cell *list, bool format, bool neg,
                        vc_gram_node *base) {
    for (; list; list = list->next) {
        vc_gram_node rx;
        if (list->neg != neg) continue;
        VC_TRY(regex(cx, list, format, &rx));
        if (neg && format && vc_schema_format_max((int)list->a) != UINT32_MAX)
            rx = vc_gram_both(cx->g, vc_gram_repeat(cx->g, cx->plain_char, 0, vc_schema_format_max((int)list->a)), rx);
        if (neg) *base = vc_gram_minus(cx->g, *base, rx);
        else *base = *base ? vc_gram_both(cx->g, *base, rx) : rx;
    }
    return VC_OK;
}

static vc_gram_node without(struct vc_schema_cx *cx, vc_gram_node base, const struct vc_cell *list) {
    uint32_t n = 0;
    if (!list) return base;
    const struct vc_cell **v = vc_cell_array(cx, list, &n);
    vc_gram_node *names = VC_NEW_ARRAY(&cx->arena, vc_gram_node, n + 1);
    if (!v || !names) return 0;
    for (uint32_t i = 0; i < n; i++) names[i] = spelling(cx, v[i]->text);
    return vc_gram_minus(cx->g, base, vc_gram_alt(cx->g, names, n));
}

/* Without the quotes. */
static vc_status body(struct vc_schema_cx *cx, const struct lang *l, vc_gram_node *out) {
    uint32_t max = l->max;
    vc_gram_node base = l->base;
    if (plain(l)) {
        bool free = !l->min && max == UINT32_MAX;
        *out = free ? vc_gram_star(cx->g, cx->loose_char)
                    : vc_gram_repeat(cx->g, cx->any_char, l->min, max == UINT32_MAX ? VC_GRAM_INF : max);
        return VC_OK;
    }
    for (const struct vc_cell *f = l->formats; f; f = f->next)
        if (!f->neg) max = VC_MIN(max, vc_schema_format_max((int)f->a));
    VC_TRY(narrow(cx, l->patterns, false, false, &base));
    VC_TRY(narrow(cx, l->more_patterns, false, false, &base));
    VC_TRY(narrow(cx, l->formats, true, false, &base));
    if (!base) base = vc_gram_star(cx->g, cx->plain_char);
    VC_TRY(narrow(cx, l->patterns, false, true, &base));
    VC_TRY(narrow(cx, l->more_patterns, false, true, &base));
    VC_TRY(narrow(cx, l->formats, true, true, &base));
    base = without(cx, base, l->not_strings);
    base = without(cx, base, l->not_names);
    if (l->min > max) base = vc_gram_alt(cx->g, NULL, 0);
    else if (l->min || max != UINT32_MAX)
        base = vc_gram_both(cx->g, vc_gram_repeat(cx->g, cx->plain_char, l->min, max == UINT32_MAX ? VC_GRAM_INF : max),
                            base);
    *out = base;
    return base ? VC_OK : vc_gram_status(cx->g, cx->doc->err);
}

static struct lang lang_of(const struct vc_clause *c) {
    return (struct lang){ .min = c->min_len,
                          .max = c->max_len,
                          .patterns = c->patterns,
                          .formats = c->formats,
                          .not_strings = c->not_strings };
}

static vc_gram_node quoted(struct vc_schema_cx *cx, vc_gram_node inner) {
    vc_gram_node quote = vc_gram_text(cx->g, "\"", 1);
    return vc_gram_seq(cx->g, (vc_gram_node[]){ quote, inner, quote }, 3);
}

vc_status vc_schema_string(struct vc_schema_cx *cx, const struct vc_clause *c, vc_gram_node *out) {
    struct lang l = lang_of(c);
    VC_TRY(body(cx, &l, out));
    *out = quoted(cx, *out);
    return VC_OK;
}

vc_status vc_schema_string_empty(struct vc_schema_cx *cx, const struct vc_clause *c, bool *empty) {
    struct lang l = lang_of(c);
    vc_gram_node inner;
    *empty = false;
    if (plain(&l)) return VC_OK;
    VC_TRY(body(cx, &l, &inner));
    *empty = vc_gram_is_empty(cx->g, inner);
    return vc_gram_status(cx->g, cx->doc->err);
}

/* The strings of an enum or const among the names. */
static vc_status listed(struct vc_schema_cx *cx, const struct vc_goal *names, const struct vc_clause *c,
                        vc_gram_node *base) {
    size_t n = vc_schema_num_values(cx, c), k = 0;
    vc_gram_node *v = VC_NEW_ARRAY(&cx->arena, vc_gram_node, n + 1);
    if (!v) return vc_schema_memory(cx);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = vc_schema_value_at(cx, c, i);
        bool valid = false;
        if (json_is_string(s)) VC_TRY(vc_schema_valid(cx, names, s, &valid));
        if (valid) v[k++] = spelling(cx, (vc_str){ json_string_value(s), json_string_length(s) });
    }
    *base = vc_gram_alt(cx->g, v, k);
    return VC_OK;
}

vc_status vc_schema_name(struct vc_schema_cx *cx, struct vc_goal *names, const struct vc_cell *patterns,
                         const struct vc_cell *not_names, vc_gram_node *out) {
    struct lang l = { .max = UINT32_MAX, .more_patterns = patterns, .not_names = not_names };
    vc_gram_node inner = 0;
    if (!names || !names->n) {
        VC_TRY(body(cx, &l, &inner));
        *out = quoted(cx, inner);
        return VC_OK;
    }
    VC_TRY(vc_schema_expand(cx, names));
    vc_gram_node all = vc_gram_alt(cx->g, NULL, 0);
    for (const struct vc_clause *c = names->clauses; c; c = c->next) {
        if (!(c->types & VC_ST_STRING)) continue;
        l = lang_of(c);
        l.more_patterns = patterns;
        l.not_names = not_names;
        if (c->values) VC_TRY(listed(cx, names, c, &l.base));
        VC_TRY(body(cx, &l, &inner));
        all = vc_gram_alt2(cx->g, all, inner);
    }
    *out = quoted(cx, all);
    return VC_OK;
}
