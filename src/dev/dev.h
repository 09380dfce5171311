/* SPDX-License-Identifier: Apache-2.0
 * dev.h: the seam between programs and devices. A backend is one const struct of functions.
 * A step is: enqueue calls in order, then sync. Views carry device addresses, which on the CPU are plain pointers. */
#ifndef VC_DEV_DEV_H
#define VC_DEV_DEV_H

#include "dev/kernel.h"

enum { VC_DEV_VERSION = 2 };

/* First member of a backend's own struct. scratch_bytes: memory that its kernels share, as far as prepared. */
struct vc_dev { const struct vc_backend *be; size_t scratch_bytes; };
struct vc_cpu_list;
struct vc_dev_kernel;                                 /* a prepared op line; owned by the device */

struct vc_dev_params {
    uint32_t threads;                                 /* CPU: worker threads */
    const struct vc_cpu_list *cpus;                   /* CPU: processors that they are bound to; NULL or empty: none */
    int strict;                                       /* refuse a contract that only op/ref covers */
    int no_fuse;                                      /* run every call by itself */
};

/* DENSE: all of it will be used (large pages are welcome). SPARSE: here and there, perhaps never. */
enum vc_mem { VC_MEM_DENSE, VC_MEM_SPARSE };

struct vc_backend {
    uint32_t version;
    const char *name;
    vc_status (*open)(struct vc_dev **out, const struct vc_dev_params *p, vc_err *err);
    void (*close)(struct vc_dev *d);

    /* Device memory, 64-byte aligned, zeroed, touched lazily where the system allows. NULL: out of memory. */
    void *(*alloc)(struct vc_dev *d, size_t bytes, enum vc_mem kind);
    void (*free)(struct vc_dev *d, void *p, size_t bytes);
    void (*put)(struct vc_dev *d, void *dst, const void *src, size_t bytes);
    void (*get)(struct vc_dev *d, void *dst, const void *src, size_t bytes);
    void (*zero)(struct vc_dev *d, void *dst, size_t bytes);

    /* Panel of a weight: its packer, or NULL when kernels of this core do not exist here (op/ref reads raw then). */
    const struct vc_packer *(*packer)(struct vc_dev *d, enum vc_op op, enum vc_arith core, enum vc_dtype panel);
    /* Runs pack jobs on the device's workers: fn(ctx, i) for i in [0, n). */
    void (*parallel)(struct vc_dev *d, uint32_t n, void (*fn)(void *ctx, uint32_t i), void *ctx);

    /* Chooses kernels for every number of rows up to dims->max_rows. */
    vc_status (*prepare)(struct vc_dev *d, const struct vc_contract *c, const struct vc_dims *dims, struct vc_dev_kernel **out, vc_err *err);
    /* Row names chosen for m rows, for `vllmc info`. */
    const char *(*describe)(struct vc_dev *d, const struct vc_dev_kernel *k, uint32_t m);
    /* Whether the row chosen for m rows heeds vc_matmul_args.max_only. */
    bool (*finds_max)(struct vc_dev *d, const struct vc_dev_kernel *k, uint32_t m);

    /* Appends a call and fills its contract and scratch. Views and arguments must stay until sync. Cannot fail; `k` was prepared for these formats. */
    void (*enqueue)(struct vc_dev *d, const struct vc_dev_kernel *k, struct vc_op_call *call);
    void (*sync)(struct vc_dev *d);

    /* Between the two the device computes for this vc_dev alone, where several share it: take waits for that, in the order
     * of asking. Optional for the caller, who then waits at each sync and each parallel. Calls may nest. */
    void (*take)(struct vc_dev *d);
    void (*give)(struct vc_dev *d);
};

extern const struct vc_backend vc_back_cpu;

#endif
