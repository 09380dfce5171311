/* SPDX-License-Identifier: Apache-2.0
 * tok_norm_char.c: normalizer steps that look at one character at a time: the parts of BertNormalizer and Nmt
 * (normalizers/bert.rs and unicode.rs of the tokenizers crate) and of llama.cpp's WordPiece tokenizer. */
#include <utf8proc.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

/* General categories Cc, Cf, Co as the crate unicode_categories 0.1 has them, without tab, line feed and carriage return. */
static bool bert_control(uint32_t cp) {
    static const struct vc_chr_range r[] = {
        { 0x0, 0x8 }, { 0xB, 0xC }, { 0xE, 0x1F }, { 0x7F, 0x9F }, { 0xAD, 0xAD }, { 0x600, 0x605 }, { 0x61C, 0x61C }, { 0x6DD, 0x6DD }, { 0x70F, 0x70F },
        { 0x180E, 0x180E }, { 0x200B, 0x200F }, { 0x202A, 0x202E }, { 0x2060, 0x2064 }, { 0x2066, 0x206F }, { 0xE000, 0xF8FF }, { 0xFEFF, 0xFEFF },
        { 0xFFF9, 0xFFFB }, { 0xFFFD, 0xFFFD }, { 0x110BD, 0x110BD }, { 0x1BCA0, 0x1BCA3 }, { 0x1D173, 0x1D17A }, { 0xE0001, 0xE0001 }, { 0xE0020, 0xE007F },
        { 0xF0000, 0xFFFFD }, { 0x100000, 0x10FFFD },
    };
    return vc_chr_in(cp, r, VC_ARRAY_LEN(r));
}

bool vc_chr_han(uint32_t cp) {
    static const struct vc_chr_range r[] = {    /* 2B920 is where the original has 2B820 */
        { 0x3400, 0x4DBF }, { 0x4E00, 0x9FFF }, { 0xF900, 0xFAFF }, { 0x20000, 0x2A6DF }, { 0x2A700, 0x2B81F }, { 0x2B920, 0x2CEAF }, { 0x2F800, 0x2FA1F },
    };
    return vc_chr_in(cp, r, VC_ARRAY_LEN(r));
}

static bool nonspacing(uint32_t cp) {
    static const struct vc_chr_range r[] = {
#define MN(a, b) { a, b },
#include "text/tok/tok_unicode.def"
    };
    return cp >= 0x300 && vc_chr_in(cp, r, VC_ARRAY_LEN(r));
}

enum { KEEP, DROP, SPACE };
static int nmt(uint32_t cp) {
    if ((cp >= 1 && cp <= 8) || cp == 0xB || (cp >= 0xE && cp <= 0x1F) || cp == 0x7F || cp == 0x8F || cp == 0x9F) return DROP;
    if (cp == 9 || cp == 0xA || cp == 0xC || cp == 0xD || cp == 0x1680 || (cp >= 0x200B && cp <= 0x200F)) return SPACE;
    return cp == 0x2028 || cp == 0x2029 || cp == 0x2581 || cp == 0xFEFF || cp == 0xFFFD ? SPACE : KEEP;
}

/* The first character of the canonical decomposition; what combines with it is dropped. */
static uint32_t first_of_nfd(uint32_t cp) {
    utf8proc_int32_t d[32] = { 0 };
    int boundary = 0;
    if (cp < 0xC0) return cp;
    utf8proc_ssize_t k = utf8proc_decompose_char((utf8proc_int32_t)cp, d, 32, UTF8PROC_DECOMPOSE, &boundary);
    return k >= 1 && k <= 32 ? (uint32_t)d[0] : cp;
}

static int fate(enum vc_tok_norm_kind kind, uint32_t cp) {
    switch (kind) {
    case VC_NORM_CLEAN: return bert_control(cp) ? DROP : vc_chr_space(cp) ? SPACE : KEEP;
    case VC_NORM_NONSPACING: return nonspacing(cp) ? DROP : KEEP;
    case VC_NORM_NMT: return nmt(cp);
    case VC_NORM_FIRST_OF_NFD: return vc_chr_mark(cp) ? DROP : KEEP;
    case VC_NORM_CONTROL: return !vc_chr_space(cp) && (cp == 0 || cp == 0xFFFD || vc_chr_control(cp)) ? DROP : KEEP;
    default: return KEEP;
    }
}

bool vc_tok_norm_char(struct vc_tok_scratch *s, const struct vc_tok_norm *st, const struct vc_tok_view *v, struct vc_tok_store *o) {
    for (size_t i = 0, k; i < v->n; i += k) {
        uint32_t cp, to;
        k = vc_chr_at(v->p + i, &cp);
        to = st->kind == VC_NORM_FIRST_OF_NFD ? first_of_nfd(cp) : cp;
        int f = fate(st->kind, to);
        struct vc_tok_place at = { 0, 0 };
        if (f == DROP) continue;
        if (f == KEEP && to == cp && !(st->kind == VC_NORM_CHINESE && vc_chr_han(cp))) {
            if (!vc_tok_put_view(s, o, v, i, i + k)) return false;
            continue;
        }
        if (s->offsets) at = vc_tok_place_of(s, v, i);
        char c[4];
        size_t m = f == SPACE ? vc_chr_put(c, ' ') : vc_chr_put(c, to);
        if (st->kind == VC_NORM_CHINESE && !vc_tok_put(s, o, " ", 1, at)) return false;
        if (!vc_tok_put(s, o, c, m, at)) return false;
        if (st->kind == VC_NORM_CHINESE && !vc_tok_put(s, o, " ", 1, at)) return false;
    }
    return true;
}
