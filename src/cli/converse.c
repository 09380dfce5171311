/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/converse.h"

#include "base/clock.h"
#include "base/status.h"
#include "cli/term.h"

double cli_prompt_rate(const struct cli_timings *t) {
    return t->ttft_s > 0 ? (t->prompt_tokens - t->cached_tokens) / t->ttft_s : 0;
}
double cli_decode_rate(const struct cli_timings *t) {
    return t->decode_s > 0 && t->generated > 1 ? (t->generated - 1) / t->decode_s : 0;
}

/* Takes one output into its answer; false: cancel. */
static bool take(const vc_output *o, struct cli_answer *answers, cli_stream_fn *stream, void *arg,
                 struct cli_timings *t, double begun, double *first) {
    double now = vc_now();
    if (o->num_token_ids && !t->generated) {
        t->ttft_s = now - begun;
        *first = now;
    }
    t->generated += o->num_token_ids;
    t->prompt_tokens = o->num_prompt_tokens;
    if (o->index == 0) t->cached_tokens = o->num_cached_tokens;
    if (t->generated > 1) t->decode_s = now - *first;
    cli_answer_add(&answers[o->index], o);
    return !stream || stream(arg, o);
}

vc_status cli_converse(vc_model *m, const vc_request_params *rp, struct cli_answer *answers, cli_stream_fn *stream,
                       void *arg, struct cli_timings *t, vc_err *err) {
    double begun = vc_now(), first = begun;
    uint64_t id;
    bool done = false, cancelled = false, broken = false;
    VC_TRY(vc_submit(m, rp, &id, err));
    while (!done) {
        vc_output *o = NULL;
        vc_status s = vc_next(m, 50, &o, err);
        if (s == VC_OK) {
            if (!take(o, answers, stream, arg, t, begun, &first)) broken = true;
            done = o->request_finished != 0;
            vc_output_free(o);
        } else if (s != VC_E_TIMEOUT) {
            return s == VC_E_DONE ? vc_fail(err, VC_E_STATE, "the engine lost a request") : s;
        }
        if (!cancelled && (broken || cli_interrupted())) {
            vc_cancel(m, id);
            cancelled = true;
        }
    }
    t->total_s = vc_now() - begun;
    if (cancelled) return vc_fail(err, VC_E_CANCELLED, "interrupted");
    for (uint32_t i = 0; i < rp->sampling.n; i++) {
        if (answers[i].failed) return vc_fail(err, VC_E_NOMEM, "out of memory for the answer");
        if (answers[i].error.status == VC_OK) continue;
        *err = answers[i].error;
        return err->status;
    }
    return VC_OK;
}

void cli_add_message(struct vc_buf *b, const char *role, const char *text, size_t n) {
    vc_buf_printf(b, "{\"role\":\"%s\",\"content\":", role);
    vc_json_add_str(b, text, n);
    vc_buf_addc(b, '}');
}

vc_status cli_chat_ids(const vc_model *m, const char *messages, int32_t **ids, size_t *n, vc_err *err) {
    char *text = NULL;
    size_t len = 0;
    vc_chat_params cp;
    vc_chat_params_init(&cp);
    cp.messages_json = messages;
    VC_TRY(vc_chat_render(m, &cp, &text, &len, err));
    vc_status s = vc_tokenize(m, text, len, VC_TOK_PARSE_SPECIAL, ids, n, err);    /* the template writes BOS itself */
    vc_free(text);
    return s;
}
