# SPDX-License-Identifier: Apache-2.0
"""tw-collector --otlp and --remote-write: receivers have the joules of /metrics to the
microjoule, and none of them delays a tick or a scrape."""
import json
import os
import re
import signal
import subprocess
import unittest
import urllib.parse
import urllib.request

from harness import BIN, TIMEOUT_S, children, need, need_fleet, wait_until
from metered import Metered
from receiver import Receiver, otlp, remote_write
from sources import Prometheus, free_port, need_prometheus

TICKS = "tallywatt_collector_ticks_total"
ENERGY = re.compile(r"tallywatt_\w*energy_joules_total")
ATTRIBUTES = {"pid": "process.pid", "container_id": "container.id",
              "container_name": "container.name", "runtime": "container.runtime.name",
              "pod_id": "k8s.pod.uid", "pod_name": "k8s.pod.name",
              "namespace": "k8s.namespace.name"}
OK = (200, {}, b"")


def microjoules(samples):
    """{(name, labels): uJ}; an empty label is none."""
    found = {}
    for name, labels, value in samples:
        key = (name, tuple(sorted((k, v) for k, v in labels.items() if v != "")))
        if key in found:
            raise AssertionError(f"a series twice: {key}")
        found[key] = round(value * 1e6)
    return found


def as_otlp(name, labels):
    """Name and attributes of a sample of /metrics at a receiver of OTLP."""
    has = {ATTRIBUTES.get(k, k): v for k, v in labels.items() if v != ""}
    if name != "tallywatt_node_energy_joules_total":
        return name.removesuffix("_joules_total"), has
    has.update({"hw.name": has.pop("name"), "hw.id": labels["path"],
                "hw.type": {"dram": "memory"}.get(labels["zone"], "cpu")})
    return "hw.energy", has


class Push(Metered):
    def push(self, *args):
        return self.collect("--meters", "fake", "--push-interval", "100ms",
                            "--push-timeout", "2s", *args)

    def up(self, daemon, to):
        """Whether the receiver has the metrics, and why not."""
        (labels, value), = [(has, value) for name, has, value in self.samples(daemon)
                            if name == "tallywatt_push_up" and has["to"] == to]
        return value, labels["reason"]

    def ticks(self, daemon):
        return next(v for name, _, v in self.samples(daemon) if name == TICKS)

    def energies(self, daemon):
        """The tick of an answer at /metrics, and its energies."""
        samples = self.samples(daemon)
        tick = next(value for name, _, value in samples if name == TICKS)
        return tick, [s for s in samples if ENERGY.fullmatch(s[0])]

    def check_equal(self, daemon, received, convert=lambda name, labels: (name, labels)):
        """received: tick -> {(name, labels): uJ} of a receiver, as a function. Three ticks
        are compared, and more until a tick has more energies than those of the zones."""
        compared, energies, found = set(), 0, {}

        def has_come(tick):
            nonlocal found
            found = received()
            return any(t >= tick for t in found)
        while len(compared) < 3 or energies <= 3:
            tick, samples = self.energies(daemon)
            wait_until(lambda: has_come(tick), "a push of that tick or later", pause_s=0.05)
            if tick not in found:
                continue  # a tick that was not pushed
            wanted = microjoules([(*convert(name, labels), value)
                                  for name, labels, value in samples])
            self.assertEqual({k: v for k, v in found[tick].items() if k in wanted}, wanted)
            energies = len([v for v in wanted.values() if v > 0])
            compared.add(tick)
            self.assertLess(len(compared), 20, wanted)


