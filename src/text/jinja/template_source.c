/* SPDX-License-Identifier: Apache-2.0
 * Chat templates and special tokens from the files of a model. In a folder chat_template.jinja goes before
 * chat_template.json and both before tokenizer_config.json, as in transformers. */
#include "text/template_source.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io/gguf.h"
#include "io/json.h"
#include "io/map.h"

static vc_status no_memory(vc_err *err) { return vc_fail(err, VC_E_NOMEM, "no memory for a chat template"); }

static vc_status add(struct vc_template_source *s, vc_str name, vc_str text, vc_err *err) {
    if (s->n == VC_ARRAY_LEN(s->v))
        return vc_fail(err, VC_E_FORMAT, "%s: more than %zu chat templates", s->path, VC_ARRAY_LEN(s->v));
    s->v[s->n].name = vc_arena_strndup(&s->arena, name.p, name.n);
    s->v[s->n].text = (vc_str){ vc_arena_strndup(&s->arena, text.p, text.n), text.n };
    s->n++;
    return s->arena.failed ? no_memory(err) : VC_OK;
}

static vc_status set_path(struct vc_template_source *s, const char *path, vc_err *err) {
    s->path = vc_arena_strdup(&s->arena, path);
    return s->path ? VC_OK : no_memory(err);
}

static bool is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- tokenizer_config.json and chat_template.json ---- */
static vc_str json_text(const json_t *v) { return (vc_str){ json_string_value(v), json_string_length(v) }; }

/* A special token is a string, or an object with its text in `content`. */
static const char *token_of(struct vc_template_source *s, const json_t *root, const char *key) {
    const json_t *v = json_object_get(root, key);
    if (json_is_object(v)) v = json_object_get(v, "content");
    return json_is_string(v) ? vc_arena_strndup(&s->arena, json_string_value(v), json_string_length(v)) : NULL;
}

static vc_status named_list(struct vc_template_source *s, const json_t *list, vc_err *err) {
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *name = json_object_get(json_array_get(list, i), "name"),
                     *text = json_object_get(json_array_get(list, i), "template");
        if (!json_is_string(name) || !json_is_string(text))
            return vc_fail(err, VC_E_FORMAT, "%s: chat_template[%zu]: expected an object with name and template",
                           s->path, i);
        VC_TRY(add(s, json_text(name), json_text(text), err));
    }
    return VC_OK;
}

static vc_status from_json(struct vc_template_source *s, const json_t *root, bool templates, vc_err *err) {
    s->bos_token = token_of(s, root, "bos_token");
    s->eos_token = token_of(s, root, "eos_token");
    s->unk_token = token_of(s, root, "unk_token");
    s->pad_token = token_of(s, root, "pad_token");
    const json_t *t = json_object_get(root, "chat_template");
    if (!templates || !t || json_is_null(t)) return s->arena.failed ? no_memory(err) : VC_OK;
    if (json_is_string(t)) return add(s, VC_STR("default"), json_text(t), err);
    if (json_is_array(t)) return named_list(s, t, err);
    return vc_fail(err, VC_E_FORMAT, "%s: chat_template: expected a string or a list, not %s", s->path,
                   vc_json_type_name(t));
}

static vc_status read_json(struct vc_template_source *s, const char *path, bool templates, vc_err *err) {
    json_t *root = NULL;
    VC_TRY(vc_json_load(&root, path, err));
    const char *before = s->path;
    vc_status st = set_path(s, path, err);
    if (st == VC_OK) st = from_json(s, root, templates, err);
    if (st == VC_OK && !templates) s->path = before;
    json_decref(root);
    return st;
}

/* ---- the other files ---- */
static vc_status read_text(struct vc_template_source *s, const char *path, const char *name, vc_err *err) {
    struct vc_map map;
    VC_TRY(vc_map_open(&map, path, err));
    vc_status st = set_path(s, path, err);
    if (st == VC_OK) st = add(s, vc_str_of(name), (vc_str){ (const char *)map.p, map.n }, err);
    vc_map_close(&map);
    return st;
}

/* The text of the token whose id a key holds. */
static vc_status gguf_token(struct vc_template_source *s, const struct vc_gguf *g, const char *key, const char **out,
                            vc_err *err) {
    const vc_str *tokens;
    uint32_t id;
    size_t n;
    vc_err ignored = VC_ERR_INIT;
    if (vc_gguf_u32(g, key, &id, &ignored) != VC_OK) return VC_OK;
    if (!vc_gguf_find(g, "tokenizer.ggml.tokens")) return VC_OK;
    VC_TRY(vc_gguf_strings(g, "tokenizer.ggml.tokens", &tokens, &n, err));
    if (id < n) *out = vc_arena_strndup(&s->arena, tokens[id].p, tokens[id].n);
    return s->arena.failed ? no_memory(err) : VC_OK;
}

