/* SPDX-License-Identifier: Apache-2.0
 * cmd_batch.c: vllmc batch: many requests through the engine at once, each result written when its request ends. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/status.h"
#include "cli/batch.h"
#include "cli/load.h"
#include "cli/term.h"

struct batch {
    struct cli_opts *o;
    vc_model *m;
    struct cli_batch_input in;
    struct cli_store store;
    size_t next, total, finished, failed, skipped;     /* lines */
    size_t in_flight, window;                           /* requests in the engine */
    uint64_t tokens;
    double begun;
    struct cli_batch_job *live;
    bool stopping;
};

static void show(const struct batch *b) {
    char note[80];
    double s = vc_now() - b->begun;
    snprintf(note, sizeof note, "%zu/%zu  %.1f tokens/s", b->finished + b->skipped, b->total, s > 0 ? (double)b->tokens / s : 0);
    cli_bar(b->total ? (double)(b->finished + b->skipped) / (double)b->total : 1, "batch", note);
}

static void forget(struct batch *b, struct cli_batch_job *job) {
    if (job->prev) job->prev->next = job->next;
    else if (b->live == job) b->live = job->next;
    if (job->next) job->next->prev = job->prev;
    cli_batch_job_free(job);
    free(job);
}

/* Writes the result of a job whose last part has ended, and forgets it. */
static vc_status finish(struct batch *b, struct cli_batch_job *job, vc_err *err) {
    struct vc_buf line = { 0 };
    vc_status s = VC_OK;
    if (!b->stopping) {                                 /* what was cancelled is done again next time */
        cli_batch_result(job, b->m, &line);
        s = cli_store_add(&b->store, &line, err);
        b->finished++;
        b->failed += job->error.status != VC_OK;
    }
    vc_buf_free(&line);
    forget(b, job);
    return s;
}

static void submit_parts(struct batch *b, struct cli_batch_job *job) {
    size_t n = job->num_parts;
    for (size_t i = 0; i < n; i++) {
        vc_request_params rp;
        vc_request_params_init(&rp);
        rp.sampling = job->sampling;
        rp.prompt_ids = job->part[i].ids;
        rp.num_prompt_ids = job->part[i].n;
        rp.priority = job->priority;
        rp.cache_salt = job->cache_salt;
        rp.user = &job->part[i];
        vc_err err = VC_ERR_INIT;
        if (job->error.status == VC_OK && vc_submit(b->m, &rp, &job->part[i].id, &err) == VC_OK) {
            b->in_flight++;
            continue;
        }
        if (job->error.status == VC_OK) job->error = err;
        job->part[i].finished = true;
        job->open_parts--;
    }
}

static void cancel_parts(struct batch *b, struct cli_batch_job *job) {
    for (size_t i = 0; i < job->num_parts; i++)
        if (!job->part[i].finished) vc_cancel(b->m, job->part[i].id);
}

static vc_status submit_line(struct batch *b, const struct cli_batch_line *line, vc_err *err) {
    struct cli_batch_job *job = calloc(1, sizeof *job);
    if (!job) return vc_fail(err, VC_E_NOMEM, "out of memory");
    vc_status s = cli_batch_parse(job, b->m, line, err);
    job->next = b->live;
    if (b->live) b->live->prev = job;
    b->live = job;
    if (s != VC_OK) return s;
    submit_parts(b, job);
    if (job->error.status != VC_OK) cancel_parts(b, job);
    return job->open_parts ? VC_OK : finish(b, job, err);
}

static vc_status take(struct batch *b, const vc_output *o, vc_err *err) {
    struct cli_batch_part *part = o->user;
    struct cli_batch_job *job = part->job;
    cli_answer_add(&part->answers[o->index], o);
    b->tokens += o->num_token_ids;
    if (o->error.status != VC_OK && job->error.status == VC_OK) job->error = o->error;
    if (part->answers[o->index].failed && job->error.status == VC_OK) vc_fail(&job->error, VC_E_NOMEM, "out of memory for the answer");
    if (!o->request_finished) return VC_OK;
    part->finished = true;
    b->in_flight--;
    return --job->open_parts ? VC_OK : finish(b, job, err);
}

