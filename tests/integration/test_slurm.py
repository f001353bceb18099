# SPDX-License-Identifier: Apache-2.0
"""Energy of Slurm's jobs that share a node: by cgroups of its names, in both layouts."""
import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest

import answering
from harness import ROOT, Case, call, need, run_tallywatt, sanitized, wait_until
from scripted_vm import FIRST_PID, Machine, Scrape, Watched, write
from test_collector import bpf_works, removed

INTERVAL_MS = 200
# Two steps of job 12, job 13, and a service; CPUs that each uses.
V1 = ("/slurm_n1/uid_1000/job_12/step_batch/task_0", "/slurm_n1/uid_1000/job_12/step_0/task_0",
      "/slurm_n1/uid_1001/job_13/step_0/task_0", "/system.slice/ssh.service")
V2 = ("/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0",
      "/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
      "/system.slice/slurmstepd.scope/job_13/step_0/user/task_0", "/system.slice/ssh.service")
PHASES = ([0.4, 0.2, 0.8, 0.2], [0, 0.5, 0.2, 0.1], [1.0, 0, 0, 0.1])
JOBS = {"12": (0, 1), "13": (2,), "other": (3,)}


class Shared(Machine):
    def __init__(self, top, layout):
        super().__init__(top, 2, len(PHASES[0]))
        line = "0::" if layout == V2 else "4:cpuacct:"
        if layout == V1:
            os.remove(f"{top}/sys/fs/cgroup/cgroup.controllers")
            write(f"{top}/sys/fs/cgroup/cpuacct/cpuacct.usage", "1\n")
            write(f"{top}/proc/cgroups", "#subsys_name\thierarchy\tnum_cgroups\tenabled\n"
                                         "cpuacct\t4\t9\t1\n")
        for i, path in enumerate(layout):
            write(f"{top}/proc/{FIRST_PID + i}/cgroup", f"{line}{path}\n")


def energy(scrape, level, **labels):
    return scrape.sum(f"tallywatt_{level}_energy_joules_total", zone="package", **labels)


def attributed(scrape):
    return energy(scrape, "node") - scrape.sum("tallywatt_node_unattributed_joules",
                                               zone="package")


