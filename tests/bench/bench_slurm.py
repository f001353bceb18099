#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy of jobs on a real Slurm: two jobs share a node, and a short one ends between two ticks.

Starts munged, MariaDB, slurmdbd, slurmctld, a slurmd with cgroups v1, and tw-collector with the
fake meter, all in a folder of its own. Needs root and the packages of Debian:
munge slurmctld slurmd slurm-client slurmdbd mariadb-server-core curl jq.
"""
import os
import re
import shutil
import socket
import subprocess
import tempfile
import urllib.request

import bench
from bench import program, wait_until

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
ZONES = ("package", "dram")
EPILOG = os.path.join(ROOT, "etc/slurm/tallywatt-epilog")
BURN = "import sys, time\nwhile time.process_time() < float(sys.argv[1]): pass\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Slurm:
    """A cluster of one node, n1, of 8 CPUs."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="tw-slurm-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self.started = []
        self.ports = {name: free_port() for name in ("ctld", "d", "dbd", "sql", "collector")}
        self.env = dict(os.environ, SLURM_CONF=self.path("slurm.conf"))

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="ascii") as f:
            f.write(text)
        os.chmod(self.path(name), mode)

    def start(self, name, *args, env=None):
        with open(self.path(f"{name}.out"), "wb") as out:
            self.started.append(subprocess.Popen(args, stdout=out, stderr=out, env=env or self.env,
                                                 stdin=subprocess.DEVNULL))

    def stop(self):
        for proc in reversed(self.started):
            proc.terminate()
            try:
                proc.wait(30)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
        shutil.rmtree(self.dir)

    def run(self, *args):
        done = subprocess.run(args, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode() if done.returncode == 0 else None

    def configure(self):
        ports, folder = self.ports, self.dir
        host = socket.gethostname().split(".")[0]
        with open(self.path("munge.key"), "wb") as f:
            f.write(os.urandom(1024))
        os.chmod(self.path("munge.key"), 0o400)
        self.write("epilog", f"#!/bin/sh\nexport SLURM_CONF={folder}/slurm.conf "
                   f"TALLYWATT_URL='http://127.0.0.1:{ports['collector']}'\n"
                   f"exec {EPILOG}\n", 0o755)
        auth = f"AuthType=auth/munge\nAuthInfo=socket={folder}/munge.socket\n"
        self.write("slurmdbd.conf", auth + f"""DbdHost=localhost
DbdPort={ports['dbd']}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={ports['sql']}
StorageUser=root
StorageLoc=slurm
PidFile={folder}/slurmdbd.pid
""", 0o600)
        self.write("cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")
        self.write("slurm.conf", auth + f"""ClusterName=tw
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports['ctld']}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/cgroup
TaskPlugin=task/cgroup
JobAcctGatherType=jobacct_gather/cgroup
JobAcctGatherFrequency=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={ports['dbd']}
AccountingStoragePass={folder}/munge.socket
EpilogSlurmctld={folder}/epilog
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports['d']} CPUs=8
PartitionName=all Nodes=n1 Default=YES OverSubscribe=NO
""")
        for name in ("state", "spool", "sql"):
            os.mkdir(self.path(name))

    def begin(self):
        self.configure()
        self.start("munged", "munged", "--foreground", "--force", "--key-file",
                   self.path("munge.key"), "--socket", self.path("munge.socket"), "--pid-file",
                   self.path("munge.pid"), "--log-file", self.path("munge.log"),
                   "--seed-file", self.path("munge.seed"))
        wait_until(lambda: os.path.exists(self.path("munge.socket")), "munged listens")
        # mariadb-server-core cannot make tables of grants.
        self.start("mariadbd", "mariadbd", "--no-defaults", "--user=root", "--skip-grant-tables",
                   f"--datadir={self.path('sql')}", f"--socket={self.path('sql.socket')}",
                   f"--port={self.ports['sql']}", "--bind-address=127.0.0.1",
                   f"--pid-file={self.path('sql.pid')}")
        wait_until(lambda: os.path.exists(self.path("sql.socket")), "MariaDB listens")
        # slurmdbd reads its configuration from the folder of SLURM_CONF.
        self.start("slurmdbd", "slurmdbd", "-D")
        wait_until(lambda: self.run("sacctmgr", "-i", "add", "cluster", "tw") is not None,
                   "slurmdbd answers")
        self.start("slurmctld", "slurmctld", "-D", "-c")
        self.start("slurmd", "slurmd", "-D", "-N", "n1", "-f", self.path("slurm.conf"))
        wait_until(lambda: "idle" in (self.run("sinfo", "-h", "-o", "%T") or ""), "n1 is idle")

    def collect(self):
        self.start("tw-collector", program("tw-collector"), "--listen",
                   f"127.0.0.1:{self.ports['collector']}", "--meters", "fake", "--user", "root",
                   "--interval", "2s", "--top", "0", env=dict(os.environ))
        wait_until(lambda: self.metrics(), "the collector answers")

    def metrics(self):
        """The samples of one scrape: (name, labels) -> value."""
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{self.ports['collector']}/metrics", timeout=10) as answer:
                text = answer.read().decode()
        except OSError:
            return None
        found = []
        for line in text.splitlines():
            m = re.match(r"(\w+)\{(.*)\} ([0-9.e+-]+)$", line)
            if m:
                found.append((m[1], dict(re.findall(r'(\w+)="([^"]*)"', m[2])), float(m[3])))
        return found

    def submit(self, *args, script):
        self.write("job.sh", "#!/bin/sh\n" + script, 0o755)
        out = self.run("sbatch", "--parsable", "-o", "/dev/null", *args, self.path("job.sh"))
        if not out:
            raise SystemExit("bench_slurm: sbatch failed")
        return out.strip()


def total(samples, name, **labels):
    return sum(v for n, has, v in samples
               if n == name and all(has.get(k) == w for k, w in labels.items()))


def report(s, jobs, goals):
    samples = s.metrics()
    node = sum(total(samples, "tallywatt_node_energy_joules_total", zone=z) -
               total(samples, "tallywatt_node_unattributed_joules", zone=z) for z in ZONES)
    of = {job: sum(total(samples, "tallywatt_job_energy_joules_total", job_id=job, zone=z)
                   for z in ZONES) for job in [*jobs, "other"]}
    print(f"node {node:.3f} J; jobs and rest {sum(of.values()):.3f} J, off by "
          f"{100 * abs(sum(of.values()) - node) / node:.6f} %")
    cpu_all = sum(v for n, _, v in samples if n == "tallywatt_job_cpu_seconds_total")
    worst = 0.0
    for job, (law_s, what) in jobs.items():
        cpu = total(samples, "tallywatt_job_cpu_seconds_total", job_id=job)
        steps = {has["step_id"]: round(v, 2) for n, has, v in samples
                 if n == "tallywatt_step_cpu_seconds_total" and has["job_id"] == job}
        worst = max(worst, abs(cpu / law_s - 1))
        users = {has["user_id"] for n, has, _ in samples
                 if n == "tallywatt_job_cpu_seconds_total" and has["job_id"] == job}
        print(f"job {job} ({what}): {of[job]:.3f} J, {cpu:.2f} s of CPU time, law {law_s} s "
              f"({100 * (cpu / law_s - 1):+.1f} %), user {users}, steps {steps}")
        share = of[job] / sum(of.values()) / (cpu / cpu_all)
        worst = max(worst, abs(share - 1))
    goals.at_most("jobs off by", 100 * worst, 5, "%")
    goals.right("the sum of the jobs is the node's energy",
                abs(sum(of.values()) / node - 1) < 0.001)
    return of


def main():
    bench.need_root()
    bench.need_programs("munged", "slurmctld", "slurmd", "sbatch", "slurmdbd", "jq")
    goals = bench.Goals()
    s = Slurm()
    try:
        s.begin()
        s.collect()
        burn = s.path("burn.py")
        s.write("burn.py", BURN)
        run = f"/usr/bin/python3 {burn}"
        jobs = {
            s.submit("-n2", script=f"{run} 6\nsrun -n1 --overlap {run} 4\n"): (10, "two steps"),
            s.submit("-n1", "--uid=65534", script=f"{run} 5\n"): (5, "another user"),
            s.submit("-n1", script=f"{run} 0.4\n"): (0.4, "ends between two ticks"),
        }
        array = s.submit("-n1", "--array=0-1", script=f"{run} 2\n")
        wait_until(lambda: s.run("squeue", "-h") == "", "all jobs have ended", 300)

        def stored():
            """{job: (id, comment)} once all jobs have one."""
            text = s.run("sacct", "-XnP", "-S", "now-1hour", "-o", "JobIDRaw,JobID,AdminComment")
            rows = {raw: (job, comment) for raw, job, comment in
                    (line.split("|") for line in (text or "").splitlines())}
            return (len(rows) == len(jobs) + 2 and
                    all("energy_joules" in comment for _, comment in rows.values()) and rows)
        rows = wait_until(stored, "the energy is in the accounting", 120)
        jobs.update({raw: (2, f"task {job}") for raw, (job, _) in rows.items()
                     if job.startswith(f"{array}_")})
        of = report(s, jobs, goals)
        print(s.run("sacct", "-XP", "-S", "now-1hour", "-o", "JobID,User,CPUTime,AdminComment"))
        for job in jobs:
            told = float(re.search(r"energy_joules=([0-9.]+)", rows[job][1])[1])
            print(f"job {job}: accounting {told:.3f} J, collector {of[job]:.3f} J")
            goals.right(f"job {job}: the accounting has the collector's energy",
                        abs(told - of[job]) <= 0.001 * of[job])
        goals.exit()
    finally:
        s.stop()


if __name__ == "__main__":
    main()