static vc_status work(struct batch *b, vc_err *err) {
    while (b->next < b->in.n || b->in_flight) {
        while (b->next < b->in.n && b->in_flight < b->window && !cli_interrupted()) {
            const struct cli_batch_line *line = &b->in.v[b->next++];
            if (!cli_store_has(&b->store, line)) VC_TRY(submit_line(b, line, err));
        }
        if (cli_interrupted()) {
            b->stopping = true;
            return vc_fail(err, VC_E_CANCELLED, "interrupted");
        }
        if (!b->in_flight) continue;
        vc_output *o = NULL;
        vc_status s = vc_next(b->m, 100, &o, err);
        if (s == VC_OK) {
            s = take(b, o, err);
            vc_output_free(o);
        } else if (s == VC_E_TIMEOUT) {
            s = VC_OK;
        } else if (s == VC_E_DONE) {
            s = vc_fail(err, VC_E_STATE, "the engine lost a request");
        }
        VC_TRY(s);
        show(b);
    }
    return VC_OK;
}

/* Ends what runs, so that its memory is given back. */
static void drain(struct batch *b) {
    vc_output *o;
    vc_err err = VC_ERR_INIT;
    b->stopping = true;
    for (struct cli_batch_job *job = b->live; job; job = job->next) cancel_parts(b, job);
    while (b->in_flight && vc_next(b->m, 5000, &o, &err) == VC_OK) {
        (void)take(b, o, &err);
        vc_output_free(o);
    }
    vc_stop(b->m);
    while (b->live) forget(b, b->live);
}

static int report(struct batch *b, vc_status s, const vc_err *err) {
    cli_bar_clear();
    if (s == VC_OK) {
        double seconds = vc_now() - b->begun;
        fprintf(stderr, "%zu requests done, %zu of them with errors, %zu were there already; %llu tokens in %.1f s\n", b->finished,
                b->failed, b->skipped, (unsigned long long)b->tokens, seconds);
        return CLI_OK;
    }
    fprintf(stderr, "%zu of %zu requests done; the same command goes on from here\n", b->finished + b->skipped, b->total);
    return s == VC_E_CANCELLED ? CLI_INTERRUPTED : cli_fail_err(err);
}

static int run_batch(struct batch *b) {
    vc_err err = VC_ERR_INIT;
    b->total = b->in.n;
    for (size_t i = 0; i < b->in.n; i++) b->skipped += cli_store_has(&b->store, &b->in.v[i]);
    b->begun = vc_now();
    if (b->skipped == b->total) return report(b, VC_OK, &err);
    int rc = cli_load(b->o, 0, &b->m, NULL);
    if (rc != CLI_OK) return rc;
    b->window = VC_MAX(64u, 2 * (size_t)b->o->model.max_num_seqs);
    b->begun = vc_now();
    cli_catch_interrupt();
    vc_status s = vc_start(b->m, &err);
    if (s == VC_OK) s = work(b, &err);
    drain(b);
    cli_default_interrupt();
    return report(b, s, &err);
}

int cli_batch(struct cli_opts *o) {
    if (o->num_args != 1) return cli_usage(o, o->num_args ? "batch takes one model" : "batch needs a model: a GGUF file or a folder");
    if (!o->input) return cli_usage(o, "batch needs -i FILE, the requests");
    if (!o->output) return cli_usage(o, "batch needs -o FILE, for the results");
    struct batch b = { .o = o, .store.fd = -1 };
    vc_err err = VC_ERR_INIT;
    int rc;
    if (cli_batch_read(&b.in, o->input, &err) != VC_OK || cli_store_open(&b.store, o->output, &err) != VC_OK) {
        cli_fail_err(&err);
        rc = CLI_FAILED;
    } else {
        rc = run_batch(&b);
    }
    vc_model_close(&b.m);
    cli_store_close(&b.store);
    cli_batch_input_free(&b.in);
    return rc;
}
