/* SPDX-License-Identifier: Apache-2.0
 * cpu_back.c: the CPU behind the seam. Calls are queued; sync runs them all in one pass of the worker pool, phase after
 * phase. Memory is anonymous mmap, touched when used. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "back/cpu/cpu_fuse.h"
#include "base/ckd.h"
#include "base/log.h"
#include "base/pool.h"
#include "dev/dev.h"
#include "op/rowwise.h"

/* Kernels by number of rows: the row ranges of the chosen rows in ascending order. NULL kernel: op/ref. */
enum { MAX_RANGES = 6, MAX_QUEUE = 4096 };
struct vc_dev_kernel {
    struct vc_dev_kernel *next;
    struct vc_contract contract;
    uint32_t n;
    struct range { uint32_t m_hi; const struct vc_kernel *k; } range[MAX_RANGES];
};
struct cpu_dev {
    struct vc_dev dev;
    struct vc_pool *pool;              /* owned; its threads serve all devices of the process */
    enum vc_tier tier;
    int strict, no_fuse;
    struct vc_dev_kernel *kernels;     /* owned list */
    uint8_t *scratch;                  /* owned; shared by all calls, which run one after the other */
    size_t scratch_need;
    uint32_t queued;
    struct entry { vc_op_fn *const *phase; const struct vc_op_call *call; } queue[MAX_QUEUE];
    vc_op_fn *ref_phase[VC_NUM_OPS][VC_MAX_PHASES];
};

static struct cpu_dev *cpu_of(struct vc_dev *d) { return (struct cpu_dev *)(void *)d; }

static void cpu_close(struct vc_dev *d) {
    struct cpu_dev *c = cpu_of(d);
    if (!c) return;
    for (struct vc_dev_kernel *k = c->kernels, *next; k; k = next) {
        next = k->next;
        free(k);
    }
    if (c->scratch) munmap(c->scratch, c->dev.scratch_bytes);
    vc_pool_del(c->pool);
    free(c);
}

static vc_status cpu_open(struct vc_dev **out, const struct vc_dev_params *p, vc_err *err) {
    *out = NULL;
    struct cpu_dev *c = calloc(1, sizeof *c);
    if (!c) return vc_fail(err, VC_E_NOMEM, "out of memory opening the CPU");
    c->dev.be = &vc_back_cpu;
    c->strict = p->strict;
    c->no_fuse = p->no_fuse;
    for (int op = 0; op < VC_NUM_OPS; op++) c->ref_phase[op][0] = vc_op_ref[op];
    vc_status s = vc_cpu_tier(&c->tier, err);
    if (s == VC_OK) s = vc_pool_new_on(&c->pool, p->threads ? p->threads : vc_cpu_threads(), p->cpus, err);
    if (s != VC_OK) {
        cpu_close(&c->dev);
        return s;
    }
    *out = &c->dev;
    return VC_OK;
}

static void *map_zeroed(size_t bytes, enum vc_mem kind) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    if (kind == VC_MEM_SPARSE) madvise(p, bytes, MADV_NOHUGEPAGE);
    else if (bytes >= (size_t)4 << 20) madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static void *cpu_alloc(struct vc_dev *d, size_t bytes, enum vc_mem kind) {
    (void)d;
    return bytes ? map_zeroed(bytes, kind) : NULL;
}
static void cpu_free(struct vc_dev *d, void *p, size_t bytes) {
    (void)d;
    if (p) munmap(p, bytes);
}
static void cpu_copy(struct vc_dev *d, void *dst, const void *src, size_t bytes) {
    (void)d;
    memcpy(dst, src, bytes);
}
static void cpu_zero(struct vc_dev *d, void *dst, size_t bytes) {
    (void)d;
    memset(dst, 0, bytes);
}

static const struct vc_packer *cpu_packer(struct vc_dev *d, enum vc_op op, enum vc_arith core, enum vc_dtype panel) {
    (void)d;
    return vc_packer_select(vc_cpu_packers, op, core, panel);
}

struct each { uint32_t n; void (*fn)(void *, uint32_t); void *ctx; };
static void run_each(void *ctx, uint32_t part, uint32_t parts) {
    const struct each *e = ctx;
    uint64_t lo, hi;
    vc_share(e->n, 1, part, parts, &lo, &hi);
    for (uint64_t i = lo; i < hi; i++) e->fn(e->ctx, (uint32_t)i);
}
static void cpu_parallel(struct vc_dev *d, uint32_t n, void (*fn)(void *, uint32_t), void *ctx) {
    struct each e = { n, fn, ctx };
    vc_pool_run(cpu_of(d)->pool, run_each, &e);
}

