#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every field of every request body: honoured (a meaningful value changes the answer as it should), or refused by name.
usage: fields_test.py VLLMC MODEL.gguf. Only the standard library. Names: vllm_fields.json, and our own. The model is a small one
with random weights; its greedy answer to the base request is compared with the answer that has the field, too."""
import json, math, os, socket, subprocess, sys, tempfile, time, traceback, urllib.error, urllib.request

import http.client as http_client

import long_context

binary, model = sys.argv[1:3]
scratch = tempfile.TemporaryDirectory()
here = os.path.dirname(os.path.abspath(__file__))
OURS = {"completions": ["return_margin", "best_of"], "chat": ["return_margin", "best_of"]}
TEMPLATE = ("{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if tools %} tools:{% for t in tools %}{{ t.function.name }}{% endfor %}{% endif %}"
            "{% if documents %} documents:{% for d in documents %}{{ d.text }}{% endfor %}{% endif %}{% if reasoning_effort %} effort:{{ reasoning_effort }}{% endif %}"
            "{% if extra %} extra:{{ extra }}{% endif %}{% if enable_thinking is defined %} thinking:{{ enable_thinking }}{% endif %}"
            "{% if add_generation_prompt %}[assistant]{% endif %}")
EOS = 2
failed, done = [], 0


class Server:
    def __init__(self, *more, path=model):
        self.log, self.path = tempfile.TemporaryFile("w+"), path
        args = [binary, "serve", path, "--port", "0", "--served-model-name", "m", "--served-model-name", "other", "--chat-template", TEMPLATE, "--kv-cache-memory-bytes", "16M",
                "--threads", "1", "--log-level", "debug", "--trust-request-chat-template", "--enable-prompt-tokens-details", *more]
        self.p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=self.log, text=True)
        line = self.p.stdout.readline()
        assert "http" in line, line
        self.url = line.split()[-1]

    def ask(self, path, body=None):
        """Status and answer: JSON, or the events of a stream."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        r = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(r, timeout=120) as f:
                status, text, kind = f.status, f.read().decode(), f.headers["Content-Type"]
        except urllib.error.HTTPError as e:
            status, text, kind = e.code, e.read().decode(), e.headers["Content-Type"]
        if kind and kind.startswith("text/event-stream"):
            return status, [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ") and line != "data: [DONE]"]
        return status, json.loads(text) if text else None

    def stop(self):
        self.p.terminate()
        assert self.p.wait(60) == 0, self.p.returncode
        self.log.seek(0)
        return self.log.read()


SERVER = Server("--tool-call-parser", "hermes", "--enable-auto-tool-choice")
THINKS = Server("--reasoning-parser", "qwen3", path=long_context.copy(model, scratch.name, 4096))        # reads <think>…</think>
PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions", "responses": "/v1/responses", "messages": "/v1/messages",
         "count_tokens": "/v1/messages/count_tokens", "tokenize": "/tokenize", "tokenize_chat": "/tokenize", "detokenize": "/detokenize"}
PROMPT, USER = "The capital of France is a large town on the river Seine, and", [{"role": "user", "content": "Name three large towns on a river."}]
TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"],
                                                                             "additionalProperties": False}}}
FLAT = {"type": "function", "name": "weather", "parameters": TOOL["function"]["parameters"]}
CLAUDE = {"name": "weather", "input_schema": TOOL["function"]["parameters"]}
BASE = {"completions": {"prompt": PROMPT, "max_tokens": 8, "temperature": 0},
        "chat": {"messages": USER, "max_tokens": 8, "temperature": 0},
        "responses": {"input": "Name three large towns.", "max_output_tokens": 8, "temperature": 0},
        "messages": {"model": "m", "messages": USER, "max_tokens": 8, "temperature": 0},
        "count_tokens": {"model": "m", "messages": USER}, "tokenize": {"prompt": "Some words"}, "tokenize_chat": {"messages": USER},
        "detokenize": {"tokens": [100, 200, 300]}}


def send(kind, body, server=SERVER):
    return server.ask(PATHS[kind], body)


def ok(kind, body, server=SERVER):
    status, a = send(kind, body, server)
    assert status == 200, (status, a)
    return a


def text(a):
    """The text of an answer of any API, streamed or not."""
    if isinstance(a, list):
        out = ""
        for e in a:
            for c in e.get("choices", []):
                out += c["text"] if "text" in c else c["delta"].get("content") or ""
            if e.get("type") == "response.output_text.delta":
                out += e["delta"]
            if e.get("type") == "content_block_delta":
                out += e["delta"].get("text", "")
        return out
    if "choices" in a:
        return "|".join(c["text"] if "text" in c else c["message"]["content"] or "" for c in a["choices"])
    if "output" in a:
        return "".join(p["text"] for i in a["output"] for p in i.get("content") or [])
    if "content" in a:
        return "".join(b.get("text", "") for b in a["content"])
    return a.get("prompt", "")


def prompt_tokens(a):
    for key in ("prompt_tokens", "input_tokens"):
        if key in a.get("usage", a):
            return a.get("usage", a)[key]
    return a["count"]


def out_tokens(a):
    return a["usage"].get("completion_tokens", a["usage"].get("output_tokens"))


def comparable(a):
    """Without what differs from answer to answer."""
    if isinstance(a, dict):
        return {k: comparable(v) for k, v in a.items() if k not in ("id", "created", "created_at", "usage", "item_id", "prompt_tokens_details")}
    return [comparable(v) for v in a] if isinstance(a, list) else a


base = {kind: ok(kind, body) for kind, body in BASE.items()}
ROWS = {}           # (body, field): function that checks


def row(kinds, field, check):
    for kind in kinds.split():
        assert (kind, field) not in ROWS, (kind, field)
        ROWS[kind, field] = check


def same(value, **more):
    """Passes, and nothing changes: a hint, or a value that asks for what is so already."""
    def check(kind, field):
        a = ok(kind, {**BASE[kind], **more, field: value})
        assert comparable(a) == comparable(base[kind] if not more else ok(kind, {**BASE[kind], **more})), a
    return check


