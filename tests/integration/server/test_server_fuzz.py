# SPDX-License-Identifier: Apache-2.0
"""tw-server under requests that are none: made up by a grammar of HTTP and its mistakes.

TW_FUZZ_SEED is where the numbers begin (4), TW_FUZZ_SECONDS how long to go on; without
that there are some thousand connections. A failure names the seed of its connection:
TW_FUZZ_SEED=that makes the same bytes again."""
import json
import os
import random
import re
import shutil
import socket
import struct
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import ROOT, TIMEOUT_S, Case, call, sanitized, tree, wait_until

MODELS = os.path.join(ROOT, "model-db/models")
CONNECTIONS = 2000
THREADS = 8
# For what more may come: a request that is not whole is not answered, and the server waits for
# the rest of it for as long as it allows.
PATIENCE_S = 0.1
SEED = int(os.environ.get("TW_FUZZ_SEED", "4"))
SECONDS = float(os.environ.get("TW_FUZZ_SECONDS", "0"))
CHECK_EVERY = 100
# Answers of the largest kind are 200 KiB: no more than a few are waited for.
PIPELINED = 6
GROWTH_KIB = 8 << 10
# What libmicrohttpd (0.9.75) itself says, with 500, where the extension of a chunk does not fit
# into its buffer; it then closes the connection.
LIBRARYS_500 = b"Please ask the developer of this Web server"

MODEL = b"/api/v1/models/nx12-rapl/rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0"
PATHS = [b"/model", b"/model?explain=1", b"/best-models", b"/best-models?filter=mae:5",
         b"/api/v1/models?limit=3&offset=1", b"/api/v1/pipelines", b"/api/v1/node-types",
         b"/api/v1/pipelines/nx12-rapl", b"/api/v1/pipelines/p", b"/metrics", b"/livez",
         b"/api/v1/pipelines/p/rollback", b"/openapi.json", b"/-/ready", b"*", b"/",
         MODEL, MODEL + b"/zip", MODEL + b"/card", MODEL + b"/weights", MODEL + b"/plots",
         MODEL + b"/plots/package/time", b"http://x/livez", b"//livez", b"/livez#a", b""]
METHODS = [b"GET", b"POST", b"PUT", b"HEAD", b"OPTIONS", b"DELETE", b"CONNECT", b"get",
           b"PATCH", b"TRACE", b"\x16\x03\x01", b"G" * 5000, b"", b"GE T", b"PRI"]
VERSIONS = [b"HTTP/1.1"] * 8 + [b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.99", b"http/1.1",
                                b"HTTP/", b"", b"HTTP/1.1 x"]
BODY = json.dumps({"metrics": ["bpf_cpu_time_ms", "cpu_cycles"], "output_type": "AbsPower",
                   "weight": True, "source": "rapl-sysfs", "filter": "mae:50",
                   "machine_spec": {"vendor": "x", "cores": "8"}}).encode()
NAMES = [b"Host", b"Accept", b"Accept-Encoding", b"Range", b"If-None-Match", b"If-Range",
         b"Authorization", b"Expect", b"Connection", b"Upgrade", b"Cookie", b"Content-Type",
         b"Content-Length", b"Transfer-Encoding", b"TE", b"Trailer", b"X" * 300, b"\xff", b"",
         b"A B", b"A\t", b"Content-Encoding", b"X-Forwarded-For", b"Date"]
VALUES = [b"x", b"", b"close", b"keep-alive", b"gzip", b"gzip;q=0, *;q=2", b"bytes=0-", b"chunked",
          b"bytes=-5", b"bytes=9999999999999999999-", b"bytes=5-1,3", b'"x", *', b"W/\"", b"\xff\xfe",
          b"100-continue", b"Bearer s3cret", b"Basic " + b"A" * 400, b"identity, chunked", b"0", b"-1",
          b"5", b"18446744073709551616", b"0x10", b"5, 5", b" 7 ", b"a" * 9000, b"\x00", b"h2c",
          b"application/openmetrics-text;q=0.5", b"text/markdown;q=nan", b"a\r\n b"]
