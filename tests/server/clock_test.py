#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall clock jumps by days while `vllmc serve` answers: only what tells the time of day may notice.

    clock_test.py VLLMC MODEL

libfaketime stands between the program and the wall clock and adds what a file says; the monotonic clock stays, as when an
administrator or NTP sets a machine's time. Beside the jumps: answers keep their bits, streams go on to their end, sessions
live, half-sent requests are late when they are late and not before, limits of keys refill by what has passed, no duration in
/metrics is below zero or beyond the test's own; dates of answers and of log lines are those of the new time."""
import datetime, email.utils, glob, http.client, json, os, random, re, signal, socket, sys, tempfile, threading, time

import fault_load
from fault_load import Server, answer, fault, post_bytes, references

DAY = 86400
JUMPS = [DAY, -6 * DAY, 400 * DAY, -3 * DAY, 10 * DAY, 0]       # beside the true time
KEYS = "free free-secret-key\nfew few-secret-key 4\n"
TEMPLATE = "{{ strftime_now('%d') }}{{ messages[0]['content'] }}"
SLACK = 2                                                       # seconds, for dates in whole seconds


class Clock:
    """What the server's wall clock is ahead of the true one."""

    def __init__(self, folder):
        self.path, self.offset, self.jumps, self.lock = os.path.join(folder, "clock"), 0, 0, threading.Lock()
        self.set(0)

    def set(self, offset):
        with self.lock:
            with open(self.path + ".part", "w", encoding="ascii") as f:
                f.write(f"{offset:+d}\n")
            os.replace(self.path + ".part", self.path)
            self.offset = offset
            self.jumps += 1

    def is_of(self, stamp, begun):
        """Between `begun` and this moment, on the server's clock."""
        return begun - SLACK <= stamp - self.offset <= time.time() + SLACK


def session(server, timeout=60):
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)


def ask(c, method, path, body=None, key="free"):
    c.request(method, path, body and json.dumps(body), {"Content-Type": "application/json", "Authorization": f"Bearer {key}-secret-key", "X-Request-Id": "clock-test"})
    r = c.getresponse()
    return r, r.read()


# ---- beside the jumps, on threads of their own ----

class Beside:
    def __init__(self, server, clock, known):
        self.server, self.clock, self.known = server, clock, known
        self.stop, self.count = threading.Event(), dict.fromkeys(("compared", "streams over a jump", "of a session"), 0)
        self.threads = [threading.Thread(target=self.run, args=(fn, i), daemon=True) for fn, n in ((self.compare, 2), (self.stream, 2), (self.one_session, 1)) for i in range(n)]
        for t in self.threads:
            t.start()

    def run(self, fn, i):
        rng, kept = random.Random(f"{fn.__name__} {i}"), session(self.server)
        while not self.stop.is_set():
            try:
                fn(rng, kept)
            except Exception as e:      # noqa: BLE001: whatever ends here is a fault
                fault(f"{fn.__name__}: {type(e).__name__}: {e}")
                return

    def join(self):
        self.stop.set()
        for t in self.threads:
            t.join(60)
            if t.is_alive():
                fault("a request is stuck")

    def compare(self, rng, _):
        i = rng.randrange(len(self.known))
        request, want = self.known[i]
        if answer(self.server, request) != want:
            fault(f"request {i} has another answer than before the jumps")
        self.count["compared"] += 1

    def stream(self, _rng, _):
        """A long one, read to its end. How many of them see a jump is counted."""
        jumps, s = self.clock.jumps, self.server.open()
        body = {"prompt": [5, 6, 7], "max_tokens": 240, "ignore_eos": True, "stream": True, "n": 16, "temperature": 0}
        s.sendall(completion_bytes(body))
        r = http.client.HTTPResponse(s)                 # an event may lie in two chunks of HTTP
        r.begin()
        data = r.read()
        s.close()
        ends = data.count(b'"finish_reason":"length"')
        if r.status != 200 or b"data: [DONE]" not in data or ends != 16:
            raise ValueError(f"ended early: status {r.status}, {ends} of 16 ends: {data[:100]} … {data[-200:]}")
        self.count["streams over a jump"] += self.clock.jumps > jumps

    def one_session(self, _rng, kept):
        """On one connection all the time; http.client would open another one only after `close`."""
        r, _ = ask(kept, "POST", "/v1/completions", {"prompt": [1, 2, 3], "max_tokens": 3})
        if r.status != 200 or kept.sock is None:
            fault(f"a session: status {r.status}, {'kept' if kept.sock else 'ended'}")
        self.count["of a session"] += 1
        self.stop.wait(0.1)


