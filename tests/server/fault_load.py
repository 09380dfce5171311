#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hostile load on `vllmc serve`, beside it requests whose answers must keep their bits.

    fault_load.py VLLMC MODEL [--seconds 8 | --minutes 30] [--connections N] [--tls] [--no-rss]

Idle, half-sent and dripping connections (10,000 where the limit of open files allows), slow readers, clients that leave and
clients that are killed, malformed HTTP, JSON and UTF-8, bodies of a gigabyte, a KV cache that is too small for what is asked
of it, a log that goes to a full disk, SIGTERM under load. Meanwhile the same requests are sent again and again and their
tokens and log-probabilities compared with those of a quiet server. In the end nothing may be held: no call, no answer, every
block free; memory may not have grown; the program ends with 0. Exit 1 with one line per fault."""
import argparse, http.client, json, os, random, resource, selectors, shutil, signal, socket, ssl, statistics, struct, subprocess, sys, tempfile, threading, time

faults, lock = [], threading.Lock()


def fault(text):
    with lock:
        if len(faults) < 40:
            faults.append(text)
            print("fault:", text, flush=True)


# ---- the server ----

def client_context():
    """Of a client that asks for no certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def certificate(folder):
    """Options for a server with a certificate of its own."""
    pem, key = os.path.join(folder, "pem"), os.path.join(folder, "key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-keyout", key, "-out", pem],
                   check=True, capture_output=True)
    return ["--ssl-certfile", pem, "--ssl-keyfile", key]



class Server:
    def __init__(self, program, model, *options, log=None, env=None, headers=None):
        """log: a file; without one it is a full disk. headers: of every `ask`."""
        full = log or ("/dev/full" if os.path.exists("/dev/full") else os.devnull)
        command = [program, "serve", model, "--port", "0", "--served-model-name", "m", "--enable-debug-endpoints", "--log-level", "debug", *options]
        with open(full, "w") as out:
            self.p = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True, env=env)
        self.headers = {"Content-Type": "application/json"} | (headers or {})
        line = self.p.stdout.readline()
        if "http" not in line:
            sys.exit(f"the server did not start: {command}: {self.p.wait()}")
        self.port = int(line.strip().rsplit(":", 1)[1])
        self.tls = client_context() if "https" in line else None

    def rss(self):
        """Resident MiB."""
        with open(f"/proc/{self.p.pid}/statm") as f:
            return int(f.read().split()[1]) * resource.getpagesize() / 2**20

    def ask(self, method, path, body=None, timeout=120):
        c = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=timeout, context=self.tls) if self.tls else http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            c.request(method, path, body if body is None or isinstance(body, bytes) else json.dumps(body), self.headers)
            r = c.getresponse()
            return r.status, r.read()
        finally:
            c.close()

    def held(self):
        return json.loads(self.ask("GET", "/debug/blocks")[1])

    def open(self, small=False):
        s = socket.socket()
        s.settimeout(30)
        if small:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        s.connect(("127.0.0.1", self.port))
        return self.tls.wrap_socket(s) if self.tls else s


