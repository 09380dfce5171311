/* SPDX-License-Identifier: Apache-2.0
 * Compiling and rendering of chat templates: variables from JSON, limits, and continue_final_message. */
#include "text/jinja/template_int.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "text/jinja/jinja_method.h"

enum {
    DEFAULT_STEPS = 50000000,
    DEFAULT_OUTPUT = 64 << 20,
    DEFAULT_MEMORY = 256 << 20,
    DEFAULT_DEPTH = 1000,
    DEFAULT_MS = 5000
};
#define CONTINUE_TAG "CONTINUE_FINAL_MESSAGE_TAG "

static vc_status check_utf8(const char *text, size_t n, struct vc_template_place *place, vc_err *err) {
    uint32_t cp, line = 1;
    size_t from = 0;
    for (size_t i = 0, w; i < n; i += w) {
        w = vc_utf8_decode(text + i, n - i, &cp);
        if (w == 0) {
            struct vc_template_place at = { line, (uint32_t)vc_j_count_cp(text + from, i - from) + 1 };
            if (place) *place = at;
            return vc_fail(err, VC_E_TEMPLATE, "line %u, column %u: the template is not valid UTF-8", at.line,
                           at.column);
        }
        if (cp == '\n') {
            line++;
            from = i + 1;
        }
    }
    return VC_OK;
}

static bool holds(const char *p, size_t n, const char *what) {
    struct vc_jstr w = { what, strlen(what), 0 };
    return vc_j_search(p, n, &w, 0) != SIZE_MAX;
}

vc_status vc_template_compile(struct vc_template **out, const char *text, size_t n, vc_err *err) {
    return vc_template_compile_at(out, text, n, NULL, err);
}

vc_status vc_template_compile_at(struct vc_template **out, const char *text, size_t n, struct vc_template_place *place,
                                 vc_err *err) {
    *out = NULL;
    if (place) *place = (struct vc_template_place){ 0, 0 };
    VC_TRY(check_utf8(text, n, place, err));
    struct vc_template *t = calloc(1, sizeof *t);
    struct vc_jx *x = calloc(1, sizeof *x);
    if (!t || !x) {
        free(t);
        free(x);
        return vc_fail(err, VC_E_NOMEM, "no memory for a chat template");
    }
    *x = (struct vc_jx){ .a = &t->prog.arena,
                         .err = err,
                         .place = place,
                         .max_steps = UINT64_MAX,
                         .max_output = UINT64_MAX,
                         .max_depth = DEFAULT_DEPTH,
                         .seed = vc_now_ns() };
    x->max_memory = ((uint64_t)16 << 20) + 512 * (uint64_t)n;
    *out = t;
    if (setjmp(x->at)) {
        vc_template_del(*out);
        *out = NULL;
        free(x);
        return VC_E_TEMPLATE;
    }
    vc_j_parse(x, &t->prog, text, n);
    vc_j_find_variables(x, &t->prog);
    t->prog.developer = holds(text, n, "\"developer\"") || holds(text, n, "'developer'");
    free(x);
    return VC_OK;
}

void vc_template_del(struct vc_template *t) {
    if (!t) return;
    vc_arena_free(&t->prog.arena);
    free(t);
}

bool vc_template_uses(const struct vc_template *t, const char *name) {
    for (uint32_t i = 0; i < t->prog.n_variables; i++)
        if (!strcmp(t->prog.variables[i], name)) return true;
    return false;
}

const char *vc_template_variable(const struct vc_template *t, size_t i) {
    return i < t->prog.n_variables ? t->prog.variables[i] : NULL;
}

bool vc_template_knows_developer(const struct vc_template *t) { return t->prog.developer; }

/* ---- variables ---- */
static vc_jv from_json(vc_jx *x, const json_t *j) {
    vc_jv v = vc_j_none(), item;
    vc_j_enter(x);
    switch (json_typeof(j)) {
    case JSON_TRUE: v = vc_j_bool(true); break;
    case JSON_FALSE: v = vc_j_bool(false); break;
    case JSON_INTEGER: v = vc_j_int(json_integer_value(j)); break;
    case JSON_REAL: v = vc_j_float(json_real_value(j)); break;
    case JSON_STRING: v = vc_j_str(x, json_string_value(j), json_string_length(j)); break;
    case JSON_ARRAY:
        v = vc_j_list(x, json_array_size(j));
        for (size_t i = 0; i < json_array_size(j); i++) {
            item = from_json(x, json_array_get(j, i));
            vc_j_push(x, v, item);
        }
        break;
    case JSON_OBJECT: {
        v = vc_j_dict(x);
        json_t *o = (json_t *)(uintptr_t)j;     /* jansson's iterators take no const */
        for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it)) {
            const char *key = json_object_iter_key(it);
            item = from_json(x, json_object_iter_value(it));
            vc_j_set(x, v.u.d, vc_j_str(x, key, json_object_iter_key_len(it)), item);
        }
        break;
    }
    default: break;
    }
    vc_j_leave(x);
    return v;
}

