/* SPDX-License-Identifier: Apache-2.0
 * output.c: outputs on their way to the caller, and back into the pool. */
#include <stdlib.h>

#include "api/api_int.h"

struct api_pool *api_pool_new(void) {
    struct api_pool *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->lock, NULL);
    p->refs = 1;
    return p;
}

static void output_del(struct api_output *o) {
    vc_buf_free(&o->text);
    vc_buf_free(&o->reasoning);
    vc_buf_free(&o->tool_text);
    free(o->tools);
    free(o->logprobs);
    free(o->prompt_logprobs);
    free(o->embedding);
    free(o);
}

/* Drops one reference: the model's, or that of an output in the caller's hands. */
void api_pool_release(struct api_pool *p) {
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    uint32_t left = --p->refs;
    pthread_mutex_unlock(&p->lock);
    if (left) return;
    for (struct api_output *o = p->free, *next; o; o = next) {
        next = o->next;
        output_del(o);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

struct api_output *api_output_take(struct vc_model *m) {
    struct api_pool *p = m->pool;
    pthread_mutex_lock(&p->lock);
    struct api_output *o = p->free;
    if (o) p->free = o->next;
    p->refs++;
    pthread_mutex_unlock(&p->lock);
    if (!o) {
        o = calloc(1, sizeof *o);
        if (o && !vc_buf_reserve(&o->text, 4096)) {
            free(o);
            o = NULL;
        }
        if (!o) {
            api_pool_release(p);
            return NULL;
        }
    }
    o->pool = p;
    o->next = NULL;
    o->text.n = 0;
    o->text.p[0] = '\0';
    o->reasoning.n = o->tool_text.n = 0;
    o->o = (vc_output){ .text = o->text.p, .stop_token = -1, .reasoning = "" };
    return o;
}

void api_output_send(struct vc_model *m, struct api_output *o) {
    o->o.text = o->text.p;
    o->o.text_len = o->text.n;
    if (o->reasoning.n) {
        o->o.reasoning = o->reasoning.p;
        o->o.reasoning_len = o->reasoning.n;
    }
    for (uint32_t i = 0; i < o->o.num_tools; i++) {             /* offsets become pointers: the buffer moves no more */
        vc_tool_delta *t = &o->tools[i];
        if (t->name) t->name = o->tool_text.p + (uintptr_t)t->name - 1;
        t->arguments = o->tool_text.p + (uintptr_t)t->arguments - 1;
    }
    o->o.tools = o->tools;
    pthread_mutex_lock(&m->lock);
    *m->out_tail = o;
    m->out_tail = &o->next;
    pthread_cond_broadcast(&m->ready);
    pthread_mutex_unlock(&m->lock);
}

void vc_output_free(vc_output *out) {
    if (!out) return;
    struct api_output *o = (struct api_output *)(void *)out;
    struct api_pool *p = o->pool;
    pthread_mutex_lock(&p->lock);
    o->next = p->free;
    p->free = o;
    pthread_mutex_unlock(&p->lock);
    api_pool_release(p);
}
