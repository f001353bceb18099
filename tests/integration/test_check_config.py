# SPDX-License-Identifier: Apache-2.0
"""--check-config refuses what the start refuses, in one line that names it."""
import os
import subprocess
import unittest

from harness import BIN, TIMEOUT_S, Case, need_fleet

LONG = "/" + "x" * 200
REFUSED = {
    "tw-collector": [
        (("--meters", "raple"), "raple"), (("--levels", "pods"), "pods"),
        (("--model", "/dev/null/none/model.zip"), "/dev/null/none/model.zip"),
        (("--model-filter", "mae:many"), "--model-filter"),
        (("--model-source", "-"), "--model-source"),
        (("--proc", "/dev/null/none"), "--proc"), (("--sys", "/dev/null/none"), "--sys"),
        (("--vm-users", "nosuchuser"), "--vm-users"), (("--user", "nosuchuser"), "nosuchuser"),
        (("--interval", "1ms"), "--interval"), (("--compat", "scaphandre"), "--compat"),
        (("--web-config", "/dev/null/none.yml"), "/dev/null/none.yml")],
    "tw-server": [
        (("--default-machine", "garbage"), "--default-machine"),
        (("--public-key", "/dev/null/none.pub"), "/dev/null/none.pub"),
        (("--publish-auth", "/dev/null/none"), "/dev/null/none"),
        (("--model-path", "best-models"), "best-models"),
        (("--web-config", "/dev/null/none.yml"), "/dev/null/none.yml")],
    "tw-trainer": [
        (("--may-train", "alice=a-*"), "--web-config"),
        (("--sign", "/dev/null/none.key"), "/dev/null/none.key"), (("--online",), "--online"),
        (("--online", "--prometheus", "http://127.0.0.1:1", "--model-db", "/tmp/db",
          "--online-state", "/tmp/s", "--online-trainers", "Nope"), "Nope"),
        (("--unit", "/dev/null/none.json"), "/dev/null/none.json"),
        (("--web-config", "/dev/null/none.yml"), "/dev/null/none.yml")],
    "tw-estimator": [
        (("--socket-mode", "999"), "--socket-mode"), (("--socket", LONG), "expected a path"),
        (("--socket", ","), "--socket"), (("--allow-users", "nosuchuser"), "--allow-users"),
        (("--socket-owner", "nosuchuser"), "--socket-owner"),
        (("--idle-timeout", "0s"), "--idle-timeout")],
}
FLEET = {"tw-server": [(("--replica", "5/4"), "5/4"), (("--pull", "nonsense="), "--pull")]}


class CheckConfig(Case):
    def run_it(self, program, *args):
        return subprocess.run([os.path.join(BIN, program), *args], check=False,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S)

    def test_what_the_start_refuses_is_refused(self):
        self.check(REFUSED)

    def test_what_the_start_of_a_fleet_refuses_is_refused(self):
        need_fleet()
        self.check(FLEET)

    def check(self, refused):
        for program, cases in refused.items():
            for args, named in cases:
                if "--user" in args and os.geteuid() != 0:
                    continue  # only root becomes another user
                with self.subTest(program=program, args=args):
                    checked = self.run_it(program, *args, "--check-config")
                    self.assertEqual(checked.returncode, 2, checked.stderr)
                    self.assertEqual(len(checked.stderr.splitlines()), 1, checked.stderr)
                    self.assertIn(named, checked.stderr)
                    listen = ("--listen", "127.0.0.1:0") if program != "tw-estimator" else ()
                    started = self.run_it(program, *listen, *args)
                    self.assertIn(started.returncode, (1, 2), started.stderr)
                    self.assertIn(named, started.stderr)

    def test_what_starts_is_accepted(self):
        for program in REFUSED:
            checked = self.run_it(program, "--check-config")
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
