/* SPDX-License-Identifier: Apache-2.0
 * Truth, length, comparison, membership, arithmetic and sorting, as Python does them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/jinja/jinja_method.h"

const char *vc_j_type_name(vc_jv v) {
    static const char *const view[] = { "dict_keys", "dict_values", "dict_items" };
    switch (v.t) {
    case VC_J_NONE: return "NoneType";
    case VC_J_BOOL: return "bool";
    case VC_J_INT:
    case VC_J_BIG: return "int";
    case VC_J_FLOAT: return "float";
    case VC_J_STR: return v.sub ? "Markup" : "str";
    case VC_J_BYTES: return "bytes";
    case VC_J_LIST: return "list";
    case VC_J_TUPLE: return "tuple";
    case VC_J_DICT: return "dict";
    case VC_J_VIEW: return view[v.sub];
    case VC_J_RANGE: return "range";
    case VC_J_ITER: return v.u.it->kind;
    case VC_J_NS: return "Namespace";
    case VC_J_MACRO: return "Macro";
    case VC_J_FUNC:
    case VC_J_METHOD: return "function";
    case VC_J_LOOP: return "LoopContext";
    case VC_J_CYCLER: return "Cycler";
    case VC_J_JOINER: return "Joiner";
    case VC_J_SELF: return "TemplateReference";
    case VC_J_BLOCK: return "BlockReference";
    default: return "Undefined";
    }
}

bool vc_j_truth(vc_jv v) {
    switch (v.t) {
    case VC_J_MISSING: case VC_J_UNDEF: case VC_J_NONE: return false;
    case VC_J_BOOL: return v.u.b;
    case VC_J_INT: return v.u.i != 0;
    case VC_J_FLOAT: return v.u.f != 0;
    case VC_J_STR: case VC_J_BYTES: return v.u.s->n != 0;
    case VC_J_LIST: case VC_J_TUPLE: return v.u.l->n != 0;
    case VC_J_DICT: case VC_J_VIEW: return v.u.d->n != 0;
    case VC_J_RANGE: return v.u.r->n != 0;
    default: return true;
    }
}

int64_t vc_j_len(vc_jx *x, vc_jv v) {
    switch (v.t) {
    case VC_J_UNDEF: return 0;
    case VC_J_STR: return (int64_t)v.u.s->len;
    case VC_J_BYTES: return (int64_t)v.u.s->n;
    case VC_J_LIST: case VC_J_TUPLE: return (int64_t)v.u.l->n;
    case VC_J_DICT: case VC_J_VIEW: return (int64_t)v.u.d->n;
    case VC_J_RANGE: return v.u.r->n;
    case VC_J_LOOP: {
        struct vc_jstr name = { "length", 6, 6 };
        return vc_j_loop_attr(x, v.u.loop, &name).u.i;
    }
    default: vc_j_raise(x, "object of type '%s' has no len()", vc_j_type_name(v));
    }
}

/* An int against a float, exactly: doubles cannot hold every int. */
static int int_float_cmp(vc_jx *x, vc_jv i, double f) {
    if (isnan(f)) return 2;
    if (isinf(f)) return f > 0 ? -1 : 1;
    int c = vc_j_int_cmp(i, vc_j_double_to_int(x, f));
    return c ? c : f > trunc(f) ? -1 : f < trunc(f);
}

/* -1, 0, 1; 2: not comparable because of a NaN. Both are numbers. */
static int num_cmp(vc_jx *x, vc_jv a, vc_jv b) {
    if (vc_j_is_int(a) && vc_j_is_int(b)) return vc_j_int_cmp(a, b);
    if (vc_j_is_int(a)) return int_float_cmp(x, a, b.u.f);
    if (vc_j_is_int(b)) {
        int c = int_float_cmp(x, b, a.u.f);
        return c == 2 ? c : -c;
    }
    return a.u.f < b.u.f ? -1 : a.u.f > b.u.f ? 1 : a.u.f == b.u.f ? 0 : 2;
}

static bool eq_items(vc_jx *x, const struct vc_jlist *a, const struct vc_jlist *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!vc_j_eq(x, a->v[i], b->v[i])) return false;
    return true;
}

static bool eq_keys(vc_jx *x, const struct vc_jdict *a, const struct vc_jdict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!vc_j_find(x, b, a->e[i].k)) return false;
    return true;
}

static bool eq_dict(vc_jx *x, const struct vc_jdict *a, const struct vc_jdict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        const vc_jv *v = vc_j_find(x, b, a->e[i].k);
        if (!v || !vc_j_eq(x, a->e[i].v, *v)) return false;
    }
    return true;
}

