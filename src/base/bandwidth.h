/* SPDX-License-Identifier: Apache-2.0
 * bandwidth.h: how fast this machine reads memory. */
#ifndef VC_BASE_BANDWIDTH_H
#define VC_BASE_BANDWIDTH_H

#include <stdint.h>

#include "base/status.h"

/* Bytes per second that `threads` threads read from a buffer of up to 512 MiB, larger than the caches: the best of
 * several runs, half a second in all. Smaller where memory is short. */
vc_status vc_read_bandwidth(double *bytes_s, uint32_t threads, vc_err *err);

#endif
