/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "base/cpu.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>

static uint64_t xgetbv0(void) {
    uint32_t lo, hi;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return (uint64_t)hi << 32 | lo;
}

uint32_t vc_cpu_features(void) {
    uint32_t a, b, c, d, f = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    uint64_t os = xgetbv0();
    if ((os & 6) != 6) return 0;                       /* the system saves ymm */
    if (c & bit_FMA) f |= VC_CPU_FMA;
    if (c & bit_F16C) f |= VC_CPU_F16C;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return f;
    if (b & bit_AVX2) f |= VC_CPU_AVX2;
    if ((os & 0xE0) != 0xE0) return f;                 /* and zmm, k */
    const uint32_t need = (uint32_t)bit_AVX512F | (uint32_t)bit_AVX512BW | (uint32_t)bit_AVX512DQ | (uint32_t)bit_AVX512VL;
    if ((b & need) == need) f |= VC_CPU_AVX512;
    if (c & bit_AVX512VNNI) f |= VC_CPU_VNNI;
    if (__get_cpuid_count(7, 1, &a, &b, &c, &d) && a & (1u << 5)) f |= VC_CPU_BF16;
    return f;
}

const char *vc_cpu_model(void) {
    static char name[49];
    if (!name[0]) {
        uint32_t r[12];
        for (uint32_t i = 0; i < 3; i++)
            if (!__get_cpuid(0x80000002u + i, r + 4 * i, r + 4 * i + 1, r + 4 * i + 2, r + 4 * i + 3)) return "x86-64";
        memcpy(name, r, 48);
        for (size_t n = strlen(name); n > 0 && name[n - 1] == ' '; n--) name[n - 1] = '\0';
    }
    return name;
}

uint32_t vc_fp_flush(void) {
    uint32_t old = _mm_getcsr();
    _mm_setcsr(old | 0x8040u);
    return old;
}
void vc_fp_restore(uint32_t old) { _mm_setcsr(old); }

#elif defined(__aarch64__)

uint32_t vc_cpu_features(void) { return 0; }
const char *vc_cpu_model(void) { return "AArch64"; }
uint32_t vc_fp_flush(void) {
    uint64_t v;
    __asm__ volatile("mrs %0, fpcr" : "=r"(v));
    __asm__ volatile("msr fpcr, %0" : : "r"(v | (1u << 24)));
    return (uint32_t)v;
}
void vc_fp_restore(uint32_t old) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)old)); }

#else
#error "vllm.c runs on x86-64 and AArch64"
#endif

const char *vc_tier_name(enum vc_tier t) {
    static const char *const name[VC_NUM_TIERS] = { "portable", "avx2", "avx512", "avx512bf16" };
    return name[t];
}

uint32_t vc_tier_needs(enum vc_tier t) {
    enum { AVX2 = VC_CPU_AVX2 | VC_CPU_FMA | VC_CPU_F16C, AVX512 = AVX2 | VC_CPU_AVX512 | VC_CPU_VNNI };
    static const uint32_t need[VC_NUM_TIERS] = {
        [VC_TIER_AVX2] = AVX2, [VC_TIER_AVX512] = AVX512, [VC_TIER_AVX512BF16] = AVX512 | VC_CPU_BF16,
    };
    return need[t];
}

vc_status vc_cpu_tier(enum vc_tier *t, vc_err *err) {
    uint32_t have = vc_cpu_features();
    enum vc_tier best = VC_TIER_PORTABLE;
    for (int i = 0; i < VC_NUM_TIERS; i++)
        if ((vc_tier_needs((enum vc_tier)i) & ~have) == 0) best = (enum vc_tier)i;
    const char *want = getenv("VLLMC_CPU");
    *t = best;
    if (!want || !*want) return VC_OK;
    for (int i = 0; i < VC_NUM_TIERS; i++) {
        if (strcmp(want, vc_tier_name((enum vc_tier)i)) != 0) continue;
        if (i > (int)best)
            return vc_fail(err, VC_E_UNSUPPORTED, "VLLMC_CPU=%s: this CPU lacks its instructions; the best tier here is %s", want, vc_tier_name(best));
        *t = (enum vc_tier)i;
        return VC_OK;
    }
    return vc_fail(err, VC_E_INVALID, "VLLMC_CPU=%s: expected portable, avx2, avx512 or avx512bf16", want);
}