def then(value, want, **more):
    """The answer with the field satisfies want(answer, base answer)."""
    def check(kind, field):
        a = ok(kind, {**BASE[kind], **more, field: value})
        assert want(a, base[kind]), a
    return check


def refused(value):
    def check(kind, field):
        status, a = send(kind, {**BASE[kind], field: value})
        message = a["error"]["message"]
        assert status == 400 and field in message and "not supported by this server: " in message, (status, a)
        assert kind in ("messages",) or a["error"]["param"] == field, a
        ok(kind, {**BASE[kind], field: None})           # asks for nothing
        ok(kind, {**BASE[kind], field: False})
    return check


def bad(value):
    """Another value is a 400 that names the field."""
    def check(kind, field):
        status, a = send(kind, {**BASE[kind], field: value})
        assert status == 400 and field in json.dumps(a), (status, a)
    return check


def both(*checks):
    return lambda kind, field: [c(kind, field) for c in checks]


def changed(a, b):
    return text(a) != text(b)


def longer(a, b):
    return prompt_tokens(a) > prompt_tokens(b)


def reordered(kind, field, value, extreme):
    """Sampling with a seed differs from greedy; the extreme value leaves the best token alone: greedy again."""
    free = {**BASE[kind], "temperature": 2, "seed": 5}
    if kind == "messages":
        free = {**BASE[kind], "temperature": 1}
    assert text(ok(kind, {**free, field: extreme})) == text(base[kind])
    ok(kind, {**free, field: value})


def sampler(value, extreme):
    return lambda kind, field: reordered(kind, field, value, extreme)


GEN = "completions chat responses"
row("completions chat responses messages count_tokens tokenize tokenize_chat detokenize", "model", lambda kind, field: (
    ok(kind, {**BASE[kind], field: "other"}), check_status(kind, {**BASE[kind], field: "none such"}, 404)))


def check_status(kind, body, want):
    status, a = send(kind, body)
    assert status == want, (status, a)


def ids_of(body):
    return ok("completions", {**BASE["completions"], "return_token_ids": True, **body})["choices"][0]["token_ids"]


GREEDY = ids_of({})
BLANK = {str(i): -100 for i in range(1500) if not SERVER.ask("/detokenize", {"tokens": [i]})[1]["prompt"].strip()}     # white space is free in JSON

# ---- prompts ----
row("completions", "prompt", lambda k, f: [then("Another", changed)(k, f), then(["One", "Two"], lambda a, b: len(a["choices"]) == 2)(k, f), then([3, 4], changed)(k, f),
                                           then([[3, 4], [5]], lambda a, b: len(a["choices"]) == 2)(k, f)])
row("chat messages", "messages", then([{"role": "user", "content": "Something else"}], changed))
row("count_tokens tokenize_chat", "messages", then(USER * 2, longer))
row("tokenize", "prompt", then("Some more words than before", longer))
row("detokenize", "tokens", then([100], changed))
row("responses", "input", both(then("Other words", changed), then([{"role": "user", "content": "Other words"}, {"role": "assistant", "content": "Yes."}], longer)))
row("responses", "instructions", both(then("Be brief.", longer), then("Be brief.", lambda a, b: a["instructions"] == "Be brief.")))
row("messages count_tokens", "system", both(then("Be brief.", longer), then([{"type": "text", "text": "Be brief."}], longer)))
row("completions", "echo", then(True, lambda a, b: text(a) == PROMPT + text(b)))
row("chat", "echo", then(True, lambda a, b: text(a).startswith("Towns:"), messages=USER + [{"role": "assistant", "content": "Towns:"}]))
row("completions", "suffix", both(bad("end."), same("")))
row("completions chat", "truncate_prompt_tokens", both(then(3, lambda a, b: prompt_tokens(a) == 3), then(-1, lambda a, b: prompt_tokens(a) == prompt_tokens(b))))
row("completions chat", "truncation_side", lambda k, f: [bad("middle")(k, f), then("right", lambda a, b: text(a) != text(ok(k, {**BASE[k], "truncate_prompt_tokens": 3})), truncate_prompt_tokens=3)(k, f)])
row("responses", "truncation", lambda k, f: [bad("maybe")(k, f), check_status(k, {**BASE[k], "input": "word " * 400, f: "disabled"}, 400),
                                             then("auto", lambda a, b: prompt_tokens(a) == 256 - 8, input="word " * 400)(k, f)])
row("completions tokenize", "add_special_tokens", same(False))             # this vocabulary adds none by itself
row("chat tokenize_chat", "add_special_tokens", same(True))
row("chat", "add_generation_prompt", then(False, lambda a, b: prompt_tokens(a) < prompt_tokens(b)))
row("tokenize_chat", "add_generation_prompt", then(False, lambda a, b: a["count"] < b["count"]))
row("chat tokenize_chat", "continue_final_message", then(True, lambda a, b: prompt_tokens(a) < prompt_tokens(b), messages=USER, add_generation_prompt=False))
row("chat", "documents", then([{"text": "A document."}], longer))
row("chat tokenize_chat", "chat_template", then("{{ messages[0].content }}", lambda a, b: prompt_tokens(a) < prompt_tokens(b)))
row("chat responses messages count_tokens tokenize_chat", "chat_template_kwargs", then({"extra": "and more of it"}, longer))
row("responses", "previous_response_id", lambda k, f: [then(base[k]["id"], longer)(k, f), check_status(k, {**BASE[k], f: "resp_none"}, 404)])
row("responses", "store", lambda k, f: [stored(True, 200), stored(False, 404)])


def stored(value, want):
    a = ok("responses", {**BASE["responses"], "store": value})
    status, _ = SERVER.ask("/v1/responses/" + a["id"])
    assert status == want, status


def seen(a, b):
    """The raw prompt and answer: their ids are those of the texts."""
    for key, tokens in (("input_messages", a["usage"]["input_tokens"]), ("output_messages", out_tokens(a))):
        (m,) = a[key]
        assert m["type"] == "raw_message_tokens" and len(m["tokens"]) == tokens and b[key] is None, m
        assert SERVER.ask("/detokenize", {"tokens": m["tokens"]})[1]["prompt"] == m["message"], m
    return a["input_messages"][0]["message"] == "[user]" + BASE["responses"]["input"] + "[assistant]" and a["output_messages"][0]["message"] == text(b)


