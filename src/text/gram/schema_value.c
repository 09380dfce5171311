/* SPDX-License-Identifier: Apache-2.0
 * schema_value.c: values of enum and const as texts: members in their order, white space as elsewhere. */
#include "io/json_out.h"
#include "text/gram/schema_build.h"
#include "text/gram/schema_fact.h"

size_t vc_schema_num_values(const struct vc_schema_cx *cx, const struct vc_clause *c) {
    const struct vc_schema_node *n = &cx->doc->node[c->values];
    return vc_schema_has(n, VC_KW_CONST) ? 1 : json_array_size(n->value);
}

const json_t *vc_schema_value_at(const struct vc_schema_cx *cx, const struct vc_clause *c, size_t i) {
    const struct vc_schema_node *n = &cx->doc->node[c->values];
    return vc_schema_has(n, VC_KW_CONST) ? n->value : json_array_get(n->value, i);
}

static vc_gram_node scalar(struct vc_schema_cx *cx, const json_t *v) {
    struct vc_buf b = { 0 };
    switch (json_typeof(v)) {
    case JSON_NULL: vc_buf_adds(&b, "null"); break;
    case JSON_TRUE: vc_buf_adds(&b, "true"); break;
    case JSON_FALSE: vc_buf_adds(&b, "false"); break;
    case JSON_STRING: vc_json_add_str(&b, json_string_value(v), json_string_length(v)); break;
    case JSON_INTEGER: vc_buf_printf(&b, "%lld", (long long)json_integer_value(v)); break;
    default: vc_json_add_f64(&b, json_real_value(v)); break;
    }
    vc_gram_node node = b.failed ? 0 : vc_gram_text(cx->g, b.p, b.n);
    vc_buf_free(&b);
    return node;
}

/* An array or object that is being written: the next element, and the node so far. */
struct level { const json_t *v; size_t i; void *iter; vc_gram_node node; };

/* Without recursion: a value's text is finished when its level is. */
vc_gram_node vc_schema_json_value(struct vc_schema_cx *cx, const json_t *root) {
    enum { DEPTH = 600 };    /* above what the reader lets through */
    struct level *stack = VC_NEW_ARRAY(&cx->arena, struct level, DEPTH);
    struct vc_gram *g = cx->g;
    size_t depth = 0;
    vc_gram_node done = 0;
    const json_t *v = root;
    while (stack) {
        if (v && (json_is_array(v) || json_is_object(v)) && depth < DEPTH) {
            vc_gram_node open = vc_gram_seq2(g, vc_gram_text(g, json_is_array(v) ? "[" : "{", 1), cx->ws);
            stack[depth++] =
                (struct level){ v, 0, json_is_object(v) ? json_object_iter((json_t *)(uintptr_t)v) : NULL, open };
        } else if (v) {
            done = json_is_array(v) || json_is_object(v) ? 0 : scalar(cx, v);
            if (!depth) return done;
            stack[depth - 1].node = vc_gram_seq2(g, stack[depth - 1].node, done);
        }
        struct level *top = &stack[depth - 1];
        bool array = json_is_array(top->v);
        bool more = array ? top->i < json_array_size(top->v) : top->iter != NULL;
        if (more && top->i) top->node = vc_gram_seq2(g, top->node, cx->comma);
        if (more && array) {
            v = json_array_get(top->v, top->i);
        } else if (more) {
            struct vc_buf key = { 0 };
            vc_json_add_str(&key, json_object_iter_key(top->iter), json_object_iter_key_len(top->iter));
            vc_gram_node name = key.failed ? 0 : vc_gram_text(g, key.p, key.n);
            vc_buf_free(&key);
            top->node = vc_gram_seq(g, (vc_gram_node[]){ top->node, name, cx->colon }, 3);
            v = json_object_iter_value(top->iter);
            top->iter = json_object_iter_next((json_t *)(uintptr_t)top->v, top->iter);
        } else {
            vc_gram_node close = vc_gram_text(g, array ? "]" : "}", 1);
            done = vc_gram_seq(g, (vc_gram_node[]){ top->node, top->i ? cx->ws : vc_gram_text(g, "", 0), close }, 3);
            depth--;
            if (!depth) return done;
            stack[depth - 1].node = vc_gram_seq2(g, stack[depth - 1].node, done);
            v = NULL;
            continue;
        }
        top->i++;
    }
    return 0;
}

static bool known(const json_t *const *v, size_t n, const json_t *one) {
    for (size_t i = 0; i < n; i++)
        if (json_equal((json_t *)(uintptr_t)v[i], (json_t *)(uintptr_t)one)) return true;
    return false;
}

/* Values of kinds that have one: null, true, false. */
static size_t singles(unsigned types, const json_t **out) {
    size_t n = 0;
    if (types & VC_ST_NULL) out[n++] = json_null();
    if (types & VC_ST_TRUE) out[n++] = json_true();
    if (types & VC_ST_FALSE) out[n++] = json_false();
    return n;
}

vc_status vc_schema_values(struct vc_schema_cx *cx, struct vc_goal *goal, const json_t **v, size_t cap, size_t *n) {
    *n = 0;
    VC_TRY(vc_schema_expand(cx, goal));
    for (const struct vc_clause *c = goal->clauses; c; c = c->next) {
        const json_t *few[3];
        size_t num = c->values ? vc_schema_num_values(cx, c) : singles(c->types, few);
        bool open = !c->values && (c->types & ~(unsigned)(VC_ST_NULL | VC_ST_BOOL));
        for (size_t i = 0; i < num && !open; i++) {
            const json_t *one = c->values ? vc_schema_value_at(cx, c, i) : few[i];
            bool valid;
            VC_TRY(vc_schema_valid(cx, goal, one, &valid));
            if (!valid || known(v, *n, one)) continue;
            open =
                *n >= cap || json_is_real(one) || json_is_array(one) || json_is_object(one); /* 1 and 1.0 are equal */
            if (!open) v[(*n)++] = one;
        }
        if (open) {
            *n = SIZE_MAX;
            return VC_OK;
        }
    }
    return VC_OK;
}
