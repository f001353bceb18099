#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The energy of two Slurm jobs that share a node, under the fake meter: the jobs and the rest add
up to the node, and each job has its part by CPU time. Needs cgroups of v1."""
import glob
import os
import re
import subprocess
import time
import urllib.request

import bench
from slurm import WAIT_S, Slurm, free_ports, need_slurm

SECONDS = float(os.environ.get("DURATION", "30"))
SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def joules(url):
    """(level, labels, joules) of the package."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        text = answer.read().decode()
    found = []
    for line in text.splitlines():
        match = SAMPLE.match(line)
        level = match and re.fullmatch(
            r"tallywatt_(\w+)_(energy_joules_total|unattributed_joules)", match[1])
        if level:
            labels = dict(LABEL.findall(match[2] or ""))
            if labels.get("zone") == "package":
                name = level[1] if level[2].startswith("energy") else "waiting"
                found.append((name, labels, float(match[3])))
    return found


def cpu_s(job):
    """CPU time of a job by the kernel's accounting."""
    total = 0
    for path in glob.glob(f"/sys/fs/cgroup/cpuacct/slurm*/uid_*/job_{job}/cpuacct.usage"):
        with open(path, encoding="ascii") as f:
            total += int(f.read())
    return total / 1e9


def dynamic(samples, job):
    return sum(v for level, has, v in samples if level == "container" and
               has.get("slurm_job") == job and has["mode"] == "dynamic")


def total(samples, level, **labels):
    return sum(v for name, has, v in samples
               if name == level and all(has.get(k) == w for k, w in labels.items()))


def main():
    need_slurm()
    goals = bench.Goals()
    with bench.Scratch() as top, Slurm(f"{top}/slurm", 1, 4, cgroups=True) as slurm:
        port = free_ports(1)[0]
        collector = subprocess.Popen(
            [bench.program("tw-collector"), "--meters", "fake", "--cgroups", "v1", "--interval",
             "1s", "--user", "root", "--listen", f"127.0.0.1:{port}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}/metrics"
            jobs = [slurm.call("sbatch", "--parsable", f"--ntasks={tasks}", "--output=/dev/null",
                               "--wrap", f"srun --ntasks={tasks} sh -c 'while :; do :; done'"
                               ).strip() for tasks in (1, 2)]
            bench.wait_until(lambda: all(cpu_s(job) > 0.5 for job in jobs), "both jobs", WAIT_S)
            before, used = joules(url), [cpu_s(job) for job in jobs]
            time.sleep(SECONDS)
            after, used = joules(url), [cpu_s(job) - s for job, s in zip(jobs, used)]
        finally:
            collector.terminate()
            collector.wait()
        slurm.call("scancel", *jobs)
        bench.wait_until(lambda: slurm.nodes() == ["idle"], "the jobs to end", WAIT_S, 0.2)
    table = bench.Table(("", -22, "s"), ("CPU s", 8, ".2f"), ("dynamic J", 10, ".2f"),
                        ("J / CPU s", 10, ".3f"))
    law = []
    for job, cpu in zip(jobs, used):
        energy = dynamic(after, job) - dynamic(before, job)
        law.append(energy / cpu)
        table.row(f"job {job}", cpu, energy, energy / cpu)
    steps = sorted(has["container_id"] for level, has, _ in after
                   if level == "container" and has.get("slurm_job") in jobs
                   and has["mode"] == "dynamic")
    print("steps:", ", ".join(steps))
    by_job = sum(total(after, "container", slurm_job=job) for job in jobs)
    rest = sum(v for level, has, v in after if level == "cgroup" and not any(
        f"/job_{job}" in has.get("cgroup", "") for job in jobs))
    node = total(after, "node")
    goals.at_most("jobs and rest against the node, %",
                  abs(by_job + rest + total(after, "waiting") - node) / node * 100, 0.1)
    goals.at_most("J / CPU s of one job against the other, %",
                  abs(law[0] / law[1] - 1) * 100, 5)
    goals.exit()


if __name__ == "__main__":
    main()
