#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode of a GGUF file by vllmc and by llama.cpp (the wheel xllamacpp), interleaved, medians.

    bench/beside_llama.py build/vllmc MODEL.gguf --rounds 5

Both get token ids that they have not seen, greedy, batch 1. llama.cpp's figures are its own timings of the request.
"""
import argparse
import json
import random
import statistics
import subprocess

import xllamacpp


def llama(model, prompt, answer, threads, rounds):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx = prompt + answer + 64
    params.n_parallel = 1
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.warmup = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    rng = random.Random(1)

    def one():
        ids = [rng.randrange(1000, 40000) for _ in range(prompt)]
        body = {"prompt": ids, "n_predict": answer, "temperature": 0, "ignore_eos": True, "cache_prompt": False}
        t = server.handle_completions(body)
        t = json.loads(t) if isinstance(t, (str, bytes)) else t
        t = t["timings"]
        return t["prompt_per_second"], t["predicted_per_second"]

    one()
    for _ in range(rounds):
        yield one()


def vllmc(program, model, prompt, answer, threads):
    out = subprocess.run([program, "bench", model, "-p", str(prompt), "-n", str(answer), "-c", "1", "--threads", str(threads), "--json"],
                         check=True, capture_output=True, text=True).stdout
    row = json.loads(out)["rows"][0]
    return row["prefill_tokens_per_s"], row["decode_tokens_per_s"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("model")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--prompt", type=int, default=512, help="tokens")
    p.add_argument("--answer", type=int, default=64, help="tokens")
    p.add_argument("--threads", type=int, default=2)
    a = p.parse_args()
    ours, theirs = [], []
    for pair in llama(a.model, a.prompt, a.answer, a.threads, a.rounds):
        theirs.append(pair)
        ours.append(vllmc(a.program, a.model, a.prompt, a.answer, a.threads))
    for i, what in enumerate(("prefill", "decode")):
        we, they = (statistics.median(run[i] for run in runs) for runs in (ours, theirs))
        print(f"{what:8} vllmc {we:8.1f}   llama.cpp {they:8.1f}   ratio {we / they:.2f}   ({[round(o[i]) for o in ours]} {[round(t[i]) for t in theirs]})")


main()
