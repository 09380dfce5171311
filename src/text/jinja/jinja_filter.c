/* SPDX-License-Identifier: Apache-2.0
 * The table of filters, and those that are a line or two. */
#include "text/jinja/jinja_filter.h"

vc_jv vc_j_fold(vc_jx *x, vc_jv v) { return v.t == VC_J_STR ? vc_j_case(x, v, VC_J_LOWER) : v; }

static vc_jv f_default(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    VC_J_UNUSED;
    if (arg[0].t != VC_J_UNDEF && !(vc_j_flag(arg[2]) && !vc_j_truth(arg[0]))) return arg[0];
    return vc_j_given(arg[1]) ? arg[1] : vc_j_lit(x, "");
}

static vc_jv f_length(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    VC_J_UNUSED;
    return vc_j_int(vc_j_len(x, arg[0]));
}

/* getattr() without a look at items. */
static vc_jv f_attr(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    VC_J_UNUSED;
    vc_jv name = vc_j_to_str(x, arg[1]);
    if (arg[0].t == VC_J_DICT && !vc_j_method(VC_J_DICT, name.u.s->p, name.u.s->n))
        return vc_j_undef_attr(x, arg[0], name, false);
    return vc_j_getattr(x, arg[0], name);
}

/* transformers: tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False) */
static vc_jv f_tojson(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c) {
    VC_J_UNUSED;
    struct vc_jjson o = { .ascii = vc_j_flag(arg[1]), .sort = vc_j_flag(arg[4]) };
    struct vc_jbuf indent = { 0 }, out = { 0 };
    if (vc_j_has(arg[2])) {
        if (arg[2].t == VC_J_STR) {
            o.indent = arg[2].u.s;
        } else {
            int64_t n = vc_j_as_index(x, arg[2], "tojson's indent");
            vc_j_putn(x, &indent, " ", 1, n > 0 ? (size_t)n : 0);
            o.indent = vc_j_done(x, &indent).u.s;
        }
    }
    o.item_sep = vc_j_lit(x, o.indent ? "," : ", ").u.s;
    o.key_sep = vc_j_lit(x, ": ").u.s;
    if (vc_j_has(arg[3])) {
        vc_jv l = vc_j_to_list(x, arg[3]);
        if (l.u.l->n != 2) vc_j_raise(x, "tojson's separators are two strings");
        o.item_sep = vc_j_need_str(x, l.u.l->v[0], "a separator");
        o.key_sep = vc_j_need_str(x, l.u.l->v[1], "a separator");
    }
    vc_j_put_json(x, &out, arg[0], &o);
    return vc_j_done(x, &out);
}

#define F(name, params, min) { #name, vc_jf_##name, params, min, 0 }
static const struct vc_jfn table[] = {
    F(abs, "value", 1),
    { "attr", f_attr, "obj name", 2, 0 },
    F(batch, "value linecount fill_with", 2),
    F(capitalize, "s", 1),
    F(center, "value width", 1),
    { "count", f_length, "_", 1, 0 },
    { "d", f_default, "value default_value boolean", 1, 0 },
    { "default", f_default, "value default_value boolean", 1, 0 },
    F(dictsort, "value case_sensitive by reverse", 1),
    { "e", vc_jf_escape, "_", 1, 0 },
    F(escape, "_", 1),
    F(filesizeformat, "value binary", 1),
    F(first, "seq", 1),
    F(float, "value default", 1),
    F(forceescape, "value", 1),
    F(format, "value *", 1),
    F(groupby, "value attribute default case_sensitive", 2),
    F(indent, "s width first blank", 1),
    F(int, "value default base", 1),
    F(items, "value", 1),
    F(join, "value d attribute", 1),
    F(last, "seq", 1),
    { "length", f_length, "_", 1, 0 },
    F(list, "value", 1),
    F(lower, "s", 1),
    F(map, "_ *", 1),
    F(max, "value case_sensitive attribute", 1),
    F(min, "value case_sensitive attribute", 1),
    F(pprint, "value", 1),
    F(random, "seq", 1),
    F(reject, "_ *", 1),
    F(rejectattr, "_ *", 1),
    F(replace, "s old new count", 3),
    F(reverse, "value", 1),
    F(round, "value precision method", 1),
    F(safe, "value", 1),
    F(select, "_ *", 1),
    F(selectattr, "_ *", 1),
    F(slice, "value slices fill_with", 2),
    F(sort, "value reverse case_sensitive attribute", 1),
    F(string, "_", 1),
    F(striptags, "value", 1),
    F(sum, "iterable attribute start", 1),
    F(title, "s", 1),
    { "tojson", f_tojson, "x ensure_ascii indent separators sort_keys", 1, 0 },
    F(trim, "value chars", 1),
    F(truncate, "s length killwords end leeway", 1),
    F(unique, "value case_sensitive attribute", 1),
    F(upper, "s", 1),
    F(urlencode, "value", 1),
    F(urlize, "value trim_url_limit nofollow target rel extra_schemes", 1),
    F(wordcount, "s", 1),
    F(wordwrap, "s width break_long_words wrapstring break_on_hyphens", 1),
    F(xmlattr, "d autospace", 1),
};

const struct vc_jfn *vc_j_filter(const char *name, size_t n) { return vc_j_fn_in(table, VC_ARRAY_LEN(table), name, n); }
