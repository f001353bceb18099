# SPDX-License-Identifier: Apache-2.0
"""A running tw-collector, and what else the parts of bench-collector share."""
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

import bench

LOAD = os.path.join(bench.HELPERS, "collector_load")


def skip(why):
    bench.skip(why, "bpf")


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def running(name, proc="/proc"):
    """Processes by that name, without those that only wait to be reaped."""
    found = []
    for pid in filter(str.isdigit, os.listdir(proc)):
        try:
            with open(f"{proc}/{pid}/stat", "rb") as f:
                comm, rest = f.read().split(b"(", 1)[1].rsplit(b")", 1)
        except OSError:  # it is gone
            continue
        if comm == name.encode() and rest.split()[0] not in (b"Z", b"X"):
            found.append(int(pid))
    return sorted(found)


def refuse_others(proc="/proc"):
    """Ticks of another tw-collector would be in all that is measured."""
    if others := running("tw-collector", proc):
        sys.exit("bench-collector: another tw-collector runs, whose ticks would be measured, "
                 f"too: pid {', '.join(map(str, others))}")


class Collector:
    """A running tw-collector."""

    def __init__(self, scratch, *args, interval="1s"):
        ready = os.path.join(scratch, "ready")
        if os.path.exists(ready):
            os.remove(ready)
        with open(os.path.join(scratch, "log"), "wb") as log:
            self.proc = subprocess.Popen(
                [bench.program("tw-collector"), "--listen", "127.0.0.1:0", "--ready-file",
                 ready, "--interval", interval, "--log-level", "warn", *args],
                stdin=subprocess.DEVNULL, stderr=log)
        bench.wait_until(lambda: os.path.exists(ready) or self.proc.poll() is not None,
                         "tw-collector is ready")
        if self.proc.poll() is not None:
            raise bench.Failed(f"tw-collector: {read(os.path.join(scratch, 'log'))}")
        self.url = f"http://{read(ready).strip()}/metrics"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.send_signal(signal.SIGCONT)
        self.proc.terminate()
        self.proc.wait()

    def metrics(self):
        with urllib.request.urlopen(self.url, timeout=60) as answer:
            return answer.read().decode()

    @staticmethod
    def value(text, name):
        return float(re.search(rf"^{name}(?:{{.*}})? (\S+)$", text, re.M).group(1))

    def get(self, name):
        return self.value(self.metrics(), name)

    def wait_ticks(self, count):
        want = self.get("tallywatt_collector_ticks_total") + count
        bench.wait_until(lambda: self.get("tallywatt_collector_ticks_total") >= want,
                         f"{count} ticks", seconds=600, pause=0.02)

    def resident_mib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", read(f"/proc/{self.proc.pid}/status")
                             ).group(1)) / 1024

    def cpu_seconds(self):
        return int(read(f"/proc/{self.proc.pid}/schedstat").split()[0]) / 1e9

    def cpu_ticks(self):
        """User and kernel, in the 10 ms of /proc/PID/stat."""
        stat = read(f"/proc/{self.proc.pid}/stat").rsplit(")", 1)[1].split()
        return int(stat[11]), int(stat[12])


class Sleepers:
    def __init__(self, count):
        self.load = subprocess.Popen([LOAD, "sleepers", str(count)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE)

    def __enter__(self):
        self.load.stdout.readline()
        return self

    def __exit__(self, *_):
        self.load.communicate()