row("responses", "enable_response_messages", both(then(True, seen), same(False), bad("maybe")))
LONG = {**BASE["responses"], "background": True, "max_output_tokens": 3000, "ignore_eos": True}


def poll(a, server):
    """The response when it is no longer made."""
    for _ in range(3000):
        status, b = server.ask("/v1/responses/" + a["id"])
        assert status == 200 and b["status"] != "failed", b
        if b["status"] not in ("queued", "in_progress"):
            return b
        assert b["output"] == [] and b["usage"] is None, b
        time.sleep(0.02)
    raise AssertionError("the response is never made")


def background(kind, field):
    for more in ({"store": False}, {"store": 0}, {"temperature": 9}, {"top_k": "x"}, {"input": "word " * 400}):
        check_status(kind, {**BASE[kind], field: True, **more}, 400)
    a = ok(kind, {**BASE[kind], field: True})
    assert a["background"] is True and a["status"] == "queued" and a["output"] == [] and a["usage"] is None, a
    made = poll(a, SERVER)
    assert text(made) == text(base[kind]) and made["background"] is True and made["usage"] == base[kind]["usage"] | {"input_tokens_details": made["usage"]["input_tokens_details"]}, made
    assert base[kind]["background"] is False
    assert prompt_tokens(ok(kind, {**BASE[kind], "previous_response_id": a["id"]})) > prompt_tokens(made)


def background_events(kind, field):
    """The stream has the events of one that is waited for; another look gives the same, or those behind a number."""
    events, plain = ok(kind, {**BASE[kind], field: True, "stream": True}), ok(kind, {**BASE[kind], "stream": True})
    assert [e["sequence_number"] for e in events] == list(range(len(events))) and [e["type"] for e in events] == [e["type"] for e in plain]
    assert text(events) == text(base[kind]) and events[-1]["type"] == "response.completed"
    at = "/v1/responses/" + events[0]["response"]["id"]
    assert SERVER.ask(at)[1] == events[-1]["response"]
    for query, first in (("stream=true", 0), ("stream=1&starting_after=-1", 0), ("stream=on&starting_after=0", 1), ("stream=true&starting_after=5", 6), ("stream=true&starting_after=999", 999)):
        assert SERVER.ask(at + "?" + query) == (200, events[first:]), query
    for query in ("stream=maybe", "stream", "stream=true&starting_after=x", "starting_after=", "starting_after=1.5"):
        status, a = SERVER.ask(at + "?" + query)
        assert status == 400 and "query." in a["error"]["param"], (query, a)
    status, a = SERVER.ask("/v1/responses/" + base[kind]["id"] + "?stream=true")
    assert status == 400 and a["error"]["param"] == "response_id", a
    assert SERVER.ask("/v1/responses/resp_none?stream=true")[0] == 404


def background_cancel(kind, field):
    a = ok(kind, LONG, THINKS)
    assert THINKS.ask(PATHS[kind], {**BASE[kind], "previous_response_id": a["id"]})[0] == 400                # there is no answer yet
    assert THINKS.ask(PATHS[kind], {**LONG, "request_id": a["id"].split("_", 1)[1]})[0] == 400              # two with one id
    status, b = THINKS.ask("/v1/responses/" + a["id"] + "/cancel", b"")
    assert status == 200 and b == {**a, "status": "cancelled"}, (status, b)
    assert THINKS.ask("/v1/responses/" + a["id"]) == (200, b)
    for name, want in ((a["id"], 400), (ok(kind, BASE[kind], THINKS)["id"], 400), ("resp_none", 404)):
        status, c = THINKS.ask("/v1/responses/" + name + "/cancel", b"{}")
        assert status == want and c["error"]["param"] == "response_id" and (want == 404 or c["error"]["type"] == "invalid_request_error"), (status, c)
    idle(THINKS)
    assert poll(a, THINKS)["status"] == "cancelled"


def background_left(kind, field):
    """A client that leaves does not end it, whether it waits for events or not; two readers see the same events; a cancelled stream ends."""
    r = urllib.request.urlopen(urllib.request.Request(THINKS.url + PATHS[kind], json.dumps({**LONG, "stream": True}).encode(), {"Content-Type": "application/json"}))
    begun = r.readline() + r.readline()
    a = json.loads(begun.split(b"data: ")[1])["response"]
    r.close()
    late = urllib.request.urlopen(THINKS.url + "/v1/responses/" + a["id"] + "?stream=true&starting_after=40")
    assert json.loads(late.read().decode().split("\n")[1][6:])["sequence_number"] == 41
    made = poll(a, THINKS)
    assert made["status"] == "incomplete" and out_tokens(made) == 3000, made
    assert THINKS.ask("/v1/responses/" + a["id"] + "?stream=1")[1][-1]["response"] == made
    r = urllib.request.urlopen(urllib.request.Request(THINKS.url + PATHS[kind], json.dumps({**LONG, "stream": True}).encode(), {"Content-Type": "application/json"}))
    a = json.loads((r.readline() + r.readline()).split(b"data: ")[1])["response"]
    assert THINKS.ask("/v1/responses/" + a["id"] + "/cancel", b"")[1]["status"] == "cancelled"
    assert b"response.completed" not in r.read()
    idle(THINKS)


def background_drained(kind, field):
    """SIGTERM waits for it: its reader gets the end."""
    server = Server("--shutdown-timeout", "60", path=THINKS.path)
    r = urllib.request.urlopen(urllib.request.Request(server.url + PATHS[kind], json.dumps({**LONG, "stream": True}).encode(), {"Content-Type": "application/json"}))
    r.readline()
    server.p.terminate()
    assert b"event: response.completed" in r.read()
    assert server.p.wait(60) == 0


