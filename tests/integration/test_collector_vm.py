# SPDX-License-Identifier: Apache-2.0
"""tw-collector in a virtual machine without meters or counters, by the models that ship.

The power of busy CPUs is plausible, and it is the same whether the collector reads the
database itself, asks tw-server or asks tw-estimator."""
import os
import re
import statistics
import subprocess
import sys
import unittest

from harness import ROOT, Case, call, need, sanitized, wait_until

MODELS = os.path.join(ROOT, "model-db/models")
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
INTERVAL_MS = 250
ZONES = ("package", "platform")
TICKS = 4
# A busy CPU is a share of a server with 32 CPUs, of some 150 W above rest.
CPU_MIN_W, CPU_MAX_W = 0.5, 20
AGREE = 0.25
# Other programs may run beside the test: the share of CPUs that is rest, and that is load.
REST_SHARE, LOAD_SHARE = 0.2, 0.8
REST_WAIT_S = 5
BURN_S = 25
BURN = f"import time\nend = time.monotonic() + {BURN_S}\nwhile time.monotonic() < end: pass"


def in_virtual_machine():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
        return re.search(r"^flags\s*:.*\bhypervisor\b", f.read(), re.M) is not None


class Scrape:
    """The node's power and use of CPUs at one tick."""

    def __init__(self, daemon):
        self.lines = [line for line in call(daemon, "GET", "/metrics").body.decode()
                      .splitlines() if line.startswith("tallywatt_")]
        found = [(m[1], dict(LABEL.findall(m[2] or "")), float(m[3]))
                 for m in map(SAMPLE.match, self.lines) if m]
        self.ticks = sum(v for n, _, v in found if n == "tallywatt_collector_ticks_total")
        self.busy_s = sum(v for n, has, v in found
                          if n == "tallywatt_node_cpu_seconds_total"
                          and has["mode"] not in ("idle", "iowait", "steal"))
        self.power = {has["zone"]: v for n, has, v in found
                      if n == "tallywatt_node_power_watts"}
        self.sources = {has["source"] for n, has, _ in found
                        if n == "tallywatt_node_power_watts"}
        self.models = [has for n, has, _ in found if n == "tallywatt_model_info"]
        self.counters = any(n == "tallywatt_process_cpu_cycles_total" for n, _, _ in found)

    def power_lines(self):
        return [line for line in self.lines
                if line.startswith("tallywatt_node_power_watts{")]


class Watched:
    """A collector, and the share of the CPUs that was busy in its last tick."""

    def __init__(self, way, daemon):
        self.way, self.daemon = way, daemon
        self.now, self.share = Scrape(daemon), None

    def tick(self):
        """Wait for the next tick, and tell whether there was none between."""
        before = self.now
        wait_until(lambda: self.next_tick(before), f"{self.way}: it ticks")
        seconds = (self.now.ticks - before.ticks) * INTERVAL_MS / 1000
        self.share = (self.now.busy_s - before.busy_s) / seconds / os.cpu_count()

    def next_tick(self, before):
        self.now = Scrape(self.daemon)
        return self.now.ticks > before.ticks


class VirtualMachine(Case):
    def setUp(self):
        super().setUp()
        need("virtual machine", in_virtual_machine())
        need("all CPUs", len(os.sched_getaffinity(0)) == os.cpu_count())
        if sanitized():
            self.skipTest("a sanitized collector takes CPU time itself")
        os.chmod(self.dir, 0o755)  # the collector becomes another user

    def collect(self, way, *args):
        daemon = self.start_http("tw-collector", "--interval", f"{INTERVAL_MS}ms",
                                 "--shipped-models", "", *args)
        wait_until(lambda: set(ZONES) <= set(Scrape(daemon).power),
                   f"{way}: there is power of {ZONES}: {daemon.log()}")
        watched = Watched(way, daemon)
        if watched.now.sources != {"model"}:
            self.skipTest(f"a meter tells power here: {watched.now.sources}")
        if watched.now.counters:
            self.skipTest("there are counters here")
        return watched

    def three_ways(self):
        server = self.start_http("tw-server", "--model-db", MODELS)
        socket = self.path("estimator.socket")
        self.start("tw-estimator", "--socket", socket, "--socket-mode", "0666",
                   "--model-db", MODELS, "--shipped-models", "")
        watched = [self.collect("database", "--model-db", MODELS),
                   self.collect("server", "--model-server", f"http://{server.address}"),
                   self.collect("estimator", "--estimator", socket)]
        for w, by in zip(watched, ("collector", "collector", "estimator")):
            self.assertEqual({m["by"] for m in w.now.models}, {by}, w.way)
            print(f"{w.way}: " + ", ".join(
                f"{m['energy_source']} {m['features']} {m['model']} from {m['origin']}"
                for m in w.now.models))
        return watched

    def rest(self, watched):
        """Of each collector the power at the tick with the least load, and that load."""
        least = [(w.share, None) for w in watched]

        def rested():
            for i, w in enumerate(watched):
                w.tick()
                if least[i][1] is None or w.share < least[i][0]:
                    least[i] = (w.share, dict(w.now.power))
            return all(share < REST_SHARE for share, _ in least)
        try:
            wait_until(rested, "rest", timeout=REST_WAIT_S)
        except AssertionError:
            print("other programs run beside the test")
        return least

    def burn(self):
        for _ in range(os.cpu_count()):
            child = subprocess.Popen([sys.executable, "-c", BURN],
                                     stdin=subprocess.DEVNULL)
            self.addCleanup(child.wait)
            self.addCleanup(child.kill)

    def loaded(self, watched):
        """The median power of some ticks under full load."""
        ticks = []

        def enough():
            watched.tick()
            if watched.share >= LOAD_SHARE:
                ticks.append(dict(watched.now.power))
            return len(ticks) == TICKS + 1
        wait_until(enough, f"{watched.way}: the node's CPU time shows the load")
        # The first one may have begun before the load.
        return {zone: statistics.median(t[zone] for t in ticks[1:]) for zone in ZONES}

    def test_busy_cpus_have_plausible_power_from_any_holder_of_the_model(self):
        watched = self.three_ways()
        rest = self.rest(watched)
        self.burn()
        load = [self.loaded(w) for w in watched]
        cpus = os.cpu_count()
        for w, (share, at_rest), power in zip(watched, rest, load):
            print(f"{w.way}: all of {cpus} CPUs busy: {power}; "
                  f"{share * 100:.0f} % busy: {({z: at_rest[z] for z in ZONES})}")
            print("\n".join(w.now.power_lines()))
            for zone in ZONES:
                what = f"{w.way}: {zone} {power[zone]} W, at rest {at_rest}"
                self.assertGreater(power[zone], CPU_MIN_W * cpus, what)
                self.assertLess(power[zone], CPU_MAX_W * cpus, what)
                if share < LOAD_SHARE / 2:
                    self.assertGreater(power[zone], at_rest[zone], what)
                else:
                    print(f"{w.way}: {zone} is not compared with rest: there was none")
        for zone in ZONES:
            values = [power[zone] for power in load]
            self.assertLess(max(values), (1 + AGREE) * min(values), f"{zone}: {values}")


if __name__ == "__main__":
    unittest.main()
