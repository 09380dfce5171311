# SPDX-License-Identifier: Apache-2.0
"""What bench_grammar measures, done by xgrammar (vLLM's default backend): python3 bench/grammar_xgrammar.py MODEL.gguf CASES.jsonl.
Compile time with one thread and no cache, and the time of each mask along the accepted texts, in CPU time of the thread.
Needs: xgrammar, gguf, tokenizers or greedy longest tokens (texts are cut greedily here, which is close enough for timing)."""
import json, sys, time
import gguf, torch, xgrammar as xgr

torch.set_num_threads(1)
reader = gguf.GGUFReader(sys.argv[1])
def strings(key):
    f = reader.fields[key]
    return [bytes(f.parts[i]) for i in f.data]
tokens = [t.decode("utf-8") for t in strings("tokenizer.ggml.tokens")]
model = strings("tokenizer.ggml.model")[0].decode()
eos = int(reader.fields["tokenizer.ggml.eos_token_id"].parts[-1][0])
kind = xgr.VocabType.BYTE_FALLBACK if model == "llama" else xgr.VocabType.BYTE_LEVEL
info = xgr.TokenizerInfo(tokens, kind, vocab_size=len(tokens), stop_token_ids=[eos])
pieces = {}
for i, p in enumerate(info.decoded_vocab):
    pieces.setdefault(bytes(p), i)
longest = max(map(len, pieces))

def cut(data):
    at = 0
    while at < len(data):
        n = min(longest, len(data) - at)
        while data[at:at + n] not in pieces:
            n -= 1
        yield pieces[data[at:at + n]]
        at += n

def show(what, v, unit):
    v = sorted(v)
    pick = lambda p: v[min(len(v) - 1, int(len(v) * p))]
    print(f"{what:28s} {len(v):8d} values: mean {sum(v) / len(v):.2f}, median {pick(.5):.2f}, p99 {pick(.99):.1f}, p99.9 {pick(.999):.1f}, max {v[-1]:.1f} {unit}")

compiler = xgr.GrammarCompiler(info, max_threads=1, cache_enabled=False)
mask = xgr.allocate_token_bitmask(1, info.vocab_size)
compiling, masks = [], []
for line in open(sys.argv[2], encoding="utf-8"):
    c = json.loads(line)
    if c["id"] in ("bad_depth_3000", "ref_self_loop") or c["spec"] is None:
        continue
    spec = c["spec"] if isinstance(c["spec"], str) and c["kind"] != "json_schema" else json.dumps(c["spec"])
    t0 = time.thread_time_ns()
    try:
        if c["kind"] == "json_schema":
            g = compiler.compile_json_schema(spec, any_whitespace=True, strict_mode=False)
        elif c["kind"] == "regex":
            g = compiler.compile_regex(spec)
        elif c["kind"] == "grammar":
            g = compiler.compile_grammar(spec)
        else:
            continue
    except Exception:
        continue
    compiling.append((time.thread_time_ns() - t0) / 1e6)
    print(f"{c['id']},{compiling[-1]:.3f}")
    for text in c["accept"]:
        m = xgr.GrammarMatcher(g)
        for t in [*cut(text.encode()), None]:
            t0 = time.thread_time_ns()
            m.fill_next_token_bitmask(mask)
            masks.append((time.thread_time_ns() - t0) / 1e3)
            if t is None or not m.accept_token(t):
                break
show("compile", compiling, "ms")
show("masks", masks, "us")
