/* SPDX-License-Identifier: Apache-2.0
 * srv_metrics.c: GET /metrics: the table of metrics, and those of HTTP and the process, in Prometheus' text format. */
#include "server/srv_metrics.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/cpu.h"

enum kind { COUNTER, GAUGE, HIST };
enum set { NONE, LENGTHS, FEW, TTFT, ITL, TIMES, PREEMPTED, ENGINE };
enum id {
#define SRV_METRIC(id, kind, name, label, values, buckets, help) M_##id,
#include "server/metrics.def"
#undef SRV_METRIC
    NUM_METRICS
};
static const struct row {
    enum kind kind;
    const char *name, *label, *values;
    enum set set;
    const char *help;
} rows[NUM_METRICS] = {
#define SRV_METRIC(id, kind, name, label, values, buckets, help) { kind, name, label, values, buckets, help },
#include "server/metrics.def"
#undef SRV_METRIC
};

enum { MAX_BUCKETS = 32, MAX_VALUES = 5 };
struct bounds { const double *v; size_t n; };
static const double sets[][MAX_BUCKETS] = {      /* 0 ends a list */
    [NONE] = { 0 },
    [LENGTHS] = { 0 },                           /* 1, 2, 5, 10 … up to the context */
    [ENGINE] = { 0 },                            /* the engine's own */
    [FEW] = { 1, 2, 5, 10, 20 },
    [TTFT] = { 0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
               1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560 },
    [ITL] = { 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80 },
    [TIMES] = { 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680 },
    [PREEMPTED] = { 1, 2, 3, 4, 5, 10, 20 },
};
static const double http_few[MAX_BUCKETS] = { 0.1, 0.5, 1 };
static const double http_many[MAX_BUCKETS] = { 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 1.5, 2,
                                               2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60 };

struct hist { uint64_t bucket[MAX_BUCKETS + 1], n; double sum; };
/* HTTP figures of one handler; the last one stands for paths that no route has. */
enum { METHODS = 2, CLASSES = 4, HANDLERS = SRV_NUM_ROUTES + 1 };
struct http { uint64_t requests[METHODS][CLASSES]; double in, out; struct hist time[METHODS]; uint64_t n; };
static const char *const tool_modes[] = { "streaming", "non_streaming" };
static const char *const tool_outcomes[] = { "tool_call", "no_tool_call" };
static const char *const tool_types[] = { "chat_completions", "responses", "other" };
enum {
    TOOL_MODES = VC_ARRAY_LEN(tool_modes),
    TOOL_OUTCOMES = VC_ARRAY_LEN(tool_outcomes),
    TOOL_TYPES = VC_ARRAY_LEN(tool_types)
};
struct srv_metrics {
    pthread_mutex_t lock;
    double value[NUM_METRICS][MAX_VALUES];
    struct hist hist[NUM_METRICS];
    double lengths[MAX_BUCKETS];
    struct bounds engine[NUM_METRICS];           /* of histograms that the engine counts; set with their values */
    double created;
    double tools[TOOL_MODES][TOOL_OUTCOMES][TOOL_TYPES];        /* vllm:tool_call_parser_invocations_total */
};
struct srv_http_metrics {
    pthread_mutex_t lock;
    struct hist time;
    struct http handler[HANDLERS];
    double created;
};

