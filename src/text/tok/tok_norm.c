/* SPDX-License-Identifier: Apache-2.0
 * tok_norm.c: normalizer steps. Each step writes a new text and carries the places of its bytes along as the tokenizers
 * crate's NormalizedString does: a replaced character keeps its place, an inserted one takes that of the character before. */
#include <utf8proc.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

bool vc_tok_apply(struct vc_tok_scratch *s, const struct vc_tok_view *v, size_t n, struct vc_tok_store *o) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        char c[4];
        size_t k = vc_chr_put(c, s->cps[i].cp);
        int32_t change = s->cps[i].change;
        struct vc_tok_place p = { 0, 0 };
        if (s->offsets && v->n) {
            if (change <= 0) p = vc_tok_place_of(s, v, at < v->n ? at : v->n - 1);
            else if (at > 0) p = vc_tok_place_of(s, v, at - 1);
        }
        for (int32_t j = change; j <= 0 && at < v->n; j++) at += vc_chr_len(v->p[at]);
        if (!vc_tok_put(s, o, c, k, p)) return false;
    }
    return true;
}

bool vc_tok_add_cp(struct vc_tok_scratch *s, size_t *n, uint32_t cp, int32_t change) {
    if (!vc_tok_grow(s, &s->cps, &s->cap_cps, *n + 1, sizeof *s->cps)) return false;
    s->cps[*n].cp = cp;
    s->cps[(*n)++].change = change;
    return true;
}

static int ccc(uint32_t cp) { return cp < 0x300 ? 0 : utf8proc_get_property((utf8proc_int32_t)cp)->combining_class; }

/* Primary composite of a and b, 0 if there is none. */
static uint32_t compose(uint32_t a, uint32_t b) {
    if (b < 0x300) return 0;
    utf8proc_int32_t p[2] = { (utf8proc_int32_t)a, (utf8proc_int32_t)b };
    bool one = utf8proc_normalize_utf32(p, 2, UTF8PROC_COMPOSE | UTF8PROC_STABLE) == 1;
    return one && !vc_chr_undivided((uint32_t)p[0]) ? (uint32_t)p[0] : 0;
}

static bool decompose(struct vc_tok_scratch *s, const struct vc_tok_view *v, bool compat, size_t *n) {
    size_t run = 0;    /* begin of the characters that may still be reordered */
    for (size_t i = 0; i < v->n;) {
        uint32_t cp;
        i += vc_chr_at(v->p + i, &cp);
        utf8proc_int32_t d[32] = { (utf8proc_int32_t)cp };
        int boundary = 0, opt = UTF8PROC_DECOMPOSE | (compat ? UTF8PROC_COMPAT : 0);
        utf8proc_ssize_t k = cp < 0xA0 || vc_chr_undivided(cp) ? 1 : utf8proc_decompose_char((utf8proc_int32_t)cp, d, 32, (utf8proc_option_t)opt, &boundary);
        if (k < 1 || k > 32) { k = 1; d[0] = (utf8proc_int32_t)cp; }
        for (utf8proc_ssize_t j = 0; j < k; j++) {
            int class = ccc((uint32_t)d[j]);
            if (!vc_tok_add_cp(s, n, (uint32_t)d[j], j != 0)) return false;
            if (class == 0) { run = *n; continue; }
            for (size_t x = *n - 1; x > run && ccc(s->cps[x - 1].cp) > class; x--) {    /* canonical order, stable */
                uint32_t c = s->cps[x].cp;
                int32_t h = s->cps[x].change;
                s->cps[x] = s->cps[x - 1];
                s->cps[x - 1].cp = c;
                s->cps[x - 1].change = h;
            }
        }
    }
    return true;
}

/* Canonical composition (UAX #15) of s->cps in place; returns the new length. */
static size_t recompose(struct vc_tok_scratch *s, size_t n) {
    size_t out = 0, starter = SIZE_MAX;
    int last = -1;    /* class of the last character kept behind the starter, -1: none */
    for (size_t i = 0; i < n; i++) {
        uint32_t cp = s->cps[i].cp, r;
        int class = ccc(cp);
        if (starter != SIZE_MAX && last < class && (r = compose(s->cps[starter].cp, cp)) != 0) {
            s->cps[starter].cp = r;
            s->cps[starter].change += s->cps[i].change - 1;
            continue;
        }
        if (class == 0) { starter = out; last = -1; }
        else last = class;
        s->cps[out++] = s->cps[i];
    }
    return out;
}

/* Characters that NFC leaves alone whatever stands beside them, but for combining marks and jamo, which are not in here. */
static bool nfc_inert(uint32_t c) {
    return c < 0x300 || (c >= 0x400 && c <= 0x482) || (c >= 0x48A && c <= 0x58F) || (c >= 0x2010 && c <= 0x2027) ||
           (c >= 0x2500 && c <= 0x2ADB) || (c >= 0x3001 && c <= 0x3029) || (c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) ||
           (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xFF01 && c <= 0xFF9D) || (c >= 0x1F000 && c <= 0x1FAFF);
}

static bool unicode_form(struct vc_tok_scratch *s, enum vc_tok_norm_kind kind, struct vc_tok_view *v, struct vc_tok_store *o) {
    size_t i = 0, n = 0;
    while (i < v->n) {
        uint32_t cp;
        size_t k = vc_chr_at(v->p + i, &cp);
        if (cp >= 0x80 && !(kind == VC_NORM_NFC && nfc_inert(cp))) break;
        i += k;
    }
    if (i == v->n) return false;
    if (!decompose(s, v, kind == VC_NORM_NFKC || kind == VC_NORM_NFKD, &n)) return false;
    if (kind == VC_NORM_NFC || kind == VC_NORM_NFKC) n = recompose(s, n);
    return vc_tok_apply(s, v, n, o);
}

