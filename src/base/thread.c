/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

void vc_thread_name(const char *name) {
#if defined(__linux__)
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
#else
    (void)name;
#endif
}

int vc_cond_init(pthread_cond_t *c) {
    pthread_condattr_t a;
    if (pthread_condattr_init(&a) != 0) return pthread_cond_init(c, NULL);
    (void)pthread_condattr_setclock(&a, CLOCK_MONOTONIC);
    int rc = pthread_cond_init(c, &a);
    pthread_condattr_destroy(&a);
    return rc;
}

struct timespec vc_deadline(uint32_t ms) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += (time_t)(ms / 1000);
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}
