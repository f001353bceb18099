# SPDX-License-Identifier: Apache-2.0
"""How much of a load's CPU time tw-collector tells, inside of a virtual machine."""
import subprocess
import time

from inside import LOAD, Inside, wait_until

# How long ends are waited for, and from when on they are late.
ENDS_S, LATE_S = 60, 2
# What cpu.stat may be off: it is whole microseconds, twice.
EXACT_S = 3e-6
# From /proc a process that has come to a cgroup is known there after so many ticks.
MOVED_TICKS = 16


class Seen(Inside):
    def setUp(self):
        super().setUp()
        self.late = []

    def seen_of(self, daemon, cgroup, args):
        """What part of a load's CPU time the collector tells, after ten ticks and in the end,
        and that time: of what ran between two moments at which nothing of the cgroup did, so
        that both know it all."""
        shell = subprocess.Popen(
            ["sh", "-c", "echo; read x; \"$@\" >/dev/null; echo; read x", "sh", LOAD, *args],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=cgroup.enter)
        shell.stdout.readline()
        proc = self.health(daemon)["tasks"] == "proc"
        self.wait_ticks(daemon, MOVED_TICKS if proc else 3)
        kernel, ours = cgroup.usage_ns(), self.cgroup_s(daemon, cgroup)
        shell.stdin.write(b"\n")
        shell.stdin.flush()
        shell.stdout.readline()
        self.wait_ticks(daemon, 10)
        seconds = (cgroup.usage_ns() - kernel) / 1e9
        seen = [self.cgroup_s(daemon, cgroup) - ours]
        if not proc:
            self.wait_for_ends(lambda: seconds - (self.cgroup_s(daemon, cgroup) - ours)
                               < max(EXACT_S, seconds * 1e-5))
        seen.append(self.cgroup_s(daemon, cgroup) - ours)
        shell.communicate()
        self.show_losses(daemon)
        return seen[0] / seconds, seen[1] / seconds, seconds

    def show_losses(self, daemon):
        """What the collector knows that it has lost, and ends that came late."""
        for name in ("processes_lost", "events_dropped"):
            lost = self.value(daemon, f"tallywatt_collector_{name}_total")
            if lost:
                self.show(**{name: f"{lost:.0f}"})
        if self.late:
            self.show(**{f"ends late, {self._testMethodName[5:]}": ", ".join(self.late)})

    def wait_for_ends(self, told):
        """They come after an RCU grace period, which emulation may make long. What comes
        late is told in the table, and so is what does not come."""
        began = time.monotonic()
        try:
            wait_until(told, "ends come", timeout=ENDS_S)
        except AssertionError:
            self.late.append("never")
            return
        waited_s = time.monotonic() - began
        if waited_s > LATE_S:
            self.late.append(f"{waited_s:.1f} s")