def background_many(kind, field):
    """The store has room for 1,024 responses: those that are made stay, one more is refused until one is done."""
    server = Server("--max-num-queued-reqs", "3000", path=THINKS.path)
    http = http_client.HTTPConnection("127.0.0.1", int(server.url.rsplit(":", 1)[1]))

    def ask(method, path, body=None):
        http.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
        r = http.getresponse()
        return r.status, json.loads(r.read())
    made = [ask("POST", PATHS[kind], LONG) for _ in range(1030)]
    assert [status for status, _ in made] == [200] * 1024 + [429] * 6, [status for status, _ in made][1020:]
    first, last = ("/v1/responses/" + made[i][1]["id"] for i in (0, 1023))
    assert ask("POST", last + "/cancel")[0] == 200
    while ask("POST", PATHS[kind], LONG)[0] == 429:              # until the cancelled one has left the engine; then it makes room
        time.sleep(0.02)
    assert ask("GET", last)[0] == 404 and ask("GET", first)[1]["status"] in ("queued", "in_progress")
    server.p.terminate()
    assert server.p.wait(60) == 0


row("responses", "background", both(background, background_events, background_cancel, background_left, background_drained, background_many, same(False), bad("later")))

# ---- sampling ----
row(GEN, "temperature", both(then(2, changed, seed=3), bad(2.5)))
row("messages", "temperature", both(then(1, lambda a, b: out_tokens(a) == 8), bad(3)))
row(GEN + " messages", "top_p", both(sampler(0.9, 1e-6), bad(0)))
row(GEN + " messages", "top_k", both(sampler(40, 1), bad(-2)))
row(GEN, "min_p", both(sampler(0.1, 1), bad(2)))
row(GEN, "seed", lambda k, f: seeds(k))


def seeds(kind):
    a, b, c = (text(ok(kind, {**BASE[kind], "temperature": 2, "seed": s})) for s in (1, 1, 2))
    assert a == b != c, (a, b, c)


def penalty(field, value):
    """The penalty moves a token that was generated: two equal tokens in front are no longer followed by the same."""
    def check(kind, name):
        more = {"max_tokens": 60} if kind != "responses" else {"max_output_tokens": 60}
        a, b = ok(kind, {**BASE[kind], **more, "ignore_eos": True}), ok(kind, {**BASE[kind], **more, "ignore_eos": True, name: value})
        assert text(a) != text(b)
        bad(3 if value > 0 and name != "repetition_penalty" else -1)(kind, name)
    return check


row(GEN, "presence_penalty", penalty("presence_penalty", 2))
row(GEN, "frequency_penalty", penalty("frequency_penalty", 2))
row(GEN, "repetition_penalty", penalty("repetition_penalty", 3))
row("completions chat", "n", both(then(3, lambda a, b: len(a["choices"]) == 3 and len({c["index"] for c in a["choices"]}) == 3), bad(0)))
row("completions", "best_of", lambda k, f: [best_of(), check_status(k, {**BASE[k], f: 3, "stream": True}, 400), check_status(k, {**BASE[k], f: 1, "n": 2}, 400)])
row("chat", "best_of", both(bad(3), same(1)))


def best_of():
    """The two best of five are those of the five answers of the same seed, by mean log-probability."""
    free = {**BASE["completions"], "temperature": 2, "seed": 11, "logprobs": 0}
    five = ok("completions", {**free, "n": 5})["choices"]
    mean = {c["text"]: sum(c["logprobs"]["token_logprobs"]) / len(c["logprobs"]["token_logprobs"]) for c in five}
    a = ok("completions", {**free, "n": 2, "best_of": 5})
    assert [c["text"] for c in a["choices"]] == sorted(mean, key=mean.get, reverse=True)[:2], a
    assert [c["index"] for c in a["choices"]] == [0, 1] and out_tokens(a) == 40
    assert ok("completions", {**free, "logprobs": None, "best_of": 5})["choices"][0]["logprobs"] is None


row("completions chat", "max_tokens", both(then(3, lambda a, b: out_tokens(a) == 3), bad(-1)))
row("messages", "max_tokens", both(then(3, lambda a, b: out_tokens(a) == 3 and a["stop_reason"] == "max_tokens"), bad(0)))
row("chat", "max_completion_tokens", then(3, lambda a, b: out_tokens(a) == 3))
row("responses", "max_output_tokens", then(3, lambda a, b: out_tokens(a) == 3 and a["status"] == "incomplete"))
row("completions chat", "min_tokens", lambda k, f: [floor(k, f), bad(-1)(k, f)])


def floor(kind, field):
    """The end token comes at once, but not before that many tokens."""
    ends = {**BASE[kind], "logit_bias": {str(EOS): 100}}
    assert out_tokens(ok(kind, ends)) == 1
    assert out_tokens(ok(kind, {**ends, field: 4})) == 5


row(GEN, "ignore_eos", then(True, lambda a, b: out_tokens(a) == 8, logit_bias={str(EOS): 100}))
row(GEN, "logit_bias", both(then({str(EOS): 100}, lambda a, b: out_tokens(a) == 1), bad({"x": 1}), bad({"5000": 1})))
row(GEN, "stop", lambda k, f: stops(k, f, text(base[k])))
row("messages", "stop_sequences", lambda k, f: stops(k, f, text(base[k])))


def stops(kind, field, whole):
    word = whole[2:4]
    a = ok(kind, {**BASE[kind], field: [word]})
    assert text(a) == whole[:whole.index(word)], (text(a), whole)
    assert text(ok(kind, {**BASE[kind], field: word})) == text(a)


row(GEN, "stop_token_ids", lambda k, f: [then([GREEDY[0]], lambda a, b: True)(k, f), one_token(k, f), bad([10 ** 8])(k, f)])


def one_token(kind, field):
    assert out_tokens(ok(kind, {**BASE[kind], "logit_bias": {"77": 100}})) == 8
    assert out_tokens(ok(kind, {**BASE[kind], "logit_bias": {"77": 100}, field: [77]})) == 1


def keeps_stop(kind, field):
    whole = text(base[kind])
    a = ok(kind, {**BASE[kind], "stop": [whole[2:4]], field: True})
    assert text(a) == whole[:whole.index(whole[2:4]) + 2], a


row(GEN, "include_stop_str_in_output", keeps_stop)
row("completions chat", "repetition_detection", lambda k, f: repeats(k, f))


