/* SPDX-License-Identifier: Apache-2.0
 * thread.h: what threads have in common: names, and condition variables whose time limits no clock jump moves. */
#ifndef VC_BASE_THREAD_H
#define VC_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Names the calling thread for ps, top and debuggers; at most 15 bytes. */
void vc_thread_name(const char *name);
/* pthread_cond_init with the monotonic clock. */
int vc_cond_init(pthread_cond_t *c);
/* The monotonic time in ms milliseconds, for pthread_cond_timedwait on such a variable. */
struct timespec vc_deadline(uint32_t ms);

#endif
