#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole loop by itself: collector, Prometheus, online trainer, database, server, estimates.

The kernel's data are real, and the meter follows a law that only its simulation knows
(tests/integration/test_closed_loop.py). The online trainer learns from some workloads;
others are estimated without the meter. Then the law changes.

It runs in a PID namespace and a cgroup of its own, with a /proc/stat and a /proc/vmstat of these. The
collector (without BPF) and the simulated meter see the processes of this bench only, so other load
of the machine costs CPU time and no truth. The law has no part for page faults, which the kernel
counts for the whole machine.
"""
import glob
import json
import math
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import unittest

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
import test_closed_loop  # noqa: E402
from harness import call, need, read_json, wait_until  # noqa: E402
from sources import Prometheus, need_prometheus  # noqa: E402
from test_closed_loop import Meter, TRAINING, mape, mean, scrape  # noqa: E402

INSIDE = "TW_BENCH_CGROUP"  # set within the namespace: the cgroup
INTERVAL_S, TRAIN_AFTER = bench.quick((5, 160), (1, 8))
SCRAPE_S = bench.quick(1, 0.5)
# Each round is rest and all training workloads, about 90 s.
ROUNDS_MAX = 6
test_closed_loop.INTERVAL_S, test_closed_loop.SETTLE_S = SCRAPE_S, bench.quick(2.4, 0.2)
test_closed_loop.PHASE_S, test_closed_loop.REST_S = bench.quick((6, 12), (1, 1))
# The meter and the collectors take precedence, so that they read at their times.
NICE = -10
GOALS = bench.Goals()
MAPE_MAX, REST_BIAS_MAX_W, DRIFT_INTERVALS_MAX, RELEARN_S_MAX = 0.03, 0.3, 10, 300
SAMPLE = re.compile(r'^tw_trainer_online_(\w+)(?:\{(.*)\})? (\S+)$', re.M)


class Watched:
    """The metrics of the trainer over time, by a thread."""

    def __init__(self, trainer):
        self.trainer, self.seen = trainer, []
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(0.5):
            self.seen.append((time.monotonic(), self.now()))

    def now(self):
        text = call(self.trainer, "GET", "/metrics").body.decode()
        return {(name, re.sub(r'machine="[^"]*",?', "", labels or "")): float(value)
                for name, labels, value in SAMPLE.findall(text)}

    def verdicts(self):
        return sum(v for (name, _), v in self.now().items() if name == "verdicts_total")

    def published(self):
        return self.now().get(("verdicts_total", 'verdict="published"'), 0)

    def first(self, since, name, holds):
        """Seconds until a metric was so, or None."""
        return next((t - since for t, m in self.seen
                     if t >= since and holds(m.get((name, ""), 0))), None)

    def stop(self):
        self.stopped.set()
        self.thread.join()


class OwnMeter(Meter):
    """A meter of the processes of this bench alone. It also writes their /proc/stat."""
    FAULT_W = 0.0

    def __init__(self, top):
        os.makedirs(top)
        self.stat_file = os.path.join(top, "stat")
        self.stat = open(self.stat_file, "wb", buffering=0)
        self.began = test_closed_loop.clock()
        super().__init__(top)
        vmstat = os.path.join(top, "vmstat")
        with open(vmstat, "w", encoding="ascii") as f:
            f.write("pgfault 0\n")
        for source, target in ((self.stat_file, "/proc/stat"), (vmstat, "/proc/vmstat")):
            subprocess.run(["mount", "--bind", source, target], check=True)

    def step(self):
        super().step()
        cpus, hz = test_closed_loop.CPUS, os.sysconf("SC_CLK_TCK")
        busy = int(self.last[1] * hz)
        idle = max(0, int((self.last[0] - self.began) * cpus * hz) - busy)
        lines = [f"cpu  {busy:12d} 0 0 {idle:12d} 0 0 0 0 0 0"]
        lines += [f"cpu{i} {busy // cpus:12d} 0 0 {idle // cpus:12d} 0 0 0 0 0 0"
                  for i in range(cpus)]
        lines += ["intr 0", "ctxt 0", "btime 1700000000", "processes 1", "procs_running 1",
                  "procs_blocked 0", "softirq 0 0 0 0 0 0 0 0 0 0 0", ""]
        os.pwrite(self.stat.fileno(), "\n".join(lines).encode(), 0)

    def stop(self):
        super().stop()
        for target in ("/proc/stat", "/proc/vmstat"):
            subprocess.run(["umount", target], check=True)
        self.stat.close()

    @staticmethod
    def cpu_file():
        name = "cpuacct.usage" if "cpuacct" in os.environ[INSIDE] else "cpu.stat"
        return os.path.join(os.environ[INSIDE], name)


class Online(test_closed_loop.Loop):
    def collect(self, *args):
        return super().collect("--bpf", "off", *args)

    def own_priority(self):
        """Let workloads, Prometheus and the trainer have the usual priority."""
        os.mkdir(self.path("bin"))
        for name in ("stress-ng", "prometheus"):
            path = self.write(f"bin/{name}", f"#!/bin/sh\nexec nice -n {-NICE} "
                                             f"{shutil.which(name)} \"$@\"\n")
            os.chmod(path, 0o755)
        os.environ["PATH"] = self.path("bin") + ":" + os.environ["PATH"]
        os.nice(NICE)

    def start_loop(self, meter):
        host = self.collect("--powercap", meter.top + "/class/powercap", "--meters",
                            "rapl-sysfs")
        os.mkdir(self.path("tsdb"))
        prometheus = Prometheus(self, self.path("tsdb"), scrape=f"""