def repeats(kind, field):
    a = ok(kind, {**BASE[kind], "allowed_token_ids": [77], field: {"max_pattern_size": 2, "min_count": 3}})
    assert out_tokens(a) == 3 and a["choices"][0]["finish_reason"] == "repetition" and a["choices"][0]["stop_reason"] == "repetition_detected", a
    for value in ({"max_pattern_size": 2, "min_count": 1}, {"max_pattern_size": 1, "min_pattern_size": 2, "min_count": 3}, {"max_pattern_size": "x"}):
        bad(value)(kind, field)


row("completions chat", "allowed_token_ids", both(then([77], lambda a, b: set(a["choices"][0]["token_ids"]) == {77}, return_token_ids=True), bad([]), bad([10 ** 8])))
row("completions chat", "bad_words", lambda k, f: without(k, f))


def without(kind, field):
    """The text of the first token is a bad word: another one comes."""
    a = ok(kind, {**BASE[kind], "return_token_ids": True})["choices"][0]["token_ids"]
    word = SERVER.ask("/detokenize", {"tokens": a[:1]})[1]["prompt"]
    b = ok(kind, {**BASE[kind], "return_token_ids": True, field: [word]})["choices"][0]["token_ids"]
    assert b[0] != a[0] and a[0] not in b, (a, b)


# ---- what the answer tells ----
def tops(a):
    c = a["choices"][0]["logprobs"]
    if "content" in c:
        return [[t["logprob"] for t in e["top_logprobs"]] for e in c["content"]]
    return [sorted(t.values(), reverse=True) for t in c["top_logprobs"]]


row("completions", "logprobs", both(then(3, lambda a, b: len(a["choices"][0]["logprobs"]["token_logprobs"]) == 8 and all(3 <= len(t) <= 4 for t in tops(a))), bad(21), bad(-2)))
row("chat", "logprobs", then(True, lambda a, b: len(a["choices"][0]["logprobs"]["content"]) == 8))
row("chat", "top_logprobs", lambda k, f: [then(4, lambda a, b: all(len(t) == 4 for t in tops(a)), logprobs=True)(k, f), bad(2)(k, f), check_status(k, {**BASE[k], "logprobs": True, f: 21}, 400)])
row("responses", "top_logprobs", then(2, lambda a, b: all(len(t["top_logprobs"]) == 2 for t in a["output"][0]["content"][0]["logprobs"])))
row("responses", "include", both(then(["message.output_text.logprobs"], lambda a, b: len(a["output"][0]["content"][0]["logprobs"]) == 8), bad([1])))
row("completions chat", "logprob_token_ids", lambda k, f: given_ids(k, f))


def given_ids(kind, field):
    """The log-probabilities of these ids are those that the list of the 20 best has for them."""
    more = {"logprobs": 20} if kind == "completions" else {"logprobs": True, "top_logprobs": 20}
    shown = {**BASE[kind], **more, "return_tokens_as_token_ids": True, "max_tokens": 1}
    c = ok(kind, shown)["choices"][0]["logprobs"]
    best = c["top_logprobs"][0] if kind == "completions" else {t["token"]: t["logprob"] for t in c["content"][0]["top_logprobs"]}
    ids = [int(t.split(":")[1]) for t in list(best)[5:8]]
    c = ok(kind, {**shown, field: ids})["choices"][0]["logprobs"]
    given = c["top_logprobs"][0] if kind == "completions" else {t["token"]: t["logprob"] for t in c["content"][0]["top_logprobs"]}
    assert set(given) == {"token_id:%d" % i for i in ids} | {list(best)[0]}, given
    assert all(given[t] == best[t] for t in given), (given, best)
    bad([1])(kind, field)                                # needs logprobs
    check_status(kind, {**shown, field: [10 ** 8]}, 400)
    check_status(kind, {**shown, field: [1] * 129}, 400)


row("completions chat", "prompt_logprobs", lambda k, f: [then(2, lambda a, b: len((a["choices"][0] if k == "completions" else a)["prompt_logprobs"]) == prompt_tokens(b))(k, f), bad(21)(k, f),
                                                         check_status(k, {**BASE[k], f: 1, "stream": True}, 400)])
row("completions chat", "return_margin", lambda k, f: margins(k, f))


def margins(kind, field):
    """Margins are f32 steps of the two best logits, whose distance the log-probabilities have, too."""
    more = {"logprobs": 2} if kind == "completions" else {"logprobs": True, "top_logprobs": 2}
    a = ok(kind, {**BASE[kind], **more, field: True})
    m = a["choices"][0]["margins"]
    assert len(m) == 8 and all(v >= 0 for v in m)
    for value, best in zip(m, tops(a)):
        d = best[0] - best[1]
        steps = math.log2(d / value)                    # the logit's ulp: a power of two
        assert abs(steps - round(steps)) < 0.01 and -24 < round(steps) <= -17, (d, value, steps)
    assert "margins" not in ok(kind, BASE[kind])["choices"][0]
    one = ok(kind, {**BASE[kind], field: True, "structured_outputs": {"choice": ["a"]}})["choices"][0]
    assert None in one["margins"], one                  # nothing else was allowed
    s = ok(kind, {**BASE[kind], field: True, "stream": True})
    assert sum((c.get("margins", []) for e in s for c in e["choices"]), []) == m


row("completions chat", "stream", then(True, lambda a, b: isinstance(a, list) and text(a) == text(b)))
row("responses messages", "stream", then(True, lambda a, b: isinstance(a, list) and text(a) == text(b)))
row("completions chat", "stream_options", both(then({"include_usage": True}, lambda a, b: a[-1]["usage"]["completion_tokens"] == 8, stream=True), bad({"include_usage": True})))
row("completions chat", "stream_interval", lambda k, f: [interval(k, f), bad(0)(k, f)])


