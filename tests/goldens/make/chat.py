# SPDX-License-Identifier: Apache-2.0
"""Usage: chat.py VLLM_DIR TEMPLATES_DIR OUT_DIR
How vLLM's own code normalises chat requests, and what it and Jinja2 find out about chat templates:
  messages.jsonl  {"messages", "format": "string" | "openai", "developer", "output" | "error"}
  tools.jsonl     {"tools", "output" | "error"}
  kwargs.jsonl    {"defaults", "request", "reasoning_effort", "output"}
  templates.json  {name of a template: {"format", "variables", "developer"}}
  variables.jsonl {"template", "variables"} of snippets
VLLM_DIR is the folder vllm/ of its sources (0.32.0); needs jinja2, transformers, openai, pydantic, openai_harmony, Pillow."""
import copy
import json
import re
import sys
from pathlib import Path

import vllm_chat
from vllm_chat import dump_lines

vllm_dir, templates_dir, out_dir = (Path(p) for p in sys.argv[1:4])
chat_utils, hf = vllm_chat.load(vllm_dir)

import jinja2.meta
import jinja2.sandbox
from pydantic import BaseModel, ConfigDict, TypeAdapter, model_serializer, model_validator

schema = TypeAdapter(list[chat_utils.ChatCompletionMessageParam])


def no_media(self, *a, **k):
    raise ValueError("not a multimodal model")


chat_utils.BaseMultiModalItemTracker.add = no_media
chat_utils.MultiModalItemTracker.resolve_items = lambda self: (None, None)


class ModelConfig(vllm_chat.Anything):
    enable_prompt_embeds = False
    multimodal_config = None


def source_of(path, names, into):
    """Runs the named classes and functions of a file."""
    text = (vllm_dir / path).read_text()
    for name in names:
        m = re.search(r"^(?:class|def) %s\b.*?(?=^[^\s)]|\Z)" % name, text, re.S | re.M)
        exec("from __future__ import annotations\n" + m.group(0), into)


class OpenAIBaseModel(BaseModel):
    model_config = ConfigDict(extra="allow")


protocol = {"OpenAIBaseModel": OpenAIBaseModel, "model_serializer": model_serializer, "model_validator": model_validator, "__name__": __name__}
exec("from typing import *", protocol)
source_of("entrypoints/generate/base/protocol.py", ["FunctionDefinition"], protocol)
source_of("entrypoints/openai/chat_completion/protocol.py", ["ChatCompletionToolsParam"], protocol)
protocol["ChatCompletionToolsParam"].model_rebuild(_types_namespace=protocol)
tools_schema = TypeAdapter(list[protocol["ChatCompletionToolsParam"]])
params = {"__name__": __name__}
exec("from typing import *", params)
source_of("renderers/params.py", ["merge_kwargs"], params)


def normalise(messages, fmt, developer):
    for msg in messages:        # ChatCompletionRequest._normalize_messages_before
        if isinstance(msg, dict):
            reasoning = msg.pop("reasoning_content", None)
            if reasoning is not None and msg.get("reasoning") is None:
                msg["reasoning"] = reasoning
    messages = schema.validate_python(messages)
    for msg in messages:        # _materialize_tool_calls_after
        if isinstance(msg, dict) and msg.get("tool_calls") is not None and not isinstance(msg["tool_calls"], list):
            msg["tool_calls"] = list(msg["tool_calls"])
    conversation, _, _ = chat_utils.parse_chat_messages(messages, ModelConfig(), fmt)
    if not developer and any(m["role"] == "developer" for m in conversation):
        conversation = hf._consolidate_system_messages(hf._convert_developer_to_system(conversation))
    return conversation


def kwargs_of(defaults, request, effort):
    extra = {"reasoning_effort": effort}      # ChatCompletionRequest.build_chat_params
    if effort is not None and "enable_thinking" not in (request or {}):
        extra["enable_thinking"] = effort != "none"
    merge = params["merge_kwargs"]
    return merge(defaults, merge(request, extra))


def outcome(fn, *args):
    try:
        return {"output": json.loads(json.dumps(fn(*copy.deepcopy(args))))}
    except Exception as e:
        return {"error": type(e).__name__}


def call(name="f", arguments="{\"a\": 1}", id="c1", **more):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def text(s, **more):
    return {"type": "text", "text": s, **more}


