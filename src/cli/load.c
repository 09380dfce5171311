/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/load.h"

#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "base/clock.h"
#include "cli/term.h"

void cli_show_loading(double fraction, const char *what, void *arg) {
    const double *begun = arg;
    if (vc_now() - *begun > 0.3) cli_bar(fraction, what ? what : "loading", NULL);
}

int cli_check_format(const struct cli_opts *o, const char *path) {
    bool gguf = vc_str_ends(vc_str_of(path), ".gguf");
    const char *format = o->load_format ? o->load_format : "auto";
    if (!strcmp(format, "gguf") && !gguf) return cli_usage(o, "--load-format gguf: %s is no GGUF file", path);
    if (!strcmp(format, "safetensors") && gguf)
        return cli_usage(o, "--load-format safetensors: %s is a GGUF file", path);
    if (o->quantization && !strcmp(o->quantization, "None")) return CLI_OK;
    if (o->quantization && strcmp(o->quantization, "gguf") != 0)
        return cli_usage(o, "--quantization %s: the formats of weights are read from the files; leave it out",
                         o->quantization);
    if (o->quantization && !gguf) return cli_usage(o, "--quantization %s: %s is no GGUF file", o->quantization, path);
    return CLI_OK;
}

int cli_load(struct cli_opts *o, uint32_t default_seqs, vc_model **m, double *seconds) {
    vc_model_params p = o->model;
    p.path = o->arg[0];
    int rc = cli_check_format(o, o->arg[0]);
    if (rc != CLI_OK) return rc;
    if (default_seqs && !o->given[CLI_OPT_MAX_NUM_SEQS]) p.max_num_seqs = default_seqs;
    p.priority = o->scheduling && !strcmp(o->scheduling, "priority");
    double begun = vc_now();
    p.progress = o->progress_bar ? cli_show_loading : NULL;
    p.progress_arg = &begun;
    vc_err err = VC_ERR_INIT;
    vc_status s = vc_model_open(m, &p, &err);
    cli_bar_clear();
    if (seconds) *seconds = vc_now() - begun;
    if (s != VC_OK) return cli_fail_err(&err);
    vc_model_info info = { .struct_size = sizeof info };
    if (o->command == CLI_INFO || o->command == CLI_EMBED || vc_model_get_info(*m, &info) != VC_OK || !info.pooling)
        return CLI_OK;
    return cli_fail("%s makes embeddings, no text: vllmc embed, or vllmc serve and /v1/embeddings", p.path);
}

/* Copies the scalars of vc_sampling_params that the command line gave. */
static void copy_given(const struct cli_opts *o, vc_sampling_params *p) {
    for (size_t i = 0; i < CLI_NUM_OPTS; i++) {
        const struct cli_opt *t = &cli_opts_table[i];
        size_t base = offsetof(struct cli_opts, sampling);
        if (!o->given[i] || t->at < base || t->at >= base + sizeof o->sampling) continue;
        size_t bytes = t->kind == CLI_FLAG || t->kind == CLI_BOOL ? sizeof(int) : 4;     /* u32, i32, f32 */
        memcpy((char *)p + (t->at - base), (const char *)o + t->at, bytes);
    }
}

static vc_status word_ids(const vc_model *m, struct vc_arena *a, const char *before, const char *word, vc_token_list *l,
                          vc_err *err) {
    struct vc_buf text = { 0 };
    int32_t *ids = NULL, *kept = NULL;
    size_t n = 0;
    vc_buf_printf(&text, "%s%s", before, word);
    vc_status s = text.failed ? vc_fail(err, VC_E_NOMEM, "out of memory")
                              : vc_tokenize(m, text.p, text.n, VC_TOK_PARSE_SPECIAL, &ids, &n, err);
    if (s == VC_OK && n == 0) s = vc_fail(err, VC_E_INVALID, "bad_words: '%s' has no tokens", word);
    if (s == VC_OK && !(kept = VC_NEW_ARRAY(a, int32_t, n))) s = vc_fail(err, VC_E_NOMEM, "out of memory");
    if (s == VC_OK) {
        memcpy(kept, ids, n * sizeof *kept);
        *l = (vc_token_list){ kept, n };
    }
    vc_free(ids);
    vc_buf_free(&text);
    return s;
}

/* bad_words as vLLM tokenizes them: each word alone, and after a blank where that begins with another id. The result
 * lives in the arena. */
static vc_status bad_words(const vc_model *m, struct vc_arena *a, const char *const *words, size_t n,
                           vc_sampling_params *p, vc_err *err) {
    vc_token_list *list = VC_NEW_ARRAY(a, vc_token_list, 2 * n);
    size_t k = 0;
    if (!list) return vc_fail(err, VC_E_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const char *word = words[i] + strspn(words[i], " ");
        vc_token_list alone, after;
        VC_TRY(word_ids(m, a, "", word, &alone, err));
        VC_TRY(word_ids(m, a, " ", word, &after, err));
        list[k++] = alone;
        if (after.ids[0] != alone.ids[0] && after.n == alone.n) list[k++] = after;
    }
    p->bad_words = list;
    p->num_bad_words = k;
    return VC_OK;
}

vc_status cli_sampling(struct cli_opts *o, const vc_model *m, vc_sampling_params *p, vc_err *err) {
    vc_sampling_params_init(p);
    vc_sampling_from_model(m, p);
    copy_given(o, p);
    if (o->given[CLI_OPT_SEED]) {
        p->seed = o->model.seed;
        p->has_seed = 1;
    }
    p->stop = o->stop.v;
    p->num_stop = o->stop.n;
    p->stop_token_ids = o->stop_token_ids.v;
    p->num_stop_token_ids = o->stop_token_ids.n;
    p->allowed_token_ids = o->allowed_token_ids.v;
    p->num_allowed_token_ids = o->allowed_token_ids.n;
    p->logit_bias = o->logit_bias.v;
    p->num_logit_bias = o->logit_bias.n;
    if (!cli_has_tokenizer(m)) p->detokenize = 0;
    return o->bad_words.n ? bad_words(m, &o->arena, o->bad_words.v, o->bad_words.n, p, err) : VC_OK;
}

bool cli_has_tokenizer(const vc_model *m) { return m->tokenizer != NULL; }

void cli_piece(const vc_model *m, int32_t id, struct vc_buf *out) {
    vc_err ignored = VC_ERR_INIT;
    if (m->tokenizer) (void)vc_tok_piece(m->tokenizer, id, out, &ignored);
}
