#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run tests and count them.

    run.py unit PROGRAM...     cmocka programs
    run.py fuzz PROGRAM...     replay each fuzz target's corpus
    run.py python FILE...      unittest files
    run.py one NAME COMMAND... one command that passes or fails
    run.py total FILE          add up what TW_RESULTS=FILE collected

Each run prints one line for each program and ends with its counts. With TW_RESULTS=FILE
the counts are appended to FILE, one line a run. A crash counts as a failure, and so does
each test that a crash kept from running. Exits 0 only if nothing failed.
"""
import importlib.util
import os
import re
import subprocess
import sys
import time
import unittest

TIMEOUT_S = 600
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
    """The exit status (negative: a signal) and all output."""
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired as e:
        return -1, (e.output or b"").decode(errors="replace") + "\ntimed out\n"
    except OSError as e:
        return -1, f"{e}\n"
    return done.returncode, done.stdout.decode(errors="replace")


def report(name, counts, failed, output, seconds):
    print(f"  {'FAIL' if counts.failed else 'ok':4}  {name}: {counts}  ({seconds:.1f} s)")
    for line in output.splitlines():
        if line.startswith("SKIPPED"):
            print(f"        {line}")
    if counts.failed:
        sys.stdout.write(output)
        for what in failed:
            print(f"  FAILED: {name}: {what}")
    sys.stdout.flush()


def run_unit(programs):
    total = Counts()
    for program in programs:
        began = time.monotonic()
        counts = Counts()
        code, output = run_program([program],
                                   dict(os.environ, CMOCKA_MESSAGE_OUTPUT="tap"))
        failed = read_tap(output, counts)
        if code != 0 and not counts.failed or counts.passed + counts.skipped == 0:
            counts.failed += 1
            failed.append(f"ended with status {code}")
        report(os.path.basename(program), counts, failed, output,
               time.monotonic() - began)
        total.add(counts)
    return total


def run_fuzz(programs):
    total = Counts()
    for program in programs:
        began = time.monotonic()
        counts, failed = Counts(), []
        name = os.path.basename(program)
        corpus = os.path.join("tests/corpus", name)
        files = sorted(os.path.join(corpus, f) for f in os.listdir(corpus)) \
            if os.path.isdir(corpus) else []
        if files:
            code, output = run_program([program, *files])
        else:
            code, output = 1, f"no inputs in {corpus}\n"
        if code == 0:
            counts.passed += 1
        else:
            counts.failed += 1
            failed.append(f"ended with status {code}")
        report(f"{name}, {len(files)} inputs", counts, failed, output,
               time.monotonic() - began)
        total.add(counts)
    return total


def load_file(path):
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def run_python(files):
    for path in files:
        sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    suite = unittest.TestSuite(load_file(path) for path in files)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    for test, why in result.skipped:
        print(f"SKIPPED: {test}: {why}")
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
    else:
        counts.failed = 1
        print(f"  FAILED: {words[0]}: ended with status {code}")
    return counts


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
    print(total)
    return 1 if total.failed or not total.passed else 0


def main(argv):
    kinds = {"unit": run_unit, "fuzz": run_fuzz, "python": run_python, "one": run_one}
    if len(argv) == 3 and argv[1] == "total":
        return print_total(argv[2])
    if len(argv) < 3 or argv[1] not in kinds:
        print(__doc__, file=sys.stderr)
        return 2
    counts = kinds[argv[1]](argv[2:])
    label = {"one": argv[2], "python": "+".join(
        os.path.splitext(os.path.basename(f))[0] for f in argv[2:])}.get(argv[1], argv[1])
    print(f"{label}: {counts}")
    results = os.environ.get("TW_RESULTS")
    if results:
        with open(results, "a", encoding="utf-8") as f:
            f.write(f"{label} {counts.passed} {counts.failed} {counts.skipped}\n")
    return 1 if counts.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
