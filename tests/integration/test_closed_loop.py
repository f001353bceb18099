# SPDX-License-Identifier: Apache-2.0
"""The whole chain: a metered machine teaches, and the same machine without its meter is estimated.

The kernel's data are real: stress-ng runs, and the collector counts. The meter is a powercap
tree whose counters follow a law that only this file knows. Models are trained on some
workloads, the server chooses among them, and other workloads are estimated live.
"""
import bisect
import math
import os
import random
import re
import shutil
import subprocess
import threading
import time
import unittest

from harness import BIN, Case, call, need, wait_until

PID = re.compile(r'pid="(\d+)"')
CPUS = len(os.sched_getaffinity(0))
INTERVAL_S = 0.4
PHASE_S = 4
REST_S = 6
# Other programs may draw so much at rest: beside more, the shares of processes are uncertain.
OTHERS_W = 0.6
# The chain is judged beside other programs that used at most so many CPUs, processes in phases
# with no more of them.
OTHERS_CPUS = 0.1
# The first ticks of a phase still have the phase before.
SETTLE_S = 1.2

TRAINING = {
    "cpu-low": ["--cpu", "1", "--cpu-load", "25"],
    "cpu-half": ["--cpu", "1", "--cpu-load", "60"],
    "cpu-one": ["--cpu", "1", "--cpu-method", "int64"],
    "cpu-most": ["--cpu", str(CPUS), "--cpu-load", "75"],
    "cpu-all": ["--cpu", str(CPUS), "--cpu-method", "fft"],
    "memory": ["--vm", "1", "--vm-bytes", "64M", "--vm-method", "write64"],
    "cache": ["--cache", "1"],
    "pipe": ["--pipe", "1"],
    "switch": ["--switch", "1"],
    "fork": ["--fork", "1"],
    "files": ["--hdd", "1", "--hdd-bytes", "8M"],
    "faults": ["--fault", "1"],
}
OTHERS = {
    "matrix": ["--matrix", str(CPUS)],
    "sort": ["--qsort", "1"],
    "copy": ["--memcpy", "1"],
    "malloc": ["--malloc", "1", "--malloc-bytes", "16M"],
    "half": ["--cpu", str(CPUS), "--cpu-load", "45"],
    "sockets": ["--sockpair", "1"],
}


def clock():
    """The clock of the collector's ticks."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def tree(pid):
    """A process and its descendants, as texts; nothing of what has ended."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = f.read().split()
    except OSError:
        return []
    return [str(pid)] + [p for child in children for p in tree(child)]


def own_cpu_s():
    """CPU time of this process and its descendants, those that have ended included."""
    ticks = 0
    for pid in tree(os.getpid()):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                ticks += sum(map(int, f.read().rsplit(")", 1)[1].split()[11:15]))
        except OSError:
            pass  # it has ended since
    return ticks / os.sysconf("SC_CLK_TCK")


def mape(pairs):
    return mean(abs(estimated - true) / true for estimated, true in pairs)


