/* SPDX-License-Identifier: Apache-2.0
 * tok_encode.c: text to ids: scratch memory, the order of the stages, the cache of words, offsets. */
#include <stdlib.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

bool vc_ids_push(struct vc_ids *ids, int32_t id, uint32_t start, uint32_t end) {
    if (ids->failed) return false;
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? ids->cap * 2 : 64;
        int32_t *v = realloc(ids->v, cap * sizeof *v);
        if (v) ids->v = v;
        uint32_t *a = ids->with_offsets ? realloc(ids->start, cap * sizeof *a) : NULL;
        if (a) ids->start = a;
        uint32_t *b = ids->with_offsets ? realloc(ids->end, cap * sizeof *b) : NULL;
        if (b) ids->end = b;
        uint8_t *c = ids->with_types ? realloc(ids->type, cap) : NULL;
        if (c) ids->type = c;
        if (!v || (ids->with_offsets && (!a || !b)) || (ids->with_types && !c)) {
            ids->failed = true;
            return false;
        }
        ids->cap = cap;
    }
    ids->v[ids->n] = id;
    if (ids->with_types) ids->type[ids->n] = 0;
    if (ids->with_offsets) {
        ids->start[ids->n] = start;
        ids->end[ids->n] = end;
    }
    ids->n++;
    return true;
}

void vc_ids_free(struct vc_ids *ids) {
    free(ids->v);
    free(ids->start);
    free(ids->end);
    free(ids->type);
    *ids = (struct vc_ids){ .with_offsets = ids->with_offsets, .with_types = ids->with_types };
}

/* ---- scratch -------------------------------------------------------------------------------------------------- */

static struct vc_tok_scratch *take(const struct vc_tokenizer *ct) {
    struct vc_tokenizer *t = (struct vc_tokenizer *)(uintptr_t)ct;    /* only the list of scratch changes, under its lock */
    pthread_mutex_lock(&t->lock);
    struct vc_tok_scratch *s = t->scratch;
    if (s) t->scratch = s->next;
    pthread_mutex_unlock(&t->lock);
    if (s) return s;
    s = calloc(1, sizeof *s);
    if (s && !(s->cache = calloc(VC_TOK_CACHE_SLOTS, sizeof *s->cache))) {
        free(s);
        return NULL;
    }
    return s;
}

void vc_tok_scratch_free(struct vc_tok_scratch *s) {
    for (int i = 0; i < 2; i++) {
        free(s->norm[i].p);
        free(s->norm[i].at);
        free(s->pre[i].p);
        free(s->pre[i].at);
        free(s->segs[i].v);
    }
    free(s->found);
    free(s->taken);
    free(s->cps);
    free(s->sym);
    free(s->heap);
    free(s->best);
    free(s->word);
    free(s->cache);
    vc_regex_run_free(&s->run);
    free(s);
}

/* A scratch that a very long text has grown is not kept. */
static void give(const struct vc_tokenizer *ct, struct vc_tok_scratch *s) {
    struct vc_tokenizer *t = (struct vc_tokenizer *)(uintptr_t)ct;
    if (s->failed || s->cap_sym > 1 << 18 || s->cap_best > 1 << 18 || s->cap_word > 1 << 20 || s->segs[0].cap > 1 << 20 || s->norm[0].cap > 1 << 22 || s->norm[1].cap > 1 << 22) {
        vc_tok_scratch_free(s);
        return;
    }
    pthread_mutex_lock(&t->lock);
    s->next = t->scratch;
    t->scratch = s;
    pthread_mutex_unlock(&t->lock);
}

/* ---- words ---------------------------------------------------------------------------------------------------- */

struct encode { const struct vc_tokenizer *t; struct vc_tok_scratch *s; struct vc_ids *out; bool special; vc_err *err; };

/* Token id, which stands for bytes at … at + len - 1 of the view. */
static bool put(const struct encode *e, const struct vc_tok_view *v, size_t at, int32_t id, size_t len) {
    uint32_t a = 0, b = 0;
    if (e->out->with_offsets && v->n) {
        size_t last = at + (len ? len - 1 : 0);
        a = vc_tok_place_of(e->s, v, at < v->n ? at : v->n - 1).start;
        b = vc_tok_place_of(e->s, v, last < v->n ? last : v->n - 1).end;
    }
    return vc_ids_push(e->out, id, a, b);
}

static void remember(struct vc_tok_cached *c, uint64_t h, const char *w, size_t n, const struct vc_tok_sym *y, size_t k) {
    c->tag = (uint32_t)(h >> 32);
    c->klen = (uint8_t)n;
    c->n = (uint8_t)k;
    memcpy(c->key, w, n);
    for (size_t i = 0; i < k; i++) {
        c->id[i] = y[i].id;
        c->at[i] = (uint8_t)y[i].at;
        c->len[i] = (uint8_t)y[i].len;
    }
}

