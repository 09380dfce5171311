/* SPDX-License-Identifier: Apache-2.0
 * constraint.c: what binds a request's grammar to the engine: one matcher per choice, and the grammars that were used
 * lately. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"

/* ---- one choice ---- */

static struct api_constraint *of(struct vc_constraint *c) { return (struct api_constraint *)(void *)c; }

static size_t logit_words(const struct vc_model *m) { return m->info.vocab_size / 32 + (m->info.vocab_size % 32 != 0); }

/* The budget for reasoning is used up, and its end is not written yet. The parser has seen all tokens before. */
static bool must_close(const struct api_constraint *c) {
    return c->closing && (c->at || (c->left <= 0 && vc_parser_in_reasoning(c->parser)));
}

static bool mask(struct vc_constraint *vc, uint32_t *bits) {
    struct api_constraint *c = of(vc);
    if (must_close(c)) {
        uint32_t id = (uint32_t)c->closing[c->at];
        memset(bits, 0, logit_words(c->model) * sizeof *bits);
        bits[id / 32] |= UINT32_C(1) << id % 32;
        return true;
    }
    if (!c->matcher || c->waits || c->over) return false;
    vc_err err = VC_ERR_INIT;
    size_t words = logit_words(c->model);
    bool ok = vc_matcher_mask(c->matcher, c->wide ? c->wide : bits, &err) == VC_OK;
    if (!ok) memset(bits, 0, words * sizeof *bits);     /* closed, not open: the request ends with an error */
    else if (c->wide) memcpy(bits, c->wide, words * sizeof *bits);
    return true;
}

static void accept(struct vc_constraint *vc, int32_t token) {
    struct api_constraint *c = of(vc);
    if (must_close(c)) {
        if (++c->at == c->num_closing) {
            c->at = 0;
            c->closing = NULL;
        }
        return;
    }
    if (c->closing && vc_parser_in_reasoning(c->parser)) c->left--;
    if (!c->matcher || c->waits || c->over) return;
    vc_matcher_accept_token(c->matcher, token);
    for (uint32_t i = 0; i < c->model->num_eos; i++) c->over |= token == c->model->eos_ids[i];
}

static int32_t forced(struct vc_constraint *vc) {
    struct api_constraint *c = of(vc);
    int32_t id = -1;
    vc_err err = VC_ERR_INIT;
    if (must_close(c)) return c->closing[c->at];
    if (!c->matcher || c->waits || c->over || vc_matcher_forced_token(c->matcher, &id, &err) != VC_OK) return -1;
    return id >= 0 && (uint32_t)id < c->model->info.vocab_size ? id : -1;
}

static const struct vc_constraint_ops ops = { mask, accept, forced };

vc_status api_constraint_init(struct api_constraint *c, struct vc_model *m, struct vc_grammar *g, bool waits,
                              vc_err *err) {
    c->base.ops = &ops;
    c->model = m;
    c->waits = waits;
    size_t words = vc_grammar_mask_words(m->grammars.vocab);
    if (words > logit_words(m) && !(c->wide = malloc(words * sizeof *c->wide)))
        return vc_fail(err, VC_E_NOMEM, "out of memory for a request");
    return vc_matcher_new(&c->matcher, g, m->grammars.vocab, err);
}

void api_constraint_budget(struct api_constraint *c, const struct vc_model *m, const struct vc_parser *parser,
                           const struct api_request *r) {
    c->base.ops = &ops;
    c->model = m;
    c->parser = parser;
    c->closing = r->closing;
    c->num_closing = r->num_closing;
    c->left = r->thinking_budget;
}

void api_constraint_free(struct api_constraint *c) {
    vc_matcher_del(c->matcher);
    free(c->wide);
    c->matcher = NULL;
    c->wide = NULL;
}

/* The reasoning is over; text: what was content already in the token that ended it. White space there is the model's
 * own. */
void api_constraint_begin(struct api_constraint *c, const char *text, size_t n) {
    c->waits = false;
    if (n == 0 || vc_matcher_accept_bytes(c->matcher, text, n)) return;
    size_t skip = strspn(text, " \t\r\n");
    if (skip < n) vc_matcher_accept_bytes(c->matcher, text + skip, n - skip);
}

/* ---- grammars of a model ---- */

