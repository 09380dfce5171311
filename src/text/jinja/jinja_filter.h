/* SPDX-License-Identifier: Apache-2.0
 * jinja_filter.h: the filters, by the file that holds them; jinja_filter.c puts them into one table. The first argument is
 * the filtered value. */
#ifndef VC_TEXT_JINJA_FILTER_H
#define VC_TEXT_JINJA_FILTER_H

#include "text/jinja/jinja_method.h"

#define VC_J_FILTERS(X)                                                                                              \
    /* jinja_filter_seq.c */                                                                                         \
    X(batch)                                                                                                         \
    X(dictsort) X(first) X(groupby) X(items) X(join) X(last) X(list) X(max) X(min) X(random) X(reverse) X(slice)     \
        X(sort) X(sum) X(unique)                               /* jinja_filter_map.c */                              \
        X(map) X(select) X(reject) X(selectattr) X(rejectattr) /* jinja_filter_str.c */                              \
        X(capitalize) X(center) X(format) X(indent) X(lower) X(replace) X(string) X(title) X(trim) X(truncate)       \
            X(upper) X(wordcount) X(wordwrap) X(pprint) X(urlize) /* one file each */                            \
        /* jinja_filter_num.c */                                                                                     \
        X(abs) X(filesizeformat) X(float) X(int) X(round) /* jinja_filter_html.c */                                  \
        X(escape) X(forceescape) X(safe) X(striptags) X(urlencode) X(xmlattr)
#define VC_J_DECLARE(f) vc_jv vc_jf_##f(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c);
VC_J_FILTERS(VC_J_DECLARE)
#undef VC_J_DECLARE

#define VC_J_FILTER(f) vc_jv vc_jf_##f(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c)
#define VC_J_UNUSED (void)x, (void)self, (void)arg, (void)c

VC_INLINE bool vc_j_flag(vc_jv v) { return vc_j_given(v) && vc_j_truth(v); }
VC_INLINE bool vc_j_has(vc_jv v) { return vc_j_given(v) && v.t != VC_J_NONE; }      /* given and not none */
vc_jv vc_j_fold(vc_jx *x, vc_jv v);     /* strings in lower case, all else as it is */

#endif
