# SPDX-License-Identifier: Apache-2.0
"""How clients reach the server: HTTPS, certificates of clients, new certificates while it runs, Unix sockets, systemd's sockets.
usage: transport_test.py VLLMC MODEL     MODEL: a small one; prompts are token ids
Certificates are made by openssl; where it is not installed the test is left out."""
import atexit
import http.client
import json
import os
import random
import re
import select
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time

VLLMC, MODEL = sys.argv[1:3]
BODY = json.dumps({"prompt": [1, 2, 3], "max_tokens": 4, "temperature": 0})
LONG = json.dumps({"prompt": [1, 2, 3], "max_tokens": 400, "ignore_eos": True, "stream": True})
JSON = {"Content-Type": "application/json"}


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def authority(name):
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-keyout", f"{name}.key", "-out", f"{name}.pem")


def certificate(name, ca, usage):
    """NAME.pem and NAME.key, signed by CA, for localhost."""
    with open(f"{name}.ext", "w", encoding="ascii") as f:
        f.write(f"subjectAltName=DNS:localhost,IP:127.0.0.1\nextendedKeyUsage={usage}\n")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext",
            "-out", f"{name}.pem")


RUNNING = []


@atexit.register
def end_all():
    for process in RUNNING:
        if process.poll() is None:
            process.kill()


class Server:
    def __init__(self, *args, port=True, wrap=None, **kw):
        self.log = tempfile.NamedTemporaryFile("w+", suffix=".log", delete=False)
        argv = [VLLMC, "serve", MODEL, "--kv-cache-memory-bytes", "16M", "--threads", "1", *(["--port", "0"] if port else []), *args]
        self.process = subprocess.Popen((wrap or []) + argv, stdout=subprocess.PIPE, stderr=self.log, text=True, **kw)
        RUNNING.append(self.process)
        self.where = self.process.stdout.readline().strip().removeprefix("vllmc: ")
        if not self.where:
            raise AssertionError("the server did not start: " + self.said())
        self.port = int(self.where.rsplit(":", 1)[1]) if port else None

    def said(self):
        with open(self.log.name, encoding="utf-8") as f:
            return f.read()

    def signal_and_wait(self, number, says, times=1):
        self.process.send_signal(number)
        self.wait_said(says, times)

    def wait_said(self, says, times=1):
        end = time.monotonic() + 30
        while self.said().count(says) < times:
            assert time.monotonic() < end, f"the log does not say {says!r}: {self.said()}"
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        os.unlink(self.log.name)
        assert code == 0, f"the server ended with {code}"

    def https(self, ca, cert=None):
        context = ssl.create_default_context(cafile=ca)
        if cert:
            context.load_cert_chain(f"{cert}.pem", f"{cert}.key")
        return http.client.HTTPSConnection("localhost", self.port, context=context, timeout=60)


def completion(connection):
    connection.request("POST", "/v1/completions", BODY, JSON)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 200, (answer.status, text)
    return json.loads(text)["usage"]["completion_tokens"]


def common_name(connection):
    return dict(x[0] for x in connection.sock.getpeercert()["subject"])["commonName"]


def refused(connection):
    """No answer comes of it: neither a handshake nor, as TLS 1.3 tells late, a first answer."""
    try:
        connection.request("GET", "/health")
        connection.getresponse().read()
    except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
        return
    raise AssertionError("the server took a client that it should not")


def tls():
    server = Server("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key")
    assert server.where.startswith("https://"), server.where
    first = server.https("ca.pem")
    assert completion(first) == 4
    assert common_name(first) == "one"
    refused(server.https("other.pem"))                   # another authority: the client refuses
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    raw.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
    assert not raw.recv(100).startswith(b"HTTP/1.1 200")
    assert completion(first) == 4
    server.stop()


def tls_connect(server, version=None):
    context = ssl.create_default_context(cafile="ca.pem")
    if version:
        context.maximum_version = version
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    return context.wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False)


def until_end(sock):
    """What comes until the other side says, by TLS, that nothing more does. A connection that is only dropped raises."""
    data = b""
    while part := sock.recv(4096):
        data += part
    return data