static vc_status from_gguf(struct vc_template_source *s, const struct vc_gguf *g, vc_err *err) {
    static const char key[] = "tokenizer.chat_template";
    VC_TRY(gguf_token(s, g, "tokenizer.ggml.bos_token_id", &s->bos_token, err));
    VC_TRY(gguf_token(s, g, "tokenizer.ggml.eos_token_id", &s->eos_token, err));
    VC_TRY(gguf_token(s, g, "tokenizer.ggml.unknown_token_id", &s->unk_token, err));
    VC_TRY(gguf_token(s, g, "tokenizer.ggml.padding_token_id", &s->pad_token, err));
    for (size_t i = 0; i < vc_gguf_num_kv(g); i++) {
        const char *k = vc_gguf_key(g, i);
        vc_str text;
        if (strncmp(k, key, sizeof key - 1) != 0) continue;
        const char *name = k[sizeof key - 1] == '.' ? k + sizeof key : k[sizeof key - 1] ? NULL : "default";
        if (!name) continue;
        VC_TRY(vc_gguf_str(g, k, &text, err));
        VC_TRY(add(s, vc_str_of(name), text, err));
    }
    return VC_OK;
}

static vc_status read_gguf(struct vc_template_source *s, const char *path, vc_err *err) {
    struct vc_gguf *g = NULL;
    VC_TRY(vc_gguf_open(&g, path, err));
    vc_status st = set_path(s, path, err);
    if (st == VC_OK) st = from_gguf(s, g, err);
    vc_gguf_close(g);
    return st;
}

/* additional_chat_templates/NAME.jinja beside a chat_template.jinja. */
static vc_status read_additional(struct vc_template_source *s, const char *folder, vc_err *err) {
    char path[4096];
    vc_status st = VC_OK;
    snprintf(path, sizeof path, "%s/additional_chat_templates", folder);
    DIR *dir = opendir(path);
    for (const struct dirent *e; dir && st == VC_OK && (e = readdir(dir)) != NULL;) {
        char file[4096 + 300], name[256];
        size_t n = strlen(e->d_name);
        if (n <= 6 || n >= sizeof name || strcmp(e->d_name + n - 6, ".jinja") != 0) continue;
        snprintf(name, sizeof name, "%.*s", (int)(n - 6), e->d_name);
        snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        st = read_text(s, file, name, err);
    }
    if (dir) closedir(dir);
    return st;
}

/* The folder that the files of a model lie in. */
static vc_status read_folder(struct vc_template_source *s, const char *folder, vc_err *err) {
    char file[4096];
    snprintf(file, sizeof file, "%s/chat_template.jinja", folder);
    if (is_file(file)) {
        VC_TRY(read_additional(s, folder, err));
        VC_TRY(read_text(s, file, "default", err));
    }
    snprintf(file, sizeof file, "%s/chat_template.json", folder);
    if (!s->n && is_file(file)) VC_TRY(read_json(s, file, true, err));
    snprintf(file, sizeof file, "%s/tokenizer_config.json", folder);
    if (is_file(file)) VC_TRY(read_json(s, file, !s->n, err));
    return VC_OK;
}

static bool is_gguf(const char *path) {
    char magic[4] = "";
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(magic, 1, sizeof magic, f) : 0;
    if (f) fclose(f);
    return n == 4 && !memcmp(magic, "GGUF", 4);
}

static vc_status read_any(struct vc_template_source *s, const char *path, vc_err *err) {
    vc_str p = vc_str_of(path);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return read_folder(s, path, err);
    if (is_gguf(path)) return read_gguf(s, path, err);
    if (vc_str_ends(p, ".safetensors") || vc_str_ends(p, "tokenizer.json")) {
        const char *slash = strrchr(path, '/');
        char folder[4096];
        snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
        return read_folder(s, folder, err);
    }
    if (vc_str_ends(p, ".json")) return read_json(s, path, true, err);
    return read_text(s, path, "default", err);
}

static vc_status end(struct vc_template_source *s, vc_status st, const char *path, vc_err *err) {
    if (st == VC_OK && !s->n) st = vc_fail(err, VC_E_NOT_FOUND, "%s: there is no chat template", path);
    if (st != VC_OK) vc_template_source_close(s);
    return st;
}

vc_status vc_template_source_open(struct vc_template_source *s, const char *path, vc_err *err) {
    *s = (struct vc_template_source){ .n = 0 };
    return end(s, read_any(s, path, err), path, err);
}

vc_status vc_template_source_from_gguf(struct vc_template_source *s, const struct vc_gguf *g, const char *path, vc_err *err) {
    *s = (struct vc_template_source){ .n = 0 };
    vc_status st = set_path(s, path, err);
    if (st == VC_OK) st = from_gguf(s, g, err);
    return end(s, st, path, err);
}

void vc_template_source_close(struct vc_template_source *s) {
    vc_arena_free(&s->arena);
    *s = (struct vc_template_source){ .n = 0 };
}

static const struct vc_template_named *find(const struct vc_template_source *s, const char *name) {
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->v[i].name, name)) return &s->v[i];
    return NULL;
}

vc_status vc_template_source_pick(const struct vc_template_source *s, const char *name, bool with_tools,
                                  const struct vc_template_named **out, vc_err *err) {
    if (name) *out = find(s, name);
    else if (s->n == 1) *out = &s->v[0];
    else *out = with_tools && find(s, "tool_use") ? find(s, "tool_use") : find(s, "default");
    if (*out) return VC_OK;
    char names[256] = "";
    for (size_t i = 0, o = 0; i < s->n && o < sizeof names; i++)
        o += (size_t)snprintf(names + o, sizeof names - o, "%s%s", i ? ", " : "", s->v[i].name);
    return vc_fail(err, VC_E_NOT_FOUND, "%s: there is no chat template named '%s'; there are: %s", s->path,
                   name ? name : "default", names);
}
