/* SPDX-License-Identifier: Apache-2.0
 * Encodes files with a tokenizer, several times, and prints "FILE MB/s tokens" for each, the best of the repetitions. The
 * text is cut at line ends into pieces of about 64 KiB, as requests would be. usage: bench_tokenize TOKENIZER REPS FILE… */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "text/tokenizer.h"

static bool read_all(const char *path, struct vc_buf *b) {
    char chunk[65536];
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;) vc_buf_add(b, chunk, n);
    fclose(f);
    return !b->failed;
}

static size_t encode_all(const struct vc_tokenizer *t, const struct vc_buf *b, vc_err *err) {
    struct vc_ids ids = { 0 };
    size_t tokens = 0;
    for (size_t at = 0; at < b->n;) {
        size_t n = VC_MIN((size_t)65536, b->n - at);
        const char *end = at + n < b->n ? memchr(b->p + at + n, '\n', b->n - at - n) : NULL;
        n = end ? (size_t)(end + 1 - (b->p + at)) : b->n - at;
        ids.n = 0;
        if (vc_tok_encode(t, b->p + at, n, vc_tok_parses_special(t) ? VC_ENC_PARSE_SPECIAL : 0, &ids, err)) {
            vc_ids_free(&ids);
            return 0;
        }
        tokens += ids.n;
        at += n;
    }
    vc_ids_free(&ids);
    return tokens;
}

int main(int argc, char **argv) {
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (argc < 4) {
        fprintf(stderr, "usage: bench_tokenize TOKENIZER REPS FILE…\n");
        return 2;
    }
    if (vc_tokenizer_open(&t, argv[1], &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 3; i < argc; i++) {
        struct vc_buf b = { 0 };
        double best = 1e300;
        size_t tokens = 0;
        if (!read_all(argv[i], &b)) {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            return 1;
        }
        for (int r = 0; r < atoi(argv[2]); r++) {
            uint64_t start = vc_now_ns();
            tokens = encode_all(t, &b, &err);
            double s = (double)(vc_now_ns() - start) * 1e-9;
            best = VC_MIN(best, s);
        }
        if (b.n && !tokens) fprintf(stderr, "%s\n", err.text);
        printf("%s %.2f %zu\n", argv[i], (double)b.n / best / 1e6, tokens);
        vc_buf_free(&b);
    }
    vc_tokenizer_close(t);
    return 0;
}
