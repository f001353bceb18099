#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fuzz each target until its code has had its minutes of CPU time.

    nightly.py [--minutes 60] [--slice 5] [--limit M] [--jobs 2] FUZZER...

FUZZER is a program of BUILD=fuzz. The target with the least time goes next, for a slice; the
run ends when all have their minutes, or after --limit minutes of wall-clock time. tests/fuzz/hours
is the record: a line for each target, with the first digits of the SHA-256 of its program. Builds
are reproducible, so the digest stays while the target's code does, and a later run goes on where
an earlier one stopped. A new digest starts at zero.

New inputs go to FUZZER.inputs, the log of the last slice to FUZZER.log, an input that fails to
FUZZER-crash-*, -oom-* or -timeout-*. Exits 1 if an input failed.
"""
import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import re
import subprocess
import sys
import threading
import time

RECORD = "tests/fuzz/hours"
HEAD = """\
# SPDX-License-Identifier: Apache-2.0
# CPU time that each fuzz target has had, with ASan and UBSan: make nightly-fuzz adds to it.
# The code is the start of the SHA-256 of the target's program. Edges: covered by the inputs in
# tests/corpus when this code was first fuzzed, and now.
#
# target             code          minutes       inputs  a second   edges
"""


@dataclasses.dataclass
class Target:
    """What the code of one target has had."""
    fuzzer: str
    code: str
    cpu_s: float = 0
    inputs: int = 0
    edges_first: int = 0
    edges: int = 0
    failed: bool = False

    @property
    def name(self):
        return os.path.basename(self.fuzzer)

    def complete(self, goal_s):
        """The kernel's clocks and the record's digits lose a little."""
        return self.cpu_s >= 0.99 * goal_s

    def line(self):
        rate = self.inputs / self.cpu_s if self.cpu_s else 0
        return (f"{self.name:<20} {self.code}  {self.cpu_s / 60:7.2f}  {self.inputs:11} "
                f"{rate:9.0f}   {self.edges_first} to {self.edges}")


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()[:12]


def read_record(path=RECORD):
    """The lines of the record by target; code, CPU seconds, inputs and edges."""
    known = {}
    try:
        with open(path, encoding="utf-8") as f:
            for line in f:
                words = line.split()
                if words and words[0] != "#":
                    name, code, minutes, inputs, _, first, _, edges = words
                    known[name] = Target(name, code, float(minutes) * 60, int(inputs), int(first),
                                         int(edges))
    except FileNotFoundError:
        pass
    return known


def write_record(targets, path=RECORD):
    """Replace the lines of these targets, and keep those of others."""
    known = read_record(path)
    known.update({t.name: t for t in targets if t.cpu_s})
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(HEAD + "".join(known[name].line() + "\n" for name in sorted(known)))
    os.replace(path + ".new", path)


def figures(log):
    """Edges at the start and at the end, and the number of inputs, of libFuzzer's log."""
    edges = [int(n) for n in re.findall(r"\bcov: (\d+)", log)]
    inputs = re.search(r"stat::number_of_executed_units: (\d+)", log)
    return (edges[0], max(edges)) if edges else (0, 0), int(inputs.group(1)) if inputs else 0


def fuzz(target, seconds):
    """Run a target; add what the slice did to it."""
    seeds = "tests/corpus/" + target.name
    os.makedirs(target.fuzzer + ".inputs", exist_ok=True)
    command = [os.path.abspath(target.fuzzer), f"-max_total_time={seconds}", "-timeout=20",
               "-rss_limit_mb=2500", "-print_final_stats=1", f"-artifact_prefix={target.fuzzer}-",
               target.fuzzer + ".inputs"]
    with open(target.fuzzer + ".log", "w+", encoding="utf-8", errors="replace") as log:
        child = subprocess.Popen(command + ([seeds] if os.path.isdir(seeds) else []), stdout=log,
                                 stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        (first, edges), inputs = figures(log.read())
    target.cpu_s += used.ru_utime + used.ru_stime
    target.inputs += inputs
    target.edges_first = target.edges_first or first
    target.edges = max(target.edges, edges)
    target.failed = child.returncode != 0


class Schedule:
    """Hands out the target with the least CPU time. A target that failed is not run again."""

    def __init__(self, targets, goal_s, ends_s):
        self.targets, self.goal_s, self.ends_s = targets, goal_s, ends_s
        self.busy, self.lock = set(), threading.Lock()

    def next(self):
        with self.lock:
            left = [t for t in self.targets
                    if not t.failed and t.name not in self.busy and not t.complete(self.goal_s)]
            if not left or time.monotonic() >= self.ends_s:
                return None
            target = min(left, key=lambda t: t.cpu_s)
            self.busy.add(target.name)
            return target

    def done(self, target):
        with self.lock:
            self.busy.discard(target.name)
            write_record(self.targets)
            print(target.line() + (", FAILED: " + target.fuzzer + ".log" if target.failed else ""),
                  flush=True)

    def work(self, slice_s):
        while target := self.next():
            seconds = min(slice_s, self.goal_s - target.cpu_s, self.ends_s - time.monotonic())
            fuzz(target, max(1, round(seconds)))
            self.done(target)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    p.add_argument("--minutes", type=float, default=60, help="CPU time of each target")
    p.add_argument("--slice", type=float, default=5, help="minutes of one turn")
    p.add_argument("--limit", type=float, default=1e6, help="minutes of the whole run")
    p.add_argument("--jobs", type=int, default=2, help="targets that run at a time")
    p.add_argument("fuzzers", nargs="+", metavar="FUZZER")
    args = p.parse_args()

    known = read_record()
    targets = [Target(f, digest(f)) for f in args.fuzzers]
    for i, t in enumerate(targets):
        before = known.get(t.name)
        if before and before.code == t.code:
            targets[i] = dataclasses.replace(before, fuzzer=t.fuzzer)
    schedule = Schedule(targets, args.minutes * 60, time.monotonic() + args.limit * 60)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for turn in [pool.submit(schedule.work, args.slice * 60) for _ in range(args.jobs)]:
            turn.result()
    failed = [t.name for t in targets if t.failed]
    whole = sum(not t.failed and t.complete(args.minutes * 60) for t in targets)
    print(f"{whole} of {len(targets)} targets have {args.minutes:g} minutes on this code"
          + (", failed: " + " ".join(failed) if failed else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