def tls_late():
    """A body that does not come in time is answered over TLS as without it: silent, dripping, after another request, told to go on."""
    server = Server("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key", "--request-timeout", "1", "--idle-timeout", "3", "--log-format", "json")
    head = b"POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n%s\r\n"
    late = 0
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        for path, error, extra in ((b"/v1/completions", b'"type":"RequestTimeout"', b""), (b"/v1/messages", b'{"type":"error",', b""),
                                   (b"/v1/completions", b'"type":"RequestTimeout"', b"Expect: 100-continue\r\n")):
            for before, drips in ((False, False), (True, False), (False, True)):
                sock, text = tls_connect(server, version), b""
                if before:
                    sock.sendall(b"GET /version HTTP/1.1\r\nHost: a\r\n\r\n")
                    while not text.endswith(b"}"):
                        text += sock.recv(4096)
                    assert text.startswith(b"HTTP/1.1 200"), text
                sock.sendall(head % (path, extra))
                if extra:
                    assert sock.recv(4096).startswith(b"HTTP/1.1 100")
                sock.sendall(b'{"prompt":')
                while drips and not select.select([sock], [], [], 0.05)[0]:
                    sock.sendall(b" ")
                text = until_end(sock)
                assert text.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and error in text, (version, path, before, drips, text)
                length = int(re.search(rb"Content-Length: (\d+)", text)[1])
                assert len(text.split(b"\r\n\r\n", 1)[1]) == length, text
                sock.close()
                late += 1
    sock = tls_connect(server)                          # half a head: cut, and nothing is said
    sock.sendall(b"GET /version HTTP/1.1\r\nHost:")
    try:
        assert until_end(sock) == b""
    except (ssl.SSLError, ConnectionError):
        pass
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=30)        # no handshake
    assert raw.recv(100) == b""
    assert completion(server.https("ca.pem")) == 4
    server.wait_said('"status":408', late)
    server.stop()


