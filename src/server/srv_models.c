/* SPDX-License-Identifier: Apache-2.0
 * srv_models.c: the served models: found by name, opened one after the other with their shares of memory and
 * threads. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ckd.h"
#include "base/cpu.h"
#include "server/srv_gen.h"
#include "server/srv_metrics.h"

enum { KEEP_FREE_PERCENT = 15 }; /* of what is free before the caches are sized, as for one model */

const char *srv_model_name(const struct srv_model *m) { return m->p->num_names ? m->p->names[0] : m->p->params.path; }

static bool has_name(const struct srv_model *m, const char *name) {
    if (!strcmp(name, srv_model_name(m))) return true;
    for (size_t i = 1; i < m->p->num_names; i++)
        if (!strcmp(name, m->p->names[i])) return true;
    return false;
}

struct srv_model *srv_model_named(const struct srv *s, const char *name) {
    for (uint32_t i = 0; i < s->num_models; i++)
        if (has_name(&s->models[i], name)) return &s->models[i];
    return NULL;
}

uint32_t srv_models_live(const struct srv *s) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->num_models; i++) n += atomic_load(&s->models[i].live);
    return n;
}

bool srv_models_running(const struct srv *s) {
    for (uint32_t i = 0; i < s->num_models; i++)
        if (atomic_load(&s->models[i].failed)) return false;
    return true;
}

/* One line when it stops and one when it goes on, whoever asks. */
static bool makes_progress(struct srv_model *m) {
    double limit = m->srv->p.stall_timeout, engine = vc_stalled(m->engine), pump = srv_pump_age(m);
    bool stuck = limit > 0 && (engine > limit || pump > limit);
    if (atomic_exchange(&m->stuck, stuck) != stuck) {
        if (stuck)
            vc_log_line(VC_LOG_ERROR, "%s: %s has made no progress for %.0f seconds", srv_model_name(m),
                        engine > limit ? "the engine" : "the thread that writes its answers",
                        engine > limit ? engine : pump);
        else
            vc_log_line(VC_LOG_WARN, "%s: the engine makes progress again", srv_model_name(m));
    }
    return !stuck;
}

bool srv_models_healthy(const struct srv *s) {
    bool ok = srv_models_running(s);
    for (uint32_t i = 0; i < s->num_models; i++) ok &= makes_progress(&s->models[i]);
    return ok;
}

/* Two models may not share a name. */
static vc_status check_names(const struct srv *s, vc_err *err) {
    for (uint32_t i = 1; i < s->num_models; i++) {
        const struct srv_model *m = &s->models[i];
        for (size_t k = 0; k < VC_MAX(m->p->num_names, (size_t)1); k++) {
            const char *name = k ? m->p->names[k] : srv_model_name(m);
            if (srv_model_named(s, name) != m)
                return vc_fail(err, VC_E_INVALID, "two models have the name %s; requests could not tell them apart",
                               name);
        }
    }
    return VC_OK;
}

vc_status srv_models_new(struct srv *s, vc_err *err) {
    if (s->p.num_models < 1 || s->p.num_models > UINT32_MAX) return vc_fail(err, VC_E_INVALID, "no model is given");
    s->models = calloc(s->p.num_models, sizeof *s->models);
    if (!s->models) return vc_fail(err, VC_E_NOMEM, "out of memory");
    s->num_models = (uint32_t)s->p.num_models;
    for (uint32_t i = 0; i < s->num_models; i++) {
        struct srv_model *m = &s->models[i];
        m->srv = s;
        m->p = &s->p.models[i];
        m->index = i;
        m->metrics = srv_metrics_new();
        if (!m->metrics) return vc_fail(err, VC_E_NOMEM, "out of memory");
    }
    if (s->num_models == 1) return VC_OK;
    return check_names(s, err);
}

/* ---- memory ---- */

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n > k && !strcmp(name + n - k, end);
}

/* The parts of a split GGUF differ in five digits: model-00001-of-00003.gguf. Length of what they share, 0: no part. */
static size_t split_stem(const char *name) {
    static const char form[] = "-00000-of-00000.gguf";
    size_t n = strlen(name), k = sizeof form - 1;
    if (n <= k) return 0;
    for (size_t i = 0; i < k; i++) {
        char c = name[n - k + i];
        if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) return 0;
    }
    return n - k;
}

/* Files of a folder that hold weights; with a stem: the parts that begin with it. */
static uint64_t folder_bytes(const char *folder, const char *stem, size_t stem_n) {
    uint64_t sum = 0;
    DIR *d = opendir(folder);
    if (!d) return 0;
    for (const struct dirent *e; (e = readdir(d)) != NULL;) {
        char path[4096];
        struct stat st;
        bool mine = stem ? split_stem(e->d_name) == stem_n && !strncmp(e->d_name, stem, stem_n)
                         : ends_in(e->d_name, ".safetensors");
        if (!mine || snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= (int)sizeof path ||
            stat(path, &st) != 0)
            continue;
        if (vc_ckd_add(&sum, sum, (uint64_t)st.st_size)) sum = UINT64_MAX / 4;
    }
    closedir(d);
    return sum;
}

