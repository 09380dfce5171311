/* SPDX-License-Identifier: Apache-2.0
 * tok_sp_file.c: a tokenizer from a SentencePiece model (sentencepiece_model.proto): unigram and BPE. Behaves as the
 * sentencepiece library 0.2: control pieces in a text are text (but see VC_ENC_PARSE_SPECIAL), user-defined ones are kept. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/map.h"
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"
#include "text/tok/tok_proto.h"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };
enum { UNIGRAM = 1, BPE = 2 };

/* Fields of ModelProto, with SentencePiece's defaults. */
struct model {
    vc_str charsmap, bos, eos, unk_surface;
    uint64_t type;
    bool byte_fallback, suffix, dummy, merge, escape;
    uint8_t *kind;                   /* by id, malloc'd */
    float *score;
    uint32_t n;
};

static vc_status bad(const struct vc_tokenizer *t, const struct vc_proto *m, const char *what, vc_err *err) {
    return vc_fail(err, VC_E_FORMAT, "%s: %s: byte %zu of it is no protocol buffer field", t->name, what, (size_t)(m->p - m->begin));
}

static vc_status read_trainer(const struct vc_tokenizer *t, struct model *x, vc_str s, vc_err *err) {
    struct vc_proto m = vc_proto_open(s);
    for (struct vc_proto_field f; vc_proto_next(&m, &f);) {
        if (f.number == 3) x->type = f.value;
        if (f.number == 24) x->suffix = f.value != 0;
        if (f.number == 35) x->byte_fallback = f.value != 0;
        if (f.number == 44) x->unk_surface = f.bytes;
        if (f.number == 46) x->bos = f.bytes;
        if (f.number == 47) x->eos = f.bytes;
    }
    return m.bad ? bad(t, &m, "trainer_spec", err) : VC_OK;
}

static vc_status read_normalizer(const struct vc_tokenizer *t, struct model *x, vc_str s, bool denormalizer, vc_err *err) {
    struct vc_proto m = vc_proto_open(s);
    for (struct vc_proto_field f; vc_proto_next(&m, &f);) {
        if (denormalizer) {
            if (f.number == 2 && f.bytes.n) return vc_fail(err, VC_E_UNSUPPORTED, "%s: denormalizer_spec.precompiled_charsmap is not supported", t->name);
            continue;
        }
        if (f.number == 2) x->charsmap = f.bytes;
        if (f.number == 3) x->dummy = f.value != 0;
        if (f.number == 4) x->merge = f.value != 0;
        if (f.number == 5) x->escape = f.value != 0;
    }
    return m.bad ? bad(t, &m, denormalizer ? "denormalizer_spec" : "normalizer_spec", err) : VC_OK;
}

static vc_status read_piece(struct vc_tokenizer *t, struct model *x, uint32_t id, vc_str s, vc_err *err) {
    struct vc_proto m = vc_proto_open(s);
    vc_str text = { "", 0 };
    uint64_t kind = NORMAL;
    float score = 0;
    for (struct vc_proto_field f; vc_proto_next(&m, &f);) {
        if (f.number == 1 && f.wire == 2) text = f.bytes;
        if (f.number == 2 && f.wire == 5) score = vc_proto_f32(&f);
        if (f.number == 3) kind = f.value;
    }
    if (m.bad || kind < NORMAL || kind > BYTE || !text.n || !isfinite(score) || vc_chr_valid(text.p, text.n) < text.n)
        return vc_fail(err, VC_E_FORMAT, "%s: pieces.%u: expected text in UTF-8, a finite score, and a type from 1 to 6", t->name, id);
    t->text[id] = (vc_str){ vc_arena_strndup(&t->arena, text.p, text.n), text.n };
    t->flags[id] = VC_TOKF_USED;
    x->kind[id] = (uint8_t)kind;
    x->score[id] = score;
    return VC_OK;
}

static vc_status read_model(struct vc_tokenizer *t, struct model *x, vc_str all, vc_err *err) {
    struct vc_proto m = vc_proto_open(all);
    for (struct vc_proto_field f; vc_proto_next(&m, &f);) {
        if (f.number == 1 && f.wire == 2) x->n++;
        else if (f.number == 2 && f.wire == 2) VC_TRY(read_trainer(t, x, f.bytes, err));
        else if ((f.number == 3 || f.number == 5) && f.wire == 2) VC_TRY(read_normalizer(t, x, f.bytes, f.number == 5, err));
    }
    if (m.bad) return bad(t, &m, "SentencePiece model", err);
    if (!x->n || x->n > 1u << 27) return vc_fail(err, VC_E_FORMAT, "%s: %u pieces", t->name, x->n);
    VC_TRY(vc_tok_set_size(t, x->n, err));
    x->kind = calloc(x->n, 1);
    x->score = calloc(x->n, sizeof *x->score);
    if (!x->kind || !x->score) return vc_tok_nomem(t, err);
    uint32_t id = 0;
    m = vc_proto_open(all);
    for (struct vc_proto_field f; vc_proto_next(&m, &f);) {
        if (f.number == 1 && f.wire == 2) VC_TRY(read_piece(t, x, id++, f.bytes, err));
    }
    if (t->arena.failed || !vc_text_map_add_all(&t->by_text, t->text, t->size)) return vc_tok_nomem(t, err);
    if (t->by_text.n != t->size) return vc_fail(err, VC_E_FORMAT, "%s: pieces: two have the same text", t->name);
    return VC_OK;
}

