/* SPDX-License-Identifier: Apache-2.0
 * srv_completions.c: POST /v1/completions: prompts as text or ids, one or many. */
#include <string.h>

#include "server/srv_gen.h"

/* OpenAI's default of 16, where the field is absent; null is the rest of the context. */
static void default_max_tokens(struct srv_gen *g) {
    struct srv_value *v = &g->f.v[SRV_F_MAX_TOKENS];
    if (!json_object_get(g->root, "max_tokens")) {
        v->given = true;
        v->i = 16;
        if (v->i > g->call->model->info.max_model_len) v->i = g->call->model->info.max_model_len;
    }
    g->echo_only = g->echo && v->given && v->i == 0;
}

void srv_post_completions(struct srv_call *c) {
    json_t *root;
    if (!srv_body(c, &root)) return;
    struct srv_gen *g = srv_gen_new(c, &srv_text_writer);
    if (!g) {
        json_decref(root);
        return;
    }
    g->root = root;
    if (!srv_fields_read(c, SRV_BODY_TEXT, root, &g->f) || !srv_gen_common(g, SRV_BODY_TEXT)) return;
    if (g->f.v[SRV_F_SUFFIX].given && g->f.v[SRV_F_SUFFIX].s[0]) {
        (void)srv_refuse(c, "suffix", "suffix is only supported for models with FIM completion rendering");
        return;
    }
    default_max_tokens(g);
    const struct srv_value *prompt = &g->f.v[SRV_F_PROMPT];
    if (srv_gen_prompts(g, prompt->given ? prompt->json : NULL) && srv_gen_sampling(g, SRV_BODY_TEXT) &&
        srv_gen_max_tokens(g) && srv_gen_constraint(g))
        srv_gen_submit(g);
}
