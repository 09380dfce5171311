#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Embeddings through the openai package. usage: embed_client_test.py VLLMC GOLDENS [MODEL.gguf]
GOLDENS: the folder with models/qwen3-embed. Prints "left out: ..." where the package is absent."""
import json, math, os, subprocess, sys

import clients

clients.enter()
try:
    import openai
except ImportError:
    print("left out: embeddings through a client (no openai package)")
    sys.exit(0)

binary, goldens = sys.argv[1], sys.argv[2]
gguf = os.path.join(os.environ.get("VLLMC_TEST_MODELS") or os.path.expanduser("~/.cache/vllmc/models"), sys.argv[3] if len(sys.argv) > 3 else "")


def serve(*args):
    p = subprocess.Popen([binary, "serve", *args, "--port", "0", "--kv-cache-memory-bytes", "64M", "--threads", "2"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    return p, openai.OpenAI(base_url=p.stdout.readline().split()[-1] + "/v1", api_key="none", max_retries=0)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


folder = os.path.join(goldens, "models", "qwen3-embed")
golden = json.load(open(os.path.join(folder, "golden.json")))
server, client = serve(folder, "--served-model-name", "e")
try:
    usual = client.embeddings.create(model="e", input=golden["prompts"])             # the package asks for base64 by itself
    numbers = client.embeddings.create(model="e", input=golden["prompts"], encoding_format="float")
    assert usual.usage.prompt_tokens == usual.usage.total_tokens == sum(map(len, golden["prompts"]))
    assert [d.index for d in usual.data] == list(range(5)) and usual.object == "list" and usual.data[0].object == "embedding"
    for i in range(5):
        vllm = golden["refs"]["vllm_bf16_cc1"]["pooled"][i]
        assert max(abs(x - y) for x, y in zip(usual.data[i].embedding, vllm)) < 1.01e-6, i      # recorded to six digits
        # JSON has the shortest digits of the f32 that base64 has
        import struct
        assert [struct.unpack("f", struct.pack("f", x))[0] for x in numbers.data[i].embedding] == list(usual.data[i].embedding), i
    for call, status in ((lambda: client.embeddings.create(model="e", input=[1], dimensions=8), 400),
                         (lambda: client.embeddings.create(model="x", input=[1]), 404),
                         (lambda: client.completions.create(model="e", prompt=[1]), 404)):
        try:
            call()
            raise AssertionError("no error")
        except openai.APIStatusError as e:
            assert e.status_code == status, (e.status_code, str(e))
finally:
    server.terminate()
    assert server.wait(30) == 0
print("ok vectors")

if not os.path.isfile(gguf):
    print("left out: embeddings of texts (%s is not on this machine)" % os.path.basename(gguf))
    sys.exit(0)
server, client = serve(gguf, "--convert", "embed", "--pooler-config", '{"pooling_type":"MEAN"}', "--served-model-name", "m", "--max-model-len", "512")
try:
    texts = ["The cat sits on the mat.", "A cat is sitting on a mat.", "Stock markets fell sharply today."]
    v = [d.embedding for d in client.embeddings.create(model="m", input=texts).data]
    assert all(abs(sum(x * x for x in e) - 1) < 1e-5 for e in v)
    assert cosine(v[0], v[1]) > cosine(v[0], v[2]), "sentences of one meaning are nearer to each other"
    one = client.embeddings.create(model="m", input=texts[2], user="someone").data[0].embedding
    assert one == v[2], "the same bits alone and in a batch"
finally:
    server.terminate()
    assert server.wait(30) == 0
print("ok texts")
