/* SPDX-License-Identifier: Apache-2.0
 * gguf.c: opening and closing, parts of a split, and the list of all tensors. */
#include "io/gguf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/gguf_int.h"

enum { MAX_PARTS = 65535, SUFFIX = 20 /* "-00001-of-00003.gguf" */ };

static vc_status no_memory(const char *path, vc_err *err) {
    return vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
}

static void free_strings(struct vc_gguf *g) {
    for (size_t i = 0; g->strings && i < g->file[0].n_kv; i++) {
        free(g->strings[i]);
        g->strings[i] = NULL;
    }
}

void vc_gguf_drop(struct vc_gguf *g) {
    free_strings(g);
    for (size_t i = 0; i < g->n_files; i++) vc_map_drop(&g->file[i].map, 0, g->file[i].map.n);
}

void vc_gguf_close(struct vc_gguf *g) {
    if (!g) return;
    free_strings(g);
    free(g->strings);
    for (size_t i = 0; i < g->n_files; i++) vc_gguf_file_free(&g->file[i]);
    free(g->file);
    free(g->tensor);
    free(g->tensor_name);
    vc_names_free(&g->tensors);
    vc_arena_free(&g->arena);
    free(g);
}

/* Value of a split.* key; absent leaves *v. */
static vc_status split_value(const struct vc_gguf_file *f, const char *key, uint64_t *v, vc_err *err) {
    const struct vc_gguf_value *x = vc_gguf_file_find(f, key);
    if (x && !vc_gguf_value_u64(x, v))
        return vc_fail(err, VC_E_FORMAT, "%s: key '%s' has type %s, expected an integer", f->path, key,
                       vc_gguf_type_name(x->type));
    return VC_OK;
}

static vc_status open_file(struct vc_gguf *g, size_t i, const char *path, vc_err *err) {
    struct vc_gguf_file *f = &g->file[i];
    f->path = vc_arena_strdup(&g->arena, path);
    if (!f->path) return no_memory(path, err);
    VC_TRY(vc_map_open(&f->map, path, err));
    f->p = f->map.p;
    f->n = f->map.n;
    return vc_gguf_parse(f, &g->arena, err);
}

/* All parts after the first: files beside it, named by its own name with another number. */
static vc_status open_parts(struct vc_gguf *g, uint64_t count, vc_err *err) {
    const char *path = g->file[0].path;
    size_t n = strlen(path);
    char want[SUFFIX + 8];
    snprintf(want, sizeof want, "-00001-of-%05u.gguf", (unsigned)count);
    if (n < SUFFIX || strcmp(path + n - SUFFIX, want))
        return vc_fail(err, VC_E_FORMAT,
                       "%s: is the first of %u parts (key 'split.count'), so its name must end in %s", path,
                       (unsigned)count, want);
    for (uint64_t i = 1; i < count; i++) {
        struct vc_gguf_file *more = realloc(g->file, ((size_t)i + 1) * sizeof *more);
        char *part = vc_arena_strdup(&g->arena, path);
        if (more) g->file = more;
        if (!more || !part) return no_memory(path, err);
        more[i] = (struct vc_gguf_file){ 0 };
        g->n_files++;
        snprintf(part + n - SUFFIX, SUFFIX + 1, "-%05u-of-%05u.gguf", (unsigned)(i + 1) % 100000u,
                 (unsigned)count % 100000u);
        vc_status s = open_file(g, (size_t)i, part, err);
        if (s != VC_OK && err)
            return vc_fail_prefix(err, "%s: part %u of %u", path, (unsigned)(i + 1), (unsigned)count);
        if (s != VC_OK) return s;
        uint64_t no = UINT64_MAX, parts = UINT64_MAX;
        VC_TRY(split_value(&g->file[i], "split.no", &no, err));
        VC_TRY(split_value(&g->file[i], "split.count", &parts, err));
        if (no != i || parts != count)
            return vc_fail(err, VC_E_FORMAT,
                           "%s: keys 'split.no' and 'split.count' are %lld and %lld, expected %u and %u", part,
                           (long long)no, (long long)parts, (unsigned)i, (unsigned)count);
    }
    return VC_OK;
}

