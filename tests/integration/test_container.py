# SPDX-License-Identifier: Apache-2.0
"""tw-collector and the tests that use the kernel, as in a container: a PID namespace of their own,
nothing in /sys but cgroup v2, and a user that is not root."""
import glob
import os
import signal
import subprocess
import unittest

from harness import BIN, TIMEOUT_S, Case, Daemon, call, need, wait_until

# The program is process 1 of its PID namespace.
UNSHARE = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
           "--mount-proc"]
BARE_SYS = """
mount -t tmpfs none /sys && mkdir -p /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup &&
exec "$@"
"""
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
KERNEL_TESTS = ("counters", "counters_moved", "tasks", "traces", "collector", "workload",
                "processors", "meter_rapl", "cgroup_use")


def in_container(command):
    return [*UNSHARE, "sh", "-c", BARE_SYS, "sh", *command]


class ContainedCollector(Daemon):
    def __init__(self, case):  # pylint: disable=super-init-not-called
        self.program = "tw-collector"
        self.ready_file = os.path.join(case.path("shared"), "ready")
        self.log_file = case.path("collector.log")
        with open(self.log_file, "wb") as log:
            # pylint: disable-next=consider-using-with
            self.proc = subprocess.Popen(
                in_container([*NOBODY, os.path.join(BIN, "tw-collector"), "--listen",
                              "127.0.0.1:0", "--ready-file", self.ready_file, "--interval", "1s"]),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: os.path.exists(self.ready_file) or self.proc.poll() is not None,
                   "the collector is ready")
        if self.proc.poll() is not None:
            raise AssertionError(self.log())
        with open(self.ready_file, encoding="utf-8") as f:
            self.address = f.read().strip()


class Container(Case):
    def setUp(self):
        super().setUp()
        need("root", os.geteuid() == 0)
        works = subprocess.run(in_container([*NOBODY, "true"]), check=False,
                               stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               timeout=TIMEOUT_S).returncode == 0
        need("namespaces", works)

    def test_the_collector_reports_what_it_may_see(self):
        os.chmod(self.dir, 0o755)
        os.mkdir(self.path("shared"))
        os.chmod(self.path("shared"), 0o777)
        collector = ContainedCollector(self)
        self.addCleanup(collector.proc.wait)
        # The collector, too: another user's process does not get unshare's --kill-child.
        self.addCleanup(os.killpg, collector.proc.pid, signal.SIGKILL)

        def text():
            return call(collector, "GET", "/metrics").body.decode()
        wait_until(lambda: "tallywatt_process_cpu_seconds_total{" in text(), "a process is exported")
        self.assertIn('cgroups=\\"v2\\"', collector.log())
        # No meter, and no energy that was not measured.
        self.assertNotIn("joules_total{", text())
        self.assertNotIn("level=error", collector.log())

    def test_unit_tests_that_use_the_kernel_pass(self):
        # A build without BPF lacks some.
        programs = {name: glob.glob(os.path.join(BIN, "tests/unit/*/test_" + name))
                    for name in KERNEL_TESTS}
        self.assertTrue(any(programs.values()), "make build-tests")
        for name, found in programs.items():
            for program in found:
                done = subprocess.run(in_container([program]), check=False,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
                self.assertEqual(done.returncode, 0, name + ":\n" + done.stdout.decode()[-2000:])


if __name__ == "__main__":
    unittest.main()
