# SPDX-License-Identifier: Apache-2.0
"""A server that answers as vLLM's does (shapes as in the recorded transcript), with answers that the page's tests choose."""
import json
import math
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MARKDOWN = """# Heading *one*

A paragraph with **strong**, *emphasis*, ***both***, ~~gone~~, `code <b>` and a [link](https://example.org/a_(b)).
Second line, snake_case_name, 2 * 3 * 4, a bare https://example.org/x?y=1.

1. first
2. second
   - nested
   - list

     with a paragraph
3. third

> A quote
> of two lines

| name | value |
|:-----|------:|
| a \\| b | 1 |
| `x|y` | 2 |

```c
int main(void) {
    return a < b && c > d;   /* <script>alert(1)</script> */
}
```

---

The end.
"""
HOSTILE = """<img src=x onerror="window.hit=1"> <script>window.hit=1</script>

[bad](javascript:window.hit=1) [data](data:text/html,<script>window.hit=1</script>) [tab](java\tscript:window.hit=1)

| <svg onload=window.hit=1> | b |
|---|---|
| <a href="javascript:window.hit=1">x</a> | 2 |

```html"><img src=x onerror=window.hit=1>
</code></pre><script>window.hit=1</script>
```
"""
LE = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


def pieces(text):
    """As a tokenizer would cut it: words with the blank before them, line ends alone."""
    out, word = [], ""
    for c in text:
        if c in " \n" and word:
            out.append(word)
            word = ""
        word += c
        if c == "\n":
            out.append(word)
            word = ""
    return out + ([word] if word else [])


def logprob_entry(i, text):
    """Tie margin and entry of a token; only near ties are told in ulps here, so that the page shows both kinds."""
    p = (0.98, 0.52, 0.75, 0.2, 0.93, 0.06)[i % 6]
    tie = i % 6 == 1
    best = {"token": text, "logprob": math.log(p), "bytes": list(text.encode())}
    others = [{"token": t, "logprob": math.log((0.48 if tie else (1 - p) / 2) / (k + 1)), "bytes": list(t.encode())} for k, t in enumerate((" other", "\n", " more", " a"))]
    return 3 if tie else None, dict(best, top_logprobs=sorted([best] + others, key=lambda e: -e["logprob"]))


class Mock(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, html, csp, key=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.html, self.csp, self.key = html, csp, key
        self.requests, self.cut, self.generated, self.first, self.between = [], 0, 0, [], []
        self.running, self.loading = 0, False
        self.url = "http://127.0.0.1:%d/" % self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def metrics(self):
        label = 'engine="0",model_name="tiny-model"'
        lines = ["# HELP vllm:num_requests_running Number of requests in model execution batches.", "# TYPE vllm:num_requests_running gauge",
                 "vllm:num_requests_running{%s} %d.0" % (label, self.running), "vllm:num_requests_waiting{%s} 1.0" % label,
                 "vllm:kv_cache_usage_perc{%s} %.3f" % (label, 0.05 + 0.4 * self.running), "vllm:generation_tokens_total{%s} %d.0" % (label, self.generated),
                 "vllm:prompt_tokens_total{%s} %d.0" % (label, 20 * len(self.requests)), "vllm:prefix_cache_queries_total{%s} 400.0" % label,
                 "vllm:prefix_cache_hits_total{%s} 100.0" % label, "vllm:num_preemptions_total{%s} 0.0" % label,
                 'vllm:generation_tokens_total{engine="0",model_name="another"} 1e9',
                 'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="2048"} 1.0', "process_resident_memory_bytes 1.5e+09"]
        for name, seen in (("time_to_first_token", self.first), ("inter_token_latency", self.between)):
            for le in LE + (math.inf,):
                text = "+Inf" if le == math.inf else repr(le)
                lines.append('vllm:%s_seconds_bucket{engine="0",le="%s",model_name="tiny-model"} %d.0' % (name, text, sum(v <= le for v in list(seen))))
        return "\n".join(lines) + "\n"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body, kind="application/json", more=()):
        data = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in more:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def error(self, status, message):
        self.reply(status, json.dumps({"error": {"message": message, "type": "BadRequestError", "param": None, "code": status}}))

    def allowed(self):
        if self.server.key and self.headers.get("Authorization") != "Bearer " + self.server.key:
            self.reply(401, '{"error":"Unauthorized"}')
            return False
        return True

    def do_GET(self):
        s = self.server
        if self.path == "/":
            self.reply(200, s.html, "text/html; charset=utf-8", [("Content-Security-Policy", s.csp), ("X-Content-Type-Options", "nosniff")])
        elif not self.allowed():
            pass
        elif s.loading:
            self.error(503, "The model is still loading.")
        elif self.path == "/v1/models":
            self.reply(200, json.dumps({"object": "list", "data": [{"id": m, "object": "model", "max_model_len": 2048} for m in ("tiny-model", "another")]}))
        elif self.path == "/metrics":
            self.reply(200, s.metrics(), "text/plain; version=0.0.4")
        else:
            self.reply(404, '{"detail":"Not Found"}')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path != "/v1/chat/completions" or not self.allowed():
            return
        s, text = self.server, body["messages"][-1]["content"]
        s.requests.append(body)
        if "fail" in text:
            self.error(400, "max_tokens must be at least 1, got 0.")
            return
        thought, answer, pause = "", "You said: " + text + "\nAnd **that** is all.", 0.004
        if "reason" in text:
            thought, answer = "First I *think* about it.\n\nThen some more.", "The answer is 42."
        if "markdown" in text:
            answer = MARKDOWN
        if "hostile" in text:
            answer = HOSTILE
        if "slow" in text:
            answer, pause = "word " * 2000, 0.02
        s.running += 1
        try:
            self.stream(body, thought, answer, pause)
        except OSError:
            s.cut += 1
        finally:
            s.running -= 1

    def event(self, data):
        text = "data: %s\n\n" % (data if isinstance(data, str) else json.dumps(data))
        # Cut in the middle, as a network may.
        half = len(text) // 2
        for part in (text[:half].encode(), text[half:].encode()):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            self.wfile.flush()

    def chunk(self, delta, token=None, finish=None):
        margin, entry = token or (None, None)
        self.event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "tiny-model",
                    "choices": [{"index": 0, "delta": delta, "logprobs": {"content": [entry]} if entry else None, "margins": [margin] if entry else [],
                                 "finish_reason": finish}]})

    def stream(self, body, thought, answer, pause):
        s, n, last = self.server, 0, time.time()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk({"role": "assistant", "content": ""})
        for field, text in (("reasoning", thought), ("content", answer)):
            for piece in pieces(text):
                time.sleep(pause)
                now = time.time()
                (s.between if n else s.first).append(now - last)
                last = now
                self.chunk({field: piece}, logprob_entry(n, piece) if body.get("logprobs") and body.get("return_margin") else None)
                s.generated += 1
                n += 1
        self.chunk({}, None, "stop")
        if body.get("stream_options", {}).get("include_usage"):
            self.event({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": "tiny-model", "choices": [],
                        "usage": {"prompt_tokens": 20, "completion_tokens": n, "total_tokens": 20 + n}})
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")
