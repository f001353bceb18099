#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run tests and count them.

    run.py unit PROGRAM...     cmocka programs
    run.py fuzz PROGRAM...     replay each fuzz target's corpus
    run.py python FILE...      unittest files
    run.py one NAME COMMAND... one command that passes or fails; status 77: it skipped itself
    run.py skip NAME WHY       one check that is skipped
    run.py total FILE          add up what TW_RESULTS=FILE collected; the reasons of skips

Each run prints one line for each program and ends with its counts and its seconds, those of
CPU time among them: on a busy machine they say more. With TW_RESULTS=FILE
the counts are appended to FILE, one line a run. A crash counts as a failure, and so does
each test that a crash kept from running. Exits 0 only if nothing failed.
"""
import concurrent.futures
import importlib.util
import os
import re
import resource
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TIMEOUT_S = 600
SKIPPED = 77
TAP = re.compile(r"(not )?ok \d+(?: - (.*?))?(?: ?# SKIP ?(.*))?$")


class Counts:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, other):
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped

    def __str__(self):
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def times(wall_s, cpu_s):
    return f"{wall_s:.1f} s, CPU {cpu_s:.1f} s"


class Clock:
    """Time since it was made; CPU time is that of this process and of its ended children."""

    def __init__(self):
        self.began_s, self.cpu_before_s = time.monotonic(), self.used_s()

    @staticmethod
    def used_s():
        used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(u.ru_utime + u.ru_stime for u in used)

    def cpu_s(self):
        return self.used_s() - self.cpu_before_s

    def __str__(self):
        return times(time.monotonic() - self.began_s, self.cpu_s())


def read_tap(text, counts):
    """Count the lines of a cmocka program; return the names of what failed."""
    planned, seen, failed = 0, 0, []
    for line in text.splitlines():
        plan = re.match(r"1\.\.(\d+)$", line)
        if plan:
            planned += int(plan.group(1))
        test = TAP.match(line)
        if not test:
            continue
        seen += 1
        if "# SKIP" in line:
            counts.skipped += 1
        elif test.group(1):
            counts.failed += 1
            failed.append(test.group(2) or line)
        else:
            counts.passed += 1
    if seen < planned:
        counts.failed += planned - seen
        failed.append(f"{planned - seen} of {planned} did not run")
    return failed


def run_program(command, env=None):
    """The exit status (negative: a signal), all output, and the time it took."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        try:
            proc = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                    stdout=out, stderr=subprocess.STDOUT)
        except OSError as e:
            return -1, f"{e}\n", "not started"
        limit = threading.Timer(TIMEOUT_S, proc.kill)
        limit.start()
        _, status, used = os.wait4(proc.pid, 0)
        limit.cancel()
        proc.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - began
        out.seek(0)
        output = out.read().decode(errors="replace")
    if wall_s > TIMEOUT_S:
        output += "\ntimed out\n"
    return proc.returncode, output, times(wall_s, used.ru_utime + used.ru_stime)


def note_skip(line):
    """Keep the reason of a skip for the end."""
    if "TW_RESULTS" in os.environ:
        with open(os.environ["TW_RESULTS"] + ".skipped", "a", encoding="utf-8") as f:
            f.write(line + "\n")


def report(name, counts, failed, output, time_used):
    print(f"  {'FAIL' if counts.failed else 'ok':4}  {name}: {counts}  ({time_used})")
    for line in output.splitlines():
        if line.startswith("SKIPPED"):
            print(f"        {line}")
            note_skip(line)
    if counts.failed:
        sys.stdout.write(output)
        for what in failed:
            print(f"  FAILED: {name}: {what}")
    sys.stdout.flush()


def unit_result(program):
    counts = Counts()
    code, output, used = run_program([program], dict(os.environ, CMOCKA_MESSAGE_OUTPUT="tap"))
    failed = read_tap(output, counts)
    if code != 0 and not counts.failed or counts.passed + counts.skipped == 0:
        counts.failed += 1
        failed.append(f"ended with status {code}")
    return os.path.basename(program), counts, failed, output, used


