/* SPDX-License-Identifier: Apache-2.0
 * template_format.c: does a template want a message's content as a string or as a list of parts? vLLM's
 * _detect_content_format (renderers/hf.py) on our syntax tree, then two renders that may overrule it. */
#include <stdlib.h>
#include <string.h>

#include "text/jinja/template_int.h"

/* ---- the syntax tree ---- */
struct names { uint32_t v[64]; uint32_t n; };   /* more than 64 names for the messages are not looked at */

struct search {
    const struct vc_jprog *prog;
    struct names messages, message;     /* variables that hold the messages or some of them; that hold one message */
    struct names content;               /* parameters of the macro being read that are given a content */
    const struct vc_jnode *macro;
    uint32_t depth;
    bool odd;                           /* a target is no plain name: vLLM gives up and says string */
    bool found, grown;
    void (*at)(struct search *s, const struct vc_jnode *n);
};

static bool has(const struct names *l, uint32_t id) {
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i] == id) return true;
    return false;
}

static void add(struct search *s, struct names *l, uint32_t id) {
    if (l->n == VC_ARRAY_LEN(l->v) || has(l, id)) return;
    l->v[l->n++] = id;
    s->grown = true;
}

static void visit(void *ctx, const struct vc_jnode *n) {
    struct search *s = ctx;
    s->at(s, n);
    if (s->depth >= VC_J_WALK_DEPTH || s->found || s->odd) return;
    s->depth++;
    vc_j_each_child(n, visit, s);
    s->depth--;
}

static void walk(struct search *s, void (*at)(struct search *s, const struct vc_jnode *n)) {
    s->at = at;
    for (uint32_t i = 0; i < s->prog->body.n; i++) visit(s, s->prog->body.v[i]);
}

static const struct vc_jnode *bare(const struct vc_jnode *n) {
    while (n && (n->kind == VC_JN_FILTER || n->kind == VC_JN_TEST ||
                 (n->kind == VC_JN_GETITEM && n->b->kind == VC_JN_SLICE)))
        n = n->a;
    return n;
}

/* One of these variables, or a slice, a filter or a test of it. */
static bool is_var(const struct names *l, const struct vc_jnode *n) {
    n = bare(n);
    return n && n->kind == VC_JN_NAME && has(l, n->id);
}

/* The same of `variable.content` or `variable['content']`. */
static bool is_content(const struct names *l, const struct vc_jnode *n) {
    n = bare(n);
    if (!n || (n->kind != VC_JN_GETATTR && n->kind != VC_JN_GETITEM)) return false;
    const vc_jv *key = n->kind == VC_JN_GETATTR ? &n->val : n->b->kind == VC_JN_CONST ? &n->b->val : NULL;
    return key && key->t == VC_J_STR && vc_j_str_is(key->u.s, "content") && n->a->kind == VC_JN_NAME &&
           has(l, n->a->id);
}

static void find_messages(struct search *s, const struct vc_jnode *n) {
    if (n->kind != VC_JN_SET || !is_var(&s->messages, n->b)) return;
    if (n->a->kind == VC_JN_NAME) add(s, &s->messages, n->a->id);
    else s->odd = true;
}

static void find_message(struct search *s, const struct vc_jnode *n) {
    if (n->kind != VC_JN_FOR || !is_var(&s->messages, n->b)) return;
    if (n->a->kind == VC_JN_NAME) add(s, &s->message, n->a->id);
    else s->odd = true;
}

/* A call of the macro: which of its parameters get a content? */
static void find_content(struct search *s, const struct vc_jnode *n) {
    const struct vc_jnode *m = s->macro;
    if (n->kind != VC_JN_CALL || n->a->kind != VC_JN_NAME || n->a->id != m->id) return;
    for (uint32_t i = 0; i < n->args->pos.n && i < m->list.n; i++)
        if (is_content(&s->message, n->args->pos.v[i])) add(s, &s->content, m->list.v[i]->id);
    for (uint32_t i = 0; i < n->args->kw.n; i++) {
        if (!is_content(&s->message, n->args->kw.v[i])) continue;
        for (uint32_t k = 0; k < m->list.n; k++)
            if (vc_j_str_same(s->prog->names[m->list.v[k]->id], n->args->kw_name[i]))
                add(s, &s->content, m->list.v[k]->id);
    }
}

/* A loop over a content: of a message, of a macro's parameter, or outside macros of a variable named `content`. */
static void find_loop(struct search *s, const struct vc_jnode *n) {
    if (n->kind == VC_JN_MACRO && s->macro != n) {
        struct search in = *s;
        in.macro = n;
        in.content.n = 0;
        walk(&in, find_content);
        in.at = find_loop;
        in.depth = s->depth;
        vc_j_each_child(n, visit, &in);
        s->found = in.found;
        s->odd = in.odd;
        return;
    }
    if (n->kind != VC_JN_FOR) return;
    bool named = n->b->kind == VC_JN_NAME;
    bool loop = is_content(&s->message, n->b) || (s->macro && named && has(&s->content, n->b->id)) ||
                (!s->macro && named && vc_j_str_is(s->prog->names[n->b->id], "content"));
    if (!loop) return;
    s->found = n->a->kind == VC_JN_NAME;
    s->odd = !s->found;
}

static enum vc_content_format by_tree(const struct vc_jprog *prog) {
    struct search s = { .prog = prog };
    for (uint32_t i = 0; i < prog->n_names; i++)
        if (vc_j_str_is(prog->names[i], "messages")) add(&s, &s.messages, i);
    while (s.grown && !s.odd) {
        s.grown = false;
        walk(&s, find_messages);
    }
    if (!s.odd) walk(&s, find_message);
    if (!s.odd) walk(&s, find_loop);
    return s.found ? VC_CONTENT_PARTS : VC_CONTENT_STRING;
}

/* ---- the renders ---- */
#define PROBE "vLLM probe text"

static bool contains(const struct vc_buf *b, const char *text) {
    size_t k = strlen(text);
    for (size_t i = 0; i + k <= b->n; i++)
        if (!memcmp(b->p + i, text, k)) return true;
    return false;
}

/* Does a user message with this content come out as its text, and not as a list that is printed? */
static bool renders(const struct vc_template *t, json_t *content) {
    struct vc_buf out = { 0 };
    vc_err err = VC_ERR_INIT;
    json_t *messages = json_pack("[{s:s, s:o}]", "role", "user", "content", content);
    struct vc_template_args a = {
        .messages = messages,
        .add_generation_prompt = true,
        .bos_token = "",
        .eos_token = "",
        .limits = { .steps = 200000, .output_bytes = 1 << 20, .memory_bytes = 16 << 20, .ms = 200 }
    };
    bool ok = messages && vc_template_render(t, &a, &out, &err) == VC_OK && contains(&out, PROBE) &&
              !contains(&out, "'" PROBE "'}") && !contains(&out, "\"" PROBE "\"}");
    vc_buf_free(&out);
    json_decref(messages);
    return ok;
}

enum vc_content_format vc_template_content_format(const struct vc_template *t) {
    enum vc_content_format f = by_tree(&t->prog);
    bool text = renders(t, json_string(PROBE)),
         parts = renders(t, json_pack("[{s:s, s:s}]", "type", "text", "text", PROBE));
    return text == parts ? f : parts ? VC_CONTENT_PARTS : VC_CONTENT_STRING;
}
