#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training of 64 node types by a job array of a real Slurm: a controller and four nodes on
this machine. One node is killed in the middle. The pipeline must be that of a single training,
byte for byte; wall and CPU seconds by the number of nodes, and the overhead of a unit.

Wants root and Debian's munge, slurmctld, slurmd and slurm-client."""
import filecmp
import glob
import os
import sys
import time

import bench
from slurm_cluster import WAIT_S, Slurm, need_slurm

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import generate_response as generator  # noqa: E402

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
TALLYWATT = os.path.abspath(bench.program("tallywatt"))
TYPES = int(os.environ.get("TYPES", bench.quick("64", "4")))
SAMPLES = 60
NODES = 4
SHARDS = 16
TRAINERS = "LinearRegressionTrainer,SGDRegressorTrainer,XgboostFitTrainer"

# Slurm's tasks are no children of ours: each adds its CPU seconds to a file.
METERED = """#!/usr/bin/env python3
import os, resource, subprocess, sys
status = subprocess.run([{program!r}, *sys.argv[1:]]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open({cpu!r}, "a") as f:
    f.write(f"{{used.ru_utime + used.ru_stime}}\\n")
sys.exit(status)
"""


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
    need_slurm()
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
        with Slurm(f"{top}/slurm", NODES) as slurm:
            runs = [("1 node", 1, None), ("2 nodes", 2, None), ("4 nodes", 4, None),
                    ("4 nodes, one killed", 4, units // 4)]
            for name, nodes, kill in runs:
                seconds, cpu, merged = train(slurm, f"{top}/plan.json",
                                             name.replace(" ", "-").replace(",", ""), nodes,
                                             kill)
                table.row(name, seconds, cpu, cpu / single.cpu_seconds)
                same = filecmp.cmp(merged, f"{top}/single.zip", shallow=False)
                goals.right(f"{name}: the bytes of a single training", same)
                if name == "1 node":
                    overhead = (cpu - single.cpu_seconds) / units
        print(f"overhead of a unit: {overhead * 1e3:.1f} ms of CPU time, with the merge")
        goals.exit()


if __name__ == "__main__":
    main()
