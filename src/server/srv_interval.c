/* SPDX-License-Identifier: Apache-2.0
 * srv_interval.c: stream_interval: outputs of a choice put together until there are enough tokens for an event. The
 * first token and the end go out at once, as in vLLM. */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "server/srv_gen.h"

struct srv_held {
    struct vc_buf text, reasoning, tool_text;
    int32_t *ids;
    size_t num_ids, cap_ids; /* owned, as all arrays here */
    vc_logprob *logprobs;
    size_t num_logprobs, cap_logprobs;
    float *margins;
    size_t num_margins, cap_margins;
    vc_tool_delta *tools;
    size_t num_tools, cap_tools; /* names and arguments are offsets + 1 into tool_text until they are sent */
    bool begun;
};

void srv_held_free(struct srv_held *h) {
    if (!h) return;
    vc_buf_free(&h->text);
    vc_buf_free(&h->reasoning);
    vc_buf_free(&h->tool_text);
    free(h->ids);
    free(h->logprobs);
    free(h->margins);
    free(h->tools);
    free(h);
}

static bool add(void **v, size_t *used, size_t *cap, const void *from, size_t n, size_t size) {
    if (n == 0 || !from) return true;
    if (!vc_grow(v, *used, cap, n, size)) return false;
    memcpy((char *)*v + *used * size, from, n * size);
    *used += n;
    return true;
}

static const char *keep_text(struct vc_buf *b, const char *s, size_t n) {
    const char *ref = (const char *)(uintptr_t)(b->n + 1);
    vc_buf_add(b, s, n);
    return ref;
}

/* More of the call of the last delta joins it: its arguments lie at the end of the buffer. */
static bool add_tool(struct srv_held *h, const vc_tool_delta *t) {
    vc_tool_delta *last = h->num_tools ? &h->tools[h->num_tools - 1] : NULL;
    if (last && last->index == t->index && !t->name) {
        vc_buf_add(&h->tool_text, t->arguments ? t->arguments : "", t->arguments_len);
        last->arguments_len += t->arguments_len;
        return true;
    }
    vc_tool_delta d = { .index = t->index, .arguments_len = t->arguments_len };
    if (t->name) d.name = keep_text(&h->tool_text, t->name, strlen(t->name) + 1);
    d.arguments = keep_text(&h->tool_text, t->arguments ? t->arguments : "", t->arguments_len);
    void *v = h->tools;
    bool ok = add(&v, &h->num_tools, &h->cap_tools, &d, 1, sizeof d);
    h->tools = v;
    return ok;
}

static bool hold(struct srv_held *h, const vc_output *o) {
    void *ids = h->ids, *logprobs = h->logprobs, *margins = h->margins;
    bool ok = add(&ids, &h->num_ids, &h->cap_ids, o->token_ids, o->num_token_ids, sizeof *h->ids);
    ok = add(&logprobs, &h->num_logprobs, &h->cap_logprobs, o->logprobs, (size_t)o->num_logprobs * o->num_token_ids,
             sizeof *h->logprobs) &&
         ok;
    ok = add(&margins, &h->num_margins, &h->cap_margins, o->margins, o->num_token_ids, sizeof *h->margins) && ok;
    h->ids = ids;
    h->logprobs = logprobs;
    h->margins = margins;
    for (uint32_t i = 0; i < o->num_tools; i++) ok = add_tool(h, &o->tools[i]) && ok;
    vc_buf_add(&h->text, o->text, o->text_len);
    vc_buf_add(&h->reasoning, o->reasoning, o->reasoning_len);
    return ok && !h->text.failed && !h->reasoning.failed && !h->tool_text.failed;
}

static const char *at(const struct vc_buf *b, const char *ref) { return ref ? b->p + (uintptr_t)ref - 1 : NULL; }

/* All that is held, as one output that ends as `last` does. It lives until the next call. */
static void join(struct srv_held *h, const vc_output *last, vc_output *out) {
    *out = *last;
    out->text = h->text.p ? h->text.p : "";
    out->text_len = h->text.n;
    out->reasoning = h->reasoning.p ? h->reasoning.p : "";
    out->reasoning_len = h->reasoning.n;
    out->token_ids = h->ids;
    out->num_token_ids = (uint32_t)h->num_ids;
    out->logprobs = h->logprobs;
    out->num_logprobs = h->num_ids ? (uint32_t)(h->num_logprobs / h->num_ids) : 0;
    out->margins = h->num_margins ? h->margins : NULL;
    for (size_t i = 0; i < h->num_tools; i++) {
        h->tools[i].name = at(&h->tool_text, h->tools[i].name);
        h->tools[i].arguments = h->tool_text.p ? at(&h->tool_text, h->tools[i].arguments) : "";
    }
    out->tools = h->tools;
    out->num_tools = (uint32_t)h->num_tools;
    h->text.n = h->reasoning.n = h->tool_text.n = 0;
    h->num_ids = h->num_logprobs = h->num_margins = h->num_tools = 0;
}

const vc_output *srv_hold(struct srv_gen *g, struct srv_answer *a, const vc_output *o, vc_output *joined) {
    if (!a->held && !(a->held = calloc(1, sizeof *a->held))) a->failed = true;
    struct srv_held *h = a->held;
    if (!h) return o;
    if (!hold(h, o)) a->failed = true;
    if (!o->finished && h->begun && h->num_ids < g->interval) return NULL;
    h->begun = true;
    join(h, o, joined);
    return joined;
}