class Answers:
    """A node that answers all questions with this document."""

    def __init__(self, document):
        class Answer(answering.Handler):
            def do_GET(self):
                self.answer(json.dumps(document).encode())
        self.server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
        self.address = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Jobs(Case):
    def collect(self, *args, meters=("--meters", "fake")):
        os.chmod(self.dir, 0o755)
        return self.start_http("tw-collector", *meters,
                               *(["--filter=no"] if sanitized() else []), *args)

    def check(self, layout):
        machine = Shared(self.path("machine"), layout)
        daemon = self.collect("--interval", f"{INTERVAL_MS}ms", "--bpf", "off", *machine.args)
        watched = Watched("jobs", daemon, machine, INTERVAL_MS)
        watched.rest()
        for loads in PHASES:
            for _ in range(3):
                watched.step(loads)
        now = watched.rest()
        of = {job: energy(now, "job", job_id=job) for job in JOBS}
        self.assertAlmostEqual(sum(of.values()), attributed(now), 5)
        for job, parts in JOBS.items():
            # The energy of a tick follows CPU time: see test_collector_power.
            self.assertAlmostEqual(
                now.sum("tallywatt_job_cpu_seconds_total", job_id=job),
                sum(3 * loads[i] for loads in PHASES for i in parts) * INTERVAL_MS / 1000, 6)
            self.assertAlmostEqual(
                of[job], sum(energy(now, "cgroup", cgroup=layout[i]) for i in parts), 5)
            self.assertGreater(of[job], 0)
        steps = [energy(now, "step", job_id="12", step_id=step) for step in ("batch", "0")]
        self.assertGreater(min(steps), 0)
        self.assertAlmostEqual(sum(steps), of["12"], 5)
        return daemon, of

    def test_jobs_and_the_rest_add_up_to_the_node_with_cgroups_v1(self):
        daemon, of = self.check(V1)
        self.assertEqual({has["user_id"] for has in
                          Scrape(daemon).labels("tallywatt_step_cpu_seconds_total")},
                         {"1000", "1001"})
        url = f"http://{daemon.address}"
        done = run_tallywatt("top", "--url", url, "--level", "job", "--once", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run_tallywatt("top", "--url", url, "--level", "step", "--once")
        self.assertIn("step batch  user 1000", done.stdout.decode())
        answer = json.loads(call(daemon, "GET", "/api/v1/power?level=job").body)
        [job] = [w for w in answer["workloads"] if w["job_id"] == "13"]
        [package] = [z for z in job["zones"] if z["zone"] == "package"]
        self.assertAlmostEqual(package["dynamic_joules"] + package["idle_joules"], of["13"], 4)

    def test_jobs_and_the_rest_add_up_to_the_node_with_cgroups_v2(self):
        self.check(V2)

    def command(self, name, text):
        write(self.path("bin", name), f"#!/bin/sh\n{text}\n")
        os.chmod(self.path("bin", name), 0o755)

    def stored(self, job, *nodes, **more):
        """What the epilog stores for a job of these collectors. more: other variables of the job."""
        comment = self.write("comment", "")
        self.command("scontrol", "echo " + " ".join(node.address.split(":")[1] for node in nodes))
        self.command("sacctmgr", f"for last; do :; done; echo \"$last\" >> {comment}")
        subprocess.run([os.path.join(ROOT, "etc/slurm/tallywatt-epilog")], check=True, env={
            "PATH": os.pathsep.join((self.path("bin"), os.environ["PATH"])), "SLURM_JOB_ID": job,
            "TALLYWATT_URL": "http://127.0.0.1:%s", "TALLYWATT_WAIT_S": "0", **more})
        wait_until(lambda: os.path.getsize(comment) > 0, "it is stored")
        with open(comment, encoding="ascii") as f:
            return f.read().strip()

    def test_the_epilog_stores_the_energy_that_is_known_and_no_zero(self):
        for tool in ("curl", "jq"):
            need(tool, shutil.which(tool))
        machine = Shared(self.path("machine"), V2)
        args = ("--interval", f"{INTERVAL_MS}ms", "--bpf", "off", *machine.args)
        self.command("inlet", "while :; do echo 90; sleep 0.05; done")
        inlet = self.collect(*args, meters=("--meter-command", self.path("bin/inlet"),
                                            "--meter-interval", "100ms", "--shipped-models", ""))
        watched = Watched("jobs", inlet, machine, INTERVAL_MS)
        wait_until(lambda: list(Scrape(inlet).power()) == ["platform"], "the inlet is read")
        watched.step([0.4] * 4)
        of = watched.rest().sum("tallywatt_job_energy_joules_total", job_id="12", zone="platform")
        self.assertGreater(of, 0)
        self.assertEqual(self.stored("12", inlet),
                         f"AdminComment=energy_joules={of:.3f} energy_nodes=1/1")
        unmetered = self.collect(*args, meters=("--shipped-models", ""))
        seen = Watched("unmetered", unmetered, machine, INTERVAL_MS)
        seen.step([0.4] * 4)
        seen.rest()
        self.assertRegex(self.stored("13", inlet, unmetered),
                         r"^AdminComment=energy_joules=[0-9.]+ energy_nodes=1/2$")
        for job in ("13", "99"):
            self.assertEqual(self.stored(job, unmetered), "AdminComment=energy_nodes=0/1")

    def test_the_epilog_takes_numbers_and_no_words(self):
        """Names of the user's choice, and a node whose collector says what it likes."""
        for tool in ("curl", "jq"):
            need(tool, shutil.which(tool))
        hurt = self.path("hurt")
        word = f"$(touch {hurt})`touch {hurt}`;touch {hurt}\n'\"%s%n * energy 7"
        zones = [("package", 2.5, 1), ("dram", 0.5, 0)]

        def job(job_id, joules=None, ended=True):
            return {"job_id": job_id, "ended": ended, "job_name": word, "zones": [
                {"zone": zone, "dynamic_joules": dynamic if joules is None else joules,
                 "idle_joules": "" if isinstance(joules, str) else idle}
                for zone, dynamic, idle in zones]}
        honest = job("12")
        cases = (
            ([job(word), honest, job("12 "), job(12, 5e9)], "energy_joules=4.000 energy_nodes=1/1"),
            ([job("12", word)], "energy_nodes=0/1"), ([job("12", "1e9")], "energy_nodes=0/1"),
            ([job("12", [7])], "energy_nodes=0/1"),
            ([job("12", ended=word)], "energy_joules=4.000 energy_nodes=1/1"),
            (word, "energy_nodes=0/1"),
            ([honest, honest], "energy_joules=4.000 energy_nodes=1/1"))
        for workloads, wanted in cases:
            with Answers({"sum": ["package", "dram"], "workloads": workloads}) as node:
                stored = self.stored("12", node, SLURM_JOB_NAME=word, SLURM_JOB_PARTITION=word,
                                     SLURM_JOB_USER=word, SLURM_JOB_ACCOUNT=word)
            self.assertEqual(stored, f"AdminComment={wanted}", workloads)
        self.assertFalse(os.path.exists(hurt))

    def cgroup(self, path):
        """A cgroup of v1's cpuacct; the test removes those above it."""
        try:
            os.makedirs(path)
        except OSError:
            need("cgroups", False)

    def run_job(self, top, job):
        """A job of 0.2 s, whose cgroups are removed at its end."""
        path = f"{top}/uid_1000/job_{job}/step_batch"
        self.cgroup(path)

        def enter():
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as f:
                f.write("0")
        subprocess.run(["/usr/bin/python3", "-c", "import time\n"
                        "while time.process_time() < 0.2: pass"], check=True, preexec_fn=enter)
        for folder in (path, os.path.dirname(path)):
            wait_until(lambda f=folder: removed(f), "the cgroup is empty")

    def test_a_job_that_ends_between_two_ticks_is_not_lost(self):
        need("bpf", bpf_works())
        top = f"/sys/fs/cgroup/cpuacct/slurm-test-{os.getpid()}"
        self.cgroup(f"{top}/uid_1000")
        for folder in (top, f"{top}/uid_1000"):
            self.addCleanup(lambda f=folder: wait_until(lambda: removed(f), "it is empty"))
        daemon = self.collect("--interval", "1s", "--cgroups", "v1", "--levels", "job")
        wait_until(lambda: Scrape(daemon).ticks > 0, "the first tick")

        def seconds():
            return [Scrape(daemon).sum("tallywatt_job_cpu_seconds_total", job_id=str(job))
                    for job in range(1, 6)]
        # The kernel of a virtual machine may hide an exit from BPF.
        for job in range(1, 6):
            self.run_job(top, job)
            before = Scrape(daemon).ticks
            wait_until(lambda before=before: Scrape(daemon).ticks > before + 1, "two ticks")
            if max(seconds()) >= 0.2:
                return
        self.fail(f"CPU time of five jobs of 0.2 s: {seconds()}")


if __name__ == "__main__":
    unittest.main()