static void log_reference(const struct vc_contract *c) {
    struct vc_buf slots = { 0 };
    for (int s = 0; s < VC_NUM_SLOTS; s++) {
        const struct vc_slot_info *info = vc_slot_info((enum vc_slot)s);
        if (info->op == c->op && info->inner && c->slot[s] != VC_F32)
            vc_buf_printf(&slots, " %s=%s", info->name, vc_dtype_name((enum vc_dtype)c->slot[s]));
    }
    vc_log_line(VC_LOG_WARN, "no kernel computes %s (%s%s): the reference runs it, some hundred times slower",
           vc_op_info(c->op)->name, vc_arith_info(c->core)->name, slots.p ? slots.p : "");
    vc_buf_free(&slots);
}

/* Last number of rows from m on for which `row` stays the choice: a row before it in the table may begin inside its range. */
static uint32_t range_end(const struct cpu_dev *c, const struct vc_dev_kernel *k, const struct vc_dims *dims, const struct vc_kernel *row, uint32_t m) {
    uint32_t hi = row->m_hi;
    for (const struct vc_kernel *b = vc_cpu_kernels; b != row; b++)
        if (b->tier <= c->tier && b->m_lo > m && b->m_lo <= hi && vc_kernel_covers(b, &k->contract, dims)) hi = b->m_lo - 1;
    return hi;
}

/* Splits 1 … max_rows into ranges with the same kernel. */
static vc_status choose(struct cpu_dev *c, struct vc_dev_kernel *k, const struct vc_dims *dims, vc_err *err) {
    int logged = 0;
    for (uint32_t m = 1; m <= VC_MAX(dims->max_rows, 1u);) {
        const struct vc_kernel *row = vc_kernel_select(vc_cpu_kernels, c->tier, &k->contract, dims, m);
        if (!row && c->strict)
            return vc_fail(err, VC_E_UNSUPPORTED, "--strict-kernels: no kernel computes %s (%s) in %s x %s -> %s", vc_op_info(k->contract.op)->name,
                           vc_arith_info(k->contract.core)->name, vc_dtype_name(dims->in0), vc_dtype_name(dims->weight), vc_dtype_name(dims->out0));
        if (!row && !logged++) log_reference(&k->contract);
        uint32_t hi = row ? range_end(c, k, dims, row, m) : m;
        if (k->n && k->range[k->n - 1].k == row) k->range[k->n - 1].m_hi = hi;
        else if (k->n < MAX_RANGES) k->range[k->n++] = (struct range){ hi, row };
        else return vc_fail(err, VC_E_UNSUPPORTED, "%s: more than %d row regimes", vc_op_info(k->contract.op)->name, MAX_RANGES);
        if (row && row->scratch) {
            size_t need = row->scratch(dims, vc_pool_threads(c->pool));
            if (need > c->scratch_need) c->scratch_need = need;
        }
        if (hi == UINT32_MAX) break;
        m = hi + 1;
    }
    return VC_OK;
}

static vc_status cpu_prepare(struct vc_dev *d, const struct vc_contract *contract, const struct vc_dims *dims, struct vc_dev_kernel **out, vc_err *err) {
    struct cpu_dev *c = cpu_of(d);
    struct vc_dev_kernel *k = calloc(1, sizeof *k);
    if (!k) return vc_fail(err, VC_E_NOMEM, "out of memory preparing %s", vc_op_info(contract->op)->name);
    k->contract = *contract;
    k->next = c->kernels;
    c->kernels = k;
    VC_TRY(choose(c, k, dims, err));
    if (c->scratch_need > c->dev.scratch_bytes) {
        if (c->scratch) munmap(c->scratch, c->dev.scratch_bytes);
        c->dev.scratch_bytes = vc_round_up(c->scratch_need, 1 << 16);
        c->scratch = map_zeroed(c->dev.scratch_bytes, VC_MEM_SPARSE);
        if (!c->scratch) {
            c->dev.scratch_bytes = 0;
            return vc_fail(err, VC_E_NOMEM, "out of memory for %zu bytes of kernel scratch", c->scratch_need);
        }
    }
    *out = k;
    return VC_OK;
}

