# SPDX-License-Identifier: Apache-2.0
"""tw-collector: the energy of Slurm's jobs that share a node."""
import os
import subprocess
import unittest

from harness import need, wait_until
from metered import Metered


def removed(path):
    try:
        os.rmdir(path)
        return True
    except OSError:
        return False


class Jobs(Metered):
    def cgroup(self, *names):
        """A cgroup of v1 as Slurm makes it, with a load; its path in the hierarchy."""
        path = f"/sys/fs/cgroup/cpuacct/slurm_test{os.getpid()}"
        for name in ("", *names):
            path = os.path.join(path, name).rstrip("/")
            try:
                os.mkdir(path)
            except FileExistsError:
                continue
            except OSError:
                need("cgroups", False)
            self.addCleanup(wait_until, lambda path=path: removed(path), "the cgroup is empty")
        load = subprocess.Popen(
            ["nice", "sh", "-c", 'echo $$ > "$0/cgroup.procs"; while :; do :; done', path])
        self.addCleanup(load.wait)
        self.addCleanup(load.kill)
        return path.removeprefix("/sys/fs/cgroup/cpuacct")

    def energy(self, samples, level, **labels):
        return sum(value for name, has, value in samples
                   if name == f"tallywatt_{level}_energy_joules_total" and
                   has["zone"] == "package" and
                   all(has.get(key) == wanted for key, wanted in labels.items()))

    def test_jobs_and_the_rest_are_the_node(self):
        one = self.cgroup("uid_0", "job_41", "step_0", "task_0")
        batch = self.cgroup("uid_0", "job_41", "step_batch")
        other = self.cgroup("uid_0", "job_42", "step_0")
        daemon = self.collect("--meters", "fake", "--cgroups", "v1")
        wait_until(lambda: all(
            self.energy(self.samples(daemon), "container", container_id=step) > 0.05
            for step in ("41.0", "41.batch", "42.0")), "each step has energy")
        samples = self.samples(daemon)
        for job, paths in (("41", (one, batch)), ("42", (other,))):
            by_cgroup = sum(self.energy(samples, "cgroup", cgroup=path) for path in paths)
            by_job = self.energy(samples, "container", slurm_job=job, runtime="slurm")
            self.assertAlmostEqual(by_job, by_cgroup, 5)
        rest = sum(value for name, has, value in samples
                   if name == "tallywatt_cgroup_energy_joules_total" and
                   has["zone"] == "package" and has["cgroup"] not in (one, batch, other))
        jobs = sum(self.energy(samples, "container", slurm_job=job) for job in ("41", "42"))
        waiting = sum(value for name, has, value in samples
                      if name == "tallywatt_node_unattributed_joules" and
                      has["zone"] == "package")
        self.assertAlmostEqual(jobs + rest + waiting, self.energy(samples, "node"), 4)
        self.assertTrue(all("slurm_job" not in has for _, has, _ in samples
                            if has.get("runtime") != "slurm"))


if __name__ == "__main__":
    unittest.main()
