/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok/tok_ranks.h"

#include <stdlib.h>

#include "text/tok/tok_chars.h"

/* Bytes hashed while looking for merges: more than this is no vocabulary. */
#define MAX_WORK (UINT64_C(1) << 31)

static vc_status set_texts(struct vc_tokenizer *t, const vc_str *bytes, uint32_t n, uint32_t first_id, const struct vc_tok_named *named, uint32_t num_named,
                           vc_err *err) {
    uint32_t size = first_id + n;
    for (uint32_t i = 0; i < num_named; i++) {
        if (named[i].id < 0 || (uint32_t)named[i].id > 2 * (first_id + n) + 65536)
            return vc_fail(err, VC_E_FORMAT, "%s: special token %d: an id of the vocabulary is expected", t->name, named[i].id);
        if ((uint32_t)named[i].id >= first_id && (uint32_t)named[i].id < first_id + n && bytes[(uint32_t)named[i].id - first_id].n)
            return vc_fail(err, VC_E_FORMAT, "%s: special token %d: the id is that of a rank", t->name, named[i].id);
        size = VC_MAX(size, (uint32_t)named[i].id + 1);
    }
    VC_TRY(vc_tok_set_size(t, size, err));
    for (uint32_t i = 0; i < n; i++) {
        vc_str w = bytes[i];
        uint32_t id = first_id + i;
        if (!w.n) continue;
        t->piece[id] = w;
        t->flags[id] = VC_TOKF_USED;
        if (vc_chr_valid(w.p, w.n) < w.n) {    /* spelled in the ByteLevel alphabet */
            char *p = vc_arena_alloc(&t->arena, 2 * w.n + 1, 1);
            size_t k = 0;
            for (size_t j = 0; p && j < w.n; j++) {
                char c[4];
                size_t m = vc_chr_put(c, vc_byte_char((unsigned char)w.p[j]));
                memcpy(p + k, c, m);
                k += m;
            }
            w = (vc_str){ p ? p : "", k };
        }
        t->text[id] = w;
    }
    for (uint32_t i = 0; i < num_named; i++) {
        int32_t id = named[i].id;
        if (t->flags[id]) return vc_fail(err, VC_E_FORMAT, "%s: special token %d is there twice", t->name, id);
        t->text[id] = t->piece[id] = named[i].text;
        t->flags[id] = (uint8_t)(VC_TOKF_USED | VC_TOKF_ADDED | (named[i].special ? VC_TOKF_SPECIAL : 0));
    }
    for (uint32_t i = 0; i < num_named; i++) {    /* before the ranks: a token of the same spelling must not hide them */
        if (!vc_text_map_add(&t->by_text, named[i].text.p, named[i].text.n, named[i].id, NULL)) return vc_tok_nomem(t, err);
    }
    return vc_text_map_add_all(&t->by_text, t->text, t->size) ? VC_OK : vc_tok_nomem(t, err);
}

struct merges { struct vc_pair_slot *v; size_t n, cap; };

static bool add_merge(struct merges *m, struct vc_pair_slot x) {
    if (m->n == m->cap) {
        size_t cap = m->cap ? m->cap * 2 : 4096;
        struct vc_pair_slot *v = realloc(m->v, cap * sizeof *v);
        if (!v) return false;
        m->v = v;
        m->cap = cap;
    }
    m->v[m->n++] = x;
    return true;
}

static vc_status set_merges(struct vc_tokenizer *t, const vc_str *bytes, uint32_t n, uint32_t first_id, struct merges *m, vc_err *err) {
    uint64_t work = 0;
    for (uint32_t i = 0; i < n; i++) {
        vc_str w = bytes[i];
        work += (uint64_t)w.n * w.n;
        if (work > MAX_WORK) return vc_fail(err, VC_E_UNSUPPORTED, "%s: the tokens are too long together to be read as ranks", t->name);
        for (size_t k = 1; k < w.n; k++) {
            int32_t a = vc_text_map_find(t->bpe.map, w.p, k), b = a < 0 ? -1 : vc_text_map_find(t->bpe.map, w.p + k, w.n - k);
            if (b >= 0 && !add_merge(m, (struct vc_pair_slot){ a, b, i, (int32_t)(first_id + i) })) return vc_tok_nomem(t, err);
        }
    }
    if (!vc_pair_map_init(&t->bpe.pairs, m->n)) return vc_tok_nomem(t, err);
    for (size_t i = 0; i < m->n; i++) vc_pair_map_add(&t->bpe.pairs, m->v[i].a, m->v[i].b, m->v[i].rank, m->v[i].id, false);
    return VC_OK;
}

static vc_status set_added(struct vc_tokenizer *t, const struct vc_tok_named *named, uint32_t n, vc_err *err) {
    struct vc_tok_added_set *set = &t->added[0];
    set->v = VC_NEW_ARRAY(&t->arena, struct vc_tok_added, (size_t)n + 1);
    if (!set->v) return vc_tok_nomem(t, err);
    for (uint32_t i = 0; i < n; i++) {
        if (named[i].text.n) set->v[set->n++] = (struct vc_tok_added){ named[i].id, named[i].special ? VC_ADDED_SPECIAL : 0, named[i].text };
    }
    return vc_tok_added_build(set, err);
}

vc_status vc_tok_from_ranks(struct vc_tokenizer *t, const vc_str *bytes, uint32_t n, uint32_t first_id, const struct vc_tok_named *named, uint32_t num_named,
                            vc_str pattern, vc_err *err) {
    struct vc_tok_bpe *b = &t->bpe;
    struct vc_tok_pre pre = { .kind = VC_PRE_SPLIT, .behavior = VC_SPLIT_REMOVED, .invert = true };
    if (n > 1u << 27 || first_id > 1u << 27) return vc_fail(err, VC_E_UNSUPPORTED, "%s: %u ranks behind %u special tokens", t->name, n, first_id);
    t->kind = "byte-level bpe";
    t->decode = VC_DECODE_PIECES;
    VC_TRY(vc_tok_load_pattern(t, &pre.pattern, pattern.p, pattern.n, err));
    VC_TRY(vc_tok_add_pre(t, pre, err));
    VC_TRY(set_texts(t, bytes, n, first_id, named, num_named, err));
    vc_str *keys = VC_NEW_ARRAY(&t->arena, vc_str, t->size);
    if (!keys || !vc_text_map_init(&b->own, n)) return vc_tok_nomem(t, err);
    if (n) memcpy(keys + first_id, bytes, n * sizeof *bytes);
    if (!vc_text_map_add_all(&b->own, keys, t->size)) return vc_tok_nomem(t, err);
    size_t used = 0;
    for (uint32_t i = 0; i < n; i++) used += bytes[i].n > 0;
    if (b->own.n != used) return vc_fail(err, VC_E_FORMAT, "%s: two ranks have the same bytes", t->name);
    b->map = &b->own;
    b->bytes = b->ignore_merges = true;
    for (int i = 0; i < 256; i++) {
        char c = (char)i;
        b->byte_id[i] = vc_text_map_find(b->map, &c, 1);
        if (b->byte_id[i] < 0) return vc_fail(err, VC_E_FORMAT, "%s: no rank is the single byte 0x%02X", t->name, (unsigned)i);
    }
    struct merges m = { 0 };
    vc_status r = set_merges(t, bytes, n, first_id, &m, err);
    free(m.v);
    VC_TRY(r);
    VC_TRY(set_added(t, named, num_named, err));
    vc_tok_bpe_finish(t);
    return t->arena.failed ? vc_tok_nomem(t, err) : VC_OK;
}