def tls_edge():
    """Bodies that are whole, and clients that leave, about when they would be late: an answer comes whole or not at all, and nothing is held."""
    server = Server("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key", "--request-timeout", "1", "--enable-debug-endpoints")
    seen, wrong = {}, []

    def client(i):
        rng, what = random.Random(i), "nothing"
        data = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n{BODY}".encode()
        try:
            with tls_connect(server, rng.choice((ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3))) as sock:
                sock.sendall(data[:-5])
                time.sleep(0.9 + 0.5 * rng.random())
                if rng.random() < 0.3:
                    return
                sock.sendall(data[-5:])
                text = b""
                try:
                    while part := sock.recv(4096):
                        text += part
                except (ssl.SSLError, ConnectionError):
                    pass
                head, _, body = text.partition(b"\r\n\r\n")
                what = text[9:12].decode()
                length = re.search(rb"(?i)content-length: (\d+)", head)
                if text and (what not in ("200", "408") or not length or len(body) != int(length[1])):
                    wrong.append(text)
        except (ssl.SSLError, ConnectionError):
            pass
        finally:
            seen[what] = seen.get(what, 0) + 1
    threads = [threading.Thread(target=client, args=(i,)) for i in range(80)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong
    end = time.monotonic() + 30
    while True:
        c = server.https("ca.pem")
        c.request("GET", "/debug/blocks")
        held = json.loads(c.getresponse().read())
        c.close()
        if not held["calls"] and not held["models"][0]["answers"] and held["connections"] <= 1:
            break
        assert time.monotonic() < end, held
        time.sleep(0.1)
    print("tls_edge:", ", ".join(f"{n} {what or 'closed'}" for what, n in sorted(seen.items())))
    server.stop()


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def tls_quiet():
    """Clients that stop anywhere in a handshake, a record or a request take no processor time."""
    server = Server("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key")
    greeting, context, kept = ssl.MemoryBIO(), ssl.create_default_context(cafile="ca.pem"), []
    try:
        context.wrap_bio(ssl.MemoryBIO(), greeting, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        hello = greeting.read()
    for part in (b"", hello[:3], hello[:100], hello):
        for _ in range(50):
            kept.append(socket.create_connection(("127.0.0.1", server.port), timeout=30))
            kept[-1].sendall(part)
    for part in (b"", b"GET /version HTTP/1.1\r\nHost:", b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"):
        for raw in (b"", b"\x17\x03\x03\x01\x00half a record"):
            for _ in range(8):
                sock = tls_connect(server)
                sock.sendall(part)
                kept.append(socket.socket(fileno=sock.detach()))
                kept[-1].sendall(raw)
    completion(server.https("ca.pem"))                  # all of it was seen
    time.sleep(0.5)
    before = processor_seconds(server)
    time.sleep(2)
    took = processor_seconds(server) - before
    assert took < 0.2, f"{took} s of processor time for {len(kept)} quiet connections"
    for sock in kept:
        sock.close()
    server.stop()


def tls_reload():
    """New files, SIGHUP: what runs goes on with the old certificate, who comes later sees the new one."""
    shutil.copy("one.pem", "now.pem")
    shutil.copy("one.key", "now.key")
    server = Server("--ssl-certfile", "now.pem", "--ssl-keyfile", "now.key")
    kept, stream = server.https("ca.pem"), server.https("ca.pem")
    assert completion(kept) == 4
    stream.request("POST", "/v1/completions", LONG, JSON)
    answer = stream.getresponse()
    text = answer.read(200)
    shutil.copy("two.pem", "now.pem")
    shutil.copy("two.key", "now.key")
    server.signal_and_wait(signal.SIGHUP, "reloaded: options, certificates")
    later = server.https("ca.pem")
    assert completion(later) == 4 and common_name(later) == "two"
    assert completion(kept) == 4 and common_name(kept) == "one"
    shutil.copy("one.key", "now.key")                   # a key of another certificate
    server.signal_and_wait(signal.SIGHUP, "reload: the certificates stay as they were")
    after = server.https("ca.pem")
    assert completion(after) == 4 and common_name(after) == "two"
    text += answer.read()
    assert text.endswith(b"data: [DONE]\n\n"), text[-200:]
    for _ in range(20):
        shutil.copy("two.key", "now.key")
        server.process.send_signal(signal.SIGHUP)
        assert completion(server.https("ca.pem")) == 4
    server.stop()


def tls_refresh():
    shutil.copy("one.pem", "fresh.pem")
    shutil.copy("one.key", "fresh.key")
    server = Server("--ssl-certfile", "fresh.pem", "--ssl-keyfile", "fresh.key", "--enable-ssl-refresh")
    shutil.copy("two.key", "fresh.key")
    shutil.copy("two.pem", "fresh.pem")
    server.wait_said("reloaded: certificates")
    later = server.https("ca.pem")
    assert completion(later) == 4 and common_name(later) == "two"
    server.stop()


def clients_certificates():
    for reqs, without in (("1", True), ("2", False)):
        server = Server("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key", "--ssl-ca-certs", "ca.pem", "--ssl-cert-reqs", reqs)
        assert completion(server.https("ca.pem", "client")) == 4
        if without:
            assert completion(server.https("ca.pem")) == 4
        else:
            refused(server.https("ca.pem"))
        refused(server.https("ca.pem", "stranger"))     # of another authority
        refused(server.https("ca.pem", "two"))          # of this one, but a server's
        assert completion(server.https("ca.pem", "client")) == 4
        server.stop()


def bad_tls():
    for args, says in ((("--ssl-certfile", "one.pem", "--ssl-keyfile", "two.key"), "one.pem and two.key"), (("--ssl-certfile", "none.pem"), "none.pem: No such file"),
                       (("--ssl-certfile", "one.key"), "one.key and one.key"), (("--ssl-keyfile", "one.key"), "--ssl-keyfile needs --ssl-certfile"),
                       (("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key", "--ssl-cert-reqs", "2"), "needs --ssl-ca-certs"),
                       (("--ssl-certfile", "one.pem", "--ssl-keyfile", "one.key", "--ssl-ca-certs", "one.key"), "no certificates in PEM")):
        end = subprocess.run([VLLMC, "serve", MODEL, "--port", "0", *args], capture_output=True, text=True, timeout=60)
        assert end.returncode != 0 and says in end.stderr, (args, end.returncode, end.stderr)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def unix_socket():
    path = os.path.abspath("server.sock")
    stale = socket.socket(socket.AF_UNIX)               # left over by a server that was killed
    stale.bind(path)
    stale.close()
    old = os.umask(0o077)
    server = Server("--uds", path, port=False)
    os.umask(old)
    assert server.where == "unix:" + path, server.where
    assert stat.S_ISSOCK(os.lstat(path).st_mode) and not os.lstat(path).st_mode & 0o077
    assert completion(UnixConnection(path)) == 4
    if shutil.which("curl"):
        said = subprocess.run(["curl", "-sS", "--unix-socket", path, "http://localhost/v1/models"], capture_output=True, text=True, check=True, timeout=60)
        assert json.loads(said.stdout)["data"][0]["root"] == MODEL
    second = subprocess.run([VLLMC, "serve", MODEL, "--uds", path], capture_output=True, text=True, timeout=60)
    assert second.returncode != 0 and "another program listens" in second.stderr, (second.returncode, second.stderr)
    assert completion(UnixConnection(path)) == 4        # the first one was not disturbed
    server.stop()
    assert not os.path.exists(path)
    with open("file.sock", "w", encoding="ascii"):
        pass
    end = subprocess.run([VLLMC, "serve", MODEL, "--uds", "file.sock"], capture_output=True, text=True, timeout=60)
    assert end.returncode != 0 and "exists and is not a socket" in end.stderr
    assert os.path.exists("file.sock")


def started_with(sock):
    """As systemd does it: descriptor 3, and LISTEN_PID is the server's own, so a shell sets it and becomes the server."""
    script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&%d' % sock.fileno()
    return Server(port=False, wrap=["/bin/sh", "-c", script, "sh"], pass_fds=(sock.fileno(),))


def systemd_socket():
    """A client that came before the server started is answered; the socket outlives it."""
    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    sock.listen(16)
    port = sock.getsockname()[1]
    for _ in range(2):
        early = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        early.request("GET", "/version")
        server = started_with(sock)
        assert early.getresponse().status == 200
        assert completion(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) == 4
        server.stop()
    sock.close()


def socket_activate():
    """systemd's own program: it listens, and becomes the server with the first connection."""
    path = os.path.abspath("activated.sock")
    process = subprocess.Popen(["systemd-socket-activate", "-l", path, VLLMC, "serve", MODEL, "--kv-cache-memory-bytes", "16M", "--threads", "1"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    RUNNING.append(process)
    end = time.monotonic() + 30
    while not os.path.exists(path):
        assert time.monotonic() < end and process.poll() is None, "systemd-socket-activate does not listen"
        time.sleep(0.05)
    connection = UnixConnection(path)
    while True:                                         # 503 while the model loads
        connection.request("GET", "/ready")
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            break
        assert answer.status == 503 and time.monotonic() < end
        time.sleep(0.05)
    assert completion(connection) == 4
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert os.path.exists(path)                         # it is systemd's


def main():
    if not shutil.which("openssl"):
        print("left out: transports of the server (no openssl)")
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for ca in ("ca", "other"):
            authority(ca)
        for name, ca, usage in (("one", "ca", "serverAuth"), ("two", "ca", "serverAuth"), ("client", "ca", "clientAuth"), ("stranger", "other", "clientAuth")):
            certificate(name, ca, usage)
        for test in (tls, tls_late, tls_edge, tls_quiet, tls_reload, tls_refresh, clients_certificates, bad_tls, unix_socket, systemd_socket):
            test()
            print("ok", test.__name__, flush=True)
        if shutil.which("systemd-socket-activate"):
            socket_activate()
            print("ok socket_activate")
        else:
            print("socket_activate: left out (no systemd-socket-activate)")


main()
