/* SPDX-License-Identifier: Apache-2.0
 * tag_build.c: structural tags, in vLLM's form {"structures": [{"begin", "schema", "end"}], "triggers": […]} and in
 * xgrammar's {"format": {"type": …}} (documentation of xgrammar 0.2, "Structural Tag Usage"). Formats that speak of
 * token ids are refused: here special tokens never match text. */
#include "text/gram/tag_build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/json.h"
#include "text/gram/schema_build.h"
#include "text/gram/tag_int.h"

enum { DEPTH_MAX = 64 };

typedef vc_status format_fn(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out);
static format_fn format_node;

vc_status vc_tag_fail(struct vc_tag_cx *t, vc_status s, const char *member, const char *fmt, ...) {
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (t->where) {
        snprintf(t->where->keyword, sizeof t->where->keyword, "%s", member);
        snprintf(t->where->path, sizeof t->where->path, "#%s", t->path.p ? t->path.p : "");
    }
    return vc_fail(t->err, s, "structural tag at #%s: %s%s%s", t->path.p ? t->path.p : "", member, *member ? ": " : "",
                   text);
}

static vc_status no_memory(struct vc_tag_cx *t) { return vc_fail(t->err, VC_E_NOMEM, "structural tag: out of memory"); }

static vc_status string_of(struct vc_tag_cx *t, const json_t *o, const char *member, vc_str *out) {
    const json_t *v = json_object_get(o, member);
    if (!json_is_string(v)) return vc_tag_fail(t, VC_E_INVALID, member, "must be a string");
    *out = (vc_str){ json_string_value(v), json_string_length(v) };
    return VC_OK;
}

static vc_status bool_of(struct vc_tag_cx *t, const json_t *o, const char *member, bool *out) {
    const json_t *v = json_object_get(o, member);
    if (v && !json_is_boolean(v)) return vc_tag_fail(t, VC_E_INVALID, member, "must be true or false");
    if (v) *out = json_is_true(v);
    return VC_OK;
}

vc_status vc_tag_strings(struct vc_tag_cx *t, const json_t *o, const char *member, const struct vc_tag_strs *more,
                         struct vc_tag_strs *out) {
    const json_t *v = json_object_get(o, member);
    size_t n = json_array_size(v);
    *out = (struct vc_tag_strs){ VC_NEW_ARRAY(&t->arena, vc_str, n + (more ? more->n : 0) + 1), 0 };
    if (!out->v) return no_memory(t);
    if (v && !json_is_array(v)) return vc_tag_fail(t, VC_E_INVALID, member, "must be a list of strings");
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_array_get(v, i);
        if (!json_is_string(s) || !json_string_length(s))
            return vc_tag_fail(t, VC_E_INVALID, member, "entry %zu must be a string, not empty", i);
        out->v[out->n++] = (vc_str){ json_string_value(s), json_string_length(s) };
    }
    for (uint32_t i = 0; more && i < more->n; i++) out->v[out->n++] = more->v[i];
    return VC_OK;
}

/* The format under member, or entry i of the list there. */
static vc_status below(struct vc_tag_cx *t, const json_t *o, const char *member, size_t i,
                       const struct vc_tag_strs *ends, vc_gram_node *out) {
    const json_t *v = json_object_get(o, member);
    size_t was = t->path.n;
    vc_buf_printf(&t->path, "/%s", member);
    if (i != SIZE_MAX) vc_buf_printf(&t->path, "/%zu", i);
    vc_status s = format_node(t, i == SIZE_MAX ? v : json_array_get(v, i), ends, out);
    t->path.n = was;
    if (t->path.p) t->path.p[was] = '\0';
    return s;
}

static vc_status list_of(struct vc_tag_cx *t, const json_t *o, const char *member, size_t *n) {
    const json_t *v = json_object_get(o, member);
    *n = json_array_size(v);
    return *n ? VC_OK : vc_tag_fail(t, VC_E_INVALID, member, "must be a list, not empty");
}

static vc_status const_string(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    vc_str s = { NULL, 0 };
    (void)ends;
    VC_TRY(string_of(t, o, "value", &s));
    *out = vc_gram_text(t->g, s.p, s.n);
    return VC_OK;
}

