# SPDX-License-Identifier: Apache-2.0
"""What a tick of tw-collector, a scrape and its memory cost."""
import os
import time

import bench
from collector_run import Collector, Sleepers


def measure_ticks(scratch, goals):
    print("\nThe collector itself; tasks are processes that sleep. Scrapes: of all of them, "
          "and of 1,000")
    table = bench.Table(("tasks", 6, "d"), ("interval", 8, ""), ("tick ms", 8, ".3f"),
                        ("kernel", 7, ".0%"), ("of a CPU", 9, ".3%"), ("MiB", 6, ".1f"),
                        ("scrape ms", 9, ".1f"), ("CPU ms", 6, ".1f"), ("KiB", 7, ".0f"),
                        ("top ms", 6, ".1f"), ("CPU ms", 6, ".1f"), ("KiB", 7, ".0f"))
    for tasks, interval_s, ticks in ((100, 1, 10), (300, 3, 6), (1000, 1, 10),
                                     (10000, 1, 10)):
        measure_tick(scratch, goals, table, tasks, interval_s, ticks)


def measure_scrapes(collector):
    """Medians of ms, of CPU ms, and KiB."""
    took, used = [], []
    for _ in range(5):
        cpu, start = collector.cpu_seconds(), time.monotonic()
        text = collector.metrics()
        took.append(1e3 * (time.monotonic() - start))
        used.append(1e3 * (collector.cpu_seconds() - cpu))
    return bench.median(took), bench.median(used), len(text) / 1024


def measure_tick(scratch, goals, table, tasks, interval_s, ticks):
    with Collector(scratch, interval=f"{interval_s}s") as collector, Sleepers(tasks):
        # Command lines of so many are looked at 200 a tick.
        collector.wait_ticks(2 + tasks // 200)
        resident = collector.resident_mib()
        began, cpu = time.monotonic(), collector.cpu_seconds()
        before = collector.cpu_ticks()
        time.sleep(ticks * interval_s)  # the window that is measured: nobody asks
        took, used = time.monotonic() - began, collector.cpu_seconds() - cpu
        user, kernel = (b - a for a, b in zip(before, collector.cpu_ticks()))
        top = measure_scrapes(collector)
        resident = max(resident, collector.resident_mib())
    with Collector(scratch, "--top=0", interval="1s") as collector, Sleepers(tasks):
        collector.wait_ticks(2)
        every = measure_scrapes(collector)
        resident_all = collector.resident_mib()
    part = used / took
    # Of a few 10 ms there is no part to tell.
    table.row(tasks, f"{interval_s} s", 1e3 * used / (took / interval_s),
              kernel / (user + kernel) if user + kernel >= 4 else None, part, resident,
              *every, *top)
    if tasks == 300:
        goals.at_most("300 tasks, 3 s: of a CPU", part, 0.0005)
        goals.at_most("300 tasks: resident", resident, 16, "MiB")
    if tasks == 10000:
        goals.at_most("10,000 tasks, 1 s: of a CPU", part, 0.01)
        goals.at_most("10,000 tasks: resident", resident, 40, "MiB")
        goals.at_most("10,000 tasks, all told: resident", resident_all, 40, "MiB")
        goals.at_most("10,000 tasks, all told: a scrape", every[0], 20, "ms")
        goals.at_most("10,000 tasks, 1,000 told: a scrape", top[0], 20, "ms")


def measure_growth(goals):
    """Eight hours of 3 s ticks."""
    run = bench.Run([os.path.join(bench.HELPERS, "collector_ticks"), "9600"])
    early, late = (int(n) for n in run.output.split())
    print(f"\n9,600 ticks in {run.seconds:.0f} s: {early} KiB after 960, {late} KiB at the "
          "end")
    # Room that processes of others took for a while is kept for the next ones.
    goals.at_most("growth", late - early, 256, "KiB")
