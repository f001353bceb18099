# SPDX-License-Identifier: Apache-2.0
"""A collector that exports ten processes and ten cgroups loses nothing: the series "other"
has what the rest used. The machine is scripted: a fork storm of which every jiffy is known."""
import json
import os
import random
import re
import shutil
import time
import unittest

from harness import Case, call, health, run_tallywatt, sanitized, wait_until
from scripted_vm import LABEL, SAMPLE, Machine, write

INTERVAL_MS = 200
TOP = 10
STEPS = 24
FORKS = 40
CGROUPS = 15
JIFFY_S = 0.01


class Storm(Machine):
    """Each process of the storm is there for one tick."""

    def __init__(self, top):
        super().__init__(top, 2, 5)
        self.rng = random.Random(5)
        self.pid, self.forked, self.done = 1000, [], 0

    def fork(self):
        for pid in self.forked:
            shutil.rmtree(f"{self.top}/proc/{pid}")
        self.forked = []
        start = int(time.clock_gettime(time.CLOCK_BOOTTIME) / JIFFY_S) + 1
        for _ in range(FORKS):
            self.pid += 1
            used = self.rng.randrange(5)
            self.done += used
            # A new process appears whole.
            new = f"{self.top}/new"
            write(f"{new}/cgroup", f"0::/job-{self.rng.randrange(CGROUPS)}.service\n")
            write(f"{new}/stat", f"{self.pid} (sh) R 1 1 1 0 -1 0 1 2 3 4 {used} 0 0 0 20 0 1 "
                                 f"0 {start} 1\n")
            os.rename(new, f"{self.top}/proc/{self.pid}")
            self.forked.append(self.pid)
        self.use([self.rng.randrange(9) * 10 for _ in range(5)])
        busy = self.done + sum(self.jiffies)
        write(f"{self.top}/proc/stat", f"cpu {busy} 0 0 1000\n" + "".join(
            f"cpu{i} {busy // 2} 0 0 500\n" for i in range(2)) +
            "intr 6\nctxt 5\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n")


class Scraper:
    """A Prometheus server: it keeps all samples, and adds up the growth of counters."""

    def __init__(self, daemon):
        self.daemon, self.series, self.grown = daemon, {}, {}

    def scrape(self):
        text, now = call(self.daemon, "GET", "/metrics").body.decode(), time.time()
        found = {}
        for m in filter(None, map(SAMPLE.match, text.splitlines())):
            if m[1].startswith("tallywatt_"):
                found[m[1], m[2] or ""] = m[3]
        for key, value in found.items():
            seen = self.series.setdefault(key, [])
            before = float(seen[-1][1]) if seen else 0.0
            if key[0].endswith("_total"):
                assert float(value) >= before, (key, value, before)
                self.grown[key] = self.grown.get(key, 0.0) + float(value) - before
            seen.append([now, value])
        return found

    def sum(self, name, pattern=""):
        return sum(v for (n, labels), v in self.grown.items()
                   if n == name and re.search(pattern, labels))

    def response(self):
        """As Prometheus answers query_range."""
        metrics = {}
        for (name, labels), values in self.series.items():
            metrics.setdefault(name, []).append({
                "metric": {"__name__": name, "instance": "node:8103", "job": "tallywatt",
                           **{k: v for k, v in LABEL.findall(labels) if v}},
                "values": values})
        return json.dumps(metrics)


class Limited(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.storm = Storm(self.path("machine"))
        self.daemon = self.start_http(
            "tw-collector", "--interval", f"{INTERVAL_MS}ms", "--bpf", "off", "--meters",
            "fake", "--top", str(TOP), *(["--filter=no"] if sanitized() else []),
            *self.storm.args)

    def ticks(self):
        return health(self.daemon)["ticks"]

    def wait_tick(self):
        before = self.ticks()
        # Two: one may have begun before.
        wait_until(lambda: self.ticks() >= before + 2, "it ticks")

    def test_two_scrapers_see_all_cpu_time_and_energy_of_a_fork_storm(self):
        one, two = Scraper(self.daemon), Scraper(self.daemon)
        self.wait_tick()
        most = 0
        for step in range(STEPS):
            self.storm.fork()
            self.wait_tick()
            # They take turns, as a pair of Prometheus servers does.
            found = (one, two)[step % 2].scrape()
            most = max(most, sum(name == "tallywatt_process_cpu_seconds_total"
                                 for name, _ in found))
        # The growth of the last step, for both.
        self.wait_tick()
        one.scrape()
        two.scrape()
        truth = (self.storm.done + sum(self.storm.jiffies)) * JIFFY_S
        for scraper in (one, two):
            for level in ("process", "cgroup"):
                cpu = scraper.sum(f"tallywatt_{level}_cpu_seconds_total")
                other = scraper.sum(f"tallywatt_{level}_cpu_seconds_total", '="other"')
                energy = scraper.sum(f"tallywatt_{level}_energy_joules_total",
                                     'zone="package"')
                node = scraper.sum("tallywatt_node_energy_joules_total", 'zone="package"')
                waiting = float(scraper.series["tallywatt_node_unattributed_joules",
                                               'zone="package"'][-1][1])
                print(f"{level}: CPU time {cpu:.2f} s of {truth:.2f} s, other {other:.2f} s; "
                      f"energy {energy:.3f} J of {node - waiting:.3f} J")
                self.assertAlmostEqual(cpu, truth, 6)
                self.assertGreater(other, 0.1 * truth)
                self.assertAlmostEqual(energy, node - waiting, 5)
        # Series that are exported once more are at most as many.
        self.assertLessEqual(most, 3 * TOP + 1)
        self.check_extraction(one)

    def check_extraction(self, scraper):
        """The same by `tallywatt extract`, against the node's totals."""
        path = self.write("response.json", scraper.response())
        done = run_tallywatt("extract", "--input", path, "--group", "BPFOnly", "--source",
                             "fake")
        text = done.stderr.decode()
        self.assertEqual(done.returncode, 0, text)
        share = float(re.search(r"CPU time: .*\(([0-9.]+) %", text)[1])
        print(f"rows: {share} % of the node's CPU time")
        self.assertLess(abs(share - 100), 1, text)


if __name__ == "__main__":
    unittest.main()
