/* SPDX-License-Identifier: Apache-2.0
 * Every attention row of both cores on every tier against op/ref: head sizes, groups, windows, softcap, formats, slots,
 * sequences of mixed length over shuffled pages; chunks against the whole; values past the last key. */
#include "harness.h"

#include <math.h>

#include "op/attention.h"

static uint64_t rng = 5;

enum { MAX_SEQS = 6 };
struct seq { uint32_t rows, pos0; };
struct shape {
    uint32_t hd, heads, kv_heads, page, window;
    float softcap;
    struct seq seq[MAX_SEQS];                              /* up to the first without rows */
};
struct formats { enum vc_dtype q, kv, y; uint8_t score, prob; enum h_data data; };

static const struct formats vllm = { VC_BF16, VC_BF16, VC_BF16, VC_F32, VC_F32, H_NORMAL };
static const struct formats gguf = { VC_F32, VC_F16, VC_F32, VC_F32, VC_F32, H_NORMAL };

struct setup {
    struct vc_contract c;
    struct vc_attention_args a;
    struct vc_attn_seq seqs[MAX_SEQS];
    struct vc_op_call call;
    struct vc_dims d;
    char what[200];
};

/* Page numbers of all sequences, shuffled; the pool holds exactly those pages. */
static uint32_t make_tables(const struct shape *s, struct setup *u) {
    uint32_t pages = 0, *all;
    for (uint32_t i = 0; i < u->a.num_seqs; i++) pages += (s->seq[i].pos0 + s->seq[i].rows + s->page - 1) / s->page;
    all = h_alloc(pages * sizeof *all, 4);
    for (uint32_t i = 0; i < pages; i++) {
        uint32_t j = vc_rng_below(&rng, i + 1);
        all[i] = all[j];
        all[j] = i;
    }
    for (uint32_t i = 0, at = 0; i < u->a.num_seqs; i++) {
        uint32_t n = (s->seq[i].pos0 + s->seq[i].rows + s->page - 1) / s->page, *table = h_alloc(n * sizeof *table, 4);
        memcpy(table, all + at, n * sizeof *table);
        u->seqs[i].block_table = table;
        at += n;
    }
    return pages;
}

static void make(struct setup *u, const struct shape *s, enum vc_arith core, const struct formats *f) {
    memset(u, 0, sizeof *u);
    u->c = h_contract(VC_OP_ATTENTION, core);
    u->c.slot[VC_SLOT_ATTN_SCORE] = f->score;
    u->c.slot[VC_SLOT_ATTN_PROB] = f->prob;
    u->a = (struct vc_attention_args){ .geom = { s->kv_heads, s->hd, s->page }, .num_heads = s->heads, .window = s->window,
                                       .scale = 1.0f / sqrtf((float)s->hd), .softcap = s->softcap, .seqs = u->seqs };
    uint32_t row = 0;
    for (; u->a.num_seqs < MAX_SEQS && s->seq[u->a.num_seqs].rows; u->a.num_seqs++) {
        const struct seq *q = &s->seq[u->a.num_seqs];
        u->seqs[u->a.num_seqs] = (struct vc_attn_seq){ .row0 = row, .rows = q->rows, .pos0 = q->pos0 };
        row += q->rows;
    }
    uint32_t pages = make_tables(s, u), page_values = s->kv_heads * 2 * s->page * s->hd;
    u->call = (struct vc_op_call){ .contract = &u->c, .args = &u->a };
    u->call.in[0] = h_view(f->q, row, s->heads * s->hd, row > 3 ? 16 : 0);
    u->call.in[1] = h_view(f->kv, pages, page_values, pages > 2 ? 64 : 0);
    u->call.out[0] = h_view(f->y, row, s->heads * s->hd, row > 3 ? 8 : 0);
    h_fill(&u->call.in[0], f->data, &rng);
    h_fill(&u->call.in[1], f->data, &rng);
    u->d = (struct vc_dims){ .max_rows = row, .K = s->heads * s->hd, .num_heads = s->heads, .num_kv_heads = s->kv_heads, .head_dim = s->hd,
                             .page_tokens = s->page, .max_seqs = u->a.num_seqs, .in0 = f->q, .weight = f->kv, .out0 = f->y, .args = &u->a };
    snprintf(u->what, sizeof u->what, "%s hd %u heads %u/%u page %u window %u cap %g, %s x %s -> %s, %s, %u seqs of %u at %u", vc_arith_info(core)->name,
             s->hd, s->heads, s->kv_heads, s->page, s->window, (double)s->softcap, vc_dtype_name(f->q), vc_dtype_name(f->kv), vc_dtype_name(f->y),
             h_data_name(f->data), u->a.num_seqs, s->seq[0].rows, s->seq[0].pos0);
}

