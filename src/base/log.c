/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int g_level = VC_LOG_WARN;
static vc_log_fn *g_fn;
static void *g_arg;

void vc_log_set(int level, vc_log_fn *fn, void *arg) {
    vc_log_set_level(level);
    g_fn = fn;
    g_arg = arg;
}

void vc_log_set_level(int level) { atomic_store_explicit(&g_level, level, memory_order_relaxed); }
int vc_log_level(void) { return atomic_load_explicit(&g_level, memory_order_relaxed); }

void vc_log_line(enum vc_log_level level, const char *fmt, ...) {
    if ((int)level > vc_log_level()) return;
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    static const char *const name[] = { "error", "warning", "info", "debug" };
    if (g_fn) g_fn((int)level, line, g_arg);
    else fprintf(stderr, "vllmc: %s: %s\n", name[level], line);
}
