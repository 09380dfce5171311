/* SPDX-License-Identifier: Apache-2.0
 * Chat templates: time of compiling each one and of a render, over all conversations of a file, in microseconds of this
 * thread (median of 9 rounds). A conversation that the template refuses is not counted.
 * usage: bench_templates CONVERSATIONS.json TEMPLATE.jinja… */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "io/map.h"
#include "text/template.h"

enum { ROUNDS = 9 };

/* This thread's own time, so that a busy machine disturbs less. */
static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v) {
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

static struct vc_template_args args_of(const json_t *conv) {
    return (struct vc_template_args){ .messages = json_object_get(conv, "messages"),
                                      .tools = json_object_get(conv, "tools"),
                                      .documents = json_object_get(conv, "documents"),
                                      .bos_token = "<s>",
                                      .eos_token = "</s>",
                                      .add_generation_prompt = true };
}

/* Median time of one render; -1 when the template refuses the conversation. */
static double render_time(const struct vc_template *t, const json_t *conv, size_t *bytes) {
    double v[ROUNDS];
    struct vc_buf out = { 0 };
    struct vc_template_args a = args_of(conv);
    for (int i = 0; i < ROUNDS; i++) {
        vc_err err = VC_ERR_INIT;
        out.n = 0;
        double from = now_us();
        if (vc_template_render(t, &a, &out, &err) != VC_OK) return -1;
        v[i] = now_us() - from;
    }
    *bytes = out.n;
    vc_buf_free(&out);
    return median(v);
}

static int one_template(const char *path, json_t *convs) {
    struct vc_map map;
    vc_err err = VC_ERR_INIT;
    if (vc_map_open(&map, path, &err) != VC_OK) return fprintf(stderr, "%s\n", err.text), 1;
    struct vc_template *t = NULL;
    double v[ROUNDS], sum = 0, worst = 0;
    size_t n = 0, bytes = 0, all = 0;
    for (int i = 0; i < ROUNDS; i++) {
        vc_template_del(t);
        double from = now_us();
        if (vc_template_compile(&t, (const char *)map.p, map.n, &err) != VC_OK)
            return fprintf(stderr, "%s: %s\n", path, err.text), 1;
        v[i] = now_us() - from;
    }
    const char *name;
    json_t *conv;
    json_object_foreach(convs, name, conv) {
        double us = render_time(t, conv, &bytes);
        if (us < 0) continue;
        n++;
        sum += us;
        all += bytes;
        if (us > worst) worst = us;
    }
    const char *slash = strrchr(path, '/');
    printf("%-58s %8.0f %8.1f %8.1f %9zu %5zu\n", slash ? slash + 1 : path, median(v), n ? sum / (double)n : 0, worst,
           n ? all / n : 0, n);
    vc_template_del(t);
    vc_map_close(&map);
    return 0;
}

int main(int argc, char **argv) {
    json_error_t e;
    if (argc < 3) return fprintf(stderr, "usage: %s CONVERSATIONS.json TEMPLATE.jinja…\n", argv[0]), 2;
    json_t *root = json_load_file(argv[1], 0, &e);
    if (!root) return fprintf(stderr, "%s: %s\n", argv[1], e.text), 1;
    json_t *convs = json_object_get(root, "conversations");
    int bad = 0;
    printf("%-58s %8s %8s %8s %9s %5s\n", "template", "compile", "render", "worst", "bytes", "of");
    for (int i = 2; i < argc; i++) bad |= one_template(argv[i], convs ? convs : root);
    json_decref(root);
    return bad;
}
