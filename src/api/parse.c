/* SPDX-License-Identifier: Apache-2.0
 * parse.c: reasoning and tool calls of an answer: from the text of a choice, through its parser, into the output. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "io/json.h"

static bool given(const char *name) { return name && *name; }

/* "auto" becomes the parser that the chat template's markers speak for, or none. */
static vc_status resolve(const struct vc_model *m, const vc_request_params *p, struct vc_parser_params *out,
                         vc_err *err) {
    struct vc_parser_choice found = { NULL, NULL };
    const char *text = p->tools_json && m->chat_tools.text ? m->chat_tools.text : m->chat.text;
    if (text) found = vc_parser_detect(text, strlen(text));
    bool auto_tool = given(p->tool_parser) && !strcmp(p->tool_parser, "auto");
    if (auto_tool && !found.tool && p->tools_json)
        return vc_fail(err, VC_E_INVALID,
                       "tool_parser: auto finds no known call format in the model's chat template; name one");
    out->tool_parser = auto_tool ? found.tool : given(p->tool_parser) ? p->tool_parser : NULL;
    bool auto_reasoning = given(p->reasoning_parser) && !strcmp(p->reasoning_parser, "auto");
    out->reasoning_parser = auto_reasoning ? found.reasoning : given(p->reasoning_parser) ? p->reasoning_parser : NULL;
    return VC_OK;
}

/* Whether the prompt ends inside a reasoning block, or behind one. It is turned back into text: its end is enough. */
static vc_status look_at_prompt(const struct vc_model *m, const struct api_request *r, struct vc_parser_params *pp,
                                vc_err *err) {
    enum { TAIL = 4096 };
    uint32_t n = VC_MIN(r->num_prompt, (uint32_t)TAIL);
    struct vc_buf b = { 0 };
    vc_status s = vc_tok_decode(m->tokenizer, r->prompt + (r->num_prompt - n), n, false, &b, err);
    if (s == VC_OK && b.n) {
        pp->thinking_open = vc_parser_opens(pp->reasoning_parser, b.p, b.n);
        pp->thinking_off |= vc_parser_closes(pp->reasoning_parser, b.p, b.n);
    }
    vc_buf_free(&b);
    return s;
}

/* Ids of the text that ends the reasoning, where a budget is set. */
static vc_status set_budget(struct vc_model *m, struct api_request *r, const char *parser, int64_t budget,
                            vc_err *err) {
    const char *closing = parser ? vc_parser_closing(parser) : NULL;
    size_t n = 0;
    if (budget < 0) return VC_OK;
    if (!closing)
        return vc_fail(err, VC_E_INVALID,
                       "thinking_token_budget: needs a reasoning parser whose reasoning ends with a text of its own");
    VC_TRY(vc_tokenize(m, closing, strlen(closing), VC_TOK_PARSE_SPECIAL, &r->closing, &n, err));
    r->num_closing = (uint32_t)n;
    r->thinking_budget = budget;
    for (size_t i = 0; i < n; i++)
        if ((uint32_t)r->closing[i] >= m->info.vocab_size)
            return vc_fail(err, VC_E_INVALID,
                           "thinking_token_budget: the model has no logit for the end of its reasoning");
    return n ? VC_OK : vc_fail(err, VC_E_INVALID, "thinking_token_budget: the end of the reasoning has no tokens");
}

vc_status api_parser_init(struct vc_model *m, struct api_request *r, const vc_request_params *p, vc_err *err) {
    if (!given(p->tool_parser) && !given(p->reasoning_parser))
        return set_budget(m, r, NULL, p->thinking_token_budget, err);
    if (!m->tokenizer)
        return vc_fail(err, VC_E_UNSUPPORTED, "tool_parser and reasoning_parser: the model has no tokenizer");
    struct vc_parser_params pp = { .thinking_off = p->thinking_off != 0,
                                   .no_calls = p->no_tool_calls != 0,
                                   .whole = p->parse_whole != 0 };
    VC_TRY(resolve(m, p, &pp, err));
    VC_TRY(set_budget(m, r, pp.reasoning_parser, p->thinking_token_budget, err));
    if (!pp.tool_parser && !pp.reasoning_parser) return VC_OK;
    json_t *tools = NULL;
    if (p->tools_json) VC_TRY(vc_json_parse(&tools, p->tools_json, strlen(p->tools_json), "tools", err));
    pp.tools = tools;
    vc_status s = pp.reasoning_parser ? look_at_prompt(m, r, &pp, err) : VC_OK;
    for (uint32_t i = 0; s == VC_OK && i < r->sampling->n; i++) s = vc_parser_new(&r->choice[i].parser, &pp, err);
    json_decref(tools);
    return s;
}

/* ---- deltas ---- */

struct sink { struct api_output *o; bool failed; };

/* Appends text and its NUL; *ref is its offset + 1, which api_output_send makes a pointer. */
static bool add_text(struct api_output *o, vc_str s, const char **ref) {
    *ref = (const char *)(uintptr_t)(o->tool_text.n + 1);
    vc_buf_add(&o->tool_text, s.p, s.n);
    vc_buf_addc(&o->tool_text, '\0');
    return !o->tool_text.failed;
}

static bool add_tool(struct api_output *o, const struct vc_parse_delta *d) {
    if (o->o.num_tools == o->cap_tools) {
        uint32_t cap = o->cap_tools ? 2 * o->cap_tools : 4;
        vc_tool_delta *v = realloc(o->tools, cap * sizeof *v);
        if (!v) return false;
        o->tools = v;
        o->cap_tools = cap;
    }
    vc_tool_delta *t = &o->tools[o->o.num_tools];
    *t = (vc_tool_delta){ .index = d->index };
    bool begins = d->kind == VC_PARSE_CALL_BEGIN;
    vc_str args = begins ? (vc_str){ "", 0 } : d->text;
    if (begins && !add_text(o, d->text, &t->name)) return false;
    if (!add_text(o, args, &t->arguments)) return false;
    t->arguments_len = args.n;
    o->o.num_tools++;
    return true;
}

static void delta(void *user, const struct vc_parse_delta *d) {
    struct sink *k = user;
    switch (d->kind) {
        case VC_PARSE_REASONING: vc_buf_add(&k->o->reasoning, d->text.p, d->text.n); break;
        case VC_PARSE_CONTENT: vc_buf_add(&k->o->text, d->text.p, d->text.n); break;
        case VC_PARSE_CALL_BEGIN:
        case VC_PARSE_CALL_ARGS: k->failed |= !add_tool(k->o, d); break;
        case VC_PARSE_CALL_END: break;
    }
}

bool api_parse(struct api_choice *c, struct api_output *o, const char *text, size_t n, bool last) {
    if (!c->parser) {
        vc_buf_add(&o->text, text, n);
        return !o->text.failed;
    }
    struct sink k = { .o = o };
    struct vc_parse_sink sink = { delta, &k };
    vc_err err = VC_ERR_INIT;
    size_t before = o->text.n;
    vc_status s = vc_parser_push(c->parser, text, n, &sink, &err);
    if (c->constraint.matcher && c->constraint.waits && !vc_parser_in_reasoning(c->parser))
        api_constraint_begin(&c->constraint, o->text.p + before, o->text.n - before);
    if (s == VC_OK && last) s = vc_parser_finish(c->parser, &sink, &err);
    return s == VC_OK && !k.failed && !o->text.failed && !o->reasoning.failed;
}