ENDS = [b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n", b""]


class Requests:
    """Bytes of one connection, the same for the same seed."""

    def __init__(self, seed):
        self.draw = random.Random(seed)

    def some(self, top):
        """Mostly few."""
        return min(int(self.draw.expovariate(2 / top)), top)

    def noise(self, top):
        return self.draw.randbytes(self.draw.randrange(top + 1))

    def target(self):
        path = self.draw.choice(PATHS)
        kind = self.draw.randrange(12)
        if kind == 0:
            path += b"?" + b"&".join(self.noise(5).hex().encode() + b"=%" + self.noise(2)
                                     for _ in range(self.some(40)))
        elif kind == 1:
            path = path.replace(b"/", self.draw.choice([b"%2f", b"/../", b"/%00", b"//", b"/{a}/"]))
        elif kind == 2:
            path += self.noise(40)
        elif kind == 3:
            path += b"/x" * self.draw.choice([1, 30, 9000])
        return path

    def headers(self):
        draw = self.draw
        lines = [b"Host: x"] if draw.random() < 0.9 else []
        for _ in range(self.some(6)):
            lines.append(draw.choice(NAMES) + draw.choice([b": ", b":", b" : ", b""]) +
                         draw.choice(VALUES))
        if draw.random() < 0.02:
            lines += [b"A%d: b" % i for i in range(draw.choice([100, 3000]))]
        if draw.random() < 0.3:
            lines.append(b"Authorization: Bearer s3cret")
        return lines

    def chunks(self, body):
        draw = self.draw
        out = b""
        while body:
            n = draw.randrange(1, len(body) + 1)
            size = b"%x" % n
            if draw.random() < 0.1:
                size = draw.choice([b"-1", b"0x5", b"ffffffffffffffff", b"fffffffffffffffff", b"",
                                    b"zz", b"%x" % (n + 3), b"0" * 400 + size])
            if draw.random() < 0.2:
                size += b";" + draw.choice([b"a=b", b"\"", b"x" * 2000, self.noise(9)])
            out += size + draw.choice(ENDS) + body[:n] + draw.choice(ENDS)
            body = body[n:]
        return out + b"0\r\n" + draw.choice([b"", b"A: b\r\n", self.noise(9)]) + b"\r\n"

    def body(self):
        draw = self.draw
        body = bytearray(draw.choice([BODY, BODY, b"", b"PK\3\4" + self.noise(60), self.noise(99),
                                      b"[" * draw.randrange(1, 3000), b" " * 70000]))
        for _ in range(self.some(4)):
            if body:
                body[draw.randrange(len(body))] = draw.randrange(256)
        return bytes(body)

    def request(self):
        draw = self.draw
        body = self.body() if draw.random() < 0.6 else b""
        lines = self.headers()
        method = draw.choice(METHODS[:3] if draw.random() < 0.8 else METHODS)
        if body and draw.random() < 0.3:
            lines.append(b"Transfer-Encoding: chunked")
            body = self.chunks(body)
        elif body or draw.random() < 0.1:
            wrong = draw.randrange(-3, 4) if draw.random() < 0.1 else 0
            lines.append(b"Content-Length: %d" % (len(body) + wrong))
        end = draw.choice(ENDS) if draw.random() < 0.1 else b"\r\n"
        first = b" ".join([method, self.target(), draw.choice(VERSIONS)])
        return end.join([first, *lines]) + end + end + body

    def connection(self):
        data = b"".join(self.request() for _ in range(1 + self.some(PIPELINED)))
        kind = self.draw.randrange(10)
        if kind == 0:
            return data[:self.draw.randrange(len(data) + 1)]
        if kind == 1:
            return self.noise(400)
        # Where the server has understood all of that, it answers this and closes.
        return data + b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Fuzz(Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(MODELS, self.path("db"))
        self.write("auth", "s3cret\n")
        self.server = self.start_http("tw-server", "--model-db", self.path("db"),
                                      "--publish-auth", self.path("auth"))
        self.files = tree(self.path("db"))
        self.good = self.ask()

    def ask(self):
        answer = call(self.server, "POST", "/model", BODY)
        self.assertEqual(answer.status, 200)
        return answer.body

    def connections(self):
        text = call(self.server, "GET", "/metrics").body.decode()
        return int(re.search(r"^tw_http_connections (\d+)$", text, re.MULTILINE).group(1))

    def open_files(self):
        return len(os.listdir(f"/proc/{self.server.proc.pid}/fd"))

    def send(self, draw, s, data):
        """All at once, in pieces, or with the beginning in one packet of its own."""
        pieces = draw.choice([1, 1, 1, 2, 9])
        step = max(len(data) // pieces, 1)
        for at in range(0, len(data), step):
            s.sendall(data[at:at + step])

    def talk(self, seed):
        """The statuses of the answers."""
        r = Requests(seed)
        data, draw = r.connection(), r.draw
        host, port = self.server.address.rsplit(":", 1)
        got = b""
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as s:
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.send(draw, s, data)
                how = draw.randrange(10)
                if how == 0:  # gone, with a reset and without having read
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    return []
                if how == 1:
                    s.shutdown(socket.SHUT_WR)
                s.settimeout(PATIENCE_S)
                while part := s.recv(1 << 16):
                    got += part
            except OSError:
                pass  # nothing more comes, or it was closed while we still sent
        statuses = [int(n) for n in re.findall(rb"HTTP/1\.[01] (\d{3}) ", got)]
        self.assertEqual(statuses.count(500), got.count(LIBRARYS_500),
                         f"seed {seed}: {data[:300]!r}")
        self.assertTrue(not got or got.startswith(b"HTTP/1."), f"seed {seed}: {got[:99]!r}")
        return statuses

    def check(self, seed):
        self.assertIsNone(self.server.proc.poll(), f"seeds up to {seed}: {self.server.log()}")
        self.assertEqual(self.ask(), self.good, f"seeds up to {seed}")

    def test_any_input_is_answered_or_closed_without_a_leak(self):
        until = time.monotonic() + SECONDS
        seen, seed, resident = set(), SEED, 0
        files = self.open_files()
        with ThreadPoolExecutor(THREADS) as pool:
            while seed < SEED + CONNECTIONS or time.monotonic() < until:
                for statuses in pool.map(self.talk, range(seed, seed + CHECK_EVERY)):
                    seen.update(statuses)
                seed += CHECK_EVERY
                self.check(seed)
                if seed == SEED + CONNECTIONS // 2:
                    resident = self.server.resident_kib()
        self.assertTrue({200, 400, 404, 405} <= seen, seen)
        wait_until(lambda: self.connections() <= 1, "all connections are closed")
        wait_until(lambda: self.open_files() <= files, "all files are closed")
        files = tree(self.path("db"))
        files.pop(".lock", None)  # of a rollback, for which there was nothing
        self.assertTrue(files == self.files, sorted(set(files) ^ set(self.files)))
        if not sanitized("tw-server"):
            self.assertLess(self.server.resident_kib() - resident, GROWTH_KIB)
        self.server.stop()  # a leak sanitizer looks now


if __name__ == "__main__":
    unittest.main()
