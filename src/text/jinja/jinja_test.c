/* SPDX-License-Identifier: Apache-2.0
 * Tests: what may stand behind `is`. The first argument is the tested value. */
#include <string.h>

#include "text/jinja/jinja_method.h"

#define TEST(name) static vc_jv name(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c)
#define UNUSED (void)x, (void)self, (void)arg, (void)c

static bool rem_is(vc_jx *x, vc_jv a, vc_jv b, int64_t r) {
    return vc_j_eq(x, vc_j_arith(x, VC_J_MOD, a, b), vc_j_int(r));
}
TEST(t_odd) { UNUSED; return vc_j_bool(rem_is(x, arg[0], vc_j_int(2), 1)); }
TEST(t_even) { UNUSED; return vc_j_bool(rem_is(x, arg[0], vc_j_int(2), 0)); }
TEST(t_divisibleby) { UNUSED; return vc_j_bool(rem_is(x, arg[0], arg[1], 0)); }
TEST(t_defined) { UNUSED; return vc_j_bool(arg[0].t != VC_J_UNDEF); }
TEST(t_undefined) { UNUSED; return vc_j_bool(arg[0].t == VC_J_UNDEF); }
TEST(t_filter) { UNUSED; return vc_j_bool(arg[0].t == VC_J_STR && vc_j_filter(arg[0].u.s->p, arg[0].u.s->n)); }
TEST(t_test) { UNUSED; return vc_j_bool(arg[0].t == VC_J_STR && vc_j_test(arg[0].u.s->p, arg[0].u.s->n)); }
TEST(t_none) { UNUSED; return vc_j_bool(arg[0].t == VC_J_NONE); }
TEST(t_boolean) { UNUSED; return vc_j_bool(arg[0].t == VC_J_BOOL); }
TEST(t_false) { UNUSED; return vc_j_bool(arg[0].t == VC_J_BOOL && !arg[0].u.b); }
TEST(t_true) { UNUSED; return vc_j_bool(arg[0].t == VC_J_BOOL && arg[0].u.b); }
TEST(t_integer) { UNUSED; return vc_j_bool(arg[0].t == VC_J_INT || arg[0].t == VC_J_BIG); }
TEST(t_float) { UNUSED; return vc_j_bool(arg[0].t == VC_J_FLOAT); }
TEST(t_string) { UNUSED; return vc_j_bool(arg[0].t == VC_J_STR); }
TEST(t_mapping) { UNUSED; return vc_j_bool(arg[0].t == VC_J_DICT); }
TEST(t_number) { UNUSED; return vc_j_bool(vc_j_is_num(arg[0])); }
TEST(t_iterable) { UNUSED; return vc_j_bool(vc_j_iterable(arg[0])); }
TEST(t_escaped) { UNUSED; return vc_j_bool(arg[0].t == VC_J_STR && arg[0].sub); }
TEST(t_in) { UNUSED; return vc_j_bool(vc_j_contains(x, arg[1], arg[0])); }

TEST(t_sequence) {
    UNUSED;
    unsigned t = arg[0].t;
    return vc_j_bool(t == VC_J_STR || t == VC_J_BYTES || t == VC_J_LIST || t == VC_J_TUPLE || t == VC_J_DICT ||
                     t == VC_J_RANGE || t == VC_J_UNDEF);
}

TEST(t_callable) {
    UNUSED;
    unsigned t = arg[0].t;
    return vc_j_bool(t == VC_J_FUNC || t == VC_J_METHOD || t == VC_J_MACRO || t == VC_J_LOOP || t == VC_J_JOINER ||
                     t == VC_J_BLOCK || t == VC_J_UNDEF);
}

/* Identity: small values are equal, objects are the same. */
TEST(t_sameas) {
    UNUSED;
    vc_jv a = arg[0], b = arg[1];
    bool object = a.t == VC_J_LIST || a.t == VC_J_TUPLE || a.t == VC_J_DICT || a.t == VC_J_NS;
    return vc_j_bool(a.t == b.t && (object ? (const void *)a.u.l == (const void *)b.u.l : vc_j_eq(x, a, b)));
}

static vc_jv with_case(vc_jx *x, vc_jv v, const char *method) {
    vc_jv s = vc_j_to_str(x, v);
    struct vc_jcall none = { 0 };
    return vc_j_apply(x, vc_j_method(VC_J_STR, method, strlen(method)), "test", s, &none);
}
TEST(t_lower) { UNUSED; return with_case(x, arg[0], "islower"); }
TEST(t_upper) { UNUSED; return with_case(x, arg[0], "isupper"); }

TEST(t_eq) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_EQ, arg[0], arg[1])); }
TEST(t_ne) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_NE, arg[0], arg[1])); }
TEST(t_lt) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_LT, arg[0], arg[1])); }
TEST(t_le) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_LE, arg[0], arg[1])); }
TEST(t_gt) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_GT, arg[0], arg[1])); }
TEST(t_ge) { UNUSED; return vc_j_bool(vc_j_compare(x, VC_J_GE, arg[0], arg[1])); }

static const struct vc_jfn table[] = {
    { "odd", t_odd, "value", 1, 0 },
    { "even", t_even, "value", 1, 0 },
    { "divisibleby", t_divisibleby, "value num", 2, 0 },
    { "defined", t_defined, "value", 1, 0 },
    { "undefined", t_undefined, "value", 1, 0 },
    { "filter", t_filter, "value", 1, 0 },
    { "test", t_test, "value", 1, 0 },
    { "none", t_none, "value", 1, 0 },
    { "boolean", t_boolean, "value", 1, 0 },
    { "false", t_false, "value", 1, 0 },
    { "true", t_true, "value", 1, 0 },
    { "integer", t_integer, "value", 1, 0 },
    { "float", t_float, "value", 1, 0 },
    { "lower", t_lower, "value", 1, 0 },
    { "upper", t_upper, "value", 1, 0 },
    { "string", t_string, "value", 1, 0 },
    { "mapping", t_mapping, "value", 1, 0 },
    { "number", t_number, "value", 1, 0 },
    { "sequence", t_sequence, "value", 1, 0 },
    { "iterable", t_iterable, "value", 1, 0 },
    { "callable", t_callable, "value", 1, 0 },
    { "sameas", t_sameas, "value other", 2, 0 },
    { "escaped", t_escaped, "value", 1, 0 },
    { "in", t_in, "value seq", 2, 0 },
    { "==", t_eq, "_ _", 2, 0 },
    { "eq", t_eq, "_ _", 2, 0 },
    { "equalto", t_eq, "_ _", 2, 0 },
    { "!=", t_ne, "_ _", 2, 0 },
    { "ne", t_ne, "_ _", 2, 0 },
    { ">", t_gt, "_ _", 2, 0 },
    { "gt", t_gt, "_ _", 2, 0 },
    { "greaterthan", t_gt, "_ _", 2, 0 },
    { ">=", t_ge, "_ _", 2, 0 },
    { "ge", t_ge, "_ _", 2, 0 },
    { "<", t_lt, "_ _", 2, 0 },
    { "lt", t_lt, "_ _", 2, 0 },
    { "lessthan", t_lt, "_ _", 2, 0 },
    { "<=", t_le, "_ _", 2, 0 },
    { "le", t_le, "_ _", 2, 0 },
};

const struct vc_jfn *vc_j_test(const char *name, size_t n) { return vc_j_fn_in(table, VC_ARRAY_LEN(table), name, n); }
