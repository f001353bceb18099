# SPDX-License-Identifier: Apache-2.0
"""What the parts of make bench share: run and measure, tables, goals.

TW_BENCH_QUICK=1 makes each part a test of seconds: all of it runs on small inputs, answers must
be right, no goal is judged. TW_BENCH_RECORD=FILE appends the figures to FILE (record.py);
TW_BENCH_JUDGE=1 fails where a figure is more than 10 % worse than the last one in FILE.
"""
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from record import Record

PROGRAMS = os.environ.get("TW_BIN", "build/release")  # tallywatt, tw-trainer, ..
HELPERS = os.path.join(PROGRAMS, "tests/bench")
SHARED = os.environ.get("TW_SHARED", "../shared")
QUICK = bool(os.environ.get("TW_BENCH_QUICK"))
SKIPPED = 77  # the status by which tests/run.py knows a skip


class Failed(Exception):
    """The program that is measured failed: its last line."""


def program(name):
    return os.path.join(PROGRAMS, name)


def quick(whole, short):
    """A size: of the whole bench, or of its form of seconds."""
    return short if QUICK else whole


def name_of_part():
    return os.path.basename(sys.argv[0]).removesuffix(".py")


def skip(why, name=None):
    """End the part, because the machine lacks a prerequisite; an error where TW_REQUIRE has its
    name."""
    if name in os.environ.get("TW_REQUIRE", "").split(","):
        sys.exit(f"{name_of_part()}: {why}, and TW_REQUIRE names {name}")
    line = f"SKIPPED: {name_of_part()}: {why}"
    print(line, flush=True)
    if QUICK and "TW_RESULTS" in os.environ:
        with open(os.environ["TW_RESULTS"] + ".skipped", "a", encoding="utf-8") as f:
            f.write(line + "\n")
    sys.exit(SKIPPED if QUICK else 0)


def need_root():
    if os.geteuid() != 0:
        skip("not root", "root")


def need_programs(*names):
    for name in names:
        if shutil.which(name) is None:
            skip(f"no {name}", name)


def shared(path):
    """A file of the recorded data, which is not part of the repository."""
    path = os.path.join(SHARED, path)
    if not os.path.exists(path):
        skip(f"no {path} (TW_SHARED says where)", "shared")
    return path


class Run:
    """One run of a program: wall and processor seconds, peak memory, what it printed."""

    def __init__(self, command, stdin=None, core=None):
        """core: the one CPU that it may use."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            start = time.monotonic()
            child = subprocess.Popen(
                command, stdin=stdin if stdin is not None else subprocess.DEVNULL,
                stdout=out, stderr=err,
                preexec_fn=(lambda: os.sched_setaffinity(0, {core}))
                if core is not None else None)
            _, status, usage = os.wait4(child.pid, 0)
            self.seconds = time.monotonic() - start
            child.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = usage.ru_utime + usage.ru_stime
            # The kernel's VmHWM. Python's own before exec, some 10 MiB, is the least.
            self.peak_mib = usage.ru_maxrss / 1024
            out.seek(0)
            err.seek(0)
            self.output = out.read().decode(errors="replace")
            errors = err.read().decode(errors="replace").strip()
        if child.returncode != 0:
            raise Failed(f"{' '.join(command[:2])}: status {child.returncode}: "
                         f"{errors.splitlines()[-1] if errors else 'no word'}")


def wait_until(holds, what, seconds=60, pause=0.01):
    """Until the condition holds; its last value. Failed where it never does."""
    until = time.monotonic() + seconds
    while not (value := holds()):
        if time.monotonic() > until:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(pause)
    return value


def median(values):
    return statistics.median(values)


def median_interval(values, sure=0.95):
    """What the median is between, as sure as that, whatever the values' distribution is.

    Of n values that do not depend on each other, how many are below the true median is
    binomial (n, 1/2): so it is between the k-th and the k-th from the end.
    """
    ordered, n, below, k = sorted(values), len(values), 0.0, 0
    while (below := below + math.comb(n, k) / 2 ** n) <= (1 - sure) / 2:
        k += 1
    if k == 0:
        raise Failed(f"{n} values are too few to be {sure:.0%} sure of their median")
    return ordered[k - 1], ordered[n - k]


def peak_mib_of(pid):
    """VmHWM of a process that is running."""
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        for line in f:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    raise Failed(f"no VmHWM of process {pid}")


class Scratch:
    """A directory that is deleted afterwards: with Scratch() as path. TMPDIR says where."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="tallywatt-bench-")
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


