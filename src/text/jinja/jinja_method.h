/* SPDX-License-Identifier: Apache-2.0
 * jinja_method.h: methods of strings, lists, dicts and loops, which jinja_method.c puts into its table. */
#ifndef VC_TEXT_JINJA_METHOD_H
#define VC_TEXT_JINJA_METHOD_H

#include "text/jinja/jinja_run.h"

const struct vc_jstr *vc_j_need_str(vc_jx *x, vc_jv v, const char *what);
/* Byte of the first hit at or behind `from`, of the last hit; SIZE_MAX: none. */
size_t vc_j_search(const char *p, size_t n, const struct vc_jstr *t, size_t from);
size_t vc_j_search_last(const char *p, size_t n, const struct vc_jstr *t);
vc_jv vc_j_splitlines(vc_jx *x, vc_jv self, bool keep);

#define VC_J_METHODS(X)                                                                                              \
    X(find)                                                                                                          \
    X(rfind) X(index) X(rindex) X(count) X(startswith) X(endswith) X(removeprefix) X(removesuffix) X(replace)        \
        X(strip) X(lstrip) X(rstrip) X(partition) X(rpartition) X(split) X(rsplit) X(splitlines) X(join) X(center)   \
            X(ljust) X(rjust) X(zfill) X(expandtabs) X(maketrans) X(translate) X(bit_length) X(bit_count) X(conjugate)    \
            X(as_integer_ratio) X(float_hex) X(unescape) X(markup_striptags) X(isdisjoint)
#define VC_J_DECLARE(m) vc_jv vc_jm_##m(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c);
VC_J_METHODS(VC_J_DECLARE)
#undef VC_J_DECLARE

vc_jv vc_j_loop_cycle(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c);
vc_jv vc_j_loop_changed(vc_jx *x, vc_jv self, vc_jv *arg, const struct vc_jcall *c);

#endif
