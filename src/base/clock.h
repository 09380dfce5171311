/* SPDX-License-Identifier: Apache-2.0
 * clock.h: monotonic time. */
#ifndef VC_BASE_CLOCK_H
#define VC_BASE_CLOCK_H

#include <stdint.h>

uint64_t vc_now_ns(void);
double vc_now(void);    /* seconds */

#endif
