# SPDX-License-Identifier: Apache-2.0
"""tallywatt engage: from a machine with a meter to a model and a report, with one command.

The workloads are real processes. The machine that tw-collector sees is in files: its CPU time
and its meter follow the phase that the command reports, so that other load does not matter.
"""
import csv
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import unittest
from xml.etree import ElementTree

import answering
from harness import BIN, Case, need, sanitized, wait_until
from metered import CPU_W, IDLE_W, RANGE, WORKLOADS, Metered, keep_time

PHASES = 13
# Rows of a phase need more time under the sanitizers.
PHASE = "3s" if sanitized("tallywatt") else "700ms"


def children(pid):
    """Processes of the process's groups: those whose parent is the process, and theirs."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        found.append((int(name), int(fields[1]), int(fields[2])))
    groups = {group for _, parent, group in found if parent == pid}
    return {child for child, _, group in found if group in groups and group != os.getpgrp()}


def running(pids):
    return [pid for pid in pids if os.path.exists(f"/proc/{pid}")]


class Engage(Metered):
    def setUp(self):
        super().setUp()
        self.write("log", "")
        machine = self.machine()
        collector = self.collect(*machine, "--top", "0", "--meters", "rapl-sysfs")
        keep_time(collector.proc.pid)
        self.args = ["engage", "--url", f"http://{collector.address}", "--dir",
                     self.path("out"), "--phase", PHASE, "--interval", "100ms", *machine[:4],
                     "--trainers", "LinearRegressionTrainer", "--group", "BPFOnly"]
        self.follow_phases(self.log)

    def runs(self):
        with open(self.path("out/workloads.csv"), encoding="utf-8", newline="") as f:
            return list(csv.DictReader(f))

    def start_engage(self, *more):
        with open(self.path("log"), "wb") as log:
            proc = subprocess.Popen([os.path.join(BIN, "tallywatt"), *self.args, *more],
                                    stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(proc.wait)
        self.addCleanup(proc.kill)
        return proc

    def log(self):
        with open(self.path("log"), encoding="utf-8") as f:
            return f.read()

    def interrupt(self, how, phase, *more):
        """End the command in a phase that has processes; its exit status."""
        proc = self.start_engage(*more)
        wait_until(lambda: f"[{phase}/13]" in self.log() or proc.poll() is not None, "phase")
        wait_until(lambda: children(proc.pid) or proc.poll() is not None, "workload runs")
        pids = children(proc.pid)
        self.assertTrue(pids, self.log())
        proc.send_signal(how)
        status = proc.wait()
        wait_until(lambda: not running(pids), "the workload's processes are gone")
        return status

    def check_page(self):
        with open(self.path("out/report.html"), encoding="utf-8") as f:
            html = f.read()
        tree = ElementTree.fromstring(html.split("\n", 1)[1])
        self.assertEqual(tree.tag, "html")
        for word in ("http", "<script", "src=", "href=", "url("):
            self.assertNotIn(word, html)
        self.assertEqual(len(list(tree.iter("svg"))), 2)
        text = "".join(tree.itertext())
        for word in ("Power interfaces", "rapl-sysfs", "Power over load", "cpu-100",
                     "MAE when left out", "power rises with load"):
            self.assertIn(word, text)
        for name in ("power-time.svg", "power-load.svg"):
            ElementTree.parse(self.path("out", name))
        with open(self.path("out/report.md"), encoding="utf-8") as f:
            self.assertIn("![Power over time](power-time.svg)", f.read())

    def check_left_out(self):
        """The table of errors by workload has each workload, with a number."""
        with open(self.path("out/report.md"), encoding="utf-8") as f:
            part = f.read().split("## Errors by workload", 1)[1].split("##", 1)[0]
        rows = [[cell.strip() for cell in line.strip("|\n").split("|")]
                for line in part.splitlines() if line.startswith("|")][2:]
        self.assertEqual({row[0] for row in rows}, set(WORKLOADS) | {"all"})
        for row in rows:
            self.assertGreaterEqual(float(row[2]), 0)

    def test_resumes_after_an_interrupt_and_publishes_a_model(self):
        self.assertEqual(self.interrupt(signal.SIGINT, 4, "--load", "own"), 1)
        # The phase may end before the signal.
        self.assertRegex(self.log(), "interrupted: [34] of 13 phases are recorded")
        first = self.runs()
        self.assertEqual([run["workload"] for run in first[:3]], ["rest", "cpu-50", "cpu-10"])
        proc = self.start_engage("--load", "own")
        self.assertEqual(proc.wait(), 0, self.log())
        runs = self.runs()
        self.assertEqual(runs[:len(first)], first)
        self.assertEqual(len(runs), PHASES)
        self.assertEqual({run["workload"] for run in runs}, set(WORKLOADS))
        self.assertIn("model: this-machine/rapl-sysfs/AbsPower/BPFOnly/", self.log())
        models = self.tallywatt("models", "--model-db", self.path("out/models"))
        self.assertIn("LinearRegressionTrainer_0", models)
        self.check_page()
        self.check_left_out()
        # A complete recording is trained from again, and not repeated.
        recorded = os.stat(self.path("out/response.json")).st_mtime_ns
        self.tallywatt(*self.args, "--load", "own", "--model-db", self.path("db"))
        self.assertEqual(os.stat(self.path("out/response.json")).st_mtime_ns, recorded)
        self.assertIn("this-machine", self.tallywatt("models", "--model-db", self.path("db")))

    def test_processes_end_with_a_killed_command(self):
        need("stress-ng", shutil.which("stress-ng"))
        for load in ("own", "stress-ng"):
            self.assertEqual(self.interrupt(signal.SIGKILL, 2, "--load", load),
                             -signal.SIGKILL)
            shutil.rmtree(self.path("out"))

    def test_a_lost_recording_is_not_taken_for_complete(self):
        os.mkdir(self.path("out"))
        self.write("out/workloads.csv", "workload,start,end\nrest,1,2\n")
        proc = self.start_engage("--load", "own")
        self.assertEqual(proc.wait(), 1)
        self.assertIn("response.json' is missing", self.log())

    def test_two_runs_do_not_share_a_directory(self):
        proc = self.start_engage("--load", "own")
        wait_until(lambda: "[1/13]" in self.log() or proc.poll() is not None, "first phase")
        self.assertIn("another tallywatt engage works in", self.refused(*self.args))
        proc.terminate()
        self.assertEqual(proc.wait(), 1, self.log())


class Attribution(Metered):
    """A real collector beside a package of 6 W, and 4 J for each second of the workloads' CPU
    time, so that other load does not matter."""
    RULE = re.compile(r"rapl-sysfs: (\S+) W at rest, (\S+) J above rest by all; rule: plain")
    ROW = re.compile(r"^(integer|memory) +(\S+) +(\S+) +(\S+) +\S+ +(\S+)$", re.M)

    def cpu_s(self):
        """CPU time of the workloads so far, also of those that have ended."""
        for pid in children(self.proc.pid) if self.proc else ():
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as f:
                    fields = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            self.used[pid] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return sum(self.used.values())

    def follow(self, stopped):
        keep_time()
        began = time.monotonic()
        while not stopped.wait(0.05):
            joules = 1 + IDLE_W * (time.monotonic() - began) + CPU_W * self.cpu_s()
            self.exchange("powercap/intel-rapl:0/energy_uj", f"{int(joules * 1e6)}\n")

    def test_shares_are_judged_beside_the_meter(self):
        self.proc, self.used = None, {}
        os.makedirs(self.path("powercap/intel-rapl:0"))
        for name, value in (("name", "package-0"), ("energy_uj", 0), ("max_energy_range_uj", RANGE)):
            self.write(f"powercap/intel-rapl:0/{name}", f"{value}\n")
        stopped = threading.Event()
        clock = threading.Thread(target=self.follow, args=(stopped,))
        clock.start()
        self.addCleanup(clock.join)
        self.addCleanup(stopped.set)
        collector = self.collect("--top", "0", "--meters", "rapl-sysfs", "--powercap",
                                 self.path("powercap"))
        keep_time(collector.proc.pid)
        self.proc = subprocess.Popen(
            [os.path.join(BIN, "tallywatt"), "engage", "--attribution", "--url",
             f"http://{collector.address}", "--phase", "300ms", "--interval", "100ms",
             "--workloads", "2"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        said, steps = self.proc.communicate()
        self.assertEqual(self.proc.returncode, 0, steps)
        # All together a first time, and each set, the smallest first.
        self.assertEqual(re.findall(r"engage: ([a-z ]+): \S+ J above rest", steps),
                         ["rest", "integer memory", "integer", "memory", "integer memory"])
        all_j = float(self.RULE.search(said)[2])
        rows = {row[0]: list(map(float, row[1:])) for row in self.ROW.findall(said)}
        self.assertEqual(set(rows), {"integer", "memory"}, said)
        for column in (1, 3):  # fair shares, and those of CPU time
            self.assertAlmostEqual(sum(row[column] for row in rows.values()), all_j, delta=0.1)
        self.assertGreater(min(row[2] for row in rows.values()), 0, said)
        self.assertRegex(said, "verdict: (fair|not fair|none)")


class Collector(answering.Handler):
    """A tw-collector with RAPL, and a meter of the user's own."""
    METRICS = "".join(
        f'tallywatt_node_energy_joules_total{{{labels},mode="dynamic"}} 5\n'
        f'tallywatt_node_power_watts{{{labels}}} 21.5\n'
        f'tallywatt_meter_info{{{labels},reports="power",window_seconds=""}} 1\n'
        for labels in ('zone="package",name="package-0",path="p",source="rapl-sysfs"',
                       'zone="platform",name="platform",path="ask-plug",source="plug"'))

    def do_GET(self):
        self.answer(self.METRICS.encode())


