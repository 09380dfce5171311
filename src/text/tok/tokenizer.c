/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tokenizer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "io/gguf.h"
#include "text/tok/tok_int.h"

struct vc_tokenizer *vc_tokenizer_alloc(const char *name) {
    struct vc_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    if (pthread_mutex_init(&t->lock, NULL)) {
        free(t);
        return NULL;
    }
    t->bos = t->eos = t->bpe.unk = -1;
    t->kind = "bpe";
    t->bpe.prefix = t->bpe.suffix = (vc_str){ "", 0 };
    t->name = vc_arena_strdup(&t->arena, name);
    for (int i = 0; i < 256; i++) t->bpe.byte_id[i] = -1;
    return t;
}

void vc_tokenizer_close(struct vc_tokenizer *t) {
    if (!t) return;
    for (struct vc_tok_scratch *s = t->scratch, *next; s; s = next) {
        next = s->next;
        vc_tok_scratch_free(s);
    }
    for (int i = 0; i < 2; i++) vc_trie_free(&t->added[i].trie);
    vc_trie_free(&t->uni.trie);
    vc_trie_free(&t->greedy.start);
    vc_trie_free(&t->greedy.rest);
    vc_trie_free(&t->keep);
    vc_text_map_free(&t->by_text);
    vc_text_map_free(&t->bpe.own);
    vc_pair_map_free(&t->bpe.pairs);
    vc_tok_regex_free(t->regexes);
    vc_arena_free(&t->arena);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void *vc_tok_append(struct vc_tokenizer *t, void *v, uint32_t *n, size_t size) {
    char *w = vc_arena_array(&t->arena, (size_t)*n + 1, size);
    if (!w) return NULL;
    if (*n) memcpy(w, v, *n * size);
    ++*n;
    return w;
}

vc_status vc_tok_set_size(struct vc_tokenizer *t, uint32_t n, vc_err *err) {
    t->text = VC_NEW_ARRAY(&t->arena, vc_str, n);
    t->piece = VC_NEW_ARRAY(&t->arena, vc_str, n);
    t->flags = VC_NEW_ARRAY(&t->arena, uint8_t, n);
    if (t->arena.failed || !vc_text_map_init(&t->by_text, n)) return vc_fail(err, VC_E_NOMEM, "%s: out of memory", t->name);
    t->size = n;
    for (uint32_t i = 0; i < n; i++) t->text[i].p = t->piece[i].p = "";
    return VC_OK;
}

/* Which file of a folder is the tokenizer's: the lower, the sooner; 0: none. */
static int rank_of_name(const char *name) {
    static const char *const order[] = { "tokenizer.json", "tekken.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "tiktoken.model" };
    for (size_t i = 0; i < VC_ARRAY_LEN(order); i++) {
        if (!strcmp(name, order[i])) return (int)i + 1;
    }
    if (vc_str_ends(vc_str_of(name), ".tiktoken")) return 100;
    return !strncmp(name, "tokenizer.model.", 16) ? 101 : 0;
}

bool vc_tokenizer_find(const char *folder, struct vc_buf *path) {
    DIR *d = opendir(folder);
    int best = 0;
    if (!d) return false;
    for (struct dirent *e; (e = readdir(d));) {
        int r = rank_of_name(e->d_name);
        if (!r || (best && best <= r)) continue;
        best = r;
        path->n = 0;
        vc_buf_printf(path, "%s/%s", folder, e->d_name);
    }
    closedir(d);
    return best && !path->failed;
}

static vc_status open_folder(struct vc_tokenizer **out, const char *folder, vc_err *err) {
    struct vc_buf b = { 0 };
    vc_status r;
    if (vc_tokenizer_find(folder, &b)) r = vc_tokenizer_open(out, b.p, err);
    else r = vc_fail(err, VC_E_NOT_FOUND, "%s: the folder holds no tokenizer.json, nor tekken.json, a SentencePiece model or a *.tiktoken file", folder);
    vc_buf_free(&b);
    return r;
}

static vc_status open_gguf(struct vc_tokenizer **out, const char *path, vc_err *err) {
    struct vc_gguf *g;
    VC_TRY(vc_gguf_open(&g, path, err));
    vc_status r = vc_tokenizer_from_gguf(out, g, err);
    vc_gguf_close(g);
    return r;
}

/* A line of base64, a space and a number. */
static bool is_ranks(const char *p, size_t n) {
    size_t i = 0, k;
    while (i < n && (strchr("+/=", p[i]) ? p[i] != '\0' : (p[i] >= '0' && p[i] <= '9') || ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'z'))) i++;
    if (i == 0 || i >= n || p[i] != ' ') return false;
    for (k = ++i; i < n && p[i] >= '0' && p[i] <= '9'; i++) {}
    return i > k && (i == n || p[i] == '\n' || p[i] == '\r');
}

vc_status vc_tokenizer_open(struct vc_tokenizer **out, const char *path, vc_err *err) {
    struct stat st;
    *out = NULL;
    if (stat(path, &st)) return vc_fail(err, VC_E_NOT_FOUND, "%s: no such file or folder", path);
    if (S_ISDIR(st.st_mode)) return open_folder(out, path, err);
    char head[256] = { 0 };
    FILE *f = fopen(path, "rb");
    if (!f) return vc_fail(err, VC_E_IO, "%s: cannot be read", path);
    size_t got = fread(head, 1, sizeof head, f);
    fclose(f);
    if (got >= 4 && !memcmp(head, "GGUF", 4)) return open_gguf(out, path, err);
    if (is_ranks(head, got)) return vc_tokenizer_from_tiktoken(out, path, err);
    if (got && head[0] == '\n' && !vc_str_ends(vc_str_of(path), ".json")) return vc_tokenizer_from_sentencepiece(out, path, err);    /* field 1 */
    return vc_tokenizer_from_json(out, path, err);
}

int32_t vc_tok_bos(const struct vc_tokenizer *t) { return t->bos; }
int32_t vc_tok_eos(const struct vc_tokenizer *t) { return t->eos; }
uint32_t vc_tok_size(const struct vc_tokenizer *t) { return t->size; }
vc_str vc_tok_text(const struct vc_tokenizer *t, int32_t id) { return id >= 0 && (uint32_t)id < t->size ? t->text[id] : (vc_str){ "", 0 }; }
bool vc_tok_is_special(const struct vc_tokenizer *t, int32_t id) { return id >= 0 && (uint32_t)id < t->size && (t->flags[id] & VC_TOKF_SPECIAL); }
int32_t vc_tok_find(const struct vc_tokenizer *t, const char *text, size_t n) { return vc_text_map_find(&t->by_text, text, n); }
const char *vc_tok_chat_template(const struct vc_tokenizer *t) { return t->chat_template; }
bool vc_tok_parses_special(const struct vc_tokenizer *t) { return !t->plain_text; }
const char *vc_tok_kind(const struct vc_tokenizer *t) { return t->kind; }
