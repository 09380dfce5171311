/* SPDX-License-Identifier: Apache-2.0 */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Cuts a half UTF-8 sequence from the end of a truncated text. */
static void trim_utf8(char *s, size_t n) {
    size_t i = n;
    while (i > 0 && ((unsigned char)s[i - 1] & 0xC0) == 0x80) i--;
    if (i == 0) return;
    unsigned char lead = (unsigned char)s[i - 1];
    size_t need = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (n - (i - 1) < need) s[i - 1] = '\0';
}

vc_status (vc_fail)(vc_err *err, vc_status s, const char *fmt, ...) {    /* in parentheses: a macro under analysis */
    if (!err) return s;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n >= (int)sizeof err->text) trim_utf8(err->text, sizeof err->text - 1);
    err->status = s;
    return s;
}

vc_status vc_fail_prefix(vc_err *err, const char *fmt, ...) {
    if (!err) return VC_E_INVALID;
    char old[sizeof err->text];
    memcpy(old, err->text, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    if (n < 0) n = 0;
    if ((size_t)n < sizeof err->text) {
        size_t room = sizeof err->text - (size_t)n;
        int m = snprintf(err->text + n, room, ": %s", old);
        if (m >= (int)room) trim_utf8(err->text, sizeof err->text - 1);
    }
    return err->status;
}

const char *vc_status_name(vc_status s) {
    switch (s) {
#define ROW(name, value, text, http) case VC_##name: return #name;
        VC_STATUS_MAP(ROW)
#undef ROW
    }
    return "E_UNKNOWN";
}

const char *vc_status_text(vc_status s) {
    switch (s) {
#define ROW(name, value, text, http) case VC_##name: return text;
        VC_STATUS_MAP(ROW)
#undef ROW
    }
    return "unknown status";
}

int vc_status_http(vc_status s) {
    switch (s) {
#define ROW(name, value, text, http) case VC_##name: return http;
        VC_STATUS_MAP(ROW)
#undef ROW
    }
    return 500;
}

const char *vc_version(void) { return VC_VERSION; }