/* Reads the first number of a small file; "max" and a missing file give `none`. */
static uint64_t read_number(const char *path, uint64_t none) {
    FILE *f = fopen(path, "r");
    if (!f) return none;
    unsigned long long v = 0;
    int ok = fscanf(f, "%llu", &v);
    fclose(f);
    return ok == 1 ? (uint64_t)v : none;
}

/* Linux writes "32768K". */
uint64_t vc_cpu_last_cache(void) {
    return read_number("/sys/devices/system/cpu/cpu0/cache/index3/size", 0) << 10;
}

/* The value of "key:   N kB" in /proc/meminfo, in bytes. */
static uint64_t meminfo(const char *key) {
    FILE *f = fopen("/proc/meminfo", "r");
    if (!f) return 0;
    char line[256];
    unsigned long long kb = 0;
    size_t n = strlen(key);
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, key, n) && line[n] == ':' && sscanf(line + n + 1, "%llu", &kb) == 1) break;
    fclose(f);
    return (uint64_t)kb * 1024;
}

/* Folder of this process's cgroup v2 below /sys/fs/cgroup, or "" when there is none. */
static void cgroup_path(char *dst, size_t cap) {
    dst[0] = '\0';
    FILE *f = fopen("/proc/self/cgroup", "r");
    if (!f) return;
    char line[1024];
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "0::", 3) != 0) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(dst, cap, "/sys/fs/cgroup%s", line + 3);
        break;
    }
    fclose(f);
}

/* The smallest limit on the way from this cgroup to the root; usage_of gets the folder that holds it. */
static uint64_t cgroup_limit(const char *file, char *usage_of, size_t cap) {
    char dir[1200], path[1300];
    uint64_t least = UINT64_MAX;
    cgroup_path(dir, sizeof dir);
    if (!dir[0]) snprintf(dir, sizeof dir, "/sys/fs/cgroup");
    while (strlen(dir) >= strlen("/sys/fs/cgroup")) {
        snprintf(path, sizeof path, "%s/%s", dir, file);
        uint64_t v = read_number(path, UINT64_MAX);
        if (v < least) {
            least = v;
            if (usage_of) snprintf(usage_of, cap, "%s", dir);
        }
        char *slash = strrchr(dir, '/');
        if (!slash) break;
        *slash = '\0';
    }
    return least;
}

uint64_t vc_mem_total(void) {
    uint64_t total = meminfo("MemTotal"), limit = cgroup_limit("memory.max", NULL, 0);
    uint64_t v1 = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", UINT64_MAX);
    if (v1 < limit) limit = v1;
    return limit < total ? limit : total;
}

uint64_t vc_mem_available(void) {
    uint64_t free_now = meminfo("MemAvailable");
    char dir[1200] = "", path[1300];
    uint64_t limit = cgroup_limit("memory.max", dir, sizeof dir), used = 0;
    if (limit != UINT64_MAX) {
        snprintf(path, sizeof path, "%s/memory.current", dir);
        used = read_number(path, 0);
    } else {
        limit = read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", UINT64_MAX);
        used = read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", 0);
    }
    uint64_t left = limit > used ? limit - used : 0;
    return left < free_now ? left : free_now;
}

/* Threads that a cgroup CPU quota allows, rounded up; 0 = no quota. */
static uint32_t cgroup_cpus(void) {
    char dir[1200], path[1300];
    uint32_t least = 0;
    cgroup_path(dir, sizeof dir);
    while (strlen(dir) > strlen("/sys/fs/cgroup")) {
        snprintf(path, sizeof path, "%s/cpu.max", dir);
        FILE *f = fopen(path, "r");
        unsigned long long quota, period;
        if (f) {
            if (fscanf(f, "%llu %llu", &quota, &period) == 2 && period > 0) {
                uint32_t n = (uint32_t)((quota + period - 1) / period);
                if (!least || n < least) least = n;
            }
            fclose(f);
        }
        char *slash = strrchr(dir, '/');
        if (!slash) break;
        *slash = '\0';
    }
    return least;
}

uint32_t vc_cpu_threads(void) {
    cpu_set_t set;
    uint32_t n = 1, quota = cgroup_cpus();
    if (sched_getaffinity(0, sizeof set, &set) == 0) n = (uint32_t)CPU_COUNT(&set);
    else if (sysconf(_SC_NPROCESSORS_ONLN) > 0) n = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    if (quota && quota < n) n = quota;
    return n ? n : 1;
}

void vc_mem_trim(void) {
#if defined(__GLIBC__)
    (void)malloc_trim(0);
#endif
}