static vc_status schema_of(struct vc_tag_cx *t, const json_t *o, const char *member, vc_gram_node *out) {
    struct vc_schema_doc doc = { 0 };
    struct vc_grammar_where inner = { { 0 }, "#" };
    const json_t *v = json_object_get(o, member);
    if (!v) return vc_tag_fail(t, VC_E_INVALID, member, "is missing");
    vc_status s = vc_schema_doc_take(&doc, v, &inner, t->err);
    if (s == VC_OK) s = vc_schema_node_of(t->g, &doc, t->whitespace, out);
    vc_schema_doc_free(&doc);
    if (s == VC_OK) return VC_OK;
    if (t->where) {
        int len = snprintf(t->where->path, sizeof t->where->path, "#%s/%s", t->path.p ? t->path.p : "", member);
        if (len >= 0 && (size_t)len < sizeof t->where->path)
            snprintf(t->where->path + len, sizeof t->where->path - (size_t)len, "%s", inner.path + 1);
        memcpy(t->where->keyword, inner.keyword, sizeof inner.keyword);
    }
    return vc_fail_prefix(t->err, "structural tag at #%s/%s", t->path.p ? t->path.p : "", member);
}

static vc_status json_schema(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    const json_t *style = json_object_get(o, "style");
    bool any_order = false;
    (void)ends;
    if (style && !(json_is_string(style) && !strcmp(json_string_value(style), "json")))
        return vc_tag_fail(t, VC_E_UNSUPPORTED, "style", "only \"json\" is supported");
    VC_TRY(bool_of(t, o, "any_order", &any_order));
    if (any_order) return vc_tag_fail(t, VC_E_UNSUPPORTED, "any_order", "properties come in the schema's order");
    return schema_of(t, o, "json_schema", out);
}

static vc_status grammar(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    vc_str s = { NULL, 0 };
    vc_err err = VC_ERR_INIT;
    (void)ends;
    VC_TRY(string_of(t, o, "grammar", &s));
    *out = vc_gram_ebnf(t->g, s.p, s.n, &err);
    return *out ? VC_OK : vc_tag_fail(t, err.status != VC_OK ? err.status : VC_E_INVALID, "grammar", "%s", err.text);
}

static vc_status regex(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    vc_str s = { NULL, 0 };
    vc_err err = VC_ERR_INIT;
    (void)ends;
    VC_TRY(string_of(t, o, "pattern", &s));
    *out = vc_gram_regex(t->g, s.p, s.n, 0, &err);
    return *out ? VC_OK : vc_tag_fail(t, err.status != VC_OK ? err.status : VC_E_INVALID, "pattern", "%s", err.text);
}

static vc_status count_of(struct vc_tag_cx *t, const json_t *o, const char *member, int64_t least, int64_t *out) {
    const json_t *v = json_object_get(o, member);
    if (!json_is_integer(v) || json_integer_value(v) < least || json_integer_value(v) > INT32_MAX)
        return vc_tag_fail(t, VC_E_INVALID, member, "must be a whole number of at least %lld", (long long)least);
    *out = json_integer_value(v);
    return VC_OK;
}

static vc_status any_text(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    struct vc_tag_strs excludes;
    const json_t *tokens = json_object_get(o, "max_tokens"), *chars = json_object_get(o, "max_chars");
    int64_t max = 0;
    if (tokens && !json_is_null(tokens))
        return vc_tag_fail(t, VC_E_UNSUPPORTED, "max_tokens", "a grammar counts no tokens; use max_chars");
    VC_TRY(vc_tag_strings(t, o, "excludes", ends, &excludes));
    *out = vc_tag_without(t, &excludes);
    if (!chars || json_is_null(chars)) return VC_OK;
    VC_TRY(count_of(t, o, "max_chars", 0, &max));
    vc_gram_node counted = vc_gram_repeat(t->g, t->dot, 0, (uint32_t)max);
    *out = excludes.n ? vc_gram_both(t->g, counted, *out) : counted;
    return VC_OK;
}

static vc_status sequence(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    size_t n;
    VC_TRY(list_of(t, o, "elements", &n));
    vc_gram_node *v = VC_NEW_ARRAY(&t->arena, vc_gram_node, n);
    if (!v) return no_memory(t);
    for (size_t i = 0; i < n; i++) VC_TRY(below(t, o, "elements", i, i + 1 == n ? ends : NULL, &v[i]));
    *out = vc_gram_seq(t->g, v, n);
    return VC_OK;
}