# ---- at every jump ----

def dates(server, clock):
    c, body = session(server), {"prompt": [1, 2, 3], "max_tokens": 2}
    for path, more, name in (("/v1/completions", {}, "created"), ("/v1/completions", {"stream": True}, "created"), ("/v1/chat/completions", {"prompt": None, "messages": [{"role": "user", "content": "a"}]}, "created"),
                             ("/v1/responses", {"prompt": None, "max_tokens": None, "input": "a", "max_output_tokens": 2}, "created_at")):
        begun = time.time()
        r, data = ask(c, "POST", path, {k: v for k, v in (body | more).items() if v is not None})
        if r.status != 200:
            fault(f"{path}: status {r.status}: {data[:200]}")
            continue
        found = re.search(rb'"%s":(\d+)' % name.encode(), data)
        if not found or not clock.is_of(int(found[1]), begun):
            fault(f"{path}: {found and found[0]} at an offset of {clock.offset} s")
        date = email.utils.parsedate_to_datetime(r.headers["Date"]).timestamp()
        if not clock.is_of(date, begun):
            fault(f"{path}: Date {r.headers['Date']} at an offset of {clock.offset} s")
    c.close()
    for path in ("/health", "/ready"):
        r, _ = ask(session(server), "GET", path)
        if r.status != 200:
            fault(f"{path}: status {r.status} after a jump")


def completion_bytes(body):
    return post_bytes("/v1/completions", json.dumps(body).encode()).replace(b"Host: a", b"Host: a\r\nAuthorization: Bearer free-secret-key", 1)


def half_sent(server):
    data = completion_bytes({"prompt": [1, 2, 3], "max_tokens": 2})
    s = server.open()
    s.sendall(data[:-10])
    return s, data[-10:]


def few(server, c, want):
    """A key with four requests a minute."""
    r, data = ask(c, "POST", "/v1/completions", {"prompt": [1], "max_tokens": 1}, key="few")
    if r.status != want:
        fault(f"a key's limit: status {r.status}, expected {want}: {data[:200]}")
    wait = r.headers.get("Retry-After", "0")
    if not 0 <= int(wait) <= 60:
        fault(f"a key's limit: Retry-After: {wait}")


# ---- what is left of it ----

def durations(text, most):
    """No negative value anywhere; sums of seconds at most what every counted event could have taken."""
    values, sums = {}, 0
    for line in text.splitlines():
        if line and line[0] != "#":
            name, value = line.rsplit(" ", 1)
            values[name] = float(value)
    for name, value in values.items():
        if value < 0:
            fault(f"metric {name} {value}")
        base, _, labels = name.partition("{")
        if base.endswith("_seconds_sum"):
            sums += value > 0
            count = values[base[:-3] + "count" + ("{" + labels if labels else "")]
            if value > count * most:
                fault(f"metric {name}: {value} s of {count} events, none of which took more than {most:.0f} s")
        if base.endswith("_stalled_seconds") and value > most:
            fault(f"metric {name} {value}")
    if sums < 5:
        fault(f"only {sums} sums of seconds in /metrics")