static struct api_grammar *find(struct api_grammars *gs, int kind, int whitespace, const char *spec, size_t n) {
    for (size_t i = 0; i < VC_ARRAY_LEN(gs->v); i++) {
        struct api_grammar *e = &gs->v[i];
        if (e->grammar && e->kind == kind && e->whitespace == whitespace && e->n == n && memcmp(e->spec, spec, n) == 0)
            return e;
    }
    return NULL;
}

static void drop(struct api_grammar *e) {
    vc_grammar_unref(e->grammar);
    free(e->spec);
    *e = (struct api_grammar){ 0 };
}

/* Under lock: into the place that was used least lately. A spec that finds no memory is simply not kept. */
static void keep(struct api_grammars *gs, int kind, int whitespace, const char *spec, size_t n, struct vc_grammar *g) {
    struct api_grammar *e = &gs->v[0];
    for (size_t i = 1; i < VC_ARRAY_LEN(gs->v); i++)
        if (gs->v[i].used < e->used) e = &gs->v[i];
    char *copy = malloc(n + 1);
    if (!copy) return;
    memcpy(copy, spec, n);
    drop(e);
    *e = (struct api_grammar){ copy, n, kind, whitespace, vc_grammar_ref(g), ++gs->clock };
}

static vc_status read_whitespace(const char *text, int *out, vc_err *err) {
    *out = VC_GRAMMAR_WS_DEFAULT;
    if (!text) return VC_OK;
    if (!strcmp(text, "any")) *out = VC_GRAMMAR_WS_ANY;
    else if (!strcmp(text, "compact")) *out = VC_GRAMMAR_WS_COMPACT;
    else {
        char *end;
        long v = strtol(text, &end, 10);
        if (end == text || *end || v < 0 || v > 1000000)
            return vc_fail(err, VC_E_INVALID, "constraint_whitespace: \"%s\", expected any, compact or a number", text);
        *out = (int)v;
    }
    return VC_OK;
}

static vc_status need_vocab(struct vc_model *m, vc_err *err) {
    pthread_mutex_lock(&m->grammars.lock);
    vc_status s = VC_OK;
    if (!m->grammars.vocab) s = vc_grammar_tokens(&m->grammars.vocab, m->tokenizer, m->eos_ids, m->num_eos, err);
    pthread_mutex_unlock(&m->grammars.lock);
    return s;
}

vc_status api_grammar_get(struct vc_model *m, const vc_request_params *p, struct vc_grammar **out, vc_err *err) {
    *out = NULL;
    if (!p->constraint_kind) return VC_OK;
    int kind = vc_grammar_kind_of(p->constraint_kind), whitespace;
    const char *spec = p->constraint ? p->constraint : "";
    size_t n = strlen(spec);
    if (kind < 0)
        return vc_fail(err, VC_E_INVALID,
                       "constraint_kind: \"%.64s\" is not known; json_schema, json_object, regex, choice, grammar and "
                       "structural_tag are",
                       p->constraint_kind);
    if (!m->tokenizer) return vc_fail(err, VC_E_UNSUPPORTED, "structured output: the model has no tokenizer");
    VC_TRY(read_whitespace(p->constraint_whitespace, &whitespace, err));
    VC_TRY(need_vocab(m, err));
    struct api_grammars *gs = &m->grammars;
    pthread_mutex_lock(&gs->lock);
    struct api_grammar *e = find(gs, kind, whitespace, spec, n);
    if (e) {
        e->used = ++gs->clock;
        *out = vc_grammar_ref(e->grammar);
    }
    pthread_mutex_unlock(&gs->lock);
    if (*out) return VC_OK;
    struct vc_grammar_options opt = { .whitespace = whitespace };
    VC_TRY(vc_grammar_compile(out, (enum vc_grammar_kind)kind, spec, n, &opt, NULL, err));
    pthread_mutex_lock(&gs->lock);
    keep(gs, kind, whitespace, spec, n, *out);
    pthread_mutex_unlock(&gs->lock);
    return VC_OK;
}

void api_grammars_free(struct api_grammars *gs) {
    for (size_t i = 0; i < VC_ARRAY_LEN(gs->v); i++) drop(&gs->v[i]);
    vc_grammar_vocab_del(gs->vocab);
    pthread_mutex_destroy(&gs->lock);
}