class Lagging(Case):
    """A recording of a machine of two CPUs whose meter shows the power of 4 s before."""
    PLAN = ("rest", "cpu-50", "cpu-10", "cpu-100", "memory", "cpu-25", "switches", "cpu-one",
            "cache", "disk", "cpu-75", "mixed", "rest")
    START_S, PHASE_S, LAG_S, IDLE_W, CPU_W = 1800000000, 15, 4.0, 20, 10

    def recording(self):
        """Samples each second, and a pause between phases: CPU time, joules, phases."""
        edges, now = [], float(self.START_S)
        for name in self.PLAN:
            edges.append((name, now, now + self.PHASE_S))
            now += self.PHASE_S + 0.4 + len(edges) % 3 * 0.3

        def busy_until(t):
            """CPU time up to a time."""
            return sum(WORKLOADS[name] * max(0, min(t, end) - start)
                       for name, start, end in edges)
        times = [start + k for _, start, _ in edges for k in range(self.PHASE_S + 1)]
        cpu = [(t, 5 + busy_until(t)) for t in times]
        joules = [(t, 100 + self.IDLE_W * (t - self.START_S) +
                   self.CPU_W * busy_until(t - self.LAG_S)) for t in times]
        return edges, cpu, joules

    @staticmethod
    def series(metric, samples, **labels):
        return {metric: [{"metric": {"__name__": metric, "instance": "here", **labels},
                          "values": [[t, f"{v:.6f}"] for t, v in samples]}]}

    def test_the_meter_of_the_user_s_own_teaches_and_its_lag_is_corrected(self):
        edges, cpu, joules = self.recording()
        os.mkdir(self.path("out"))
        self.write("out/response.json", json.dumps({
            **self.series("tallywatt_process_cpu_seconds_total", cpu, pid="7", serial="1",
                          command="job", cgroup="/"),
            **self.series("tallywatt_node_energy_joules_total", joules, source="plug",
                          zone="platform", name="platform", path="ask-plug", mode="dynamic")}))

        def date(t):
            return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + f".{int(t * 1000) % 1000:03}Z"
        self.write("out/workloads.csv", "workload,start,end\n" + "".join(
            f"{name},{date(start)},{date(end)}\n" for name, start, end in edges))
        self.write("out/warnings.txt", "")
        said = self.tallywatt(
            "engage", "--url", answering.serve(self, Collector), "--dir", self.path("out"), "--phase", "15s", "--interval", "1s", "--trainers",
            "LinearRegressionTrainer", "--group", "BPFOnly")
        found = re.search(r"platform of plug: ([\d.]+) W at rest, ([\d.]+) W under full load; "
                          r"power follows load by ([\d.]+) s, which is corrected", said)
        self.assertTrue(found, said)
        for value, want, within in zip(map(float, found.groups()), (20, 40, 4), (1, 2, 1)):
            self.assertAlmostEqual(value, want, delta=within, msg=said)
        error_w = float(re.search(r"model: this-machine/plug/AbsPower/BPFOnly/\S+, error (\S+) W",
                                  said)[1])
        self.assertLess(error_w, 0.5)
        with open(self.path("out/report.md"), encoding="utf-8") as f:
            self.assertIn("| plug | platform | ask-plug | 21.5 | power |", f.read())


