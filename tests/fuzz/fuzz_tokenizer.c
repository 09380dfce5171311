/* SPDX-License-Identifier: Apache-2.0
 * Any bytes as a tokenizer file: the first byte says which format the rest is read as. What loads must encode and decode a few
 * texts without trouble: offsets inside the text, streaming equal to decoding. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"
#include "io/gguf.h"
#include "text/tokenizer.h"

static void use(const struct vc_tokenizer *t) {
    static const char *const texts[] = {
        "", "Hello, world!", " two  spaces", "a\xCC\x81\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC \xF0\x9F\x98\x80\n", "<s>[INST]<0x41>##ing</s>", "1234567 '\xE2\x96\x81' \xEF\xAC\x81",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct vc_ids ids = { .with_offsets = true, .with_types = true };
        struct vc_buf whole = { 0 }, pieces = { 0 };
        struct vc_detok d;
        vc_err err = VC_ERR_INIT;
        size_t n = strlen(texts[i]);
        if (vc_tok_encode(t, texts[i], n, VC_ENC_ADD_SPECIAL | VC_ENC_PARSE_SPECIAL, &ids, &err) == VC_OK) {
            for (size_t k = 0; k < ids.n; k++) FUZZ_CHECK(ids.start[k] <= ids.end[k] && ids.end[k] <= n && (uint32_t)ids.v[k] < vc_tok_size(t));
            FUZZ_CHECK(vc_tok_decode(t, ids.v, ids.n, false, &whole, &err) == VC_OK || err.text[0]);
            vc_detok_init(&d, t, false);
            vc_status s = VC_OK;
            for (size_t k = 0; k < ids.n && s == VC_OK; k++) s = vc_detok_push(&d, ids.v[k], &pieces, &err);
            if (s == VC_OK) vc_detok_finish(&d, &pieces, &err);
            vc_detok_free(&d);
            if (ids.n) vc_tok_piece(t, ids.v[0], &whole, &err);
        }
        vc_ids_free(&ids);
        vc_buf_free(&whole);
        vc_buf_free(&pieces);
    }
}

static char folder[200];
static void remove_folder(void) { rmdir(folder); }

/* The readers take paths, so that the bytes go to a file in a folder of this process. */
static const char *put(const uint8_t *data, size_t n, const char *name) {
    static char path[256];
    const char *tmp = getenv("TMPDIR");
    if (!folder[0]) {
        snprintf(folder, sizeof folder, "%s/fuzz-tok-%d", tmp ? tmp : "/tmp", (int)getpid());
        if (mkdir(folder, 0700)) abort();
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f) abort();
    fwrite(data, 1, n, f);
    fclose(f);
    return path;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    struct vc_tokenizer *t = NULL;
    vc_err err = VC_ERR_INIT;
    if (n < 2 || n > 1 << 18) return 0;
    if (data[0] % 4 == 3) {
        struct vc_gguf *g = NULL;
        if (vc_gguf_open_mem(&g, data + 1, n - 1, "fuzz.gguf", &err)) return 0;
        (void)vc_tokenizer_from_gguf(&t, g, &err);
        vc_gguf_close(g);
    } else {
        static const char *const names[] = { "tokenizer.json", "x.model", "r50k_base.tiktoken" };
        static vc_status (*const load[])(struct vc_tokenizer **, const char *, vc_err *) = {
            vc_tokenizer_from_json, vc_tokenizer_from_sentencepiece, vc_tokenizer_from_tiktoken,
        };
        const char *path = put(data + 1, n - 1, names[data[0] % 4]);
        (void)load[data[0] % 4](&t, path, &err);
        unlink(path);
    }
    if (t) use(t);
    vc_tokenizer_close(t);
    return 0;
}
