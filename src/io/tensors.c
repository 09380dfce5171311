/* SPDX-License-Identifier: Apache-2.0 */
#include "io/tensors.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/gguf_int.h"
#include "io/json.h"
#include "io/safetensors.h"

struct part { const char *path; struct vc_map map; };

struct vc_tensors {
    const struct vc_gguf *g;        /* borrowed; NULL for safetensors, which own the rest */
    struct vc_arena arena;
    struct part *part;
    size_t n_parts;
    struct vc_tensor *v;
    const char **name;
    size_t n, cap;
    struct vc_names index;
};

static vc_status no_memory(const char *path, vc_err *err) {
    return vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
}

vc_status vc_tensors_open_gguf(struct vc_tensors **out, const struct vc_gguf *g, vc_err *err) {
    struct vc_tensors *t = calloc(1, sizeof *t);
    *out = t;
    if (!t) return no_memory(vc_gguf_path(g), err);
    t->g = g;
    return VC_OK;
}

void vc_tensors_close(struct vc_tensors *t) {
    if (!t) return;
    for (size_t i = 0; i < t->n_parts; i++) vc_map_close(&t->part[i].map);
    free(t->part);
    free(t->v);
    free(t->name);
    vc_names_free(&t->index);
    vc_arena_free(&t->arena);
    free(t);
}

/* Maps and parses one file and appends its tensors. */
static vc_status add_part(struct vc_tensors *t, const char *path, vc_err *err) {
    struct part *more = realloc(t->part, (t->n_parts + 1) * sizeof *more);
    if (!more) return no_memory(path, err);
    t->part = more;
    struct part *p = &more[t->n_parts];
    *p = (struct part){ .path = vc_arena_strdup(&t->arena, path) };
    if (!p->path) return no_memory(path, err);
    VC_TRY(vc_map_open(&p->map, path, err));
    uint32_t file = (uint32_t)t->n_parts++;
    struct vc_safetensors s;
    VC_TRY(vc_safetensors_parse(&s, &t->arena, p->map.p, p->map.n, path, err));
    if (t->n + s.n > t->cap) {
        size_t cap = t->cap * 2 > t->n + s.n ? t->cap * 2 : t->n + s.n;
        struct vc_tensor *v = realloc(t->v, cap * sizeof *v);
        if (!v) return no_memory(path, err);
        t->v = v;
        t->cap = cap;
    }
    for (size_t i = 0; i < s.n; i++) {
        t->v[t->n] = s.v[i];
        t->v[t->n++].file = file;
    }
    return VC_OK;
}

static vc_status build_index(struct vc_tensors *t, const char *path, vc_err *err) {
    size_t dup;
    char text[120];
    t->name = malloc((t->n + 1) * sizeof *t->name);
    if (!t->name) return no_memory(path, err);
    for (size_t i = 0; i < t->n; i++) t->name[i] = t->v[i].name;
    int r = vc_names_build(&t->index, t->name, t->n, &dup);
    if (r < 0) return no_memory(path, err);
    if (r == 0) return VC_OK;
    vc_printable(text, sizeof text, t->name[dup], strlen(t->name[dup]));
    size_t first = 0;
    while (strcmp(t->name[first], t->name[dup])) first++;
    return vc_fail(err, VC_E_FORMAT, "tensor '%s' is in two files: %s and %s", text, t->part[t->v[first].file].path,
                   t->part[t->v[dup].file].path);
}

/* ---- folders ---- */
struct list { const char **v; size_t n, cap; };

static bool list_add(struct list *l, const char *s) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 16;
        const char **v = realloc(l->v, cap * sizeof *v);
        if (!v) return false;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = s;
    return s != NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static vc_status list_folder(struct vc_tensors *t, const char *path, struct list *l, vc_err *err) {
    DIR *d = opendir(path);
    if (!d) return vc_fail(err, VC_E_IO, "%s: %s", path, strerror(errno));
    bool ok = true;
    for (struct dirent *e; ok && (e = readdir(d));) {
        vc_str s = vc_str_of(e->d_name);
        if (!vc_str_ends(s, ".safetensors") || s.p[0] == '.') continue;
        if (vc_str_is(s, "golden.safetensors") || vc_str_is(s, "vllm_logits.safetensors")) continue;
        ok = list_add(l, vc_arena_strdup(&t->arena, s.p));
    }
    closedir(d);
    if (!ok) return no_memory(path, err);
    if (!l->n) return vc_fail(err, VC_E_NOT_FOUND, "%s: no *.safetensors file in this folder", path);
    qsort(l->v, l->n, sizeof *l->v, by_name);
    return VC_OK;
}

/* A file named by an index must lie in the folder itself. */
static bool plain_name(const json_t *v) {
    const char *s = json_string_value(v);
    return s && *s && strlen(s) == json_string_length(v) && !strchr(s, '/') && strcmp(s, ".") && strcmp(s, "..");
}

/* The distinct files of weight_map, sorted. */
static vc_status list_index(struct vc_tensors *t, const char *path, json_t *map, struct list *l, vc_err *err) {
    const char *key;
    json_t *v;
    size_t n = 0;
    json_object_foreach(map, key, v) {
        char text[120];
        if (!plain_name(v))
            return vc_fail(err, VC_E_FORMAT, "%s: 'weight_map.%s' is not the name of a file in this folder", path,
                           vc_printable(text, sizeof text, key, strlen(key)));
        if (!list_add(l, json_string_value(v))) return no_memory(path, err);
    }
    if (!l->n) return vc_fail(err, VC_E_FORMAT, "%s: 'weight_map' is empty", path);
    qsort(l->v, l->n, sizeof *l->v, by_name);
    for (size_t i = 0; i < l->n; i++)
        if (!n || strcmp(l->v[n - 1], l->v[i])) l->v[n++] = l->v[i];
    l->n = n;
    for (size_t i = 0; i < n; i++)
        if (!(l->v[i] = vc_arena_strdup(&t->arena, l->v[i]))) return no_memory(path, err);
    return VC_OK;
}

