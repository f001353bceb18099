#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training of 64 node types by a job array of a real Slurm: a controller and four nodes on
this machine. One node is killed in the middle. The pipeline must be that of a single training,
byte for byte; wall and CPU seconds by the number of nodes, and the overhead of a unit.

Wants root and Debian's munge, slurmctld, slurmd and slurm-client."""
import filecmp
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import generate_response as generator  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TALLYWATT = os.path.abspath(bench.program("tallywatt"))
TYPES = int(os.environ.get("TYPES", "64"))
SAMPLES = 60
NODES = 4
SHARDS = 16
TRAINERS = "LinearRegressionTrainer,SGDRegressorTrainer,XgboostFitTrainer"
WAIT_S = 600

# Slurm's tasks are no children of ours: each adds its CPU seconds to a file.
METERED = """#!/usr/bin/env python3
import os, resource, subprocess, sys
status = subprocess.run([{program!r}, *sys.argv[1:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open({cpu!r}, "a") as f:
    f.write(f"{{used.ru_utime + used.ru_stime}}\\n")
sys.exit(status)
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    def __init__(self, top):
        self.top = top
        self.daemons = {}
        host = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + NODES)
        os.makedirs(f"{top}/state")
        os.chmod(top, 0o755)
        with open(f"{top}/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f"{top}/munge.key", 0o400)
        nodes = "\n".join(
            f"NodeName=n{i + 1} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1"
            for i, port in enumerate(ports))
        with open(f"{top}/slurm.conf", "w", encoding="ascii") as f:
            f.write(f"""ClusterName=bench
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={control}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={top}/munge.socket
SlurmUser=root
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool-%n
SlurmdPidFile={top}/%n.pid
SlurmctldPidFile={top}/slurmctld.pid
SlurmdLogFile={top}/%n.log
SlurmctldLogFile={top}/slurmctld.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,sched_min_interval=1,bf_interval=1,requeue_delay=1
SelectType=select/cons_tres
ReturnToService=2
SlurmdTimeout=10
JobRequeue=1
MpiDefault=none
MailProg=/bin/true
{nodes}
PartitionName=all Nodes=n[1-{NODES}] Default=YES MaxTime=INFINITE State=UP
""")
        self.env = dict(os.environ, SLURM_CONF=f"{top}/slurm.conf")

    def start(self, name, *command):
        with open(f"{self.top}/{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                start_new_session=True)

    def __enter__(self):
        self.start("munged", "munged", "--foreground", "--force",
                   f"--socket={self.top}/munge.socket", f"--key-file={self.top}/munge.key",
                   f"--pid-file={self.top}/munge.pid", f"--log-file={self.top}/munge.log",
                   f"--seed-file={self.top}/munge.seed")
        bench.wait_until(lambda: os.path.exists(f"{self.top}/munge.socket"), "munged")
        self.start("slurmctld", "slurmctld", "-D", "-f", f"{self.top}/slurm.conf")
        for i in range(NODES):
            self.start_node(i + 1)
        bench.wait_until(lambda: self.nodes().count("idle") == NODES, "the nodes", WAIT_S, 0.2)
        return self

    def __exit__(self, *_):
        for name in [*(f"n{i + 1}" for i in range(NODES)), "slurmctld", "munged"]:
            self.kill(name)

    def start_node(self, i):
        self.start(f"n{i}", "slurmd", "-D", "-N", f"n{i}", "-f", f"{self.top}/slurm.conf")

    def kill(self, name):
        daemon = self.daemons.pop(name, None)
        if daemon is not None:
            daemon.kill()
            daemon.wait()

    def call(self, *command, check=True, **env):
        done = subprocess.run(command, env=dict(self.env, **env), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False, cwd=self.top)
        if check and done.returncode != 0:
            raise bench.Failed(f"{command[0]}: {done.stderr.strip()}")
        return done.stdout

    def nodes(self):
        return self.call("sinfo", "-h", "-N", "-o", "%t", check=False).split()

    def state(self, job):
        """The states of a job's tasks; a job that ended long ago has none."""
        return set(self.call("squeue", "-h", "-r", "-t", "all", "-j", job, "-o", "%T",
                             check=False).split())

    def tasks_of(self, node):
        """Processes of the jobs on a node, and slurmstepd."""
        pids = []
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as f:
                    environ = f.read().split(b"\0")
            except OSError:
                continue
            if f"SLURMD_NODENAME={node}".encode() in environ and any(
                    self.top.encode() in text for text in environ):
                pids.append(int(path.split("/")[2]))
        return pids

    def kill_node(self, i):
        """As a power failure: no daemon says good-bye."""
        self.kill(f"n{i}")
        pids = self.tasks_of(f"n{i}")
        for pid in {parent(p) for p in pids} | set(pids):
            if pid > 1:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        return len(pids)