def interval(kind, field):
    """The first token at once, then three by three, then the rest: 1 + 3 + 3 + 1."""
    body = {**BASE[kind], "stream": True, "return_token_ids": True, "logprobs": 1 if kind == "completions" else True, field: 3}
    a = ok(kind, body)
    sizes = [len(c["token_ids"]) for e in a for c in e["choices"] if c.get("token_ids")]
    assert sizes == [1, 3, 3, 1], sizes
    assert text(a) == text(base[kind])
    n = [len(c["logprobs"].get("tokens", c["logprobs"].get("content"))) for e in a for c in e["choices"] if c.get("logprobs")]
    assert n == sizes, n
    forced = {**BASE["chat"], "max_tokens": 100, "logit_bias": BLANK, "tools": [TOOL], "tool_choice": "required", "stream": True}
    calls = ["".join(d["function"].get("arguments", "") for e in ok("chat", {**forced, field: i}) for c in e["choices"] for d in c["delta"].get("tool_calls") or []) for i in (1, 4)]
    assert calls[0] == calls[1] and json.loads(calls[0]).keys() == {"b"}, calls


row("completions chat", "return_token_ids", then(True, lambda a, b: len(a["choices"][0]["token_ids"]) == 8))
row("completions chat", "return_tokens_as_token_ids", lambda k, f: then(True, lambda a, b: "token_id:" in json.dumps(a["choices"][0]["logprobs"]), logprobs=1 if k == "completions" else True)(k, f))
row("chat", "return_prompt_text", then(True, lambda a, b: a["prompt_text"] == "[user]" + USER[0]["content"] + "[assistant]"))
row("tokenize tokenize_chat", "return_token_strs", then(True, lambda a, b: len(a["token_strs"]) == a["count"] and b["token_strs"] is None))
row(GEN, "skip_special_tokens", then(False, lambda a, b: "<|im_start|>" in text(a), logit_bias={"1": 100}))
row("completions chat", "spaces_between_special_tokens", same(False))

# ---- the form of the answer ----
row("completions chat", "response_format", both(then({"type": "json_schema", "json_schema": {"name": "b", "schema": {"type": "boolean"}}}, lambda a, b: text(a) in ("true", "false")),
                                                bad({"type": "poem"})))
row(GEN, "structured_outputs", both(then({"choice": ["red", "blue"]}, lambda a, b: text(a) in ("red", "blue")),
                                    lambda k, f: check_status(k, {**BASE[k], f: {"regex": "("}}, 400), bad({"regex": "a", "json": {}})))
