/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/cpu_list.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>

static void mask_add(struct vc_cpu_mask *m, uint32_t cpu) { m->word[cpu / 64] |= (uint64_t)1 << cpu % 64; }

struct vc_cpu_mask vc_cpu_mask_of(const struct vc_cpu_list *l) {
    struct vc_cpu_mask m = { { 0 } };
    for (uint32_t i = 0; i < l->n; i++) mask_add(&m, l->cpu[i]);
    return m;
}

bool vc_thread_get_cpus(struct vc_cpu_mask *m) {
    cpu_set_t set;
    *m = (struct vc_cpu_mask){ { 0 } };
    if (sched_getaffinity(0, sizeof set, &set) != 0) return false;
    for (uint32_t i = 0; i < VC_MAX_CPUS; i++)
        if (CPU_ISSET(i, &set)) mask_add(m, i);
    return true;
}

bool vc_thread_set_cpus(const struct vc_cpu_mask *m) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (uint32_t i = 0; i < VC_MAX_CPUS; i++)
        if (vc_cpu_mask_has(m, i)) CPU_SET(i, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

bool vc_thread_pin(uint32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* A number below VC_MAX_CPUS at *p, which moves behind it. */
static bool number(const char **p, uint32_t *v) {
    const char *s = *p;
    *v = 0;
    while (**p >= '0' && **p <= '9') {
        *v = *v * 10 + (uint32_t)(**p - '0');
        if (*v >= VC_MAX_CPUS) return false;
        ++*p;
    }
    return *p > s;
}

static vc_status add_range(struct vc_cpu_list *l, struct vc_cpu_mask *seen, const struct vc_cpu_mask *allowed,
                           uint32_t from, uint32_t to, vc_err *err) {
    for (uint32_t cpu = from; cpu <= to; cpu++) {
        if (!vc_cpu_mask_has(allowed, cpu))
            return vc_fail(err, VC_E_INVALID, "cpu_bind: this process may not use processor %u", cpu);
        if (vc_cpu_mask_has(seen, cpu)) return vc_fail(err, VC_E_INVALID, "cpu_bind: processor %u is named twice", cpu);
        mask_add(seen, cpu);
        l->cpu[l->n++] = (uint16_t)cpu;
    }
    return VC_OK;
}

static vc_status read_list(struct vc_cpu_list *l, const char *text, const struct vc_cpu_mask *allowed, vc_err *err) {
    struct vc_cpu_mask seen = { { 0 } };
    bool brackets = *text == '[';
    for (const char *p = text + brackets;; p++) {
        uint32_t from, to;
        bool ok = number(&p, &from);
        to = from;
        if (ok && *p == '-') {
            p++;
            ok = number(&p, &to) && to >= from;
        }
        bool end = brackets ? *p == ']' && !p[1] : !*p;
        if (!ok || (!end && *p != ',')) break;
        VC_TRY(add_range(l, &seen, allowed, from, to, err));
        if (end) return VC_OK;
    }
    return vc_fail(err, VC_E_INVALID, "cpu_bind: '%.100s', expected processors such as 0-3,6, or auto, or none", text);
}

/* Whether `cpu` is the first of its core, as far as the system tells. */
static bool first_of_core(uint32_t cpu) {
    char path[100];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
    FILE *f = fopen(path, "r");
    if (!f) return true;
    unsigned first = cpu;
    int ok = fscanf(f, "%u", &first);
    fclose(f);
    return ok != 1 || first == cpu;
}

static void all_of(struct vc_cpu_list *l, const struct vc_cpu_mask *allowed) {
    struct vc_cpu_mask first = { { 0 } };
    for (uint32_t i = 0; i < VC_MAX_CPUS; i++)
        if (vc_cpu_mask_has(allowed, i) && first_of_core(i)) mask_add(&first, i);
    for (int second = 0; second < 2; second++)
        for (uint32_t i = 0; i < VC_MAX_CPUS; i++)
            if (vc_cpu_mask_has(allowed, i) && vc_cpu_mask_has(&first, i) == !second) l->cpu[l->n++] = (uint16_t)i;
}

vc_status vc_cpu_list_read(struct vc_cpu_list *l, const char *text, vc_err *err) {
    struct vc_cpu_mask allowed;
    l->n = 0;
    if (!text || !*text || !strcmp(text, "none")) return VC_OK;
    if (!vc_thread_get_cpus(&allowed))
        return vc_fail(err, VC_E_UNSUPPORTED,
                       "cpu_bind: the system does not tell which processors this process may use");
    if (strcmp(text, "auto") != 0) return read_list(l, text, &allowed, err);
    all_of(l, &allowed);
    return VC_OK;
}