def parent(pid):
    """The slurmstepd of a task, or 0."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            up = int(f.read().rsplit(")", 1)[1].split()[1])
        with open(f"/proc/{up}/comm", encoding="ascii") as f:
            return up if f.read().startswith("slurmstepd") else 0
    except OSError:
        return 0


def parts_in(folder):
    return len(glob.glob(f"{folder}/*.unit.zip"))


def train(slurm, plan, name, nodes, kill=None):
    """Wall and CPU seconds of the array and the merge; the merged pipeline."""
    parts, merged = f"{slurm.top}/{name}.parts", f"{slurm.top}/{name}.zip"
    cpu = f"{slurm.top}/{name}.cpu"
    metered = f"{slurm.top}/{name}.sh"
    with open(metered, "w", encoding="ascii") as f:
        f.write(METERED.format(program=TALLYWATT, cpu=cpu))
    os.chmod(metered, 0o755)
    start = time.monotonic()
    array, merge = slurm.call(
        f"{ROOT}/etc/slurm/submit", plan, parts, str(SHARDS), "--output", merged,
        TALLYWATT=metered, SBATCH_ARGS="--nodelist=n1 --nodes=1" if nodes == 1 else
        f"--exclude=n[{nodes + 1}-{NODES}]" if nodes < NODES else "").split()
    if kill is not None:
        bench.wait_until(lambda: parts_in(parts) >= kill, "the first parts", WAIT_S)
        bench.wait_until(lambda: slurm.tasks_of(f"n{NODES}"), "a task on the node", WAIT_S,
                         0.001)
        ended = slurm.kill_node(NODES)
        print(f"node n{NODES} killed with {ended} processes of its task, after "
              f"{parts_in(parts)} parts", flush=True)
    bench.wait_until(lambda: not slurm.state(merge) - {"COMPLETED"}, f"job {merge}: "
                     f"{slurm.state(array)}", WAIT_S, 0.2)
    seconds = time.monotonic() - start
    with open(cpu, encoding="ascii") as f:
        used = sum(float(line) for line in f)
    return seconds, used, merged


def main():
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(program) is None:
            sys.exit(f"no {program}: apt-get install munge slurmctld slurmd slurm-client")
    with bench.Scratch() as top:
        names = []
        for seed in range(TYPES):
            machine = generator.Machine(samples=SAMPLES, seed=seed + 1,
                                        name=f"type-{seed:02}")
            path = f"{top}/type-{seed:02}.json"
            with open(path, "w", encoding="utf-8") as f:
                f.write(generator.to_text(generator.make_response(machine)))
            names.append(f"type-{seed:02}={path}")
        options = ["--input", ",".join(names), "--name", "fleet", "--source", "rapl-sysfs",
                   "--group", "BPFOnly", "--trainers", TRAINERS]
        single = bench.Run([TALLYWATT, "train", *options, "--threads", "1", "--output",
                            f"{top}/single.zip"])
        plan = bench.Run([TALLYWATT, "plan", *options, "--output", f"{top}/plan.json"])
        units = TYPES * 2 * len(TRAINERS.split(","))
        print(f"{TYPES} node types, {units} units; {plan.output.splitlines()[-1]}")
        table = bench.Table(("run", -22, "s"), ("wall s", 8, ".1f"), ("CPU s", 8, ".1f"),
                            ("of single", 9, ".2f"))
        table.row("single, one thread", single.seconds, single.cpu_seconds, 1.0)
        table.row("plan", plan.seconds, plan.cpu_seconds,
                  plan.cpu_seconds / single.cpu_seconds)
        goals = bench.Goals()
        with Slurm(f"{top}/slurm") as slurm:
            runs = [("1 node", 1, None), ("2 nodes", 2, None), ("4 nodes", 4, None),
                    ("4 nodes, one killed", 4, units // 4)]
            for name, nodes, kill in runs:
                seconds, cpu, merged = train(slurm, f"{top}/plan.json",
                                             name.replace(" ", "-").replace(",", ""), nodes,
                                             kill)
                table.row(name, seconds, cpu, cpu / single.cpu_seconds)
                same = filecmp.cmp(merged, f"{top}/single.zip", shallow=False)
                goals.at_least(f"{name}: same bytes", int(same), 1)
                if name == "1 node":
                    overhead = (cpu - single.cpu_seconds) / units
        print(f"overhead of a unit: {overhead * 1e3:.1f} ms of CPU time, with the merge")
        goals.exit()


if __name__ == "__main__":
    main()
