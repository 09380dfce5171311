/* SPDX-License-Identifier: Apache-2.0 */
#include "harness.h"

#include <sys/mman.h>
#include <unistd.h>

#include "op/qact.h"

struct block { void *base; size_t bytes; };
static struct block blocks[4096];
static size_t num_blocks;

static size_t map_bytes(size_t bytes, size_t page) { return (bytes + page - 1) / page * page + page; }

/* Maps pages, the last of them without access; returns the address where `bytes` end at it. */
static char *map_guarded(size_t bytes, void **base, size_t *total) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    *total = map_bytes(bytes, page);
    char *p = mmap(NULL, *total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || mprotect(p + *total - page, page, PROT_NONE) != 0) fail_msg("no memory for a guarded buffer of %zu bytes", bytes);
    *base = p;
    return p + *total - page - bytes;
}

void *h_alloc(size_t bytes, size_t align) {
    if (num_blocks == VC_ARRAY_LEN(blocks)) fail_msg("too many guarded buffers");
    bytes = (bytes + align - 1) / align * align;
    struct block *b = &blocks[num_blocks++];
    return map_guarded(bytes ? bytes : align, &b->base, &b->bytes);
}

void h_free_all(void) {
    for (size_t i = 0; i < num_blocks; i++) munmap(blocks[i].base, blocks[i].bytes);
    num_blocks = 0;
}

static size_t plain_bytes(enum vc_dtype t, uint32_t cols) {
    uint64_t n;
    if (t == VC_A8_32 || t == VC_A8_256) return vc_qact_stride(cols, t == VC_A8_32 ? 32 : 256);
    if (vc_dtype_bytes(t, cols, &n)) fail_msg("%u columns of %s", cols, vc_dtype_name(t));
    return (size_t)n;
}
size_t h_row_bytes(const struct vc_view *v) { return plain_bytes(v->dtype, v->cols); }
static size_t view_bytes(const struct vc_view *v) { return v->rows ? (size_t)(v->rows - 1) * v->stride + h_row_bytes(v) : 0; }

struct vc_view h_view(enum vc_dtype t, uint32_t rows, uint32_t cols, size_t gap) {
    struct vc_view v = { .stride = plain_bytes(t, cols) + gap, .rows = rows, .cols = cols, .dtype = t };
    size_t bytes = view_bytes(&v), align = t == VC_A8_32 || t == VC_A8_256 ? 64 : 1;
    v.data = h_alloc(bytes, align);
    if (gap) memset(v.data, 0x5A, bytes);
    for (uint32_t r = 0; r < rows; r++) memset((char *)v.data + r * v.stride, 0, v.stride - gap);
    v.raw = v.data;
    return v;
}

const char *h_data_name(enum h_data k) {
    static const char *const name[] = { "small integers", "normal", "wide exponents", "zeros", "tiny", "huge", "inf and nan" };
    return name[k];
}

/* Sum of twelve uniforms less six. */
float h_gauss(uint64_t *rng) {
    float s = -6.0f;
    for (int i = 0; i < 12; i++) s += vc_rng_float(rng);
    return s;
}

static float draw(enum h_data kind, enum vc_dtype t, uint64_t *rng) {
    static const float special[] = { 0x1p-149f, -0x1p-130f, 0x1p-126f, -0x1p-126f, 0x1.8p-127f, 0.0f, -0.0f, 0x1p-24f };
    int half = t == VC_F16;
    switch (kind) {
        case H_INTS: return (float)((int)vc_rng_below(rng, 17) - 8);
        case H_WIDE: {
            int range = half ? 6 : 20, e = (int)vc_rng_below(rng, (uint32_t)(2 * range + 1)) - range;
            return h_gauss(rng) * vc_bits_f32((uint32_t)(127 + e) << 23);
        }
        case H_ZEROS: return vc_rng_below(rng, 8) ? (vc_rng_below(rng, 2) ? 0.0f : -0.0f) : 1.0f;
        case H_TINY: return vc_rng_below(rng, 3) ? special[vc_rng_below(rng, VC_ARRAY_LEN(special))] : h_gauss(rng);
        case H_HUGE: return h_gauss(rng) * (half ? 8000.0f : 0x1p57f);
        case H_SPECIAL:
            switch (vc_rng_below(rng, 64)) {
                case 0: return vc_bits_f32(0x7F800000u);
                case 1: return vc_bits_f32(0xFF800000u);
                case 2: return vc_bits_f32(0x7FC00000u);
                default: return h_gauss(rng);
            }
        default: return h_gauss(rng);
    }
}

