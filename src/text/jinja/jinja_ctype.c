/* SPDX-License-Identifier: Apache-2.0 */
#include "text/jinja/jinja_ctype.h"

#include <stddef.h>
#include <utf8proc.h>

#include "base/compat.h"
#include "text/jinja/jinja_run.h"

static utf8proc_category_t category(uint32_t cp) { return utf8proc_category((utf8proc_int32_t)cp); }

struct range { uint32_t lo, hi; };
static bool in_ranges(const struct range *r, size_t n, uint32_t cp) {
    for (size_t i = 0; i < n; i++)
        if (cp >= r[i].lo && cp <= r[i].hi) return true;
    return false;
}

/* Unicode properties Other_Lowercase and Other_Uppercase. */
static const struct range other_lower[] = {
    { 0xAA, 0xAA },       { 0xBA, 0xBA },       { 0x2B0, 0x2B8 },     { 0x2C0, 0x2C1 },     { 0x2E0, 0x2E4 },
    { 0x345, 0x345 },     { 0x37A, 0x37A },     { 0x1D2C, 0x1D6A },   { 0x1D78, 0x1D78 },   { 0x1D9B, 0x1DBF },
    { 0x2071, 0x2071 },   { 0x207F, 0x207F },   { 0x2090, 0x209C },   { 0x2170, 0x217F },   { 0x24D0, 0x24E9 },
    { 0x2C7C, 0x2C7D },   { 0xA69C, 0xA69D },   { 0xA770, 0xA770 },   { 0xA7F8, 0xA7F9 },   { 0xAB5C, 0xAB5F },
    { 0x10780, 0x10780 }, { 0x10783, 0x10785 }, { 0x10787, 0x107B0 }, { 0x107B2, 0x107BA },
};
static const struct range other_upper[] = {
    { 0x2160, 0x216F }, { 0x24B6, 0x24CF }, { 0x1F130, 0x1F149 }, { 0x1F150, 0x1F169 }, { 0x1F170, 0x1F189 }
};
/* Numeric_Type=Digit that is not a decimal digit. */
static const struct range other_digit[] = {
    { 0xB2, 0xB3 },     { 0xB9, 0xB9 },       { 0x1369, 0x1371 },   { 0x19DA, 0x19DA },   { 0x2070, 0x2070 },
    { 0x2074, 0x2079 }, { 0x2080, 0x2089 },   { 0x2460, 0x2468 },   { 0x2474, 0x247C },   { 0x2488, 0x2490 },
    { 0x24EA, 0x24EA }, { 0x24F5, 0x24FD },   { 0x24FF, 0x24FF },   { 0x2776, 0x277E },   { 0x2780, 0x2788 },
    { 0x278A, 0x2792 }, { 0x10A40, 0x10A43 }, { 0x10E60, 0x10E68 }, { 0x11052, 0x1105A }, { 0x1F100, 0x1F10A },
};
/* Letters with a numeric value: the common CJK numerals. */
static const uint16_t cjk_number[] = { 0x4E00, 0x4E8C, 0x4E09, 0x56DB, 0x4E94, 0x516D, 0x4E03, 0x516B, 0x4E5D,
                                       0x5341, 0x767E, 0x5343, 0x4E07, 0x842C, 0x5104, 0x5146, 0x96F6 };

bool vc_j_is_upper(uint32_t cp) {
    return category(cp) == UTF8PROC_CATEGORY_LU || in_ranges(other_upper, VC_ARRAY_LEN(other_upper), cp);
}
bool vc_j_is_lower(uint32_t cp) {
    return category(cp) == UTF8PROC_CATEGORY_LL || in_ranges(other_lower, VC_ARRAY_LEN(other_lower), cp);
}
bool vc_j_is_title(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_LT; }
bool vc_j_cased(uint32_t cp) { return vc_j_is_upper(cp) || vc_j_is_lower(cp) || vc_j_is_title(cp); }

bool vc_j_is_alpha(uint32_t cp) {
    utf8proc_category_t c = category(cp);
    return c >= UTF8PROC_CATEGORY_LU && c <= UTF8PROC_CATEGORY_LO;
}

bool vc_j_is_decimal(uint32_t cp) { return category(cp) == UTF8PROC_CATEGORY_ND; }
bool vc_j_is_digit(uint32_t cp) { return vc_j_is_decimal(cp) || in_ranges(other_digit, VC_ARRAY_LEN(other_digit), cp); }

bool vc_j_is_numeric(uint32_t cp) {
    utf8proc_category_t c = category(cp);
    if (c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO) return true;
    for (size_t i = 0; i < VC_ARRAY_LEN(cjk_number); i++)
        if (cjk_number[i] == cp) return true;
    return false;
}

bool vc_j_space(uint32_t cp) {
    if (cp < 0x80) return cp == ' ' || (cp >= 9 && cp <= 13) || (cp >= 0x1C && cp <= 0x1F);
    return cp == 0x85 || cp == 0x2028 || cp == 0x2029 || category(cp) == UTF8PROC_CATEGORY_ZS;
}

bool vc_j_is_line_end(uint32_t cp) {
    return (cp >= 10 && cp <= 13) || (cp >= 0x1C && cp <= 0x1E) || cp == 0x85 || cp == 0x2028 || cp == 0x2029;
}
