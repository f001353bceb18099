# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: system calls that are refused, and memory."""
import os
import re
import shutil
import signal
import subprocess

from harness import BIN, need
from inside import LOAD, PERF, Inside, read


class Filter(Inside):
    def test_no_system_call_is_refused_that_is_used(self):
        need("strace", shutil.which("strace"))
        trace = self.path("trace")
        script = self.write("start", f"#!/bin/sh\nexec strace -f -qq -o {trace} -e "
                            f"status=failed {BIN}/tw-collector \"$@\"\n")
        os.chmod(script, 0o755)
        daemon = self.start_http(script, "--interval", "1s", "--counters",
                                 "software" if os.path.exists(PERF) else "off",
                                 "--trace", "page-cache,softirqs", "--powercap-out",
                                 self.path("out"))
        self.wait_ticks(daemon)
        self.samples(daemon)
        subprocess.run([LOAD, "storm", "2", "50"], check=True, stdout=subprocess.DEVNULL)
        self.wait_ticks(daemon)
        pid = int(read(f"/proc/{daemon.proc.pid}/task/{daemon.proc.pid}/children").split()[0])
        status = dict(line.split(":\t", 1) for line in
                      read(f"/proc/{pid}/status").splitlines() if ":\t" in line)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))
        os.kill(pid, signal.SIGTERM)
        self.assertEqual(daemon.proc.wait(timeout=300), 0)
        # A call that the filter refuses has EPERM, and root is not told so before.
        refused = sorted({re.search(r"\d+ +(\w+)", line)[1]
                          for line in read(trace).splitlines() if "EPERM" in line})
        self.show(refused=" ".join(refused) or "none")
        self.assertEqual(refused, [])


class Steady(Inside):
    def test_it_does_not_grow(self):
        daemon = self.collect()
        subprocess.run([LOAD, "storm", "4", "100"], check=True, stdout=subprocess.DEVNULL)
        self.wait_ticks(daemon, 20)
        before = daemon.resident_kib()
        self.wait_ticks(daemon, 100)
        grown = daemon.resident_kib() - before
        self.show(resident=f"{daemon.resident_kib()} KiB", grown_in_100_ticks=f"{grown} KiB")
        self.assertLessEqual(grown, 64)
