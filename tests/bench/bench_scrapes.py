#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Large scrapes of tw-collector beside its ticks: many processes, every set of metrics.

    make bench-scrapes [PROCESSES=20000] [LOAD=8] [SLOW=3000] [SECONDS=45]

Two scrapers read /metrics in turns while LOAD processes spin. Then SLOW connections ask for
/metrics and do not read. Goals: no tick is missed, and the memory is bounded.
"""
import argparse
import os
import re
import resource
import socket
import subprocess
import tempfile
import threading
import time
import urllib.request

import bench
from collector_run import LOAD, Collector, Sleepers, read

TICKS = "tallywatt_collector_ticks_total"
MISSED = "tallywatt_collector_ticks_missed_total"


def memory_mib(pid):
    """Proportional share of the collector and of the children that make its texts."""
    pids, total = [pid], 0.0
    try:
        pids += [int(p) for p in read(f"/proc/{pid}/task/{pid}/children").split()]
    except OSError:
        pass
    for each in pids:
        try:
            total += int(re.search(r"^Pss:\s+(\d+)", read(f"/proc/{each}/smaps_rollup"), re.M)
                         .group(1)) / 1024
        except (OSError, AttributeError):
            continue
    return total


class Watch(threading.Thread):
    """The largest memory_mib() while it runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most, self.end = pid, 0.0, threading.Event()
        self.start()

    def run(self):
        while not self.end.wait(0.2):
            self.most = max(self.most, memory_mib(self.pid))


def scrape(url):
    """First byte and last byte in seconds, and the bytes."""
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    start, size = time.monotonic(), 0
    with urllib.request.urlopen(request, timeout=300) as answer:
        size += len(answer.read(1))
        first = time.monotonic() - start
        while piece := answer.read(1 << 16):
            size += len(piece)
    return first, time.monotonic() - start, size


def ticks(collector):
    """Ticks and missed ticks, from a small answer where there is one."""
    text = collector.metrics()
    return collector.value(text, TICKS), collector.value(text, MISSED)


def scrape_for(collector, seconds, every_s):
    until, taken = time.monotonic() + seconds, []
    while time.monotonic() < until:
        next_s = time.monotonic() + every_s
        taken.append(scrape(collector.url))
        time.sleep(max(next_s - time.monotonic(), 0))
    return taken


def hold_slowly(collector, count):
    """Connections that ask and do not read. Most wait for the collector to take them."""
    host, port = collector.url.split("/")[2].rsplit(":", 1)
    held = []
    for _ in range(count):
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.setblocking(False)
        s.connect_ex((host, int(port)))
        held.append(s)
    return held


def ask_again(held):
    """Ask on each connection that has been taken since."""
    for s in held:
        try:
            s.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        except OSError:
            continue


def report(name, table, before, after, taken, most):
    done = after[0] - before[0], after[1] - before[1]
    table.row(name, done[0], done[1], max((t[0] for t in taken), default=None),
              max((t[1] for t in taken), default=None),
              max((t[2] / 2**20 for t in taken), default=None), most)
    return done[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--processes", type=int, default=bench.quick(20000, 200))
    p.add_argument("--load", type=int, default=bench.quick(8, 1))
    p.add_argument("--slow", type=int, default=bench.quick(3000, 20))
    p.add_argument("--seconds", type=float, default=bench.quick(45, 2))
    a = p.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (a.slow + 1000, a.slow + 1000))
    goals = bench.Goals()
    with tempfile.TemporaryDirectory() as scratch, \
            Collector(scratch, "--top", "0", "--compat", "kepler,kepler-legacy,kepler-0.5",
                      "--shipped-models", "", "--model-db", "model-db/models",
                      interval=bench.quick("3s", "500ms")) as c, Sleepers(a.processes):
        spinning = [subprocess.Popen([LOAD, "spin", "1000000000"], stdout=subprocess.DEVNULL)
                    for _ in range(a.load)]
        try:
            table = bench.Table(("phase", -16, ""), ("ticks", 6, ".0f"), ("missed", 7, ".0f"),
                                ("first byte s", 13, ".3f"), ("whole s", 8, ".2f"),
                                ("MiB sent", 9, ".1f"), ("peak PSS MiB", 13, ".1f"))
            c.wait_ticks(2)
            watch = Watch(c.proc.pid)
            before = ticks(c)
            taken = scrape_for(c, a.seconds, 7.5)
            middle = ticks(c)
            missed = report("two scrapers", table, before, middle, taken, watch.most)
            goals.at_most("ticks missed with two scrapers", missed, 0)
            goals.at_most("first byte of a scrape",
                          sorted(t[0] for t in taken)[len(taken) // 2], 1, "s")
            held = hold_slowly(c, a.slow)
            until = time.monotonic() + a.seconds
            while time.monotonic() < until:
                ask_again(held)
                time.sleep(1)
            for s in held:
                s.close()
            missed = report(f"{len(held)} slow", table, middle, ticks(c), [], watch.most)
            goals.at_most(f"ticks missed with {len(held)} slow scrapers", missed, 0)
            watch.end.set()
        finally:
            for s in spinning:
                s.kill()
                s.wait()
    goals.exit()


if __name__ == "__main__":
    main()
