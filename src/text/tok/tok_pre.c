/* SPDX-License-Identifier: Apache-2.0
 * tok_pre.c: pre-tokenizer steps. A step either cuts the words it is given (the text stays), or writes a new text and
 * moves the words along. */
#include "text/tok/tok_chars.h"
#include "text/tok/tok_int.h"

struct split {
    struct vc_tok_scratch *s;
    struct vc_tok_segs *out;
    size_t begin, floor;             /* of the word in the view; words in out that belong to others */
    enum vc_tok_split behavior;
    bool invert, first, prev_match, held;
    size_t held_a, held_b;
};

static bool emit(struct split *x, size_t a, size_t b) {
    struct vc_tok_segs *o = x->out;
    if (!vc_tok_grow(x->s, &o->v, &o->cap, o->n + 1, sizeof *o->v)) return false;
    o->v[o->n++] = (struct vc_tok_seg){ (uint32_t)(x->begin + a), (uint32_t)(x->begin + b), x->first && a == 0 };
    return true;
}

static bool split_part(void *ctx, size_t a, size_t b, bool is_match) {
    struct split *x = ctx;
    bool m = is_match != x->invert, was = x->prev_match;
    x->prev_match = m;
    switch (x->behavior) {
    case VC_SPLIT_REMOVED:
        return m || a == b || emit(x, a, b);
    case VC_SPLIT_ISOLATED:
        return a == b || emit(x, a, b);
    case VC_SPLIT_CONTIGUOUS:
    case VC_SPLIT_PREVIOUS: {
        bool joins = x->behavior == VC_SPLIT_CONTIGUOUS ? m == was : m && !was;
        if (joins && x->out->n > x->floor) {
            x->out->v[x->out->n - 1].end = (uint32_t)(x->begin + b);
            return true;
        }
        return emit(x, a, b);
    }
    case VC_SPLIT_NEXT:
        if (m) {
            if (x->held && !emit(x, x->held_a, x->held_b)) return false;
            x->held = true;
            x->held_a = a;
            x->held_b = b;
            return true;
        }
        if (x->held) a = x->held_a;
        x->held = false;
        return emit(x, a, b);
    }
    return true;
}

static vc_status split_step(struct vc_tok_scratch *s, const struct vc_tok_pre *st, const struct vc_tok_view *v, const struct vc_tok_segs *in,
                            struct vc_tok_segs *out, vc_err *err) {
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        struct vc_tok_seg g = in->v[i];
        struct split x = { .s = s, .out = out, .begin = g.start, .floor = out->n, .behavior = st->behavior, .invert = st->invert, .first = g.first };
        VC_TRY(vc_tok_cut(s, &st->pattern, v->p + g.start, g.end - g.start, split_part, &x, err));
        if (x.held && !emit(&x, x.held_a, x.held_b)) s->failed = true;
        size_t keep = x.floor;    /* empty words vanish */
        for (size_t j = x.floor; j < out->n; j++) {
            if (out->v[j].end > out->v[j].start) out->v[keep++] = out->v[j];
        }
        out->n = keep;
    }
    return VC_OK;
}

static void fixed_step(struct vc_tok_scratch *s, const struct vc_tok_pre *st, const struct vc_tok_view *v, const struct vc_tok_segs *in, struct vc_tok_segs *out) {
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        struct vc_tok_seg g = in->v[i];
        struct split x = { .s = s, .out = out, .begin = 0, .first = false };
        for (size_t a = g.start; a < g.end;) {
            size_t b = a;
            for (uint32_t k = 0; k < st->length && b < g.end; k++) b += vc_chr_len(v->p[b]);
            if (!emit(&x, a, b)) return;
            if (a == g.start) out->v[out->n - 1].first = g.first;
            a = b;
        }
    }
}

/* llama.cpp's grouping of digits by three from their right end. Plain: of all numbers; what stands before a run goes with its
 * first group, so a word ends behind each group (unicode_regex_split_custom_afmoe). Inverted: of ASCII digits; a word begins
 * before each whole group of three, as (?=(\d{3})+(?!\d)) cuts. */
static void digits_step(struct vc_tok_scratch *s, const struct vc_tok_pre *st, const struct vc_tok_view *v, const struct vc_tok_segs *in, struct vc_tok_segs *out) {
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        struct vc_tok_seg g = in->v[i];
        struct split x = { .s = s, .out = out };
        size_t begin = g.start, floor = out->n;
        uint32_t cp;
        for (size_t a = g.start, k; a < g.end; a += k) {
            k = vc_chr_at(v->p + a, &cp);
            if (st->invert ? cp < '0' || cp > '9' : !vc_chr_numeric(cp)) continue;
            size_t n = 0, b = a;    /* the run a … b - 1, n digits */
            for (size_t m; b < g.end && (m = vc_chr_at(v->p + b, &cp), st->invert ? cp >= '0' && cp <= '9' : vc_chr_numeric(cp)); b += m) n++;
            for (k = 0; a + k < b; n--) {
                if (st->invert && n % 3 == 0 && a + k > begin) {
                    if (!emit(&x, begin, a + k)) return;
                    begin = a + k;
                }
                k += vc_chr_len(v->p[a + k]);
                if (!st->invert && (n - 1) % 3 == 0) {
                    if (!emit(&x, begin, a + k)) return;
                    begin = a + k;
                }
            }
        }
        if (begin < g.end && !emit(&x, begin, g.end)) return;
        if (out->n > floor) out->v[floor].first = g.first;
    }
}

