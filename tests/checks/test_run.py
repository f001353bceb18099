# SPDX-License-Identifier: Apache-2.0
"""The counting of results: what crashes or runs nothing has failed."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import run  # noqa: E402

GOOD = "1..3\nok 1 - a\nnot ok 2 # SKIP b\nok 3 - c\n# ok - x\n"


class Run(unittest.TestCase):
    def unit(self, text, status=0, signal=None):
        """Count a program that prints text and then ends so."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "test_x")
            with open(path, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\ncat <<'EOF'\n{text}EOF\n")
                f.write(f"kill -{signal} $$\n" if signal else f"exit {status}\n")
            os.chmod(path, 0o755)
            with contextlib.redirect_stdout(io.StringIO()):
                return str(run.run_unit([path]))

    def test_passed_and_skipped_are_counted_apart(self):
        self.assertEqual(self.unit(GOOD), "2 passed, 0 failed, 1 skipped")

    def test_later_releases_print_a_skip_as_ok(self):
        self.assertEqual(self.unit("1..2\nok 1 # SKIP b\nok 2 - a\n"),
                         "1 passed, 0 failed, 1 skipped")

    def test_a_failure_is_counted_once(self):
        self.assertEqual(self.unit("1..2\nok 1 - a\nnot ok 2 - b\n", status=1),
                         "1 passed, 1 failed, 0 skipped")

    def test_a_crash_fails_what_it_kept_from_running(self):
        self.assertEqual(self.unit("1..4\nok 1 - a\n", signal="SEGV"),
                         "1 passed, 3 failed, 0 skipped")

    def test_a_crash_after_the_last_test_fails(self):
        self.assertEqual(self.unit("1..1\nok 1 - a\n", signal="ABRT"),
                         "1 passed, 1 failed, 0 skipped")

    def test_a_program_without_tests_fails(self):
        self.assertEqual(self.unit(""), "0 passed, 1 failed, 0 skipped")

    def test_a_program_that_is_not_there_fails(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(run.run_unit(["/nonexistent/test_x"]).failed, 1)

    def test_totals_add_up_and_fail_where_one_failed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results")
            with open(path, "w", encoding="utf-8") as f:
                f.write("unit 3 0 1\ncheck-docs 0 1 0\n")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                self.assertEqual(run.print_total(path), 1)
            self.assertEqual(out.getvalue().splitlines()[-1],
                             "3 passed, 1 failed, 1 skipped")

    def test_reasons_of_skips_come_at_the_end(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results")
            env = dict(os.environ, TW_RESULTS=path)
            command = [sys.executable, run.__file__]
            for words in (["skip", "check-x", "no x"], ["skip", "check-y", "no x"],
                          ["one", "bench-z", "sh", "-c", "exit 77"]):
                subprocess.run([*command, *words], env=env, check=True,
                               stdout=subprocess.DEVNULL)
            program = os.path.join(folder, "test_x")
            with open(program, "w", encoding="utf-8") as f:
                f.write("#!/bin/sh\necho 'SKIPPED: test_x: no y'; echo 1..1; echo ok 1 '# SKIP' a\n")
            os.chmod(program, 0o755)
            subprocess.run([*command, "unit", program], env=env, check=True,
                           stdout=subprocess.DEVNULL)
            done = subprocess.run([*command, "total", path], check=False, text=True,
                                  stdout=subprocess.PIPE)
            self.assertEqual(done.stdout.splitlines(),
                             ["skipped: no x: check-x, check-y", "skipped: no y: test_x",
                              "0 passed, 0 failed, 4 skipped"])


if __name__ == "__main__":
    unittest.main()
