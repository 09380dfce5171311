/* SPDX-License-Identifier: Apache-2.0 */
#include "tok_run.h"

#include <jansson.h>

enum { MAX_SHOWN = 6 };

/* One JSON value per line of a file. */
struct lines { FILE *f; char *line; size_t cap; };

static json_t *next_line(struct lines *l) {
    ssize_t n = getline(&l->line, &l->cap, l->f);
    if (n <= 0) return NULL;
    json_error_t e;
    json_t *j = json_loadb(l->line, (size_t)n, JSON_ALLOW_NUL, &e);
    assert_non_null(j);
    return j;
}

static void lines_close(struct lines *l) {
    fclose(l->f);
    free(l->line);
}

const struct tok_string *tok_strings(size_t *n) {
    static struct tok_string v[1024];
    static size_t count;
    *n = count;
    if (count) return v;
    const char *path = vc_golden("tokenizers/strings.jsonl");
    if (!path) return NULL;
    struct lines l = { .f = fopen(path, "rb") };
    for (json_t *j; count < 1024 && (j = next_line(&l)); json_decref(j)) {
        const json_t *t = json_object_get(j, "text");
        v[count].n = json_string_length(t);
        v[count].text = malloc(v[count].n + 1);
        memcpy(v[count].text, json_string_value(t), v[count].n + 1);
        v[count++].name = strdup(json_string_value(json_object_get(j, "name")));
    }
    lines_close(&l);
    *n = count;
    return v;
}

static bool listed(const char *const *list, const char *name) {
    for (; list && *list; list++) {
        if (!strcmp(*list, name)) return true;
    }
    return false;
}

/* ids under key, or run lengths under key_rle; NULL: neither is there. */
static json_t *ids_under(const json_t *r, const char *key) {
    char k[64];
    json_t *a = json_object_get(r, key);
    if (a) return json_incref(a);
    snprintf(k, sizeof k, "%s_rle", key);
    json_t *rle = json_object_get(r, k);
    if (!rle) return NULL;
    a = json_array();
    for (size_t i = 0; i < json_array_size(rle); i++) {
        json_t *p = json_array_get(rle, i);
        for (json_int_t c = json_integer_value(json_array_get(p, 1)); c > 0; c--) json_array_append(a, json_array_get(p, 0));
    }
    return a;
}

static bool same_ids(const json_t *want, const struct vc_ids *got) {
    if (json_array_size(want) != got->n) return false;
    for (size_t i = 0; i < got->n; i++) {
        if (json_integer_value(json_array_get(want, i)) != got->v[i]) return false;
    }
    return true;
}

static void show_ids(const char *what, const struct tok_string *s, const json_t *want, const struct vc_ids *got) {
    printf("  %s: %s: wanted %zu got %zu:", s->name, what, json_array_size(want), got->n);
    size_t i = 0;
    while (i < got->n && i < json_array_size(want) && json_integer_value(json_array_get(want, i)) == got->v[i]) i++;
    printf(" first differ at %zu: wanted", i);
    for (size_t k = i; k < i + 8 && k < json_array_size(want); k++) printf(" %d", (int)json_integer_value(json_array_get(want, k)));
    printf(" got");
    for (size_t k = i; k < i + 8 && k < got->n; k++) printf(" %d", got->v[k]);
    printf("\n");
}

static bool check_ids(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *want, int flags, const char *what, bool show) {
    struct vc_ids got = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status st = vc_tok_encode(t, s->text, s->n, flags, &got, &err);
    bool ok = st == VC_OK && same_ids(want, &got);
    if (!ok && show) {
        if (st) printf("  %s: %s: %s\n", s->name, what, err.text);
        else show_ids(what, s, want, &got);
    }
    vc_ids_free(&got);
    return ok;
}

static size_t chars_before(const char *p, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++) n += ((unsigned char)p[i] & 0xC0) != 0x80;
    return n;
}

static bool check_offsets(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *want, bool show) {
    struct vc_ids got = { .with_offsets = true };
    vc_err err = VC_ERR_INIT;
    if (vc_tok_encode(t, s->text, s->n, VC_ENC_PARSE_SPECIAL, &got, &err)) return false;
    bool ok = json_array_size(want) == 2 * got.n;
    for (size_t i = 0; ok && i < got.n; i++) {
        json_int_t a = json_integer_value(json_array_get(want, 2 * i)), b = json_integer_value(json_array_get(want, 2 * i + 1));
        json_int_t x = (json_int_t)chars_before(s->text, got.start[i]), y = (json_int_t)chars_before(s->text, got.end[i]);
        ok = a == x && b == y;
        if (!ok && show) printf("  %s: offsets of token %zu: wanted %d..%d got %d..%d\n", s->name, i, (int)a, (int)b, (int)x, (int)y);
    }
    vc_ids_free(&got);
    return ok;
}

static int32_t *plain(const json_t *ids, size_t *n) {
    *n = json_array_size(ids);
    int32_t *v = malloc((*n + 1) * sizeof *v);
    for (size_t i = 0; i < *n; i++) v[i] = (int32_t)json_integer_value(json_array_get(ids, i));
    return v;
}

