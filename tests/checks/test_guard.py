# SPDX-License-Identifier: Apache-2.0
"""tests/guard.py: what a test starts ends with it, however it ends."""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GUARD = os.path.abspath(os.path.join(os.path.dirname(__file__), "../guard.py"))
# An orphan in a session of its own, whose pid is in the file "orphan".
ORPHAN = """
import os, subprocess, sys
child = subprocess.Popen(["sh", "-c", "setsid sleep 1000 & echo $! >orphan.new"])
child.wait()
while not open("orphan.new").read().strip(): pass
os.rename("orphan.new", "orphan")
open("self", "w").write(str(os.getpid()))
"""
LIMIT_S = 60


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return f.read().rsplit(b")", 1)[1].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


class Guard(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def start(self, then):
        guard = subprocess.Popen([sys.executable, GUARD, sys.executable, "-c", ORPHAN + then],
                                 cwd=self.dir, stderr=subprocess.PIPE, text=True,
                                 env=dict(os.environ, TW_GUARD_GRACE_S="0.2"))
        self.addCleanup(guard.stderr.close)
        self.addCleanup(guard.wait)
        self.addCleanup(guard.kill)
        return guard

    def pid_in(self, name):
        path = os.path.join(self.dir, name)
        self.wait(lambda: os.path.exists(path) and os.path.getsize(path))
        with open(path, encoding="ascii") as f:
            return int(f.read())

    def wait(self, condition):
        until = time.monotonic() + LIMIT_S
        while not condition():
            self.assertLess(time.monotonic(), until, "still not so")
            time.sleep(0.01)

    def check_ended(self, *pids):
        for pid in pids:
            self.wait(lambda pid=pid: not runs(pid))

    def test_a_success_that_leaves_a_process_fails_and_names_it(self):
        guard = self.start("")
        text = guard.communicate(timeout=LIMIT_S)[1]
        self.assertEqual(guard.returncode, 1)
        self.assertRegex(text, r"guard: left running, killed: \d+: sleep 1000")
        self.check_ended(self.pid_in("orphan"))

    def test_a_failure_keeps_its_status(self):
        guard = self.start("sys.exit(3)")
        self.assertEqual(guard.wait(LIMIT_S), 3)
        self.check_ended(self.pid_in("orphan"))

    def test_a_killed_command_takes_all_with_it(self):
        guard = self.start("os.kill(os.getpid(), 9)")
        self.assertEqual(guard.wait(LIMIT_S), 128 + signal.SIGKILL)
        self.check_ended(self.pid_in("orphan"))

    def test_a_killed_guard_takes_all_with_it(self):
        for how in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
            guard = self.start("import time; time.sleep(1000)")
            command, orphan = self.pid_in("self"), self.pid_in("orphan")
            guard.send_signal(how)
            guard.wait(LIMIT_S)
            self.check_ended(command, orphan)
            for name in ("self", "orphan"):
                os.unlink(os.path.join(self.dir, name))

    def test_a_clean_command_has_its_status_and_output(self):
        done = subprocess.run([sys.executable, GUARD, "sh", "-c", "echo out; exit 5"],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (5, b"out\n", b""))

    def test_a_process_of_a_test_is_found_by_its_environment(self):
        def left():
            return subprocess.run([sys.executable, GUARD, "--left", self.dir], check=False,
                                  stdout=subprocess.PIPE, text=True)
        self.assertEqual((left().returncode, left().stdout), (0, ""))
        env = dict(os.environ, TW_BIN=os.path.join(os.path.realpath(self.dir), "release"))
        with subprocess.Popen(["sleep", "1000"], env=env) as child:
            self.addCleanup(child.kill)
            self.wait(lambda: left().returncode == 1)
            self.assertEqual(left().stdout, f"left running: {child.pid}: sleep 1000\n")
            child.kill()
        self.assertEqual((left().returncode, left().stdout), (0, ""))


if __name__ == "__main__":
    unittest.main()