class Without(Case):
    def test_wrong_use_is_found_before_the_recording(self):
        for args, text in ((["--trainers", "NoTrainer"], "NoTrainer"),
                           (["--trainers", ","], "names no trainer"),
                           (["--phase", "5s"], "want 3 times --interval"),
                           (["--attribution", "--workloads", "6"], "--workloads"),
                           (["--name", "../x"], "../x"), (["--group", "NoGroup"], "NoGroup")):
            self.assertIn(text, self.refused("engage", *args, codes=(2,)))

    def test_without_a_meter_it_is_refused_before_any_load(self):
        class Estimating(Collector):
            METRICS = ("tallywatt_collector_ticks_total 3\n" + Collector.METRICS.replace(
                'source="rapl-sysfs"', 'source="model"').replace('source="plug"', 'source="fake"'))
        url = answering.serve(self, Estimating)
        for args, words in (((), "measures no power: 'tallywatt probe'"),
                            (("--source", "acpi"), "measures no power of --source acpi")):
            line = self.refused("engage", "--url", url, "--dir", self.path("out"), *args)
            self.assertIn(words, line)
            self.assertIn("tallywatt calibrate", line)
            self.assertFalse(os.path.exists(self.path("out")))

    def test_without_a_collector_the_error_says_how_to_start_one(self):
        line = self.refused("engage", "--url", "http://127.0.0.1:1", "--dir", self.path("out"))
        self.assertIn("start one: tw-collector", line)
        self.assertFalse(os.path.exists(self.path("out")))


if __name__ == "__main__":
    unittest.main()
