#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""/openapi.json and /docs against the server itself, and schemathesis against both, where it is installed (clients.py). usage: openapi_test.py VLLMC MODEL.gguf doc/openapi.json"""
import base64, hashlib, json, os, re, shutil, subprocess, sys, urllib.error, urllib.request

import clients

clients.enter()

binary, model, document = sys.argv[1:4]
here = os.path.dirname(os.path.abspath(__file__))
TEMPLATE = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,unsupported_method,"
          "allow_header_conformance,missing_required_header,use_after_free")


def serve(*more):
    p = subprocess.Popen([binary, "serve", model, "--port", "0", "--served-model-name", "m", "--chat-template", TEMPLATE, "--kv-cache-memory-bytes", "16M", "--threads", "1",
                          *more], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return p, p.stdout.readline().split()[-1]


def ask(path, method="GET", data=None):
    r = urllib.request.Request(url + path, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(r, timeout=60) as f:
            return f.status, dict(f.headers), f.read()
    except urllib.error.HTTPError as e:
        return e.code, dict(e.headers), e.read()


def refs(v):
    if isinstance(v, dict):
        if "$ref" in v:
            yield v["$ref"]
        for x in v.values():
            yield from refs(x)
    elif isinstance(v, list):
        for x in v:
            yield from refs(x)


server, url = serve()
status, headers, text = ask("/openapi.json")
assert status == 200 and headers["Content-Type"] == "application/json", (status, headers)
assert text == open(document, "rb").read(), "doc/openapi.json is not what the server says; run tools/make-docs"
spec = json.loads(text)
assert spec["openapi"] == "3.1.0"
for ref in refs(spec):
    at = spec
    for part in ref[2:].split("/"):
        at = at[part]
try:
    import openapi_spec_validator
    openapi_spec_validator.validate(spec)
    print("ok openapi-spec-validator")
except ImportError:
    print("left out: openapi-spec-validator is not installed")

# Methods: what is documented answers with a documented status, everything else is a 405 that says what there is.
for path, item in spec["paths"].items():
    at = path.replace("{id}", "none")
    for method in ("GET", "POST", "PUT", "DELETE", "PATCH"):
        status, headers, _ = ask(at, method, b"{}" if method != "GET" else None)
        if method.lower() in item:
            assert str(status) in item[method.lower()]["responses"], (method, path, status)
        elif re.search("embed|pooling|score|rerank", path):     # the model generates: it has no such path
            assert status == 404, (method, path, status)
        else:
            assert status == 405 and set(headers["Allow"].split(", ")) == {m.upper() for m in item}, (method, path, status, headers)

# The page: no scripts, nothing from elsewhere, its style by hash.
status, headers, text = ask("/docs")
page = text.decode()
style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
policy = headers["Content-Security-Policy"]
assert status == 200 and "default-src 'none'" in policy, headers
assert "'sha256-%s'" % base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in policy, "the hash in srv_docs.c is not that of its style"
assert "<script" not in page and "style=" not in page and not re.search(r"(src|href)=\"(https?:)?//", page)
for path, item in spec["paths"].items():
    assert path in page, path
for name in spec["components"]["schemas"]["ChatRequest"]["properties"]:
    assert "<code>%s</code>" % name in page, name
print("ok", len(spec["paths"]), "paths,", len(spec["components"]["schemas"]), "schemas")

tool, bad = shutil.which("schemathesis", path=clients.path()), 0


def fuzz(seconds, *more):
    global bad
    run = subprocess.run([tool, "--no-color", "run", url + "/openapi.json", "-n", "6", "--generation-deterministic", "--max-time", str(seconds), "--checks", CHECKS,
                          "--continue-on-failure", "--warnings", "off", *more], env={**os.environ, "SCHEMATHESIS_HOOKS": "openapi_hooks", "PYTHONPATH": here},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=os.environ.get("TMPDIR", "/tmp"))
    seen = re.findall(r'^http_requests_total{handler="([^"]+)",method="POST",status="2xx"} (\d+)', ask("/metrics")[2].decode(), re.M)
    print("answers with 200:", ", ".join("%s %s" % s for s in sorted(seen)))
    found = re.search(r"(\d+) generated, (\d+) passed", run.stdout)
    if run.returncode or not found:
        bad += 1
        print(run.stdout[-8000:])
    else:
        print("ok schemathesis:", found.group(0))


def stop():
    server.terminate()
    assert server.wait(60) == 0, server.returncode


if tool:
    fuzz(28, "--exclude-path-regex", "embed|pooling|score|rerank")
    stop()
    server, url = serve("--runner", "pooling", "--convert", "embed")
    fuzz(12, "--include-path-regex", "embed|pooling|score|rerank")
else:
    print("left out: schemathesis is not installed")
stop()
sys.exit(1 if bad else 0)
