/* SPDX-License-Identifier: Apache-2.0
 * Properties of the output parser over 10,000 seeded texts made from the recorded ones (cut, changed, joined,
 * repeated): every cutting gives the same deltas, complete arguments are JSON, calls of a stream count up and end. */
#include "parse_run.h"
#include "test.h"

enum { N_CASES = 10000, MAX_TEXTS = 1200, MAX_LEN = 6000 };

static const char *const files[] = {
    "apertus",        "cohere_command3", "deepseek_v3",  "deepseek_v31", "deepseek_v32",   "deepseek_v4", "ernie45",
    "functiongemma",  "gemma4",          "glm45",        "glm47",        "granite-20b-fc", "granite",     "granite4",
    "harmony",        "hermes",          "hunyuan_a13b", "internlm",     "jamba",          "kimi_k2",     "lfm2",
    "llama3_json",    "llama4_pythonic", "longcat",      "minimax_m2",   "mistral_json",   "mistral_v11", "olmo3",
    "phi4_mini_json", "pythonic",        "qwen3_coder",  "qwen3_xml",    "seed_oss",       "step3",       "xlam",
};
static struct {
    const char *text;
    size_t n;
} texts[MAX_TEXTS];
static size_t n_texts;
static json_t *tools, *rows[MAX_TEXTS];
static uint32_t seed;

static uint32_t rnd(uint32_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return n ? seed % n : 0;
}

static void load(const char *file) {
    char name[128];
    static char line[1 << 20];
    snprintf(name, sizeof name, "tool-parsers/%s.jsonl", file);
    const char *path = vc_golden(name);
    FILE *f = path ? fopen(path, "rb") : NULL;
    if (!f) {
        vc_left_out(name);
        return;
    }
    while (fgets(line, sizeof line, f) && n_texts < MAX_TEXTS) {
        json_t *row = json_loads(line, 0, NULL), *text = json_object_get(row, "text");
        rows[n_texts] = row;
        texts[n_texts].text = json_string_value(text);
        texts[n_texts].n = json_string_length(text);
        n_texts++;
    }
    fclose(f);
}

static void piece(struct vc_buf *b, size_t i) {
    size_t n = texts[i].n < MAX_LEN ? texts[i].n : MAX_LEN, from = rnd(4) ? 0 : rnd((uint32_t)n),
           to = rnd(3) ? n : from + rnd((uint32_t)(n - from) + 1);
    vc_buf_add(b, texts[i].text + from, to > from ? to - from : 0);
}

/* Bytes that matter to some format, and bytes that should matter to none. */
static void change(struct vc_buf *b) {
    static const char bytes[] = "<>|[]{}()\"'\\,:=\n /\0\xff\xc3\xef\xbd\x9c"
                                "abt0-";
    for (uint32_t k = rnd(5); k-- > 0 && b->n;) {
        size_t at = rnd((uint32_t)b->n);
        switch (rnd(4)) {
            case 0: b->p[at] = bytes[rnd(sizeof bytes - 1)]; break;
            case 1: memmove(b->p + at, b->p + at + 1, --b->n - at); break;
            case 2: b->n = at; break;
            default: {
                char c = bytes[rnd(sizeof bytes - 1)];
                vc_buf_addc(b, '\0');
                memmove(b->p + at + 1, b->p + at, b->n - at - 1);
                b->p[at] = c;
            }
        }
    }
}

static void make(struct vc_buf *b, size_t i) {
    b->n = 0;
    piece(b, i);
    while (rnd(3) == 0) piece(b, rnd(2) ? i : rnd((uint32_t)n_texts));
    if (rnd(8)) change(b);
}

static int one(uint32_t case_seed) {
    static const int cuts[] = { 1, 2, 3, 7, CUT_TOKEN, CUT_RANDOM };
    struct vc_buf b = { 0 };
    struct parse_result first, r;
    seed = case_seed * 2654435761u + 1;
    for (int i = 0; i < 4; i++) (void)rnd(1);
    size_t i = rnd((uint32_t)n_texts);
    make(&b, i);
    const char *text = b.p ? b.p : "", *tool = json_string_value(json_object_get(rows[i], "tool_parser"));
    const char *think = json_string_value(json_object_get(rows[i], "reasoning_parser"));
    int bad = 0, cut = cuts[rnd(sizeof cuts / sizeof cuts[0])];
    parse_run(&first, tool, think, tools, text, b.n, CUT_ONE, 0);
    parse_run(&r, tool, think, tools, text, b.n, cut, case_seed);
    const char *what = first.wrong ? first.wrong : r.wrong ? r.wrong : parse_result_differs(&first, &r);
    if (what) {
        bad = 1;
        printf("seed %u, %s with %s, %s: %s\n  text ", case_seed, tool, think ? think : "none", cut_name(cut), what);
        for (size_t k = 0; k < b.n && k < 600; k++)
            printf((unsigned char)text[k] < 32 || (unsigned char)text[k] > 126 ? "\\x%02x" : "%c",
                   (unsigned char)text[k]);
        printf("\n  one push: %.200s | %.300s | %u\n  in pieces: %.200s | %.300s | %u\n",
               first.reasoning.p ? first.reasoning.p : "", first.content.p ? first.content.p : "", first.n_calls,
               r.reasoning.p ? r.reasoning.p : "", r.content.p ? r.content.p : "", r.n_calls);
        for (uint32_t k = 0; k < first.n_calls && k < 3; k++)
            printf("  %.200s\n  %.200s\n", first.call[k].args.p ? first.call[k].args.p : "",
                   r.call[k].args.p ? r.call[k].args.p : "");
    }
    parse_result_free(&r);
    parse_result_free(&first);
    parse_run(&r, tool, think, tools, text, b.n, CUT_WHOLE, 0);
    if (r.wrong) {
        bad = 1;
        printf("seed %u, %s, whole: %s\n", case_seed, tool, r.wrong);
    }
    parse_result_free(&r);
    vc_buf_free(&b);
    return bad;
}

static void cuttings_agree(void **state) {
    (void)state;
    const char *path = vc_golden("tool-parsers/tools.json");
    if (!path) {
        vc_left_out("tool-parsers");
        return;
    }
    tools = json_load_file(path, 0, NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) load(files[i]);
    assert_true(n_texts > 0);
    int bad = 0;
    for (uint32_t i = 0; i < N_CASES && bad < 10; i++) bad += one(i);
    for (size_t i = 0; i < n_texts; i++) json_decref(rows[i]);
    json_decref(tools);
    printf("%d cases, %d wrong\n", N_CASES, bad);
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(cuttings_agree) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
