/* SPDX-License-Identifier: Apache-2.0
 * tok_stream.c: incremental decoding, with the pieces of the tokenizers crate's DecodeStream: text is held back while it
 * ends in U+FFFD, and what is still held is flushed at the end. */
#include "text/tok/tok_int.h"

/* More held tokens than this are no character in the making: what is sure is then given out. */
enum { MAX_HELD = 256, HELD_BYTES = 2048 };

/* Takes the memory that held text needs here, so that a step takes none; a failure shows at the first push that lacks it. */
void vc_detok_init(struct vc_detok *d, const struct vc_tokenizer *t, bool skip_special) {
    *d = (struct vc_detok){ .t = t, .skip_special = skip_special };
    vc_buf_reserve(&d->work, 3 * HELD_BYTES);            /* an invalid byte becomes three */
    if (t->decode == VC_DECODE_PIECES) vc_buf_reserve(&d->pending, HELD_BYTES);
    else {
        vc_buf_reserve(&d->prefix, HELD_BYTES);
        for (size_t i = 0; i < 2 * MAX_HELD; i++) vc_ids_push(&d->window, 0, 0, 0);
        d->window.n = 0;
    }
}

void vc_detok_free(struct vc_detok *d) {
    vc_ids_free(&d->window);
    vc_buf_free(&d->prefix);
    vc_buf_free(&d->pending);
    vc_buf_free(&d->work);
}

static bool ends_broken(const struct vc_buf *b) { return b->n >= 3 && !memcmp(b->p + b->n - 3, "\xEF\xBF\xBD", 3); }

/* With clean_spaces, what stands before a space behind a letter or digit does not depend on what follows it. */
static size_t settled(const struct vc_buf *b) {
    for (size_t i = b->n; i-- > 1;) {
        unsigned char c = (unsigned char)b->p[i - 1];
        if (b->p[i] == ' ' && (c >= 0x80 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))) return i;
    }
    return 0;
}

static vc_status push_cleaned(struct vc_detok *d, struct vc_buf *out, vc_err *err) {
    size_t n = settled(&d->pending), from = out->n;
    if (n) {
        vc_tok_lossy(out, d->pending.p, n);
        vc_tok_clean(out, from);
        memmove(d->pending.p, d->pending.p + n, d->pending.n - n);
        d->pending.n -= n;
    }
    return d->pending.failed || out->failed ? vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory") : VC_OK;
}

/* Pieces are bytes: the held ones are decoded alone, since what was given out ended at a character's end. */
static vc_status push_piece(struct vc_detok *d, int32_t id, struct vc_buf *out, vc_err *err) {
    bool first = d->t->strip_first != VC_STRIP_NONE && !d->window_prefix;
    vc_tok_add_piece(d->t, id, &first, &d->pending);
    d->window_prefix = !first;    /* what may be stripped is behind us */
    if (d->t->clean_spaces) return push_cleaned(d, out, err);
    d->work.n = 0;
    d->window.n++;
    vc_tok_lossy(&d->work, d->pending.p, d->pending.n);
    size_t keep = 0;
    if (ends_broken(&d->work)) {
        if (d->window.n <= MAX_HELD) keep = d->pending.n;
        else keep = vc_utf8_partial(d->pending.p, d->pending.n);
        if (keep == d->pending.n) return VC_OK;
        d->work.n = 0;
        vc_tok_lossy(&d->work, d->pending.p, d->pending.n - keep);
    }
    vc_buf_add(out, d->work.p ? d->work.p : "", d->work.n);
    if (keep) memmove(d->pending.p, d->pending.p + d->pending.n - keep, keep);
    d->pending.n = keep;
    d->window.n = 0;
    if (d->pending.failed || d->work.failed || out->failed) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    return VC_OK;
}

/* The window holds the ids of the last piece and those since; what they add to the text of the former is new. */
static vc_status push_window(struct vc_detok *d, int32_t id, struct vc_buf *out, vc_err *err) {
    struct vc_ids *w = &d->window;
    if (!vc_ids_push(w, id, 0, 0)) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    d->work.n = 0;
    VC_TRY(vc_tok_decode(d->t, w->v, w->n, d->skip_special, &d->work, err));
    bool starts = d->work.n >= d->prefix.n && (!d->prefix.n || !memcmp(d->work.p, d->prefix.p, d->prefix.n));
    if (!starts || d->work.n == d->prefix.n || (ends_broken(&d->work) && w->n - d->window_prefix <= MAX_HELD)) return VC_OK;
    vc_buf_add(out, d->work.p + d->prefix.n, d->work.n - d->prefix.n);
    size_t fresh = w->n - d->window_prefix;
    memmove(w->v, w->v + d->window_prefix, fresh * sizeof *w->v);
    w->n = fresh;
    d->window_prefix = fresh;
    d->prefix.n = 0;
    return vc_tok_decode(d->t, w->v, w->n, d->skip_special, &d->prefix, err);
}

vc_status vc_detok_push(struct vc_detok *d, int32_t id, struct vc_buf *out, vc_err *err) {
    VC_TRY(vc_tok_check_id(d->t, id, err));
    if (d->skip_special && (d->t->flags[id] & VC_TOKF_SPECIAL)) return VC_OK;
    if (d->t->decode == VC_DECODE_PIECES) return push_piece(d, id, out, err);
    return push_window(d, id, out, err);
}

vc_status vc_detok_finish(struct vc_detok *d, struct vc_buf *out, vc_err *err) {
    vc_status r = VC_OK;
    if (d->t->decode == VC_DECODE_PIECES) {
        size_t from = out->n;
        vc_tok_lossy(out, d->pending.p, d->pending.n);
        if (d->t->clean_spaces) vc_tok_clean(out, from);
    } else {
        d->work.n = 0;
        r = vc_tok_decode(d->t, d->window.v, d->window.n, d->skip_special, &d->work, err);
        if (r == VC_OK && d->work.n > d->prefix.n) vc_buf_add(out, d->work.p + d->prefix.n, d->work.n - d->prefix.n);
    }
    d->window.n = d->window_prefix = d->prefix.n = d->pending.n = 0;
    if (r == VC_OK && out->failed) r = vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    return r;
}