static vc_status word(const struct encode *e, const struct vc_tok_view *v, size_t a, size_t b) {
    const char *w = v->p + a;
    size_t n = b - a;
    struct vc_tok_cached *c = NULL;
    uint64_t h = 0;
    if (n <= VC_TOK_CACHE_KEY) {
        h = vc_text_hash(w, n);
        c = &e->s->cache[h % VC_TOK_CACHE_SLOTS];
        if (c->klen == n && c->tag == (uint32_t)(h >> 32) && !memcmp(c->key, w, n)) {
            for (unsigned i = 0; i < c->n; i++) put(e, v, a + c->at[i], c->id[i], c->len[i]);
            return VC_OK;
        }
    }
    VC_TRY(vc_tok_model_word(e->t, e->s, w, n, e->err));
    const struct vc_tok_sym *y = e->s->sym;
    size_t k = e->s->num_sym;
    for (size_t i = 0; i < k; i++) put(e, v, a + y[i].at, y[i].id, y[i].len);
    if (c && k <= VC_TOK_CACHE_IDS) remember(c, h, w, n, y, k);
    return VC_OK;
}

static vc_status words(const struct encode *e, const struct vc_tok_view *v, size_t a, size_t b) {
    if (!e->t->bpe.cut_spaces) return word(e, v, a, b);
    size_t from = a;
    for (size_t i = a + 1; i + 3 <= b; i++) {
        const char *q = memchr(v->p + i, 0xE2, b - i);
        if (!q) break;
        i = (size_t)(q - v->p);
        if (i + 3 > b || q[1] != '\x96' || q[2] != '\x81') continue;
        if (e->t->bpe.spanned[(unsigned char)q[-1]] || (i - from >= 3 && !memcmp(q - 3, q, 3))) continue;
        VC_TRY(word(e, v, from, i));
        from = i;
        i += 2;
    }
    return word(e, v, from, b);
}

/* A stretch without added tokens, normalized. */
static vc_status stretch(const struct encode *e, struct vc_tok_view v) {
    struct vc_tok_segs *segs;
    VC_TRY(vc_tok_pretokenize(e->s, e->t->pre, e->t->num_pre, &v, &segs, e->err));
    for (size_t i = 0; i < segs->n; i++) VC_TRY(words(e, &v, segs->v[i].start, segs->v[i].end));
    return VC_OK;
}

static struct vc_tok_view part(const struct vc_tok_view *v, size_t a, size_t b) {
    return (struct vc_tok_view){ v->p + a, b - a, v->at ? v->at + a : NULL, v->base + (uint32_t)a };
}

/* A stretch of the original text between added tokens. */
static vc_status between(const struct encode *e, struct vc_tok_view v) {
    const struct vc_tok_added_set *set = &e->t->added[1];
    VC_TRY(vc_tok_normalize(e->s, e->t->norm, e->t->num_norm, &v, e->err));
    if (!v.n) return VC_OK;
    if (!set->n) return stretch(e, v);
    size_t last = 0;
    VC_TRY(vc_tok_added_find(e->s, set, v.p, v.n, e->special, e->err));
    for (size_t i = 0; i < e->s->num_found; i++) {    /* stretch() finds no added tokens: the list stays */
        struct vc_tok_found f = e->s->found[i];
        if (last < f.start) VC_TRY(stretch(e, part(&v, last, f.start)));
        put(e, &v, f.start, set->v[f.added].id, f.end - f.start);
        last = f.end;
    }
    return last < v.n ? stretch(e, part(&v, last, v.n)) : VC_OK;
}

/* Offsets of ByteLevel post-processors: spaces at both ends of a token do not count. */
static void trim(const struct vc_tokenizer *t, struct vc_ids *out, size_t from, const char *text) {
    for (size_t i = from; i < out->n; i++) {
        uint32_t lead = 0, trail = 0, cp, *a = &out->start[i], *b = &out->end[i];
        vc_str w = t->text[out->v[i]];
        if (t->flags[out->v[i]] & VC_TOKF_ADDED) w = (vc_str){ text + *a, *b - *a };    /* with the spaces it swallowed */
        for (size_t j = 0, k; j < w.n && (k = vc_chr_at(w.p + j, &cp), cp == 0x120 || vc_chr_space(cp)); j += k) lead++;
        for (size_t j = w.n, k; j > 0 && (k = vc_chr_before(w.p, j, &cp), cp == 0x120 || vc_chr_space(cp)); j -= k) trail++;
        if (lead == 1 && (i == from || *a == 0) && t->trim_keeps_first) lead = 0;
        for (; lead && *a < *b; lead--) *a += (uint32_t)vc_chr_len(text[*a]);
        for (; trail && *b > *a; trail--) *b -= (uint32_t)vc_chr_before(text, *b, &cp);
    }
}

