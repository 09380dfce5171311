/* SPDX-License-Identifier: Apache-2.0
 *
 * vllmc_base.h: the part of vllmc.h that every room of the library shares: version, status codes, error text, log lines.
 * Programs include vllmc.h, which includes it. */
#ifndef VLLMC_BASE_H
#define VLLMC_BASE_H

#ifdef __cplusplus
extern "C" {
#endif

#define VC_VERSION "0.1.0"
#define VC_ABI 1

#if defined(__GNUC__)
#define VC_API __attribute__((visibility("default")))
#else
#define VC_API
#endif

/* Status codes: name, value, sentence, HTTP status. 0 is success, errors are negative; values never change. */
#define VC_STATUS_MAP(X)                                                                           \
    X(OK, 0, "success", 200)                                                                       \
    X(E_INVALID, -1, "an argument is outside its range", 400)                                      \
    X(E_NOMEM, -2, "out of memory", 503)                                                           \
    X(E_IO, -3, "a file could not be opened or read", 500)                                         \
    X(E_FORMAT, -4, "a file does not follow its format", 400)                                      \
    X(E_UNSUPPORTED, -5, "not supported by this build or model", 400)                              \
    X(E_NOT_FOUND, -6, "no such thing", 404)                                                       \
    X(E_TOO_LONG, -7, "the request does not fit the model's context or the cache", 400)            \
    X(E_BUSY, -8, "the queue is full", 429)                                                        \
    X(E_CANCELLED, -9, "the request was cancelled", 499)                                           \
    X(E_TIMEOUT, -10, "nothing happened in time", 408)                                             \
    X(E_NUMERIC, -11, "a computation gave a value that is not finite", 500)                        \
    X(E_TEMPLATE, -12, "the chat template refused the conversation", 400)                          \
    X(E_STATE, -13, "the call is not allowed in this state", 409)                                  \
    X(E_DONE, -14, "there is nothing left to return", 200)

typedef enum vc_status {
#define VC_STATUS_ENUM(name, value, text, http) VC_##name = value,
    VC_STATUS_MAP(VC_STATUS_ENUM)
#undef VC_STATUS_ENUM
} vc_status;

/* Detail of the last error: what was wrong, where (file, key, tensor, byte offset), what was expected. */
typedef struct vc_err {
    vc_status status;
    char text[1024];
} vc_err;
#define VC_ERR_INIT { VC_OK, { 0 } }

VC_API const char *vc_status_name(vc_status s);     /* "E_FORMAT" */
VC_API const char *vc_status_text(vc_status s);     /* the sentence above */
VC_API int vc_status_http(vc_status s);
VC_API const char *vc_version(void);

/* Log lines go to stderr by default. level: 0 error, 1 warning, 2 info, 3 debug. fn NULL restores stderr. */
typedef void vc_log_fn(int level, const char *line, void *arg);
VC_API void vc_log_set(int level, vc_log_fn *fn, void *arg);

#ifdef __cplusplus
}
#endif

#endif