static void set_var(vc_jx *x, const char *name, size_t n, vc_jv v) {
    for (uint32_t i = 0; i < x->prog->n_names; i++)
        if (x->prog->names[i]->n == n && !memcmp(x->prog->names[i]->p, name, n)) x->ctx[i] = v;
}

static void set_json(vc_jx *x, const char *name, const json_t *j) {
    set_var(x, name, strlen(name), j ? from_json(x, j) : vc_j_none());
}
static void set_text(vc_jx *x, const char *name, const char *text) {
    if (text) set_var(x, name, strlen(name), vc_j_lit(x, text));
}

static void set_members(vc_jx *x, const json_t *vars) {
    json_t *o = (json_t *)(uintptr_t)vars;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it))
        set_var(x, json_object_iter_key(it), json_object_iter_key_len(it), from_json(x, json_object_iter_value(it)));
}

/* ---- continue_final_message, as transformers does it: a mark behind the content of the last message, cut off with all
 * that the template puts after it ---- */
static vc_jv with_tag(vc_jx *x, vc_jv text) {
    struct vc_jbuf b = { 0 };
    if (text.t != VC_J_STR) vc_j_raise(x, "continue_final_message is set but the last message has no text to continue");
    vc_j_puts_str(x, &b, text.u.s);
    vc_j_puts(x, &b, CONTINUE_TAG);
    return vc_j_done(x, &b);
}

/* Appends the mark to the last text of the last message; returns that text without it. */
static vc_jv mark_final(vc_jx *x, vc_jv messages) {
    struct vc_jlist *l = messages.t == VC_J_LIST ? messages.u.l : NULL;
    vc_jv *content =
        l && l->n && l->v[l->n - 1].t == VC_J_DICT ? vc_j_find_cstr(x, l->v[l->n - 1].u.d, "content") : NULL;
    if (!content) vc_j_raise(x, "continue_final_message is set but there is no last message with a content");
    if (content->t == VC_J_LIST) {
        for (size_t i = content->u.l->n; i-- > 0;) {
            vc_jv part = content->u.l->v[i], *text = part.t == VC_J_DICT ? vc_j_find_cstr(x, part.u.d, "text") : NULL;
            if (!text) continue;
            vc_jv whole = *text;
            *text = with_tag(x, *text);
            return whole;
        }
    }
    vc_jv whole = *content;
    *content = with_tag(x, *content);
    return whole;
}

static void cut_final(vc_jx *x, struct vc_jbuf *out, vc_jv text) {
    vc_jv bare = vc_j_strip(x, text, vc_j_missing(), 3), all = vc_j_done(x, out);
    size_t tag = sizeof CONTINUE_TAG - 1, at;
    struct vc_jstr mark = { CONTINUE_TAG, tag - 1, tag - 1 };
    at = vc_j_search_last(out->p, out->n, &mark);
    x->node = NULL;
    if (at == SIZE_MAX || !vc_j_contains(x, all, bare))
        vc_j_raise(x, "continue_final_message is set but the final message does not appear in the chat after applying "
                      "the chat template");
    bool kept = out->n - at >= tag && !memcmp(out->p + at, CONTINUE_TAG, tag);
    out->n = at;
    if (!kept) out->n = vc_j_strip(x, vc_j_done(x, out), vc_j_missing(), 2).u.s->n;
}

/* ---- rendering ---- */
/* Is this variable the renderer's own? Those that it was not given may come from the kwargs. */
static bool is_taken(const struct vc_template_args *a, const char *key) {
    const struct { const char *name; bool taken;
    } own[] = {
        { "messages", true },
        { "tools", true },
        { "add_generation_prompt", true },
        { "documents", a->documents != NULL },
        { "bos_token", a->bos_token != NULL },
        { "eos_token", a->eos_token != NULL },
        { "unk_token", a->unk_token != NULL },
        { "pad_token", a->pad_token != NULL },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(own); i++)
        if (!strcmp(key, own[i].name)) return own[i].taken;
    return vc_j_global(key, strlen(key)) != NULL;
}