static bool lower(struct vc_tok_scratch *s, const struct vc_tok_view *v, struct vc_tok_store *o) {
    for (size_t i = 0; i < v->n;) {
        uint32_t cp;
        size_t k = vc_chr_at(v->p + i, &cp);
        char c[8];
        size_t m;
        if (cp == 0x130) {    /* İ is the only character whose lower case has two */
            m = vc_chr_put(c, 'i');
            m += vc_chr_put(c + m, 0x307);
        } else m = vc_chr_put(c, vc_chr_lower(cp));
        struct vc_tok_place at = { 0, 0 };
        if (s->offsets) at = vc_tok_place_of(s, v, i);
        if (!vc_tok_put(s, o, c, m, at)) return false;
        i += k;
    }
    return true;
}

static bool strip_accents(struct vc_tok_scratch *s, const struct vc_tok_view *v, struct vc_tok_store *o) {
    for (size_t i = 0; i < v->n;) {
        uint32_t cp;
        size_t k = vc_chr_at(v->p + i, &cp);
        if (!vc_chr_accent(cp) && !vc_tok_put_view(s, o, v, i, i + k)) return false;
        i += k;
    }
    return true;
}

static void strip(const struct vc_tok_norm *st, struct vc_tok_view *v) {
    size_t a = 0, b = v->n;
    uint32_t cp;
    for (size_t k; st->left && a < b && (k = vc_chr_at(v->p + a, &cp), vc_chr_space(cp)); a += k) {}
    for (size_t k; st->right && b > a && (k = vc_chr_before(v->p, b, &cp), vc_chr_space(cp)); b -= k) {}
    v->p += a;
    if (v->at) v->at += a;
    v->base += (uint32_t)a;
    v->n = b - a;
}

static bool bytes(struct vc_tok_scratch *s, const struct vc_tok_view *v, struct vc_tok_store *o) {
    for (size_t i = 0; i < v->n; i++) {
        char c[4];
        size_t k = vc_chr_put(c, vc_byte_char((unsigned char)v->p[i]));
        struct vc_tok_place at = { 0, 0 };
        if (s->offsets) at = vc_tok_place_of(s, v, i);
        if (!vc_tok_put(s, o, c, k, at)) return false;
    }
    return true;
}

struct replace { struct vc_tok_scratch *s; const struct vc_tok_view *v; struct vc_tok_store *o; vc_str by; };

static bool replace_part(void *ctx, size_t a, size_t b, bool is_match) {
    struct replace *x = ctx;
    if (!is_match) return vc_tok_put_view(x->s, x->o, x->v, a, b);
    struct vc_tok_place at = { 0, 0 };
    if (x->s->offsets && b > 0) at = vc_tok_place_of(x->s, x->v, b - 1);
    return vc_tok_put(x->s, x->o, x->by.p, x->by.n, at);
}

static vc_status run_step(struct vc_tok_scratch *s, const struct vc_tok_norm *st, struct vc_tok_view *v, struct vc_tok_store *o, vc_err *err) {
    bool changed = true;
    o->n = 0;
    switch (st->kind) {
    case VC_NORM_NFC: case VC_NORM_NFD: case VC_NORM_NFKC: case VC_NORM_NFKD: changed = unicode_form(s, st->kind, v, o); break;
    case VC_NORM_LOWER: lower(s, v, o); break;
    case VC_NORM_ACCENTS: strip_accents(s, v, o); break;
    case VC_NORM_BYTES: bytes(s, v, o); break;
    case VC_NORM_CLEAN: case VC_NORM_CHINESE: case VC_NORM_NONSPACING: case VC_NORM_NMT: case VC_NORM_FIRST_OF_NFD: case VC_NORM_CONTROL:
        vc_tok_norm_char(s, st, v, o);
        break;
    case VC_NORM_CHARSMAP: changed = vc_tok_norm_charsmap(s, st, v, o); break;
    case VC_NORM_SENTENCEPIECE: vc_tok_norm_sp(s, st, v, o); break;
    case VC_NORM_STRIP: strip(st, v); return VC_OK;
    case VC_NORM_PREPEND: {
        struct vc_tok_place at = { 0, 0 };
        if (s->offsets) at = vc_tok_place_of(s, v, 0);
        if (vc_tok_put(s, o, st->text.p, st->text.n, at)) vc_tok_put_view(s, o, v, 0, v->n);
        break;
    }
    case VC_NORM_REPLACE: {
        if (st->pattern.text.n == 1 && !memchr(v->p, (unsigned char)st->pattern.text.p[0], v->n)) return VC_OK;
        struct replace x = { s, v, o, st->text };
        VC_TRY(vc_tok_cut(s, &st->pattern, v->p, v->n, replace_part, &x, err));
        break;
    }
    }
    if (s->failed) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    if (changed) *v = vc_tok_view_of(s, o);
    return VC_OK;
}

vc_status vc_tok_normalize(struct vc_tok_scratch *s, const struct vc_tok_norm *step, uint32_t n, struct vc_tok_view *v, vc_err *err) {
    unsigned at = 0;
    for (uint32_t i = 0; i < n && v->n; i++) {
        const char *before = v->p;
        VC_TRY(run_step(s, &step[i], v, &s->norm[at], err));
        if (v->p != before && v->p == s->norm[at].p) at ^= 1;
    }
    return VC_OK;
}
