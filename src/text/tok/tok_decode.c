/* SPDX-License-Identifier: Apache-2.0
 * tok_decode.c: ids to text. Where the decoder only puts bytes together (ByteLevel, GGUF vocabularies) the pieces of the
 * tokens are joined; else the decoder steps of tokenizer.json run over the list of token texts, as the tokenizers
 * crate's decode_chain does. */
#include <stdlib.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

vc_status vc_tok_check_id(const struct vc_tokenizer *t, int32_t id, vc_err *err) {
    if (id < 0 || (uint32_t)id >= t->size) return vc_fail(err, VC_E_INVALID, "token id %d: the vocabulary has ids 0 … %u", id, t->size ? t->size - 1 : 0);
    return VC_OK;
}

/* Length of the part at p that is replaced as a whole by one U+FFFD (Unicode 3.9, "maximal subpart"). */
static size_t broken(const unsigned char *p, size_t n) {
    unsigned char c = p[0], lo = 0x80, hi = 0xBF;
    size_t need = c >= 0xC2 && c <= 0xDF ? 1 : c >= 0xE0 && c <= 0xEF ? 2 : c >= 0xF0 && c <= 0xF4 ? 3 : 0;
    if (c == 0xE0) lo = 0xA0;
    if (c == 0xED) hi = 0x9F;
    if (c == 0xF0) lo = 0x90;
    if (c == 0xF4) hi = 0x8F;
    size_t k = 1;
    for (; k <= need && k < n && p[k] >= lo && p[k] <= hi; k++) { lo = 0x80; hi = 0xBF; }
    return k;
}

void vc_tok_lossy(struct vc_buf *out, const char *p, size_t n) {
    while (n) {
        size_t ok = vc_chr_valid(p, n);
        vc_buf_add(out, p, ok);
        p += ok;
        n -= ok;
        if (!n) break;
        size_t k = broken((const unsigned char *)p, n);
        vc_buf_adds(out, "\xEF\xBF\xBD");
        p += k;
        n -= k;
    }
}

/* A list of texts: one buffer and the end of each. */
struct texts { struct vc_buf b; size_t *end; size_t n, cap; bool failed; };

static void text_end(struct texts *x) {
    if (x->n == x->cap) {
        size_t cap = x->cap ? x->cap * 2 : 64, *e = realloc(x->end, cap * sizeof *e);
        if (!e) { x->failed = true; return; }
        x->end = e;
        x->cap = cap;
    }
    x->end[x->n++] = x->b.n;
}
static vc_str text_at(const struct texts *x, size_t i) {
    size_t a = i ? x->end[i - 1] : 0;
    return (vc_str){ x->b.p ? x->b.p + a : "", x->end[i] - a };
}
static void texts_free(struct texts *x) {
    vc_buf_free(&x->b);
    free(x->end);
}

