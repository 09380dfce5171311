/* SPDX-License-Identifier: Apache-2.0
 * math_steps.h: exp, exp2, log, tanh, erf in f32 as written sequences of f32 operations, once for one number (op/math.h)
 * and once for sixteen lanes (kern/cpu/simd_math.h): the same steps, so the same bits. No include guard: the includer
 * defines F(op) and N(op), the names of its float and integer operations (list: kern/cpu/simd.h), M_VF and M_VI, their
 * types, and M_FN, how functions are declared.
 * Polynomials: minimax fits of the relative error of the whole function, rounded to f32. Constants of exp: n = nearest(x log2 e),
 * ln 2 in two parts of which the first times n is exact. Results below 2^-126 are 0. NaN gives NaN. */

#define C(x) F(set1)(x)

VC_INLINE M_VF F(clamp)(M_VF x, float lo, float hi) { return F(min)(F(max)(x, C(lo)), C(hi)); }
VC_INLINE M_VF F(nan_of)(M_VF x, M_VF y) { return F(select)(F(eq)(x, x), y, x); }      /* y, or x where x is NaN */
/* y * 2^n for integral n in -252 … 254, in two exact steps but for overflow. */
VC_INLINE M_VF F(scale)(M_VF y, M_VF n) {
    M_VI i = F(int)(n), h = N(sar)(i, 1), rest = N(sub)(i, h), bias = N(set1)(127);
    y = F(mul)(y, N(float)(N(shl)(N(add)(h, bias), 23)));
    return F(mul)(y, N(float)(N(shl)(N(add)(rest, bias), 23)));
}

/* e^x within 1 ulp. */
M_FN M_VF F(exp)(M_VF x) {
    M_VF c = F(clamp)(x, -88.0f, 89.0f);
    M_VF n = F(rint)(F(mul)(c, C(1.44269504f)));
    M_VF r = F(fnma)(n, C(1.42860677e-06f), F(fnma)(n, C(0.693145751953125f), c));
    M_VF p = F(fma)(C(0.000197892674f), r, C(0.00139457535f));
    p = F(fma)(p, r, C(0.0083335042f));
    p = F(fma)(p, r, C(0.0416662805f));
    p = F(fma)(p, r, C(0.166666657f));
    p = F(fma)(p, r, C(0.5f));
    p = F(add)(F(fma)(F(mul)(r, r), p, r), C(1.0f));
    p = F(select)(F(lt)(x, C(-87.3365402f)), C(0.0f), F(scale)(p, n));
    return F(nan_of)(x, p);
}

/* 2^x within 0.8 ulp. */
M_FN M_VF F(exp2)(M_VF x) {
    M_VF c = F(clamp)(x, -127.0f, 129.0f);
    M_VF n = F(rint)(c), r = F(sub)(c, n);
    M_VF p = F(fma)(C(1.51959293e-05f), r, C(0.000154670081f));
    p = F(fma)(p, r, C(0.00133339386f));
    p = F(fma)(p, r, C(0.00961803738f));
    p = F(fma)(p, r, C(0.0555041023f));
    p = F(fma)(p, r, C(0.240226507f));
    p = F(fma)(p, r, C(0.693147182f));
    p = F(fma)(p, r, C(1.0f));
    p = F(select)(F(lt)(x, C(-126.0f)), C(0.0f), F(scale)(p, n));
    return F(nan_of)(x, p);
}

/* ln x within 0.9 ulp for normal x: x = m 2^e with m in [sqrt 1/2, sqrt 2), f = m - 1,
 * ln x = e ln2 + (f - f^2/2 + f^3 P(f)). Zero and subnormals give -inf, negative numbers NaN. */