static const enum vc_arith cores[] = { VC_ARITH_ATTN_CARRIED, VC_ARITH_ATTN_TILED };

static void run(const struct shape *s, const struct formats *f) {
    for (size_t k = 0; k < VC_ARRAY_LEN(cores); k++) {
        struct setup u;
        make(&u, s, cores[k], f);
        assert_true(h_check(&u.call, &u.d, u.what) >= 2);
        h_free_all();
    }
}

static const struct shape shapes[] = {
    { 64, 1, 1, 16, 0, 0, { { 1, 0 } } },
    { 64, 3, 1, 16, 0, 0, { { 1, 63 } } },
    { 64, 9, 3, 32, 0, 0, { { 1, 64 } } },
    { 256, 4, 1, 16, 0, 0, { { 1, 200 } } },
    { 64, 9, 3, 16, 0, 0, { { 20, 0 } } },
    { 256, 4, 1, 64, 0, 0, { { 9, 170 } } },
    { 128, 8, 2, 32, 0, 0, { { 3, 330 }, { 1, 0 }, { 1, 700 } } },
    { 64, 2, 2, 16, 0, 0, { { 2, 639 }, { 70, 0 } } },
    { 8, 2, 1, 16, 0, 0, { { 5, 40 } } },
    { 24, 4, 2, 48, 0, 0, { { 4, 100 }, { 1, 15 } } },
    { 80, 5, 1, 16, 0, 0, { { 7, 61 } } },
    { 96, 7, 1, 16, 0, 0, { { 2, 127 } } },
    { 104, 14, 1, 32, 0, 0, { { 2, 64 } } },
    { 576, 16, 1, 16, 0, 0, { { 1, 130 } } },
    { 32, 25, 1, 16, 0, 0, { { 1, 70 } } },
    { 64, 4, 2, 16, 16, 0, { { 40, 100 }, { 1, 300 } } },
    { 64, 4, 1, 32, 100, 0, { { 3, 700 }, { 30, 0 } } },
    { 32, 2, 1, 16, 1, 0, { { 10, 70 } } },
    { 128, 4, 1, 16, 64, 30, { { 6, 400 } } },
    { 64, 2, 1, 16, 0, 50, { { 5, 75 } } },
    { 64, 6, 1, 16, 0, 0, { { 1, 5 }, { 1, 16 }, { 1, 17 }, { 1, 90 }, { 1, 257 }, { 1, 1 } } },
};
static void shapes_of_both_cores(void **state) {
    (void)state;
    for (size_t i = 0; i < VC_ARRAY_LEN(shapes); i++) {
        run(&shapes[i], &vllm);
        run(&shapes[i], &gguf);
    }
}

static void formats_and_slots(void **state) {
    (void)state;
    static const enum vc_dtype t[] = { VC_F32, VC_BF16, VC_F16 };
    static const struct shape some[] = { { 64, 3, 1, 16, 0, 0, { { 3, 70 } } }, { 40, 7, 1, 16, 20, 15, { { 2, 40 } } } };
    for (int i = 0; i < 27; i++) {
        struct formats f = { t[i % 3], t[i / 3 % 3], t[i / 9], (uint8_t)t[(i + 1) % 3], (uint8_t)t[i / 2 % 3], H_NORMAL };
        run(&some[i % 2], &f);
        f.score = f.prob = VC_F32;
        run(&some[i % 2], &f);
    }
}

static void kinds_of_data(void **state) {
    (void)state;
    static const enum h_data kinds[] = { H_INTS, H_WIDE, H_ZEROS };
    static const struct shape some[] = { { 64, 4, 2, 16, 0, 0, { { 8, 120 }, { 1, 700 } } }, { 96, 3, 1, 16, 70, 20, { { 4, 200 } } } };
    for (size_t k = 0; k < VC_ARRAY_LEN(kinds); k++)
        for (size_t i = 0; i < VC_ARRAY_LEN(some); i++) {
            struct formats f = vllm;
            f.data = kinds[k];
            run(&some[i], &f);
            f = gguf;
            f.data = kinds[k];
            run(&some[i], &f);
        }
}

/* Runs the best row of the tier with `parts` on the call. */
static void run_tier(struct setup *u, enum vc_tier tier, uint32_t parts) {
    const struct vc_kernel *k = vc_kernel_select(vc_cpu_kernels, tier, &u->c, &u->d, u->d.max_rows);
    assert_non_null(k);
    h_run(k, &u->call, &u->d, parts);
}