/* What a piece stands for in running text. */
static vc_status set_piece(struct vc_tokenizer *t, const struct model *x, uint32_t i, vc_err *err) {
    vc_str w = t->text[i];
    t->piece[i] = w;
    if (x->kind[i] == BYTE) {
        int b = vc_tok_byte_piece(w);
        if (b < 0) return vc_fail(err, VC_E_FORMAT, "%s: pieces.%u: a byte piece is spelled <0xNN>", t->name, i);
        char *p = vc_arena_alloc(&t->arena, 1, 1);
        if (!p) return vc_tok_nomem(t, err);
        *p = (char)b;
        t->piece[i] = (vc_str){ p, 1 };
        t->bpe.byte_id[b] = (int32_t)i;
    } else if (x->kind[i] == UNKNOWN) {
        t->piece[i] = (vc_str){ vc_arena_strndup(&t->arena, x->unk_surface.p, x->unk_surface.n), x->unk_surface.n };
    } else if (x->kind[i] != CONTROL && w.n >= 3 && memchr(w.p, 0xE2, w.n)) {
        char *p = vc_arena_alloc(&t->arena, w.n, 1);
        if (!p) return vc_tok_nomem(t, err);
        size_t n = 0;
        for (size_t j = 0; j < w.n;) {
            bool under = w.n - j >= 3 && !memcmp(w.p + j, "\xE2\x96\x81", 3);
            p[n++] = under ? ' ' : w.p[j];
            j += under ? 3 : 1;
        }
        t->piece[i] = (vc_str){ p, n };
    }
    return VC_OK;
}

static vc_status set_pieces(struct vc_tokenizer *t, const struct model *x, vc_err *err) {
    uint32_t unknowns = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        VC_TRY(set_piece(t, x, i, err));
        if (x->kind[i] == UNKNOWN) {
            t->bpe.unk = (int32_t)i;
            unknowns++;
        }
        if (x->kind[i] == UNKNOWN || x->kind[i] == CONTROL) t->flags[i] |= VC_TOKF_SPECIAL | VC_TOKF_ADDED;
        if (x->kind[i] == USER) t->flags[i] |= VC_TOKF_ADDED;
    }
    if (unknowns != 1) return vc_fail(err, VC_E_FORMAT, "%s: pieces: %u unknown pieces; one is expected", t->name, unknowns);
    for (int b = 0; b < 256 && x->byte_fallback; b++) {
        if (t->bpe.byte_id[b] < 0) return vc_fail(err, VC_E_FORMAT, "%s: pieces: byte_fallback without <0x%02X>", t->name, (unsigned)b);
    }
    return VC_OK;
}

