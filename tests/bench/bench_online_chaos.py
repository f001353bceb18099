#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos: each daemon of the loop and Prometheus is killed and started again at random, the
networks of the metered machine and of the model server are cut, and the disk of the online trainer
is filled, for --minutes (10). stress-ng loads the machine, and half of the time later the machine's
law of power changes.

Nothing that was read is lost or twice, no daemon ends by itself, each estimate has a true
source, a model is published under each law, and the loop is whole again within two intervals.
"""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import unittest
import urllib.parse
import urllib.request

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from harness import (BIN, Daemon, ask_estimator, call, power_request,  # noqa: E402
                     wait_until)
from sources import Prometheus, free_port, need_prometheus  # noqa: E402
from test_online import Online  # noqa: E402

INTERVAL_S = bench.quick(5, 3)  # samples come each second, and a row needs some
# Watts of the metered machine: at rest, and more with all CPUs busy.
LAWS = ((6.0, 8.0), (9.0, 14.0))
OPTIONS = argparse.Namespace(minutes=10.0, seed=1)
GOALS = bench.Goals()
CHECKED = ("tallywatt_collector_tick_time_seconds", "tallywatt_node_energy_joules_total")


class Network:
    """A network namespace with a cable to this one; the cable can be cut."""

    def __init__(self, case, number):
        self.name = f"tw-{os.getpid()}-{number}"
        self.cable = f"tw{os.getpid()}.{number}"[-15:]
        here, self.host = f"10.213.{number}.1", f"10.213.{number}.2"
        self.ip("netns", "add", self.name)
        case.addCleanup(self.ip, "netns", "delete", self.name)
        self.ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns",
                self.name)
        self.ip("address", "add", f"{here}/24", "dev", self.cable)
        self.ip("link", "set", self.cable, "up")
        for command in (f"address add {self.host}/24 dev eth0", "link set eth0 up", "link set lo up"):
            self.ip("-netns", self.name, *command.split())

    def inside(self, case, program):
        """A program that runs another one in the namespace, as the same process."""
        path = case.write(f"in-{self.name}", f"#!/bin/sh\nexec ip netns exec {self.name} "
                                             f"{os.path.join(BIN, program)} \"$@\"\n")
        os.chmod(path, 0o755)
        return path

    @staticmethod
    def ip(*args):
        subprocess.run(["ip", *args], check=True)

    def cut(self, seconds):
        self.ip("link", "set", self.cable, "down")
        time.sleep(seconds)
        self.ip("link", "set", self.cable, "up")


class Chaos(Online):
    """Each daemon keeps its address when it is started again."""

    def setUp(self):
        super().setUp()
        self.commands, self.daemons = {}, {}
        self.counts = {"kills": 0, "cut networks": 0, "full disks": 0}
        self.networks = {name: Network(self, number)
                         for number, name in enumerate(("collector", "server"))}
        self.random = random.Random(OPTIONS.seed)
        self.law = LAWS[0]

    def launch(self, name, program, *args):
        network = self.networks.get(name)
        self.commands[name] = (network.inside(self, program) if network else program, args)
        self.restart(name)

    def listen(self, name, program, *args):
        """Start a daemon, in its network if it has one; its address."""
        network = self.networks.get(name)
        address = f"{network.host if network else '127.0.0.1'}:{free_port()}"
        self.launch(name, program, "--listen", address, *args)
        return address

    def restart(self, name):
        program, args = self.commands[name]
        self.started += 1
        self.daemons[name] = Daemon(self.path(f"{name}-{self.started}"), program, args)
        self.addCleanup(self.stop_once, self.daemons[name])

    def meter(self):
        """A package by self.law, in a powercap tree."""
        zone = self.path("powercap/intel-rapl:0")
        os.makedirs(zone)
        self.write("powercap/intel-rapl:0/name", "package-0\n")
        self.write("powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n")
        stopped = threading.Event()

        def cpu_ticks():
            with open("/proc/stat", "rb") as f:
                ticks = [int(t) for t in f.readline().split()[1:9]]
            return sum(ticks) - ticks[3] - ticks[4], sum(ticks)

        def run():
            joules, at, last = 0.0, time.monotonic(), cpu_ticks()
            with open(os.path.join(zone, "energy_uj"), "r+b", buffering=0) as f:
                while not stopped.wait(0.05):
                    now, ticks = time.monotonic(), cpu_ticks()
                    busy = (ticks[0] - last[0]) / max(1, ticks[1] - last[1])
                    watts = self.law[0] + self.law[1] * busy
                    joules, at, last = joules + (now - at) * watts, now, ticks
                    os.pwrite(f.fileno(), b"%-20d\n" % int(joules * 1e6), 0)
        self.write("powercap/intel-rapl:0/energy_uj", "0\n")
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stopped.set)
        return self.path("powercap")

    def load(self):
        """Rest and loads of the machine, in turn."""
        stopped, chance = threading.Event(), random.Random(OPTIONS.seed)

        def run():
            while not stopped.wait(chance.uniform(2, 8)):
                # Other benches run beside the short form.
                with subprocess.Popen(["stress-ng", "--quiet", "--cpu", bench.quick("0", "1"),
                                       "--cpu-load", str(chance.randrange(10, 101)), "--timeout",
                                       f"{chance.randrange(3, 12)}s"],
                                      stdin=subprocess.DEVNULL) as stress:
                    stress.wait()
        thread = threading.Thread(target=run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stopped.set)

    def start_all(self):
        common = ("--interval", "500ms", "--user", "root", "--top", "5", "--bpf", "off")
        target = self.listen("collector", "tw-collector", *common, "--powercap", self.meter(),
                             "--meters", "rapl-sysfs")
        os.mkdir(self.path("tsdb"))
        self.prometheus = Prometheus(self, self.path("tsdb"), scrape=f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
- job_name: tallywatt
  static_configs: [{{targets: ['{target}']}}]
""")
        # The state of the trainer is on a small disk of its own.
        os.mkdir(self.path("state"))
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", self.path("state")],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("state")], check=True)
        os.makedirs(self.path("db"))
        self.listen("trainer", "tw-trainer", "--online", "--prometheus", self.prometheus.url,
                    "--model-db", self.path("db"), "--online-state", self.path("state"),
                    "--online-trainers", "LinearRegressionTrainer", "--train-after", "60",
                    "--sampling-interval", f"{INTERVAL_S}s", "--delay", "5s")
        server = self.listen("server", "tw-server", "--model-db", self.path("db"))
        self.launch("estimator", "tw-estimator", "--socket", self.path("socket"), "--model-server",
                    f"http://{server}", "--refresh", "10s", "--shipped-models", "")
        self.listen("guest", "tw-collector", *common, "--powercap", self.path("none"), "--meters",
                    "model", "--model-server", f"http://{server}")

    # ---- faults ----

    def say(self, what):
        print(f"{time.monotonic() - self.began:5.0f} s  {what}", flush=True)

    def kill_one(self):
        name = self.random.choice([*self.daemons, "prometheus"])
        self.say(f"kill {name}")
        if name == "prometheus":
            self.prometheus.kill()
        else:
            daemon = self.daemons[name]
            self.assertIsNone(daemon.proc.poll(), f"{name} ended by itself:\n{daemon.log()}")
            daemon.stop(signal.SIGKILL)
        time.sleep(self.random.uniform(0, 2 * INTERVAL_S))
        if name == "prometheus":
            self.prometheus.start()
        else:
            self.restart(name)
        self.counts["kills"] += 1

    def cut_network(self):
        name = self.random.choice([*self.networks])
        self.say(f"cut the network of {name}")
        self.networks[name].cut(self.random.uniform(INTERVAL_S, 3 * INTERVAL_S))
        self.counts["cut networks"] += 1

    def fill_disk(self):
        self.say("fill the disk")
        path = self.path("state/ballast")
        with open(path, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(bytes(1 << 16))
            except OSError:
                pass
        time.sleep(self.random.uniform(INTERVAL_S, 3 * INTERVAL_S))
        os.unlink(path)
        self.counts["full disks"] += 1

    # ---- what must hold ----

    def check_source(self):
        """All power of the guest, which has no meter, is a model's."""
        for line in call(self.daemons["guest"], "GET", "/metrics").body.decode().splitlines():
            if line.startswith("tallywatt_node_energy_joules_total"):
                self.assertIn('source="model"', line)

    def ok_polls(self):
        return self.metric(self.daemons["trainer"], "polls_total", 'result="ok"')

    def verdicts(self):
        """Sums of the trainer's verdicts over all machines."""
        sums = {}
        for (name, labels), value in self.metrics(self.daemons["trainer"]).items():
            if name == "verdicts_total":
                verdict = labels.split('verdict="')[1].split('"')[0]
                sums[verdict] = sums.get(verdict, 0) + int(value)
        return sums

    def segments(self):
        """Segments in the windows of all machines."""
        return sum(value for (name, _), value in self.metrics(self.daemons["trainer"]).items()
                   if name == "window_segments")

    def published(self):
        return self.verdicts().get("published", 0)

    def estimates(self):
        """Whether the estimator predicts, by a model that the trainer has published."""
        return ask_estimator(self.path("socket"), power_request(["bpf_cpu_time_ms"], [[500.0]]))

    def in_prometheus(self, metric):
        """Times of a metric's samples, of which there may be several series."""
        query = urllib.parse.urlencode({"query": f"{metric}[{int(OPTIONS.minutes * 60) + 3600}s]"})
        with urllib.request.urlopen(f"{self.prometheus.url}/api/v1/query?{query}") as answer:
            series = json.load(answer)["data"]["result"]
        return sorted(round(t, 3) for s in series for t, _ in s["values"])

    def runTest(self):
        need_prometheus()
        self.began = time.monotonic()
        self.start_all()
        self.load()
        before = None
        while time.monotonic() - self.began < OPTIONS.minutes * 60:
            if before is None and time.monotonic() - self.began > OPTIONS.minutes * 30:
                before, self.law = self.published(), LAWS[1]
                self.say(f"another law; verdicts until now: {self.verdicts()}")
            time.sleep(self.random.uniform(0, 2 * INTERVAL_S))
            self.random.choices((self.kill_one, self.cut_network, self.fill_disk),
                                (70, 15, 15))[0]()
            self.check_source()
        polls, healed = self.ok_polls(), time.monotonic()
        wait_until(lambda: self.ok_polls() > polls and (self.estimates() or not self.published()),
                   "the loop is whole", pause_s=0.1)
        healed = time.monotonic() - healed
        trainer = self.daemons["trainer"]
        print(", ".join(f"{count} {what}" for what, count in self.counts.items()) +
              f"; whole again after {healed:.1f} s; verdicts: {self.verdicts()}")
        if not bench.QUICK:  # a form of seconds has too few rows for a model
            wait_until(lambda: self.published() > before > 0,
                       "a model is published under each law")
        wait_until(lambda: self.segments() > 0 and
                   self.metric(trainer, "behind_seconds", "") < INTERVAL_S, "all is read")
        trainer.stop()
        found, read_to_s = self.stored()
        for metric in CHECKED:
            kept = sorted(round(t, 3) for (key, t) in found if key[0] == metric)
            there = [t for t in self.in_prometheus(metric) if kept[0] <= t <= read_to_s]
            print(f"{metric}: {len(there)} samples in Prometheus, {len(kept)} in the window")
            self.assertEqual(kept, there)
        GOALS.at_most("whole again after", healed,
                      2 * INTERVAL_S + 60 * (os.getloadavg()[0] > os.cpu_count()), "s")


if __name__ == "__main__":
    bench.need_root()
    bench.need_programs("stress-ng", "prometheus", "ip")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=bench.quick(10, 0.1))
    parser.add_argument("--seed", type=int, default=1)
    OPTIONS = parser.parse_args()
    GOALS.missed += not unittest.TextTestRunner().run(Chaos()).wasSuccessful()
    GOALS.exit()
