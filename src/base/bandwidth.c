/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bandwidth.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compat.h"
#include "base/cpu.h"
#include "base/pool.h"

enum { MIN_RUNS = 5 };
static const size_t MOST_BYTES = (size_t)512 << 20, LEAST_BYTES = (size_t)16 << 20;

/* Four times the last cache, so that memory is read, and no more than that; the most where the cache is not known. */
static size_t buffer_bytes(void) {
    const uint64_t cache = vc_cpu_last_cache();
    size_t bytes = cache && 4 * cache < MOST_BYTES ? VC_MAX((size_t)(4 * cache), 4 * LEAST_BYTES) : MOST_BYTES;
    while (bytes > vc_mem_available() / 4 && bytes > LEAST_BYTES) bytes /= 2;
    return bytes;
}

struct read_job { const uint64_t *data; size_t n; };

static void read_share(void *ctx, uint32_t part, uint32_t parts) {
    const struct read_job *j = ctx;
    uint64_t lo, hi, sum[8] = { 0 };
    vc_share(j->n, 512, part, parts, &lo, &hi);
    for (uint64_t i = lo; i + 8 <= hi; i += 8)
        for (int k = 0; k < 8; k++) sum[k] += j->data[i + (uint64_t)k];
    for (int k = 1; k < 8; k++) sum[0] += sum[k];
    VC_KEEP(sum[0]);
}

vc_status vc_read_bandwidth(double *bytes_s, uint32_t threads, vc_err *err) {
    const size_t bytes = buffer_bytes();
    struct vc_pool *pool;
    *bytes_s = 0;
    VC_TRY(vc_pool_new(&pool, threads, err));
    uint64_t *data = malloc(bytes);
    if (!data) {
        vc_pool_del(pool);
        return vc_fail(err, VC_E_NOMEM, "out of memory for the bandwidth buffer of %zu bytes", bytes);
    }
    memset(data, 1, bytes);
    struct read_job j = { data, bytes / sizeof *data };
    double begun = vc_now();
    for (int i = 0; i < MIN_RUNS || vc_now() - begun < 0.33; i++) {
        double t0 = vc_now();
        vc_pool_run(pool, read_share, &j);
        double s = vc_now() - t0;
        if (s > 0 && (double)bytes / s > *bytes_s) *bytes_s = (double)bytes / s;
    }
    free(data);
    vc_pool_del(pool);
    return VC_OK;
}