bool vc_j_eq(vc_jx *x, vc_jv a, vc_jv b) {
    if (vc_j_is_num(a) && vc_j_is_num(b)) return num_cmp(x, a, b) == 0;
    if (a.t != b.t) return false;
    vc_j_step(x, 1);
    vc_j_enter(x);
    bool eq = false;
    switch (a.t) {
    case VC_J_UNDEF: case VC_J_NONE: case VC_J_MISSING: case VC_J_SELF: eq = true; break;
    case VC_J_STR: case VC_J_BYTES:
        if (a.u.s->n == b.u.s->n) vc_j_step(x, a.u.s->n / 64);
        eq = vc_j_str_same(a.u.s, b.u.s); break;
    case VC_J_LIST: case VC_J_TUPLE: eq = a.u.l == b.u.l || eq_items(x, a.u.l, b.u.l); break;
    case VC_J_DICT: eq = a.u.d == b.u.d || eq_dict(x, a.u.d, b.u.d); break;
    case VC_J_VIEW:
        eq = a.sub == b.sub && a.sub != VC_J_VALUES &&
             (a.sub == VC_J_KEYS ? eq_keys(x, a.u.d, b.u.d) : eq_dict(x, a.u.d, b.u.d));
        break;
    case VC_J_RANGE:
        eq = a.u.r->n == b.u.r->n &&
             (!a.u.r->n || (a.u.r->start == b.u.r->start && (a.u.r->n == 1 || a.u.r->step == b.u.r->step)));
        break;
    case VC_J_METHOD: eq = a.u.bm->fn == b.u.bm->fn && vc_j_eq(x, a.u.bm->self, b.u.bm->self); break;
    default: eq = (const void *)a.u.s == (const void *)b.u.s; break;
    }
    vc_j_leave(x);
    return eq;
}

static int bytes_cmp(const struct vc_jstr *a, const struct vc_jstr *b) {
    int c = memcmp(a->p, b->p, VC_MIN(a->n, b->n));     /* UTF-8 sorts as code points do */
    return c ? (c < 0 ? -1 : 1) : a->n < b->n ? -1 : a->n > b->n;
}

static const char *const op_text[] = { "==", "!=", "<", "<=", ">", ">=", "in", "not in" };

static bool holds(enum vc_jcmp op, int c) {
    if (c == 2) return false;
    return op == VC_J_LT ? c < 0 : op == VC_J_LE ? c <= 0 : op == VC_J_GT ? c > 0 : c >= 0;
}

static bool ordered(vc_jx *x, enum vc_jcmp op, vc_jv a, vc_jv b) {
    if (a.t == VC_J_UNDEF) vc_j_raise_undef(x, a);
    if (b.t == VC_J_UNDEF) vc_j_raise_undef(x, b);
    if (vc_j_is_num(a) && vc_j_is_num(b)) return holds(op, num_cmp(x, a, b));
    if (a.t == b.t && (a.t == VC_J_STR || a.t == VC_J_BYTES)) {
        vc_j_step(x, VC_MIN(a.u.s->n, b.u.s->n) / 64);
        return holds(op, bytes_cmp(a.u.s, b.u.s));
    }
    if (a.t == b.t && (a.t == VC_J_LIST || a.t == VC_J_TUPLE)) {
        size_t n = VC_MIN(a.u.l->n, b.u.l->n);
        for (size_t i = 0; i < n; i++) {
            if (vc_j_eq(x, a.u.l->v[i], b.u.l->v[i])) continue;
            vc_j_enter(x);
            bool r = ordered(x, op, a.u.l->v[i], b.u.l->v[i]);
            vc_j_leave(x);
            return r;
        }
        return holds(op, a.u.l->n < b.u.l->n ? -1 : a.u.l->n > b.u.l->n);
    }
    vc_j_raise(x, "'%s' not supported between instances of '%s' and '%s'", op_text[op], vc_j_type_name(a),
               vc_j_type_name(b));
}

bool vc_j_compare(vc_jx *x, enum vc_jcmp op, vc_jv a, vc_jv b) {
    switch (op) {
    case VC_J_EQ: return vc_j_eq(x, a, b);
    case VC_J_NE: return !vc_j_eq(x, a, b);
    case VC_J_IN: return vc_j_contains(x, b, a);
    case VC_J_NOTIN: return !vc_j_contains(x, b, a);
    default: return ordered(x, op, a, b);
    }
}

