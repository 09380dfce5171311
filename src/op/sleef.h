/* SPDX-License-Identifier: Apache-2.0
 * sleef.h: expf, logf and powf as torch's vector code computes them (Sleef 3, "u10", with fma), operation by operation;
 * the numpy statement is goldens/make/vllm_cpu_model.py. For log-probabilities and the rope tables of the vllm profiles.
 * Arguments: logf normal x > 0; powf x > 0; results in the normal range (expf: 0 below -104). */
#ifndef VC_OP_SLEEF_H
#define VC_OP_SLEEF_H

#include "op/math.h"

struct vc_f2 { float hi, lo; };

VC_INLINE struct vc_f2 vc_f2_of(float a, float b) {                                        /* exact a + b */
    float s = a + b, v = s - a;
    return (struct vc_f2){ s, (a - (s - v)) + (b - v) };
}
VC_INLINE struct vc_f2 vc_f2_add(struct vc_f2 x, struct vc_f2 y) {
    float s = x.hi + y.hi, v = s - x.hi;
    return (struct vc_f2){ s, ((x.hi - (s - v)) + (y.hi - v)) + (x.lo + y.lo) };
}
VC_INLINE struct vc_f2 vc_f2_add1(struct vc_f2 x, float y) {
    float s = x.hi + y, v = s - x.hi;
    return (struct vc_f2){ s, ((x.hi - (s - v)) + (y - v)) + x.lo };
}
VC_INLINE struct vc_f2 vc_f2_quick(struct vc_f2 x, struct vc_f2 y) {
    float s = x.hi + y.hi;
    return (struct vc_f2){ s, (((x.hi - s) + y.hi) + x.lo) + y.lo };
}
VC_INLINE struct vc_f2 vc_f2_mul1(struct vc_f2 x, float y) {
    float s = x.hi * y;
    return (struct vc_f2){ s, vc_fma(x.lo, y, vc_fma(x.hi, y, -s)) };
}
VC_INLINE struct vc_f2 vc_f2_mul(struct vc_f2 x, struct vc_f2 y) {
    float s = x.hi * y.hi;
    return (struct vc_f2){ s, vc_fma(x.hi, y.lo, vc_fma(x.lo, y.hi, vc_fma(x.hi, y.hi, -s))) };
}
VC_INLINE struct vc_f2 vc_f2_square(struct vc_f2 x) {
    float s = x.hi * x.hi;
    return (struct vc_f2){ s, vc_fma(x.hi + x.hi, x.lo, vc_fma(x.hi, x.hi, -s)) };
}
VC_INLINE struct vc_f2 vc_f2_div(struct vc_f2 n, struct vc_f2 d) {
    float t = 1.0f / d.hi, s = n.hi * t, u = vc_fma(t, n.hi, -s), v = vc_fma(-d.lo, t, vc_fma(-d.hi, t, 1.0f));
    return (struct vc_f2){ s, vc_fma(s, v, vc_fma(n.lo, t, u)) };
}

/* d = m 2^e with e the exponent of d / 0.75, m in [0.75, 1.5): *x = (m - 1)/(m + 1); returns e ln 2 + 2 x. */
VC_INLINE struct vc_f2 vc_sleef_split(float d, struct vc_f2 *x) {
    uint32_t u = vc_f32_bits(d), q = vc_f32_bits(d * (1.0f / 0.75f));
    int32_t e = (int32_t)(q >> 23) - 127;
    float m = vc_bits_f32(u - ((uint32_t)e << 23));
    *x = vc_f2_div(vc_f2_of(-1.0f, m), vc_f2_of(1.0f, m));
    struct vc_f2 s = vc_f2_mul1((struct vc_f2){ 0.69314718246459960938f, -1.904654323148236017e-09f }, (float)e);
    return vc_f2_quick(s, (struct vc_f2){ x->hi * 2.0f, x->lo * 2.0f });
}
VC_INLINE float vc_sleef_logf(float d) {
    struct vc_f2 x, s = vc_sleef_split(d, &x);
    float z = x.hi * x.hi;
    float t = vc_fma(vc_fma(0.3027294874f, z, 0.3996108174f), z, 0.6666694880f);
    float y = (z * x.hi) * t, h = s.hi + y;
    return h + (((s.hi - h) + y) + s.lo);
}

/* n integral, |x| < 2^22 before rounding. */
VC_INLINE float vc_sleef_expf(float d) {
    if (!(d >= -104.0f)) return d != d ? d : 0.0f;
    if (d > 104.0f) return vc_bits_f32(0x7F800000u);
    float q = vc_sf_rint(d * 1.4426950408889634f);
    float s = vc_fma(q, -1.428606765330187045e-06f, vc_fma(q, -0.693145751953125f, d));
    float u = vc_fma(0.000198527617612853646278381f, s, 0.00139304355252534151077271f);
    u = vc_fma(u, s, 0.00833336077630519866943359f);
    u = vc_fma(u, s, 0.0416664853692054748535156f);
    u = vc_fma(u, s, 0.166666671633720397949219f);
    u = vc_fma(u, s, 0.5f);
    return vc_sf_scale(1.0f + vc_fma(s * s, u, s), q);
}

VC_INLINE float vc_sleef_powf(float x, float y) {
    struct vc_f2 r, s = vc_sleef_split(x, &r), r2 = vc_f2_square(r);
    float t = vc_fma(vc_fma(0.240320354700088500976562f, r2.hi, 0.285112679004669189453125f), r2.hi, 0.400007992982864379882812f);
    struct vc_f2 c = { 0.66666662693023681640625f, 3.69183861259614332084311e-09f };
    struct vc_f2 l = vc_f2_quick(s, vc_f2_mul(vc_f2_mul(r2, r), vc_f2_add(vc_f2_mul1(r2, t), c)));
    struct vc_f2 d = vc_f2_mul1(l, y);
    float q = vc_sf_rint((d.hi + d.lo) * 1.4426950408889634f);
    s = vc_f2_add1(vc_f2_add1(d, q * -0.693145751953125f), q * -1.428606765330187045e-06f);
    float h = s.hi + s.lo;
    s = (struct vc_f2){ h, (s.hi - h) + s.lo };
    float u = vc_fma(0.00136324646882712841033936f, s.hi, 0.00836596917361021041870117f);
    u = vc_fma(u, s.hi, 0.0416710823774337768554688f);
    u = vc_fma(u, s.hi, 0.166665524244308471679688f);
    u = vc_fma(u, s.hi, 0.499999850988388061523438f);
    struct vc_f2 e = vc_f2_quick(s, vc_f2_mul1(vc_f2_square(s), u));
    h = 1.0f + e.hi;
    return vc_sf_scale(h + (((1.0f - h) + e.hi) + e.lo), q);
}

#endif