static bool check_decode(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *ids, bool skip, const char *want, size_t want_n, bool show) {
    size_t n;
    int32_t *v = plain(ids, &n);
    struct vc_buf b = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_status st = vc_tok_decode(t, v, n, skip, &b, &err);
    bool ok = st == VC_OK && b.n == want_n && (!want_n || !memcmp(b.p, want, want_n));
    if (!ok && show) printf("  %s: decode%s: wanted \"%.*s\" got \"%.*s\" %s\n", s->name, skip ? " (skip)" : "", (int)want_n, want, (int)b.n, b.p ? b.p : "", err.text);
    vc_buf_free(&b);
    free(v);
    return ok;
}

/* The golden's pieces; afterwards the flush must complete the whole decode. */
static bool check_pieces(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *ids, const json_t *pieces, bool show) {
    size_t n;
    int32_t *v = plain(ids, &n);
    struct vc_detok d;
    struct vc_buf all = { 0 }, whole = { 0 };
    vc_err err = VC_ERR_INIT;
    vc_detok_init(&d, t, false);
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        size_t before = all.n;
        const json_t *w = json_array_get(pieces, i);
        ok = vc_detok_push(&d, v[i], &all, &err) == VC_OK;
        if (pieces) ok = ok && json_string_length(w) == all.n - before && (all.n == before || !memcmp(json_string_value(w), all.p + before, all.n - before));
        if (!ok && show) printf("  %s: piece %zu (id %d): wanted \"%s\" got \"%s\"\n", s->name, i, v[i], json_string_value(w), all.p ? all.p + before : "");
    }
    ok = ok && vc_detok_finish(&d, &all, &err) == VC_OK && vc_tok_decode(t, v, n, false, &whole, &err) == VC_OK;
    bool joined = all.n == whole.n && (!all.n || !memcmp(all.p, whole.p, all.n));
    if (ok && !joined && show) printf("  %s: the pieces do not join to the decode\n", s->name);
    vc_detok_free(&d);
    vc_buf_free(&all);
    vc_buf_free(&whole);
    free(v);
    return ok && joined;
}

/* mistral_common's decode that keeps special tokens joins the pieces as they are spelled; the text itself is what
 * sentencepiece decodes to, which drops leading spaces. */
static bool check_spelled(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *ids, const char *want, size_t want_n, bool show) {
    size_t n;
    int32_t *v = plain(ids, &n);
    struct vc_buf b = { 0 };
    for (size_t i = 0; i < n; i++) vc_buf_add(&b, vc_tok_text(t, v[i]).p, vc_tok_text(t, v[i]).n);
    bool ok = b.n == want_n && !memcmp(b.p ? b.p : "", want, want_n);
    if (!ok && show) printf("  %s: pieces: wanted \"%.*s\" got \"%.*s\"\n", s->name, (int)want_n, want, (int)b.n, b.p ? b.p : "");
    vc_buf_free(&b);
    free(v);
    vc_str first = n ? vc_tok_text(t, (int32_t)json_integer_value(json_array_get(ids, 0))) : (vc_str){ "", 0 };
    if (n && (first.n < 3 || memcmp(first.p, "\xE2\x96\x81", 3))) return ok;    /* only behind a dummy space the text comes back */
    return ok && (strstr(s->text, "\xE2\x96\x81") || check_decode(t, s, ids, false, s->text, s->n, show));
}

static bool one_hf(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *r, bool offsets, bool show) {
    json_t *ids = ids_under(r, "ids"), *special = ids_under(r, "ids_special");
    assert_non_null(ids);
    int parse = vc_tok_parses_special(t) ? VC_ENC_PARSE_SPECIAL : 0;    /* where not, nothing was recorded with tokens added */
    bool ok = check_ids(t, s, ids, parse, "ids", show);
    ok = ok && (!parse || check_ids(t, s, special ? special : ids, parse | VC_ENC_ADD_SPECIAL, "ids_special", show));
    const json_t *off = json_object_get(r, "offsets"), *p = json_object_get(r, "pieces"), *d = json_object_get(r, "decode"), *k = json_object_get(r, "decode_skip_special");
    if (ok && off && offsets) ok = check_offsets(t, s, off, show);
    bool spelled = d && !parse && strstr(json_string_value(d), "\xE2\x96\x81") == json_string_value(d);
    if (spelled) ok = ok && check_spelled(t, s, ids, json_string_value(d), json_string_length(d), show);
    else if (!json_object_get(r, "decode_rle")) {
        const char *want = d ? json_string_value(d) : s->text;
        size_t n = d ? json_string_length(d) : s->n;
        ok = ok && check_decode(t, s, ids, false, want, n, show);
        ok = ok && check_decode(t, s, ids, true, k ? json_string_value(k) : want, k ? json_string_length(k) : n, show);
    }
    ok = ok && (json_object_get(r, "pieces_error") || check_pieces(t, s, ids, p, show));
    json_decref(ids);
    json_decref(special);
    return ok;
}

