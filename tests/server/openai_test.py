#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The openai and anthropic packages against the program. usage: openai_test.py VLLMC MODEL.gguf SMALL.gguf
SMALL: with random weights, for long answers.
Prints "left out: ..." where a package or the model is absent."""
import asyncio, json, os, subprocess, sys, tempfile, time, traceback

import clients, long_context

clients.enter()
try:
    import openai
except ImportError:
    print("left out: clients (no openai package)")
    sys.exit(0)
try:
    import anthropic
except ImportError:
    anthropic = None

binary, model = sys.argv[1], sys.argv[2]
models = os.environ.get("VLLMC_TEST_MODELS") or os.path.expanduser("~/.cache/vllmc/models")
path = os.path.join(models, model)
if not os.path.exists(path):
    print(f"left out: clients ({model} is not on this machine)")
    sys.exit(0)

KEY, TOOLS = "test-key", [{"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "maxLength": 12}}, "required": ["city"], "additionalProperties": False}}}]
USER = [{"role": "user", "content": "Name three colors."}]
failed = []


def case(fn):
    try:
        fn()
        print("ok", fn.__name__)
    except Exception as e:                      # every case runs; the first line of each fault is shown
        failed.append(fn.__name__)
        print("FAILED", fn.__name__, type(e).__name__, str(e)[:500], [f.lineno for f in traceback.extract_tb(e.__traceback__)])


def serve():
    args = [binary, "serve", path, "--port", "0", "--api-key", KEY, "--served-model-name", "m", "--max-model-len", "1024", "--kv-cache-memory-bytes", "128M",
            "--enable-auto-tool-choice", "--tool-call-parser", "hermes"]
    p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return p, p.stdout.readline().split()[-1]


server, url = serve()
client = openai.OpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)


def models_list():
    assert [m.id for m in client.models.list().data] == ["m"]


def wrong_key():
    try:
        openai.OpenAI(base_url=url + "/v1", api_key="no", max_retries=0).models.list()
        raise AssertionError("let in")
    except openai.AuthenticationError:
        pass


def completion():
    r = client.completions.create(model="m", prompt="The capital of France is", max_tokens=4, temperature=0, logprobs=2)
    assert r.choices[0].text.startswith(" Paris") and r.usage.completion_tokens == 4 and len(r.choices[0].logprobs.tokens) == 4


def completion_stream():
    parts = list(client.completions.create(model="m", prompt=["One", "Two"], max_tokens=4, temperature=0, stream=True, stream_options={"include_usage": True}))
    assert parts[-1].usage.completion_tokens == 8 and {c.index for p in parts for c in p.choices} == {0, 1}


def chat():
    r = client.chat.completions.create(model="m", messages=USER, max_tokens=6, temperature=0, logprobs=True, top_logprobs=3)
    assert r.choices[0].finish_reason == "length" and r.choices[0].message.content and len(r.choices[0].logprobs.content) == 6
    assert len(r.choices[0].logprobs.content[0].top_logprobs) == 3


def chat_stream():
    whole = client.chat.completions.create(model="m", messages=USER, max_tokens=12, temperature=0).choices[0].message.content
    text = "".join(c.choices[0].delta.content or "" for c in client.chat.completions.create(model="m", messages=USER, max_tokens=12, temperature=0, stream=True))
    assert text == whole, (text, whole)


def stream_helper():
    with client.chat.completions.stream(model="m", messages=USER, max_tokens=60, temperature=0, stop=["\n"]) as s:
        for _ in s:
            pass
        assert s.get_final_completion().choices[0].message.content


def chat_async():
    async def run():
        c = openai.AsyncOpenAI(base_url=url + "/v1", api_key=KEY, max_retries=0)
        rs = await asyncio.gather(*[c.chat.completions.create(model="m", messages=USER, max_tokens=8, temperature=0) for _ in range(8)])
        assert len({r.choices[0].message.content for r in rs}) == 1
        out = ""
        async for ch in await c.chat.completions.create(model="m", messages=USER, max_tokens=8, temperature=0, stream=True):
            out += ch.choices[0].delta.content or ""
        assert out == rs[0].choices[0].message.content
    asyncio.run(run())


def tools_required():
    r = client.chat.completions.create(model="m", messages=USER, max_tokens=80, temperature=0, tools=TOOLS, tool_choice="required", parallel_tool_calls=False)
    call = r.choices[0].message.tool_calls[0]
    assert r.choices[0].finish_reason == "tool_calls" and call.function.name == "get_weather" and set(json.loads(call.function.arguments)) == {"city"}


def tools_named_stream():
    name, args = "", ""
    for ch in client.chat.completions.create(model="m", messages=USER, max_tokens=60, temperature=0, tools=TOOLS, stream=True,
                                             tool_choice={"type": "function", "function": {"name": "get_weather"}}):
        for t in ch.choices[0].delta.tool_calls or []:
            name += t.function.name or ""
            args += t.function.arguments or ""
    assert name == "get_weather" and set(json.loads(args)) == {"city"}, (name, args)


def parse():
    import pydantic

    class Color(pydantic.BaseModel):
        name: str = pydantic.Field(max_length=10)
        rgb: list[int] = pydantic.Field(min_length=3, max_length=3)
    r = client.chat.completions.parse(model="m", messages=[{"role": "user", "content": "A color as JSON"}], max_tokens=120, temperature=0, response_format=Color)
    assert len(r.choices[0].message.parsed.rgb) == 3


def not_found():
    try:
        client.chat.completions.create(model="other", messages=USER)
        raise AssertionError("served")
    except openai.NotFoundError as e:
        assert e.code == 404 or e.body["code"] == 404


def bad_request():
    try:
        client.chat.completions.create(model="m", messages=USER, temperature=9)
        raise AssertionError("served")
    except openai.BadRequestError as e:
        assert e.param == "temperature"


def responses():
    r = client.responses.create(model="m", input="Name three colors.", max_output_tokens=8, temperature=0)
    assert r.output_text and r.usage.output_tokens == 8 and r.status == "incomplete"
    again = client.responses.create(model="m", input="And two more?", previous_response_id=r.id, max_output_tokens=8, temperature=0)
    assert again.usage.input_tokens > r.usage.input_tokens
    assert client.responses.retrieve(r.id).output_text == r.output_text


def responses_stream():
    text, kinds = "", []
    with client.responses.stream(model="m", input="Name three colors.", max_output_tokens=8, temperature=0) as s:
        for e in s:
            kinds.append(e.type)
            if e.type == "response.output_text.delta":
                text += e.delta
        assert s.get_final_response().output_text == text and text
    assert kinds[0] == "response.created" and kinds[-1] == "response.completed", kinds


def responses_background():
    ask = {"model": "m", "input": "Name three colors.", "max_output_tokens": 8, "temperature": 0, "background": True}
    r, n = client.responses.create(**ask), 0
    assert r.status == "queued" and r.background and not r.output
    while r.status in ("queued", "in_progress"):
        r, n = client.responses.retrieve(r.id), n + 1
        assert n < 10000
    assert r.status == "incomplete" and r.output_text == client.responses.create(**dict(ask, background=False)).output_text
    with client.responses.create(**dict(ask, max_output_tokens=200), stream=True, extra_body={"ignore_eos": True}) as s:     # left behind its first event
        first = next(iter(s))
    assert first.type == "response.created" and first.response.background
    rest = list(client.responses.retrieve(first.response.id, stream=True, starting_after=first.sequence_number))
    assert [e.sequence_number for e in rest] == list(range(1, len(rest) + 1)) and rest[-1].type == "response.completed"
    assert rest[-1].response.usage.output_tokens == 200 and rest[-1].response.output_text == "".join(e.delta for e in rest if e.type == "response.output_text.delta")
    r = client.responses.create(**dict(ask, max_output_tokens=200), extra_body={"ignore_eos": True})
    assert client.responses.cancel(r.id).status == "cancelled" and client.responses.retrieve(r.id).status == "cancelled"
    try:
        client.responses.cancel(r.id)
        raise AssertionError("cancelled twice")
    except openai.BadRequestError as e:
        assert "Cannot cancel" in str(e)


def anthropic_message():
    c = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    m = c.messages.create(model="m", max_tokens=8, extra_body={"temperature": 0}, system="Be brief.", messages=USER)
    assert m.content[0].text and m.stop_reason == "max_tokens" and m.usage.output_tokens == 8
    assert c.messages.count_tokens(model="m", system="Be brief.", messages=USER).input_tokens == m.usage.input_tokens


def anthropic_stream():
    c = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    whole = c.messages.create(model="m", max_tokens=8, extra_body={"temperature": 0}, messages=USER).content[0].text
    with c.messages.stream(model="m", max_tokens=8, extra_body={"temperature": 0}, messages=USER) as s:
        assert "".join(s.text_stream) == whole
        assert s.get_final_message().usage.output_tokens == 8


def anthropic_tool():
    c = anthropic.Anthropic(base_url=url, api_key=KEY, max_retries=0)
    tool = {"name": "get_weather", "description": "Weather", "input_schema": TOOLS[0]["function"]["parameters"]}
    m = c.messages.create(model="m", max_tokens=60, extra_body={"temperature": 0}, messages=USER, tools=[tool], tool_choice={"type": "tool", "name": "get_weather"})
    assert m.content[-1].type == "tool_use" and set(m.content[-1].input) == {"city"} and m.stop_reason == "tool_use", m


def anthropic_thinking():
    """A budget ends the reasoning of a model that never ends it by itself."""
    template = "{{ messages[0].content }}<think>\n{% if not enable_thinking %}\n</think>\n\n{% endif %}"
    with tempfile.TemporaryDirectory() as d:
        p = subprocess.Popen([binary, "serve", long_context.copy(sys.argv[3], d, 4096), "--port", "0", "--served-model-name", "m", "--kv-cache-memory-bytes", "16M", "--threads", "1",
                              "--chat-template", template, "--reasoning-parser", "qwen3"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            c = anthropic.Anthropic(base_url=p.stdout.readline().split()[-1], api_key="none", max_retries=0)
            ask = {"model": "m", "max_tokens": 1040, "messages": [{"role": "user", "content": "Hello"}], "extra_body": {"temperature": 0}}
            m = c.messages.create(**ask, thinking={"type": "enabled", "budget_tokens": 1024})
            assert [b.type for b in m.content] == ["thinking", "text"] and m.content[1].text and m.usage.output_tokens == 1040, m
            with c.messages.stream(**ask, thinking={"type": "enabled", "budget_tokens": 1024}) as s:
                assert [b.model_dump() for b in s.get_final_message().content] == [b.model_dump() for b in m.content]
            m = c.messages.create(**ask, thinking={"type": "adaptive"})
            assert [b.type for b in m.content][:1] == ["thinking"], m
            m = c.messages.create(**ask, thinking={"type": "disabled"})
            assert [b.type for b in m.content] == ["text"], m
            try:
                c.messages.create(**ask, thinking={"type": "enabled", "budget_tokens": 1000})
                raise AssertionError("served")
            except anthropic.BadRequestError as e:
                assert "budget_tokens" in str(e), e
        finally:
            p.terminate()
            p.wait(60)


cases = [models_list, wrong_key, completion, completion_stream, chat, chat_stream, stream_helper, chat_async, tools_required, tools_named_stream, parse, not_found,
         bad_request, responses, responses_stream, responses_background]
if anthropic:
    cases += [anthropic_message, anthropic_stream, anthropic_tool, anthropic_thinking]
else:
    print("left out: the anthropic client (no such package)")
begun = time.time()
try:
    for fn in cases:
        case(fn)
finally:
    server.terminate()
    rc = server.wait(60)
print(f"{len(cases) - len(failed)} of {len(cases)} cases, {time.time() - begun:.1f} s, exit code {rc}")
sys.exit(1 if failed or rc else 0)