def logged(path, offsets, begun):
    """Every offset has lines, none has another time than one of them."""
    seen = set()
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [json.loads(line) for line in f if line.startswith("{")]
    for line in lines:
        stamp = datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()
        fits = [o for o in offsets if begun - SLACK <= stamp - o <= time.time() + SLACK]
        if not fits:
            fault(f"a log line of {line['time']}")
        seen.update(fits)
        if line.get("event") == "request" and not 0 <= line["ms"] <= 1000 * (time.time() - begun):
            fault(f"a log line: {line['ms']} ms")
    if seen != set(offsets):
        fault(f"the log has lines of {len(seen)} of {len(set(offsets))} times")
    return len(lines)


def run(program, model, library, folder):
    servers = []
    try:
        jumps(program, model, library, folder, servers)
    finally:
        for s in servers:
            s.p.kill()                                  # nothing, where it has ended


def jumps(program, model, library, folder, servers):
    clock, begun = Clock(folder), time.time()
    keys, log, template = (os.path.join(folder, name) for name in ("keys", "log", "template"))
    with open(template, "w", encoding="ascii") as f:
        f.write(TEMPLATE)
    with open(os.open(keys, os.O_CREAT | os.O_WRONLY, 0o600), "w", encoding="ascii") as f:
        f.write(KEYS)
    fake = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": clock.path, "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
    server = Server(program, model, "--threads", "1", "--max-num-seqs", "16", "--kv-cache-memory-bytes", "4M", "--request-timeout", "4", "--idle-timeout", "60",
                    "--stall-timeout", "20", "--api-key-file", keys, "--chat-template", template, "--log-format", "json", log=log, env=os.environ | fake, headers={"Authorization": "Bearer free-secret-key"})
    servers.append(server)
    known = [(r, answer(server, r)) for r in references(random.Random(2))]
    kept = session(server)
    ask(kept, "GET", "/health")
    few_session, used = session(server), time.monotonic()
    for _ in range(4):
        few(server, few_session, 200)
    few(server, few_session, 429)
    beside = Beside(server, clock, known)
    for offset in JUMPS:
        half, rest = half_sent(server)
        late, _ = half_sent(server)
        time.sleep(0.3)
        clock.set(offset)
        if offset == DAY and time.monotonic() - used < 10:
            few(server, few_session, 429)               # a day has not passed
        time.sleep(0.5)
        half.sendall(rest)
        got = half.recv(4096)
        if not got.startswith(b"HTTP/1.1 200"):
            fault(f"a request that was half sent at a jump: {got[:80]}")
        half.close()
        dates(server, clock)
        got = late.recv(4096)
        if not got.startswith(b"HTTP/1.1 408"):
            fault(f"a body that never came: {got[:80]}")
        late.close()
    r, _ = ask(kept, "GET", "/health")
    if r.status != 200 or kept.sock is None:
        fault("a quiet session did not live through the jumps")
    clock.set(-7 * DAY)
    few(server, few_session, 200)                       # but the quarter of a minute that one takes
    kept.close()
    few_session.close()
    beside.join()
    took = time.time() - begun
    durations(ask(session(server), "GET", "/metrics")[1].decode(), took)
    fault_load.settle(server, "after the jumps")
    clock.set(DAY)
    server.p.send_signal(signal.SIGTERM)
    clock.set(-7 * DAY)
    if server.p.wait(60):
        fault(f"the server ended with {server.p.returncode}")
    lines = logged(log, [0, *JUMPS, -7 * DAY, DAY], begun)
    print(f"{len(JUMPS)} jumps in {took:.0f} s:", ", ".join(f"{n} {what}" for what, n in beside.count.items()) + f", {lines} log lines")
    for what, n in beside.count.items():
        if not n:
            fault(f"none was {what}")


def main():
    program, model = sys.argv[1:3]
    found = [p for d in ("/usr/lib/*", "/usr/lib", "/usr/lib64", "/usr/local/lib") for p in sorted(glob.glob(f"{d}/faketime/libfaketimeMT.so.1"))]
    if not found:
        print("left out: jumps of the wall clock (no libfaketime)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run(program, model, found[0], folder)
    return 1 if fault_load.faults else 0


if __name__ == "__main__":
    sys.exit(main())