/* UnicodeScripts: a word begins where the script changes; characters of no script go with the word before, and those that
 * come first are dropped (pre_tokenizers/unicode_scripts). */
static void scripts_step(struct vc_tok_scratch *s, const struct vc_tok_view *v, const struct vc_tok_segs *in, struct vc_tok_segs *out) {
    out->n = 0;
    for (size_t i = 0; i < in->n; i++) {
        struct vc_tok_seg g = in->v[i];
        struct split x = { .s = s, .out = out };
        size_t begin = SIZE_MAX;
        uint32_t last = 0, cp;
        for (size_t a = g.start; a < g.end;) {
            size_t k = vc_chr_at(v->p + a, &cp);
            uint32_t script = vc_tok_script(cp);
            if (script && script != last) {
                if (begin != SIZE_MAX && !emit(&x, begin, a)) return;
                if (begin == g.start && out->n) out->v[out->n - 1].first = g.first;
                begin = a;
            }
            if (script) last = script;
            a += k;
        }
        if (begin != SIZE_MAX && !emit(&x, begin, g.end)) return;
        if (begin == g.start) out->v[out->n - 1].first = g.first;
    }
}

static bool rewrite_word(struct vc_tok_scratch *s, const struct vc_tok_pre *st, const struct vc_tok_view *v, struct vc_tok_seg g, struct vc_tok_store *o) {
    struct vc_tok_place at = { 0, 0 };
    bool put = false;
    vc_str before = st->kind == VC_PRE_SPACE ? VC_STR(" ") : st->text;
    if (st->kind == VC_PRE_SPACE) put = v->p[g.start] != ' ';
    if (st->kind == VC_PRE_METASPACE) {
        bool has = v->p[g.start] == ' ' || (g.end - g.start >= st->text.n && !memcmp(v->p + g.start, st->text.p, st->text.n));
        put = !has && (st->prepend == VC_PREPEND_ALWAYS || (st->prepend == VC_PREPEND_FIRST && g.first));
    }
    if (put) {
        if (s->offsets) at = vc_tok_place_of(s, v, g.start);
        if (!vc_tok_put(s, o, before.p, before.n, at)) return false;
    }
    if (st->kind == VC_PRE_SPACE) return vc_tok_put_view(s, o, v, g.start, g.end);
    for (size_t i = g.start; i < g.end; i++) {
        char c[4];
        vc_str r = { c, 0 };
        if (st->kind == VC_PRE_BYTES) r.n = vc_chr_put(c, vc_byte_char((unsigned char)v->p[i]));
        else if (v->p[i] == ' ') r = st->text;
        else {
            size_t j = i;
            while (j < g.end && v->p[j] != ' ') j++;
            if (!vc_tok_put_view(s, o, v, i, j)) return false;
            i = j - 1;
            continue;
        }
        if (s->offsets) at = vc_tok_place_of(s, v, i);
        if (!vc_tok_put(s, o, r.p, r.n, at)) return false;
    }
    return true;
}

static void rewrite_step(struct vc_tok_scratch *s, const struct vc_tok_pre *st, struct vc_tok_view *v, struct vc_tok_segs *segs, struct vc_tok_store *o) {
    o->n = 0;
    for (size_t i = 0; i < segs->n; i++) {
        size_t begin = o->n;
        if (!rewrite_word(s, st, v, segs->v[i], o)) return;
        segs->v[i].start = (uint32_t)begin;
        segs->v[i].end = (uint32_t)o->n;
    }
    *v = vc_tok_view_of(s, o);
}

vc_status vc_tok_pretokenize(struct vc_tok_scratch *s, const struct vc_tok_pre *step, uint32_t n, struct vc_tok_view *v, struct vc_tok_segs **out, vc_err *err) {
    struct vc_tok_segs *a = &s->segs[0], *b = &s->segs[1];
    unsigned store = 0;
    a->n = 0;
    *out = a;
    if (!v->n) return VC_OK;
    if (vc_tok_grow(s, &a->v, &a->cap, 1, sizeof *a->v))
        a->v[a->n++] = (struct vc_tok_seg){ 0, (uint32_t)v->n, s->offsets ? vc_tok_place_of(s, v, 0).start == 0 : v->base == 0 };
    for (uint32_t i = 0; i < n && !s->failed; i++) {
        if (step[i].kind == VC_PRE_SPLIT || step[i].kind == VC_PRE_FIXED || step[i].kind == VC_PRE_SCRIPTS || step[i].kind == VC_PRE_DIGITS) {
            if (step[i].kind == VC_PRE_SPLIT) VC_TRY(split_step(s, &step[i], v, a, b, err));
            else if (step[i].kind == VC_PRE_SCRIPTS) scripts_step(s, v, a, b);
            else if (step[i].kind == VC_PRE_DIGITS) digits_step(s, &step[i], v, a, b);
            else fixed_step(s, &step[i], v, a, b);
            struct vc_tok_segs *t = a;
            a = b;
            b = t;
        } else {
            rewrite_step(s, &step[i], v, a, &s->pre[store]);
            store ^= 1;
        }
    }
    if (s->failed) return vc_fail(err, VC_E_NOMEM, "tokenizer: out of memory");
    *out = a;
    return VC_OK;
}