void h_fill(const struct vc_view *v, enum h_data kind, uint64_t *rng) {
    for (uint32_t r = 0; r < v->rows; r++) {
        char *row = (char *)v->data + r * v->stride;
        for (uint32_t c = 0; c < v->cols; c++) {
            float x = draw(kind, v->dtype, rng);
            uint16_t h = v->dtype == VC_BF16 ? vc_f32_bf16(x) : vc_f32_f16(x);
            if (v->dtype == VC_F32) memcpy(row + 4 * (size_t)c, &x, 4);
            else memcpy(row + 2 * (size_t)c, &h, 2);
        }
    }
}

void h_fill_u32(const struct vc_view *v, uint32_t below, uint64_t *rng) {
    for (uint32_t r = 0; r < v->rows; r++)
        for (uint32_t c = 0; c < v->cols; c++) {
            uint32_t x = vc_rng_below(rng, below);
            memcpy((char *)v->data + r * v->stride + 4 * (size_t)c, &x, 4);
        }
}

bool h_tier_runs(enum vc_tier t) {
    if ((vc_tier_needs(t) & ~vc_cpu_features()) == 0) return true;
#ifdef VC_EMULATED_AVX512
    return t >= VC_TIER_AVX512 && h_tier_runs(VC_TIER_AVX2);
#else
    return false;
#endif
}

struct vc_contract h_contract(enum vc_op op, enum vc_arith core) {
    struct vc_contract c = { .op = op, .core = core };
    for (int s = 0; s < VC_NUM_SLOTS; s++) c.slot[s] = VC_F32;
    return c;
}

void h_ref(const struct vc_op_call *call) {
    uint32_t old = vc_fp_flush();
    vc_op_ref[call->contract->op](call, 0, 1);
    vc_fp_restore(old);
}

void h_run(const struct vc_kernel *k, const struct vc_op_call *call, const struct vc_dims *d, uint32_t parts) {
    struct vc_op_call c = *call;
    size_t bytes = k->scratch ? k->scratch(d, parts) : 0, total = 0;
    void *base = NULL;
    if (bytes) {
        bytes = (bytes + 63) / 64 * 64;
        c.scratch = map_guarded(bytes, &base, &total);
        memset(c.scratch, 0xA5, bytes);
    }
    uint32_t old = vc_fp_flush();
    for (int p = 0; p < VC_MAX_PHASES && k->phase[p]; p++)
        for (uint32_t i = 0; i < parts; i++) k->phase[p](&c, parts % 2 ? parts - 1 - i : i, parts);
    vc_fp_restore(old);
    if (base) munmap(base, total);
}

static double word_value(enum vc_dtype t, const void *p) {
    uint16_t h;
    float f;
    if (t == VC_F32) {
        memcpy(&f, p, 4);
        return f;
    }
    memcpy(&h, p, 2);
    return t == VC_BF16 ? vc_bf16_f32(h) : vc_f16_f32(h);
}
static bool same(enum vc_dtype t, const void *a, const void *b, size_t bytes, bool tiny_ok) {
    if (!memcmp(a, b, bytes)) return true;
    if (!vc_dtype_is_float(t)) return false;
    double x = word_value(t, a), y = word_value(t, b);
    if (x != x && y != y) return true;
    return tiny_ok && x > -0x1p-125 && x < 0x1p-125 && y > -0x1p-125 && y < 0x1p-125;
}