static vc_status either(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    size_t n;
    VC_TRY(list_of(t, o, "elements", &n));
    vc_gram_node *v = VC_NEW_ARRAY(&t->arena, vc_gram_node, n);
    if (!v) return no_memory(t);
    for (size_t i = 0; i < n; i++) VC_TRY(below(t, o, "elements", i, ends, &v[i]));
    *out = vc_gram_alt(t->g, v, n);
    return VC_OK;
}

static vc_status times(struct vc_tag_cx *t, const json_t *o, uint32_t min, uint32_t max, const struct vc_tag_strs *ends,
                       vc_gram_node *out) {
    vc_gram_node x;
    VC_TRY(below(t, o, "content", SIZE_MAX, ends, &x));
    *out = vc_gram_repeat(t->g, x, min, max);
    return VC_OK;
}

static vc_status optional(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    return times(t, o, 0, 1, ends, out);
}

static vc_status plus(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    return times(t, o, 1, VC_GRAM_INF, ends, out);
}

static vc_status star(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    return times(t, o, 0, VC_GRAM_INF, ends, out);
}

static vc_status repeat(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    int64_t min = 0, max = -1;
    VC_TRY(count_of(t, o, "min", 0, &min));
    VC_TRY(count_of(t, o, "max", -1, &max));
    if (max >= 0 && max < min) return vc_tag_fail(t, VC_E_INVALID, "max", "below min");
    return times(t, o, (uint32_t)min, max < 0 ? VC_GRAM_INF : (uint32_t)max, ends, out);
}

/* "end": a string or a list of them. */
static vc_status ends_of(struct vc_tag_cx *t, const json_t *o, struct vc_tag_strs *ends, vc_gram_node *out) {
    const json_t *v = json_object_get(o, "end");
    if (json_is_object(v)) return vc_tag_fail(t, VC_E_UNSUPPORTED, "end", "a token; only strings are supported");
    if (json_is_array(v)) {
        VC_TRY(vc_tag_strings(t, o, "end", NULL, ends));
        if (!ends->n) return vc_tag_fail(t, VC_E_INVALID, "end", "the list is empty");
    } else {
        vc_str s = { NULL, 0 };
        VC_TRY(string_of(t, o, "end", &s));
        *ends = (struct vc_tag_strs){ VC_NEW_ARRAY(&t->arena, vc_str, 1), 1 };
        if (!ends->v) return no_memory(t);
        ends->v[0] = s;
    }
    *out = vc_tag_alt(t, ends);
    if (ends->n == 1 && !ends->v[0].n) ends->n = 0;
    return VC_OK;
}

/* A tag without the first skip bytes of its begin. */
static vc_status tag_rest(struct vc_tag_cx *t, const json_t *o, size_t skip, bool legacy, vc_gram_node *out) {
    vc_str begin = { NULL, 0 };
    struct vc_tag_strs ends;
    vc_gram_node content = 0, end = 0;
    if (json_is_object(json_object_get(o, "begin")))
        return vc_tag_fail(t, VC_E_UNSUPPORTED, "begin", "a token; only strings are supported");
    VC_TRY(string_of(t, o, "begin", &begin));
    VC_TRY(ends_of(t, o, &ends, &end));
    if (legacy) VC_TRY(schema_of(t, o, "schema", &content));
    else VC_TRY(below(t, o, "content", SIZE_MAX, &ends, &content));
    vc_gram_node head = vc_gram_text(t->g, begin.p + skip, begin.n - skip);
    *out = vc_gram_seq(t->g, (vc_gram_node[]){ head, content, end }, 3);
    return VC_OK;
}

static vc_status tag(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    (void)ends;
    return tag_rest(t, o, 0, false, out);
}

/* Entry i of the list of tags under member; the trigger that its begin starts with is *trigger, and is left out. */
static vc_status tag_at(struct vc_tag_cx *t, const json_t *o, const char *member, size_t i,
                        const struct vc_tag_strs *triggers, vc_str *trigger, vc_gram_node *out) {
    const json_t *v = json_array_get(json_object_get(o, member), i);
    const json_t *type = json_object_get(v, "type"), *begin = json_object_get(v, "begin");
    bool legacy = !strcmp(member, "structures");
    size_t was = t->path.n, skip = 0;
    vc_status s = VC_OK;
    vc_buf_printf(&t->path, "/%s/%zu", member, i);
    if (!json_is_object(v)) s = vc_tag_fail(t, VC_E_INVALID, "", "must be an object");
    else if (!legacy && type && !(json_is_string(type) && !strcmp(json_string_value(type), "tag")))
        s = vc_tag_fail(t, VC_E_INVALID, "type", "must be \"tag\"");
    for (uint32_t k = 0; s == VC_OK && triggers && k < triggers->n && !skip; k++) {
        vc_str b = { json_string_value(begin), json_string_length(begin) };
        if (!b.p || b.n < triggers->v[k].n || memcmp(b.p, triggers->v[k].p, triggers->v[k].n)) continue;
        *trigger = triggers->v[k];
        skip = trigger->n;
    }
    if (s == VC_OK && triggers && !skip) s = vc_tag_fail(t, VC_E_INVALID, "begin", "starts with none of the triggers");
    if (s == VC_OK) s = tag_rest(t, v, skip, legacy, out);
    t->path.n = was;
    if (t->path.p) t->path.p[was] = '\0';
    return s;
}