row("responses", "text", both(then({"format": {"type": "json_schema", "name": "b", "schema": {"type": "boolean"}}}, lambda a, b: text(a) in ("true", "false")), bad({"format": {"type": "poem"}})))
row("messages", "output_config", both(then({"format": {"type": "json_schema", "schema": {"type": "boolean"}}}, lambda a, b: text(a) in ("true", "false")), then({"effort": "high"}, longer)))
row("count_tokens", "output_config", then({"effort": "high"}, longer))
row("chat tokenize_chat", "tools", then([TOOL], longer))
row("responses", "tools", then([FLAT], longer))
row("messages count_tokens", "tools", then([CLAUDE], longer))
row("chat", "tool_choice", both(then("required", lambda a, b: a["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "weather", tools=[TOOL], max_tokens=100, logit_bias=BLANK), bad("sometimes")))
row("responses", "tool_choice", then("required", lambda a, b: a["output"][0]["type"] == "function_call", tools=[FLAT], max_output_tokens=100, logit_bias=BLANK))
row("messages", "tool_choice", then({"type": "any"}, lambda a, b: a["content"][0]["type"] == "tool_use" or text(a).startswith("["), tools=[CLAUDE], max_tokens=60))
row("count_tokens", "tool_choice", same({"type": "any"}, tools=[CLAUDE]))
row("chat", "parallel_tool_calls", then(False, lambda a, b: len(a["choices"][0]["message"]["tool_calls"]) == 1, tools=[TOOL], tool_choice="required", max_tokens=100, logit_bias=BLANK))
row("responses", "parallel_tool_calls", then(False, lambda a, b: [i["type"] for i in a["output"]] == ["function_call"], tools=[FLAT], tool_choice="required", max_output_tokens=100, logit_bias=BLANK))
row("responses", "max_tool_calls", both(then(3, lambda a, b: a["max_tool_calls"] == 3), bad(0)))
row("chat", "reasoning_effort", both(then("high", longer), bad("huge")))
row("responses", "reasoning", then({"effort": "high"}, longer))
row("messages count_tokens", "thinking", both(then({"type": "disabled"}, longer), then({"type": "adaptive"}, longer), bad({"type": "enabled"}), bad({"type": "long"}), bad({}),
                                              bad({"type": "enabled", "budget_tokens": 1023}), lambda k, f: thinking(k, f)))


def thinking(kind, field):
    """Anthropic's budget is the thinking_token_budget of chat: the same prompt gives the same reasoning of 1,024 tokens, and the same text behind it."""
    enabled = {field: {"type": "enabled", "budget_tokens": 1024}}
    if kind == "count_tokens":
        return then(enabled[field], longer)(kind, field)
    for more, server in (({"max_tokens": 1040}, SERVER), ({"max_tokens": 1024}, THINKS)):      # without a parser, and not less than max_tokens
        status, a = send(kind, {**BASE[kind], **more, **enabled}, server)
        assert status == 400 and "thinking" in a["error"]["message"] and "budget" in a["error"]["message"], (status, a)
    opened = {"max_tokens": 1040, "temperature": 0, "chat_template_kwargs": {"extra": "<think>"}}
    a = ok(kind, {**BASE[kind], **opened, **enabled}, THINKS)
    assert [b["type"] for b in a["content"]] == ["thinking", "text"] and out_tokens(a) == 1040, a
    opened["chat_template_kwargs"]["enable_thinking"] = True
    b = ok("chat", {**BASE["chat"], **opened, "thinking_token_budget": 1024, "return_token_ids": True}, THINKS)["choices"][0]
    closing = SERVER.ask("/tokenize", {"prompt": "</think>", "add_special_tokens": False})[1]["tokens"]
    assert b["token_ids"][1024:1024 + len(closing)] == closing
    assert a["content"][0]["thinking"] == b["message"]["reasoning"] and a["content"][1]["text"] == b["message"]["content"]


row("chat", "include_reasoning", lambda k, f: thoughts(k, f, lambda a: a["choices"][0]["message"]["reasoning"]))
row("responses", "include_reasoning", lambda k, f: thoughts(k, f, lambda a: [i for i in a["output"] if i["type"] == "reasoning"]))


def thoughts(kind, field, part):
    body = {**BASE[kind], "structured_outputs": {"choice": ["red"]}}
    more = {"max_tokens": 24} if kind == "chat" else {"max_output_tokens": 24}
    ids = SERVER.ask("/tokenize", {"prompt": "<think>"})[1]["tokens"]
    body = {**BASE[kind], **more, "chat_template_kwargs": {"extra": "<think>"}}
    assert len(ids) > 0
    a = ok(kind, body, THINKS)
    assert part(a), a
    assert not part(ok(kind, {**body, field: False}, THINKS))


row("completions", "thinking_token_budget", both(bad(10), same(-1)))
row("chat", "thinking_token_budget", lambda k, f: [bad(10)(k, f), same(-1)(k, f)] + [budget(n) for n in (0, 1, 5)])


def budget(n):
    """Greedy reasoning of a model that never ends it by itself: cut behind n tokens; then the answer begins."""
    opened = {**BASE["chat"], "max_tokens": 40, "chat_template_kwargs": {"extra": "<think>"}, "return_token_ids": True}
    closing = SERVER.ask("/tokenize", {"prompt": "</think>", "add_special_tokens": False})[1]["tokens"]
    free = ok("chat", opened, THINKS)["choices"][0]
    assert free["message"]["content"] is None and len(free["token_ids"]) == 40
    a = ok("chat", {**opened, "thinking_token_budget": n}, THINKS)["choices"][0]
    ids = a["token_ids"]
    assert ids[:n] == free["token_ids"][:n] and ids[n:n + len(closing)] == closing, (ids, closing)
    assert a["message"]["content"] and len(ids) == 40
    assert (a["message"]["reasoning"] or "") == SERVER.ask("/detokenize", {"tokens": ids[:n]})[1]["prompt"], a
    bound = ok("chat", {**opened, "thinking_token_budget": n, "structured_outputs": {"choice": ["red"]}}, THINKS)["choices"][0]
    assert bound["message"]["content"] == "red" and len(bound["token_ids"]) <= n + len(closing) + 4, bound


# ---- names, hints ----
row("completions chat", "request_id", then("abc-1", lambda a, b: a["id"].endswith("-abc-1")))
row("responses", "request_id", then("abc-1", lambda a, b: "abc-1" in a["id"]))
row(GEN, "priority", both(same(-5), bad("high")))
row("completions chat", "user", same("someone"))
row("responses", "user", then("someone", lambda a, b: a["user"] == "someone"))
row(GEN, "session_id", same("s-1"))
row("responses", "prompt_cache_key", same("k"))
row("responses", "metadata", then({"a": "b"}, lambda a, b: a["metadata"] == {"a": "b"}))
row("messages", "metadata", same({"user_id": "u"}))
row("responses", "service_tier", both(then("default", lambda a, b: a["service_tier"] == "default"), bad("gold")))
row("completions chat responses messages", "mm_payload", both(same("none"), bad("some")))
row("completions chat", "length_penalty", lambda k, f: [same(1.5)(k, f), beams(k, -1.0), beams(k, 3.0)])
row("completions chat", "use_beam_search", lambda k, f: [same(False)(k, f), beams(k, 1.0), beams(k, 1.0, ignore_eos=True), beams(k, 1.0, include_stop_str_in_output=True), ends(), leaves()]
    + [check_status(k, {**BASE[k], f: True, **more}, 400) for more in ({"stop": ["a"]}, {"n": 30}, {"logit_bias": {"1": 1}}, {"structured_outputs": {"choice": ["a"]}}, {"best_of": 3, "n": 2})])


def beams(kind, penalty, width=3, steps=6, **more):
    """vLLM's search (entrypoints/generate/beam_search/online.py) written again over log-probabilities that the server gives for single tokens."""
    a = ok(kind, {**BASE[kind], "n": width, "max_tokens": steps, "use_beam_search": True, "length_penalty": penalty, "return_token_ids": True, **more})
    prompt = (a["choices"][0] if kind == "completions" else a)["prompt_token_ids"]
    alive, done = [(prompt, 0.0)], []
    for _ in range(steps):
        found = []
        for ids, total in alive:
            c = ok("completions", {"prompt": ids, "max_tokens": 1, "temperature": 0, "logprobs": 2 * width, "return_tokens_as_token_ids": True})["choices"][0]["logprobs"]
            for token, logprob in c["top_logprobs"][0].items():
                token = int(token.split(":")[1])
                if token == EOS and not more.get("ignore_eos"):
                    done.append((ids + [EOS] if more.get("include_stop_str_in_output") else ids, total + logprob, "stop"))
                else:
                    found.append((ids + [token], total + logprob))
        alive = sorted(found, key=lambda b: -b[1])[:width]
    done += [(ids, total, "length") for ids, total in alive]
    best = sorted(done, key=lambda b: b[1] / max(len(b[0]) - (b[0][-1] == EOS), 1) ** penalty, reverse=True)[:width]
    got = [(c["token_ids"], c["finish_reason"]) for c in a["choices"]]
    assert got == [(ids[len(prompt):], reason) for ids, _, reason in best], (got, best)
    assert out_tokens(a) == sum(len(ids) - len(prompt) for ids, _, _ in best)
    return [reason for _, _, reason in best]


def leaves():
    """A client that leaves ends its search: nothing stays in the engine, and the next one is served."""
    body = json.dumps({"prompt": PROMPT, "n": 4, "max_tokens": 200, "use_beam_search": True}).encode()
    for wait in (0, 0.02, 0.1):
        s = socket.create_connection(("127.0.0.1", int(SERVER.url.rsplit(":", 1)[1])))
        s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        time.sleep(wait)
        s.close()
    idle(SERVER)


def idle(server):
    for _ in range(600):
        with urllib.request.urlopen(server.url + "/metrics") as m:
            held = [line for line in m.read().decode().split("\n") if line.startswith(("vllm:num_requests_running", "vllm:num_requests_waiting{")) and not line.endswith(" 0.0")]
        if not held:
            return
        time.sleep(0.1)
    raise AssertionError(held)


def ends():
    """Behind this prompt the end token is among the best six."""
    for more in ({}, {"include_stop_str_in_output": True}):
        assert "stop" in beams("completions", 0.0, prompt=[425], **more)
    assert "stop" not in beams("completions", 0.0, prompt=[425], ignore_eos=True)


row("completions chat", "routed_experts_prompt_start", both(same(3), bad(-1)))
row("completions chat responses messages", "cache_salt", lambda k, f: [salted(k, f) if k != "messages" else same("salt")(k, f), bad("")(k, f)])


def salted(kind, field):
    """A salt's first request finds nothing in the prefix cache, its second one does."""
    long = " ".join("word%d" % i for i in range(30))
    body = {**BASE[kind], **({"prompt": long} if kind == "completions" else {"input": long} if kind == "responses" else {"messages": [{"role": "user", "content": long}]})}
    found = []
    for salt in (None, None, "s1-" + kind, "s1-" + kind):
        u = ok(kind, {**body, field: salt})["usage"]
        found.append(u.get("prompt_tokens_details", u.get("input_tokens_details", {}))["cached_tokens"])
    assert found[1] > 0 and found[2] == 0 and found[3] == found[1], found


for kinds, field, value in [("completions chat responses messages", "watermarking", True),
                            ("completions", "prompt_embeds", "AAAA"), ("completions chat", "return_token_offsets", True),
                            ("completions chat responses messages", "return_mm_kwargs", True), ("completions chat responses messages", "kv_transfer_params", {"a": 1}),
                            ("completions chat responses messages", "ec_transfer_params", {"a": 1}), ("completions chat responses messages", "vllm_xargs", {"a": 1}),
                            ("chat responses tokenize_chat", "media_io_kwargs", {"image": {}}), ("chat responses tokenize_chat", "mm_processor_kwargs", {"a": 1}),
                            ("responses", "prompt", {"id": "p"}), ("responses", "previous_input_messages", [{"role": "user", "content": "x"}])]:
    row(kinds, field, refused(value))

# ---- every field has its row ----
names = json.load(open(os.path.join(here, "vllm_fields.json")))
del names["source"], names["embeddings"]                # embeddings: embed_test
for kind, fields in OURS.items():
    names[kind] += fields
wanted = {(kind, field) for kind, fields in names.items() for field in fields}
for missing in sorted(wanted - set(ROWS)):
    failed.append(missing)
    print("FAILED no row for %s of %s" % (missing[1], missing[0]))
for more in sorted(set(ROWS) - wanted):
    failed.append(more)
    print("FAILED a row for %s of %s, which is in no list" % (more[1], more[0]))
for (kind, field), check in ROWS.items():
    try:
        check(kind, field)
        done += 1
    except Exception as e:                              # every row runs; the first part of each fault is shown
        failed.append((kind, field))
        print("FAILED %s of %s: %s %s" % (field, kind, type(e).__name__, str(e)[:600]), [f.lineno for f in traceback.extract_tb(e.__traceback__)])

# ---- hostile values: never more than a 400 ----
DEEP = b"[" * 300 + b"]" * 300
VALUES = [b"null", b"true", b"false", b"0", b"-1", b"1", b"1.5", b"-0.0", b"1e308", b"-1e308", b"9223372036854775807", b"-9223372036854775808", b"99999999999999999999999", b"1e999", b"NaN",
          b"Infinity", b'""', b'"NaN"', b'"inf"', b'"-1"', b'"1e5"', b'"\\u0000"', b'"\\ud800"', b'"\xff"', b'"' + b"x" * 5000 + b'"', b"[]", b"[null]", b"[[]]", b"[1e308]", b"[-1]", b'["a",1]',
          b'[""]', b"[" + b"1," * 3000 + b"1]", b"{}", b'{"":null}', b'{"type":"x"}', b'{"type":null}', b'{"a":{"b":[{}]}}', b'{"1":1e308}', b'{"-1":1}', b'{"type":"json_schema","json_schema":{"schema":{"$ref":"#"}}}',
          DEEP]
statuses = {}


def hostile(server, kind, path, field, body):
    """Every hostile value of the field, the others as they are."""
    more = {"max_tokens": 2} if kind in ("completions", "chat", "messages") else {"max_output_tokens": 2} if kind == "responses" else {}
    rest = {k: v for k, v in {**body, **more}.items() if k != field}
    other = b"".join(b", %s: %s" % (json.dumps(k).encode(), json.dumps(v).encode()) for k, v in rest.items())
    for value in VALUES:
        status, a = server.ask(path, b"{" + json.dumps(field).encode() + b": " + value + other + b"}")
        statuses[status] = statuses.get(status, 0) + 1
        if status not in (200, 400) and not (status == 404 and field in ("model", "previous_response_id")):
            failed.append((kind, field))
            print("FAILED hostile %s of %s: %r gives %d %s" % (field, kind, value[:60], status, str(a)[:200]))


for kind, field in sorted(wanted):
    hostile(SERVER, kind, PATHS[kind], field, BASE[kind])
POOLS = Server("--runner", "pooling", "--convert", "embed")
schemas = POOLS.ask("/openapi.json")[1]["components"]["schemas"]
for name, path, body in [("EmbeddingRequest", "/v1/embeddings", {"input": "a"}), ("EmbeddingChatRequest", "/v1/embeddings", {"messages": USER}), ("PoolingRequest", "/pooling", {"input": "a"}),
                         ("ScoreRequest", "/score", {"text_1": "a", "text_2": "b"}), ("RerankRequest", "/rerank", {"query": "a", "documents": ["b"]})]:
    assert POOLS.ask(path, body)[0] == 200, name
    for field in schemas[name]["properties"]:
        hostile(POOLS, name, path, field, body)
POOLS.stop()
print("hostile bodies by status:", statuses)

# ---- unknown fields are taken and logged ----
assert comparable(ok("completions", {**BASE["completions"], "no_such_field_here": [1]})) == comparable(base["completions"])
THINKS.stop()
log = SERVER.stop()
if "no_such_field_here" not in log:
    failed.append("log")
    print("FAILED the unknown field is not in the debug log")
print("%d of %d fields as expected" % (done, len(ROWS)))
sys.exit(1 if failed else 0)
