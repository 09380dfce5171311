#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that people point at a server: LangChain's and LiteLLM's OpenAI adapters, vllm bench serve, guidellm, lm-eval.
usage: tools_test.py VLLMC MODEL.gguf GOLDENS [CASE…]
Each is taken from where tools/get-clients puts it, from PATH, or from VLLMC_TEST_TOOLS (a list of folders with programs); what is absent is printed as left out.
lm-eval, vllm bench and guidellm want a tokenizer of Hugging Face's form: GOLDENS/tokenizers/real/smollm2.tokenizer.json."""
import importlib.util, json, math, os, shutil, subprocess, sys, tempfile, time

import clients

clients.enter()

binary, model = sys.argv[1], sys.argv[2]
models = os.environ.get("VLLMC_TEST_MODELS") or os.path.expanduser("~/.cache/vllmc/models")
path = os.path.join(models, model)
scratch = tempfile.TemporaryDirectory()
folder = os.path.join(scratch.name, "smollm2")


def make_tokenizer():
    real = os.path.join(sys.argv[3] if len(sys.argv) > 3 else "", "tokenizers", "real")
    if not os.path.exists(os.path.join(real, "smollm2.tokenizer.json")):
        return False
    os.mkdir(folder)
    shutil.copy(os.path.join(real, "smollm2.tokenizer.json"), os.path.join(folder, "tokenizer.json"))
    shutil.copy(os.path.join(real, "smollm2.chat_template.jinja"), os.path.join(folder, "chat_template.jinja"))
    json.dump({"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "unk_token": "<|endoftext|>",
               "add_bos_token": False, "clean_up_tokenization_spaces": False}, open(os.path.join(folder, "tokenizer_config.json"), "w"))
    json.dump({"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 49152}, open(os.path.join(folder, "config.json"), "w"))
    return True


PATH = clients.path()
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"         # no look for prices elsewhere
OFFLINE = dict(os.environ, PATH=PATH, HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", VLLM_NO_USAGE_STATS="1", OPENAI_API_KEY="none",
               VLLM_CPU_KVCACHE_SPACE="1", PYTHONWARNINGS="ignore")
USER, failed, ran = [{"role": "user", "content": "Name three colors."}], [], 0


def has(module):
    return importlib.util.find_spec(module) is not None


def program(name):
    return shutil.which(name, path=PATH)


def run(args, seconds=240):
    r = subprocess.run(args, env=OFFLINE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, errors="replace")
    assert r.returncode == 0, f"{os.path.basename(args[0])} ended with {r.returncode}: {r.stdout[-1500:]}"
    return r.stdout


def reference(max_tokens):
    """What the openai-compatible API answers to a plain request."""
    import urllib.request
    body = json.dumps({"model": "m", "messages": USER, "max_tokens": max_tokens, "temperature": 0}).encode()
    q = urllib.request.Request(url + "/v1/chat/completions", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(q, timeout=60))["choices"][0]["message"]["content"]


def langchain():
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Answer(BaseModel):
        color: str
    chat = ChatOpenAI(base_url=url + "/v1", api_key="none", model="m", temperature=0, max_tokens=8, max_retries=0)
    text = chat.invoke("Name three colors.").content
    assert text == reference(8)
    assert "".join(c.content for c in chat.stream("Name three colors.")) == text
    long = ChatOpenAI(base_url=url + "/v1", api_key="none", model="m", temperature=0, max_tokens=200, max_retries=0)
    assert isinstance(long.with_structured_output(Answer, method="json_schema").invoke("Name a color."), Answer)


def litellm_adapter():
    import litellm
    kw = {"model": "openai/m", "api_base": url + "/v1", "api_key": "none", "messages": USER, "max_tokens": 8, "temperature": 0}
    text = litellm.completion(**kw).choices[0].message.content
    assert text == reference(8)
    parts = [c.choices[0].delta.content or "" for c in litellm.completion(stream=True, **kw)]
    assert "".join(parts) == text
    anthropic = litellm.completion(**dict(kw, model="anthropic/m", api_base=url))
    assert anthropic.choices[0].message.content == text


def vllm_bench():
    with tempfile.TemporaryDirectory() as d:
        for backend, endpoint in (("openai", "/v1/completions"), ("openai-chat", "/v1/chat/completions")):
            run([program("vllm"), "bench", "serve", "--backend", backend, "--base-url", url, "--endpoint", endpoint, "--model", "m", "--tokenizer", folder, "--dataset-name",
                 "random", "--num-prompts", "12", "--random-input-len", "48", "--random-output-len", "16", "--max-concurrency", "4", "--save-result", "--result-dir", d,
                 "--result-filename", backend + ".json", "--percentile-metrics", "ttft,tpot,itl,e2el"])
            f = json.load(open(os.path.join(d, backend + ".json")))
            assert f["completed"] == 12 and f["total_output_tokens"] == 12 * 16, f
            assert 0 < f["mean_ttft_ms"] and 0 < f["mean_tpot_ms"] < f["mean_e2el_ms"], f
            print(f"   {backend}: {f['output_throughput']:.0f} tokens/s, TTFT {f['mean_ttft_ms']:.0f} ms, TPOT {f['mean_tpot_ms']:.1f} ms")


def guidellm():
    with tempfile.TemporaryDirectory() as d:
        out = os.path.join(d, "figures.json")
        run([program("guidellm"), "run", "--backend", f"kind=openai_http,target={url},model=m,request_format=/v1/chat/completions", "--profile", "kind=concurrent,streams=4",
             "--constraint", "kind=max_requests,count=12", "--tokenizer", f"kind=huggingface_auto,model={folder}", "--data",
             "kind=synthetic_text,prompt_tokens=48,output_tokens=16", "--output", f"kind=json,path={out}", "--disable-console"])
        f = json.load(open(out))["benchmarks"][0]
        done = f["requests"]["successful"]
        assert len(done) == 12 and not f["requests"]["errored"], {k: len(v) for k, v in f["requests"].items()}
        print(f"   guidellm: {len(done)} requests")


SENTENCES = [("The capital of France is", " Paris, the city of light."), ("Two and two make", " four."), ("A rose is a", " rose is a rose."), ("El perro", " come carne.")]


def lm_eval():
    """The log-likelihoods that lm-eval computes over HTTP are the engine's own (vllmc run --prompt-logprobs)."""
    with tempfile.TemporaryDirectory() as d:
        with open(os.path.join(d, "rows.jsonl"), "w") as f:
            for context, target in SENTENCES:
                f.write(json.dumps({"context": context, "target": target}) + "\n")
        with open(os.path.join(d, "local.yaml"), "w") as f:
            f.write(f"task: local\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: {d}/rows.jsonl\noutput_type: loglikelihood\ntest_split: test\n"
                    "doc_to_text: \"{{context}}\"\ndoc_to_target: \"{{target}}\"\ntarget_delimiter: \"\"\nmetric_list:\n  - metric: perplexity\n    aggregation: perplexity\n    higher_is_better: false\n")
        run([program("lm_eval"), "--model", "local-completions", "--tasks", "local", "--include_path", d, "--log_samples", "--output_path", os.path.join(d, "out"), "--model_args",
             f"model=m,base_url={url}/v1/completions,num_concurrent=2,max_retries=1,tokenized_requests=True,tokenizer={folder}"])
        found = [os.path.join(r, n) for r, _, names in os.walk(os.path.join(d, "out")) for n in names if n.startswith("samples_local")]
        rows = sorted((json.loads(line) for line in open(found[0])), key=lambda row: row["doc_id"])
    assert len(rows) == len(SENTENCES)
    for (context, target), row in zip(SENTENCES, rows):
        got = float(row["filtered_resps"][0][0])
        args = ["run", path, "-p", context + target, "-n", "1", "-t", "0", "--prompt-logprobs", "0", "--json", "--numerics", "gguf"]
        engine = json.loads(run([binary] + args).splitlines()[-1])
        n = len(json.loads(run([binary, "tokenize", path, context, "--json"]))["ids"])
        want = sum(t["logprob"] for t in engine["prompt_logprobs"][n:])
        assert math.isclose(got, want, rel_tol=0, abs_tol=1e-4), f"{context}{target}: {got}, the engine says {want}"
        print(f"   {got:.5f} {context}{target}")


tokenizer = make_tokenizer()
cases = [("langchain", langchain, has("langchain_openai")), ("litellm", litellm_adapter, has("litellm")),
         ("vllm bench serve", vllm_bench, program("vllm") and tokenizer), ("guidellm", guidellm, program("guidellm") and tokenizer),
         ("lm-eval", lm_eval, program("lm_eval") and tokenizer)]
for name, _, there in cases:
    if not there:
        print(f"left out: {name} (not on this machine)")
cases = [c for c in cases if c[2]]
if not cases or not os.path.exists(path):
    if cases:
        print(f"left out: tools ({model} is not on this machine)")
    sys.exit(0)
server = subprocess.Popen([binary, "serve", path, "--port", "0", "--served-model-name", "m", "--max-model-len", "1024", "--kv-cache-memory-bytes", "128M"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
url = server.stdout.readline().split()[-1]
try:
    for name, fn, _ in (c for c in cases if not sys.argv[4:] or c[0] in sys.argv[4:]):
        begun = time.time()
        try:
            fn()
            print(f"ok {name}, {time.time() - begun:.0f} s", flush=True)
        except Exception as e:                  # every case runs
            failed.append(name)
            print(f"FAILED {name} {type(e).__name__} {str(e)[:3000]}", flush=True)
finally:
    server.terminate()
    rc = server.wait(60)
print(f"{len(cases) - len(failed)} of {len(cases)} cases, exit code {rc}")
sys.exit(1 if failed or rc else 0)