static vc_status check_index(const struct vc_tensors *t, const char *path, json_t *map, vc_err *err) {
    const char *key;
    json_t *v;
    json_object_foreach(map, key, v) {
        size_t i = vc_names_find(&t->index, key);
        const char *file = i == SIZE_MAX ? NULL : t->part[t->v[i].file].path, *slash = file ? strrchr(file, '/') : NULL;
        if (file && !strcmp(slash ? slash + 1 : file, json_string_value(v))) continue;
        char text[120];
        return vc_fail(err, VC_E_FORMAT, "%s: tensor '%s' is not in '%s', where 'weight_map' says it is", path,
                       vc_printable(text, sizeof text, key, strlen(key)), json_string_value(v));
    }
    return VC_OK;
}

static vc_status add_all(struct vc_tensors *t, const char *folder, const struct list *l, vc_err *err) {
    for (size_t i = 0; i < l->n; i++) {
        struct vc_buf b = { 0 };
        vc_buf_printf(&b, "%s/%s", folder, l->v[i]);
        vc_status s = b.failed ? no_memory(folder, err) : add_part(t, b.p, err);
        vc_buf_free(&b);
        VC_TRY(s);
    }
    return build_index(t, folder, err);
}

static vc_status open_indexed(struct vc_tensors *t, const char *folder, const char *index, struct list *l,
                              vc_err *err) {
    json_t *root = NULL, *map = NULL;
    VC_TRY(vc_json_load(&root, index, err));
    vc_status s = vc_json_obj(root, "weight_map", &map, err);
    if (s != VC_OK && err) s = vc_fail_prefix(err, "%s", index);
    if (s == VC_OK) s = list_index(t, index, map, l, err);
    if (s == VC_OK) s = add_all(t, folder, l, err);
    if (s == VC_OK) s = check_index(t, index, map, err);
    json_decref(root);
    return s;
}

static vc_status open_folder(struct vc_tensors *t, const char *path, vc_err *err) {
    struct list l = { 0 };
    struct vc_buf index = { 0 };
    struct stat st;
    vc_buf_printf(&index, "%s/model.safetensors.index.json", path);
    vc_status s;
    if (index.failed) {
        s = no_memory(path, err);
    } else if (!stat(index.p, &st)) {
        s = open_indexed(t, path, index.p, &l, err);
    } else {
        s = list_folder(t, path, &l, err);
        if (s == VC_OK) s = add_all(t, path, &l, err);
    }
    vc_buf_free(&index);
    free(l.v);
    return s;
}

vc_status vc_tensors_open_safetensors(struct vc_tensors **out, const char *path, vc_err *err) {
    struct stat st;
    *out = NULL;
    struct vc_tensors *t = calloc(1, sizeof *t);
    if (!t) return no_memory(path, err);
    vc_status s;
    if (!stat(path, &st) && S_ISDIR(st.st_mode)) s = open_folder(t, path, err);
    else if ((s = add_part(t, path, err)) == VC_OK) s = build_index(t, path, err);
    if (s != VC_OK) {
        vc_tensors_close(t);
        return s;
    }
    *out = t;
    return VC_OK;
}

/* ---- access ---- */
const struct vc_tensor *vc_tensors_find(const struct vc_tensors *t, const char *name) {
    size_t i = vc_names_find(t->g ? &t->g->tensors : &t->index, name);
    return i == SIZE_MAX ? NULL : vc_tensors_at(t, i);
}

size_t vc_tensors_count(const struct vc_tensors *t) { return t->g ? t->g->n_tensors : t->n; }
const struct vc_tensor *vc_tensors_at(const struct vc_tensors *t, size_t i) {
    return t->g ? &t->g->tensor[i] : &t->v[i];
}
size_t vc_tensors_num_files(const struct vc_tensors *t) { return t->g ? t->g->n_files : t->n_parts; }
const char *vc_tensors_file(const struct vc_tensors *t, size_t i) {
    return t->g ? t->g->file[i].path : t->part[i].path;
}

static const struct vc_map *map_of(const struct vc_tensors *t, const struct vc_tensor *x) {
    return t->g ? &t->g->file[x->file].map : &t->part[x->file].map;
}

void vc_tensors_drop(const struct vc_tensors *t, const struct vc_tensor *x) { vc_map_drop(map_of(t, x), x->offset, x->bytes); }

void vc_tensors_drop_all(const struct vc_tensors *t) {
    for (size_t i = 0; i < vc_tensors_num_files(t); i++) {
        const struct vc_map *m = t->g ? &t->g->file[i].map : &t->part[i].map;
        vc_map_drop(m, 0, m->n);
    }
}

bool vc_tensors_read(const struct vc_tensors *t, const struct vc_tensor *x, uint64_t at, uint64_t bytes, void *dst) {
    const struct vc_map *m = map_of(t, x);
    if (at > x->bytes || bytes > x->bytes - at) return false;
    if (m->p) return vc_map_read(m, x->offset + at, bytes, dst);
    memcpy(dst, (const char *)x->data + at, (size_t)bytes);        /* a file in memory */
    return true;
}

uint64_t vc_tensor_elems(const struct vc_tensor *x) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < x->n_dims; i++) n *= x->dims[i];
    return n;
}
