/* SPDX-License-Identifier: Apache-2.0
 * tok_match.c: cutting a text by a pattern, as the tokenizers crate's Pattern::find_matches does: a regex or a literal
 * gives one match each, a class of characters gives one match per character. Also the growing arrays of a scratch. */
#include <stdlib.h>

#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

bool vc_tok_grow(struct vc_tok_scratch *s, void *p, size_t *cap, size_t n, size_t size) {
    if (n <= *cap) return true;
    size_t k = *cap ? *cap * 2 : 64;
    if (k < n) k = n;
    void *old, *v = NULL;
    memcpy(&old, p, sizeof old);
    if (k <= SIZE_MAX / size) v = realloc(old, k * size);
    if (!v) {
        s->failed = true;
        return false;
    }
    memcpy(p, &v, sizeof v);
    *cap = k;
    return true;
}

struct vc_tok_place vc_tok_place_of(const struct vc_tok_scratch *s, const struct vc_tok_view *v, size_t i) {
    if (v->at) return v->at[i];
    size_t a = v->base + i, b = a + 1;
    while (a > 0 && vc_chr_tail(s->orig[a])) a--;
    while (b < s->orig_n && vc_chr_tail(s->orig[b])) b++;
    return (struct vc_tok_place){ (uint32_t)a, (uint32_t)b };
}

static bool store_room(struct vc_tok_scratch *s, struct vc_tok_store *o, size_t n) {
    if (o->n + n > UINT32_MAX) { s->failed = true; return false; }
    if (!vc_tok_grow(s, &o->p, &o->cap, o->n + n, 1)) return false;
    return !s->offsets || vc_tok_grow(s, &o->at, &o->at_cap, o->n + n, sizeof *o->at);
}

bool vc_tok_put(struct vc_tok_scratch *s, struct vc_tok_store *o, const char *p, size_t n, struct vc_tok_place at) {
    if (!store_room(s, o, n)) return false;
    if (n) memcpy(o->p + o->n, p, n);
    for (size_t i = 0; s->offsets && i < n; i++) o->at[o->n + i] = at;
    o->n += n;
    return true;
}

bool vc_tok_put_view(struct vc_tok_scratch *s, struct vc_tok_store *o, const struct vc_tok_view *v, size_t from, size_t to) {
    size_t n = to - from;
    if (!store_room(s, o, n)) return false;
    if (n) memcpy(o->p + o->n, v->p + from, n);
    for (size_t i = 0; s->offsets && i < n; i++) o->at[o->n + i] = vc_tok_place_of(s, v, from + i);
    o->n += n;
    return true;
}

struct vc_tok_view vc_tok_view_of(const struct vc_tok_scratch *s, const struct vc_tok_store *o) {
    return (struct vc_tok_view){ o->p ? o->p : "", o->n, s->offsets ? o->at : NULL, 0 };
}

static vc_status cut_class(struct vc_tok_scratch *s, bool (*is)(uint32_t), const char *text, size_t n, vc_tok_cut_fn *fn, void *ctx) {
    size_t last = 0;
    for (size_t i = 0; i < n;) {
        uint32_t cp;
        size_t k = vc_chr_at(text + i, &cp);
        if (is(cp)) {
            if ((last < i && !fn(ctx, last, i, false)) || !fn(ctx, i, i + k, true)) { s->failed = true; return VC_OK; }
            last = i + k;
        }
        i += k;
    }
    if (last < n && !fn(ctx, last, n, false)) s->failed = true;
    return VC_OK;
}

static const char *find_text(const char *p, size_t n, vc_str what) {
    while (n >= what.n) {
        const char *q = memchr(p, (unsigned char)what.p[0], n - what.n + 1);
        if (!q) return NULL;
        if (!memcmp(q, what.p, what.n)) return q;
        n -= (size_t)(q + 1 - p);
        p = q + 1;
    }
    return NULL;
}

static vc_status cut_text(struct vc_tok_scratch *s, vc_str what, const char *text, size_t n, vc_tok_cut_fn *fn, void *ctx) {
    size_t last = 0;
    for (const char *q; what.n && (q = find_text(text + last, n - last, what));) {
        size_t at = (size_t)(q - text);
        if ((last < at && !fn(ctx, last, at, false)) || !fn(ctx, at, at + what.n, true)) { s->failed = true; return VC_OK; }
        last = at + what.n;
    }
    if (last < n && !fn(ctx, last, n, false)) s->failed = true;
    return VC_OK;
}

static vc_status cut_regex(struct vc_tok_scratch *s, const struct vc_tok_regex *re, const char *text, size_t n, vc_tok_cut_fn *fn, void *ctx, vc_err *err) {
    size_t last = 0, from = 0, match_end = SIZE_MAX;
    while (from <= n) {
        size_t a, b;
        bool found;
        VC_TRY(vc_tok_regex_find(re, &s->run, text, n, from, &a, &b, &found, err));
        if (!found) break;
        if (a == b && b == match_end) {    /* an empty match right behind a match does not count */
            from += from < n ? vc_chr_len(text[from]) : 1;
            continue;
        }
        if ((last < a && !fn(ctx, last, a, false)) || !fn(ctx, a, b, true)) { s->failed = true; return VC_OK; }
        last = from = match_end = b;
    }
    if (last < n && !fn(ctx, last, n, false)) s->failed = true;
    return VC_OK;
}

vc_status vc_tok_cut(struct vc_tok_scratch *s, const struct vc_tok_pattern *pat, const char *text, size_t n, vc_tok_cut_fn *fn, void *ctx, vc_err *err) {
    vc_status r = VC_OK;
    if (pat->regex) r = cut_regex(s, pat->regex, text, n, fn, ctx, err);
    else if (pat->is) r = cut_class(s, pat->is, text, n, fn, ctx);
    else r = cut_text(s, pat->text, text, n, fn, ctx);
    if (r == VC_OK && s->failed) r = vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    return r;
}