class Values(Push):
    def test_otlp_has_the_joules_of_metrics(self):
        receiver = Receiver(self)
        daemon = self.push("--otlp", receiver.url, "--node-name", "n1",
                           "--push-labels", "cluster=c,deployment.environment.name=test")
        pushes, taken = {}, {}

        def received():
            """A push is whole, in one request or more of 5000 samples, once the next one comes."""
            while len(receiver.bodies) > received.read:
                path, headers, body = receiver.bodies[received.read]
                received.read += 1
                self.assertEqual((path, headers["Content-Type"], headers["Content-Encoding"]),
                                 ("/v1/metrics", "application/x-protobuf", "gzip"))
                pushes.setdefault(next(otlp(body))[5], {})[body] = None  # perhaps again
            for time in sorted(pushes)[:-1]:
                points = received.points = [p for body in pushes.pop(time) for p in otlp(body)]
                tick = next(p[3] for p in points if p[1][0] == "tallywatt_collector_ticks")
                taken[tick] = microjoules([
                    (p[1][0], {k: str(v) for k, v in p[2].items()}, p[3])
                    for p in points if p[1][1] == "J"])
            return taken
        received.read = 0
        self.check_equal(daemon, received, as_otlp)
        points = received.points
        for resource, (name, unit, counts), has, _, start, time in points:
            self.assertEqual((resource["service.name"], resource["service.instance.id"],
                              resource["host.name"], resource["cluster"],
                              resource["deployment.environment.name"]),
                             ("tw-collector", "n1", "n1", "c", "test"))
            self.assertEqual(start is not None, counts, name)
            self.assertLess(start or 0, time)
            if name in ("hw.energy", "hw.power"):
                self.assertEqual((unit, counts), ("J", True) if name == "hw.energy" else
                                 ("W", False))
                self.assertIn(has["hw.type"], ("cpu", "memory"))
            if "process.pid" in has:
                self.assertIsInstance(has["process.pid"], int)
        names = {p[1][0] for p in points}
        self.assertTrue({"hw.energy", "hw.power", "process.cpu.time",
                         "tallywatt_process_energy"} <= names, names)
        # Every family of /metrics with samples is there.
        families = {name for name, _, _ in self.samples(daemon)}
        self.assertEqual(len(families), len(names), families)

    def test_remote_write_has_the_joules_of_metrics_in_a_real_prometheus(self):
        need_prometheus()
        prometheus = Prometheus(self, self.path("data"),
                                flags=["--web.enable-remote-write-receiver"])
        daemon = self.push("--remote-write", prometheus.url + "/api/v1/write", "--node-name", "n1",
                           "--push-labels", "cluster=c")
        self.check_equal(daemon, lambda: self.stored(prometheus, "query?query="))
        self.assertEqual(self.up(daemon, "remote-write"), (1, ""))

    def test_remote_write_of_an_aggregating_collector(self):
        need_fleet()
        need_prometheus()
        prometheus = Prometheus(self, self.path("data"),
                                flags=["--web.enable-remote-write-receiver"])
        agent = self.collect("--meters", "fake")
        daemon = self.push("--local=no", "--agents", f"http://{agent.address}",
                           "--agents-interval", "200ms", "--keep-ended", "1h", "--node-name", "n1",
                           "--remote-write", prometheus.url + "/api/v1/write",
                           "--push-labels", "cluster=c")
        wait_until(lambda: len([1 for s in self.energies(daemon)[1] if s[2] > 0]) > 3, "sums")
        # Sums also grow between two ticks.
        agent.stop()
        wait_until(lambda: not any(v for n, _, v in self.samples(daemon)
                                   if n == "tallywatt_agent_up"), "its end is seen")
        self.check_equal(daemon, lambda: self.stored(prometheus, "query?query="))

    def test_otlp_has_the_joules_of_metrics_in_a_real_receiver(self):
        """VictoriaMetrics from 1.92 on; TW_OTLP_RECEIVER is its program."""
        program = os.environ.get("TW_OTLP_RECEIVER")
        need("otlp-receiver", program)
        port = free_port()
        with open(self.path("vm.log"), "wb") as log:
            proc = subprocess.Popen([program, f"-httpListenAddr=127.0.0.1:{port}",
                                     f"-storageDataPath={self.path('vm')}"],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        url = f"http://127.0.0.1:{port}"
        daemon = self.push("--otlp", url + "/opentelemetry/api/v1/push")
        added = ("host.name", "host.id", "service.name", "service.instance.id", "service.version")
        wait_until(lambda: self.up(daemon, "otlp")[0] == 1, "it takes metrics")

        def received():
            with urllib.request.urlopen(url + "/internal/force_flush"):
                pass
            query = urllib.parse.quote('{__name__=~".*energy|hw.energy|.*_ticks"}')
            with urllib.request.urlopen(url + "/api/v1/export?match[]=" + query) as f:
                series = [json.loads(line) for line in f]
            ticks, found = {}, {}
            for s in series:
                if s["metric"]["__name__"] == "tallywatt_collector_ticks":
                    ticks = dict(zip(s["timestamps"], s["values"]))
            for s in series:
                name = s["metric"].pop("__name__")
                labels = {k: v for k, v in s["metric"].items() if k not in added}
                for ms, value in zip(s["timestamps"], s["values"]):
                    if ms in ticks:
                        found.setdefault(ticks[ms], []).append((name, labels, value))
            return {tick: microjoules(of) for tick, of in found.items()}
        self.check_equal(daemon, received, as_otlp)

    def stored(self, prometheus, path):
        """What a Prometheus has of the last minute, by tick."""
        found, ticks = {}, {}
        for query in (TICKS, '{__name__=~"tallywatt_.*energy_joules_total"}'):
            url = f"{prometheus.url}/api/v1/{path}{urllib.parse.quote(query + '[1m]')}"
            with urllib.request.urlopen(url) as f:
                result = json.load(f)["data"]["result"]
            for s in result:
                labels = dict(s["metric"])
                name = labels.pop("__name__")
                self.assertEqual((labels.pop("job"), labels.pop("instance"),
                                  labels.pop("cluster")), ("tw-collector", "n1", "c"))
                for time, value in s["values"]:
                    if name == TICKS:
                        ticks[time] = float(value)
                    elif time in ticks:
                        found.setdefault(ticks[time], []).append((name, labels, float(value)))
        return {tick: microjoules(of) for tick, of in found.items()}


class Foreign(Push):
    """Receivers that are slow, broken, hostile or away."""

    def wait_reason(self, daemon, to, why):
        def told():
            value, reason = self.up(daemon, to)
            return value == 0 and why in reason
        wait_until(told, why, pause_s=0.05)

    def check_goes_on(self, daemon, count=5):
        """Ticks and scrapes go on."""
        first = self.ticks(daemon)
        wait_until(lambda: self.ticks(daemon) >= first + count, "ticks")

    def recovers(self, daemon, receiver):
        receiver.answer = OK
        wait_until(lambda: self.up(daemon, "otlp")[0] == 1, "it is pushed again", pause_s=0.05)

    def test_none_delays_ticks_and_scrapes(self):
        receiver = Receiver(self, "hang")
        daemon = self.push("--otlp", receiver.url, "--remote-write", "http://127.0.0.1:1/write")
        self.wait_reason(daemon, "remote-write", "connect")
        wait_until(lambda: receiver.bodies, "a request")
        self.check_goes_on(daemon)
        self.wait_reason(daemon, "otlp", "timed out")
        for answer, why in (
                ((503, {}, b"no\nroom"), "it answers 503: no"),
                ((400, {}, b"\x1b[31mtoo old"), "it answers 400: ?[31mtoo old"),
                ((307, {"Location": "http://127.0.0.1:1/"}, b""), "it answers 307"),
                ((401, {}, b""), "it answers 401"),
                ((500, {}, b"x" * 2000000), "it answers 500: xxx"),
                ((200, {}, b"\x0a\x04\x08\x07\x12\x00"), "it refuses 7 samples"),
                ("drip", "")):
            receiver.answer = answer
            if why:
                self.wait_reason(daemon, "otlp", why)
            self.check_goes_on(daemon, 2)
            self.recovers(daemon, receiver)
        # An answer without an end of what it means is no refusal.
        receiver.answer = (200, {}, b"\xff" * 3000000)
        wait_until(lambda: self.up(daemon, "otlp")[0] == 1, "a long answer is skipped")
        self.recovers(daemon, receiver)
        log = daemon.log().splitlines()
        self.assertTrue(all(line.startswith("time=") for line in log), log)
        # Reasons have no figure that differs each time.
        reasons = {re.sub(r"^time=\S+| (samples|bytes)=\d+", "", line)
                   for line in log if "to=otlp" in line}
        self.assertLess(len(reasons), 20, reasons)

    def test_a_text_is_sent_until_it_is_taken_and_not_before_the_receiver_wants(self):
        receiver = Receiver(self, (429, {"Retry-After": "1"}, b""))
        daemon = self.push("--otlp", receiver.url)
        wait_until(lambda: len(receiver.bodies) >= 2, "a second try")
        self.assertEqual(receiver.bodies[0][2], receiver.bodies[1][2])
        self.wait_reason(daemon, "otlp", "it answers 429")
        self.recovers(daemon, receiver)
        times = [next(otlp(body))[5] for _, _, body in receiver.bodies]
        self.assertEqual(times[0], times[1])
        # What is refused for good is not sent again.
        receiver.answer = (400, {}, b"")
        self.wait_reason(daemon, "otlp", "400")
        refused = receiver.bodies[-1][2]
        count = len(receiver.bodies)
        self.recovers(daemon, receiver)
        self.assertNotIn(refused, [body for _, _, body in receiver.bodies[count:]])

    def test_a_killed_helper_is_started_again(self):
        receiver = Receiver(self)
        daemon = self.push("--remote-write", receiver.url + "/w")
        wait_until(lambda: len(receiver.bodies) > 1, "pushes")
        killed = [child for helper in children(daemon.proc.pid)
                  for child in children(helper)]
        self.assertTrue(killed)
        for child in killed:
            os.kill(child, signal.SIGKILL)
        daemon.wait_logged(r"to=remote-write: the helper died of signal 9")
        count = len(receiver.bodies)
        wait_until(lambda: len(receiver.bodies) > count + 2, "pushes go on")
        path, headers, body = receiver.bodies[-1]
        self.assertEqual((path, headers["Content-Encoding"],
                          headers["X-Prometheus-Remote-Write-Version"]),
                         ("/w", "snappy", "0.1.0"))
        self.assertIn(TICKS, [labels["__name__"] for labels, _, _ in remote_write(body)])


class Refusals(Push):
    def test_options(self):
        secret = self.write("access", "user = u\npassword = p\n")
        os.chmod(secret, 0o644)
        for args, why in (
                (["--otlp", "ftp://x"], "--otlp: want http"),
                (["--remote-write-access", secret], "needs --remote-write"),
                (["--otlp", "http://x", "--otlp-access", secret], "--otlp-access"),
                (["--push-labels", "a b"], "want NAME=VALUE"),
                (["--push-labels", "__a=b"], "want NAME=VALUE"),
                (["--push-labels", "a.b=1,a_b=2"], "a_b twice"),
                (["--push-labels", b"a=\xff"], "a: want UTF-8"),
                (["--push-timeout", "1ms"], "want 100ms to 1m"),
                (["--push-interval", "1ms"], "want 100ms to 1h")):
            found = self.refused_by_collector(*args)
            self.assertIn(why, found)

    def test_credentials_are_sent(self):
        receiver = Receiver(self)
        secret = self.write("access", "user = u\npassword = p\n")
        os.chmod(secret, 0o600)
        self.push("--otlp", receiver.url + "/x", "--otlp-access", secret)
        wait_until(lambda: receiver.bodies, "a request")
        path, headers, _ = receiver.bodies[0]
        self.assertEqual((path, headers["Authorization"]), ("/x", "Basic dTpw"))

    @staticmethod
    def refused_by_collector(*args):
        done = subprocess.run([os.path.join(BIN, "tw-collector"), *args], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        if done.returncode != 2 or done.stderr.count(b"\n") != 1:
            raise AssertionError((done.returncode, done.stderr))
        return done.stderr.decode()


if __name__ == "__main__":
    unittest.main(verbosity=2)