global: {{scrape_interval: {SCRAPE_S * 1000:.0f}ms, scrape_timeout: {SCRAPE_S * 1000:.0f}ms}}
scrape_configs:
- job_name: tallywatt
  static_configs: [{{targets: ['{host.address}']}}]
""")
        trainer = self.start_http(
            "tw-trainer", "--online", "--prometheus", prometheus.url, "--model-db",
            self.path("db"), "--online-state", self.path("state"), "--sampling-interval",
            f"{INTERVAL_S}s", "--delay", "1s", "--train-after", str(TRAIN_AFTER), "--rollback-after", "40s")
        for thread in os.listdir(f"/proc/{trainer.proc.pid}/task"):
            os.setpriority(os.PRIO_PROCESS, int(thread), 0)
        return trainer

    def learn(self, watched, published):
        """Run the training workloads until so many pipelines are published; seconds."""
        began = time.monotonic()
        for _ in range(ROUNDS_MAX):
            self.run_workloads(TRAINING, test_closed_loop.REST_S)
            if watched.published() >= published:
                break
        self.assertGreaterEqual(watched.published(), published, watched.trainer.log())
        return time.monotonic() - began

    def check_specs(self):
        """Each published model has the spec of its machine, by which the server chooses."""
        here = json.loads(self.tallywatt("spec"))
        models = glob.glob(self.path("db/*/*/*/*/*/metadata.json"))
        self.assertTrue(models)
        for path in models:
            self.assertEqual(read_json(path).get("machine_spec"), here, path)
        print(f"{len(models)} models of {here}")

    def start_guest(self):
        """A server, and a collector without a meter that has estimates from it."""
        server = self.start_http("tw-server", "--model-db", self.path("db"))
        guest = self.collect("--powercap", self.path("none"), "--meters", "model",
                             "--model-server", f"http://{server.address}",
                             "--estimated-idle", "scale", "--shipped-models", "")
        wait_until(lambda: scrape(guest)[1] > 0, "there are estimates")
        return server, guest

    def judge(self, meter, title):
        """Estimate the other workloads: MAPE, and bias at rest."""
        self.check_specs()
        server, guest = self.start_guest()
        rows, processes = self.estimate(guest, meter)
        print(f"-- {title}, load average {os.getloadavg()[0]:.0f}")
        self.show(guest, rows, processes or [(math.nan, math.nan)])
        guest.stop()
        server.stop()
        return (mape(pair for pairs in rows.values() for pair in pairs),
                mean(e - t for e, t in rows["rest"]))

    def runTest(self):
        need("stress-ng", shutil.which("stress-ng"))
        need_prometheus()
        self.own_priority()
        meter = OwnMeter(self.path("sys"))
        self.addCleanup(meter.stop)
        watched = Watched(self.start_loop(meter))
        self.addCleanup(watched.stop)
        if bench.QUICK:  # seconds of rows are too few for a model that is published
            self.run_workloads(dict(list(TRAINING.items())[:3]), test_closed_loop.REST_S)
            wait_until(watched.verdicts, "the trainer judges a model")
            return
        GOALS.note("first model published after", self.learn(watched, 1), "s")
        error, bias = self.judge(meter, "left-out workloads")
        GOALS.at_most("MAPE", 100 * error, 100 * MAPE_MAX, "%")
        GOALS.at_most("|bias at rest|", abs(bias), REST_BIAS_MAX_W, "W")
        published = watched.published()
        meter.IDLE_W, meter.CPU_W = 9.0, 5.0
        changed = time.monotonic()
        try:
            self.learn(watched, published + 1)
        finally:
            print(watched.trainer.log())
        drift_s = watched.first(changed, "drifting", lambda v: v == 1)
        publish_s = next(t - changed for t, m in watched.seen if m.get(
            ("verdicts_total", 'verdict="published"'), 0) > published)
        error, bias = self.judge(meter, "left-out workloads after the law changed")
        print("\n".join(line for line in watched.trainer.log().splitlines()
                        if "published" in line or "drift" in line or "rolled" in line))
        GOALS.at_most("drift exported after, intervals", drift_s / INTERVAL_S if drift_s else 1e9,
                      DRIFT_INTERVALS_MAX)
        GOALS.at_most("better model published after", publish_s, RELEARN_S_MAX, "s")
        GOALS.at_most("MAPE after the change", 100 * error, 100 * MAPE_MAX, "%")
        GOALS.at_most("|bias at rest| after the change", abs(bias), REST_BIAS_MAX_W, "W")


def run_apart():
    """Run this program again, in a namespace that ends with it, and a cgroup."""
    top = next(d for d in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup") if os.path.isdir(d))
    group = os.path.join(top, f"tallywatt-bench-{os.getpid()}")
    os.mkdir(group)
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
        f.write("0")
    status = subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                             sys.executable, *sys.argv], check=False,
                            env={**os.environ, INSIDE: group}).returncode
    with open(os.path.join(top, "cgroup.procs"), "w", encoding="ascii") as f:
        f.write("0")
    os.rmdir(group)
    return status


if __name__ == "__main__":
    bench.need_root()
    bench.need_programs("stress-ng", "prometheus")
    if INSIDE not in os.environ:
        sys.exit(run_apart())
    GOALS.missed += not unittest.TextTestRunner().run(Online()).wasSuccessful()
    GOALS.exit()
