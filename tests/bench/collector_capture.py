# SPDX-License-Identifier: Apache-2.0
"""What tw-collector sees of CPU time, beside what the kernel counts of a cgroup."""
import os
import re
import signal
import subprocess
import time

import bench
from collector_run import LOAD, Collector, read, skip

INTERVAL_S = 1.0

# Of the cgroup's CPU time: a load, seconds at least, and the least that must be seen. On a
# virtual machine whose kernel hides events, the first sees a little less.
CAPTURES = (("10,000 processes", ("true", "10000"), 0.995),
            ("4 fork storms of 1,000", ("storm", "4", "1000"), 0.999),
            ("4 fork storms of 10,000", ("storm", "4", "10000"), 0.999),
            ("pipe, 2,000,000 switches", ("pipe", "1000000"), 0.999),
            ("threads, 3,000,000 switches", ("threads", "1500000"), 0.999),
            ("spin 5 s", ("spin", "5000"), 0.999),
            ("3,000 short threads", ("short", "3000"), 0.999),
            ("200 processes of 64 threads", ("crowds", "200"), 0.999))
if bench.QUICK:
    CAPTURES = (("spin 1 s", ("spin", "1000"), 0.999),)


def find_cgroups():
    for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        if os.path.exists(os.path.join(top, "cgroup.controllers")):
            return top
    skip("no cgroup v2 here")
    return None


class Cgroup:
    def __init__(self, top):
        self.name = f"/tallywatt-bench-{os.getpid()}"
        self.path = top + self.name

    def __enter__(self):
        os.mkdir(self.path)
        return self

    def __exit__(self, *_):
        bench.wait_until(self.removed, f"{self.path} is empty", seconds=10)

    def removed(self):
        try:
            os.rmdir(self.path)
        except OSError:
            return False
        return True

    def enter(self):
        with open(os.path.join(self.path, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write("0")

    def usage_s(self):
        return int(re.search(r"usage_usec (\d+)",
                             read(os.path.join(self.path, "cpu.stat"))).group(1)) / 1e6

    def seen_s(self, text):
        match = re.search(rf'^tallywatt_cgroup_cpu_seconds_total{{[^}}]*cgroup='
                          rf'"{self.name}"[^}}]*}} (\S+)$', text, re.M)
        return float(match.group(1)) if match else 0.0


def boot_s():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def between(series, when):
    """cpu.stat at a time, between two looks."""
    for (t0, v0), (t1, v1) in zip(series, series[1:]):
        if t0 <= when <= t1:
            return v0 + (v1 - v0) * (when - t0) / max(t1 - t0, 1e-9)
    return None


def follow(collector, cgroup, child):
    """cpu.stat all the time, and what the collector says after each tick."""
    series, ticks, seen = [], [], -1.0
    while child.poll() is None or len(ticks) < 2:
        series.append((boot_s(), cgroup.usage_s()))
        if not ticks or boot_s() > ticks[-1][0] + INTERVAL_S:
            text = collector.metrics()
            tick = collector.value(text, "tallywatt_collector_tick_time_seconds")
            if tick != seen:
                seen = tick
                ticks.append((tick, cgroup.seen_s(text)))
        time.sleep(0.01)  # how finely cpu.stat is followed
    return series, ticks


def off_by_interval(series, ticks):
    """What part of each interval's time is off; intervals half of which are load."""
    off = []
    for (t0, v0), (t1, v1) in zip(ticks, ticks[1:]):
        a, b = between(series, t0), between(series, t1)
        if a is not None and b is not None and b - a >= 0.5 * (t1 - t0):
            off.append(abs((v1 - v0) / (b - a) - 1))
    return off


def measure_capture(scratch, goals):
    print("\nSeen of the CPU time of a cgroup (its cpu.stat)")
    table = bench.Table(("load", -27, ""), ("cpu s", 8, ".3f"), ("seen", 9, ".3%"),
                        ("intervals", 9, "d"), ("median", 7, ".2%"), ("worst", 7, ".2%"),
                        ("lost names", 10, ".0f"))
    top = find_cgroups()
    for name, args, least in CAPTURES:
        with Collector(scratch, "--cgroups", "v2", "--ended-max", "1000") as collector, \
                Cgroup(top) as cgroup:
            child = subprocess.Popen([LOAD, *args], preexec_fn=cgroup.enter,
                                     stdout=subprocess.DEVNULL)
            series, ticks = follow(collector, cgroup, child)
            collector.wait_ticks(3)
            text = collector.metrics()
            true, seen = cgroup.usage_s(), cgroup.seen_s(text)
            off = off_by_interval(series, ticks)
            table.row(name, true, seen / true, len(off),
                      bench.median(off) if off else None, max(off, default=None),
                      collector.value(text, "tallywatt_collector_processes_lost_total"))
            goals.at_least(f"{name}: seen", seen / true, least)
            goals.at_most(f"{name}: seen, none of it twice", seen / true, 1.005)
            if off:
                storm = args[0] in ("true", "storm")
                goals.at_most(f"{name}: off in an interval", max(off),
                              0.02 if storm else 0.01)


def measure_overflow(scratch, goals):
    """Nobody reads while 6,000 end, with room for 512. Several at a time: the end of one
    that was alone may fall to an idle machine's init, whose events some kernels hide."""
    with Collector(scratch, "--cgroups", "v2", "--events-max", "512") as collector, \
            Cgroup(find_cgroups()) as cgroup:
        collector.proc.send_signal(signal.SIGSTOP)
        subprocess.run([LOAD, "storm", "4", bench.quick("1500", "300")], preexec_fn=cgroup.enter, check=True,
                       stdout=subprocess.DEVNULL)
        collector.proc.send_signal(signal.SIGCONT)
        collector.wait_ticks(3)
        text = collector.metrics()
        true, seen = cgroup.usage_s(), cgroup.seen_s(text)
        lost = collector.value(text, "tallywatt_collector_processes_lost_total")
    print(f"\n6,000 ends without a read, room for 512: {lost:.0f} names lost, "
          f"{seen / true:.3%} of {true:.3f} s seen")
    goals.at_least("names lost, so that it is what it says", lost, 4000)
    goals.at_least("6,000 ends: seen", seen / true, 0.999)
    goals.at_most("6,000 ends: seen, none of it twice", seen / true, 1.005)
