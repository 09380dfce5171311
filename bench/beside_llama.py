#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prefill and decode of a GGUF file by vllmc and by llama.cpp (the wheel xllamacpp), interleaved, medians.

usage: beside_llama.py VLLMC MODEL.gguf [ROUNDS [PROMPT [ANSWER [THREADS]]]]     (default 3 rounds, 512 + 64 tokens, 2 threads)

Both get token ids that they have not seen, greedy, batch 1. llama.cpp's figures are its own timings of the request.
"""
import json
import random
import statistics
import subprocess
import sys

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
    program, model = sys.argv[1:3]
    rounds, prompt, answer, threads = [int(sys.argv[3 + i]) if len(sys.argv) > 3 + i else d for i, d in enumerate((3, 512, 64, 2))]
    ours, theirs = [], []
    for pair in llama(model, prompt, answer, threads, rounds):
        theirs.append(pair)
        ours.append(vllmc(program, model, prompt, answer, threads))
    for i, what in enumerate(("prefill", "decode")):
        a = statistics.median(o[i] for o in ours)
        b = statistics.median(t[i] for t in theirs)
        print(f"{what:8} vllmc {a:8.1f}   llama.cpp {b:8.1f}   ratio {a / b:.2f}   ({[round(o[i]) for o in ours]} {[round(t[i]) for t in theirs]})")


main()
