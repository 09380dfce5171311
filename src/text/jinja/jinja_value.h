/* SPDX-License-Identifier: Apache-2.0
 * jinja_value.h: values of the Jinja interpreter, with Python's types and rules.
 * Everything lives in the arena of one render (or of one compiled template, for constants) and is never freed singly.
 * Functions that take a vc_jx raise: they do not return on error but jump back to the entry of compile or render. */
#ifndef VC_TEXT_JINJA_VALUE_H
#define VC_TEXT_JINJA_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compat.h"

enum vc_jtype {
    VC_J_MISSING,       /* no value at all: an argument that was not given, a name that is not bound */
    VC_J_UNDEF, VC_J_NONE, VC_J_BOOL, VC_J_INT, VC_J_BIG, VC_J_FLOAT, VC_J_STR, VC_J_BYTES,
    VC_J_LIST, VC_J_TUPLE, VC_J_DICT, VC_J_VIEW, VC_J_RANGE, VC_J_ITER, VC_J_NS,
    VC_J_MACRO, VC_J_FUNC, VC_J_METHOD, VC_J_LOOP, VC_J_CYCLER, VC_J_JOINER, VC_J_SELF, VC_J_BLOCK
};
enum vc_jview { VC_J_KEYS, VC_J_VALUES, VC_J_ITEMS };

typedef struct vc_jx vc_jx;
struct vc_jstr {
    const char *p;
    size_t n, len;
}; /* bytes, code points; valid UTF-8, not NUL-terminated */
struct vc_jbig { uint32_t n; bool neg; uint32_t d[]; };         /* base 10^9, lowest first, no leading zero */

typedef struct vc_jv {
    uint8_t t;          /* enum vc_jtype */
    uint8_t sub;        /* STR: 1 = Markup; VIEW: enum vc_jview; TUPLE: 1 = (grouper, list) of groupby */
    union {
        bool b;
        int64_t i;
        double f;
        const struct vc_jstr *s;
        const struct vc_jbig *big;
        struct vc_jlist *l;
        struct vc_jdict *d;         /* DICT, VIEW, NS */
        const struct vc_jrange *r;
        struct vc_jseq *it;         /* ITER */
        const struct vc_jmacro *m;
        const struct vc_jfn *fn;
        const struct vc_jmethod *bm;
        struct vc_jloop *loop;
        struct vc_jcycle *cyc;      /* CYCLER, JOINER */
        const struct vc_jnode *blk;
        const struct vc_jundef *un; /* UNDEF; may be NULL */
    } u;
} vc_jv;

struct vc_jlist { vc_jv *v; size_t n, cap; };
struct vc_jent { vc_jv k, v; uint64_t h; };
struct vc_jdict { struct vc_jent *e; size_t n, cap; uint32_t *slot; size_t n_slot; };   /* insertion order */
struct vc_jrange { int64_t start, stop, step, n; };
/* A single-pass iterator: values already computed, handed out once. */
struct vc_jseq { struct vc_jlist *l; size_t at; const char *kind; };
struct vc_jcycle { struct vc_jlist *l; size_t at; };
struct vc_jmethod { vc_jv self; const struct vc_jfn *fn; };
struct vc_jundef {
    const char *of;
    const struct vc_jstr *name;
    bool unsafe;
}; /* of: type of the owner, NULL for a variable */

/* ---- construction ---- */
void *vc_j_alloc(vc_jx *x, size_t bytes);           /* cleared; counts against the render's memory */
void *vc_j_array(vc_jx *x, size_t n, size_t size);
#define VC_J_NEW(x, type) ((type *)vc_j_alloc((x), sizeof(type)))

VC_INLINE vc_jv vc_j_missing(void) { return (vc_jv){ .t = VC_J_MISSING }; }
VC_INLINE vc_jv vc_j_undef(void) { return (vc_jv){ .t = VC_J_UNDEF }; }
VC_INLINE vc_jv vc_j_none(void) { return (vc_jv){ .t = VC_J_NONE }; }
VC_INLINE vc_jv vc_j_bool(bool b) { return (vc_jv){ .t = VC_J_BOOL, .u.b = b }; }
VC_INLINE vc_jv vc_j_int(int64_t i) { return (vc_jv){ .t = VC_J_INT, .u.i = i }; }
VC_INLINE vc_jv vc_j_float(double f) { return (vc_jv){ .t = VC_J_FLOAT, .u.f = f }; }
VC_INLINE vc_jv vc_j_wrap(const struct vc_jstr *s) { return (vc_jv){ .t = VC_J_STR, .u.s = s }; }
vc_jv vc_j_str(vc_jx *x, const char *p, size_t n);          /* borrows p, which must live as long as the render */
vc_jv vc_j_copy(vc_jx *x, const char *p, size_t n);         /* copies */
vc_jv vc_j_lit(vc_jx *x, const char *s);                    /* a C literal */
vc_jv vc_j_list(vc_jx *x, size_t cap);
vc_jv vc_j_tuple(vc_jx *x, size_t n, const vc_jv *v);       /* v may be NULL: filled by the caller */
vc_jv vc_j_dict(vc_jx *x);
vc_jv vc_j_iter_of(vc_jx *x, vc_jv list, const char *kind); /* single-pass iterator over a list */
vc_jv vc_j_undef_attr(vc_jx *x, vc_jv obj, vc_jv name, bool unsafe);
void vc_j_push(vc_jx *x, vc_jv list, vc_jv v);
void vc_j_set(vc_jx *x, struct vc_jdict *d, vc_jv k, vc_jv v);
vc_jv *vc_j_find(vc_jx *x, const struct vc_jdict *d, vc_jv k);     /* NULL: absent; raises for an unhashable key */
vc_jv *vc_j_find_cstr(vc_jx *x, const struct vc_jdict *d, const char *k);

