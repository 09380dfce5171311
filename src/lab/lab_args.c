/* SPDX-License-Identifier: Apache-2.0
 * lab_args.c: options by table. */
#include "lab/lab_args.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static vc_status unknown_option(const char *name, size_t n, const struct lab_opt *opts, vc_err *err) {
    char list[512] = "";
    size_t at = 0;
    for (const struct lab_opt *o = opts; o->name && at < sizeof list - 1; o++)
        at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", o == opts ? "" : " ", o->name);
    return vc_fail(err, VC_E_INVALID, "unknown option %.*s; known: %s", (int)n, name, list);
}

static vc_status read_uint(const char *name, const char *text, char **end, uint32_t *v, vc_err *err) {
    unsigned long x = text[0] >= '0' && text[0] <= '9' ? strtoul(text, end, 10) : ULONG_MAX;
    if (x > UINT32_MAX) return vc_fail(err, VC_E_INVALID, "%s: '%s', expected a number", name, text);
    *v = (uint32_t)x;
    return VC_OK;
}

static vc_status read_uints(const char *name, const char *text, uint32_t *v, vc_err *err) {
    const char *at = text;
    for (uint32_t i = 0; i < 8; i++) {
        char *end = NULL;
        VC_TRY(read_uint(name, at, &end, &v[i], err));
        if (v[i] == 0) break;
        if (*end == '\0') return VC_OK;
        if (*end != ',') break;
        at = end + 1;
    }
    return vc_fail(err, VC_E_INVALID, "%s: '%s', expected up to eight positive numbers separated by commas", name,
                   text);
}

static vc_status set(const struct lab_opt *o, const char *value, void *args, vc_err *err) {
    char *p = (char *)args + o->at, *end = NULL;
    switch (o->kind) {
        case LAB_OPT_FLAG: *(bool *)(void *)p = true; return VC_OK;
        case LAB_OPT_TEXT: memcpy(p, &value, sizeof value); return VC_OK;
        case LAB_OPT_UINTS: return read_uints(o->name, value, (uint32_t *)(void *)p, err);
        case LAB_OPT_UINT: break;
    }
    VC_TRY(read_uint(o->name, value, &end, (uint32_t *)(void *)p, err));
    return *end ? vc_fail(err, VC_E_INVALID, "%s: '%s', expected a number", o->name, value) : VC_OK;
}

vc_status lab_parse(int argc, char **argv, const struct lab_opt *opts, void *args, const char **paths,
                    uint32_t *num_paths, vc_err *err) {
    bool only_paths = false;
    *num_paths = 0;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *eq = strchr(a, '=');
        if (!only_paths && strcmp(a, "--") == 0) {
            only_paths = true;
            continue;
        }
        if (only_paths || a[0] != '-') {
            paths[(*num_paths)++] = a;
            continue;
        }
        size_t n = eq ? (size_t)(eq - a) : strlen(a);
        const struct lab_opt *o = opts;
        if (strcmp(a, "-h") == 0) a = "--help", n = 6;
        while (o->name && (strlen(o->name) != n || memcmp(o->name, a, n) != 0)) o++;
        if (!o->name) return unknown_option(a, n, opts, err);
        const char *value = eq ? eq + 1 : NULL;
        if (o->kind == LAB_OPT_FLAG && value) return vc_fail(err, VC_E_INVALID, "%s takes no value", o->name);
        if (o->kind != LAB_OPT_FLAG && !value) {
            if (i + 1 >= argc) return vc_fail(err, VC_E_INVALID, "%s: its value %s is missing", o->name, o->value);
            value = argv[++i];
        }
        VC_TRY(set(o, value, args, err));
    }
    return VC_OK;
}

void lab_print_options(const struct lab_opt *opts) {
    for (const struct lab_opt *o = opts; o->name; o++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
        printf("  %-22s %s\n", left, o->text);
    }
}
