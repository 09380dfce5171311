/* SPDX-License-Identifier: Apache-2.0
 * Filters over sequences and dicts. */
#include <string.h>

#include "base/rng.h"
#include "text/jinja/jinja_filter.h"

/* The sort key of an item: "a.b,c" gives the list of both, no attribute the item itself; strings folded unless cased. */
static vc_jv sort_key(vc_jx *x, vc_jv item, vc_jv attribute, bool cased) {
    if (!vc_j_has(attribute)) return cased ? item : vc_j_fold(x, item);
    vc_jv key = vc_j_list(x, 0);
    if (attribute.t != VC_J_STR) {
        vc_jv v = vc_j_attr_path(x, item, attribute);
        vc_j_push(x, key, cased ? v : vc_j_fold(x, v));
        return key;
    }
    const struct vc_jstr *s = attribute.u.s;
    for (size_t i = 0; i <= s->n;) {
        const char *comma = memchr(s->p + i, ',', s->n - i);
        size_t end = comma ? (size_t)(comma - s->p) : s->n;
        vc_jv v = vc_j_attr_path(x, item, vc_j_substr(x, s, i, end - i));
        vc_j_push(x, key, cased ? v : vc_j_fold(x, v));
        i = end + 1;
    }
    return key;
}

/* One attribute path, without the "a,b" form. */
static vc_jv one_key(vc_jx *x, vc_jv item, vc_jv attribute, bool cased, vc_jv def) {
    vc_jv v = vc_j_has(attribute) ? vc_j_attr_path(x, item, attribute) : item;
    if (v.t == VC_J_UNDEF && vc_j_has(def)) v = def;
    return cased ? v : vc_j_fold(x, v);
}

VC_J_FILTER(sort) {
    VC_J_UNUSED;
    vc_jv l = vc_j_to_list(x, arg[0]);
    size_t n = l.u.l->n;
    vc_jv *key = vc_j_array(x, n, sizeof *key);
    for (size_t i = 0; i < n; i++) key[i] = sort_key(x, l.u.l->v[i], arg[3], vc_j_flag(arg[2]));
    vc_j_sort(x, l.u.l->v, key, n, vc_j_flag(arg[1]));
    return l;
}

VC_J_FILTER(dictsort) {
    VC_J_UNUSED;
    if (arg[0].t == VC_J_UNDEF) vc_j_raise_undef(x, arg[0]);
    if (arg[0].t != VC_J_DICT) vc_j_raise(x, "dictsort needs a dict, not %s", vc_j_type_name(arg[0]));
    bool by_value = vc_j_given(arg[2]) && vc_j_str_is(vc_j_need_str(x, arg[2], "dictsort's by"), "value");
    if (vc_j_given(arg[2]) && !by_value && !vc_j_str_is(arg[2].u.s, "key"))
        vc_j_raise(x, "You can only sort by either \"key\" or \"value\"");
    const struct vc_jdict *d = arg[0].u.d;
    vc_jv l = vc_j_list(x, d->n), *key = vc_j_array(x, d->n, sizeof *key);
    for (size_t i = 0; i < d->n; i++) {
        vc_jv k = by_value ? d->e[i].v : d->e[i].k;
        key[i] = vc_j_flag(arg[1]) ? k : vc_j_fold(x, k);
        vc_j_push(x, l, vc_j_tuple(x, 2, (vc_jv[]){ d->e[i].k, d->e[i].v }));
    }
    vc_j_sort(x, l.u.l->v, key, d->n, vc_j_flag(arg[3]));
    return l;
}

