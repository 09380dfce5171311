/* SPDX-License-Identifier: Apache-2.0
 * tok_norm_sp.c: SentencePiece's normalizer (normalizer.cc, and as llama.cpp's llm_tokenizer_ugm has it), and the
 * tokenizers crate's Precompiled, which applies the same rules by grapheme clusters. */
#include <utf8proc.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

static const vc_str under = { "\xE2\x96\x81", 3 };    /* U+2581 */

/* ---- Precompiled ---------------------------------------------------------------------------------------------- */

static size_t grapheme(const char *p, size_t n) {
    utf8proc_int32_t state = 0;
    uint32_t a, b;
    size_t i = vc_chr_at(p, &a);
    for (size_t k; i < n; i += k, a = b) {
        k = vc_chr_at(p + i, &b);
        if (a < 0x300 && b < 0x300 && !(a == '\r' && b == '\n')) return i;
        if (utf8proc_grapheme_break_stateful((utf8proc_int32_t)a, (utf8proc_int32_t)b, &state)) return i;
    }
    return i;
}

static size_t count(vc_str w) {
    size_t n = 0;
    for (size_t i = 0; i < w.n; i++) n += !vc_chr_tail(w.p[i]);
    return n;
}

/* normalizers/precompiled.rs, replace(): characters that are more come last, characters that are fewer are swallowed by the last. */
static bool replace(struct vc_tok_scratch *s, size_t *n, vc_str old, vc_str by) {
    size_t have = count(old), want = count(by), k = 0;
    for (size_t i = 0; i < by.n; k++) {
        uint32_t cp;
        i += vc_chr_at(by.p + i, &cp);
        if (!vc_tok_add_cp(s, n, cp, want > have && k >= have ? 1 : 0)) return false;
    }
    if (want < have && *n) s->cps[*n - 1].change -= (int32_t)(have - want);
    return true;
}

bool vc_tok_norm_charsmap(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o) {
    size_t n = 0;
    bool changed = false;
    for (size_t i = 0, k; i < v->n; i += k) {
        vc_str to;
        k = grapheme(v->p + i, v->n - i);
        if (k < 6 && vc_charsmap_find(&st->map, v->p + i, k, false, &to)) {
            changed = true;
            if (!replace(s, &n, (vc_str){ v->p + i, k }, to)) return false;
            continue;
        }
        for (size_t j = i, c; j < i + k; j += c) {
            uint32_t cp;
            c = vc_chr_at(v->p + j, &cp);
            if (vc_charsmap_find(&st->map, v->p + j, c, false, &to)) {
                changed = true;
                if (!replace(s, &n, (vc_str){ v->p + j, c }, to)) return false;
            } else if (!vc_tok_add_cp(s, &n, cp, 0)) return false;
        }
    }
    return changed && vc_tok_apply(s, v, n, o);
}

/* ---- SentencePiece -------------------------------------------------------------------------------------------- */

/* What the text at v->p[i …) begins with: *len bytes of it, and what they become. A text to be kept counts only as a whole, also
 * where llama.cpp lets its first bytes through unchanged. */
static vc_str prefix(const struct vc_tok_norm *st, const struct vc_tok_view *v, size_t i, size_t *len) {
    vc_str to;
    size_t keep = 0, j = i;
    for (uint32_t node = st->keep ? st->keep->first[(unsigned char)v->p[i]] : 0; node;) {
        j++;
        if (st->keep->value[node] >= 0) keep = j - i;
        node = j < v->n ? vc_trie_step(st->keep, node, (unsigned char)v->p[j]) : 0;
    }
    if ((*len = keep) > 0) return (vc_str){ v->p + i, keep };
    *len = vc_charsmap_find(&st->map, v->p + i, v->n - i, true, &to);
    if (*len && (i + *len >= v->n || !vc_chr_tail(v->p[i + *len]))) return to;
    *len = vc_chr_len(v->p[i]);
    return (vc_str){ v->p + i, *len };
}

static bool put_space(struct vc_tok_scratch *s, const struct vc_tok_norm *st, struct vc_tok_store *o, struct vc_tok_place at) {
    return st->flags & VC_SP_ESCAPE ? vc_tok_put(s, o, under.p, under.n, at) : vc_tok_put(s, o, " ", 1, at);
}

/* Where the bytes a … b - 1 of the view come from. */
static struct vc_tok_place span(const struct vc_tok_scratch *s, const struct vc_tok_view *v, size_t a, size_t b) {
    if (!s->offsets || !v->n) return (struct vc_tok_place){ 0, 0 };
    return (struct vc_tok_place){ vc_tok_place_of(s, v, a).start, vc_tok_place_of(s, v, b - 1).end };
}

static bool put_text(struct vc_tok_scratch *s, const struct vc_tok_norm *st, struct vc_tok_store *o, vc_str w, struct vc_tok_place at) {
    for (size_t i = 0; i < w.n; i++) {
        if (w.p[i] == ' ') {
            if (!put_space(s, st, o, at)) return false;
            continue;
        }
        size_t j = i;
        while (j < w.n && w.p[j] != ' ') j++;
        if (!vc_tok_put(s, o, w.p + i, j - i, at)) return false;
        i = j - 1;
    }
    return true;
}

static bool ugm(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o) {
    bool dummy = (st->flags & VC_SP_DUMMY) && !(st->flags & VC_SP_SUFFIX), merge = st->flags & VC_SP_MERGE, in_word = false, done = false;
    for (size_t i = 0, len; i < v->n; i += len) {
        vc_str w = prefix(st, v, i, &len);
        struct vc_tok_place at = span(s, v, i, i + len);
        for (size_t j = 0; j < w.n; j++) {
            if (w.p[j] != ' ') {
                if (!in_word && ((dummy && !done) || merge)) {
                    if (!put_space(s, st, o, at)) return false;
                    done = true;
                }
                in_word = true;
                if (!vc_tok_put(s, o, w.p + j, 1, at)) return false;
            } else {
                in_word = false;
                if (!merge && !put_space(s, st, o, at)) return false;
            }
        }
    }
    if ((st->flags & VC_SP_DUMMY) && (st->flags & VC_SP_SUFFIX) && v->n) return put_space(s, st, o, span(s, v, v->n - 1, v->n));
    return true;
}

bool vc_tok_norm_sp(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o) {
    bool merge = st->flags & VC_SP_MERGE, after_space = merge;
    size_t i = 0, len;
    if (st->flags & VC_SP_UGM) return ugm(s, st, v, o);
    while (merge && i < v->n && vc_str_is(prefix(st, v, i, &len), " ")) i += len;
    if (i == v->n) return true;
    if ((st->flags & VC_SP_DUMMY) && !(st->flags & VC_SP_SUFFIX) && !put_space(s, st, o, span(s, v, i, i + 1))) return false;
    for (; i < v->n; i += len) {
        vc_str w = prefix(st, v, i, &len);
        for (; after_space && w.n && *w.p == ' '; w.p++) w.n--;
        if (w.n && !put_text(s, st, o, w, span(s, v, i, i + len))) return false;
        if (w.n) after_space = merge && w.p[w.n - 1] == ' ';
    }
    vc_str space = st->flags & VC_SP_ESCAPE ? under : VC_STR(" ");
    while (merge && o->n >= space.n && !memcmp(o->p + o->n - space.n, space.p, space.n)) o->n -= space.n;
    if ((st->flags & VC_SP_DUMMY) && (st->flags & VC_SP_SUFFIX)) return put_space(s, st, o, span(s, v, v->n - 1, v->n));
    return true;
}
