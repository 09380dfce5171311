/* SPDX-License-Identifier: Apache-2.0
 * status.h: results and error text. Codes live in vllmc_base.h; this adds the helpers that every room uses. */
#ifndef VC_BASE_STATUS_H
#define VC_BASE_STATUS_H

#include "base/compat.h"
#include "vllmc_base.h"

/* Writes status and text to *err (which may be NULL) and returns the status, so that a failing function can say
 * `return vc_fail(err, VC_E_FORMAT, "%s: offset %zu: …", path, off);`. Text that does not fit is cut at a character. */
vc_status vc_fail(vc_err *err, vc_status s, const char *fmt, ...) VC_PRINTF(3, 4);

/* Puts "prefix: " before the text of *err; returns err->status. */
vc_status vc_fail_prefix(vc_err *err, const char *fmt, ...) VC_PRINTF(2, 3);

#define VC_TRY(expr)                                                                               \
    do {                                                                                           \
        vc_status vc_try_s_ = (expr);                                                              \
        if (vc_try_s_ != VC_OK) return vc_try_s_;                                                  \
    } while (0)

#ifdef __clang_analyzer__             /* which sees one file at a time, must know that a failure is not VC_OK */
#define vc_fail(err, s, ...) ((vc_fail)(err, s, __VA_ARGS__), (s))
#endif

#endif
