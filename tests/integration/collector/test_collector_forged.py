# SPDX-License-Identifier: Apache-2.0
"""A user who names the cgroups below their own as they like takes no energy of a pod or a job."""
import os
import unittest

from harness import Case, need, sanitized
from scripted_vm import FIRST_PID, Machine, Watched, write

POD = "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e"
SLICE = f"kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice"
JOB = "slurmstepd.scope/job_12/step_0/user/task_0"
BOX = "cri-containerd-" + "0123456789abcdef" * 4 + ".scope"
HONEST = (f"/{SLICE}/{BOX}", f"/system.slice/{JOB}")
# The first directory of each is the tenant's.
TENANTS = ("/user.slice/user-1000.slice/user@1000.service", "/system.slice/app.service")
FORGED = (f"{TENANTS[0]}/{SLICE}/x", f"{TENANTS[0]}/{JOB}", f"{TENANTS[1]}/{SLICE}/x",
          f"{TENANTS[1]}/{JOB}")
INTERVAL_MS, LOAD = 200, 0.2


class Forged(Case):
    def begin(self, *groups):
        machine = Machine(self.path(f"machine-{len(groups)}"), 2, len(groups))
        tree = f"{machine.top}/sys/fs/cgroup"
        for i, group in enumerate(groups):
            write(f"{machine.top}/proc/{FIRST_PID + i}/cgroup", f"0::{group}\n")
            os.makedirs(tree + group)
        for tenant in TENANTS:
            for folder, _, _ in os.walk(tree + tenant):
                os.chown(folder, 1000, 1000)
        daemon = self.start_http("tw-collector", "--meters", "fake", "--interval",
                                 f"{INTERVAL_MS}ms", "--bpf", "off", "--levels", "pod,job,cgroup",
                                 "--user", "root",
                                 *(["--filter=no"] if sanitized() else []), *machine.args)
        return Watched("forged", daemon, machine, INTERVAL_MS)

    def test_a_tenant_adds_nothing_to_a_pod_or_a_job(self):
        need("root", os.geteuid() == 0)
        watched = self.begin(*HONEST, *FORGED)
        watched.rest()
        for _ in range(3):
            watched.step([LOAD] * 6)
        now = watched.rest()
        seconds = 3 * LOAD * INTERVAL_MS / 1000
        for level, labels in (("pod", {"pod_id": POD}), ("job", {"job_id": "12"})):
            self.assertAlmostEqual(now.sum(f"tallywatt_{level}_cpu_seconds_total", **labels),
                                   seconds, 6)
        for group in FORGED:
            self.assertAlmostEqual(now.sum("tallywatt_cgroup_cpu_seconds_total", cgroup=group),
                                   seconds, 6)


if __name__ == "__main__":
    unittest.main()