def fuzz_result(program):
    counts, failed = Counts(), []
    name = os.path.basename(program)
    corpus = os.path.join("tests/corpus", name)
    files = sorted(os.path.join(corpus, f) for f in os.listdir(corpus)) \
        if os.path.isdir(corpus) else []
    if files:
        code, output, used = run_program([program, *files])
    else:
        code, output, used = 1, f"no inputs in {corpus}\n", "not started"
    if code == 0:
        counts.passed += 1
    else:
        counts.failed += 1
        failed.append(f"ended with status {code}")
    return f"{name}, {len(files)} inputs", counts, failed, output, used


def run_all(run, programs):
    """As many programs at a time as there are CPUs."""
    total = Counts()
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for result in pool.map(run, programs):
            report(*result)
            total.add(result[1])
    return total


def run_unit(programs):
    return run_all(unit_result, programs)


def run_fuzz(programs):
    return run_all(fuzz_result, programs)


def load_file(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


class Result(unittest.TextTestResult):
    """Reports the time of each test that uses much."""
    CPU_S = 2

    def startTest(self, test):
        self.clock = Clock()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        if self.clock.cpu_s() > self.CPU_S:
            self.stream.writeln(f"    {self.clock}")


def run_python(files):
    for path in files:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    suite = unittest.TestSuite(load_file(path) for path in files)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2,
                                     resultclass=Result).run(suite)
    for test, why in result.skipped:
        line = f"SKIPPED: {test}: {why}"
        print(line)
        note_skip(line)
    counts = Counts()
    counts.failed = len(result.failures) + len(result.errors) + \
        len(result.unexpectedSuccesses)
    counts.skipped = len(result.skipped)
    counts.passed = max(result.testsRun - counts.failed - counts.skipped, 0)
    if result.testsRun == 0 and not counts.failed and not counts.skipped:
        print("no tests ran")
        counts.failed = 1
    return counts


def run_one(words):
    counts = Counts()
    code = subprocess.run(words[1:], check=False).returncode
    if code == 0:
        counts.passed = 1
    elif code == SKIPPED:
        counts.skipped = 1
    else:
        counts.failed = 1
        print(f"  FAILED: {words[0]}: ended with status {code}")
    return counts


def run_skip(words):
    counts = Counts()
    counts.skipped = 1
    line = f"SKIPPED: {words[0]}: {words[1]}"
    print(line)
    note_skip(line)
    return counts


def print_skips(path):
    """Each reason with the tests that it skipped."""
    tests_of = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            for line in f:
                test, _, why = line.strip().removeprefix("SKIPPED: ").partition(": ")
                tests_of.setdefault(why or test, []).append(test.split(" ")[0])
    for why, tests in sorted(tests_of.items()):
        print(f"skipped: {why}: {', '.join(sorted(tests))}")


def print_total(path):
    total = Counts()
    with open(path, encoding="utf-8") as f:
        for line in f:
            counts = Counts()
            counts.passed, counts.failed, counts.skipped = \
                (int(n) for n in line.split()[-3:])
            if counts.failed:
                print(f"failed: {line.strip()}")
            total.add(counts)
    print_skips(path + ".skipped")
    print(total)
    return 1 if total.failed or not total.passed else 0


def main(argv):
    kinds = {"unit": run_unit, "fuzz": run_fuzz, "python": run_python, "one": run_one,
             "skip": run_skip}
    if len(argv) == 3 and argv[1] == "total":
        return print_total(argv[2])
    if len(argv) < 3 or argv[1] not in kinds:
        print(__doc__, file=sys.stderr)
        return 2
    # Some daemons become another user and read files that the tests write.
    os.umask(0o022)
    clock = Clock()
    counts = kinds[argv[1]](argv[2:])
    label = {"one": argv[2], "skip": argv[2], "python": "+".join(
        os.path.splitext(os.path.basename(f))[0] for f in argv[2:])}.get(argv[1], argv[1])
    print(f"{label}: {counts} ({clock})")
    results = os.environ.get("TW_RESULTS")
    if results:
        with open(results, "a", encoding="utf-8") as f:
            f.write(f"{label} {counts.passed} {counts.failed} {counts.skipped}\n")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
