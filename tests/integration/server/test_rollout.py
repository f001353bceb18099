# SPDX-License-Identifier: Apache-2.0
"""Replicas of tw-server that share nothing roll a version out and back while clients ask.

TW_ROLLOUT_SECONDS: load at each stage, at least; TW_ROLLOUT_CLIENTS: of each replica.
"""
import http.client
import json
import os
import threading
import time
import unittest

from harness import call, need_fleet, wait_until
from served_files import Served
from test_publish import zip_of
from test_pull import PullCase, without

REPLICAS = 4
SECONDS = float(os.environ.get("TW_ROLLOUT_SECONDS", "0.2"))
CLIENTS = int(os.environ.get("TW_ROLLOUT_CLIENTS", "1"))
STAGES = (0, 25, 50, 100, 50, 0)
REQUEST = json.dumps({"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower",
                      "source": "acpi", "weight": True}).encode()


def setUpModule():
    need_fleet()


class Client(threading.Thread):
    """Asks one replica over one connection, again and again; keeps different answers."""

    def __init__(self, address):
        super().__init__()
        self.host, port = address.split(":")
        self.port, self.done = int(port), False
        self.answers, self.count, self.failed, self.worst_s = [], 0, [], 0.0
        self.start()

    def run(self):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=300)
        while not self.done:
            begin = time.monotonic()
            try:
                connection.request("POST", "/model", REQUEST)
                answer = connection.getresponse()
                body = answer.read()
            except (OSError, http.client.HTTPException) as e:
                self.failed.append(repr(e))
                return
            self.worst_s = max(self.worst_s, time.monotonic() - begin)
            self.count += 1
            if answer.status != 200:
                self.failed.append(answer.status)
            elif not self.answers or self.answers[-1] != body:
                self.answers.append(body)
        connection.close()

    def stop(self):
        self.done = True
        self.join()