static vc_status triggered(struct vc_tag_cx *t, const json_t *o, const char *member, const struct vc_tag_strs *ends,
                           vc_gram_node *out) {
    struct vc_tag_strs triggers, excludes;
    bool at_least_one = false, once = false;
    size_t n;
    VC_TRY(list_of(t, o, member, &n));
    VC_TRY(vc_tag_strings(t, o, "triggers", NULL, &triggers));
    if (!triggers.n) return vc_tag_fail(t, VC_E_INVALID, "triggers", "must be a list, not empty");
    VC_TRY(vc_tag_strings(t, o, "excludes", ends, &excludes));
    VC_TRY(bool_of(t, o, "at_least_one", &at_least_one));
    VC_TRY(bool_of(t, o, "stop_after_first", &once));
    struct vc_tag_part *part = VC_NEW_ARRAY(&t->arena, struct vc_tag_part, n);
    vc_gram_node *full = VC_NEW_ARRAY(&t->arena, vc_gram_node, n);
    if (!part || !full) return no_memory(t);
    for (size_t i = 0; i < n; i++) {
        VC_TRY(tag_at(t, o, member, i, &triggers, &part[i].trigger, &part[i].rest));
        full[i] = vc_gram_seq2(t->g, vc_gram_text(t->g, part[i].trigger.p, part[i].trigger.n), part[i].rest);
    }
    vc_gram_node first = vc_gram_alt(t->g, full, n);
    if (at_least_one && once) *out = first;
    else *out = vc_tag_dispatch(t, &triggers, part, (uint32_t)n, &excludes, once);
    if (at_least_one && !once) *out = vc_gram_seq2(t->g, first, *out);
    return VC_OK;
}

static vc_status triggered_tags(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends,
                                vc_gram_node *out) {
    return triggered(t, o, "tags", ends, out);
}

static vc_status tags_with_separator(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends,
                                     vc_gram_node *out) {
    bool at_least_one = false, once = false;
    vc_str sep = { NULL, 0 };
    size_t n;
    (void)ends;
    VC_TRY(list_of(t, o, "tags", &n));
    VC_TRY(string_of(t, o, "separator", &sep));
    VC_TRY(bool_of(t, o, "at_least_one", &at_least_one));
    VC_TRY(bool_of(t, o, "stop_after_first", &once));
    vc_gram_node *v = VC_NEW_ARRAY(&t->arena, vc_gram_node, n);
    if (!v) return no_memory(t);
    for (size_t i = 0; i < n; i++) VC_TRY(tag_at(t, o, "tags", i, NULL, NULL, &v[i]));
    vc_gram_node one = vc_gram_alt(t->g, v, n);
    vc_gram_node more = vc_gram_star(t->g, vc_gram_seq2(t->g, vc_gram_text(t->g, sep.p, sep.n), one));
    *out = once ? one : vc_gram_seq2(t->g, one, more);
    if (!at_least_one) *out = vc_gram_opt(t->g, *out);
    return VC_OK;
}

