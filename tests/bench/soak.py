#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All daemons under mixed load: does memory grow, is every request answered, do they end?

Processes with names of virtual machines run beside them, and a collector adds up agents of which
most lie, hang or send garbage; the sums of the honest must be exact.

    make soak [MINUTES=30] [BUILD=asan]

Trainings, uploads, models, watts and scrapes at the same time. The memory of each daemon is
read every 5 s. The first sixth of the time is for warming up; growth is the median of the
last sixth less the median of the second. Exits 1 if a request is unanswered, if a daemon takes
more than 5 s to end or reports something, or if one grows by more than a tenth and 4 MiB.
"""
import argparse
import http.client
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from decimal import Decimal

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
# pylint: disable=wrong-import-position
from harness import GENERATED, ROOT, SMALL, Daemon, ask_estimator, call, power_request, \
    read_json, sanitized, train_generated, tree, wait_until
from simulated_agents import ZONES, Node, Server
from test_publish import TOKEN, zip_of
from test_train_jobs import train_request

EXIT_S = 5
SAMPLE_S = 5
# Exited processes are exported for so long, and need memory: they must be as many at the end of
# the warm-up as later, also in a soak of 3 minutes.
KEEP_ENDED_S = 15
FORGED = 60  # processes that say they are qemu
HONEST = 4
LIARS = ("hang", "drip", "garbage", "huge", "bomb", "lie", "wrong")
GROWN_MIB = 4
MODEL = {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "source": "rapl-sysfs"}
ROW = power_request(["cpu_cycles", "cpu_instructions", "cache_miss"], [[2.5e9, 1.7e9, 3.1e6]])


class Load(threading.Thread):
    """A client that asks again and again; a failed connection is an unanswered request."""

    def __init__(self, name, ask, pause_s, end):
        super().__init__(daemon=True)
        self.name, self.ask, self.pause_s, self.end = name, ask, pause_s, end
        self.answered, self.unanswered, self.statuses, self.slowest = 0, [], {}, 0.0
        self.start()

    def run(self):
        while not self.end.is_set():
            start = time.monotonic()
            try:
                status = self.ask()
                self.answered += 1
                self.statuses[status] = self.statuses.get(status, 0) + 1
            except (OSError, http.client.HTTPException, ValueError) as e:
                self.unanswered.append(repr(e))
            self.slowest = max(self.slowest, time.monotonic() - start)
            self.end.wait(self.pause_s)


def forge(number):
    """A process with the command line of a virtual machine, until its input ends."""
    command = ["qemu-system-x86_64", "-c", "read line", "-uuid",
               f"{number:08d}-2222-3333-4444-555555555555"]
    return subprocess.Popen(command, executable="/bin/sh", stdin=subprocess.PIPE)


class Soak:
    def __init__(self, scratch):
        self.agents = Server({f"honest-{i}": Node(f"honest-{i}", seed=i) for i in range(HONEST)})
        self.liars = Server({liar: liar for liar in LIARS})
        self.forged = [forge(i) for i in range(FORGED)]
        self.dir, self.db = scratch, os.path.join(scratch, "db")
        shutil.copytree(os.path.join(ROOT, "model-db/models"), self.db)
        train_generated(self.db)
        with open(os.path.join(scratch, "auth"), "w", encoding="ascii") as f:
            f.write("s3cret\n")
        self.socket = os.path.join(scratch, "estimator")
        self.daemons = {}
        filtered = [] if not sanitized() else ["--filter=no"]
        for name, *args in (
                ("tw-server", "--listen", "127.0.0.1:0", "--model-db", self.db,
                 "--publish-auth", os.path.join(scratch, "auth")),
                ("tw-trainer", "--listen", "127.0.0.1:0", "--model-db", self.db,
                 "--jobs", os.path.join(scratch, "jobs")),
                ("tw-estimator", "--model-db", self.db, "--socket", self.socket),
                ("tw-collector", "--listen", "127.0.0.1:0", "--interval", "500ms", "--compat",
                 "kepler,kepler-legacy,kepler-0.5", "--top", "0", "--model-db", self.db,
                 "--keep-ended", f"{KEEP_ENDED_S}s",
                 "--levels", "process,vm,pod,job,container",
                 *(["--user", "root", *filtered] if sanitized() else [])),
                ("tw-collector of agents", "--listen", "127.0.0.1:0", "--local=no", "--agents",
                 ",".join(server.url(name) for server in (self.agents, self.liars)
                          for name in server.of), "--agents-interval", "500ms",
                 "--agents-timeout", "5s", "--keep-ended", f"{KEEP_ENDED_S}s", *filtered)):
            os.environ.update(SMALL)
            self.daemons[name] = Daemon(os.path.join(scratch, name.replace(" ", "-")),
                                        name.split()[0], args)
        self.memory = {name: [] for name in self.daemons}
        self.end = threading.Event()

    def ask(self, program, method, path, body=None, headers=None):
        return lambda: call(self.daemons[program], method, path, body, headers).status

    def loads(self):
        response = read_json(GENERATED["0.7"])
        body = zip_of(tree(os.path.join(self.db, "haswell-kind")))
        turn = iter(range(10**9))

        def train():
            ask = train_request(response, f"soak-{next(turn) % 3}")
            return call(self.daemons["tw-trainer"], "POST", "/train", ask).status

        def job():
            ask = train_request(response, "soak-job")
            answer = call(self.daemons["tw-trainer"], "POST", "/api/v1/train", ask)
            if answer.status == 202 and next(turn) % 2:
                call(self.daemons["tw-trainer"], "DELETE", answer.headers["Location"])
            return answer.status

        def watts():
            return 200 if ask_estimator(self.socket, ROW) else 204
        model = "/api/v1/models?" + urllib.parse.urlencode({"limit": 5})
        plan = (("POST /train", train, 2), ("POST /api/v1/train", job, 5),
                ("jobs", self.ask("tw-trainer", "GET", "/api/v1/jobs"), 1),
                ("PUT pipeline", self.ask("tw-server", "PUT", "/api/v1/pipelines/soak-sent",
                                          body, TOKEN), 4),
                ("POST /model", self.ask("tw-server", "POST", "/model", MODEL), 0.02),
                ("POST weights", self.ask("tw-server", "POST", "/model",
                                          {**MODEL, "weight": True}), 0.02),
                ("GET models", self.ask("tw-server", "GET", model), 0.1),
                ("bad request", self.ask("tw-server", "POST", "/model", b"{"), 0.05),
                ("watts", watts, 0.01), ("watts", watts, 0.01),
                ("scrape", self.ask("tw-collector", "GET", "/metrics"), 0.25),
                ("scrape gzip", self.ask("tw-collector", "GET", "/metrics", None,
                                         {"Accept-Encoding": "gzip"}), 0.4),
                ("power", self.ask("tw-collector", "GET", "/api/v1/power?level=process"), 0.3),
                ("scrape of agents", self.ask("tw-collector of agents", "GET", "/metrics"), 0.5))
        return [Load(name, ask, pause, self.end) for name, ask, pause in plan]

    def run(self, minutes):
        until = time.monotonic() + minutes * 60
        loads = self.loads()
        while time.monotonic() < until:
            time.sleep(SAMPLE_S)
            for name, daemon in self.daemons.items():
                if daemon.proc.poll() is not None:
                    raise bench.Failed(f"{name} has ended:\n{daemon.log()[-3000:]}")
                self.memory[name].append(daemon.resident_kib() / 1024)
        self.end.set()
        for load in loads:
            load.join()
        return loads

    def check_agents(self):
        """How far the sum over the honest agents is from their last answers, in joules."""
        before = dict(self.agents.answers)
        for name in self.agents.of:
            self.agents.freeze(name)
        # The second of two more answers comes once the first was taken.
        wait_until(lambda: all(self.agents.answers[name] > before[name] + 2 for name in before),
                   "last values arrive")
        text = call(self.daemons["tw-collector of agents"], "GET", "/metrics").body.decode()
        added = sum((Decimal(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                     if line.startswith("tallywatt_agents_node_energy_joules_total{")), Decimal(0))
        return abs(added - sum(self.agents.ledger.sum("node", zone) for zone in ZONES))

    def check_forged(self):
        """Virtual machines that the collector takes the forged processes for."""
        text = call(self.daemons["tw-collector"], "GET", "/metrics").body.decode()
        return sum(line.startswith("tallywatt_vm_cpu_seconds_total{") for line in text.splitlines())

    def close(self):
        for process in self.forged:
            process.communicate()
        self.agents.close()
        self.liars.close()

    def stop(self):
        """Seconds that each daemon took to end, and what it reported."""
        seconds = {}
        for name, daemon in self.daemons.items():
            start = time.monotonic()
            daemon.proc.send_signal(signal.SIGTERM)
            code = daemon.proc.wait(timeout=300)
            seconds[name] = time.monotonic() - start
            if code != 0 or "Sanitizer" in daemon.log():
                print(f"{name} ended with {code}:\n{daemon.log()[-6000:]}")
                seconds[name] = 1e9
        return seconds


def growth(samples):
    """MiB after warming up, at the end, and the difference."""
    part = max(len(samples) // 6, 1)
    first = statistics.median(samples[part:2 * part] or samples)
    last = statistics.median(samples[-part:])
    return first, last, last - first


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--minutes", type=float, default=30)
    a = p.parse_args()
    goals = bench.Goals()
    with tempfile.TemporaryDirectory(prefix="tallywatt-soak-") as scratch:
        soak = Soak(scratch)
        try:
            loads = soak.run(a.minutes)
            joules_off, machines = soak.check_agents(), soak.check_forged()
            seconds = soak.stop()
        finally:
            soak.close()
            for daemon in soak.daemons.values():
                if daemon.proc.poll() is None:
                    daemon.proc.kill()
                    daemon.proc.wait()
        table = bench.Table(("requests", -20, ""), ("answered", 9, "d"), ("none", 5, "d"),
                            ("slowest s", 10, ".2f"), ("statuses", -30, ""))
        for load in loads:
            table.row(load.name, load.answered, len(load.unanswered), load.slowest,
                      " ".join(f"{s}:{n}" for s, n in sorted(load.statuses.items())))
            for why in load.unanswered[:3]:
                print("  ", why)
        print()
        table = bench.Table(("daemon", -22, ""), ("warm MiB", 9, ".1f"), ("end MiB", 8, ".1f"),
                            ("growth MiB", 11, ".1f"), ("exit s", 7, ".2f"))
        for name, samples in soak.memory.items():
            table.row(name, *growth(samples), seconds[name])
        print()
        goals.at_most("sum of honest agents, off by", float(joules_off), 0, "J")
        goals.at_most("forged virtual machines", machines, 0)
        goals.at_most("unanswered requests", sum(len(x.unanswered) for x in loads), 0)
        for name, samples in soak.memory.items():
            first, _, grown = growth(samples)
            goals.at_most(f"growth of {name}", grown, first / 10 + GROWN_MIB, "MiB")
            goals.at_most(f"{name}: SIGTERM to exit", seconds[name], EXIT_S, "s")
    goals.exit()


if __name__ == "__main__":
    main()
