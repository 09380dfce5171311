/* SPDX-License-Identifier: Apache-2.0
 * tok_tiktoken.c: a tokenizer from a file of tiktoken ranks: lines of base64 and rank. Behaves as tiktoken's encode with
 * allowed_special="all"; what the file does not say is in tok_tiktoken.def. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base64.h"
#include "io/json.h"
#include "io/map.h"
#include "text/tok/tok_ranks.h"

enum set {
#define PATTERN(set, re) SET_##set,
#define FILE_NAME(name, set)
#define CLASS_NAME(name, set)
#define NAMED(set, offset, text)
#define FILL(set, from, to, format, first)
#include "text/tok/tok_tiktoken.def"
#undef PATTERN
#undef FILE_NAME
#undef CLASS_NAME
#undef NAMED
#undef FILL
    NUM_SETS
};
static const char *const patterns[NUM_SETS] = {
#define PATTERN(set, re) [SET_##set] = re,
#define FILE_NAME(name, set)
#define CLASS_NAME(name, set)
#define NAMED(set, offset, text)
#define FILL(set, from, to, format, first)
#include "text/tok/tok_tiktoken.def"
#undef PATTERN
#undef FILE_NAME
#undef CLASS_NAME
#undef NAMED
#undef FILL
};
static const struct { const char *name; enum set set; bool file; } names[] = {
#define PATTERN(set, re)
#define FILE_NAME(name, set) { name, SET_##set, true },
#define CLASS_NAME(name, set) { name, SET_##set, false },
#define NAMED(set, offset, text)
#define FILL(set, from, to, format, first)
#include "text/tok/tok_tiktoken.def"
#undef PATTERN
#undef FILE_NAME
#undef CLASS_NAME
#undef NAMED
#undef FILL
};
static const struct { enum set set; int from, to, first; const char *text; } specials[] = {
#define PATTERN(set, re)
#define FILE_NAME(name, set)
#define CLASS_NAME(name, set)
#define NAMED(set, offset, text) { SET_##set, offset, offset, 0, text },
#define FILL(set, from, to, format, first) { SET_##set, from, to, first, format },
#include "text/tok/tok_tiktoken.def"
#undef PATTERN
#undef FILE_NAME
#undef CLASS_NAME
#undef NAMED
#undef FILL
};

enum { LLAMA3_RANKS = 128000, MAX_NAMED = 4096 };

struct named { struct vc_tok_named *v; uint32_t n, cap; };

static vc_status add_named(struct vc_tokenizer *t, struct named *x, int32_t id, bool special, vc_str text, vc_err *err) {
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->v[i].id == id) return VC_OK;    /* the first name counts */
    }
    if (x->n == x->cap) return vc_fail(err, VC_E_UNSUPPORTED, "%s: more than %u special tokens", t->name, x->cap);
    x->v[x->n++] = (struct vc_tok_named){ id, special, { vc_arena_strndup(&t->arena, text.p, text.n), text.n } };
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

/* added_tokens_decoder: {"ID": {"content": …, "special": …}} */
static vc_status named_by_config(struct vc_tokenizer *t, json_t *config, struct named *x, vc_err *err) {
    json_t *list = NULL, *v;
    const char *key;
    if (vc_json_opt_obj(config, "added_tokens_decoder", &list, err)) return vc_fail_prefix(err, "%s: tokenizer_config.json", t->name);
    json_object_foreach(list, key, v) {
        char *end;
        long id = strtol(key, &end, 10);
        vc_str text;
        bool special = true;
        if (vc_json_str(v, "content", &text, err) || vc_json_opt_bool(v, "special", &special, err))
            return vc_fail_prefix(err, "%s: tokenizer_config.json: added_tokens_decoder.%s", t->name, key);
        if (*end || id < 0 || id > INT32_MAX) return vc_fail(err, VC_E_FORMAT, "%s: tokenizer_config.json: added_tokens_decoder: an id is expected as key", t->name);
        VC_TRY(add_named(t, x, (int32_t)id, special, text, err));
    }
    return VC_OK;
}

static vc_status named_by_table(struct vc_tokenizer *t, enum set set, uint32_t ranks, struct named *x, vc_err *err) {
    for (size_t i = 0; i < VC_ARRAY_LEN(specials); i++) {
        if (specials[i].set != set) continue;
        int from = specials[i].from, to = specials[i].to;
        if (from == to) VC_TRY(add_named(t, x, (int32_t)ranks + from, true, vc_str_of(specials[i].text), err));
        for (int k = from; k < to; k++) {
            char name[64];
            const char *q = strstr(specials[i].text, "%u");
            int number = specials[i].first < 0 ? (int)ranks + k : specials[i].first + k - from;
            snprintf(name, sizeof name, "%.*s%d%s", (int)(q - specials[i].text), specials[i].text, number, q + 2);
            VC_TRY(add_named(t, x, (int32_t)ranks + k, true, vc_str_of(name), err));
        }
    }
    return VC_OK;
}

