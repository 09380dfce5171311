#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizing speed beside Hugging Face `tokenizers` on one thread, in one run: MB/s of both and their ratio, per kind of text.
usage: bench/compare_tokenizers.py BENCH_TOKENIZE TOKENIZER.json… (needs `pip install tokenizers`; BENCH_TOKENIZE is build/bench/bench_tokenize)
Text: the licence texts of the system, the sources of this repository, Chinese and code points by a fixed seed. Both sides get
the same pieces of about 64 KiB, and the number of tokens must be the same."""
import glob, os, random, subprocess, sys, tempfile, time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["RAYON_NUM_THREADS"] = "1"
SIZE = 1 << 19
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def fill(parts):
    s = "".join(parts)
    while len(s.encode()) < SIZE:
        s += s
    return s.encode()[:SIZE].decode(errors="ignore")


def texts():
    rng = random.Random(1)
    read = lambda pattern: [open(f, encoding="utf-8", errors="ignore").read() for f in sorted(glob.glob(pattern, recursive=True))]
    words = "你好 世界 今天 天气 很好 我们 他们 中国 人民 学习 工作 时间 问题 可以 没有 这个 一个 什么 知道 现在 因为 所以 语言 模型 计算 机器 的 了 在 是 和 就 都 而 及 与 着".split()
    zh = ["".join(rng.choice(words) for _ in range(rng.randint(5, 25))) + rng.choice("，。！？；\n") for _ in range(12000)]
    cps = [chr(c) for c in (rng.choice((rng.randrange(0x20, 0x3000), rng.randrange(0x3000, 0xD800), rng.randrange(0xE000, 0x20000))) for _ in range(200000))]
    for i in range(0, len(cps), 60):
        cps[i] = "\n"
    return {"english": fill(read("/usr/share/common-licenses/*")), "code": fill(read(HERE + "/src/**/*.c")), "chinese": fill(zh), "unicode": fill(cps)}


def pieces(s):
    out, b, at = [], s.encode(), 0
    while at < len(b):
        n = min(65536, len(b) - at)
        end = b.find(b"\n", at + n) if at + n < len(b) else -1
        n = end + 1 - at if end >= 0 else len(b) - at
        out.append(b[at:at + n].decode())
        at += n
    return out


def main():
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return print("left out: tokenizers is not installed")
    program, reps = sys.argv[1], 2
    with tempfile.TemporaryDirectory() as d:
        all_texts = texts()
        for name, s in all_texts.items():
            open(f"{d}/{name}", "w", encoding="utf-8", newline="").write(s)
        for path in sys.argv[2:]:
            r = subprocess.run([program, path, str(reps)] + [f"{d}/{n}" for n in all_texts], capture_output=True, text=True, check=True)
            ours = {os.path.basename(l.split()[0]): (float(l.split()[1]), int(l.split()[2])) for l in r.stdout.splitlines()}
            tok = Tokenizer.from_file(path)
            print(path)
            for name, s in all_texts.items():
                best, n = 1e9, 0
                for _ in range(reps):
                    t0 = time.perf_counter()
                    n = sum(len(tok.encode(p, add_special_tokens=False).ids) for p in pieces(s))
                    best = min(best, time.perf_counter() - t0)
                hf = len(s.encode()) / best / 1e6
                same = "" if n == ours[name][1] else f"  TOKENS DIFFER: {ours[name][1]} and {n}"
                print(f"  {name:8} {ours[name][0]:8.1f} MB/s  Hugging Face {hf:6.1f} MB/s  ratio {ours[name][0] / hf:5.1f}{same}", flush=True)


if __name__ == "__main__":
    main()