bool vc_j_contains(vc_jx *x, vc_jv seq, vc_jv v) {
    if (seq.t == VC_J_STR) {
        if (v.t != VC_J_STR) vc_j_raise(x, "'in <string>' requires string as left operand, not %s", vc_j_type_name(v));
        vc_j_step(x, seq.u.s->n / 64);
        return vc_j_search(seq.u.s->p, seq.u.s->n, v.u.s, 0) != SIZE_MAX;
    }
    if (seq.t == VC_J_DICT || (seq.t == VC_J_VIEW && seq.sub == VC_J_KEYS)) return vc_j_find(x, seq.u.d, v) != NULL;
    if (!vc_j_iterable(seq)) vc_j_raise(x, "argument of type '%s' is not iterable", vc_j_type_name(seq));
    struct vc_jit it = vc_j_iter(x, seq);
    for (vc_jv e; vc_j_next(x, &it, &e);)
        if (vc_j_eq(x, e, v)) return true;
    return false;
}

static double float_mod(double a, double b) {
    double m = fmod(a, b);
    if (m != 0) return (m < 0) != (b < 0) ? m + b : m;
    return copysign(0.0, b);
}

static double float_floordiv(double a, double b) {
    double mod = fmod(a, b), div = (a - mod) / b;
    if (mod != 0 && (mod < 0) != (b < 0)) div -= 1.0;
    if (div == 0) return copysign(0.0, a / b);
    double fl = floor(div);
    return div - fl > 0.5 ? fl + 1.0 : fl;
}

static vc_jv float_arith(vc_jx *x, enum vc_jop op, double a, double b) {
    switch (op) {
    case VC_J_ADD: return vc_j_float(a + b);
    case VC_J_SUB: return vc_j_float(a - b);
    case VC_J_MUL: return vc_j_float(a * b);
    case VC_J_DIV:
        if (b == 0) vc_j_raise(x, "division by zero");
        return vc_j_float(a / b);
    case VC_J_FLOORDIV:
        if (b == 0) vc_j_raise(x, "division by zero");
        return vc_j_float(float_floordiv(a, b));
    case VC_J_MOD:
        if (b == 0) vc_j_raise(x, "modulo by zero");
        return vc_j_float(float_mod(a, b));
    default: break;
    }
    if (a == 0 && b < 0) vc_j_raise(x, "0.0 cannot be raised to a negative power");
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        vc_j_raise(x, "a negative number to a fractional power is a complex number, which is not supported");
    double r = pow(a, b);
    if (isinf(r) && isfinite(a) && isfinite(b)) vc_j_raise(x, "the result of ** is too large");
    return vc_j_float(r);
}

static noreturn void bad_operands(vc_jx *x, enum vc_jop op, vc_jv a, vc_jv b) {
    static const char *const text[] = { "+", "-", "*", "/", "//", "%", "** or pow()" };
    if (a.t == VC_J_UNDEF) vc_j_raise_undef(x, a);
    if (b.t == VC_J_UNDEF) vc_j_raise_undef(x, b);
    vc_j_raise(x, "unsupported operand type(s) for %s: '%s' and '%s'", text[op], vc_j_type_name(a), vc_j_type_name(b));
}

static vc_jv concat_str(vc_jx *x, vc_jv a, vc_jv b) {
    struct vc_jbuf buf = { 0 };
    bool markup = a.sub || b.sub;       /* Markup + str escapes the str */
    if (a.u.s->n == 0 && !markup) return b;
    if (b.u.s->n == 0 && !markup) return a;
    buf.p = vc_j_alloc(x, a.u.s->n + b.u.s->n);
    buf.cap = a.u.s->n + b.u.s->n;
    if (markup) {
        vc_j_put_escaped(x, &buf, a);
        vc_j_put_escaped(x, &buf, b);
    } else {
        vc_j_puts_str(x, &buf, a.u.s);
        vc_j_puts_str(x, &buf, b.u.s);
    }
    vc_jv r = vc_j_done(x, &buf);
    r.sub = markup;
    return r;
}

static vc_jv concat_list(vc_jx *x, vc_jv a, vc_jv b) {
    vc_jv r = vc_j_list(x, a.u.l->n + b.u.l->n);
    r.t = a.t;
    for (size_t i = 0; i < a.u.l->n; i++) vc_j_push(x, r, a.u.l->v[i]);
    for (size_t i = 0; i < b.u.l->n; i++) vc_j_push(x, r, b.u.l->v[i]);
    vc_j_step(x, r.u.l->n);
    return r;
}

