/* SPDX-License-Identifier: Apache-2.0
 * Upper, lower, title and folded case of strings as Python computes them: full Unicode mappings, and the final sigma. */
#include <string.h>
#include <utf8proc.h>

#include "base/str.h"
#include "text/jinja/jinja_ctype.h"
#include "text/jinja/jinja_run.h"

static const struct special { uint32_t cp; uint32_t upper[3], title[3]; } specials[] = {
#include "text/jinja/jinja_case.def"
};

static const struct special *find_special(uint32_t cp) {
    size_t lo = 0, hi = VC_ARRAY_LEN(specials);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (specials[mid].cp < cp) lo = mid + 1;
        else hi = mid;
    }
    return lo < VC_ARRAY_LEN(specials) && specials[lo].cp == cp ? &specials[lo] : NULL;
}

static void put_mapped(vc_jx *x, struct vc_jbuf *b, uint32_t cp, bool title) {
    const struct special *s = cp < 0x80 ? NULL : find_special(cp);
    if (!s) {
        utf8proc_int32_t c = (utf8proc_int32_t)cp;
        vc_j_putcp(x, b, (uint32_t)(title ? utf8proc_totitle(c) : utf8proc_toupper(c)));
        return;
    }
    const uint32_t *m = title ? s->title : s->upper;
    for (int i = 0; i < 3 && m[i]; i++) vc_j_putcp(x, b, m[i]);
}

static bool ignorable(uint32_t cp) {
    static const uint16_t mid[] = { 0x27,   0x2E,   0x3A,   0xB7,   0x387,  0x55F,  0x5F4,  0x2018, 0x2019,
                                    0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A };
    for (size_t i = 0; i < VC_ARRAY_LEN(mid); i++)
        if (mid[i] == cp) return true;
    switch (utf8proc_category((utf8proc_int32_t)cp)) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK: return true;
    default: return false;
    }
}

/* Σ at byte `at` ends a word: something cased before it, nothing cased behind, case-ignorable characters passed over. */
static bool final_sigma(const struct vc_jstr *s, size_t at) {
    uint32_t cp = 0;
    bool before = false;
    for (size_t i = at; i > 0;) {
        i--;
        while (i > 0 && ((unsigned char)s->p[i] & 0xC0) == 0x80) i--;
        vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (ignorable(cp)) continue;
        before = vc_j_cased(cp);
        break;
    }
    if (!before) return false;
    for (size_t i = at + 2, w; i < s->n && (w = vc_utf8_decode(s->p + i, s->n - i, &cp)) > 0; i += w)
        if (!ignorable(cp)) return !vc_j_cased(cp);
    return true;
}

static void put_lower(vc_jx *x, struct vc_jbuf *b, const struct vc_jstr *s, size_t at, uint32_t cp) {
    if (cp == 0x3A3) {
        vc_j_step(x, 16);
        vc_j_putcp(x, b, final_sigma(s, at) ? 0x3C2 : 0x3C3);
    } else if (cp == 0x130) {
        vc_j_putcp(x, b, 'i');
        vc_j_putcp(x, b, 0x307);
    } else {
        vc_j_putcp(x, b, (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp));
    }
}

static void put_folded(vc_jx *x, struct vc_jbuf *b, uint32_t cp) {
    utf8proc_int32_t out[8];
    int last = 0;
    utf8proc_ssize_t n = utf8proc_decompose_char((utf8proc_int32_t)cp, out, 8, UTF8PROC_CASEFOLD, &last);
    if (n < 1 || n > 8) vc_j_putcp(x, b, cp);
    for (utf8proc_ssize_t i = 0; n <= 8 && i < n; i++) vc_j_putcp(x, b, (uint32_t)out[i]);
}

vc_jv vc_j_case(vc_jx *x, vc_jv v, enum vc_jcase how) {
    const struct vc_jstr *s = v.u.s;
    struct vc_jbuf b = { 0 };
    bool prev = false;
    vc_j_step(x, s->n / 16);
    for (size_t i = 0; i < s->n;) {
        uint32_t cp = 0;
        size_t w = vc_utf8_decode(s->p + i, s->n - i, &cp);
        if (w == 0) break;
        switch (how) {
        case VC_J_UPPER: put_mapped(x, &b, cp, false); break;
        case VC_J_LOWER: put_lower(x, &b, s, i, cp); break;
        case VC_J_CASEFOLD: put_folded(x, &b, cp); break;
        case VC_J_SWAPCASE:
            if (vc_j_is_upper(cp)) put_lower(x, &b, s, i, cp);
            else if (vc_j_is_lower(cp)) put_mapped(x, &b, cp, false);
            else vc_j_putcp(x, &b, cp);
            break;
        default:
            if (how == VC_J_TITLE ? prev : i > 0) put_lower(x, &b, s, i, cp);
            else put_mapped(x, &b, cp, true);
            prev = vc_j_cased(cp);
            break;
        }
        i += w;
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = v.sub;
    return r;
}
