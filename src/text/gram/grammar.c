/* SPDX-License-Identifier: Apache-2.0
 * Grammars: kinds of specs, compiling, references. */
#include "text/grammar.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "text/gram/gram_int.h"

static const char *const names[] = { "json_schema", "json_object", "regex", "choice", "grammar", "structural_tag" };

int vc_grammar_kind_of(const char *name) {
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        if (!strcmp(name, names[i])) return (int)i;
    }
    return -1;
}

const char *vc_grammar_kind_name(enum vc_grammar_kind kind) {
    return (size_t)kind < VC_ARRAY_LEN(names) ? names[kind] : "?";
}

static void grammar_del(struct vc_grammar *r) {
    vc_conf_free(r);
    vc_gram_del(r->g);
    if (r->lock) {
        pthread_mutex_destroy(r->lock);
        free(r->lock);
    }
    free(r);
}

struct vc_grammar *vc_grammar_ref(struct vc_grammar *r) {
    pthread_mutex_lock(r->lock);
    r->refs++;
    pthread_mutex_unlock(r->lock);
    return r;
}

void vc_grammar_unref(struct vc_grammar *r) {
    if (!r) return;
    pthread_mutex_lock(r->lock);
    bool last = --r->refs == 0;
    pthread_mutex_unlock(r->lock);
    if (last) grammar_del(r);
}

vc_status vc_gram_finish(struct vc_grammar **out, struct vc_gram *g, vc_err *err) {
    *out = NULL;
    struct vc_grammar *r = calloc(1, sizeof *r);
    pthread_mutex_t *lock = malloc(sizeof *lock);
    if (!r || !lock || pthread_mutex_init(lock, NULL)) {
        free(r);
        free(lock);
        vc_gram_del(g);
        return vc_fail(err, VC_E_NOMEM, "grammar: out of memory");
    }
    r->lock = lock;
    r->refs = 1;
    r->g = g;
    vc_status s = g->compiled ? vc_conf_init(r, err) : vc_fail(err, VC_E_STATE, "grammar: not compiled");
    if (s != VC_OK) {
        grammar_del(r);
        return s;
    }
    *out = r;
    return VC_OK;
}

/* A JSON array of strings. */
static vc_status choice(struct vc_gram *g, const char *spec, size_t n, vc_gram_node *root, vc_err *err) {
    json_error_t e;
    json_t *j = json_loadb(spec, n, JSON_ALLOW_NUL, &e);
    if (!j) return vc_fail(err, VC_E_INVALID, "choice: not JSON: %s at byte %d", e.text, e.position);
    size_t m = json_is_array(j) ? json_array_size(j) : 0;
    vc_gram_node *v = malloc((m + 1) * sizeof *v);
    vc_status s = v ? VC_OK : vc_fail(err, VC_E_NOMEM, "choice: out of memory");
    if (s == VC_OK && !m) s = vc_fail(err, VC_E_INVALID, "choice: expected an array of at least one string");
    for (size_t i = 0; s == VC_OK && i < m; i++) {
        const json_t *x = json_array_get(j, i);
        if (!json_is_string(x)) s = vc_fail(err, VC_E_INVALID, "choice: element %zu is not a string", i);
        else v[i] = vc_gram_text(g, json_string_value(x), json_string_length(x));
    }
    if (s == VC_OK) {
        *root = vc_gram_alt(g, v, m);
        if (!*root) s = vc_gram_status(g, err);
    }
    free(v);
    json_decref(j);
    return s;
}

static vc_status build(struct vc_gram *g, enum vc_grammar_kind kind, const char *spec, size_t n, int whitespace,
                       vc_gram_node *root, struct vc_grammar_where *where, vc_err *err) {
    vc_err inner = VC_ERR_INIT;
    vc_status s = VC_OK;
    switch (kind) {
    case VC_GRAMMAR_JSON_SCHEMA:
    case VC_GRAMMAR_JSON_OBJECT:
    case VC_GRAMMAR_STRUCTURAL_TAG: s = vc_schema_build(g, kind, spec, n, whitespace, root, where, &inner); break;
    case VC_GRAMMAR_CHOICE: s = choice(g, spec, n, root, &inner); break;
    case VC_GRAMMAR_REGEX: *root = vc_gram_regex(g, spec, n, 0, &inner); break;
    case VC_GRAMMAR_EBNF: *root = vc_gram_ebnf(g, spec, n, &inner); break;
    default: return vc_fail(err, VC_E_INVALID, "grammar: unknown kind %d", (int)kind);
    }
    if (s != VC_OK) return vc_fail(err, s, "%s", inner.text);
    if (*root) return VC_OK;
    if (inner.status != VC_OK) return vc_fail(err, inner.status, "%s", inner.text);
    VC_TRY(vc_gram_status(g, err));
    return vc_fail(err, VC_E_INVALID, "grammar: nothing was built");
}

vc_status vc_grammar_compile(struct vc_grammar **out, enum vc_grammar_kind kind, const char *spec, size_t n,
                             const struct vc_grammar_options *opt, struct vc_grammar_where *where, vc_err *err) {
    *out = NULL;
    struct vc_grammar_where here = { 0 };
    if (!where) where = &here;
    *where = here;
    struct vc_grammar_options o = { .whitespace = VC_GRAMMAR_WS_DEFAULT };
    if (opt) o = *opt;
    if (o.whitespace == VC_GRAMMAR_WS_DEFAULT) o.whitespace = 32;
    if (o.whitespace < VC_GRAMMAR_WS_ANY)
        return vc_fail(err, VC_E_INVALID, "grammar: white space of %d characters", o.whitespace);
    struct vc_gram *g = NULL;
    VC_TRY(vc_gram_new(&g, &o.limits, err));
    vc_gram_node root = 0;
    vc_status s = build(g, kind, spec, n, o.whitespace, &root, where, err);
    if (s == VC_OK) s = vc_gram_compile(g, root, err);
    if (s == VC_OK) return vc_gram_finish(out, g, err);
    vc_gram_del(g);
    return s;
}

vc_status vc_grammar_prepare(struct vc_grammar *r, struct vc_grammar_vocab *v, vc_err *err) {
    pthread_mutex_lock(r->lock);
    r->failed = NULL;
    vc_status s = vc_mask_prepare(r, v, err);
    pthread_mutex_unlock(r->lock);
    return s;
}

void vc_grammar_stats(struct vc_grammar *r, struct vc_grammar_stats *out) {
    pthread_mutex_lock(r->lock);
    *out = (struct vc_grammar_stats){ .states = r->n_states,
                                      .configs = r->n_confs,
                                      .masks = r->masks,
                                      .mask_hits = r->mask_hits,
                                      .cache_bytes = vc_conf_bytes(r) };
    for (size_t i = 0; r->lexemes && i < r->g->nfa.n_sites; i++) out->lexemes += r->lexemes[i].lex != NULL;
    pthread_mutex_unlock(r->lock);
}
