# SPDX-License-Identifier: Apache-2.0
"""tw-server under load that is not kind: reloads, crowds, nonsense."""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import unittest

from harness import QUICK, ROOT, TIMEOUT_S, Case, call, wait_until

MODELS = os.path.join(ROOT, "model-db/models")
RELOADS = 24 if QUICK else 100
METRICS = ["cpu_cycles", "cpu_instructions", "cache_miss", "bpf_cpu_time_ms"]


def request(**more):
    return json.dumps({"metrics": METRICS, "output_type": "AbsPower", **more})


def post(body, extra=b""):
    body = body.encode()
    return (b"POST /model HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + extra +
            b"Content-Length: %d\r\n\r\n" % len(body) + body)


class Stress(Case):
    def setUp(self):
        super().setUp()
        shutil.copytree(MODELS, self.path("db"))
        self.server = self.start_http("tw-server", "--model-db", self.path("db"))

    def connect(self, source=""):
        """From an address of the loopback network."""
        host, port = self.server.address.rsplit(":", 1)
        return socket.create_connection((host, int(port)), TIMEOUT_S, (source, 0))

    def metric(self, name):
        text = call(self.server, "GET", "/metrics").body.decode()
        return float(re.search(rf"^{re.escape(name)} (.*)$", text, re.MULTILINE).group(1))

    def reloads(self):
        return self.metric('tw_reloads_total{result="ok"}')

    # ---- reloads ---------------------------------------------------------------

    def ask_until(self, stop, bodies, failed):
        host, port = self.server.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
        asked = 0
        while not stop.is_set():
            connection.request("POST", "/model", bodies[asked % len(bodies)])
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or not body:
                failed.append((answer.status, body[:200]))
            asked += 1
        connection.close()

    def start_wrk(self):
        """Besides the clients that look at their answers, as many requests as go."""
        if shutil.which("wrk") is None:
            return None
        script = os.path.join(ROOT, "tests/bench/post.lua")
        bodies = self.write("bodies", request(weight=True) + "\n" + request() + "\n")
        return subprocess.Popen(
            ["wrk", "-t", "1", "-c", "16", "-d", f"{TIMEOUT_S}s", "--timeout", "30s", "-s", script,
             f"http://{self.server.address}/model", "--", bodies],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def test_a_hundred_reloads_fail_no_request(self):
        bodies = [request(weight=True), request(), request(weight=True, node_type=1),
                  request(trainer_name="SGDRegressorTrainer")]
        stop, failed = threading.Event(), []
        threads = [threading.Thread(target=self.ask_until, args=(stop, bodies, failed))
                   for _ in range(3)]
        wrk = self.start_wrk()
        for t in threads:
            t.start()
        try:
            for i in range(RELOADS):
                before = self.reloads()
                if i % 2:
                    self.server.proc.send_signal(signal.SIGHUP)
                elif i % 4:
                    call(self.server, "POST", "/-/reload")
                else:
                    # A pipeline that comes and goes, as a publisher has it.
                    other = self.path("db", "other")
                    if os.path.exists(other):
                        os.rename(other, self.path("gone"))
                        shutil.rmtree(self.path("gone"))
                    else:
                        shutil.copytree(os.path.join(MODELS, "nx12-acpi"), self.path("new"))
                        os.rename(self.path("new"), other)
                wait_until(lambda: self.reloads() > before, "the index is made again")
        finally:
            stop.set()
            for t in threads:
                t.join()
            if wrk:
                wrk.send_signal(signal.SIGINT)
                out = wrk.communicate(timeout=TIMEOUT_S)[0].decode()
        self.assertEqual(failed, [])
        if wrk:
            requests, _, _, errors = map(int, out.split("RESULT", 1)[1].split()[:4])
            self.assertGreater(requests, 0)
            self.assertEqual(errors, 0, out)
        self.assertGreaterEqual(self.reloads(), RELOADS)
        self.assertEqual(self.metric("tw_models_given_up_total"), 0)

    # ---- crowds ----------------------------------------------------------------

    def test_idle_and_slow_clients_do_not_disturb_others(self):
        idle = [self.connect() for _ in range(500)]
        # Addresses with few connections have the longer deadline, also on a busy machine.
        slow = [self.connect("127.0.0.2") for _ in range(100)]
        whole = post(request(weight=True))
        try:
            for at in range(0, 60, 4):
                for s in slow:
                    s.sendall(whole[at:at + 4])
                answer = call(self.server, "POST", "/model", request(weight=True))
                self.assertEqual(answer.status, 200)
            self.assertGreaterEqual(self.metric("tw_http_connections"), 100)
            for s in slow:
                s.sendall(whole[60:])
            for s in slow:
                self.assertTrue(s.recv(64).startswith(b"HTTP/1.1 200"))
        finally:
            for s in idle + slow:
                s.close()
        wait_until(lambda: self.metric("tw_http_connections") < 5, "connections are closed")

    def test_a_client_that_never_reads_disturbs_no_other(self):
        stuck = [self.connect() for _ in range(20)]
        try:
            for s in stuck:
                s.setblocking(False)
                for _ in range(50):  # each answer is 200 KiB
                    try:
                        s.send(post(request()))
                    except BlockingIOError:
                        break
            for _ in range(20):
                self.assertEqual(call(self.server, "POST", "/model", request()).status, 200)
        finally:
            for s in stuck:
                s.close()

    # ---- nonsense --------------------------------------------------------------

    def answer_to(self, data, patience=TIMEOUT_S):
        """The status, or None where there is no answer: the server may wait for more."""
        with self.connect() as s:
            s.settimeout(patience)
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                got = s.recv(65536)
            except OSError:
                return None
        found = re.match(rb"HTTP/1\.[01] (\d{3}) ", got)
        return int(found.group(1)) if found else None

    def test_everything_may_be_too_large(self):
        cases = {
            b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n": (404, 414, 431, None),
            b"GET /livez?" + b"a=b&" * 20000 + b" HTTP/1.1\r\nHost: x\r\n\r\n": (414, 431, None),
            b"GET /livez HTTP/1.1\r\nHost: x\r\nA: " + b"y" * 100000 + b"\r\n\r\n": (431, None),
            b"GET /livez HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20000 + b"\r\n": (431, None),
            # The answer may be lost: the rest of the body comes to a closed connection.
            post(" " * 70000): (413, None),
            post(" " * 60000): (400,),
            b"POST /model HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
            b"4000\r\n" + b" " * 0x4000 + b"\r\n" * 1 +
            (b"4000\r\n" + b" " * 0x4000 + b"\r\n") * 8 + b"0\r\n\r\n": (413, None),
            b"POST /model HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n":
            (400, 413, None),
            b"POST /model HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n": (400, None),
            post(json.dumps({"metrics": ["m%d" % i for i in range(257)],
                             "output_type": "AbsPower"})): (400,),
        }
        for data, wanted in cases.items():
            with self.subTest(data[:60]):
                self.assertIn(self.answer_to(data, patience=15), wanted)
        self.assertEqual(call(self.server, "GET", "/livez").status, 200)

    def test_malformed_http_is_survived(self):
        draw = random.Random(4)
        seeds = [post(request(weight=True)), post(request(), b"Accept-Encoding: gzip\r\n"),
                 b"GET /best-models?filter=mae:5 HTTP/1.1\r\nHost: x\r\n\r\n",
                 b"GET /api/v1/models?limit=3&offset=1 HTTP/1.1\r\nHost: x\r\n"
                 b"Accept-Encoding: gzip\r\n\r\n",
                 b"GET /api/v1/models/nx12-rapl/rapl-sysfs/AbsPower/BPFOnly/"
                 b"SGDRegressorTrainer_0/zip HTTP/1.1\r\nHost: x\r\nRange: bytes=1-9\r\n"
                 b"If-None-Match: \"x\", *\r\n\r\n",
                 b"GET /metrics HTTP/1.1\r\nHost: x\r\n"
                 b"Accept: application/openmetrics-text;q=0.5\r\n\r\n"]
        statuses = set()
        for _ in range(600):
            data = bytearray(draw.choice(seeds))
            for _ in range(draw.randrange(1, 6)):
                at = draw.randrange(len(data))
                what = draw.randrange(4)
                if what == 0:
                    data[at] = draw.randrange(256)
                elif what == 1:
                    del data[at:at + draw.randrange(1, 20)]
                elif what == 2:
                    data[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(20)))
                else:
                    data[at:at] = data[draw.randrange(len(data)):][:30]
                if not data:
                    break
            statuses.add(self.answer_to(bytes(data), patience=0.05))
        self.assertTrue({200, 400} <= statuses, statuses)
        self.assertFalse(statuses & {500}, statuses)
        self.assertEqual(call(self.server, "POST", "/model", request()).status, 200)


if __name__ == "__main__":
    unittest.main()