VC_J_FILTER(groupby) {
    VC_J_UNUSED;
    bool cased = vc_j_flag(arg[3]);
    vc_jv l = vc_j_to_list(x, arg[0]), out = vc_j_list(x, 0), last = vc_j_missing();
    size_t n = l.u.l->n;
    vc_jv *key = vc_j_array(x, n, sizeof *key);
    for (size_t i = 0; i < n; i++) key[i] = one_key(x, l.u.l->v[i], arg[1], cased, arg[2]);
    vc_j_sort(x, l.u.l->v, key, n, false);
    for (size_t i = 0; i < n; i++) {
        vc_jv k = one_key(x, l.u.l->v[i], arg[1], cased, arg[2]);
        if (!vc_j_given(last) || !vc_j_eq(x, last, k)) {
            vc_jv shown = one_key(x, l.u.l->v[i], arg[1], true, arg[2]);
            vc_jv group = vc_j_tuple(x, 2, (vc_jv[]){ shown, vc_j_list(x, 0) });
            group.sub = 1;
            vc_j_push(x, out, group);
            last = k;
        }
        vc_j_push(x, out.u.l->v[out.u.l->n - 1].u.l->v[1], l.u.l->v[i]);
    }
    return out;
}

VC_J_FILTER(unique) {
    VC_J_UNUSED;
    vc_jv out = vc_j_list(x, 0), seen = vc_j_dict(x), item;
    struct vc_jit it = vc_j_iter(x, arg[0]);
    while (vc_j_next(x, &it, &item)) {
        vc_jv k = one_key(x, item, arg[2], vc_j_flag(arg[1]), vc_j_missing());
        if (vc_j_find(x, seen.u.d, k)) continue;
        vc_j_set(x, seen.u.d, k, vc_j_none());
        vc_j_push(x, out, item);
    }
    return vc_j_iter_of(x, out, "sync_do_unique");
}

static vc_jv extreme(vc_jx *x, vc_jv *arg, enum vc_jcmp op) {
    vc_jv best = vc_j_undef(), best_key = vc_j_missing(), item;
    struct vc_jit it = vc_j_iter(x, arg[0]);
    while (vc_j_next(x, &it, &item)) {
        vc_jv k = one_key(x, item, arg[2], vc_j_flag(arg[1]), vc_j_missing());
        if (vc_j_given(best_key) && !vc_j_compare(x, op, k, best_key)) continue;
        best = item;
        best_key = k;
    }
    return best;
}
VC_J_FILTER(min) { VC_J_UNUSED; return extreme(x, arg, VC_J_LT); }
VC_J_FILTER(max) { VC_J_UNUSED; return extreme(x, arg, VC_J_GT); }

VC_J_FILTER(sum) {
    VC_J_UNUSED;
    vc_jv total = vc_j_given(arg[2]) ? arg[2] : vc_j_int(0), item;
    if (total.t == VC_J_STR) vc_j_raise(x, "sum() can't sum strings [use ''.join(seq) instead]");
    struct vc_jit it = vc_j_iter(x, arg[0]);
    while (vc_j_next(x, &it, &item))
        total = vc_j_arith(x, VC_J_ADD, total, one_key(x, item, arg[1], true, vc_j_missing()));
    return total;
}

VC_J_FILTER(join) {
    VC_J_UNUSED;
    vc_jv d = vc_j_given(arg[1]) ? vc_j_to_str(x, arg[1]) : vc_j_lit(x, ""), l = vc_j_to_list(x, arg[0]);
    bool markup = x->autoescape && d.sub;
    for (size_t i = 0; i < l.u.l->n; i++) {
        if (vc_j_has(arg[2])) l.u.l->v[i] = vc_j_attr_path(x, l.u.l->v[i], arg[2]);
        markup |= x->autoescape && l.u.l->v[i].t == VC_J_STR && l.u.l->v[i].sub;
    }
    struct vc_jbuf b = { 0 };
    for (size_t i = 0; i < l.u.l->n; i++) {
        if (i && markup) vc_j_put_escaped(x, &b, d);
        else if (i) vc_j_puts_str(x, &b, d.u.s);
        if (markup) vc_j_put_escaped(x, &b, l.u.l->v[i]);
        else vc_j_put_str(x, &b, l.u.l->v[i]);
    }
    vc_jv r = vc_j_done(x, &b);
    r.sub = markup;
    return r;
}

VC_J_FILTER(first) {
    VC_J_UNUSED;
    struct vc_jit it = vc_j_iter(x, arg[0]);
    vc_jv v;
    return vc_j_next(x, &it, &v) ? v : vc_j_undef();
}