M_FN M_VF F(log)(M_VF x) {
    M_VI u = F(bits)(x), k = N(sar)(N(sub)(u, N(set1)(0x3F3504F3)), 23);
    M_VF f = F(sub)(N(float)(N(sub)(u, N(shl)(k, 23))), C(1.0f)), e = N(to_float)(k), z = F(mul)(f, f);
    M_VF p = F(fma)(C(0.0674660131f), f, C(-0.116756409f));
    p = F(fma)(p, f, C(0.118881747f));
    p = F(fma)(p, f, C(-0.124055915f));
    p = F(fma)(p, f, C(0.142195508f));
    p = F(fma)(p, f, C(-0.166679963f));
    p = F(fma)(p, f, C(0.200021192f));
    p = F(fma)(p, f, C(-0.250000089f));
    p = F(fma)(p, f, C(0.333333135f));
    p = F(fma)(F(mul)(z, f), p, F(mul)(e, C(1.42860677e-06f)));
    p = F(fnma)(C(0.5f), z, p);
    M_VF r = F(fma)(e, C(0.693145751953125f), F(add)(f, p));
    M_VF inf = N(float)(N(set1)(0x7F800000)), nan = N(float)(N(set1)(0x7FC00000));
    r = F(select)(F(lt)(x, inf), r, inf);
    r = F(select)(F(lt)(x, C(0.0f)), nan, r);
    r = F(select)(F(lt)(F(abs)(x), C(0x1p-126f)), N(float)(N(set1)((int32_t)0xFF800000u)), r);
    return F(nan_of)(x, r);
}

/* tanh x within 1 ulp: x + x^3 P(x^2) below 1, else 1 - 2 / (e^(2|x|) + 1) with the sign of x. */
M_FN M_VF F(tanh)(M_VF x) {
    M_VF a = F(abs)(x), z = F(mul)(x, x);
    M_VI sign = N(and)(F(bits)(x), N(set1)((int32_t)0x80000000u));
    M_VF p = F(fma)(C(0.000121470141f), z, C(-0.000841134868f));
    p = F(fma)(p, z, C(0.00307859038f));
    p = F(fma)(p, z, C(-0.00859511178f));
    p = F(fma)(p, z, C(0.0217847303f));
    p = F(fma)(p, z, C(-0.0539530963f));
    p = F(fma)(p, z, C(0.133331999f));
    p = F(fma)(p, z, C(-0.333333284f));
    M_VF small = F(fma)(F(mul)(x, z), p, x);
    M_VF e = F(exp)(F(min)(F(add)(a, a), C(40.0f)));
    M_VF large = F(sub)(C(1.0f), F(div)(C(2.0f), F(add)(e, C(1.0f))));
    large = F(select)(F(lt)(a, C(1.0f)), small, large);
    return F(nan_of)(x, N(float)(N(or)(F(bits)(large), sign)));
}

/* erf x within 1.1 ulp: x + x Q(x^2) below 1, else 1 - e^-R(|x|) with the sign of x. */
M_FN M_VF F(erf)(M_VF x) {
    M_VF a = F(abs)(x), z = F(mul)(x, x), c = F(min)(a, C(4.0f));
    M_VI sign = N(and)(F(bits)(x), N(set1)((int32_t)0x80000000u));
    M_VF q = F(fma)(C(-9.64151059e-06f), z, C(0.000112569462f));
    q = F(fma)(q, z, C(-0.000848282827f));
    q = F(fma)(q, z, C(0.00522094546f));
    q = F(fma)(q, z, C(-0.0268654004f));
    q = F(fma)(q, z, C(0.112837821f));
    q = F(fma)(q, z, C(-0.376126379f));
    q = F(fma)(q, z, C(0.128379166f));
    M_VF small = F(fma)(x, q, x);
    M_VF p = F(fma)(C(2.16868502e-05f), c, C(-0.000441336364f));
    p = F(fma)(p, c, C(0.00420456193f));
    p = F(fma)(p, c, C(-0.0252082571f));
    p = F(fma)(p, c, C(0.108418576f));
    p = F(fma)(p, c, C(0.633219898f));
    p = F(fma)(p, c, C(1.12957847f));
    p = F(fma)(p, c, C(-0.000188040227f));
    M_VF large = F(sub)(C(1.0f), F(exp)(F(neg)(p)));
    large = N(float)(N(or)(F(bits)(large), sign));
    return F(nan_of)(x, F(select)(F(lt)(a, C(1.0f)), small, large));
}

#undef C