/* Lines "BASE64 RANK". *n is one more than the highest rank. */
static vc_status read_lines(struct vc_tokenizer *t, vc_str all, vc_str **out, uint32_t *n, vc_err *err) {
    size_t lines = 0, at = 0;
    for (size_t i = 0; i < all.n; i++) lines += all.p[i] == '\n';
    size_t most = lines + 1 + 4096;    /* ranks may have a few holes */
    vc_str *bytes = VC_NEW_ARRAY(&t->arena, vc_str, most);
    if (!bytes) return vc_tok_nomem(t, err);
    *n = 0;
    for (size_t line = 1; at < all.n; line++) {
        const char *p = all.p + at, *nl = memchr(p, '\n', all.n - at);
        size_t len = nl ? (size_t)(nl - p) : all.n - at;
        at += len + 1;
        if (len && p[len - 1] == '\r') len--;
        if (!len) continue;
        const char *sp = memchr(p, ' ', len);
        uint64_t rank = 0;
        bool ok = sp && sp + 1 < p + len && (size_t)(p + len - sp) < 12;
        for (const char *q = ok ? sp + 1 : p + len; q < p + len; q++) {
            ok = ok && *q >= '0' && *q <= '9';
            rank = rank * 10 + (uint64_t)(*q - '0');
        }
        size_t b64 = sp ? (size_t)(sp - p) : 0;
        uint8_t *raw = ok ? vc_arena_alloc(&t->arena, b64 / 4 * 3 + 4, 1) : NULL;
        if (ok && !raw) return vc_tok_nomem(t, err);
        size_t k = ok ? vc_base64_decode(raw, p, b64) : 0;
        if (!ok || k == 0 || k == SIZE_MAX || rank >= most || bytes[rank].n)
            return vc_fail(err, VC_E_FORMAT, "%s:%zu: expected base64 and a rank below %zu that no other line has", t->name, line, most);
        bytes[rank] = (vc_str){ (const char *)raw, k };
        *n = VC_MAX(*n, (uint32_t)rank + 1);
    }
    *out = bytes;
    return VC_OK;
}

static vc_status load_config(const char *path, json_t **config, vc_err *err) {
    const char *slash = strrchr(path, '/');
    struct vc_buf b = { 0 };
    if (slash) vc_buf_add(&b, path, (size_t)(slash + 1 - path));
    vc_buf_adds(&b, "tokenizer_config.json");
    vc_status r = b.failed ? vc_fail(err, VC_E_NOMEM, "out of memory") : access(b.p, F_OK) ? VC_OK : vc_json_load(config, b.p, err);
    vc_buf_free(&b);
    return r;
}

static vc_status which(const struct vc_tokenizer *t, const char *path, const json_t *config, uint32_t ranks, enum set *set, vc_err *err) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    const char *class = json_string_value(json_object_get(config, "tokenizer_class"));
    for (size_t i = 0; i < VC_ARRAY_LEN(names); i++) {
        const char *have = names[i].file ? base : class;
        if (!have || strcmp(have, names[i].name)) continue;
        *set = names[i].set;
        return VC_OK;
    }
    if (!class && ranks == LLAMA3_RANKS && !strcmp(base, "tokenizer.model")) {
        *set = SET_LLAMA3;
        return VC_OK;
    }
    return vc_fail(err, VC_E_UNSUPPORTED, "%s: ranks of tiktoken, and nothing says which pattern cuts words: neither the file's name (\"%s\") nor tokenizer_class "
                   "in tokenizer_config.json (%s%s%s) is known", t->name, base, class ? "\"" : "", class ? class : "none", class ? "\"" : "");
}

static vc_status load(struct vc_tokenizer *t, vc_str all, const char *path, json_t *config, vc_err *err) {
    vc_str *bytes = NULL;
    uint32_t n = 0;
    enum set set = NUM_SETS;
    VC_TRY(read_lines(t, all, &bytes, &n, err));
    VC_TRY(which(t, path, config, n, &set, err));
    struct named x = { VC_NEW_ARRAY(&t->arena, struct vc_tok_named, MAX_NAMED), 0, MAX_NAMED };
    if (!x.v) return vc_tok_nomem(t, err);
    VC_TRY(named_by_config(t, config, &x, err));
    VC_TRY(named_by_table(t, set, n, &x, err));
    VC_TRY(vc_tok_from_ranks(t, bytes, n, 0, x.v, x.n, vc_str_of(patterns[set]), err));
    if (set == SET_LLAMA3) {
        t->bos = vc_tok_find(t, "<|begin_of_text|>", 17);
        t->eos = vc_tok_find(t, "<|end_of_text|>", 15);
    }
    bool bos = set == SET_LLAMA3, eos = false;
    VC_TRY(vc_tok_load_beside(t, path, &bos, &eos, err));
    VC_TRY(vc_tok_set_ends(t, bos, eos, err));
    if (set != SET_GLM4) return VC_OK;
    int32_t *v = VC_NEW_ARRAY(&t->arena, int32_t, 2);    /* [gMASK]<sop> before each text */
    if (!v) return vc_tok_nomem(t, err);
    v[0] = vc_tok_find(t, "[gMASK]", 7);
    v[1] = vc_tok_find(t, "<sop>", 5);
    t->before = v;
    t->num_before = v[0] >= 0 && v[1] >= 0 ? 2 : 0;
    return VC_OK;
}

vc_status vc_tokenizer_from_tiktoken(struct vc_tokenizer **out, const char *path, vc_err *err) {
    *out = NULL;
    struct vc_map map;
    json_t *config = NULL;
    VC_TRY(vc_map_open(&map, path, err));
    struct vc_tokenizer *t = vc_tokenizer_alloc(path);
    vc_status r = t ? load_config(path, &config, err) : vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    if (r == VC_OK) r = load(t, (vc_str){ (const char *)map.p, map.n }, path, config, err);
    json_decref(config);
    vc_map_close(&map);
    if (r == VC_OK && t->arena.failed) r = vc_tok_nomem(t, err);
    if (r) vc_tokenizer_close(t);
    else *out = t;
    return r;
}
