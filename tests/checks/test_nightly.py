#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/fuzz/nightly.py: a target's time adds up while its code stays."""
import os
import subprocess
import sys
import tempfile
import unittest

NIGHTLY = os.path.abspath(os.path.join(os.path.dirname(__file__), "../fuzz/nightly.py"))
# Computes for 0.3 s, and prints as libFuzzer does.
FUZZER = """#!/bin/sh
# {code}
{python} -c 'import time
while time.process_time() < 0.3: pass'
echo '#2	INITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 40Mb'
echo '#9	NEW    cov: 14 ft: 19 corp: 2/9b exec/s: 0 rss: 40Mb'
echo 'stat::number_of_executed_units: 70'
exit {status}
"""


class Nightly(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        os.makedirs(f"{self.top.name}/tests/fuzz")

    def fuzzer(self, name, code="one", status=0):
        path = f"{self.top.name}/{name}"
        with open(path, "w", encoding="utf-8") as f:
            f.write(FUZZER.format(code=code, status=status, python=sys.executable))
        os.chmod(path, 0o755)

    def run_nightly(self, *args):
        return subprocess.run([sys.executable, NIGHTLY, *args], cwd=self.top.name, check=False,
                              stdout=subprocess.PIPE, text=True)

    def record(self):
        """{target: (code, minutes, inputs, edges at first, edges)} of the record."""
        with open(f"{self.top.name}/tests/fuzz/hours", encoding="utf-8") as f:
            rows = [line.split() for line in f if not line.startswith("#")]
        return {r[0]: (r[1], float(r[2]), int(r[3]), int(r[5]), int(r[7])) for r in rows}

    def test_adds_up_while_the_code_stays(self):
        self.fuzzer("fuzz_a")
        self.assertEqual(self.run_nightly("--minutes", "0.004", "fuzz_a").returncode, 0)
        code, _, inputs, first, edges = self.record()["fuzz_a"]
        self.assertEqual((inputs, first, edges), (70, 10, 14))
        self.run_nightly("--minutes", "0.02", "fuzz_a")
        again = self.record()["fuzz_a"]
        self.assertEqual(again[0], code)
        self.assertGreater(again[2], 70)
        self.assertEqual(again[2] % 70, 0)

        self.fuzzer("fuzz_a", code="two")
        self.run_nightly("--minutes", "0.004", "fuzz_a")
        anew = self.record()["fuzz_a"]
        self.assertNotEqual(anew[0], code)
        self.assertEqual(anew[2], 70)

    def test_keeps_the_lines_of_other_targets(self):
        self.fuzzer("fuzz_a")
        self.fuzzer("fuzz_b")
        self.run_nightly("--minutes", "0.004", "fuzz_a")
        done = self.run_nightly("--minutes", "0.004", "fuzz_b")
        self.assertEqual(sorted(self.record()), ["fuzz_a", "fuzz_b"])
        self.assertIn("1 of 1 targets", done.stdout)

    def test_a_failure_ends_that_target_only(self):
        self.fuzzer("fuzz_a", status=77)
        self.fuzzer("fuzz_b")
        done = self.run_nightly("--minutes", "0.015", "fuzz_a", "fuzz_b")
        self.assertEqual(done.returncode, 1)
        self.assertIn("1 of 2 targets have 0.015 minutes on this code, failed: fuzz_a",
                      done.stdout)
        self.assertEqual(self.record()["fuzz_a"][2], 70)
        self.assertGreater(self.record()["fuzz_b"][2], 70)


if __name__ == "__main__":
    unittest.main()