class Table:
    """Columns that are printed as they are filled: ("name", width, format)."""

    def __init__(self, *columns):
        self.columns = columns
        print("  ".join(f"{name:{'<' if width < 0 else '>'}{abs(width)}}"
                        for name, width, _ in columns), flush=True)

    def row(self, *values):
        cells = []
        for (_, width, form), value in zip(self.columns, values):
            text = "-" if value is None else format(value, form)
            cells.append(f"{text:{'<' if width < 0 else '>'}{abs(width)}}")
        print("  ".join(cells), flush=True)


class Goals:
    """What a part promises, held against what it measured."""

    def __init__(self):
        self.missed, self.figures = 0, []

    def note(self, what, value, unit="", better="less"):
        """A figure for the record, with or without a goal. A text in parentheses is no part of
        its name."""
        self.figures.append((re.sub(r"\s*\([^)]*\)", "", what), value, unit.strip(), better))

    def right(self, what, holds):
        """An answer that must be right, in the form of seconds as well."""
        print(f"{'right' if holds else 'WRONG':6}  {what}", flush=True)
        self.missed += not holds

    def _tell(self, what, value, unit, met, side, limit):
        self.note(what, value, unit, side)
        if QUICK:
            print(f"ran     {what}: {value:.4g}{unit and ' ' + unit}", flush=True)
            return
        by = "" if met or limit == 0 else f": missed by {abs(value / limit - 1):.1%}"
        print(f"{'met' if met else 'MISSED':6}  {what}: {value:.4g}{unit and ' ' + unit}, "
              f"want {limit:g} or {side}{by}", flush=True)
        self.missed += not met

    def at_least(self, what, value, least, unit=""):
        self._tell(what, value, unit, value >= least, "more", least)

    def at_most(self, what, value, most, unit=""):
        self._tell(what, value, unit, value <= most, "less", most)

    def _tell_interval(self, what, interval, unit, met, missed, limit):
        self.note(what, sum(interval) / 2, unit, limit.rsplit(" ", 1)[1])
        if QUICK:
            print(f"ran     {what}: between {interval[0]:.4g} and {interval[1]:.4g}", flush=True)
            return
        word = "met" if met else "MISSED" if missed else "OPEN"
        print(f"{word:6}  {what}: between {interval[0]:.4g} and {interval[1]:.4g}"
              f"{unit and ' ' + unit}, want {limit}", flush=True)
        self.missed += not met

    def surely_at_least(self, what, interval, least, unit=""):
        """Met or missed only if all of the interval is. Else it is open: no success."""
        low, high = interval
        self._tell_interval(what, interval, unit, low >= least, high < least,
                            f"{least:g} or more")

    def surely_at_most(self, what, interval, most, unit=""):
        low, high = interval
        self._tell_interval(what, interval, unit, high <= most, low > most,
                            f"{most:g} or less")

    def exit(self):
        path = os.environ.get("TW_BENCH_RECORD")
        if path and not QUICK:
            worse = Record(path).add(name_of_part(), self.figures,
                                     bool(os.environ.get("TW_BENCH_JUDGE")))
            print("\n".join(worse), end="\n" * bool(worse), flush=True)
            self.missed += len(worse)
        sys.exit(1 if self.missed else 0)