static vc_status check_kwargs(const struct vc_template_args *a, vc_err *err) {
    json_t *o = (json_t *)(uintptr_t)a->kwargs;
    for (void *it = json_object_iter(o); it; it = json_object_iter_next(o, it))
        if (is_taken(a, json_object_iter_key(it)))
            return vc_fail(err, VC_E_INVALID, "the template variable '%s' is set by the renderer and can't be given",
                           json_object_iter_key(it));
    return VC_OK;
}

struct job {
    const struct vc_template *t;
    const struct vc_template_args *args;    /* or NULL, and then: */
    const json_t *vars;
    struct vc_arena arena;
    struct vc_jbuf text;
};

static void run(vc_jx *x, struct job *j) {
    const struct vc_template_args *a = j->args;
    vc_jv final = vc_j_missing();
    x->ctx = vc_j_array(x, x->prog->n_names, sizeof *x->ctx);
    if (a) {
        vc_jv messages = a->messages ? from_json(x, a->messages) : vc_j_list(x, 0);
        set_text(x, "bos_token", a->bos_token);
        set_text(x, "eos_token", a->eos_token);
        set_text(x, "unk_token", a->unk_token);
        set_text(x, "pad_token", a->pad_token);
        if (a->continue_final_message) final = mark_final(x, messages);
        set_var(x, "messages", 8, messages);
        set_json(x, "tools", a->tools);
        set_json(x, "documents", a->documents);
        set_var(x, "add_generation_prompt", 21, vc_j_bool(a->add_generation_prompt));
        if (a->kwargs) set_members(x, a->kwargs);
    } else if (j->vars) {
        set_members(x, j->vars);
    }
    x->root = vc_j_push_scope(x, NULL);
    x->out = &j->text;
    vc_j_exec(x, &x->prog->body);
    if (vc_j_given(final)) cut_final(x, &j->text, final);
}

static vc_status render(struct job *j, int64_t now, const struct vc_template_limits *lim, struct vc_buf *out,
                        vc_err *err) {
    static const struct vc_template_limits none;
    struct vc_jx *x = calloc(1, sizeof *x);
    if (!x) return vc_fail(err, VC_E_NOMEM, "no memory to render a chat template");
    if (!lim) lim = &none;
    x->a = &j->arena;
    x->prog = &j->t->prog;
    x->err = err;
    x->place = j->args ? j->args->place : NULL;
    x->now = now;
    x->seed = vc_now_ns() ^ (uintptr_t)x;
    x->max_steps = lim->steps ? lim->steps : DEFAULT_STEPS;
    x->max_output = lim->output_bytes ? lim->output_bytes : DEFAULT_OUTPUT;
    x->max_memory = lim->memory_bytes ? lim->memory_bytes : DEFAULT_MEMORY;
    x->max_depth = lim->depth ? lim->depth : DEFAULT_DEPTH;
    x->max_ms = lim->ms ? lim->ms : DEFAULT_MS;
    x->deadline_ns = vc_now_ns() + (uint64_t)x->max_ms * 1000000;
    if (setjmp(x->at)) {
        free(x);
        vc_arena_free(&j->arena);
        return VC_E_TEMPLATE;
    }
    run(x, j);
    free(x);
    vc_buf_add(out, j->text.p ? j->text.p : "", j->text.n);
    vc_arena_free(&j->arena);
    return out->failed ? vc_fail(err, VC_E_NOMEM, "no memory for the text of a chat template") : VC_OK;
}

vc_status vc_template_render(const struct vc_template *t, const struct vc_template_args *a, struct vc_buf *out,
                             vc_err *err) {
    if (a->kwargs && !json_is_object(a->kwargs))
        return vc_fail(err, VC_E_INVALID, "the template variables must be an object");
    if (a->place) *a->place = (struct vc_template_place){ 0, 0 };
    if (a->kwargs) VC_TRY(check_kwargs(a, err));
    struct job j = { .t = t, .args = a };
    return render(&j, a->now, &a->limits, out, err);
}

vc_status vc_template_render_vars(const struct vc_template *t, const json_t *vars, int64_t now,
                                  const struct vc_template_limits *limits, struct vc_buf *out, vc_err *err) {
    if (vars && !json_is_object(vars)) return vc_fail(err, VC_E_INVALID, "the template variables must be an object");
    struct job j = { .t = t, .vars = vars };
    return render(&j, now, limits, out, err);
}
