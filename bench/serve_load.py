#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load on OpenAI-compatible servers, side by side: closed loops of N clients and an open loop at a share of capacity.

    bench/serve_load.py --server vllmc=http://127.0.0.1:8000,PID --server vllm=http://127.0.0.1:8001,PID

Each server gets the same streamed chat requests (words from a fixed seed, greedy, --tokens tokens, end of text ignored), one server after the
other within each setting. Printed per run: output tokens/s, requests/s, time to first token and time between tokens (p50/p99), errors, resident memory
of the server's processes, the share of its CPU time that threads other than `vllmc-worker` and the engine's take (vllmc only), and the client's own CPU:
a run in which the client took over 30 % of a core is marked "client!". Needs nothing but Python. --json FILE keeps the figures.
"""
import argparse, asyncio, json, os, random, resource, sys, time
from urllib.parse import urlsplit

WORDS = ("time year people way day man thing woman life child world school state family student group country problem hand part place case week company "
         "system program question work number night point home water room mother area money story fact month lot right study book eye job word business").split()


class Server:
    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        url, _, pid = rest.partition(",")
        u = urlsplit(url)
        if not self.name or not u.hostname or not u.port:
            raise argparse.ArgumentTypeError(f"{text}: expected NAME=http://HOST:PORT[,PID]")
        self.host, self.port, self.pid, self.model = u.hostname, u.port, int(pid) if pid else None, None

    def pids(self):
        if not self.pid:
            return []
        found, todo = [], [self.pid]
        while todo:
            p = todo.pop()
            found.append(p)
            try:
                for t in os.listdir(f"/proc/{p}/task"):
                    todo += [int(c) for c in open(f"/proc/{p}/task/{t}/children").read().split()]
            except OSError:
                pass
        return found

    def rss(self):
        total = 0
        for p in self.pids():
            try:
                total += next(int(l.split()[1]) for l in open(f"/proc/{p}/status") if l.startswith("VmRSS"))
            except (OSError, StopIteration):
                pass
        return total / 1024

    def cpu(self):
        """Seconds of all threads by name."""
        out = {}
        for p in self.pids():
            try:
                for t in os.listdir(f"/proc/{p}/task"):
                    s = open(f"/proc/{p}/task/{t}/stat").read()
                    name, f = s[s.index("(") + 1:s.rindex(")")], s[s.rindex(")") + 2:].split()
                    out[p, t] = (name, (int(f[11]) + int(f[12])) / os.sysconf("SC_CLK_TCK"))
            except OSError:
                pass
        return out


class Client:
    """One kept connection; raw HTTP/1.1, so that the client costs little."""
    def __init__(self, server):
        self.s, self.r, self.w, self.kept = server, None, None, False

    async def request(self, body, result):
        """Again on a new connection where the server had closed a kept one meanwhile."""
        try:
            await self.once(body, result)
        except (asyncio.IncompleteReadError, ConnectionError) as e:
            if not self.kept or getattr(e, "partial", b""):
                raise
            self.close()
            await self.once(body, result)

    async def once(self, body, result):
        self.kept = self.w is not None
        if not self.w:
            self.r, self.w = await asyncio.open_connection(self.s.host, self.s.port, limit=1 << 22)
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {self.s.host}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        begun = time.perf_counter()
        self.w.write(head.encode() + body)
        header = await self.r.readuntil(b"\r\n\r\n")
        status = int(header.split(None, 2)[1])
        low, times = header.lower(), []
        if status != 200 or b"chunked" not in low:
            raise RuntimeError(f"status {status}")
        usage = None
        tail = b""
        while True:
            n = int(await self.r.readline(), 16)
            data = await self.r.readexactly(n + 2)
            if n == 0:
                break
            now = time.perf_counter()
            tail += data[:-2]
            *lines, tail = tail.split(b"\n\n")
            for line in lines:
                if not line.startswith(b"data: {"):
                    continue
                if b'"content":"' in line and b'"role"' not in line or b'"content": "' in line and b'"role"' not in line:
                    times.append(now)
                if b'"usage":{' in line or b'"usage": {' in line:
                    usage = json.loads(line[6:])["usage"]
        result.append((begun, times, usage["completion_tokens"] if usage else 0, usage["prompt_tokens"] if usage else 0))

    def close(self):
        if self.w:
            self.w.close()
        self.w = None


def bodies(args, model, shared, seed):
    rng = random.Random(seed)
    system = " ".join(rng.choice(WORDS) for _ in range(args.shared_words))
    while True:
        user = " ".join(rng.choice(WORDS) for _ in range(args.words))
        messages = ([{"role": "system", "content": system}] if shared else []) + [{"role": "user", "content": user}]
        yield json.dumps({"model": model, "messages": messages, "max_tokens": args.tokens, "temperature": 0, "ignore_eos": True, "stream": True,
                          "stream_options": {"include_usage": True}}).encode()


async def guarded(client, body, result, errors):
    try:
        await asyncio.wait_for(client.request(body, result), 600)
    except Exception as e:                                     # an error of the server is a figure here
        errors.append(f"{type(e).__name__}: {e}")
        client.close()


async def closed(server, source, clients, count):
    left, result, errors = [count], [], []

    async def one():
        c = Client(server)
        while left[0] > 0:
            left[0] -= 1
            await guarded(c, next(source), result, errors)
        c.close()
    await asyncio.gather(*[one() for _ in range(clients)])
    return result, errors


async def opened(server, source, rate, count, seed):
    rng, result, errors, idle, tasks = random.Random(seed), [], [], [], []

    async def one(body):
        c = idle.pop() if idle else Client(server)
        await guarded(c, body, result, errors)
        idle.append(c)
    at = time.perf_counter()
    for _ in range(count):
        at += rng.expovariate(rate)
        await asyncio.sleep(max(0, at - time.perf_counter()))
        tasks.append(asyncio.ensure_future(one(next(source))))
    await asyncio.gather(*tasks)
    for c in idle:
        c.close()
    return result, errors


def percentile(v, p):
    v = sorted(v)
    return v[min(len(v) - 1, int(p / 100 * len(v)))] if v else float("nan")


def measure(args, server, label, run):
    before, mine, t0 = server.cpu(), resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    result, errors = asyncio.run(run)
    wall, me, after = time.perf_counter() - t0, resource.getrusage(resource.RUSAGE_SELF), server.cpu()
    client = (me.ru_utime + me.ru_stime - mine.ru_utime - mine.ru_stime) / wall
    used = [(n, s - before.get(k, ("", 0))[1]) for k, (n, s) in after.items()]
    total, compute = sum(s for _, s in used), sum(s for n, s in used if n.startswith(args.workers))
    ttft = [t[0] - b for b, t, *_ in result if t]
    itl = [y - x for _, t, *_ in result for x, y in zip(t, t[1:])]
    f = {"setting": label, "server": server.name, "requests": len(result), "errors": len(errors), "seconds": wall,
         "tokens_per_s": sum(r[2] for r in result) / wall, "requests_per_s": len(result) / wall,
         "ttft_p50": percentile(ttft, 50), "ttft_p99": percentile(ttft, 99), "itl_p50": percentile(itl, 50), "itl_p99": percentile(itl, 99),
         "rss_mib": server.rss(), "other_cpu": 1 - compute / total if total and compute else None, "client_cpu": client}
    other = "" if f["other_cpu"] is None else f"  other {100 * f['other_cpu']:4.1f} %"
    print(f"{label:28} {server.name:8} {f['tokens_per_s']:8.1f} tok/s {f['requests_per_s']:7.2f} req/s  TTFT {1e3 * f['ttft_p50']:7.0f} /{1e3 * f['ttft_p99']:7.0f} ms"
          f"  ITL {1e3 * f['itl_p50']:6.1f} /{1e3 * f['itl_p99']:6.1f} ms  errors {len(errors)}  {f['rss_mib']:6.0f} MiB{other}  client {100 * client:3.0f} %"
          + (" client!" if client > 0.3 else ""), flush=True)
    for e in errors[:2]:
        print("    " + e)
    return f


async def model_of(server):
    r, w = await asyncio.open_connection(server.host, server.port)
    w.write(f"GET /v1/models HTTP/1.1\r\nHost: {server.host}\r\nConnection: close\r\n\r\n".encode())
    data = await r.read()
    w.close()
    return json.loads(data[data.index(b'{"'):data.rindex(b"}") + 1])["data"][0]["id"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--server", type=Server, action="append", required=True, metavar="NAME=URL[,PID]")
    p.add_argument("--clients", default="1,8,32,128")
    p.add_argument("--rounds", type=int, default=3, help="requests per client, at least --least in all")
    p.add_argument("--least", type=int, default=8)
    p.add_argument("--tokens", type=int, default=64)
    p.add_argument("--words", type=int, default=64, help="words of each user message")
    p.add_argument("--shared-words", type=int, default=256, help="words of the shared system prompt")
    p.add_argument("--open-share", type=float, default=0.8, help="arrival rate of the open loop, as a share of the rate at the most clients")
    p.add_argument("--workers", default=("vllmc-worker", "vllmc-engine"), type=lambda s: tuple(s.split(",")), help="names of threads that compute")
    p.add_argument("--json")
    args = p.parse_args()
    for s in args.server:
        s.model = asyncio.run(model_of(s))
        asyncio.run(closed(s, bodies(args, s.model, False, 99), 1, 2))      # warm
    figures = []
    for shared in (False, True):
        kind, rate = ("shared prompt" if shared else "no shared prompt"), {}
        for k, n in enumerate(int(x) for x in args.clients.split(",")):
            for s in args.server:
                f = measure(args, s, f"{kind}, {n} clients", closed(s, bodies(args, s.model, shared, 1000 * k + shared), n, max(args.least, args.rounds * n)))
                figures.append(f)
                rate[s.name] = max(rate.get(s.name, 0), f["requests_per_s"])
        for s in args.server:
            r = args.open_share * rate[s.name]
            figures.append(measure(args, s, f"{kind}, open {r:.2f}/s", opened(s, bodies(args, s.model, shared, 77 + shared), r, max(24, int(40 * r)), 5)))
    if args.json:
        json.dump(figures, open(args.json, "w"), indent=1)
    return 1 if any(f["errors"] for f in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
