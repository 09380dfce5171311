#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables.safetensors: rows of rope tables from two other implementations.

"torch" (bf16 words): the numpy model of vLLM's CPU path, goldens/make/vllm_cpu_model.py, for the kinds it has.
"exact" (f32): the formulas of transformers' modeling_rope_utils.py in 40-digit arithmetic (mpmath), rounded once.
usage: make.py path/to/goldens/make tables.safetensors"""
import json
import sys

import mpmath as mp
import numpy as np

sys.path.insert(0, sys.argv[1])
import vllm_cpu_model as vm

mp.mp.dps = 40
POS = [0, 1, 2, 17, 63, 64, 200, 255, 4095, 40959, 131071]
LONG = [1.0 + 0.35 * i for i in range(12)]
SHORT = [1.0 + 0.02 * i for i in range(12)]
CASES = [
    dict(kind="default", dim=64, theta=10000.0),
    dict(kind="default", dim=128, theta=1000000.0),
    dict(kind="default", dim=20, theta=500000.0),
    dict(kind="default", dim=80, theta=160000.0),
    dict(kind="linear", dim=32, theta=1000000.0, factor=8.0),
    dict(kind="linear", dim=64, theta=10000.0, factor=4.0),
    dict(kind="llama3", dim=64, theta=500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original=64),
    dict(kind="llama3", dim=128, theta=500000.0, factor=32.0, low_freq_factor=1.0, high_freq_factor=4.0, original=8192),
    dict(kind="yarn", dim=64, theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, original=64),
    dict(kind="yarn", dim=128, theta=1000000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, original=32768),
    dict(kind="yarn", dim=64, theta=150000.0, factor=32.0, beta_fast=32.0, beta_slow=1.0, original=4096, truncate=False),
    dict(kind="yarn", dim=64, theta=10000.0, factor=40.0, beta_fast=32.0, beta_slow=1.0, original=4096, mscale=0.707, mscale_all_dim=1.0),
    dict(kind="yarn", dim=32, theta=10000.0, factor=4.0, beta_fast=32.0, beta_slow=1.0, original=64, attention_factor=1.25),
    dict(kind="dynamic", dim=64, theta=10000.0, factor=2.0, max_position=128, seq_len=100),
    dict(kind="dynamic", dim=64, theta=10000.0, factor=2.0, max_position=128, seq_len=300),
    dict(kind="longrope", dim=24, theta=10000.0, max_position=256, original=64, short=SHORT, long=LONG, seq_len=64),
    dict(kind="longrope", dim=24, theta=10000.0, max_position=256, original=64, short=SHORT, long=LONG, seq_len=65),
]


def exact(c):
    dim, f = c["dim"], lambda x: mp.mpf(x)
    theta, scale, length = f(c["theta"]), mp.mpf(1), mp.mpf(1)
    if c["kind"] == "dynamic":
        n = max(c["seq_len"], c["max_position"])
        theta *= ((f(c["factor"]) * n / c["max_position"]) - (f(c["factor"]) - 1)) ** (f(dim) / (dim - 2))
    inv = [1 / theta ** (f(2 * i) / dim) for i in range(dim // 2)]
    if c["kind"] == "linear":
        inv = [v / f(c["factor"]) for v in inv]
    if c["kind"] == "llama3":
        for i, v in enumerate(inv):
            wave, o, lo, hi = 2 * mp.pi / v, c["original"], f(c["low_freq_factor"]), f(c["high_freq_factor"])
            smooth = (o / wave - lo) / (hi - lo)
            mid = (1 - smooth) * v / f(c["factor"]) + smooth * v
            inv[i] = v / f(c["factor"]) if wave > o / lo else v if wave < o / hi else mid
    if c["kind"] == "yarn":
        corr = lambda n: dim * mp.log(c["original"] / (f(n) * 2 * mp.pi)) / (2 * mp.log(theta))
        lo, hi = corr(c["beta_fast"]), corr(c["beta_slow"])
        if c.get("truncate", True):
            lo, hi = mp.floor(lo), mp.ceil(hi)
        lo, hi = max(lo, 0), min(hi, dim - 1)
        if lo == hi:
            hi += f("0.001")
        for i, v in enumerate(inv):
            keep = 1 - min(max((i - lo) / (hi - lo), 0), 1)
            inv[i] = v / f(c["factor"]) * (1 - keep) + v * keep
        m = lambda s: f("0.1") * f(s) * mp.log(f(c["factor"])) + 1
        scale = m(c["mscale"]) / m(c["mscale_all_dim"]) if "mscale" in c else f(c.get("attention_factor", m(1)))
    if c["kind"] == "longrope":
        ext = c["long"] if c["seq_len"] > c["original"] else c["short"]
        inv = [v / f(float(np.float32(e))) for v, e in zip(inv, ext)]
        s = f(c["max_position"]) / c["original"]
        scale = mp.sqrt(1 + mp.log(s) / mp.log(c["original"]))
    rows = [[fn(p * v) * scale for fn in (mp.cos, mp.sin) for v in inv] for p in POS]
    return np.array([[np.float32(np.float64(x)) if abs(x) < 1e-30 else round_f32(x) for x in r] for r in rows], np.float32)


def round_f32(x):
    """Nearest even in one step."""
    m, e = mp.frexp(x)
    k = mp.nint(m * 2 ** 24)
    return np.float32(float(mp.ldexp(k, int(e) - 24)))


def torch(c):
    d, n = c["dim"], max(POS) + 1
    if c["kind"] == "default":
        name = f"theta{int(c['theta'])}_dim{d}"
        return vm.apply_exceptions(vm.rope_cache(vm.inv_freq(c["theta"], d), n), name)[POS]
    if c["kind"] == "linear":
        return vm.rope_cache(vm.inv_freq(c["theta"], d), n, divisor=c["factor"])[POS]
    if c["kind"] == "llama3":
        return vm.rope_cache(vm.inv_freq_llama3(c["theta"], d, c["factor"], c["low_freq_factor"], c["high_freq_factor"], c["original"]), n)[POS]
    if c["kind"] == "yarn" and not {"truncate", "mscale", "attention_factor"} & set(c):
        m = 0.1 * np.log(c["factor"]) + 1.0
        return vm.rope_cache(vm.inv_freq_yarn(c["theta"], d, c["factor"], c["original"], c["beta_fast"], c["beta_slow"]), n, mscale=m)[POS]
    return None


def main():
    tensors = {}
    for i, c in enumerate(CASES):
        tensors[f"c{i}.args"] = ("U8", np.frombuffer(json.dumps(c).encode(), np.uint8))
        tensors[f"c{i}.pos"] = ("I64", np.array(POS, np.int64))
        tensors[f"c{i}.exact"] = ("F32", exact(c))
        t = torch(c)
        if t is not None:
            tensors[f"c{i}.torch"] = ("U16", np.ascontiguousarray(t))
    head, at, blob = {}, 0, b""
    for name, (kind, a) in tensors.items():
        raw = a.tobytes()
        head[name] = dict(dtype=kind, shape=list(a.shape), data_offsets=[at, at + len(raw)])
        at, blob = at + len(raw), blob + raw
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    open(sys.argv[2], "wb").write(len(text).to_bytes(8, "little") + text + blob)


main()
