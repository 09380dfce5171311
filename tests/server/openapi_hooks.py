# SPDX-License-Identifier: Apache-2.0
"""Hooks of schemathesis for openapi_test.py. Generated bodies nearly always hold a value that a range or a pair of fields forbids, so
that answers would hardly be seen: half of them are cut to a served model, a short prompt and two of the generated fields."""
import json, zlib

import schemathesis

BASE = {"/v1/completions": {"prompt": "a b", "max_tokens": 4}, "/v1/chat/completions": {"messages": [{"role": "user", "content": "a"}], "max_tokens": 4},
        "/v1/responses": {"input": "a", "max_output_tokens": 4}, "/v1/messages": {"model": "m", "messages": [{"role": "user", "content": "a"}], "max_tokens": 4},
        "/v1/messages/count_tokens": {"model": "m", "messages": [{"role": "user", "content": "a"}]}, "/tokenize": {"prompt": "a"},
        "/detokenize": {"tokens": [7, 8]}, "/v1/embeddings": {"input": "a"}, "/pooling": {"input": "a"}, "/score": {"text_1": "a", "text_2": "b"},
        "/v1/score": {"queries": "a", "documents": ["b"]}, "/rerank": {"query": "a", "documents": ["b", "c"]}, "/v1/rerank": {"query": "a", "documents": ["b"]},
        "/v2/rerank": {"query": "a", "documents": ["b"]}}


@schemathesis.hook
def before_call(context, case, kwargs):
    base, body = BASE.get(case.operation.path), case.body
    seed = zlib.crc32(json.dumps(body, sort_keys=True, default=str).encode()) if isinstance(body, dict) else 0
    if base is None or not isinstance(body, dict) or seed % 2:
        return
    names = sorted(k for k in body if k not in base and k != "model")
    case.body = {**{k: body[k] for k in (names[seed // 2 % len(names):][:2] if names else [])}, **base}