static vc_status open_split(struct vc_gguf *g, vc_err *err) {
    const struct vc_gguf_file *f = &g->file[0];
    uint64_t count = 0, no = 0;
    VC_TRY(split_value(f, "split.count", &count, err));
    VC_TRY(split_value(f, "split.no", &no, err));
    if (count <= 1 && no == 0) return VC_OK;
    if (count > MAX_PARTS || no >= count)
        return vc_fail(err, VC_E_FORMAT, "%s: keys 'split.no' and 'split.count' are %llu and %llu", f->path,
                       (unsigned long long)no, (unsigned long long)count);
    if (no)
        return vc_fail(err, VC_E_INVALID, "%s: is part %u of %u; open the part -00001-of-%05u.gguf", f->path,
                       (unsigned)(no + 1), (unsigned)count, (unsigned)count);
    if (!f->map.p)
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: the first of %u parts cannot be opened from memory", f->path,
                       (unsigned)count);
    return open_parts(g, count, err);
}

/* One array and index over the tensors of all files. */
static vc_status merge(struct vc_gguf *g, vc_err *err) {
    const char *path = g->file[0].path;
    uint64_t total = 0, want;
    for (size_t i = 0; i < g->n_files; i++) total += g->file[i].n_tensors;
    want = total;
    VC_TRY(split_value(&g->file[0], "split.tensors.count", &want, err));
    if (want != total)
        return vc_fail(err, VC_E_FORMAT, "%s: key 'split.tensors.count' is %llu, but the parts hold %llu tensors",
                       path, (unsigned long long)want, (unsigned long long)total);
    g->strings = calloc(g->file[0].n_kv + 1, sizeof *g->strings);
    g->tensor = calloc((size_t)total + 1, sizeof *g->tensor);
    g->tensor_name = calloc((size_t)total + 1, sizeof *g->tensor_name);
    if (!g->strings || !g->tensor || !g->tensor_name) return no_memory(path, err);
    for (size_t i = 0; i < g->n_files; i++) {
        struct vc_gguf_file *f = &g->file[i];
        for (size_t k = 0; k < f->n_tensors; k++, g->n_tensors++) {
            g->tensor[g->n_tensors] = f->tensor[k];
            g->tensor[g->n_tensors].file = (uint32_t)i;
            g->tensor_name[g->n_tensors] = f->tensor[k].name;
        }
        free(f->tensor);
        f->tensor = NULL;
    }
    size_t dup;
    int r = vc_names_build(&g->tensors, g->tensor_name, g->n_tensors, &dup);
    if (r < 0) return no_memory(path, err);
    if (r) {
        char text[120];
        return vc_fail(err, VC_E_FORMAT, "%s: tensor '%s' is there twice", g->file[g->tensor[dup].file].path,
                       vc_printable(text, sizeof text, g->tensor_name[dup], strlen(g->tensor_name[dup])));
    }
    return VC_OK;
}

static struct vc_gguf *new_gguf(void) {
    struct vc_gguf *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->file = calloc(1, sizeof *g->file);
    g->n_files = 1;
    if (!g->file) {
        free(g);
        return NULL;
    }
    return g;
}

static vc_status finish(struct vc_gguf **out, struct vc_gguf *g, vc_status s, vc_err *err) {
    if (s == VC_OK) s = open_split(g, err);
    if (s == VC_OK) s = merge(g, err);
    if (s != VC_OK) {
        vc_gguf_close(g);
        return s;
    }
    *out = g;
    return VC_OK;
}

vc_status vc_gguf_open(struct vc_gguf **out, const char *path, vc_err *err) {
    *out = NULL;
    struct vc_gguf *g = new_gguf();
    if (!g) return no_memory(path, err);
    return finish(out, g, open_file(g, 0, path, err), err);
}

vc_status vc_gguf_open_mem(struct vc_gguf **out, const void *p, size_t n, const char *name, vc_err *err) {
    *out = NULL;
    struct vc_gguf *g = new_gguf();
    if (!g) return no_memory(name, err);
    struct vc_gguf_file *f = &g->file[0];
    f->p = p;
    f->n = n;
    f->path = vc_arena_strdup(&g->arena, name);
    return finish(out, g, f->path ? vc_gguf_parse(f, &g->arena, err) : no_memory(name, err), err);
}

const char *vc_gguf_path(const struct vc_gguf *g) { return g->file[0].path; }
uint32_t vc_gguf_version(const struct vc_gguf *g) { return g->file[0].version; }
size_t vc_gguf_num_files(const struct vc_gguf *g) { return g->n_files; }