U, S, D, A, T = ({"role": r} for r in ("user", "system", "developer", "assistant", "tool"))
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"b": {}, "a": {}}}}}
# Not here, since vllm.c is stricter or laxer on purpose: strings among the parts of a tool message (taken, as of the other
# roles), malformed tools of a developer message and a reasoning that is no string (errors; vLLM leaves the field out).
CONVERSATIONS = [
    [{**U, "content": "hi"}],
    [{**U, "content": ""}],
    [{**U, "content": None}],
    [{**U}],
    [{"role": "critic"}],
    [{"role": "critic", "content": "x"}],
    [{"role": "", "content": "x"}],
    [{"content": "x"}],
    [{"role": 3, "content": "a"}],
    [{"role": None, "content": "a"}],
    ["x"], [3], [None], [[]],
    [{**U, "content": 3}], [{**U, "content": True}], [{**U, "content": {"type": "text", "text": "a"}}],
    [{**U, "content": []}],
    [{**U, "content": [3]}], [{**U, "content": [None]}], [{**U, "content": [[]]}],
    [{**U, "content": ["a", text("b")]}],
    [{**U, "content": [text("a"), text("b"), text("")]}],
    [{**U, "content": [text("é\n\u2028😀"), text("x\u0000y")]}],
    [{**U, "content": [text("b", foo=1, cache_control={"type": "ephemeral"})]}],
    [{**U, "content": [{"type": "text"}]}],
    [{**U, "content": [text(None)]}], [{**U, "content": [text(3)]}], [{**U, "content": [text(["a"])]}],
    [{**U, "content": [{"text": "b"}]}], [{**U, "content": [{}]}],
    [{**U, "content": [{"type": "bogus", "text": "b"}]}],
    [{**U, "content": [{"type": 3, "text": "a"}]}],
    [{**U, "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}],
    [{**U, "content": [text("a"), {"type": "image_url", "image_url": {"url": "x"}}]}],
    [{**U, "content": [{"image_url": "https://x/y.png"}]}],
    [{**U, "content": [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}]}],
    [{**U, "content": [{"type": "video_url", "video_url": {"url": "x"}}]}],
    [{**U, "content": [{"type": "image"}]}],
    [{**U, "content": [{"type": "thinking", "thinking": "hm"}]}],
    [{**U, "content": [{"type": "thinking"}]}],
    [{**A, "content": [{"type": "refusal", "refusal": "no"}]}],
    [{**A, "content": [{"type": "refusal"}]}],
    [{**U, "content": [{"type": "tool_reference", "name": "a"}]}],
    [{**U, "content": "a", "name": "bob"}], [{**U, "content": "a", "name": 3}],
    [{**U, "content": "a", "task": "t"}], [{**U, "content": "a", "unknown": [1]}],
    [{**S, "content": "sys"}, {**U, "content": "u"}],
    [{**S, "content": [text("a"), text("b")]}, {**U, "content": [text("u")]}],
    [{**S, "content": "x-anthropic-billing-header: a=1\nrest\nmore"}, {**U, "content": "u"}],
    [{**S, "content": "x-anthropic-billing-header: a=1"}, {**U, "content": "u"}],
    [{**S, "content": "x-anthropic-billing-header: a=1\n"}, {**U, "content": "u"}],
    [{**S, "content": [text("x-anthropic-billing-header: 1"), text("keep"), text("x-anthropic-billing-header: 1\nq")]}],
    [{**U, "content": "x-anthropic-billing-header: a=1\nrest"}],
    [{**A, "content": None, "tool_calls": [call()]}],
    [{**A, "tool_calls": [call()]}],
    [{**A}], [{**A, "content": None}],
    [{**A, "content": "x", "tool_calls": []}], [{**A, "content": "x", "tool_calls": None}],
    [{**A, "content": "x", "tool_calls": "no"}], [{**A, "content": "x", "tool_calls": [3]}],
    [{**A, "content": "x", "tool_calls": [call(), call("g", "{}", "c2")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="  {\"z\": [1, 2.5, null, true, \"s\"], \"a\": {\"b\": {}}}\n")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="[1]")]}], [{**A, "content": "x", "tool_calls": [call(arguments="42")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="null")]}], [{**A, "content": "x", "tool_calls": [call(arguments="{\"a\": ")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="{\"a\": 1, \"a\": 2}")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments="{} x")]}],
    [{**A, "content": "x", "tool_calls": [call(arguments={"a": 1})]}], [{**A, "content": "x", "tool_calls": [call(arguments=None)]}],
    [{**A, "content": "x", "tool_calls": [call(extra=1)]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f"}}]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "type": "function", "function": {"arguments": "{}"}}]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "type": "function", "function": "f"}]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "type": "function"}]}],
    [{**A, "content": "x", "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}],
    [{**A, "content": "x", "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}]}],
    [{**A, "content": "a", "reasoning": "r"}], [{**A, "content": "a", "reasoning_content": "r"}],
    [{**A, "content": "a", "reasoning": "r", "reasoning_content": "q"}], [{**A, "content": "a", "reasoning": None, "reasoning_content": "q"}],
    [{**A, "content": "a", "reasoning": ""}], [{**U, "content": "a", "reasoning": "r"}],
    [{**A, "content": "a", "reasoning": "r", "tool_calls": [call()], "name": "n"}],
    [{**A, "content": "a", "thinking": "q"}], [{**A, "content": "a", "prefix": True}],
    [{**A, "content": "a", "function_call": {"name": "f", "arguments": "{}"}}],
    [{**A, "content": "a", "refusal": "no"}],
    [{**T, "content": "r", "tool_call_id": "c"}], [{**T, "content": "r"}], [{**T, "content": None, "tool_call_id": "c"}],
    [{**T, "tool_call_id": "c"}], [{**T, "content": "r", "tool_call_id": "c", "name": "f"}],
    [{**T, "content": [text("a"), text("b")], "tool_call_id": "c"}], [{**T, "content": [], "tool_call_id": "c"}],
    [{**T, "content": [{"type": "tool_reference", "name": "g"}, text("x")], "tool_call_id": "c"}],
    [{**T, "content": "r", "tool_call_id": 7}],
    [{"role": "function", "name": "f", "content": "a"}], [{"role": "function", "name": "f", "content": None}],
    [{**D, "content": "d"}], [{**D, "content": "d", "tools": [TOOL]}], [{**D, "content": "d", "tools": []}],
    [{**D, "content": "d", "tools": [{"type": "function", "function": {"name": "f", "strict": True, "x": 1}}]}],
    [{**D, "content": [text("a"), text("b")]}, {**U, "content": "u"}],
    [{**U, "content": "u"}, {**D, "content": "d"}, {**U, "content": "v"}],
    [{**S, "content": "s"}, {**D, "content": "d"}, {**U, "content": "v"}],
    [{**S, "content": [text("s"), text("t")]}, {**U, "content": "u"}, {**D, "content": [text("d")]}, {**S, "content": ""}],
    [{**S, "content": ""}, {**D, "content": "d"}, {**U, "content": "v"}],
    [{**S, "content": "s"}, {**U, "content": "u"}, {**S, "content": "late"}],
    [{**S, "content": "s"}, {**U, "content": "w?"}, {**A, "content": "", "reasoning": "think", "tool_calls": [call("get", "{\"city\": \"São Paulo\"}")]},
     {**T, "content": "{\"t\": 1}", "tool_call_id": "c1"}, {**A, "content": "21"}, {**U, "content": [text("a"), text("b")]}],
]
TOOLS = [
    [], [TOOL], [TOOL, TOOL],
    [{"type": "function", "function": {"name": "f"}}], [{"function": {"name": "f"}}], [{"type": "f", "function": {"name": "f"}}],
    [{"type": None, "function": {"name": "f"}}], [{"type": "function"}], [{"type": "function", "function": "f"}], ["x"], [None],
    [{"type": "function", "function": {"name": 3}}], [{"type": "function", "function": {}}],
    [{"type": "function", "function": {"name": "f", "description": 3}}], [{"type": "function", "function": {"name": "f", "parameters": []}}],
    [{"type": "function", "function": {"name": "f", "description": None, "parameters": None, "strict": None}}],
    [{"type": "function", "function": {"parameters": {}, "strict": True, "description": "d", "name": "f"}}],
    [{"type": "function", "function": {"name": "f", "strict": False, "returns": {"type": "string"}}, "extra": 1}],
    [{"type": "function", "function": {"name": "f", "defer_loading": True}}],
    [{"type": "function", "function": {"name": "f"}, "defer_loading": True}],
    [{"type": "function", "function": {"name": "f", "defer_loading": False}, "defer_loading": True}],
    [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"z": {"type": "integer", "x-y": [1, 2.5]}, "a": {}}, "required": ["z"]}}}],
]
KWARGS = [
    (None, None, None), ({}, {}, None), ({"a": 1}, {"b": 2}, None), ({"a": 1}, {"a": 2}, None), ({"a": 1}, {"a": None}, None),
    ({"a": 1}, {"a": "auto"}, None), ({"a": None}, None, None), (None, {"enable_thinking": False}, "high"), (None, None, "high"),
    (None, None, "none"), ({"enable_thinking": True}, None, "none"), ({"reasoning_effort": "low"}, None, "high"),
    (None, {"reasoning_effort": "low"}, "high"), (None, {"reasoning_effort": "low"}, None), (None, {"x": [1, {"y": None}]}, "medium"),
    (None, {"enable_thinking": None}, "low"),
]
VARIABLES = r'''
{{ a }}{{ b.c }}{{ d[e] }}
{% set x = 1 %}{{ x }}
{{ x }}{% set x = 1 %}
{% if a %}{% set x = 1 %}{% endif %}{{ x }}
{% if a %}{% set x = 1 %}{% else %}{% set x = 2 %}{% endif %}{{ x }}
{% if a %}{% set x = 1 %}{% elif b %}{{ x }}{% endif %}
{% set x = 0 %}{% if a %}{% set x = 1 %}{% endif %}{{ x }}
{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}{{ enable_thinking }}
{% for m in messages %}{{ m.content }}{{ loop.index }}{{ y }}{% endfor %}{% set y = 1 %}
{% for m in messages %}{% set z = m %}{% endfor %}{{ z }}
{% for m in messages if m.role == r %}{{ m }}{% else %}{{ q }}{{ m }}{% endfor %}
{% for a, b in d.items() %}{{ a }}{{ b }}{{ c }}{% endfor %}{{ b }}
{% macro f(a, b=c) %}{{ a }}{{ b }}{{ e }}{{ caller() }}{{ kwargs }}{{ varargs }}{% endmacro %}{{ f(1) }}{{ g() }}
{% macro f() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ f() }}
{% call(u) f(v) %}{{ u }}{{ w }}{% endcall %}
{% with a = b, c = a %}{{ a }}{{ c }}{{ d }}{% endwith %}{{ c }}
{% set s %}{{ inside }}{% endset %}{{ s }}
{% filter upper %}{{ a }}{% endfilter %}
{% filter replace(p, q) %}x{% endfilter %}
{% set ns = namespace(v=start) %}{% set ns.v = other %}{{ ns.v }}{% set outer.v = 1 %}
{{ range(3) | join(sep) }}{{ dict(a=k) }}{{ lipsum }}{{ joiner }}{{ cycler }}
{{ x is defined and x is not none }}{{ y | default(z) }}
{% generation %}{{ g }}{% set h = 1 %}{% endgeneration %}{{ h }}
{% autoescape e %}{{ f }}{% endautoescape %}
{{ self }}{{ loop }}{{ super }}{{ caller }}{{ kwargs }}{{ varargs }}
{% for x in xs recursive %}{{ loop(x.c) }}{% endfor %}
{% for x in xs %}{% for y in x %}{{ loop.index }}{{ x }}{{ z }}{% endfor %}{% set z = 1 %}{% endfor %}
{{ a if b else c }}{{ [d, e] }}{{ {f: g} }}{{ h ~ i }}{{ j(k, l=m, *n, **o) }}{{ p[q:r:s] }}
{% if a %}{{ x }}{% else %}{% set x = 1 %}{% endif %}
{% block t %}{{ a }}{% set b = 1 %}{% endblock %}{{ b }}
{% set a, b = c %}{{ a }}{{ b }}{% set (d, e) = f %}{{ d }}
{% for x in x %}{{ x }}{% endfor %}
{% set x = x %}{{ x }}
{% macro outer(a) %}{% macro inner(b) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ inner(1) }}{% endmacro %}{{ inner }}
{% for x in y %}{% if x %}{% set q = 1 %}{% endif %}{{ q }}{% endfor %}
{% raw %}{{ no }}{% endraw %}{# {{ no2 }} #}{{ yes }}
{% set tools = tools or none %}{% if tools %}{{ documents }}{% endif %}
{% print a, b %}{{ true }}{{ none }}{{ False }}
{% if a %}{% if b %}{% set x = 1 %}{% endif %}{% endif %}{{ x }}
{% for x in y %}{% set w = 1 %}{% for v in x %}{{ w }}{% endfor %}{% endfor %}
'''.strip("\n").split("\n")

OWN = {"raise_exception", "strftime_now"}     # globals of transformers' environment


def variables(template):
    return sorted(hf._resolve_chat_template_kwargs(template) - OWN)


hf.AssistantTracker.identifier = "generation"
dump_lines(out_dir / "messages.jsonl", [{"messages": c, "format": f, "developer": d, **outcome(normalise, c, f, d)} for c in CONVERSATIONS
                                        for f in ("string", "openai") for d in (True, False) if d or any(isinstance(m, dict) and m.get("role") == "developer" for m in c)])
dump_lines(out_dir / "tools.jsonl", [{"tools": t, **outcome(lambda t: [x.model_dump() for x in tools_schema.validate_python(t)], t)} for t in TOOLS])
dump_lines(out_dir / "kwargs.jsonl", [{"defaults": d, "request": r, "reasoning_effort": e, **outcome(kwargs_of, d, r, e)} for d, r, e in KWARGS])
dump_lines(out_dir / "variables.jsonl", [{"template": v, "variables": variables(v)} for v in VARIABLES])
rows = {}
for path in sorted(templates_dir.glob("*.jinja")):
    source = path.read_text(encoding="utf-8")
    rows[path.name] = {"format": hf._detect_content_format(source, default="string"), "variables": variables(source),
                       "developer": hf._detect_developer_role_support(source)}
(out_dir / "templates.json").write_text(json.dumps(rows, indent=1) + "\n")