VC_J_FILTER(last) {
    VC_J_UNUSED;
    if (arg[0].t == VC_J_ITER) vc_j_raise(x, "'generator' object is not reversible");
    vc_jv l = vc_j_to_list(x, arg[0]);
    return l.u.l->n ? l.u.l->v[l.u.l->n - 1] : vc_j_undef();
}

VC_J_FILTER(random) {
    VC_J_UNUSED;
    if (arg[0].t == VC_J_ITER) vc_j_raise(x, "object of type 'generator' has no len()");
    vc_jv l = vc_j_to_list(x, arg[0]);
    return l.u.l->n ? l.u.l->v[vc_rng_next(&x->seed) % l.u.l->n] : vc_j_undef();
}

VC_J_FILTER(list) { VC_J_UNUSED; return vc_j_to_list(x, arg[0]); }

VC_J_FILTER(reverse) {
    VC_J_UNUSED;
    if (arg[0].t == VC_J_STR) return vc_j_slice(x, arg[0], vc_j_none(), vc_j_none(), vc_j_int(-1));
    vc_jv l = vc_j_to_list(x, arg[0]);
    for (size_t i = 0, n = l.u.l->n; i < n / 2; i++) {
        vc_jv t = l.u.l->v[i];
        l.u.l->v[i] = l.u.l->v[n - 1 - i];
        l.u.l->v[n - 1 - i] = t;
    }
    if (arg[0].t == VC_J_ITER) return l;
    return vc_j_iter_of(x, l,
                        arg[0].t == VC_J_LIST    ? "list_reverseiterator"
                        : arg[0].t == VC_J_RANGE ? "range_iterator"
                                                 : "reversed");
}

VC_J_FILTER(items) {
    VC_J_UNUSED;
    vc_jv l = vc_j_list(x, 0);
    if (arg[0].t != VC_J_DICT && arg[0].t != VC_J_UNDEF) vc_j_raise(x, "Can only get item pairs from a mapping.");
    for (size_t i = 0; arg[0].t == VC_J_DICT && i < arg[0].u.d->n; i++)
        vc_j_push(x, l, vc_j_tuple(x, 2, (vc_jv[]){ arg[0].u.d->e[i].k, arg[0].u.d->e[i].v }));
    return vc_j_iter_of(x, l, "do_items");
}

VC_J_FILTER(batch) {
    VC_J_UNUSED;
    int64_t size = vc_j_as_index(x, arg[1], "batch's size");
    vc_jv out = vc_j_list(x, 0), now = vc_j_list(x, 0), item;
    struct vc_jit it = vc_j_iter(x, arg[0]);
    while (vc_j_next(x, &it, &item)) {
        if ((int64_t)now.u.l->n == size) {
            vc_j_push(x, out, now);
            now = vc_j_list(x, 0);
        }
        vc_j_push(x, now, item);
    }
    if (now.u.l->n) {
        for (; vc_j_has(arg[2]) && (int64_t)now.u.l->n < size; vc_j_step(x, 1)) vc_j_push(x, now, arg[2]);
        vc_j_push(x, out, now);
    }
    return vc_j_iter_of(x, out, "do_batch");
}

VC_J_FILTER(slice) {
    VC_J_UNUSED;
    int64_t k = vc_j_as_index(x, arg[1], "slice's number");
    vc_jv l = vc_j_to_list(x, arg[0]), out = vc_j_list(x, 0);
    if (k == 0) vc_j_raise(x, "integer division or modulo by zero");
    int64_t n = (int64_t)l.u.l->n, each = k > 0 ? n / k : 0, more = k > 0 ? n % k : 0, at = 0;
    for (int64_t i = 0; i < k; i++) {
        vc_j_step(x, 1);
        vc_jv part = vc_j_list(x, 0);
        for (int64_t end = at + each + (i < more); at < end; at++) vc_j_push(x, part, l.u.l->v[at]);
        if (vc_j_has(arg[2]) && i >= more) vc_j_push(x, part, arg[2]);
        vc_j_push(x, out, part);
    }
    return vc_j_iter_of(x, out, "sync_do_slice");
}
