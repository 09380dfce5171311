/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok/tok_chars.h"

#include <string.h>

#include <utf8proc.h>

#include "base/str.h"

struct later { char cat[3]; uint32_t first, last; };
static const struct later later[] = {
#define LATER(c, a, b) { #c, a, b },
#include "text/tok/tok_unicode.def"
};
static const struct vc_chr_range punct[] = {
#define PUNCT(a, b) { a, b },
#include "text/tok/tok_unicode.def"
};

/* The category of Unicode 16, whatever the library's version is. */
static utf8proc_category_t category(uint32_t cp) {
    static const struct { char name[3]; utf8proc_category_t cat; } names[] = {
        { "Lu", UTF8PROC_CATEGORY_LU }, { "Ll", UTF8PROC_CATEGORY_LL }, { "Lm", UTF8PROC_CATEGORY_LM }, { "Lo", UTF8PROC_CATEGORY_LO },
        { "Mn", UTF8PROC_CATEGORY_MN }, { "Mc", UTF8PROC_CATEGORY_MC }, { "Nd", UTF8PROC_CATEGORY_ND }, { "No", UTF8PROC_CATEGORY_NO },
    };
    utf8proc_category_t c = utf8proc_category((utf8proc_int32_t)cp);
    if (c != UTF8PROC_CATEGORY_CN) return c;
    for (size_t i = 0; i < VC_ARRAY_LEN(later); i++) {
        if (cp < later[i].first || cp > later[i].last) continue;
        for (size_t k = 0; k < VC_ARRAY_LEN(names); k++) {
            if (!strcmp(names[k].name, later[i].cat)) return names[k].cat;
        }
    }
    return c;
}

void vc_chr_later(struct vc_buf *out, const char *cat) {
    for (size_t i = 0; i < VC_ARRAY_LEN(later); i++) {
        if (strncmp(later[i].cat, cat, strlen(cat))) continue;
        vc_buf_printf(out, "\\x{%x}-\\x{%x}", later[i].first, later[i].last);
    }
}

bool vc_chr_space(uint32_t cp) {
    if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13);
    return cp == 0x85 || cp == 0xA0 || cp == 0x1680 || (cp >= 0x2000 && cp <= 0x200A) || cp == 0x2028 || cp == 0x2029 ||
           cp == 0x202F || cp == 0x205F || cp == 0x3000;
}
bool vc_chr_ascii_space(uint32_t cp) { return cp == ' ' || (cp >= 9 && cp <= 13); }

bool vc_chr_numeric(uint32_t cp) {
    if (cp < 0x80) return cp >= '0' && cp <= '9';
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

bool vc_chr_in(uint32_t cp, const struct vc_chr_range *r, size_t n) {
    size_t a = 0, b = n;
    while (a < b) {
        size_t m = (a + b) / 2;
        if (cp > r[m].last) a = m + 1;
        else b = m;
    }
    return a < n && cp >= r[a].first;
}

bool vc_chr_punct(uint32_t cp) {
    if (cp < 0x80) return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) || (cp >= 91 && cp <= 96) || (cp >= 123 && cp <= 126);
    return vc_chr_in(cp, punct, VC_ARRAY_LEN(punct));
}

bool vc_chr_accent(uint32_t cp) {
    static const struct vc_chr_range r[] = {
#define MARK(a, b) { a, b },
#include "text/tok/tok_unicode.def"
    };
    return cp >= 0x300 && vc_chr_in(cp, r, VC_ARRAY_LEN(r));
}

bool vc_chr_undivided(uint32_t cp) {
    static const struct vc_chr_range r[] = {
#define UNDIVIDED(a, b) { a, b },
#include "text/tok/tok_unicode.def"
    };
    return cp >= 0x32FF && vc_chr_in(cp, r, VC_ARRAY_LEN(r));
}