class Rollout(PullCase):
    def offer_versions(self):
        """Two versions whose best models are of different trainers."""
        models = self.good if SECONDS >= 1 else without(self.good, "rapl-sysfs/")
        self.versions = [without(models, other) for other in ("SGD", "LinearRegression")]
        for i, files in enumerate(self.versions):
            self.offer(f"/p-{i}.zip", zip_of(files), etag=f'"{i}"')

    def roll(self, percent, **more):
        text = json.dumps({"stable": "p-0.zip", "next": "p-1.zip", "percent": percent, **more})
        return self.offer("/p.rollout.json", text.encode(), etag=None)

    def replica(self, i, *args):
        os.makedirs(self.path(f"db-{i}"), exist_ok=True)
        return self.serve(f"--pull={self.files.url('/p.rollout.json')}", "--pull-refresh=100ms",
                          f"--replica={i + 1}/{REPLICAS}", "--threads=1", *args, db=f"db-{i}")

    def share(self, servers):
        return [self.metrics(s).get("rollout_next", {}).get("p") for s in servers]

    def wait_for(self, servers, percent):
        wanted = [float(100 * i // REPLICAS < percent) for i in range(REPLICAS)]
        wait_until(lambda: self.share(servers) == wanted, f"{percent} % have the next version")
        trainers = [("SGD" if n else "Linear").encode() for n in wanted]
        wait_until(lambda: all(t in call(s, "POST", "/model", json.loads(REQUEST)).body
                               for s, t in zip(servers, trainers)), "they serve it")

    def wait_for_answers(self, clients):
        """Each client has the answer to a request that it sent after this call."""
        counts = [c.count for c in clients]
        wait_until(lambda: all(c.failed or c.count >= n + 2 for c, n in zip(clients, counts)),
                   "each client is answered")

    def test_a_version_is_rolled_out_and_back_under_load(self):
        self.offer_versions()
        self.roll(0)
        servers = [self.replica(i) for i in range(REPLICAS)]
        for server in servers:
            self.served(server, "p")
        first = call(servers[0], "POST", "/model", json.loads(REQUEST)).body
        clients = [[Client(s.address) for _ in range(CLIENTS)] for s in servers]
        pause = threading.Event()
        begin = time.monotonic()
        try:
            for percent in STAGES:
                at = time.monotonic()
                self.roll(percent)
                self.wait_for(servers, percent)
                self.wait_for_answers(sum(clients, []))
                print(f"{percent} %: {time.monotonic() - at:.2f} s")
                pause.wait(SECONDS)
            last = {call(s, "POST", "/model", json.loads(REQUEST)).body for s in servers}
        finally:
            for client in sum(clients, []):
                client.stop()
        took = time.monotonic() - begin
        self.assertEqual(last, {first})
        every = sum(clients, [])
        print(f"{sum(c.count for c in every)} requests in {took:.1f} s, "
              f"{sum(len(c.failed) for c in every)} failed, "
              f"slowest {1000 * max(c.worst_s for c in every):.0f} ms")
        self.assertEqual(sum((c.failed for c in every), []), [])
        # All replicas answer alike, byte for byte, within a version; each changes once a stage.
        second = {a for c in every for a in c.answers} - {first}
        self.assertEqual(len(second), 1)
        for client in every:
            self.assertEqual(client.answers, [first, *second, first])
        for i in range(REPLICAS):
            wait_until(lambda d=self.path(f"db-{i}/.pull"): os.listdir(d) == ["p.json"],
                       "nothing else stays")

    def test_replicas_of_a_version_have_the_same_zips_and_tags(self):
        """So a cache may ask any of them, with the tag of any other."""
        self.offer_versions()
        self.roll(100, labels={"zone": "a"})
        servers = [self.replica(0, "--replica-labels", "zone=a,rack=1"),
                   self.replica(1, "--replica-labels", "zone=a"), self.replica(2)]
        wait_until(lambda: self.share(servers) == [1, 1, 0], "zone a has the next version")
        for path in ("/models/p.zip", "/api/v1/pipelines/p/zip",
                     "/models/p/acpi/AbsPower/BPFOnly/XgboostFitTrainer_0.zip"):
            wait_until(lambda p=path: all(call(s, "GET", p).status == 200 for s in servers),
                       "it is served")
            one, two = (call(s, "GET", path) for s in servers[:2])
            self.assertEqual((one.body, one.headers["ETag"]), (two.body, two.headers["ETag"]))
            self.assertEqual(one.headers["Cache-Control"], "no-cache")
            again = call(servers[1], "GET", path,
                         headers={"If-None-Match": one.headers["ETag"]})
            self.assertEqual((again.status, again.body), (304, b""))
        self.assertNotEqual(call(servers[2], "GET", "/models/p.zip").headers["ETag"],
                            call(servers[0], "GET", "/models/p.zip").headers["ETag"])
        # A replica may also pull from another replica.
        os.mkdir(self.path("db-copy"))
        copy = self.serve(f"--pull=p=http://{servers[0].address}/api/v1/pipelines/p/zip",
                          db="db-copy")
        self.served(copy, "p")
        self.assertEqual(call(copy, "GET", "/models/p.zip").headers["ETag"],
                         call(servers[0], "GET", "/models/p.zip").headers["ETag"])

    def test_a_broken_rollout_changes_nothing(self):
        self.offer_versions()
        self.roll(100)
        server = self.replica(0)
        wait_until(lambda: self.share([server]) == [1], "it has the next version")
        self.served(server, "p")
        for bad in (b'{"stable":"p-0.zip","percents":1}', b"{", b'{"stable":"/etc"}'):
            before = self.count(server, "failures_total", ("p", "refused"))
            self.files.at["/p.rollout.json"] = Served(bad, etag=None)
            wait_until(lambda b=before: self.count(server, "failures_total",
                                                   ("p", "refused")) > b, "it is refused")
            self.assertEqual(self.names(server), ["p"])
        self.roll(0)
        wait_until(lambda: self.share([server]) == [0], "it is rolled back")


if __name__ == "__main__":
    unittest.main()
