# SPDX-License-Identifier: Apache-2.0
"""What a tick of tw-collector, a scrape and its memory cost: without power, with a meter,
and with power from a model."""
import contextlib
import os
import time

import bench
import collector_model
from collector_run import Collector, Sleepers

# Tasks, seconds between ticks, ticks that are measured.
SIZES = bench.quick(((100, 1, 10), (300, 3, 6), (1000, 1, 10), (10000, 1, 10)), ((100, 1, 2),))
GOALS = {300: ("300 tasks, 3 s", 0.0005, 16), 10000: ("10,000 tasks, 1 s", 0.01, 40)}


class Subject:
    """One of the collectors that tick beside each other."""

    def __init__(self, power, collector):
        self.power, self.collector = power, collector

    def begin(self):
        self.estimates = self.estimated()
        self.resident = self.collector.resident_mib()
        self.split = self.collector.cpu_ticks()
        self.began = time.monotonic()
        self.cpu = []
        self.look()

    def look(self):
        self.cpu.append(self.collector.cpu_seconds())

    def end(self):
        took = time.monotonic() - self.began
        self.part = (self.cpu[-1] - self.cpu[0]) / took
        ticks = [1e3 * (b - a) for a, b in zip(self.cpu, self.cpu[1:])]
        self.tick_ms, self.worst_ms = bench.median(ticks), max(ticks)
        user, kernel = (b - a for a, b in zip(self.split, self.collector.cpu_ticks()))
        # Of a few 10 ms there is no part to tell.
        self.kernel = kernel / (user + kernel) if user + kernel >= 4 else None
        if self.power == "model":
            self.check(len(self.cpu) - 1)

    def estimated(self):
        text, name = self.collector.metrics(), "tallywatt_model_estimates_total"
        return self.collector.value(text, name) if name in text else 0

    def check(self, ticks):
        """Each tick had an estimate."""
        more = self.estimated() - self.estimates
        if more < ticks - 1:
            raise bench.Failed(f"{self.power}: {more:.0f} estimates in {ticks} ticks")


@contextlib.contextmanager
def subjects(scratch, database, interval_s):
    """All of them, while each ticks."""
    model = ("--meters", "model", "--model-source", "fake", "--estimated-idle", "scale")
    with contextlib.ExitStack() as stack:
        found = []
        began = time.monotonic()
        for power, args in (("none", ()), ("fake meter", ("--meters", "fake")),
                            ("model", (*model, "--model", collector_model.path(database)))):
            collector = Collector(scratch, *args, interval=f"{interval_s}s")
            found.append(Subject(power, stack.enter_context(collector)))
            # No two of them tick at a time.
            time.sleep(max(began + len(found) * interval_s / 3 - time.monotonic(), 0))
        yield found


def measure_scrapes(collector):
    """Medians of ms, of CPU ms, and KiB."""
    took, used = [], []
    for _ in range(5):
        cpu, start = collector.cpu_seconds(), time.monotonic()
        text = collector.metrics()
        took.append(1e3 * (time.monotonic() - start))
        used.append(1e3 * (collector.cpu_seconds() - cpu))
    return bench.median(took), bench.median(used), len(text) / 1024


def measure_ticks(scratch, goals):
    print("\nA tick of the collector, by where power comes from; tasks are processes that "
          "sleep.\nScrapes of the largest 1,000 processes")
    os.chmod(scratch, 0o755)  # models are read by whom the collector becomes
    database = collector_model.train(scratch)
    table = bench.Table(("tasks", 6, "d"), ("interval", 8, ""), ("power", -10, ""),
                        ("tick ms", 7, ".3f"), ("worst", 6, ".2f"),
                        ("of none", 7, ".2f"), ("kernel", 6, ".0%"), ("of a CPU", 8, ".3%"),
                        ("MiB", 5, ".1f"), ("scrape ms", 9, ".1f"), ("CPU ms", 6, ".1f"),
                        ("KiB", 6, ".0f"))
    for tasks, interval_s, ticks in SIZES:
        with subjects(scratch, database, interval_s) as found, Sleepers(tasks):
            follow(found, tasks, interval_s, ticks)
            for subject in found:
                tell_tick(goals, table, tasks, interval_s, subject, found[0])


def follow(found, tasks, interval_s, ticks):
    for subject in reversed(found):
        subject.collector.wait_ticks(2)
    # Command lines of so many are looked at 200 a tick.
    found[0].collector.wait_ticks(tasks // 200)
    for subject in found:
        subject.begin()
    began = time.monotonic()
    for i in range(ticks):
        # The window that is measured: nobody asks.
        time.sleep(max(began + (i + 1) * interval_s - time.monotonic(), 0))
        for subject in found:
            subject.look()
    for subject in found:
        subject.end()


def tell_tick(goals, table, tasks, interval_s, subject, none):
    scrape = measure_scrapes(subject.collector)
    resident = max(subject.resident, subject.collector.resident_mib())
    table.row(tasks, f"{interval_s} s", subject.power, subject.tick_ms,
              subject.worst_ms, subject.tick_ms / none.tick_ms, subject.kernel,
              subject.part, resident, *scrape)
    if tasks in GOALS:
        size, most, most_mib = GOALS[tasks]
        what = f"{size}, power from {subject.power}"
        goals.at_most(f"{what}: of a CPU", subject.part, most)
        goals.at_most(f"{what}: resident", resident, most_mib, "MiB")
    if tasks == 10000 and subject is none:
        goals.at_most("10,000 tasks, 1,000 told: a scrape", scrape[0], 20, "ms")


def measure_all(scratch, goals):
    """Where every process is told."""
    print("\nScrapes of all processes")
    table = bench.Table(("tasks", 6, "d"), ("MiB", 6, ".1f"), ("ms", 6, ".1f"),
                        ("CPU ms", 6, ".1f"), ("KiB", 7, ".0f"))
    for tasks in bench.quick((1000, 10000), (100,)):
        with Collector(scratch, "--top=0", interval="1s") as collector, Sleepers(tasks):
            collector.wait_ticks(2)
            scrape = measure_scrapes(collector)
            resident = collector.resident_mib()
        table.row(tasks, resident, *scrape)
    # The last are 10,000.
    goals.at_most("10,000 tasks, all told: resident", resident, 40, "MiB")
    goals.at_most("10,000 tasks, all told: a scrape", scrape[0], 20, "ms")


def measure_growth(goals):
    """Eight hours of 3 s ticks."""
    run = bench.Run([os.path.join(bench.HELPERS, "collector_ticks"), bench.quick("9600", "100")])
    early, late = (int(n) for n in run.output.split())
    print(f"\n9,600 ticks in {run.seconds:.0f} s: {early} KiB after 960, {late} KiB at the "
          "end")
    # Room that processes of others took for a while is kept for the next ones.
    goals.at_most("growth", late - early, 256, "KiB")