static bool one_llama(const struct vc_tokenizer *t, const struct tok_string *s, const json_t *r, bool show) {
    json_t *ids = ids_under(r, "ids"), *raw = ids_under(r, "ids_parse_special_false"), *special = ids_under(r, "ids_add_special");
    assert_non_null(ids);
    bool ok = check_ids(t, s, ids, VC_ENC_PARSE_SPECIAL, "ids", show);
    ok = check_ids(t, s, raw ? raw : ids, 0, "ids_parse_special_false", show) && ok;
    ok = check_ids(t, s, special ? special : ids, VC_ENC_PARSE_SPECIAL | VC_ENC_ADD_SPECIAL, "ids_add_special", show) && ok;
    ok = check_pieces(t, s, ids, NULL, show) && ok;
    if (!json_object_get(r, "ids_rle") && !json_object_get(r, "detok_hex")) {
        /* llama_detokenize drops spaces before punctuation for some vocabularies (clean_spaces); its pieces, ours and
         * those of Hugging Face tokenizers keep them, so that the text comes back */
        static const char *const cleaned[] = { "contractions.3", "punct.20", "punct.33", NULL };
        bool kept = listed(cleaned, s->name) && strcmp(vc_tok_kind(t), "wordpiece") != 0;
        const json_t *d = kept ? NULL : json_object_get(r, "detok");
        ok = check_decode(t, s, ids, false, d ? json_string_value(d) : s->text, d ? json_string_length(d) : s->n, show) && ok;
    }
    json_decref(ids);
    json_decref(raw);
    json_decref(special);
    return ok;
}

static size_t check(const struct vc_tokenizer *t, const char *golden, const char *name, const char *const *skip, bool hf, bool offsets) {
    size_t n, total = 0, equal = 0, aside = 0;
    const struct tok_string *s = tok_strings(&n);
    assert_non_null(s);
    struct lines l = { .f = fopen(golden, "rb") };
    assert_non_null(l.f);
    for (json_t *r; (r = next_line(&l)); json_decref(r)) {
        size_t i = (size_t)json_integer_value(json_object_get(r, "i"));
        assert_true(i < n);
        if (listed(skip, s[i].name)) { aside++; continue; }
        bool show = total - equal < MAX_SHOWN;
        total++;
        equal += hf ? one_hf(t, &s[i], r, offsets, show) : one_llama(t, &s[i], r, show);
    }
    lines_close(&l);
    printf("%s: %zu/%zu equal", name, equal, total);
    if (aside) printf(", %zu set aside", aside);
    printf("\n");
    assert_true(total > 500);
    return total - equal;
}

size_t tok_check_hf(const struct vc_tokenizer *t, const char *golden, const char *name, const char *const *skip, bool offsets) {
    return check(t, golden, name, skip, true, offsets);
}
size_t tok_check_llama(const struct vc_tokenizer *t, const char *golden, const char *name, const char *const *skip) {
    return check(t, golden, name, skip, false, false);
}

static bool same_pair(const json_t *r, const struct vc_ids *got) {
    const json_t *type = json_object_get(r, "type_ids"), *mask = json_object_get(r, "special_mask");
    bool ok = same_ids(json_object_get(r, "ids"), got);
    for (size_t i = 0; ok && i < got->n; i++) {
        ok = json_integer_value(json_array_get(type, i)) == (got->type[i] & ~VC_IDS_ADDED);
        ok = ok && (json_integer_value(json_array_get(mask, i)) == 1) == ((got->type[i] & VC_IDS_ADDED) != 0);
    }
    return ok;
}

bool tok_check_pairs(const char *golden, size_t *equal, size_t *total, size_t *absent) {
    struct lines l = { .f = fopen(golden, "rb") };
    struct vc_tokenizer *t = NULL;
    char have[64] = "";
    if (!l.f) return false;
    for (json_t *r; (r = next_line(&l)); json_decref(r)) {
        const char *name = json_string_value(json_object_get(r, "name"));
        vc_err err = VC_ERR_INIT;
        if (strcmp(name, have)) {
            char rel[256];
            snprintf(have, sizeof have, "%s", name);
            snprintf(rel, sizeof rel, "tokenizers/trained/%s/tokenizer.json", name);
            vc_tokenizer_close(t);
            t = NULL;
            const char *path = vc_golden(rel);
            if (path) assert_int_equal(vc_tokenizer_open(&t, path, &err), VC_OK);
        }
        if (!t) { (*absent)++; continue; }
        const json_t *a = json_object_get(r, "a"), *b = json_object_get(r, "b");
        vc_str text[2] = { { json_string_value(a), json_string_length(a) }, { json_string_value(b), json_string_length(b) } };
        struct vc_ids got = { .with_types = true };
        vc_status s = vc_tok_encode_pair(t, text, VC_ENC_ADD_SPECIAL | VC_ENC_PARSE_SPECIAL, &got, &err);
        bool ok = s == VC_OK && same_pair(r, &got);
        if (!ok && *total - *equal < MAX_SHOWN) printf("  %s: pair \"%s\" \"%s\" %s\n", name, text[0].p, text[1].p, err.text);
        *equal += ok;
        (*total)++;
        vc_ids_free(&got);
    }
    vc_tokenizer_close(t);
    lines_close(&l);
    return true;
}