def post_bytes(path, body, close=True):
    return (f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{'Connection: close' + chr(13) + chr(10) if close else ''}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


# ---- requests whose answers are known ----

def references(rng):
    for i in range(12):
        r = {"prompt": [rng.randrange(3, 250) for _ in range(rng.randrange(1, 60))], "max_tokens": rng.randrange(20, 120), "ignore_eos": True, "logprobs": 3,
             "return_token_ids": True, "stream": i % 2 == 0}
        yield r | ({"temperature": 0} if i % 3 else {"temperature": 0.9, "seed": i, "n": 2})


def answer(server, request):
    """Per choice its token ids and log-probabilities; None: refused (429)."""
    status, data = server.ask("POST", "/v1/completions", request)
    if status == 429:
        return None
    if status != 200:
        raise ValueError(f"status {status}: {data[:200]}")
    if not request["stream"]:
        return {c["index"]: (c["token_ids"], c["logprobs"]["token_logprobs"]) for c in json.loads(data)["choices"]}
    events = [e[6:] for e in data.decode().split("\n\n") if e.startswith("data: ")]
    if events[-1:] != ["[DONE]"]:
        raise ValueError("a stream without [DONE]")
    out = {}
    for e in events[:-1]:
        for c in json.loads(e)["choices"]:
            ids, lps = out.setdefault(c["index"], ([], []))
            ids += c.get("token_ids") or []
            lps += (c.get("logprobs") or {}).get("token_logprobs") or []
    return out


# ---- the load; each runs on a thread until `stop` ----

class Load:
    def __init__(self, server, connections, known):
        self.server, self.connections, self.known = server, connections, known
        self.stop, self.count, self.peak = threading.Event(), {}, 0
        self.threads = []

    def did(self, what, n=1):
        with lock:
            self.count[what] = self.count.get(what, 0) + n

    def run(self, fn, i):
        def body():
            rng = random.Random(f"{fn.__name__} {i}")
            while not self.stop.is_set():
                try:
                    fn(rng)
                except (OSError, http.client.HTTPException):
                    self.did("connections ended by the server")
                except Exception as e:      # noqa: BLE001: a fault of this program is a fault of the run
                    fault(f"{fn.__name__}: {type(e).__name__}: {e}")
                    time.sleep(0.1)
        t = threading.Thread(target=body, daemon=True)
        t.start()
        self.threads.append(t)

    def join(self):
        self.stop.set()
        for t in self.threads:
            t.join(150)
            if t.is_alive():
                fault("a client still waits for its answer")

    # Compared with the quiet server.
    def compare(self, rng):
        i = rng.randrange(len(self.known))
        request, want = self.known[i]
        got = answer(self.server, request)
        if got is None:
            self.did("refused")
            time.sleep(0.02)
        elif got != want:
            fault(f"request {i} has another answer than alone")
        else:
            self.did("compared")

    # Thousands that say nothing, half of something, or a byte now and then.
    def crowd(self, rng):
        starts = [b"", b"G", b"GET /health HTTP/1.1\r\nHost:", b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n{\"pro", b"\x16\x03\x01\x02"]
        if self.server.tls:
            greeting = ssl.MemoryBIO()
            try:
                self.server.tls.wrap_bio(ssl.MemoryBIO(), greeting).do_handshake()
            except ssl.SSLWantReadError:
                starts += [hello := greeting.read(), hello[:len(hello) // 2]]
        sel, n = selectors.EpollSelector(), 0
        try:
            while not self.stop.is_set():
                for _ in range(min(400, self.connections - n)):
                    s = socket.socket()
                    s.setblocking(False)
                    if s.connect_ex(("127.0.0.1", self.server.port)) not in (0, 115):
                        s.close()
                        break
                    sel.register(s, selectors.EVENT_WRITE, rng.choice(starts))
                    n += 1
                for key, what in sel.select(0.02):
                    s = key.fileobj
                    try:
                        if what & selectors.EVENT_WRITE:
                            if key.data:
                                s.send(key.data)
                            sel.modify(s, selectors.EVENT_READ)
                            self.did("idle or half-sent connections")
                        else:
                            if not s.recv(4096):
                                raise ConnectionResetError
                    except OSError:
                        sel.unregister(s)
                        s.close()
                        n -= 1
                some = list(sel.get_map().values())
                for key in rng.sample(some, min(10, len(some))):
                    if rng.random() < 0.5:
                        sel.unregister(key.fileobj)
                        key.fileobj.close()
                        n -= 1
                    else:
                        try:
                            key.fileobj.send(b"x")
                        except OSError:
                            pass
        finally:
            for key in list(sel.get_map().values()):
                key.fileobj.close()
            sel.close()

    # Reads a few bytes at a time.
    def slow_reader(self, rng):
        s = self.server.open(small=True)
        try:
            s.sendall(post_bytes("/v1/completions", json.dumps({"prompt": [5, 6], "max_tokens": 300, "ignore_eos": True, "stream": True, "n": 4}).encode()))
            end = time.time() + 3
            while time.time() < end and not self.stop.is_set() and s.recv(64):
                time.sleep(0.02)
            self.did("slow readers")
        finally:
            s.close()

    # Leaves at any moment, with a FIN or a reset.
    def leaver(self, rng):
        s = self.server.open()
        if rng.random() < 0.5:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        body = json.dumps({"prompt": [rng.randrange(3, 250) for _ in range(rng.randrange(1, 100))], "max_tokens": 300, "ignore_eos": True,
                           "stream": rng.random() < 0.5, "n": rng.randrange(1, 5), "temperature": 1}).encode()
        data = post_bytes("/v1/completions", body)
        s.sendall(data[:rng.randrange(1, len(data))] if rng.random() < 0.3 else data)
        time.sleep(rng.random() * 0.02)
        s.close()
        self.did("clients that left")

    def killed(self, rng):
        p = subprocess.Popen([sys.executable, "-S", os.path.abspath(__file__), "--victim", str(self.server.port), *(["--tls"] if self.server.tls else [])])
        time.sleep(0.2 + rng.random() * 0.3)
        p.kill()
        p.wait()
        self.did("clients killed")
        self.stop.wait(0.5)

    # Fills the cache: longer and more than it holds.
    def filler(self, rng):
        status, _ = self.server.ask("POST", "/v1/completions", {"prompt": [[rng.randrange(3, 250) for _ in range(200)] for _ in range(4)], "max_tokens": 200, "ignore_eos": True, "n": 2})
        if status not in (200, 429):
            fault(f"a long request: status {status}")
        self.did("requests that fill the cache")
        time.sleep(0.02)

    BAD = [b"\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
           b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nabcdefg", b"GET /%00%ff%zz HTTP/1.1\r\nHost: a\r\n\r\n",
           b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5000 + b"\r\n",
           b"GET " + b"/a" * 40000 + b" HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    JSON = [b"{", b"[" * 5000, b"nul", b"\xff\xfe{}", b'{"prompt":"\xc3\x28"}', b'{"prompt":"\\ud800"}', b'{"prompt":[1e999]}', b'{"prompt":[-1]}', b'{"prompt":[99999]}',
            b'{"prompt":[1],"n":-1}', b'{"prompt":[1],"max_tokens":99999999999999999999}', b'{"prompt":[1],"logit_bias":{"x":[]}}', b'{"prompt":[1],"stop":[""]}',
            b'{"messages":[{"role":5}]}', b'{"prompt":{"a":1}}', b'{"prompt":[1],"stream":"yes"}', b'{"prompt":[1],"temperature":"NaN"}', b'{"prompt":"a\\u0000b"}']

    def malformed(self, rng):
        if rng.random() < 0.4:
            data = rng.choice(self.BAD)
        else:
            body = bytearray(rng.choice(self.JSON))
            for _ in range(rng.randrange(3)):
                body[rng.randrange(len(body))] = rng.randrange(256)
            data = post_bytes(rng.choice(["/v1/completions", "/v1/chat/completions", "/v1/messages", "/v1/responses", "/tokenize", "/detokenize"]), bytes(body))
        s = self.server.open()
        try:
            s.sendall(data)
            if not self.server.tls:                     # there it would end the reading, too
                s.shutdown(socket.SHUT_WR)
            got = s.recv(65536)
            if got and not got.startswith(b"HTTP/1."):
                fault(f"an answer that is no HTTP: {got[:60]} to {data[:60]}")
            elif got[9:10] == b"5" and got[9:12] not in (b"503", b"505", b"501"):
                fault(f"{got[:40]} to {data[-200:]}")
            self.did("malformed requests")
        finally:
            s.close()

    # A gigabyte, announced or not. It is refused long before its end.
    def huge(self, rng):
        s = self.server.open()
        chunked, part, sent = rng.random() < 0.5, b" " * 65536, 0
        try:
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n" + (b"Transfer-Encoding: chunked\r\n\r\n" if chunked else b"Content-Length: 1073741824\r\n\r\n"))
            while sent < 2**30 and not self.stop.is_set():
                s.sendall(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                sent += len(part)
        except OSError:
            pass
        finally:
            s.close()
        if sent > 2**27:
            fault(f"{sent} bytes of a body above the limit were taken")
        self.did("bodies of a gigabyte")
        self.stop.wait(0.2)

    def watch(self, rng):
        for path in ("/health", "/ready", "/metrics", "/v1/models", "/debug/blocks"):
            status, data = self.server.ask("GET", path)
            if status != 200:
                fault(f"{path}: status {status} under load")
            elif path == "/debug/blocks":
                self.peak = max(self.peak, json.loads(data)["connections"])
        self.did("looks at health and metrics")
        self.stop.wait(0.3)

    KINDS = [(compare, 2), (crowd, 1), (slow_reader, 2), (leaver, 2), (killed, 1), (filler, 1), (malformed, 1), (huge, 1), (watch, 1)]

    def start(self, only):
        for fn, n in self.KINDS:
            if only and fn.__name__ not in only.split(","):
                continue
            for i in range(n):
                self.run(fn.__get__(self), i)


def victim(port, context):
    """Sends requests on many connections until it is killed."""
    kept = []
    body = json.dumps({"prompt": [7, 8, 9], "max_tokens": 400, "ignore_eos": True, "stream": True, "n": 4}).encode()
    while True:
        s = socket.create_connection(("127.0.0.1", port))
        s = context.wrap_socket(s) if context else s
        s.sendall(post_bytes("/v1/completions", body, close=False))
        kept = kept[-20:] + [s]
        time.sleep(0.02)


# ---- the run ----

def settle(server, why):
    """Until nothing is held; what is then still held is a fault."""
    for _ in range(600):
        h = server.held()
        m = h["models"][0]
        if not h["calls"] and not m["answers"] and not m["running"] and not m["waiting"] and m["blocks"] == m["free_blocks"] and h["connections"] <= 1:
            return h
        time.sleep(0.1)
    fault(f"{why}: still held after a minute: {h}")
    return h


def memory_is_flat(samples, judge):
    """MiB: the lower quartile of the last quarter beside that of the second (the first warms caches up). The lower one, for
    the server hands free memory back at intervals, and between them it goes up and down with the load."""
    q = max(2, len(samples) // 4)
    low = [statistics.quantiles(samples[i * q:(i + 1) * q] or samples, n=4)[0] for i in range(4)]
    print(f"memory: lower quartiles of the four quarters {', '.join(f'{v:.1f}' for v in low)} MiB, {max(samples):.1f} at most")
    if judge and low[3] > low[1] * 1.05 + 16:
        fault(f"memory grew from {low[1]:.1f} to {low[3]:.1f} MiB")


def drains(server, known):
    """SIGTERM while answers are written: they come whole, and the program ends."""
    request, want = next((r, w) for r, w in known if r["stream"])
    results = []

    def one():
        try:
            results.append(answer(server, request))
        except Exception as e:      # noqa: BLE001: refused or cut before it was taken is allowed; half an answer is not
            results.append(e)
    threads = [threading.Thread(target=one) for _ in range(40)]
    for t in threads:
        t.start()
    time.sleep(0.05)
    server.p.send_signal(signal.SIGTERM)
    for t in threads:
        t.join(60)
    whole = sum(r == want for r in results)
    for r in results:
        if isinstance(r, dict) and r != want:
            fault("SIGTERM: an answer is not whole")
    print(f"SIGTERM under load: {whole} of {len(results)} answers, all whole")
    try:
        code = server.p.wait(60)
        if code:
            fault(f"the server ended with {code}")
    except subprocess.TimeoutExpired:
        fault("the server does not end")
        server.p.kill()


def main():
    a = argparse.ArgumentParser()
    a.add_argument("program", nargs="?")
    a.add_argument("model", nargs="?")
    a.add_argument("--seconds", type=float, default=8)
    a.add_argument("--minutes", type=float)
    a.add_argument("--connections", type=int, default=10000)
    a.add_argument("--no-rss", action="store_true", help="memory may grow (sanitizers keep what was freed); less than two minutes are never judged")
    a.add_argument("--tls", action="store_true", help="HTTPS, with a certificate made by openssl")
    a.add_argument("--only", help="names of loads, with commas: crowd,leaver,…")
    a.add_argument("--victim", type=int)
    o = a.parse_args()
    if o.victim:
        victim(o.victim, client_context() if o.tls else None)
    if not o.model or not os.path.exists(o.model):
        print(f"left out: {o.model} is not there")
        return 0
    if o.tls and not shutil.which("openssl"):
        print("left out: hostile load over TLS (no openssl)")
        return 0
    seconds = o.minutes * 60 if o.minutes else o.seconds
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    most = max(100, min(o.connections, files - 1000))
    if most < o.connections:
        print(f"{most} connections: the limit of open files is {files}")
    folder = tempfile.TemporaryDirectory()
    https = certificate(folder.name) if o.tls else []
    server = Server(o.program, o.model, *https, "--threads", "1", "--max-num-seqs", "16", "--kv-cache-memory-bytes", "600k", "--max-body-bytes", "1M", "--max-num-queued-reqs", "200",
                    "--request-timeout", "5", "--idle-timeout", "10", "--shutdown-timeout", "30")
    known = [(r, answer(server, r)) for r in references(random.Random(1))]
    for r, want in known:
        if answer(server, r) != want or None in want.values():
            fault("a quiet server gives two answers")
    before = settle(server, "before the load")
    load, samples, begun = Load(server, most, known), [], time.time()
    load.start(o.only)
    while time.time() - begun < seconds and server.p.poll() is None:
        time.sleep(min(1, seconds / 20))
        samples.append(server.rss())
        if len(samples) % 60 == 0:
            print(f"{time.time() - begun:5.0f} s  {samples[-1]:7.1f} MiB  {dict(sorted(load.count.items()))}", flush=True)
    if server.p.poll() is not None:
        fault(f"the server ended under load with {server.p.returncode}")
        return 1
    load.join()
    after = settle(server, "after the load")
    print(f"memory: {server.rss():.1f} MiB when all is given back")
    print("load:", ", ".join(f"{n} {what}" for what, n in sorted(load.count.items())))
    print(f"connections: {load.peak} at once")
    if seconds >= 60 and not o.only and not o.tls and load.peak < 0.9 * most:
        fault(f"of {most} connections {load.peak} were held at once")
    m = after["models"][0]
    print(f"held: {after['connections']} connection, {m['free_blocks']} of {m['blocks']} blocks free; {m['preemptions'] - before['models'][0]['preemptions']} preemptions")
    if not o.only and m["preemptions"] == before["models"][0]["preemptions"]:
        fault("the cache was never full")
    if not o.only and not load.count.get("compared"):
        fault("nothing was compared")
    memory_is_flat(samples, judge=not o.no_rss and seconds >= 120)
    drains(server, known)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