static vc_status dispatch(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    struct vc_tag_strs triggers = { NULL, 0 }, excludes;
    bool loop = true;
    size_t n;
    VC_TRY(list_of(t, o, "rules", &n));
    VC_TRY(bool_of(t, o, "loop", &loop));
    VC_TRY(vc_tag_strings(t, o, "excludes", ends, &excludes));
    struct vc_tag_part *part = VC_NEW_ARRAY(&t->arena, struct vc_tag_part, n);
    triggers.v = VC_NEW_ARRAY(&t->arena, vc_str, n);
    if (!part || !triggers.v) return no_memory(t);
    for (size_t i = 0; i < n; i++) {
        const json_t *rule = json_array_get(json_object_get(o, "rules"), i), *pattern = json_array_get(rule, 0);
        size_t was = t->path.n;
        if (json_array_size(rule) != 2 || !json_is_string(pattern) || !json_string_length(pattern))
            return vc_tag_fail(t, VC_E_INVALID, "rules", "entry %zu must be [string, format]", i);
        part[i].trigger = (vc_str){ json_string_value(pattern), json_string_length(pattern) };
        triggers.v[triggers.n++] = part[i].trigger;
        vc_buf_printf(&t->path, "/rules/%zu/1", i);
        VC_TRY(format_node(t, json_array_get(rule, 1), NULL, &part[i].rest));
        t->path.n = was;
        t->path.p[was] = '\0';
    }
    *out = vc_tag_dispatch(t, &triggers, part, (uint32_t)n, &excludes, !loop);
    return VC_OK;
}

static vc_status tokens(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    (void)ends;
    (void)out;
    return vc_tag_fail(t, VC_E_UNSUPPORTED, "type", "\"%s\" speaks of token ids; use strings",
                       json_string_value(json_object_get(o, "type")));
}

static vc_status format_node(struct vc_tag_cx *t, const json_t *o, const struct vc_tag_strs *ends, vc_gram_node *out) {
    static const struct { const char *name; format_fn *fn;
    } row[] = {
        { "const_string", const_string },
        { "json_schema", json_schema },
        { "grammar", grammar },
        { "regex", regex },
        { "any_text", any_text },
        { "sequence", sequence },
        { "or", either },
        { "optional", optional },
        { "plus", plus },
        { "star", star },
        { "repeat", repeat },
        { "tag", tag },
        { "triggered_tags", triggered_tags },
        { "tags_with_separator", tags_with_separator },
        { "dispatch", dispatch },
        { "token", tokens },
        { "exclude_token", tokens },
        { "any_tokens", tokens },
        { "token_triggered_tags", tokens },
        { "token_dispatch", tokens },
    };
    const json_t *type = json_object_get(o, "type");
    if (!json_is_object(o)) return vc_tag_fail(t, VC_E_INVALID, "", "a format is an object");
    if (!json_is_string(type)) return vc_tag_fail(t, VC_E_INVALID, "type", "must be the name of a format");
    for (size_t i = 0; i < VC_ARRAY_LEN(row); i++) {
        if (strcmp(row[i].name, json_string_value(type)) != 0) continue;
        if (t->depth >= DEPTH_MAX)
            return vc_tag_fail(t, VC_E_INVALID, "type", "more than %d formats in each other", DEPTH_MAX);
        t->depth++;
        vc_status s = row[i].fn(t, o, ends, out);
        t->depth--;
        if (s != VC_OK) return s;
        return *out ? VC_OK : vc_gram_status(t->g, t->err);
    }
    return vc_tag_fail(t, VC_E_UNSUPPORTED, "type", "\"%.60s\" is no format known here", json_string_value(type));
}

static vc_status build(struct vc_tag_cx *t, const json_t *spec, vc_gram_node *root) {
    t->dot = vc_gram_class(t->g, NULL, 0, true);
    t->any = vc_gram_star(t->g, t->dot);
    if (!json_is_object(spec)) return vc_tag_fail(t, VC_E_INVALID, "", "must be an object");
    if (json_object_get(spec, "format")) return below(t, spec, "format", SIZE_MAX, NULL, root);
    if (json_object_get(spec, "structures")) return triggered(t, spec, "structures", NULL, root);
    return vc_tag_fail(t, VC_E_INVALID, "format", "neither \"format\" nor \"structures\" and \"triggers\" are there");
}

vc_status vc_tag_build(struct vc_gram *g, const char *spec, size_t n, int whitespace, vc_gram_node *root,
                       struct vc_grammar_where *where, vc_err *err) {
    struct vc_tag_cx t = { .g = g, .whitespace = whitespace, .where = where, .err = err };
    json_t *json = NULL;
    if (where) *where = (struct vc_grammar_where){ { 0 }, "#" };
    vc_status s = vc_json_parse(&json, spec, n, "structural tag", err);
    if (s == VC_OK) s = build(&t, json, root);
    if (s == VC_OK && !*root) s = vc_gram_status(g, err);
    json_decref(json);
    vc_buf_free(&t.path);
    vc_arena_free(&t.arena);
    return s;
}
