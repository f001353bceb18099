# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine, for benches: wants root and Debian's munge, slurmctld, slurmd and
slurm-client."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import sys

import bench

WAIT_S = 600


def need_slurm():
    for program in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(program) is None:
            bench.skip(f"no {program}: apt-get install munge slurmctld slurmd slurm-client", "slurm")


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Slurm:
    """A controller and nodes of one CPU below the new directory top."""

    def __init__(self, top, nodes):
        self.top = top
        self.count = nodes
        self.daemons = {}
        host = socket.gethostname().split(".")[0]
        control, *ports = free_ports(1 + nodes)
        os.makedirs(f"{top}/state")
        os.chmod(top, 0o755)
        with open(f"{top}/munge.key", "wb") as f:
            f.write(os.urandom(128))
        os.chmod(f"{top}/munge.key", 0o400)
        lines = "\n".join(
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
SelectTypeParameters=CR_CPU
ReturnToService=2
SlurmdTimeout=10
JobRequeue=1
MpiDefault=none
MailProg=/bin/true
{lines}
PartitionName=all Nodes=n[1-{nodes}] Default=YES MaxTime=INFINITE State=UP
""")
        self.env = dict(os.environ, SLURM_CONF=f"{top}/slurm.conf")

    def start(self, name, *command):
        with open(f"{self.top}/{name}.out", "ab") as log:
            self.daemons[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.env,
                start_new_session=True)

    def __enter__(self):
        # An end by timeout(1), too, stops the daemons.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        self.start("munged", "munged", "--foreground", "--force",
                   f"--socket={self.top}/munge.socket", f"--key-file={self.top}/munge.key",
                   f"--pid-file={self.top}/munge.pid", f"--log-file={self.top}/munge.log",
                   f"--seed-file={self.top}/munge.seed")
        bench.wait_until(lambda: os.path.exists(f"{self.top}/munge.socket"), "munged")
        self.start("slurmctld", "slurmctld", "-D", "-f", f"{self.top}/slurm.conf")
        for i in range(self.count):
            self.start_node(i + 1)
        bench.wait_until(lambda: self.nodes().count("idle") == self.count, "the nodes", WAIT_S, 0.2)
        return self

    def __exit__(self, *_):
        for name in [*(f"n{i + 1}" for i in range(self.count)), "slurmctld", "munged"]:
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
