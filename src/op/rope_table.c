/* SPDX-License-Identifier: Apache-2.0 */
#include "op/rope_table.h"

#include "num/round.h"
#include "op/math.h"
#include "op/sleef.h"

enum { MAX_HALF = VC_MAX_ROTARY_DIM / 2 };
static const double pi = 3.141592653589793;

vc_status vc_rope_check(const struct vc_rope_params *p, vc_err *err) {
    uint32_t d = p->rotary_dim;
    if (d < 2 || d % 2 || d > VC_MAX_ROTARY_DIM) return vc_fail(err, VC_E_UNSUPPORTED, "rope: rotary dimension %u: expected an even number from 2 to %u", d, (uint32_t)VC_MAX_ROTARY_DIM);
    if (!(p->theta >= 0x1p-100 && p->theta <= 0x1p100)) return vc_fail(err, VC_E_INVALID, "rope: theta %g: expected a positive number", p->theta);
    if (p->kind != VC_ROPE_DEFAULT && p->kind != VC_ROPE_LONGROPE && !(p->factor >= 1e-6 && p->factor <= 1e6))
        return vc_fail(err, VC_E_INVALID, "rope: factor %g: expected a positive number", p->factor);
    if (vc_rope_by_length(p) && p->max_position == 0) return vc_fail(err, VC_E_INVALID, "rope: max_position_embeddings is missing");
    if (p->kind == VC_ROPE_DYNAMIC && d == 2) return vc_fail(err, VC_E_INVALID, "rope: dynamic scaling needs a rotary dimension above 2");
    if ((p->kind == VC_ROPE_YARN || p->kind == VC_ROPE_LLAMA3 || p->kind == VC_ROPE_LONGROPE) && p->original_max_position == 0)
        return vc_fail(err, VC_E_INVALID, "rope: original_max_position_embeddings is missing");
    if (p->kind == VC_ROPE_YARN && !(p->theta > 1.0)) return vc_fail(err, VC_E_INVALID, "rope: theta %g: yarn needs one above 1", p->theta);
    if (p->kind == VC_ROPE_LLAMA3 && !(p->low_freq_factor > 0 && p->high_freq_factor > p->low_freq_factor))
        return vc_fail(err, VC_E_INVALID, "rope: low_freq_factor %g, high_freq_factor %g: expected 0 < low < high", p->low_freq_factor, p->high_freq_factor);
    if (p->kind == VC_ROPE_LONGROPE && (!p->short_factor || !p->long_factor)) return vc_fail(err, VC_E_INVALID, "rope: longrope needs short_factor and long_factor");
    return VC_OK;
}

/* The base of DYNAMIC for a length. */
static double dynamic_theta(const struct vc_rope_params *p, double length) {
    double L = length > p->max_position ? length : p->max_position, dim = p->rotary_dim;
    return p->theta * vc_pow(p->factor * L / p->max_position - (p->factor - 1.0), dim / (dim - 2.0));
}
static double theta_of(const struct vc_rope_params *p, uint32_t seq_len) {
    if (p->kind != VC_ROPE_DYNAMIC) return p->theta;
    return dynamic_theta(p, seq_len ? (double)seq_len : p->factor * p->max_position);
}
static const float *long_or_short(const struct vc_rope_params *p, uint32_t seq_len) {
    return (seq_len ? seq_len : p->max_position) > p->original_max_position ? p->long_factor : p->short_factor;
}

static double floor64(double x) {
    double r = x + 0x1.8p52 - 0x1.8p52;
    return r > x ? r - 1.0 : r;
}
/* YARN: the ramp rises from dimension lo to hi. */
static void yarn_range(const struct vc_rope_params *p, double *lo, double *hi) {
    double dim = p->rotary_dim, fast = p->beta_fast > 0 ? p->beta_fast : 32.0, slow = p->beta_slow > 0 ? p->beta_slow : 1.0;
    double scale = 2.0 * vc_log(p->theta);
    *lo = dim * vc_log(p->original_max_position / (fast * 2.0 * pi)) / scale;
    *hi = dim * vc_log(p->original_max_position / (slow * 2.0 * pi)) / scale;
    if (!p->no_truncate) {
        *lo = floor64(*lo);
        *hi = -floor64(-*hi);
    }
    if (*lo < 0.0) *lo = 0.0;
    if (*hi > dim - 1.0) *hi = dim - 1.0;
    if (*lo == *hi) *hi += 0.001;
}

