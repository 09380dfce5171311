/* SPDX-License-Identifier: Apache-2.0 */
#include "text/tok_chars.h"

#include <string.h>

#include <utf8proc.h>

#include "base/str.h"

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

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

bool vc_chr_punct(uint32_t cp) {
    if (cp < 0x80) return (cp >= 33 && cp <= 47) || (cp >= 58 && cp <= 64) || (cp >= 91 && cp <= 96) || (cp >= 123 && cp <= 126);
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}
bool vc_chr_punct_space(uint32_t cp) { return vc_chr_punct(cp) || vc_chr_space(cp); }

bool vc_chr_mark(uint32_t cp) {
    if (cp < 0x300) return false;
    utf8proc_category_t c = category(cp);
    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

bool vc_chr_word(uint32_t cp) {
    if (cp < 0x80) return cp == '_' || (cp >= '0' && cp <= '9') || ((cp | 32) >= 'a' && (cp | 32) <= 'z');
    utf8proc_category_t c = category(cp);
    if (c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_ND) return true;    /* L*, M*, Nd */
    if (c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_PC) return true;
    return (cp >= 0x24B6 && cp <= 0x24E9) || (cp >= 0x1F130 && cp <= 0x1F149) || (cp >= 0x1F150 && cp <= 0x1F169) ||
           (cp >= 0x1F170 && cp <= 0x1F189);                                    /* Other_Alphabetic symbols */
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