/* Control pieces by request; user-defined ones always (BPE: they take part in no merge). */
static vc_status set_added(struct vc_tokenizer *t, const struct model *x, vc_err *err) {
    for (int i = 0; i < 2; i++) {
        t->added[i].v = VC_NEW_ARRAY(&t->arena, struct vc_tok_added, (size_t)x->n + 1);
        if (!t->added[i].v) return vc_tok_nomem(t, err);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        bool special = x->kind[i] == CONTROL || x->kind[i] == UNKNOWN, user = x->kind[i] == USER && x->type == BPE;
        struct vc_tok_added_set *set = &t->added[user];
        if (special || user) set->v[set->n++] = (struct vc_tok_added){ (int32_t)i, special ? VC_ADDED_SPECIAL : 0, t->text[i] };
        if (x->kind[i] == USER && !vc_trie_add(&t->keep, t->text[i].p, t->text[i].n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    for (int i = 0; i < 2; i++) VC_TRY(vc_tok_added_build(&t->added[i], err));
    return VC_OK;
}

static vc_status set_normalizer(struct vc_tokenizer *t, const struct model *x, vc_err *err) {
    struct vc_tok_norm n = { .kind = VC_NORM_SENTENCEPIECE, .keep = t->keep.num_nodes ? &t->keep : NULL };
    n.flags = (x->dummy ? VC_SP_DUMMY : 0u) | (x->merge ? VC_SP_MERGE : 0u) | (x->escape ? VC_SP_ESCAPE : 0u) | (x->suffix ? VC_SP_SUFFIX : 0u);
    char *copy = vc_arena_strndup(&t->arena, x->charsmap.p, x->charsmap.n);
    if (!copy) return vc_tok_nomem(t, err);
    const char *wrong = vc_charsmap_open(&n.map, copy, x->charsmap.n);
    if (wrong) return vc_fail(err, VC_E_FORMAT, "%s: normalizer_spec.precompiled_charsmap: %s", t->name, wrong);
    t->strip_first = x->merge ? VC_STRIP_ALL : x->dummy ? VC_STRIP_SHOWN : VC_STRIP_NONE;
    return vc_tok_add_norm(t, n, err);
}

/* As sentencepiece 0.2.3 scores: user-defined pieces 0.1 · (bytes - 1), unknown characters min - 10; unused pieces are left out. */
static vc_status set_unigram(struct vc_tokenizer *t, const struct model *x, vc_err *err) {
    struct vc_tok_unigram *u = &t->uni;
    float least = FLT_MAX;
    u->score = VC_NEW_ARRAY(&t->arena, double, x->n);
    if (!u->score) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->kind[i] == NORMAL) least = fminf(least, x->score[i]);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        u->score[i] = (double)(x->kind[i] == USER ? (float)(0.1 * (double)t->text[i].n - 0.1) : x->score[i]);
        if ((x->kind[i] == NORMAL || x->kind[i] == USER) && !vc_trie_add(&u->trie, t->text[i].p, t->text[i].n, (int32_t)i)) return vc_tok_nomem(t, err);
    }
    t->model = VC_MODEL_UNIGRAM;
    t->kind = "unigram";
    u->unk_score = (double)(least - 10.0f);
    u->f32 = true;
    u->byte_fallback = x->byte_fallback;
    return VC_OK;
}

static vc_status set_bpe(struct vc_tokenizer *t, const struct model *x, vc_err *err) {
    struct vc_tok_bpe *b = &t->bpe;
    uint32_t *order = VC_NEW_ARRAY(&t->arena, uint32_t, x->n);
    vc_str *keys = VC_NEW_ARRAY(&t->arena, vc_str, x->n);
    if (!order || !keys || !vc_text_map_init(&b->own, x->n)) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->kind[i] == UNUSED) return vc_fail(err, VC_E_UNSUPPORTED, "%s: pieces.%u: an unused piece in a BPE model is not supported", t->name, i);
        order[i] = vc_tok_order_of(x->score[i]);
        keys[i] = x->kind[i] == NORMAL || x->kind[i] == USER ? t->text[i] : (vc_str){ "", 0 };
        if (keys[i].n > b->max_len) b->max_len = (uint32_t)keys[i].n;
    }
    if (!vc_text_map_add_all(&b->own, keys, x->n)) return vc_tok_nomem(t, err);
    b->map = &b->own;
    b->order = order;
    b->byte_fallback = x->byte_fallback;
    b->unknown_runs = true;
    t->model = VC_MODEL_SPM;
    t->kind = "sentencepiece bpe";
    vc_tok_bpe_finish(t);
    return VC_OK;
}

static int32_t control_id(const struct vc_tokenizer *t, const struct model *x, vc_str text) {
    int32_t id = vc_text_map_find(&t->by_text, text.p, text.n);
    return id >= 0 && x->kind[id] == CONTROL ? id : -1;
}

static vc_status build(struct vc_tokenizer *t, struct model *x, vc_str all, const char *path, vc_err *err) {
    VC_TRY(read_model(t, x, all, err));
    if (x->type != UNIGRAM && x->type != BPE)
        return vc_fail(err, VC_E_UNSUPPORTED, "%s: trainer_spec.model_type: %llu is not supported (1 unigram and 2 BPE are)", t->name, (unsigned long long)x->type);
    VC_TRY(set_pieces(t, x, err));
    VC_TRY(set_added(t, x, err));
    VC_TRY(set_normalizer(t, x, err));
    VC_TRY(x->type == BPE ? set_bpe(t, x, err) : set_unigram(t, x, err));
    t->decode = VC_DECODE_PIECES;
    t->plain_text = true;
    t->bos = control_id(t, x, x->bos);
    t->eos = control_id(t, x, x->eos);
    bool bos = t->bos >= 0, eos = t->bos < 0 && t->eos >= 0;    /* Llama's way, or T5's where there is no BOS */
    VC_TRY(vc_tok_load_beside(t, path, &bos, &eos, err));
    VC_TRY(vc_tok_set_ends(t, bos, eos, err));
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}

vc_status vc_tokenizer_from_sentencepiece(struct vc_tokenizer **out, const char *path, vc_err *err) {
    *out = NULL;
    struct vc_map map;
    VC_TRY(vc_map_open(&map, path, err));
    struct model x = { .bos = VC_STR("<s>"), .eos = VC_STR("</s>"), .unk_surface = VC_STR(" \xE2\x81\x87 "), .charsmap = { "", 0 }, .type = UNIGRAM,
                       .dummy = true, .merge = true, .escape = true };
    struct vc_tokenizer *t = vc_tokenizer_alloc(path);
    vc_status r = t ? build(t, &x, (vc_str){ (const char *)map.p, map.n }, path, err) : vc_fail(err, VC_E_NOMEM, "%s: out of memory", path);
    free(x.kind);
    free(x.score);
    vc_map_close(&map);
    if (r) vc_tokenizer_close(t);
    else *out = t;
    return r;
}