static double unix_time(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct srv_metrics *srv_metrics_new(void) {
    struct srv_metrics *m = calloc(1, sizeof *m);
    if (!m) return NULL;
    pthread_mutex_init(&m->lock, NULL);
    m->created = unix_time();
    m->value[M_SLEEP][0] = 1;
    return m;
}

void srv_metrics_del(struct srv_metrics *m) {
    if (!m) return;
    pthread_mutex_destroy(&m->lock);
    free(m);
}

struct srv_http_metrics *srv_http_metrics_new(void) {
    struct srv_http_metrics *h = calloc(1, sizeof *h);
    if (!h) return NULL;
    pthread_mutex_init(&h->lock, NULL);
    h->created = unix_time();
    return h;
}

void srv_http_metrics_del(struct srv_http_metrics *h) {
    if (!h) return;
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static struct bounds until_zero(const double *v) {
    struct bounds b = { v, 0 };
    while (b.n < MAX_BUCKETS && v[b.n] > 0) b.n++;
    return b;
}

static struct bounds bounds_of(const struct srv_metrics *m, enum id id) {
    enum set s = rows[id].set;
    return s == ENGINE ? m->engine[id] : until_zero(s == LENGTHS ? m->lengths : sets[s]);
}

/* 1, 2, 5 and their multiples by 10 up to the longest context, as vLLM's build_1_2_5_buckets. */
static void fill_lengths(struct srv_metrics *m, uint32_t max_len) {
    static const double steps[] = { 1, 2, 5 };
    if (m->lengths[0] > 0) return;
    double scale = 1;
    for (size_t n = 0; n < MAX_BUCKETS - 1; n++) {
        double v = steps[n % 3] * scale;
        if (n % 3 == 2) scale *= 10;
        if (v > max_len) break;
        m->lengths[n] = v;
    }
}

static void observe_in(struct hist *h, struct bounds b, double v) {
    size_t i = 0;
    while (i < b.n && v > b.v[i]) i++;
    h->bucket[i]++;
    h->n++;
    h->sum += v;
}

static void observe(struct srv_metrics *m, enum id id, double v) { observe_in(&m->hist[id], bounds_of(m, id), v); }

void srv_metrics_rejected(struct srv_metrics *m) {
    pthread_mutex_lock(&m->lock);
    m->value[M_REJECTED][0]++;
    pthread_mutex_unlock(&m->lock);
}

/* Those that ask how the server is are not among its figures. */
static bool is_counted(size_t route) {
    static const enum srv_route_id questions[] = {
        SRV_AT_METRICS, SRV_AT_HEALTH, SRV_AT_PING, SRV_AT_LOAD, SRV_AT_VERSION, SRV_AT_READY
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(questions); i++)
        if (route == questions[i]) return false;
    return true;
}

void srv_metrics_http(struct srv_http_metrics *m, const struct srv_call *c) {
    size_t i = c->route ? (size_t)(c->route - srv_routes) : SRV_NUM_ROUTES;
    int method = !strcmp(c->method, "POST"), class = c->left.status / 100 - 2;
    if (class < 0 || class >= CLASSES) class = CLASSES - 1;
    if (!is_counted(i)) return;
    double t = vc_now() - c->begun;
    pthread_mutex_lock(&m->lock);
    struct http *h = &m->handler[i];
    h->requests[method][class]++;
    h->n++;
    h->in += (double)c->body_seen;
    h->out += c->left.stream ? 0 : (double)c->left.out;
    observe_in(&h->time[method], until_zero(http_few), t);
    observe_in(&m->time, until_zero(http_many), t);
    pthread_mutex_unlock(&m->lock);
}

static int reason_at(const char *reason) {
    static const char *const names[] = { "stop", "length", "abort", "error", "repetition" };
    for (int i = 0; i < (int)VC_ARRAY_LEN(names); i++)
        if (reason && !strcmp(reason, names[i])) return i;
    return 3;
}

static void first_token(struct srv_metrics *m, const struct srv_gen *g, struct srv_part *p, const vc_output *o,
                        double now) {
    double prompt = o->num_prompt_tokens, cached = o->num_cached_tokens;
    p->first_token = now;
    observe(m, M_H_TTFT, now - p->submitted_at);
    observe(m, M_H_PROMPT, prompt);
    observe(m, M_H_KV_COMPUTED, prompt - cached);
    observe(m, M_H_N, g->rp.sampling.n);
    observe(m, M_H_MAX_TOKENS, g->rp.sampling.max_tokens);
    m->value[M_PROMPT][0] += prompt;
    m->value[M_PROMPT_BY][0] += prompt - cached;
    m->value[M_PROMPT_BY][1] += cached;
    m->value[M_CACHED][0] += cached;
    m->value[M_CACHED_BY][0] += cached;
}

/* Phases of a choice that has ended, by the engine's clock, as vLLM's FinishedRequestStats: one that was never placed
 * has none. */
static void request_times(struct srv_metrics *m, const vc_output *o) {
    observe(m, M_H_PREEMPTED, o->num_preemptions);
    if (o->scheduled_at <= 0) return;
    observe(m, M_H_QUEUE, o->scheduled_at - o->queued_at);
    if (o->first_token_at <= 0) return;
    observe(m, M_H_PREFILL, o->first_token_at - o->scheduled_at);
    observe(m, M_H_DECODE, o->last_token_at - o->first_token_at);
    observe(m, M_H_INFERENCE, o->last_token_at - o->scheduled_at);
}

/* A stream's outputs one by one, another answer when it is whole. */
static void tool_parser(struct srv_metrics *m, const struct srv_gen *g, const struct srv_answer *a,
                        const vc_output *o) {
    if (!g->rp.tool_parser || (!g->stream && !o->finished)) return;
    int type = g->writer == &srv_chat_writer ? 0 : g->writer == &srv_responses_writer ? 1 : 2;
    m->tools[!g->stream][!(o->num_tools || (!g->stream && a->num_tools))][type]++;
}

void srv_metrics_output(struct srv_metrics *m, const struct srv_gen *g, struct srv_part *p, struct srv_answer *a,
                        const vc_output *o) {
    double now = vc_now();
    pthread_mutex_lock(&m->lock);
    fill_lengths(m, g->call->model->info.max_model_len);
    m->value[M_GENERATED][0] += o->num_token_ids;
    tool_parser(m, g, a, o);
    if (o->num_token_ids || o->embedding) {
        if (p->first_token <= 0) first_token(m, g, p, o, now);
        else if (a->last_token > 0) observe(m, M_H_ITL, now - a->last_token);
        a->last_token = now;
    }
    if (o->finished) {
        uint32_t tokens = a->num_tokens + o->num_token_ids;
        m->value[M_SUCCESS][reason_at(o->finish_reason)]++;
        observe(m, M_H_GENERATED, tokens);
        observe(m, M_H_E2E, now - p->submitted_at);
        request_times(m, o);
        if (p->first_token > 0 && tokens > 1) observe(m, M_H_TPOT, (now - p->first_token) / (tokens - 1));
    }
    if (o->request_finished) observe(m, M_H_MOST, a->num_tokens + o->num_token_ids);
    pthread_mutex_unlock(&m->lock);
}

/* ---- writing ---- */

struct page { struct vc_buf *b; uint32_t engine; struct vc_buf model; };      /* model: quoted name */

static void number(struct vc_buf *b, double v) {
    if (v == floor(v) && fabs(v) < 1e15) vc_buf_printf(b, "%.1f\n", v);
    else vc_buf_printf(b, "%.17g\n", v);
}

static void head(struct vc_buf *b, const char *name, size_t n, const char *suffix, const char *help, const char *type) {
    vc_buf_printf(b, "# HELP %.*s%s %s\n# TYPE %.*s%s %s\n", (int)n, name, suffix, help, (int)n, name, suffix, type);
}

/* Labels in alphabetical order, as Prometheus' client writes them. `le` comes between engine and model_name. */
static void labels(const struct page *g, const struct row *r, const char *value, size_t value_n, const char *le) {
    bool before = r->label && strcmp(r->label, "model_name") < 0, engine = r != &rows[M_REJECTED];
    vc_buf_addc(g->b, '{');
    if (engine) vc_buf_printf(g->b, "engine=\"%u\",", g->engine);
    if (before) vc_buf_printf(g->b, "%s=\"%.*s\",", r->label, (int)value_n, value);
    if (le) vc_buf_printf(g->b, "le=\"%s\",", le);
    vc_buf_adds(g->b, "model_name=");
    vc_buf_add(g->b, g->model.p, g->model.n);
    if (r->label && !before) vc_buf_printf(g->b, ",%s=\"%.*s\"", r->label, (int)value_n, value);
    vc_buf_adds(g->b, "} ");
}

static const char *bound_text(double v, char *dst, size_t cap) {
    if (v == floor(v)) snprintf(dst, cap, "%.1f", v);
    else snprintf(dst, cap, "%g", v);
    return dst;
}

static void histogram(const struct page *g, const struct row *r, const struct hist *h, struct bounds bounds) {
    uint64_t sum = 0;
    char le[32];
    for (size_t i = 0;; i++) {
        bool last = i == bounds.n;
        sum += h->bucket[i];
        vc_buf_printf(g->b, "%s_bucket", r->name);
        labels(g, r, NULL, 0, last ? "+Inf" : bound_text(bounds.v[i], le, sizeof le));
        number(g->b, (double)sum);
        if (last) break;
    }
    vc_buf_printf(g->b, "%s_count", r->name);
    labels(g, r, NULL, 0, NULL);
    number(g->b, (double)h->n);
    vc_buf_printf(g->b, "%s_sum", r->name);
    labels(g, r, NULL, 0, NULL);
    number(g->b, h->sum);
}

/* One line per value of the label. */
static void values(const struct page *g, const struct row *r, const char *name, size_t name_n, const char *suffix,
                   const double *v) {
    const char *p = r->values;
    for (size_t i = 0; i < MAX_VALUES; i++) {
        size_t n = strcspn(p, "|");
        vc_buf_printf(g->b, "%.*s%s", (int)name_n, name, suffix);
        labels(g, r, p, n, NULL);
        number(g->b, v[i]);
        if (!p[n]) return;
        p += n + 1;
    }
}

/* One metric of all models: g[i] says which, m[i] holds its figures. */
static void metric(const struct page *g, const struct srv_metrics *m, uint32_t num, enum id id) {
    static const char *const types[] = { "counter", "gauge", "histogram" };
    const struct row *r = &rows[id];
    size_t n = strlen(r->name), base = r->kind == COUNTER ? n - strlen("_total") : n;
    head(g->b, r->name, n, "", r->help, types[r->kind]);
    for (uint32_t i = 0; i < num; i++) {
        if (r->kind == HIST) histogram(&g[i], r, &m[i].hist[id], bounds_of(&m[i], id));
        else values(&g[i], r, r->name, n, "", m[i].value[id]);
    }
    if (r->kind == GAUGE) return;
    head(g->b, r->name, base, "_created", r->help, "gauge");
    for (uint32_t i = 0; i < num; i++) {
        double created[MAX_VALUES];
        for (size_t k = 0; k < MAX_VALUES; k++) created[k] = m[i].created;
        values(&g[i], r, r->name, base, "_created", created);
    }
}

/* ---- HTTP and the process ---- */

static const char *handler_name(size_t i) { return i < SRV_NUM_ROUTES ? srv_routes[i].path : "none"; }
static const char *const method_names[METHODS] = { "GET", "POST" };

static void http_lines(struct vc_buf *b, const struct srv_http_metrics *m) {
    head(b, "http_requests_total", 19, "", "Total number of requests by method, status and handler.", "counter");
    for (size_t i = 0; i < HANDLERS; i++)
        for (int k = 0; k < METHODS; k++)
            for (int c = 0; c < CLASSES; c++) {
                if (!m->handler[i].requests[k][c]) continue;
                vc_buf_printf(b, "http_requests_total{handler=\"%s\",method=\"%s\",status=\"%dxx\"} ", handler_name(i),
                              method_names[k], c + 2);
                number(b, (double)m->handler[i].requests[k][c]);
            }
    static const char *const size_help[2] = {
        "Content length of incoming requests by handler. Only value of header is respected. Otherwise ignored. No "
        "percentile calculated. ",
        "Content length of outgoing responses by handler. Only value of header is respected. Otherwise ignored. No "
        "percentile calculated. ",
    };
    for (int out = 0; out < 2; out++) {
        const char *name = out ? "http_response_size_bytes" : "http_request_size_bytes";
        head(b, name, strlen(name), "", size_help[out], "summary");
        for (size_t i = 0; i < HANDLERS; i++) {
            if (!m->handler[i].n) continue;
            vc_buf_printf(b, "%s_count{handler=\"%s\"} ", name, handler_name(i));
            number(b, (double)m->handler[i].n);
            vc_buf_printf(b, "%s_sum{handler=\"%s\"} ", name, handler_name(i));
            number(b, out ? m->handler[i].out : m->handler[i].in);
        }
    }
}

/* label: handler and method, or NULL; le stands between them. */
static void http_histogram(struct vc_buf *b, const char *name, const char *label, const struct hist *h,
                           struct bounds bounds) {
    uint64_t sum = 0;
    char le[32];
    const char *comma = label ? strchr(label, ',') : NULL;
    for (size_t i = 0;; i++) {
        bool last = i == bounds.n;
        sum += h->bucket[i];
        const char *text = last ? "+Inf" : bound_text(bounds.v[i], le, sizeof le);
        if (comma) vc_buf_printf(b, "%s_bucket{%.*s,le=\"%s\"%s} ", name, (int)(comma - label), label, text, comma);
        else vc_buf_printf(b, "%s_bucket{le=\"%s\"} ", name, text);
        number(b, (double)sum);
        if (last) break;
    }
    vc_buf_printf(b, "%s_count%s%s%s ", name, label ? "{" : "", label ? label : "", label ? "}" : "");
    number(b, (double)h->n);
    vc_buf_printf(b, "%s_sum%s%s%s ", name, label ? "{" : "", label ? label : "", label ? "}" : "");
    number(b, h->sum);
}

static void http_times(struct vc_buf *b, const struct srv_http_metrics *m) {
    char label[160];
    const char *name = "http_request_duration_highr_seconds";
    head(b, name, strlen(name), "",
         "Latency with many buckets but no API specific labels. Made for more accurate percentile calculations. ",
         "histogram");
    http_histogram(b, name, NULL, &m->time, until_zero(http_many));
    name = "http_request_duration_seconds";
    head(b, name, strlen(name), "",
         "Latency with only few buckets by handler. Made to be only used if aggregation by handler is important. ",
         "histogram");
    for (size_t i = 0; i < HANDLERS; i++)
        for (int k = 0; k < METHODS; k++) {
            if (!m->handler[i].time[k].n) continue;
            snprintf(label, sizeof label, "handler=\"%s\",method=\"%s\"", handler_name(i), method_names[k]);
            http_histogram(b, name, label, &m->handler[i].time[k], until_zero(http_few));
        }
}

static double open_files(void) {
    DIR *d = opendir("/proc/self/fd");
    if (!d) return 0;
    double n = -1;                             /* the folder itself */
    for (const struct dirent *e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static double seconds(const struct timeval *t) { return (double)t->tv_sec + 1e-6 * (double)t->tv_usec; }

static void process_lines(struct vc_buf *b, const struct srv_http_metrics *m) {
    struct rusage u;
    unsigned long long pages = 0, resident = 0;
    struct rlimit files = { 0 };
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        if (fscanf(f, "%llu %llu", &pages, &resident) != 2) pages = resident = 0;
        fclose(f);
    }
    getrusage(RUSAGE_SELF, &u);
    getrlimit(RLIMIT_NOFILE, &files);
    double page = (double)sysconf(_SC_PAGESIZE), cpu = seconds(&u.ru_utime) + seconds(&u.ru_stime);
    const struct { const char *name, *help, *type; double v; } lines[] = {
        { "process_virtual_memory_bytes", "Virtual memory size in bytes.", "gauge", (double)pages * page },
        { "process_resident_memory_bytes", "Resident memory size in bytes.", "gauge", (double)resident * page },
        { "process_start_time_seconds", "Start time of the process since unix epoch in seconds.", "gauge", m->created },
        { "process_cpu_seconds_total", "Total user and system CPU time spent in seconds.", "counter", cpu },
        { "process_open_fds", "Number of open file descriptors.", "gauge", open_files() },
        { "process_max_fds", "Maximum number of open file descriptors.", "gauge", (double)files.rlim_cur },
    };
    for (size_t i = 0; i < VC_ARRAY_LEN(lines); i++) {
        head(b, lines[i].name, strlen(lines[i].name), "", lines[i].help, lines[i].type);
        vc_buf_printf(b, "%s ", lines[i].name);
        number(b, lines[i].v);
    }
}

static void info_lines(struct vc_buf *b, const struct srv *s) {
    head(b, "vllm:cache_config_info", 22, "", "Information of the LLMEngine CacheConfig", "gauge");
    for (uint32_t i = 0; i < s->num_models; i++) {
        const struct srv_model *m = &s->models[i];
        const vc_model_info *info = &m->info;
        vc_buf_printf(b,
                      "vllm:cache_config_info{block_size=\"%u\",cache_dtype=\"%s\",enable_prefix_caching=\"%s\","
                      "engine=\"%u\",kv_cache_memory_bytes=\"%llu\",kv_cache_size_tokens=\"%llu\","
                      "num_gpu_blocks=\"%u\"} 1.0\n",
                      info->block_size, info->kv_cache_dtype, m->p->params.enable_prefix_caching ? "True" : "False",
                      m->index, (unsigned long long)info->kv_bytes, (unsigned long long)info->kv_tokens,
                      info->num_kv_blocks);
    }
}

/* Without `engine`, as vLLM has it. */
static void tool_lines(const struct page *g, const struct srv_metrics *m, uint32_t num) {
    static const char name[] = "vllm:tool_call_parser_invocations";
    static const char help[] = "Total number of ToolParser invocations. Non-streaming increments once per choice; "
                               "streaming increments once per delta.";
    enum { EACH = TOOL_OUTCOMES * TOOL_TYPES };
    for (int created = 0; created < 2; created++) {
        const char *suffix = created ? "_created" : "_total";
        head(g->b, name, sizeof name - 1, suffix, help, created ? "gauge" : "counter");
        for (uint32_t i = 0; i < num; i++)
            for (int k = 0; k < TOOL_MODES * EACH; k++) {
                int mode = k / EACH, outcome = k / TOOL_TYPES % TOOL_OUTCOMES, type = k % TOOL_TYPES;
                vc_buf_printf(g->b, "%s%s{mode=\"%s\",model_name=", name, suffix, tool_modes[mode]);
                vc_buf_add(g->b, g[i].model.p, g[i].model.n);
                vc_buf_printf(g->b, ",outcome=\"%s\",request_type=\"%s\"} ", tool_outcomes[outcome], tool_types[type]);
                number(g->b, created ? m[i].created : m[i].tools[mode][outcome][type]);
            }
    }
}

static void take_histogram(struct srv_metrics *m, enum id id, const vc_histogram *v) {
    struct hist *h = &m->hist[id];
    m->engine[id] = (struct bounds){ v->bounds, v->num_bounds };
    h->n = 0;
    for (size_t i = 0; i <= v->num_bounds; i++) h->n += h->bucket[i] = v->count[i];
    h->sum = v->sum;
}

/* Which kernels compute, and how. */
static void kernel_lines(const struct page *g, const struct srv *s) {
    enum vc_tier tier = VC_TIER_PORTABLE;
    vc_err err = VC_ERR_INIT;
    (void)vc_cpu_tier(&tier, &err);
    head(g->b, "vllmc:kernel_info", 17, "",
         "Instruction-set tier of the kernels, the processor, and the rounding profile.", "gauge");
    for (uint32_t i = 0; i < s->num_models; i++) {
        const vc_model_info *info = &s->models[i].info;
        vc_buf_adds(g->b, "vllmc:kernel_info{cpu=");
        vc_json_add_str(g->b, vc_cpu_model(), strlen(vc_cpu_model()));
        vc_buf_printf(g->b, ",engine=\"%u\",model_name=", i);
        vc_buf_add(g->b, g[i].model.p, g[i].model.n);
        vc_buf_adds(g->b, ",numerics=");
        vc_json_add_str(g->b, info->numerics, strlen(info->numerics));
        vc_buf_printf(g->b, ",threads=\"%u\",tier=\"%s\"} 1.0\n", info->threads, vc_tier_name(tier));
    }
}

/* What only the engine knows, as of the end of its last step. */
static void from_engine(struct srv_metrics *m, const struct srv *s, uint32_t index) {
    vc_model *engine = s->models[index].engine;
    vc_stats t = { .struct_size = sizeof t };
    if (vc_get_stats(engine, &t) != VC_OK) return;
    m->value[M_RUNNING][0] = t.running;
    m->value[M_WAITING][0] = m->value[M_WAITING_BY][0] = t.waiting;
    m->value[M_KV_USAGE][0] = t.kv_usage;
    m->value[M_PREFIX_QUERIES][0] = (double)t.prefix_queries;
    m->value[M_PREFIX_HITS][0] = (double)t.prefix_hits;
    m->value[M_PREEMPTIONS][0] = (double)t.preemptions;
    m->value[M_WEIGHT_BYTES][0] = (double)t.weight_bytes;
    m->value[M_STALLED][0] = vc_stalled(engine);
    srv_bandwidth_share(s->bandwidth, index, &t, &m->value[M_BANDWIDTH][0], &m->value[M_BANDWIDTH_SHARE][0]);
    take_histogram(m, M_H_STEP_TOKENS, &t.step_tokens);
    take_histogram(m, M_H_STEP_TIME, &t.step_time);
    take_histogram(m, M_H_MARGIN, &t.margins);
}

/* Copies of the figures of all models: no lock is held while the engines are asked and the page is written. */
static void take_figures(const struct srv *s, struct page *g, struct srv_metrics *now, struct vc_buf *b) {
    for (uint32_t i = 0; i < s->num_models; i++) {
        struct srv_model *m = &s->models[i];
        const char *name = srv_model_name(m);
        g[i] = (struct page){ .b = b, .engine = i };
        vc_json_add_str(&g[i].model, name, strlen(name));      /* the escapes of a label are among JSON's */
        pthread_mutex_lock(&m->metrics->lock);
        fill_lengths(m->metrics, m->info.max_model_len);
        now[i] = *m->metrics;
        pthread_mutex_unlock(&m->metrics->lock);
        from_engine(&now[i], s, i);
    }
}

void srv_get_metrics(struct srv_call *c) {
    const struct srv *s = c->srv;
    struct vc_buf b = { 0 };
    struct page *g = calloc(s->num_models, sizeof *g);
    struct srv_metrics *now = calloc(s->num_models, sizeof *now);
    struct srv_http_metrics *http = malloc(sizeof *http);
    if (g && now && http) {
        pthread_mutex_lock(&s->metrics->lock);
        *http = *s->metrics;
        pthread_mutex_unlock(&s->metrics->lock);
        take_figures(s, g, now, &b);
        process_lines(&b, http);
        for (int id = 0; id < NUM_METRICS; id++) metric(g, now, s->num_models, (enum id)id);
        info_lines(&b, s);
        kernel_lines(g, s);
        tool_lines(g, now, s->num_models);
        http_lines(&b, http);
        http_times(&b, http);
    } else {
        b.failed = true;
    }
    for (uint32_t i = 0; g && i < s->num_models; i++) {
        b.failed |= g[i].model.failed;
        vc_buf_free(&g[i].model);
    }
    free(g);
    free(now);
    free(http);
    srv_reply(c, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}