static const struct range *range_of(const struct vc_dev_kernel *k, uint32_t m) {
    uint32_t i = 0;
    while (i + 1 < k->n && m > k->range[i].m_hi) i++;
    return &k->range[i];
}

static const char *cpu_describe(struct vc_dev *d, const struct vc_dev_kernel *k, uint32_t m) {
    (void)d;
    const struct range *r = range_of(k, m);
    return r->k ? r->k->name : "op/ref";
}

static bool cpu_finds_max(struct vc_dev *d, const struct vc_dev_kernel *k, uint32_t m) {
    (void)d;
    const struct range *r = range_of(k, m);
    return r->k && r->k->inner & VC_INNER_MAX_ONLY;
}

/* How many entries from i on run as one: row-wise calls of a single phase over the same number of rows. */
static uint32_t fused_run(const struct cpu_dev *c, uint32_t i) {
    uint32_t n = 0, rows = c->queue[i].call->in[0].rows;
    if (c->no_fuse) return 1;
    while (i + n < c->queued) {
        const struct entry *e = &c->queue[i + n];
        if (!vc_op_rowwise(e->call->contract->op).in || e->phase[1] || e->call->in[0].rows != rows) break;
        n++;
    }
    return n ? n : 1;
}

/* One unit of a step: a phase of one call, or a fused run of row-wise calls over a share of the rows. */
struct unit { vc_op_fn *phase; const struct entry *first; uint32_t n; };

static void run_unit(void *ctx, uint32_t part, uint32_t parts) {
    const struct unit *u = ctx;
    if (u->phase) {
        u->phase(u->first->call, part, parts);
        return;
    }
    uint64_t lo, hi;
    vc_share(u->first->call->in[0].rows, 1, part, parts, &lo, &hi);
    for (uint32_t k = 0; k < u->n && lo < hi; k++) vc_fuse_rows(u->first[k].phase[0], u->first[k].call, (uint32_t)lo, (uint32_t)hi);
}

/* All workers walk the queue alike; the shares of each unit go to whoever is free. */
static void run_queue(void *ctx, uint32_t part, uint32_t parts) {
    struct cpu_dev *c = ctx;
    uint32_t at = 0;
    (void)part;
    for (uint32_t i = 0, n; i < c->queued; i += n) {
        const struct entry *e = &c->queue[i];
        n = fused_run(c, i);
        if (n > 1) {
            struct unit u = { NULL, e, n };
            uint32_t rows = e->call->in[0].rows;
            vc_pool_unit(c->pool, at++, VC_MIN(parts, rows), run_unit, &u);
            continue;
        }
        for (int ph = 0; ph < VC_MAX_PHASES && e->phase[ph]; ph++) {
            struct unit u = { e->phase[ph], e, 1 };
            vc_pool_unit(c->pool, at++, parts, run_unit, &u);
        }
    }
}

static void cpu_sync(struct vc_dev *d) {
    struct cpu_dev *c = cpu_of(d);
    if (!c->queued) return;
    vc_pool_run(c->pool, run_queue, c);
    c->queued = 0;
}

static void cpu_take(struct vc_dev *d) { vc_pool_take(cpu_of(d)->pool); }
static void cpu_give(struct vc_dev *d) { vc_pool_give(cpu_of(d)->pool); }

static void cpu_enqueue(struct vc_dev *d, const struct vc_dev_kernel *k, struct vc_op_call *call) {
    struct cpu_dev *c = cpu_of(d);
    if (c->queued == MAX_QUEUE) cpu_sync(d);
    const struct range *r = range_of(k, call->in[0].rows);
    call->contract = &k->contract;
    call->scratch = c->scratch;
    c->queue[c->queued++] = (struct entry){ r->k ? r->k->phase : (vc_op_fn *const *)c->ref_phase[k->contract.op], call };
}

const struct vc_backend vc_back_cpu = {
    .version = VC_DEV_VERSION, .name = "cpu", .open = cpu_open, .close = cpu_close, .alloc = cpu_alloc, .free = cpu_free,
    .put = cpu_copy, .get = cpu_copy, .zero = cpu_zero, .packer = cpu_packer, .parallel = cpu_parallel,
    .prepare = cpu_prepare, .describe = cpu_describe, .finds_max = cpu_finds_max, .enqueue = cpu_enqueue, .sync = cpu_sync, .take = cpu_take, .give = cpu_give,
};