/* What cos and sin are multiplied by. */
static double attention_factor(const struct vc_rope_params *p) {
    if (p->kind == VC_ROPE_YARN) {
        double log = p->factor > 1.0 ? 0.1 * vc_log(p->factor) : 0.0;
        if (p->attention_factor > 0) return p->attention_factor;
        if (p->mscale > 0 && p->mscale_all_dim > 0) return (log * p->mscale + 1.0) / (log * p->mscale_all_dim + 1.0);
        return log + 1.0;
    }
    if (p->kind == VC_ROPE_LONGROPE) {
        double scale = p->factor > 0 ? p->factor : (double)p->max_position / p->original_max_position;
        if (p->attention_factor > 0) return p->attention_factor;
        if (scale <= 1.0) return 1.0;
        double v = 1.0 + vc_log(scale) / vc_log(p->original_max_position);
        return __builtin_sqrt(v);
    }
    return 1.0;
}

/* theta^(2i/dim) in f32: exponents i by Sleef's powf in groups of 32, the rest correctly rounded. */
static void torch_powers(double theta, uint32_t dim, float *p) {
    uint32_t half = dim / 2, n = half / 32 * 32;
    float base = (float)theta;
    for (uint32_t i = 0; i < half; i++) {
        float e = (float)(2 * i) / (float)dim;
        p[i] = i < n ? vc_sleef_powf(base, e) : (float)vc_pow((double)base, (double)e);
    }
}

/* vLLM's frequencies, each step in f32 and in the order of its Python. */
static void torch_freqs(const struct vc_rope_params *p, uint32_t seq_len, float *f) {
    uint32_t half = p->rotary_dim / 2;
    float factor = (float)p->factor, power[MAX_HALF];
    torch_powers(theta_of(p, seq_len), p->rotary_dim, power);
    for (uint32_t i = 0; i < half; i++) f[i] = 1.0f / power[i];
    if (p->kind == VC_ROPE_LLAMA3) {
        float low = (float)p->low_freq_factor, range = (float)(p->high_freq_factor - p->low_freq_factor);
        float short_wave = (float)(p->original_max_position / p->high_freq_factor), long_wave = (float)(p->original_max_position / p->low_freq_factor);
        for (uint32_t i = 0; i < half; i++) {
            float wave = (float)(2.0 * pi) / f[i], smooth = ((float)p->original_max_position / wave - low) / range;
            float mid = (1.0f - smooth) * f[i] / factor + smooth * f[i];
            f[i] = wave < short_wave ? f[i] : wave > long_wave ? f[i] / factor : mid;
        }
    } else if (p->kind == VC_ROPE_YARN) {
        double lo, hi;
        yarn_range(p, &lo, &hi);
        for (uint32_t i = 0; i < half; i++) {
            float ramp = ((float)i - (float)lo) / (float)(hi - lo), inter = 1.0f / (factor * power[i]);
            float keep = 1.0f - (ramp < 0.0f ? 0.0f : ramp > 1.0f ? 1.0f : ramp);
            f[i] = inter * (1.0f - keep) + f[i] * keep;
        }
    } else if (p->kind == VC_ROPE_LONGROPE) {
        const float *ext = long_or_short(p, seq_len);
        for (uint32_t i = 0; i < half; i++) f[i] = 1.0f / (ext[i] * power[i]);
    }
    if (p->freq_factors)
        for (uint32_t i = 0; i < half; i++) f[i] = f[i] / p->freq_factors[i];
}

/* The same in f64, as transformers writes it. */
static void f64_freqs(const struct vc_rope_params *p, uint32_t seq_len, double *f) {
    uint32_t half = p->rotary_dim / 2;
    double theta = theta_of(p, seq_len), lo = 0, hi = 1;
    const float *ext = p->kind == VC_ROPE_LONGROPE ? long_or_short(p, seq_len) : NULL;
    if (p->kind == VC_ROPE_YARN) yarn_range(p, &lo, &hi);
    for (uint32_t i = 0; i < half; i++) {
        double v = 1.0 / vc_pow(theta, (double)(2 * i) / p->rotary_dim);
        if (p->kind == VC_ROPE_LLAMA3) {
            double wave = 2.0 * pi / v, smooth = (p->original_max_position / wave - p->low_freq_factor) / (p->high_freq_factor - p->low_freq_factor);
            if (wave > p->original_max_position / p->low_freq_factor) v = v / p->factor;
            else if (wave >= p->original_max_position / p->high_freq_factor) v = (1.0 - smooth) * v / p->factor + smooth * v;
        } else if (p->kind == VC_ROPE_YARN) {
            double ramp = ((double)i - lo) / (hi - lo), keep = 1.0 - (ramp < 0.0 ? 0.0 : ramp > 1.0 ? 1.0 : ramp);
            v = v / p->factor * (1.0 - keep) + v * keep;
        } else if (ext) {
            v = v / (double)ext[i];
        }
        f[i] = p->freq_factors ? v / (double)p->freq_factors[i] : v;
    }
}

