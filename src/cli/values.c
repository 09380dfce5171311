/* SPDX-License-Identifier: Apache-2.0
 * values.c: texts of the command line as numbers and lists. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "io/json.h"

/* Digits, with a fraction if not whole, then k, m, g, t (powers of 1000) or K, M, G, T (of 1024; also Ki, KB, KiB), as
 * vLLM's human_readable_int. whole: the result must be reached without a fraction of the unit being lost. */
bool cli_read_size(const char *s, bool whole, uint64_t most, uint64_t *v) {
    if (*s < '0' || *s > '9') return false;
    char *end;
    errno = 0;
    double x = strtod(s, &end);
    size_t digits = strspn(s, "0123456789.");
    if (errno || end != s + digits) return false;
    static const char units[] = "kKmMgGtT";
    const char *u = *end ? strchr(units, *end) : NULL;
    double factor = 1;
    if (u) {
        double base = islower((unsigned char)*end) && end[1] != 'i' ? 1000 : 1024;
        for (size_t i = 0; i <= (size_t)(u - units) / 2; i++) factor *= base;
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B' || *end == 'b') end++;
    if (*end) return false;
    x *= factor;
    if ((whole && x != floor(x)) || x > (double)most) return false;
    if (factor == 1 && !memchr(s, '.', digits)) return cli_read_u64(s, v) && *v <= most;
    *v = (uint64_t)x;
    return true;
}

bool cli_read_u64(const char *s, uint64_t *v) {
    if (*s < '0' || *s > '9') return false;
    char *end;
    errno = 0;
    unsigned long long x = strtoull(s, &end, 10);
    if (errno || *end) return false;
    *v = x;
    return true;
}

static bool number_i32(const char *s, char **end, int32_t *v) {
    if ((*s < '0' || *s > '9') && *s != '-') return false;
    errno = 0;
    long x = strtol(s, end, 10);
    if (errno || *end == s || x < INT32_MIN || x > INT32_MAX) return false;
    *v = (int32_t)x;
    return true;
}

bool cli_read_i32(const char *s, int32_t *v) {
    char *end;
    return number_i32(s, &end, v) && !*end;
}

bool cli_read_f32(const char *s, float *v) {
    char *end;
    errno = 0;
    *v = strtof(s, &end);
    return end != s && !*end && isfinite(*v);
}

static size_t count_items(const char *s) {
    size_t n = 1;
    for (; *s; s++) n += *s == ',';
    return n;
}

/* Steps over ", " between items; false when something else follows. */
static bool next_item(char *end, const char **s) {
    while (*end == ' ') end++;
    if (*end && *end != ',') return false;
    if (*end == ',') {
        end++;
        while (*end == ' ') end++;
        if (!*end) return false;
    }
    *s = end;
    return true;
}

bool cli_read_ids(struct vc_arena *a, const char *s, struct cli_ids *ids) {
    int32_t *v = VC_NEW_ARRAY(a, int32_t, count_items(s));
    size_t n = 0;
    while (*s == ' ' || *s == '[') s++;
    while (v && *s && *s != ']') {
        char *end;
        if (!number_i32(s, &end, &v[n]) || v[n] < 0) return false;
        n++;
        if (*end == ']' && !end[1]) break;
        if (!next_item(end, &s)) return false;
    }
    *ids = (struct cli_ids){ v, n };
    return v && n > 0;
}

bool cli_read_counts(struct vc_arena *a, const char *s, struct cli_counts *c) {
    struct cli_ids ids;
    if (!cli_read_ids(a, s, &ids)) return false;
    uint32_t *v = VC_NEW_ARRAY(a, uint32_t, ids.n);
    for (size_t i = 0; v && i < ids.n; i++) {
        if (ids.v[i] < 1) return false;
        v[i] = (uint32_t)ids.v[i];
    }
    *c = (struct cli_counts){ v, ids.n };
    return v != NULL;
}

bool cli_read_biases(struct vc_arena *a, const char *s, struct cli_biases *b) {
    vc_logit_bias *v = VC_NEW_ARRAY(a, vc_logit_bias, count_items(s));
    size_t n = 0;
    while (v && *s) {
        char *end;
        if (!number_i32(s, &end, &v[n].token) || v[n].token < 0 || (*end != ':' && *end != '=')) return false;
        const char *number = end + 1;
        errno = 0;
        v[n].bias = strtof(number, &end);
        if (end == number || !isfinite(v[n].bias)) return false;
        n++;
        if (!next_item(end, &s)) return false;
    }
    *b = (struct cli_biases){ v, n };
    return v && n > 0;
}

bool cli_read_list(struct vc_arena *a, struct cli_strs *l, const char *s) {
    const char **v = VC_NEW_ARRAY(a, const char *, l->n + 1);
    if (!v) return false;
    if (l->n) memcpy(v, l->v, l->n * sizeof *v);
    v[l->n] = s;
    *l = (struct cli_strs){ v, l->n + 1 };
    return true;
}

bool cli_read_strings(struct vc_arena *a, struct cli_strs *l, const char *s) {
    if (s[0] != '[') return cli_read_list(a, l, s);
    json_t *root;
    if (vc_json_parse(&root, s, strlen(s), "list", NULL) != VC_OK) return false;
    bool ok = json_is_array(root);
    for (size_t i = 0; ok && i < json_array_size(root); i++) {
        const char *text = json_string_value(json_array_get(root, i));
        ok = text && (text = vc_arena_strdup(a, text)) && cli_read_list(a, l, text);
    }
    json_decref(root);
    return ok;
}

bool cli_is_json_object(const char *s) {
    json_t *root;
    if (vc_json_parse(&root, s, strlen(s), "object", NULL) != VC_OK) return false;
    bool ok = json_is_object(root);
    json_decref(root);
    return ok;
}