bool vc_chr_mark(uint32_t cp) {
    if (cp < 0x300) return false;
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool vc_chr_control(uint32_t cp) {
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_CC || c == UTF8PROC_CATEGORY_CF || c == UTF8PROC_CATEGORY_CO || c == UTF8PROC_CATEGORY_CS;
}

bool vc_chr_wpm(uint32_t cp) {
    if (cp < 0x80) return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) || (cp >= 91 && cp <= 96) || (cp >= 123 && cp <= 126);
    utf8proc_category_t c = category(cp);
    return (c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO) || vc_chr_han(cp);
}

bool vc_chr_word(uint32_t cp) {
    if (cp < 0x80) return cp == '_' || (cp >= '0' && cp <= '9') || ((cp | 32) >= 'a' && (cp | 32) <= 'z');
    utf8proc_category_t c = category(cp);
    if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_ND) return true;    /* L*, M*, Nd */
    if (c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_PC) return true;
    return cp == 0x200C || cp == 0x200D || (cp >= 0x24B6 && cp <= 0x24E9) || (cp >= 0x1F130 && cp <= 0x1F149) || (cp >= 0x1F150 && cp <= 0x1F169) ||
           (cp >= 0x1F170 && cp <= 0x1F189);                                    /* Join_Control, Other_Alphabetic symbols */
}

size_t vc_chr_put(char dst[4], uint32_t cp) {
    if (cp < 0x80) { dst[0] = (char)cp; return 1; }
    if (cp < 0x800) {
        dst[0] = (char)(0xC0 | cp >> 6);
        dst[1] = (char)(0x80 | (cp & 0x3F));
        return 2;
    }
    if (cp < 0x10000) {
        dst[0] = (char)(0xE0 | cp >> 12);
        dst[1] = (char)(0x80 | (cp >> 6 & 0x3F));
        dst[2] = (char)(0x80 | (cp & 0x3F));
        return 3;
    }
    dst[0] = (char)(0xF0 | cp >> 18);
    dst[1] = (char)(0x80 | (cp >> 12 & 0x3F));
    dst[2] = (char)(0x80 | (cp >> 6 & 0x3F));
    dst[3] = (char)(0x80 | (cp & 0x3F));
    return 4;
}

size_t vc_chr_before(const char *s, size_t end, uint32_t *cp) {
    size_t i = end - 1;
    while (i > 0 && vc_chr_tail(s[i])) i--;
    vc_chr_at(s + i, cp);
    return end - i;
}

size_t vc_chr_valid(const char *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        uint64_t w;
        if (n - i >= 8 && (memcpy(&w, s + i, 8), !(w & 0x8080808080808080u))) { i += 8; continue; }
        uint32_t cp;
        size_t k = vc_utf8_decode(s + i, n - i, &cp);
        if (!k) return i;
        i += k;
    }
    return n;
}

/* Lower case, with the pairs that Unicode 16 and 17 added. */
uint32_t vc_chr_lower(uint32_t cp) {
    if (cp < 0x80) return cp >= 'A' && cp <= 'Z' ? cp + 32 : cp;
    if (cp >= 0x10D50 && cp <= 0x10D65) return cp + 0x20;
    if (cp >= 0x16EA0 && cp <= 0x16EB8) return cp + 0x1B;
    switch (cp) {
    case 0x1C89: case 0xA7CC: case 0xA7CE: case 0xA7D2: case 0xA7D4: case 0xA7DA: return cp + 1;
    case 0xA7CB: return 0x264;
    case 0xA7DC: return 0x19B;
    default: return (uint32_t)utf8proc_tolower((utf8proc_int32_t)cp);
    }
}

static bool printable_byte(uint32_t b) { return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255); }

uint32_t vc_byte_char(unsigned char b) {
    if (printable_byte(b)) return b;
    if (b <= 32) return 256u + b;
    return b <= 160 ? 256u + 33u + b - 127u : 256u + 67u;    /* 127 … 160, then 173 */
}

int vc_char_byte(uint32_t cp) {
    if (cp < 256) return printable_byte(cp) ? (int)cp : -1;
    if (cp <= 288) return (int)(cp - 256);
    if (cp <= 322) return (int)(cp - 289 + 127);
    return cp == 323 ? 173 : -1;
}