/* About what the weights of a model will take: the size of their files; 0: unknown. */
static uint64_t weight_bytes(const vc_model_params *p) {
    struct stat st;
    uint64_t bytes = 0;
    if (stat(p->path, &st) != 0) return 0;
    const char *slash = strrchr(p->path, '/'), *name = slash ? slash + 1 : p->path;
    size_t stem = split_stem(name);
    char folder[4096];
    if (S_ISDIR(st.st_mode)) {
        bytes = folder_bytes(p->path, NULL, 0);
    } else if (stem && (size_t)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - p->path) : 1,
                                        slash ? p->path : ".") < sizeof folder) {
        bytes = folder_bytes(folder[0] ? folder : "/", name, stem);
    } else {
        bytes = (uint64_t)st.st_size;
    }
    return p->dtype && !strcmp(p->dtype, "float32") && bytes < UINT64_MAX / 4 ? 2 * bytes : bytes;
}

/* Does the model say how large its cache is: in bytes, in pages, or as a share of the whole memory? */
static bool sizes_itself(const vc_model_params *p) {
    return p->kv_cache_memory_bytes || p->num_kv_blocks || p->memory_utilization > 0;
}

/* Most bytes that the cache of model i may take: an equal part of what is free after the weights of all models and the
 * caches of those before it, of which hardly a page is touched yet. A model that needs less leaves more to the next
 * ones. */
static vc_status cache_share(const struct srv *s, uint32_t i, uint64_t *share, vc_err *err) {
    uint64_t spare = vc_mem_available(), taken = 0;
    uint32_t parts = 0;
    for (uint32_t k = 0; k < s->num_models; k++) {
        const vc_model_params *p = &s->models[k].p->params;
        if (k < i)
            taken += s->models[k].info.kv_bytes;
        else if (vc_ckd_add(&taken, taken, weight_bytes(p)) || vc_ckd_add(&taken, taken, p->kv_cache_memory_bytes))
            taken = UINT64_MAX / 2;
        parts += k >= i && !sizes_itself(p);
    }
    const char *name = srv_model_name(&s->models[i]);
    uint64_t left = spare > taken ? (spare - taken) / 100 * (100 - KEEP_FREE_PERCENT) : 0;
    *share = left / parts;
    if (!*share)
        return vc_fail(
            err, VC_E_NOMEM,
            "nothing is left for its KV cache: %llu MiB are free, weights and caches of the %u models take %llu MiB",
            (unsigned long long)(spare >> 20), s->num_models, (unsigned long long)(taken >> 20));
    vc_log_line(
        VC_LOG_INFO,
        "model %s: up to %llu MiB for its KV cache, 1/%u of the memory that is left beside weights and other caches",
        name, (unsigned long long)(*share >> 20), parts);
    return VC_OK;
}

/* ---- opening and closing ---- */

/* A model without one takes and gives token ids alone. */
static bool has_tokenizer(const vc_model *m) {
    int32_t *ids = NULL;
    size_t n;
    vc_err err = VC_ERR_INIT;
    bool yes = vc_tokenize(m, "a", 1, 0, &ids, &n, &err) == VC_OK;
    vc_free(ids);
    return yes;
}

static vc_status open_one(struct srv *s, struct srv_model *m, vc_err *err) {
    vc_model_params p = m->p->params;
    vc_log_line(VC_LOG_INFO, "loading %s", p.path);
    if (s->num_models > 1) {
        if (!sizes_itself(&p))
            VC_TRY(cache_share(s, m->index, &p.kv_cache_memory_bytes, err));
        else
            vc_log_line(VC_LOG_INFO, "model %s: its KV cache is as large as asked for", srv_model_name(m));
    }
    VC_TRY(vc_model_open(&m->engine, &p, err));
    m->info.struct_size = sizeof m->info;
    vc_model_get_info(m->engine, &m->info);
    vc_sampling_params_init(&m->defaults);
    vc_sampling_from_model(m->engine, &m->defaults);
    m->defaults.detokenize = has_tokenizer(m->engine);
    m->max_live = s->p.max_queued ? s->p.max_queued : VC_MAX(4 * p.max_num_seqs, 1024u);
    VC_TRY(vc_start(m->engine, err));
    return srv_pump_start(m, err);
}

/* How the worker pool of the process will serve them (base/crew.h). */
static void log_sharing(const struct srv *s) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->num_models; i++) sum += s->models[i].info.threads;
    vc_log_line(VC_LOG_INFO,
                sum > vc_cpu_threads() ? "%u models share %u processors: their steps take turns"
                                       : "%u models run beside each other on %u processors",
                s->num_models, vc_cpu_threads());
}

vc_status srv_models_open(struct srv *s, vc_err *err) {
    for (uint32_t i = 0; i < s->num_models; i++) {
        struct srv_model *m = &s->models[i];
        vc_status st = open_one(s, m, err);
        if (st != VC_OK && s->num_models > 1) return vc_fail_prefix(err, "model %s", srv_model_name(m));
        VC_TRY(st);
    }
    if (s->num_models > 1) log_sharing(s);
    return VC_OK;
}

void srv_models_stop(struct srv *s) {
    for (uint32_t i = 0; i < s->num_models; i++) {
        srv_pump_stop(&s->models[i]);
        if (s->models[i].engine) (void)vc_stop(s->models[i].engine);
    }
}

void srv_models_del(struct srv *s) {
    for (uint32_t i = 0; i < s->num_models; i++) {
        struct srv_model *m = &s->models[i];
        srv_pump_del(m);
        vc_model_close(&m->engine);
        srv_metrics_del(m->metrics);
    }
    free(s->models);
    s->models = NULL;
    s->num_models = 0;
}