class Meter:
    """A powercap tree of one package: 6 W at rest, a part that bends with load, a part for page
    faults, and 1.5 % noise that changes every half a second."""
    IDLE_W, CPU_W, BEND_W, FAULT_W = 6.0, 8.0, 2.5, 1.0
    NOISE, STEP_S, RANGE_UJ = 0.015, 0.005, 262143328850

    def __init__(self, top):
        self.top = top
        self.zone = os.path.join(top, "class/powercap/intel-rapl:0")
        os.makedirs(self.zone)
        for name, text in (("name", "package-0"), ("max_energy_range_uj", str(self.RANGE_UJ))):
            with open(os.path.join(self.zone, name), "w", encoding="ascii") as f:
                f.write(text + "\n")
        self.energy_j, self.busy, self.faults = 0.0, 0.0, 0.0
        self.times, self.energies_j = [], []
        self.random = random.Random(7)
        self.noise, self.noise_until = 1.0, 0.0
        self.counter = open(os.path.join(self.zone, "energy_uj"), "wb", buffering=0)
        self.vmstat = open("/proc/vmstat", "rb", buffering=0)
        self.cpu = open(self.cpu_file(), "rb", buffering=0)
        self.last = (clock(), self.cpu_s(), self.page_faults())
        self.stopped = threading.Event()
        self.step()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    @staticmethod
    def cpu_file():
        return next(path for path in ("/sys/fs/cgroup/cpuacct/cpuacct.usage",
                                      "/sys/fs/cgroup/cpu.stat", "/proc/stat")
                    if os.path.exists(path))

    def cpu_s(self):
        """CPU time of all tasks, by the best clock that the kernel has."""
        text = os.pread(self.cpu.fileno(), 4096, 0).split()
        if len(text) == 1:
            return int(text[0]) / 1e9
        if text[0] == b"usage_usec":
            return int(text[1]) / 1e6
        return sum(int(text[i]) for i in (1, 2, 3, 6, 7)) / os.sysconf("SC_CLK_TCK")

    def page_faults(self):
        text = os.pread(self.vmstat.fileno(), 65536, 0)
        return int(text[text.index(b"\npgfault ") + 9:].split(None, 1)[0])

    def power_w(self):
        bend = self.busy * (1 - self.busy) * 4
        return self.noise * (self.IDLE_W + self.CPU_W * self.busy + self.BEND_W * bend * 0.5 +
                             self.FAULT_W * min(1.0, self.faults / 5e5))

    def step(self):
        now = (clock(), self.cpu_s(), self.page_faults())
        dt = now[0] - self.last[0]
        if dt > 0:
            # Voltage and frequency follow the load in 100 ms.
            keep = math.exp(-dt / 0.1)
            busy = min(1.0, (now[1] - self.last[1]) / dt / CPUS)
            self.busy = keep * self.busy + (1 - keep) * busy
            self.faults = keep * self.faults + (1 - keep) * (now[2] - self.last[2]) / dt
            if now[0] > self.noise_until:
                self.noise = 1 + self.NOISE * self.random.gauss(0, 1)
                self.noise_until = now[0] + 0.5
            self.energy_j += self.power_w() * dt
            self.last = now
            self.times.append(now[0])
            self.energies_j.append(self.energy_j)
        os.pwrite(self.counter.fileno(), b"%-20d\n" % (int(self.energy_j * 1e6) % self.RANGE_UJ), 0)

    def joules(self, at):
        """Energy until a time since boot, between two steps by a straight line."""
        i = min(max(bisect.bisect(self.times, at), 1), len(self.times) - 1)
        (t0, t1), (e0, e1) = self.times[i - 1:i + 1], self.energies_j[i - 1:i + 1]
        return e0 + (e1 - e0) * (at - t0) / (t1 - t0)

    def run(self):
        while not self.stopped.wait(self.STEP_S):
            self.step()

    def stop(self):
        self.stopped.set()
        self.thread.join()
        for f in (self.counter, self.vmstat, self.cpu):
            f.close()


class Watch:
    """Scrapes a collector, for the energy of each tick."""

    def __init__(self, daemon):
        self.daemon = daemon
        self.ticks = {}  # start of the tick: joules of the package
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stopped.wait(INTERVAL_S / 2):
            at, joules, _ = scrape(self.daemon)
            self.ticks[at] = joules

    def stop(self):
        self.stopped.set()
        self.thread.join()


def scrape(daemon):
    """Start of the last tick; joules of the package; dynamic joules and CPU time by pid."""
    joules, at, processes = 0.0, None, {}
    for line in call(daemon, "GET", "/metrics").body.decode().splitlines():
        name = line.split("{", 1)[0].split(" ", 1)[0]
        value = line.rsplit(" ", 1)[-1]
        if name == "tallywatt_collector_tick_time_seconds":
            at = float(value)
        elif 'zone="package"' in line and name == "tallywatt_node_energy_joules_total":
            joules += float(value)
        elif name == "tallywatt_process_energy_joules_total" and (
                'zone="package"' in line and 'mode="dynamic"' in line):
            processes.setdefault(PID.search(line).group(1), [0, 0])[0] += float(value)
        elif name == "tallywatt_process_cpu_seconds_total":
            processes.setdefault(PID.search(line).group(1), [0, 0])[1] += float(value)
    return at, joules, processes