/* Compares two images of a view; reports the first difference. */
static bool compare(const struct vc_view *v, const char *got, const char *want, bool tiny_ok, const char *where) {
    size_t word = vc_dtype_info(v->dtype)->block == 1 ? vc_dtype_info(v->dtype)->bytes : 1, row = h_row_bytes(v), bytes = view_bytes(v);
    size_t bad = 0, words = 0;
    for (uint32_t r = 0; r < v->rows; r++)
        for (size_t at = 0; at < row; at += word, words++) {
            size_t o = r * v->stride + at;
            if (same(v->dtype, got + o, want + o, word, tiny_ok)) continue;
            if (!bad++) {
                printf("%s: row %u, element %zu:", where, r, at / word);
                for (size_t i = word; i-- > 0;) printf("%s%02x", i + 1 == word ? " got " : "", (unsigned char)got[o + i]);
                for (size_t i = word; i-- > 0;) printf("%s%02x", i + 1 == word ? ", expected " : "", (unsigned char)want[o + i]);
                if (vc_dtype_is_float(v->dtype)) printf(" (%.9g, %.9g)", word_value(v->dtype, got + o), word_value(v->dtype, want + o));
                printf("\n");
            }
        }
    for (uint32_t r = 0; r + 1 < v->rows; r++)
        if (memcmp(got + r * v->stride + row, want + r * v->stride + row, v->stride - row)) {
            printf("%s: bytes behind row %u were changed\n", where, r);
            bad++;
        }
    if (bad) printf("%s: %zu of %zu words differ (%zu bytes)\n", where, bad, words, bytes);
    return bad == 0;
}

static int check(const struct vc_op_call *call, const struct vc_dims *d, const char *what, bool tiny_ok) {
    static const uint32_t parts[] = { 1, 2, 3, 5 };
    size_t bytes[VC_MAX_OUT];
    char *before[VC_MAX_OUT], *want[VC_MAX_OUT], where[512];
    int ran = 0;
    for (int o = 0; o < VC_MAX_OUT; o++) {
        bytes[o] = call->out[o].data ? view_bytes(&call->out[o]) : 0;
        before[o] = malloc(bytes[o] + 1);
        want[o] = malloc(bytes[o] + 1);
        if (bytes[o]) memcpy(before[o], call->out[o].data, bytes[o]);
    }
    h_ref(call);
    for (int o = 0; o < VC_MAX_OUT; o++)
        if (bytes[o]) memcpy(want[o], call->out[o].data, bytes[o]);
    for (const struct vc_kernel *k = vc_cpu_kernels; k->name; k++) {
        uint32_t m = call->in[0].rows;
        if (!h_tier_runs(k->tier) || !vc_kernel_covers(k, call->contract, d) || m < k->m_lo || m > k->m_hi) continue;
        ran++;
        for (size_t p = 0; p < VC_ARRAY_LEN(parts); p++) {
            for (int o = 0; o < VC_MAX_OUT; o++)
                if (bytes[o]) memcpy(call->out[o].data, before[o], bytes[o]);
            h_run(k, call, d, parts[p]);
            snprintf(where, sizeof where, "%s, %s, %u parts", k->name, what, parts[p]);
            for (int o = 0; o < VC_MAX_OUT; o++)
                if (bytes[o] && !compare(&call->out[o], call->out[o].data, want[o], tiny_ok, where)) fail_msg("%s: output %d differs from op/ref", where, o);
        }
    }
    for (int o = 0; o < VC_MAX_OUT; o++) {
        free(before[o]);
        free(want[o]);
    }
    return ran;
}

int h_check(const struct vc_op_call *call, const struct vc_dims *d, const char *what) { return check(call, d, what, false); }
int h_check_tiny(const struct vc_op_call *call, const struct vc_dims *d, const char *what) { return check(call, d, what, true); }