int vc_tok_byte_piece(vc_str w) {
    if (w.n != 6 || memcmp(w.p, "<0x", 3) || w.p[5] != '>') return -1;
    int high = vc_digit(w.p[3], 16), low = vc_digit(w.p[4], 16);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* The bytes of a text in the ByteLevel alphabet; a text with other characters is taken as it is. */
static void unbyte(struct vc_buf *out, vc_str w) {
    size_t begin = out->n;
    for (size_t i = 0; i < w.n;) {
        uint32_t cp;
        size_t k = vc_utf8_decode(w.p + i, w.n - i, &cp);
        int b = k ? vc_char_byte(cp) : -1;
        if (b < 0) {
            out->n = begin;
            vc_buf_add(out, w.p, w.n);
            return;
        }
        vc_buf_addc(out, (char)b);
        i += k;
    }
}

static void byte_level(const struct texts *in, struct texts *out) {
    struct vc_buf raw = { 0 };
    for (size_t i = 0; i < in->n; i++) unbyte(&raw, text_at(in, i));
    vc_tok_lossy(&out->b, raw.p, raw.n);
    out->failed |= raw.failed;
    vc_buf_free(&raw);
    text_end(out);
}

/* A run of byte tokens that is no UTF-8 keeps the characters in it, each other byte becomes U+FFFD. (The tokenizers crate
 * replaces every byte of such a run, so that a byte which comes late would change text that a stream has given out.) */
static void byte_fallback(const struct texts *in, struct texts *out) {
    struct vc_buf raw = { 0 };
    for (size_t i = 0; i < in->n;) {
        raw.n = 0;
        for (int b; i < in->n && (b = vc_tok_byte_piece(text_at(in, i))) >= 0; i++) vc_buf_addc(&raw, (char)b);
        for (size_t j = 0; j < raw.n;) {
            size_t ok = vc_chr_valid(raw.p + j, raw.n - j);
            vc_buf_add(&out->b, raw.p + j, ok);
            j += ok;
            if (j < raw.n) vc_buf_adds(&out->b, "\xEF\xBF\xBD");
            j += j < raw.n;
        }
        if (raw.n) text_end(out);
        if (i == in->n) break;
        vc_str w = text_at(in, i++);
        vc_buf_add(&out->b, w.p, w.n);
        text_end(out);
    }
    out->failed |= raw.failed;
    vc_buf_free(&raw);
}

struct replacing { struct vc_buf *out; const char *text; vc_str by; };
static bool replace_part(void *ctx, size_t a, size_t b, bool is_match) {
    struct replacing *x = ctx;
    if (is_match) vc_buf_add(x->out, x->by.p, x->by.n);
    else vc_buf_add(x->out, x->text + a, b - a);
    return true;
}

static void strip_text(const struct vc_tok_dec *d, vc_str w, struct vc_buf *out) {
    for (uint32_t i = 0; i < d->start && w.n >= d->text.n && !memcmp(w.p, d->text.p, d->text.n); i++) { w.p += d->text.n; w.n -= d->text.n; }
    for (uint32_t i = 0; i < d->stop && w.n >= d->text.n && !memcmp(w.p + w.n - d->text.n, d->text.p, d->text.n); i++) w.n -= d->text.n;
    vc_buf_add(out, w.p, w.n);
}

static void metaspace(const struct vc_tok_dec *d, vc_str w, bool first, struct vc_buf *out) {
    for (size_t i = 0; i < w.n;) {
        if (w.n - i >= d->text.n && !memcmp(w.p + i, d->text.p, d->text.n)) {
            if (!first || d->prepend == VC_PREPEND_NEVER) vc_buf_addc(out, ' ');
            i += d->text.n;
        } else vc_buf_addc(out, w.p[i++]);
    }
}

/* Appends what cleanup() of the tokenizers crate's decoders/wordpiece.rs makes of out[from …): replacements one after the other. */
static void cleanup(struct vc_buf *out, size_t from) {
    static const struct { const char *from, *to; } rules[] = {
        { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" }, { " n't", "n't" }, { " 'm", "'m" }, { " do not", " don't" },
        { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" },
    };
    for (size_t k = 0; k < VC_ARRAY_LEN(rules) && !out->failed; k++) {
        size_t a = strlen(rules[k].from), b = strlen(rules[k].to), n = from;    /* no rule makes a text longer */
        for (size_t i = from; i < out->n;) {
            bool hit = out->n - i >= a && !memcmp(out->p + i, rules[k].from, a);
            if (hit) memcpy(out->p + n, rules[k].to, b);
            else out->p[n] = out->p[i];
            i += hit ? a : 1;
            n += hit ? b : 1;
        }
        out->n = n;
    }
}

static void word_piece(const struct vc_tok_dec *d, vc_str w, bool first, struct vc_buf *out) {
    size_t from = out->n;
    bool continues = w.n >= d->text.n && !memcmp(w.p, d->text.p, d->text.n);
    if (first) vc_buf_add(out, w.p, w.n);
    else if (continues) vc_buf_add(out, w.p + d->text.n, w.n - d->text.n);
    else {
        vc_buf_addc(out, ' ');
        vc_buf_add(out, w.p, w.n);
    }
    if (d->cleanup) cleanup(out, from);
}

static void add_replaced(struct vc_buf *out, vc_str w, vc_str what, const char *by) {
    for (size_t i = 0; i < w.n;) {
        bool hit = what.n && w.n - i >= what.n && !memcmp(w.p + i, what.p, what.n);
        if (hit) vc_buf_adds(out, by);
        else vc_buf_addc(out, w.p[i]);
        i += hit ? what.n : 1;
    }
}

/* Connectionist temporal classification: repeats and pads vanish. */
static void ctc(const struct vc_tok_dec *d, const struct texts *in, struct texts *out) {
    struct vc_buf t = { 0 };
    for (size_t i = 0; i < in->n; i++) {
        vc_str w = text_at(in, i), before = i ? text_at(in, i - 1) : (vc_str){ "", 0 };
        if (i && vc_str_eq(w, before)) continue;
        t.n = 0;
        add_replaced(&t, w, d->text, "");
        if (d->cleanup) cleanup(&t, 0);
        size_t from = out->b.n;
        add_replaced(&out->b, (vc_str){ t.p ? t.p : "", t.n }, d->cleanup ? d->delimiter : (vc_str){ "", 0 }, " ");
        if (out->b.n > from) text_end(out);
    }
    out->failed |= t.failed;
    vc_buf_free(&t);
}

static vc_status each(struct vc_tok_scratch *s, const struct vc_tok_dec *d, const struct texts *in, struct texts *out, vc_err *err) {
    for (size_t i = 0; i < in->n; i++) {
        vc_str w = text_at(in, i);
        if (d->kind == VC_DEC_REPLACE) {
            struct replacing x = { &out->b, w.p, d->text };
            VC_TRY(vc_tok_cut(s, &d->pattern, w.p, w.n, replace_part, &x, err));
        } else if (d->kind == VC_DEC_STRIP) {
            strip_text(d, w, &out->b);
        } else if (d->kind == VC_DEC_METASPACE) {
            metaspace(d, w, i == 0, &out->b);
        } else if (d->kind == VC_DEC_WORDPIECE) {
            word_piece(d, w, i == 0, &out->b);
        } else {    /* SUFFIX: every occurrence, a space instead but in the last token */
            for (size_t j = 0; j < w.n;) {
                bool hit = d->text.n && w.n - j >= d->text.n && !memcmp(w.p + j, d->text.p, d->text.n);
                if (!hit) vc_buf_addc(&out->b, w.p[j]);
                else if (i + 1 < in->n) vc_buf_addc(&out->b, ' ');
                j += hit ? d->text.n : 1;
            }
        }
        text_end(out);
    }
    return VC_OK;
}

static vc_status chain(const struct vc_tokenizer *t, struct texts *x, vc_err *err) {
    struct vc_tok_scratch s = { 0 };    /* only the regex memory of it is used */
    vc_status r = VC_OK;
    for (uint32_t i = 0; i < t->num_dec && r == VC_OK; i++) {
        const struct vc_tok_dec *d = &t->dec[i];
        struct texts y = { 0 };
        if (d->kind == VC_DEC_BYTELEVEL) byte_level(x, &y);
        else if (d->kind == VC_DEC_BYTEFALLBACK) byte_fallback(x, &y);
        else if (d->kind == VC_DEC_CTC) ctc(d, x, &y);
        else if (d->kind == VC_DEC_FUSE) {
            vc_buf_add(&y.b, x->b.p ? x->b.p : "", x->b.n);
            text_end(&y);
        } else r = each(&s, d, x, &y, err);
        y.failed |= x->failed || x->b.failed;
        texts_free(x);
        *x = y;
    }
    vc_regex_run_free(&s.run);
    return r;
}

static vc_status decode_texts(const struct vc_tokenizer *t, const int32_t *ids, size_t n, bool skip, struct vc_buf *out, vc_err *err) {
    struct texts x = { 0 };
    for (size_t i = 0; i < n; i++) {
        if ((skip && (t->flags[ids[i]] & VC_TOKF_SPECIAL)) || !(t->flags[ids[i]] & VC_TOKF_USED)) continue;
        if (t->decode == VC_DECODE_JOIN && x.n) vc_buf_addc(&x.b, ' ');
        vc_buf_add(&x.b, t->text[ids[i]].p, t->text[ids[i]].n);
        text_end(&x);
    }
    vc_status r = t->decode == VC_DECODE_CHAIN ? chain(t, &x, err) : VC_OK;
    if (r == VC_OK) vc_tok_lossy(out, x.b.p, x.b.n);
    if (r == VC_OK && (x.failed || x.b.failed || out->failed)) r = vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    texts_free(&x);
    return r;
}

void vc_tok_add_piece(const struct vc_tokenizer *t, int32_t id, bool *first, struct vc_buf *raw) {
    vc_str w = t->piece[id];
    bool cut = *first && w.n && w.p[0] == ' ' && (t->strip_first == VC_STRIP_FIRST || t->text[id].p[0] == '\xE2');    /* ▁, as it is spelled */
    vc_buf_add(raw, w.p + cut, w.n - cut);
    if (t->strip_first == VC_STRIP_FIRST || w.n > cut || (cut && t->strip_first == VC_STRIP_SHOWN)) *first = false;
}

/* The three passes at the end of llama_vocab::impl::detokenize: spaces go before ?!., then around a lone apostrophe, then
 * before 's 'm 're 've. */
void vc_tok_clean(struct vc_buf *out, size_t from) {
    char *p = out->p + from;
    for (int pass = 1; pass <= 3 && out->n > from && !out->failed; pass++) {
        size_t n = out->n - from, k = 1;
        for (size_t i = 1; i < n; i++) {
            char x = p[i], y = i + 1 < n ? p[i + 1] : '\0', z = i + 2 < n ? p[i + 2] : '\0';
            bool space = p[i - 1] == ' ', go = false;
            if (pass == 1) go = space && (x == '?' || x == '!' || x == '.' || x == ',');
            else if (x == '\'' && space) go = pass == 2 ? y == ' ' : y == 's' || y == 'm' || ((y == 'r' || y == 'v') && z == 'e');
            if (go) k--;
            if (go && pass == 2) p[++i] = '\0';    /* the space behind it goes too, and is none for what follows */
            p[k++] = x;
        }
        out->n = from + k;
    }
}

vc_status vc_tok_decode(const struct vc_tokenizer *t, const int32_t *ids, size_t n, bool skip, struct vc_buf *out, vc_err *err) {
    for (size_t i = 0; i < n; i++) VC_TRY(vc_tok_check_id(t, ids[i], err));
    if (t->decode != VC_DECODE_PIECES) return decode_texts(t, ids, n, skip, out, err);
    struct vc_buf raw = { 0 };
    bool first = t->strip_first != VC_STRIP_NONE;
    size_t from = out->n;
    for (size_t i = 0; i < n; i++) {
        if (skip && (t->flags[ids[i]] & VC_TOKF_SPECIAL)) continue;
        vc_tok_add_piece(t, ids[i], &first, &raw);
    }
    vc_tok_lossy(out, raw.p, raw.n);
    if (t->clean_spaces) vc_tok_clean(out, from);
    bool failed = raw.failed || out->failed;
    vc_buf_free(&raw);
    return failed ? vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory") : VC_OK;
}

vc_status vc_tok_piece(const struct vc_tokenizer *t, int32_t id, struct vc_buf *out, vc_err *err) {
    VC_TRY(vc_tok_check_id(t, id, err));
    vc_str w = t->text[id];
    if (t->decode == VC_DECODE_PIECES) {
        vc_buf_add(out, t->piece[id].p, t->piece[id].n);
        return VC_OK;
    }
    struct texts x = { 0 };
    struct vc_tok_scratch s = { 0 };
    vc_status r = VC_OK;
    vc_buf_add(&x.b, w.p, w.n);
    text_end(&x);
    for (uint32_t i = 0; i < t->num_dec && r == VC_OK; i++) {    /* what depends on the neighbours is left out */
        struct vc_tok_dec d = t->dec[i];
        struct texts y = { 0 };
        int b = d.kind == VC_DEC_BYTEFALLBACK ? vc_tok_byte_piece(text_at(&x, 0)) : -1;
        d.prepend = VC_PREPEND_NEVER;
        if (d.kind == VC_DEC_BYTELEVEL) unbyte(&y.b, text_at(&x, 0));
        else if (b >= 0) vc_buf_addc(&y.b, (char)b);
        else if (d.kind == VC_DEC_WORDPIECE) word_piece(&d, text_at(&x, 0), false, &y.b);
        else if (d.kind == VC_DEC_CTC) add_replaced(&y.b, text_at(&x, 0), d.text, "");
        else if (d.kind == VC_DEC_REPLACE || d.kind == VC_DEC_METASPACE) {
            r = each(&s, &d, &x, &y, err);
            y.n = 0;
        } else continue;
        text_end(&y);
        texts_free(&x);
        x = y;
    }
    vc_regex_run_free(&s.run);
    if (r == VC_OK) vc_buf_add(out, x.b.p ? x.b.p : "", x.b.n);
    texts_free(&x);
    return r;
}