static void put(enum vc_dtype fmt, void *row, uint32_t col, uint64_t bits) {
    uint16_t h = (uint16_t)bits;
    uint32_t w = (uint32_t)bits;
    if (fmt == VC_F32) memcpy((char *)row + 4 * (size_t)col, &w, 4);
    else memcpy((char *)row + 2 * (size_t)col, &h, 2);
}

/* Words where vLLM's vector library rounds cos or sin the other way (default kind, bf16). */
static const struct { double theta; uint32_t dim, pos, col, word; } exceptions[] = {
#define VC_ROPE_EXCEPTION(theta, dim, pos, col, word) { theta, dim, pos, col, word },
#include "op/rope_exceptions.def"
#undef VC_ROPE_EXCEPTION
};
static void patch(const struct vc_rope_params *p, uint32_t pos, void *row) {
    for (size_t i = 0; i < VC_ARRAY_LEN(exceptions); i++)
        if (exceptions[i].pos == pos && exceptions[i].dim == p->rotary_dim && exceptions[i].theta == p->theta) put(VC_BF16, row, exceptions[i].col, exceptions[i].word);
}

static void torch_row(const struct vc_rope_params *p, const float *f, uint32_t pos, enum vc_dtype fmt, void *row) {
    uint32_t half = p->rotary_dim / 2;
    float t = (float)pos, m = (float)attention_factor(p);
    if (p->kind == VC_ROPE_LINEAR) t = t / (float)p->factor;
    for (uint32_t i = 0; i < half; i++) {
        float angle = t * f[i], c = (float)vc_cos((double)angle) * m, s = (float)vc_sin((double)angle) * m;
        put(fmt, row, i, vc_round_f32(fmt, c, VC_ROUND_EVEN, 0));
        put(fmt, row, half + i, vc_round_f32(fmt, s, VC_ROUND_EVEN, 0));
    }
    if (p->kind == VC_ROPE_DEFAULT && fmt == VC_BF16 && !p->freq_factors) patch(p, pos, row);
}
static void f64_row(const struct vc_rope_params *p, const double *f, uint32_t pos, enum vc_dtype fmt, void *row) {
    uint32_t half = p->rotary_dim / 2;
    double t = p->kind == VC_ROPE_LINEAR ? pos / p->factor : pos, m = attention_factor(p);
    for (uint32_t i = 0; i < half; i++) {
        put(fmt, row, i, vc_round_f64(fmt, vc_cos(t * f[i]) * m, VC_ROUND_EVEN, 0));
        put(fmt, row, half + i, vc_round_f64(fmt, vc_sin(t * f[i]) * m, VC_ROUND_EVEN, 0));
    }
}

vc_status vc_rope_rows(const struct vc_rope_params *p, enum vc_arith core, const uint32_t *pos, uint32_t n, uint32_t seq_len,
                       enum vc_dtype fmt, void *rows, vc_err *err) {
    float f32[MAX_HALF];
    double f64[MAX_HALF];
    VC_TRY(vc_rope_check(p, err));
    if (!vc_dtype_is_float(fmt)) return vc_fail(err, VC_E_INVALID, "rope: table in %s: expected f32, bf16 or f16", vc_dtype_name(fmt));
    if (core != VC_ARITH_ROPE_TORCH && core != VC_ARITH_ROPE_F64) return vc_fail(err, VC_E_INVALID, "rope: core %s makes no table", vc_arith_info(core)->name);
    if (core == VC_ARITH_ROPE_TORCH) torch_freqs(p, seq_len, f32);
    else f64_freqs(p, seq_len, f64);
    size_t bytes = (size_t)p->rotary_dim * vc_dtype_info(fmt)->bytes;
    for (uint32_t i = 0; i < n; i++) {
        void *row = (char *)rows + i * bytes;
        if (core == VC_ARITH_ROPE_TORCH) torch_row(p, f32, pos[i], fmt, row);
        else f64_row(p, f64, pos[i], fmt, row);
    }
    return VC_OK;
}