/* ---- strings ---- */
VC_INLINE bool vc_j_is_str(vc_jv v) { return v.t == VC_J_STR; }
bool vc_j_str_is(const struct vc_jstr *s, const char *lit);
bool vc_j_str_same(const struct vc_jstr *a, const struct vc_jstr *b);
size_t vc_j_offset(const struct vc_jstr *s, size_t cp);             /* byte offset of code point cp (0…len) */
vc_jv vc_j_substr(vc_jx *x, const struct vc_jstr *s, size_t byte, size_t n);
size_t vc_j_count_cp(const char *p, size_t n);

/* A growing string in the arena. */
struct vc_jbuf { char *p; size_t n, cap; };
void vc_j_put(vc_jx *x, struct vc_jbuf *b, const char *p, size_t n);
void vc_j_puts(vc_jx *x, struct vc_jbuf *b, const char *s);
void vc_j_putc(vc_jx *x, struct vc_jbuf *b, char c);
void vc_j_putcp(vc_jx *x, struct vc_jbuf *b, uint32_t cp);
void vc_j_putn(vc_jx *x, struct vc_jbuf *b, const char *unit, size_t n_unit, size_t times);
void vc_j_puts_str(vc_jx *x, struct vc_jbuf *b, const struct vc_jstr *s);
vc_jv vc_j_done(vc_jx *x, struct vc_jbuf *b);

/* ---- iteration, as Python's iter() ---- */
struct vc_jit { vc_jv v; size_t at; };
struct vc_jit vc_j_iter(vc_jx *x, vc_jv v);                 /* raises when v is not iterable */
bool vc_j_next(vc_jx *x, struct vc_jit *it, vc_jv *out);
bool vc_j_iterable(vc_jv v);
vc_jv vc_j_to_list(vc_jx *x, vc_jv v);                      /* a fresh list */

/* ---- rules ---- */
const char *vc_j_type_name(vc_jv v);                        /* "int", "NoneType", "list" … */
bool vc_j_truth(vc_jv v);
int64_t vc_j_len(vc_jx *x, vc_jv v);                        /* raises when v has no length */
bool vc_j_eq(vc_jx *x, vc_jv a, vc_jv b);
enum vc_jcmp { VC_J_EQ, VC_J_NE, VC_J_LT, VC_J_LE, VC_J_GT, VC_J_GE, VC_J_IN, VC_J_NOTIN };
bool vc_j_compare(vc_jx *x, enum vc_jcmp op, vc_jv a, vc_jv b);
bool vc_j_contains(vc_jx *x, vc_jv seq, vc_jv v);
uint64_t vc_j_hash(vc_jx *x, vc_jv v);                      /* raises for list, dict */
enum vc_jop { VC_J_ADD, VC_J_SUB, VC_J_MUL, VC_J_DIV, VC_J_FLOORDIV, VC_J_MOD, VC_J_POW };
vc_jv vc_j_arith(vc_jx *x, enum vc_jop op, vc_jv a, vc_jv b);
vc_jv vc_j_neg(vc_jx *x, vc_jv v);
void vc_j_sort(vc_jx *x, vc_jv *v, const vc_jv *key, size_t n, bool reverse);   /* stable, by key (NULL: by v) */

/* str() and repr() */
void vc_j_put_str(vc_jx *x, struct vc_jbuf *b, vc_jv v);
void vc_j_put_repr(vc_jx *x, struct vc_jbuf *b, vc_jv v);
vc_jv vc_j_to_str(vc_jx *x, vc_jv v);                       /* a string stays as it is (Markup too) */
void vc_j_put_escaped(vc_jx *x, struct vc_jbuf *b, vc_jv v);    /* markupsafe.escape(); Markup passes as it is */
vc_jv vc_j_escape(vc_jx *x, vc_jv v);

/* ---- numbers ---- */
VC_INLINE bool vc_j_is_int(vc_jv v) { return v.t == VC_J_INT || v.t == VC_J_BOOL || v.t == VC_J_BIG; }
VC_INLINE bool vc_j_is_num(vc_jv v) { return vc_j_is_int(v) || v.t == VC_J_FLOAT; }
VC_INLINE int64_t vc_j_small(vc_jv v) { return v.t == VC_J_BOOL ? v.u.b : v.u.i; }   /* INT or BOOL */
double vc_j_to_double(vc_jx *x, vc_jv v);                   /* a number; raises when a big int has no double */
int64_t vc_j_as_index(vc_jx *x, vc_jv v, const char *what); /* an int in 64 bits, else raises; names `what` */
vc_jv vc_j_int_arith(vc_jx *x, enum vc_jop op, vc_jv a, vc_jv b);   /* both ints; not DIV, not negative POW */
int vc_j_int_cmp(vc_jv a, vc_jv b);                         /* both ints: -1, 0, 1 */
bool vc_j_parse_int(vc_jx *x, const char *s, size_t n, unsigned base,
                    vc_jv *out); /* digits with single underscores */
void vc_j_put_big(vc_jx *x, struct vc_jbuf *b, const struct vc_jbig *v);
vc_jv vc_j_double_to_int(vc_jx *x, double f);               /* truncates; finite */
#define VC_J_FLOAT_CAP 400
size_t vc_j_repr_double(char *dst, double f);               /* Python's repr(); dst holds 32 bytes */
size_t vc_j_fixed(char *dst, size_t cap, double f, int prec,
                  char conv);                               /* printf's %.*e, f, g with a '.' whatever the locale */
bool vc_j_parse_double(const char *s, size_t n, double *f); /* decimal literal; the whole of s */

#endif
