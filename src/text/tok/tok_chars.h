/* SPDX-License-Identifier: Apache-2.0
 * tok_chars.h: classes of characters as Rust's char methods and the tokenizers crate define them, from utf8proc's tables;
 * the ByteLevel alphabet; walking UTF-8 that is known to be valid. */
#ifndef VC_TEXT_TOK_CHARS_H
#define VC_TEXT_TOK_CHARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool vc_chr_space(uint32_t cp);        /* White_Space */
bool vc_chr_numeric(uint32_t cp);      /* Nd, Nl, No */
bool vc_chr_punct(uint32_t cp);        /* P* of an old Unicode, as the tokenizers crate, and the ASCII signs $+<=>^`|~ */
bool vc_chr_accent(uint32_t cp);       /* M* of an old Unicode, which StripAccents drops */
bool vc_chr_undivided(uint32_t cp);    /* has a decomposition that the tokenizers crate does not know */
bool vc_chr_word(uint32_t cp);         /* \w of UTS #18, as Rust's regex crate: Alphabetic, M, Nd, Pc, Join_Control */
bool vc_chr_mark(uint32_t cp);         /* M* */
bool vc_chr_control(uint32_t cp);      /* Cc, Cf, Co, Cs */
bool vc_chr_han(uint32_t cp);          /* what BertNormalizer puts spaces around */
bool vc_chr_wpm(uint32_t cp);          /* what is a word of its own in llama.cpp's WordPiece: P*, ASCII signs, Han */
bool vc_chr_ascii_space(uint32_t cp);  /* C's isspace */
uint32_t vc_chr_lower(uint32_t cp);    /* simple lower case */
/* Is cp in one of n ranges, which are in order? */
struct vc_chr_range { uint32_t first, last; };
bool vc_chr_in(uint32_t cp, const struct vc_chr_range *r, size_t n);
struct vc_buf;
/* Appends, as items of a PCRE2 class, what Unicode 15 and 16 added to a general category ("L", "Nd"; "": to all). */
void vc_chr_later(struct vc_buf *out, const char *category);

/* Length and code point of the character at p; p points at valid UTF-8. */
static inline size_t vc_chr_at(const char *s, uint32_t *cp) {
    const unsigned char *p = (const unsigned char *)s;
    if (p[0] < 0x80) { *cp = p[0]; return 1; }
    if (p[0] < 0xE0) { *cp = (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu); return 2; }
    if (p[0] < 0xF0) { *cp = (p[0] & 0xFu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu); return 3; }
    *cp = (p[0] & 7u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 | (p[3] & 0x3Fu);
    return 4;
}
static inline size_t vc_chr_len(char c) {
    unsigned char u = (unsigned char)c;
    return u < 0x80 ? 1 : u < 0xE0 ? 2 : u < 0xF0 ? 3 : 4;
}
static inline bool vc_chr_tail(char c) { return ((unsigned char)c & 0xC0) == 0x80; }
size_t vc_chr_put(char dst[4], uint32_t cp);
/* The last character before end (end > 0). */
size_t vc_chr_before(const char *s, size_t end, uint32_t *cp);
/* Index of the first byte that is not valid UTF-8; n when all is. */
size_t vc_chr_valid(const char *s, size_t n);

/* GPT-2's printable stand-ins for bytes (encoder.py, bytes_to_unicode). */
uint32_t vc_byte_char(unsigned char b);
int vc_char_byte(uint32_t cp);         /* -1: not in the alphabet */

#endif