static vc_status run(const struct encode *e, const char *text, size_t n) {
    struct vc_tok_scratch *s = e->s;
    const struct vc_tok_added_set *set = &e->t->added[0];
    struct vc_tok_view v = { text, n, NULL, 0 };
    if (!set->n) return n ? between(e, v) : VC_OK;
    VC_TRY(vc_tok_added_find(s, set, text, n, e->special, e->err));
    if (!s->num_found) return n ? between(e, v) : VC_OK;
    size_t num = s->num_found, last = 0;    /* between() uses the list itself: keep this one aside */
    struct vc_tok_found *f = malloc(num * sizeof *f);
    if (!f) return vc_fail(e->err, VC_E_NOMEM, "tokenizer: out of memory");
    memcpy(f, s->found, num * sizeof *f);
    vc_status r = VC_OK;
    for (size_t i = 0; i < num && r == VC_OK; i++) {
        if (last < f[i].start) r = between(e, part(&v, last, f[i].start));
        vc_ids_push(e->out, set->v[f[i].added].id, f[i].start, f[i].end);
        last = f[i].end;
    }
    free(f);
    return r == VC_OK && last < n ? between(e, part(&v, last, n)) : r;
}

/* One text without what is put around it, its tokens of the given type. */
static vc_status encode_text(const struct vc_tokenizer *t, struct vc_tok_scratch *s, vc_str text, int flags, uint8_t type, struct vc_ids *out, vc_err *err) {
    if (text.n > INT32_MAX) return vc_fail(err, VC_E_TOO_LONG, "text of %zu bytes: at most %d are taken", text.n, INT32_MAX);
    size_t ok = vc_chr_valid(text.p, text.n), from = out->n;
    if (ok < text.n) return vc_fail(err, VC_E_INVALID, "text: byte offset %zu: 0x%02X begins no UTF-8 character", ok, (unsigned char)text.p[ok]);
    s->orig = text.p;
    s->orig_n = text.n;
    s->offsets = out->with_offsets || t->needs_places;
    struct encode e = { t, s, out, (flags & VC_ENC_PARSE_SPECIAL) != 0, err };
    VC_TRY(run(&e, text.p, text.n));
    if (t->trim_offsets && out->with_offsets && !out->failed) trim(t, out, from, text.p);
    if (out->with_types && !out->failed && out->n > from) memset(out->type + from, type, out->n - from);
    return VC_OK;
}

static void put_added(struct vc_ids *out, int32_t id, uint8_t type) {
    if (vc_ids_push(out, id, 0, 0) && out->with_types) out->type[out->n - 1] = (uint8_t)(type | VC_IDS_ADDED);
}

static vc_status finish(const struct vc_tokenizer *t, struct vc_tok_scratch *s, struct vc_ids *out, size_t begin, vc_status r, vc_err *err) {
    give(t, s);
    if (r == VC_OK && out->failed) r = vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    if (r) out->n = begin;
    return r;
}

vc_status vc_tok_encode(const struct vc_tokenizer *t, const char *text, size_t n, int flags, struct vc_ids *out, vc_err *err) {
    size_t begin = out->n;
    struct vc_tok_scratch *s = take(t);
    if (!s) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    for (uint32_t i = 0; (flags & VC_ENC_ADD_SPECIAL) && i < t->num_before; i++) put_added(out, t->before[i], 0);
    vc_status r = encode_text(t, s, (vc_str){ text, n }, flags, 0, out, err);
    for (uint32_t i = 0; (flags & VC_ENC_ADD_SPECIAL) && i < t->num_after; i++) put_added(out, t->after[i], 0);
    return finish(t, s, out, begin, r, err);
}

vc_status vc_tok_encode_pair(const struct vc_tokenizer *t, const vc_str text[2], int flags, struct vc_ids *out, vc_err *err) {
    static const struct vc_tok_part plain[] = { { 0, -1, 0 }, { 1, -1, 1 } };
    const struct vc_tok_part *part = t->pair ? t->pair : plain;
    uint32_t n = t->pair ? t->num_pair : 2;
    size_t begin = out->n;
    struct vc_tok_scratch *s = take(t);
    if (!s) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    vc_status r = VC_OK;
    for (uint32_t i = 0; i < n && r == VC_OK; i++) {
        if (part[i].text == 1) out->pair_from = out->n;
        if (part[i].text >= 0) r = encode_text(t, s, text[part[i].text], flags, part[i].type, out, err);
        else if (flags & VC_ENC_ADD_SPECIAL) put_added(out, part[i].id, part[i].type);
    }
    return finish(t, s, out, begin, r, err);
}
