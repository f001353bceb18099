# SPDX-License-Identifier: Apache-2.0
"""A virtual machine in files, whose containers use exactly the CPU time that a test says.

Time goes on by the ticks of the collector that reads the files, so other programs on the
machine change nothing.
"""
import os
import re
import time

from harness import call, wait_until

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
JIFFY_MS = 10
FIRST_PID = 101


def write(path, text):
    """Whoever reads it sees the old or the new one."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.rename(path + ".new", path)


class Machine:
    """No meters, no counters; a process in each container."""

    def __init__(self, top, cpus, containers):
        self.top, self.cpus = top, cpus
        self.jiffies = [0] * containers
        write(f"{top}/proc/cpuinfo", "".join(
            f"processor : {i}\nvendor_id : AuthenticAMD\nmodel name : AMD EPYC Processor\n"
            f"flags : fpu hypervisor\n\n" for i in range(cpus)))
        write(f"{top}/proc/vmstat", "pgfault 7\n")
        write(f"{top}/sys/devices/system/cpu/present", f"0-{cpus - 1}\n")
        write(f"{top}/sys/fs/cgroup/cgroup.controllers", "cpu\n")
        for i in range(containers):
            write(f"{top}/proc/{FIRST_PID + i}/cgroup",
                  f"0::/system.slice/docker-{i:064x}.scope\n")
        self.use([0] * containers)
        self.args = ("--proc", f"{top}/proc", "--sys", f"{top}/sys")

    def use(self, cpu_ms):
        """Each container uses so many ms of CPU time more."""
        for i, ms in enumerate(cpu_ms):
            jiffies = ms / JIFFY_MS
            if jiffies != int(jiffies):
                raise ValueError(f"{ms} ms are no whole jiffies")
            self.jiffies[i] += int(jiffies)
            pid = FIRST_PID + i
            write(f"{self.top}/proc/{pid}/stat",
                  f"{pid} (job) S 1 1 1 0 -1 0 1 2 3 4 {self.jiffies[i]} 0 0 0 20 0 1 0 500 1\n")
        busy = sum(self.jiffies)
        write(f"{self.top}/proc/stat", f"cpu {busy} 0 0 1000\n" + "".join(
            f"cpu{i} {busy // self.cpus} 0 0 500\n" for i in range(self.cpus)) +
            "intr 6\nctxt 5\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n")


class Scrape:
    """All samples of a collector at one tick."""

    def __init__(self, daemon):
        began = time.monotonic()
        text = call(daemon, "GET", "/metrics").body.decode()
        self.seconds = time.monotonic() - began
        self.samples = [(m[1], dict(LABEL.findall(m[2] or "")), float(m[3]))
                        for m in map(SAMPLE.match, text.splitlines()) if m]
        self.ticks = self.sum("tallywatt_collector_ticks_total")

    def sum(self, name, **labels):
        return sum(v for n, has, v in self.samples
                   if n == name and all(has.get(k) == w for k, w in labels.items()))

    def labels(self, name):
        return [has for n, has, _ in self.samples if n == name]

    def power(self):
        return {has["zone"]: v for n, has, v in self.samples
                if n == "tallywatt_node_power_watts"}


class Watched:
    """A collector of a scripted machine."""

    def __init__(self, way, daemon, machine, interval_ms):
        self.way, self.daemon, self.machine = way, daemon, machine
        self.interval_ms = interval_ms
        self.now = Scrape(daemon)
        self.worst_s = 0  # of all scrapes

    def step(self, loads):
        """Wait for the end of a tick; in the next one each container uses so many CPUs."""
        before = self.now.ticks

        def ticked():
            self.now = Scrape(self.daemon)
            self.worst_s = max(self.worst_s, self.now.seconds)
            return self.now.ticks > before
        wait_until(ticked, f"{self.way}: it ticks")
        self.machine.use([load * self.interval_ms for load in loads])
        return self.now

    def rest(self):
        """Wait until the collector has counted all use."""
        for _ in range(3):
            self.step([0] * len(self.machine.jiffies))
        return self.now