class Loop(Case):
    def collect(self, *args):
        return self.start_http("tw-collector", "--interval", f"{INTERVAL_S * 1000:.0f}ms",
                               "--user", "root", "--top", "0", *args)

    def run_workloads(self, workloads, rest_s, after=None):
        """Rest, then one workload after the other; their times since boot."""
        times = {"rest": (clock(), clock() + rest_s)}
        threading.Event().wait(rest_s)
        for name, args in workloads.items():
            start = clock()
            with subprocess.Popen(["stress-ng", "--quiet", "--temp-path", self.dir, "--timeout",
                                   f"{PHASE_S}s", *args], stdin=subprocess.DEVNULL) as stress:
                if after is not None:
                    after(start, stress.pid)
            self.assertEqual(stress.returncode, 0, name)
            times[name] = (start, clock())
        return times

    def teach(self, meter):
        """Record the training workloads with the meter, and train."""
        host = self.collect("--powercap", meter.top + "/class/powercap", "--meters", "rapl-sysfs")
        response = self.path("response.json")
        with subprocess.Popen([os.path.join(BIN, "tallywatt"), "record", "--output", response,
                               "--interval", f"{INTERVAL_S * 1000:.0f}ms",
                               f"http://{host.address}/metrics"],
                              stderr=subprocess.PIPE) as record:
            self.run_workloads(TRAINING, REST_S)
            record.terminate()
            self.assertEqual(record.wait(), 0, record.stderr.read())
        host.stop()
        return self.tallywatt("train", "--input", response, "--name", "own", "--spec", "here",
                              "--model-db", self.path("db"), timeout=300)

    @staticmethod
    def check_processes(guest, meter, start, stress, errors):
        """Dynamic power of each process above 1 W: its share of the machine's, by CPU time."""
        threading.Event().wait(start + SETTLE_S - clock())
        first = scrape(guest)
        threading.Event().wait(start + PHASE_S - INTERVAL_S - clock())
        ours = tree(stress) + tree(os.getpid())
        last = scrape(guest)
        span = last[0] - first[0]
        used = {pid: (last[2][pid][0] - first[2][pid][0], last[2][pid][1] - first[2][pid][1])
                for pid in last[2] if pid in first[2]}
        cpu_s = sum(cpu for _, cpu in used.values())
        others_s = sum(cpu for pid, (_, cpu) in used.items() if pid not in ours)
        if others_s > OTHERS_CPUS * span:
            print(f"other programs used {others_s / span:.2f} CPUs: processes are not judged")
            return
        dynamic_j = meter.joules(last[0]) - meter.joules(first[0]) - meter.IDLE_W * span
        for joules, cpu in used.values():
            true_w = dynamic_j * cpu / cpu_s / span
            if true_w > 1:
                errors.append((joules / span, true_w))

    def estimate(self, guest, meter):
        """Run the other workloads. Rows of (estimated, true) W by workload, and of processes."""
        watch, processes = Watch(guest), []
        times = self.run_workloads(OTHERS, REST_S, lambda start, stress: self.check_processes(
            guest, meter, start, stress, processes))
        watch.stop()
        rows = {name: [] for name in times}
        ticks = sorted(watch.ticks.items())
        for (t0, e0), (t1, e1) in zip(ticks, ticks[1:]):
            for name, (start, end) in times.items():
                if start + SETTLE_S <= t0 and t1 <= end:
                    rows[name].append(((e1 - e0) / (t1 - t0),
                                       (meter.joules(t1) - meter.joules(t0)) / (t1 - t0)))
        return rows, processes

    def test_other_workloads_are_estimated(self):
        need("stress-ng", shutil.which("stress-ng"))
        meter = Meter(self.path("sys"))
        self.addCleanup(meter.stop)
        before = clock(), meter.cpu_s() - own_cpu_s()
        print(self.teach(meter))
        self.need_idle(meter, before)
        server = self.start_http("tw-server", "--model-db", self.path("db"))
        guest = self.collect("--powercap", self.path("none"), "--meters", "model",
                             "--model-server", f"http://{server.address}",
                             "--estimated-idle", "scale", "--shipped-models", "")
        wait_until(lambda: scrape(guest)[1] > 0, "there are estimates")
        rows, processes = self.estimate(guest, meter)
        self.show(guest, rows, processes)
        self.need_idle(meter, before)
        rest_w = mean(true for _, true in rows["rest"])
        need("idle machine", rest_w < Meter.IDLE_W + OTHERS_W and processes)
        self.assertLess(mape(pair for pairs in rows.values() for pair in pairs), 0.03)
        self.assertLess(abs(mean(e - t for e, t in rows["rest"])), 0.3)
        self.assertLess(mape(processes), 0.1)

    @staticmethod
    def need_idle(meter, before):
        others = (meter.cpu_s() - own_cpu_s() - before[1]) / (clock() - before[0])
        print(f"other programs used {others:.2f} CPUs")
        need("idle machine", others < OTHERS_CPUS)

    @staticmethod
    def show(guest, rows, processes):
        for line in call(guest, "GET", "/metrics").body.decode().splitlines():
            if line.startswith("tallywatt_model_info"):
                print(line)
        for name, pairs in {**rows, "all": [p for pairs in rows.values() for p in pairs],
                            "processes": processes}.items():
            if pairs:
                print(f"{name:10} {len(pairs):3} rows, true {mean(t for _, t in pairs):6.2f} W, "
                      f"bias {mean(e - t for e, t in pairs):6.2f} W, MAPE {100 * mape(pairs):5.2f} %")


if __name__ == "__main__":
    unittest.main()