static vc_jv repeat(vc_jx *x, vc_jv seq, vc_jv times) {
    int64_t k = vc_j_as_index(x, times, "a repetition count");
    size_t n = k > 0 ? (size_t)k : 0;
    if (seq.t == VC_J_STR) {
        struct vc_jbuf b = { 0 };
        vc_j_putn(x, &b, seq.u.s->p, seq.u.s->n, seq.u.s->n ? n : 0);
        vc_jv r = vc_j_done(x, &b);
        r.sub = seq.sub;
        return r;
    }
    size_t len = seq.u.l->n;
    if (len && n > x->max_memory / sizeof(vc_jv) / len)
        vc_j_raise(x, "the template needs more than %llu bytes of memory", (unsigned long long)x->max_memory);
    vc_jv r = vc_j_list(x, n * len);
    r.t = seq.t;
    vc_j_step(x, n * len);
    for (size_t i = 0; len && i < n; i++)
        for (size_t j = 0; j < len; j++) vc_j_push(x, r, seq.u.l->v[j]);
    return r;
}

vc_jv vc_j_arith(vc_jx *x, enum vc_jop op, vc_jv a, vc_jv b) {
    bool num = vc_j_is_num(a) && vc_j_is_num(b);
    if (num && vc_j_is_int(a) && vc_j_is_int(b)) {
        bool neg_pow = op == VC_J_POW && (b.t == VC_J_BIG ? b.u.big->neg : vc_j_small(b) < 0);
        if (op != VC_J_DIV && !neg_pow) return vc_j_int_arith(x, op, a, b);
    }
    if (num) return float_arith(x, op, vc_j_to_double(x, a), vc_j_to_double(x, b));
    bool sa = a.t == VC_J_STR || a.t == VC_J_LIST || a.t == VC_J_TUPLE,
         sb = b.t == VC_J_STR || b.t == VC_J_LIST || b.t == VC_J_TUPLE;
    if (op == VC_J_ADD && a.t == b.t && a.t == VC_J_STR) return concat_str(x, a, b);
    if (op == VC_J_ADD && a.t == b.t && sa) return concat_list(x, a, b);
    if (op == VC_J_ADD && a.t == VC_J_STR && b.t != VC_J_UNDEF)
        vc_j_raise(x, "can only concatenate str (not \"%s\") to str", vc_j_type_name(b));
    if (op == VC_J_MUL && sa && vc_j_is_int(b)) return repeat(x, a, b);
    if (op == VC_J_MUL && sb && vc_j_is_int(a)) return repeat(x, b, a);
    if (op == VC_J_MOD && a.t == VC_J_STR) return vc_j_percent(x, a, b, NULL);
    bad_operands(x, op, a, b);
}

vc_jv vc_j_neg(vc_jx *x, vc_jv v) {
    if (v.t == VC_J_FLOAT) return vc_j_float(-v.u.f);
    if (vc_j_is_int(v)) return vc_j_int_arith(x, VC_J_SUB, vc_j_int(0), v);
    if (v.t == VC_J_UNDEF) vc_j_raise_undef(x, v);
    vc_j_raise(x, "bad operand type for unary -: '%s'", vc_j_type_name(v));
}

/* Merge sort, bottom up. With `reverse`, equal elements keep their order, as in Python. */
void vc_j_sort(vc_jx *x, vc_jv *v, const vc_jv *key, size_t n, bool reverse) {
    struct pair { vc_jv k, v; } *a = vc_j_array(x, n, sizeof *a), *b = vc_j_array(x, n, sizeof *b);
    for (size_t i = 0; i < n; i++) a[i] = (struct pair){ key ? key[i] : v[i], v[i] };
    for (size_t w = 1; w < n; w *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * w) {
            size_t mid = VC_MIN(lo + w, n), hi = VC_MIN(lo + 2 * w, n), i = lo, j = mid;
            for (size_t k = lo; k < hi; k++) {
                vc_j_step(x, 1);
                bool right = j < hi && (i >= mid || (reverse ? ordered(x, VC_J_LT, a[i].k, a[j].k)
                                                             : ordered(x, VC_J_LT, a[j].k, a[i].k)));
                b[k] = right ? a[j++] : a[i++];
            }
        }
        struct pair *t = a;
        a = b;
        b = t;
    }
    for (size_t i = 0; i < n; i++) v[i] = a[i].v;
}