/* A sequence in chunks gives the words of the whole, with any number of parts. */
static void chunks(void **state) {
    (void)state;
    static const uint32_t cut[] = { 0, 1, 2, 7, 40, 41, 64, 129, 150 };
    static const struct shape whole[] = { { 64, 6, 2, 16, 0, 0, { { 150, 0 } } }, { 256, 4, 1, 32, 50, 0, { { 150, 0 } } } };
    for (size_t w = 0; w < VC_ARRAY_LEN(whole); w++)
        for (size_t core = 0; core < VC_ARRAY_LEN(cores); core++) {
            struct setup u;
            make(&u, &whole[w], cores[core], core ? &gguf : &vllm);
            enum vc_tier tier = h_tier_runs(VC_TIER_AVX2) ? VC_TIER_AVX2 : VC_TIER_PORTABLE;
            run_tier(&u, tier, 2);
            size_t bytes = u.call.out[0].stride * 150;
            char *want = malloc(bytes);
            memcpy(want, u.call.out[0].data, bytes - 8);
            struct vc_view q = u.call.in[0], y = u.call.out[0];
            memset(y.data, 0, bytes - 8);
            for (size_t i = 0; i + 1 < VC_ARRAY_LEN(cut); i++) {
                u.seqs[0].rows = cut[i + 1] - cut[i];
                u.seqs[0].pos0 = cut[i];
                u.call.in[0].data = (char *)q.data + cut[i] * q.stride;
                u.call.out[0].data = (char *)y.data + cut[i] * y.stride;
                u.call.in[0].rows = u.call.out[0].rows = u.seqs[0].rows;
                run_tier(&u, tier, (uint32_t)(1 + i % 5));
            }
            for (uint32_t r = 0; r < 150; r++) assert_memory_equal((char *)y.data + r * y.stride, want + r * y.stride, h_row_bytes(&y));
            free(want);
            h_free_all();
        }
}

/* Finite values behind the last key change nothing. */
static void stale(void **state) {
    (void)state;
    static const struct shape s = { 64, 4, 2, 32, 0, 0, { { 3, 74 }, { 1, 97 } } };
    for (size_t core = 0; core < VC_ARRAY_LEN(cores); core++) {
        struct setup u;
        make(&u, &s, cores[core], core ? &gguf : &vllm);
        enum vc_tier tier = h_tier_runs(VC_TIER_AVX2) ? VC_TIER_AVX2 : VC_TIER_PORTABLE;
        run_tier(&u, tier, 2);
        size_t bytes = u.call.out[0].stride * 3 + h_row_bytes(&u.call.out[0]);
        char *want = malloc(bytes);
        memcpy(want, u.call.out[0].data, bytes);
        for (uint32_t q = 0; q < u.a.num_seqs; q++) {
            uint32_t used = u.seqs[q].pos0 + u.seqs[q].rows;
            for (uint32_t pos = used; pos < (used + 31) / 32 * 32; pos++)
                for (uint32_t h = 0; h < 2; h++)
                    for (uint32_t d = 0; d < 64; d++) {
                        uint16_t *page = (uint16_t *)(void *)((char *)u.call.in[1].data + u.seqs[q].block_table[pos / 32] * u.call.in[1].stride);
                        uint16_t big = core ? 0x7BFF : 0x7F7F, x = d % 2 ? big : (uint16_t)(big | 0x8000u);
                        page[vc_kv_k_index(&u.a.geom, h, pos % 32, d)] = x;
                        page[vc_kv_v_index(&u.a.geom, h, pos % 32, d)] = x;
                    }
        }
        memset(u.call.out[0].data, 0, h_row_bytes(&u.call.out[0]));
        run_tier(&u, tier, 3);
        assert_memory_equal(u.call.out[0].data, want, bytes);
        free(want);
        h_free_all();
    }
}

/* Long contexts: many tiles for the parts to share, and more of them than a part may keep apart. */
static void long_context(void **state) {
    (void)state;
    static const struct shape some[] = { { 8, 2, 1, 16, 0, 0, { { 1, 9000 }, { 2, 5000 } } }, { 8, 2, 1, 16, 0, 0, { { 1, 150000 } } } };
    for (size_t i = 0; i < VC_ARRAY_LEN(some); i++) run(&some[i], &gguf);
}

static void carried_tile(void **state) {
    (void)state;
    assert_int_equal(vc_carried_tile(64), 640);
    assert_int_equal(vc_carried_tile(128), 320);
    assert_int_equal(vc_carried_tile(256), 160);
    for (uint32_t hd = 8; hd <= VC_ATTN_MAX_HEAD_DIM; hd += 8) assert_true(vc_carried_tile(hd) % 32 == 0 && vc_carried_tile(hd) <= 8192);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(carried_tile), cmocka_unit_test(shapes_of_both_cores), cmocka_unit_test(formats_and_slots),
        cmocka_unit_test(kinds_of_data), cmocka_unit_test(chunks), cmocka_unit_test(stale), cmocka_unit_test(long_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
