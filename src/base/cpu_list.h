/* SPDX-License-Identifier: Apache-2.0
 * cpu_list.h: lists of processors by the system's numbers, and threads bound to them. */
#ifndef VC_BASE_CPU_LIST_H
#define VC_BASE_CPU_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { VC_MAX_CPUS = 1024 }; /* numbers from 0, as in glibc's cpu_set_t */
struct vc_cpu_list {
    uint32_t n;
    uint16_t cpu[VC_MAX_CPUS];
}; /* no number twice; n 0: bound to none */
struct vc_cpu_mask {
    uint64_t word[VC_MAX_CPUS / 64];
};

/* "0-3,6" or "[0-3,6]": these, in this order; "auto": all that this thread may use, one of each core first; "none", "",
 * NULL: n = 0. VC_E_INVALID: another text, a processor that is named twice, or one that this thread may not use. */
vc_status vc_cpu_list_read(struct vc_cpu_list *l, const char *text, vc_err *err);

struct vc_cpu_mask vc_cpu_mask_of(const struct vc_cpu_list *l);
static inline bool vc_cpu_mask_has(const struct vc_cpu_mask *m, uint32_t cpu) {
    return m->word[cpu / 64] >> cpu % 64 & 1;
}

/* Of the calling thread; false: the system refuses. */
bool vc_thread_get_cpus(struct vc_cpu_mask *m);
bool vc_thread_set_cpus(const struct vc_cpu_mask *m);
bool vc_thread_pin(uint32_t cpu);

#endif
