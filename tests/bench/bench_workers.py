#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One large node type trained by one process, by 3 workers and by 8: the same linear models,
boosted trees as accurate, the memory of each worker. Then training of a smaller type, with a
worker that is killed at a random time: the pipeline of an undisturbed training, or a failure
of all other workers and nothing published.

MIB=2048 is the size of the responses, in 48 runs of a simulated machine with 36 containers;
each run has other containers. WORKERS=3,8; KILLS=10; SEED=1 draws the victims and times."""
import json
import math
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
import zipfile

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import generate_response as generator  # noqa: E402

LINEAR, BOOSTED = "LinearRegressionTrainer", "XgboostFitTrainer"
MIB = int(os.environ.get("MIB", "2048"))
WORKERS = [int(n) for n in os.environ.get("WORKERS", "3,8").split(",")]
KILLS = int(os.environ.get("KILLS", "10"))
SEED = int(os.environ.get("SEED", "1"))
RUNS = 48
CONTAINERS, STEP_S = 36, 3
SAMPLES_A_MIB = 194  # of a response with that many containers
KILLED_MIB = 12
MARGIN_MIB = 64
PATIENCE_S, HANG_S = 3600, 300  # for a training; after a kill


class Law:
    """Watts that no trainer has as a formula: saturation, stalls, leakage by heat."""

    def __init__(self):
        self.heat = 0.0

    def __call__(self, rates):
        cycles, misses = rates["cpu_cycles"] / 1e10, rates["cache_miss"] / 1e8
        busy = cycles / (1 + 0.08 * cycles)
        work = rates["cpu_instructions"] / 1e10 / (1 + 0.3 * misses)
        package = 40 + 34 * busy + 11 * math.sqrt(busy * work) + self.heat
        self.heat += 0.02 * (0.06 * package - self.heat)
        dram = 5 + 8 * misses ** 0.9
        return {"package": package, "core": package / 2, "uncore": 0.0, "dram": dram,
                "platform": 35 + 1.1 * (package + dram) + 2e-4 * package ** 2}


def generate(task):
    """Write the response of a run; its bytes. Generator and law are of this process."""
    path, number, samples = task
    generator.START_S += number * (samples + 10) * STEP_S
    generator.power_w = Law()
    machine = generator.Machine(CONTAINERS, samples, number + 1, 1.0, STEP_S, "large")
    text = generator.to_text(generator.make_response(machine))
    with open(path, "w", encoding="ascii") as f:
        return f.write(text)


def make_responses(top, mib):
    """Paths in order of time, and their size in MiB. In processes of their own: a child's
    ru_maxrss begins with the peak of the process that started it."""
    samples = max(40, int(mib * SAMPLES_A_MIB / RUNS))
    paths = [f"{top}/{mib}-{i:02}.json" for i in range(RUNS)]
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        sizes = pool.map(generate, [(p, i, samples) for i, p in enumerate(paths)], 1)
    return paths, sum(sizes) / (1 << 20)


def command(paths, group, *more):
    return [bench.program("tallywatt"), "train", "--input", ",".join(paths), "--name", "large",
            "--source", "acpi", "--group", group, "--trainers", f"{LINEAR},{BOOSTED}",
            "--threads", "1", *more]


class Team:
    """Workers of one training, that write to `output`."""

    def __init__(self, count, paths, group, output):
        with socket.create_server(("127.0.0.1", 0)) as s:
            port = s.getsockname()[1]
        self.start = time.monotonic()
        self.errors = [tempfile.TemporaryFile() for _ in range(count)]
        self.procs = [subprocess.Popen(
            command(paths, group, "--output", output, "--worker-wait", "30", "--tracker",
                    f"127.0.0.1:{port}", "--workers", str(count), "--rank", str(rank)),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors[rank])
            for rank in range(count)]
        self.usage = [None] * count

    def ended(self):
        for rank, p in enumerate(self.procs):
            if self.usage[rank] is None:
                pid, status, usage = os.wait4(p.pid, os.WNOHANG)
                if pid != 0:
                    p.returncode, self.usage[rank] = os.waitstatus_to_exitcode(status), usage
        return None not in self.usage

    def wait(self, seconds):
        """Wall seconds since the start. Failed, after killing all, where they do not end."""
        try:
            bench.wait_until(self.ended, "all workers end", seconds, 0.02)
        finally:
            for rank, p in enumerate(self.procs):
                if self.usage[rank] is None:
                    p.kill()
                    p.wait()
        return time.monotonic() - self.start

    def failure(self, rank):
        """The lines of a worker's stderr that are neither progress nor quality."""
        self.errors[rank].seek(0)
        lines = self.errors[rank].read().decode().splitlines()
        return [line for line in lines
                if line.startswith("tallywatt train: ") and " fits, " not in line]


def read_models(path):
    """(output, trainer) -> the metadata and the linear weights, or None."""
    models = {}
    with zipfile.ZipFile(path) as z:
        for name in z.namelist():
            parts = name.split("/")
            if parts[-1] != "metadata.json" or len(parts) != 5:
                continue
            folder = name[:-len(parts[-1])]
            metadata = json.loads(z.read(name))
            weights = json.loads(z.read(folder + "weight.json")) \
                if metadata["trainer"] == LINEAR else None
            models[metadata["output_type"], metadata["trainer"]] = metadata, weights
    return models


def difference(a, b):
    """The largest relative difference of two numbers in the same place."""
    if isinstance(a, dict) and a.keys() == b.keys():
        return max((difference(a[k], b[k]) for k in a), default=0.0)
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return abs(a - b) / max(abs(a), abs(b)) if a != b else 0.0
    return 0.0 if a == b else math.inf


def compare(name, one, many, goals):
    for key, (metadata, weights) in sorted(one.items()):
        other, other_weights = many[key]
        if weights is not None:
            goals.at_most(f"{name}: {key[0]} linear: largest relative difference",
                          difference(weights, other_weights), 1e-9)
        else:
            goals.at_most(f"{name}: {key[0]} boosted: blocked error, of the single's "
                          f"{metadata['mae']} W", other["mae"] / metadata["mae"], 1.01)


def train_large(top, goals):
    paths, mib = make_responses(top, MIB)
    single = bench.Run(command(paths, "Basic", "--output", f"{top}/single.zip"))
    one = read_models(f"{top}/single.zip")
    rows = next(iter(one.values()))[0]["data_rows"]
    print(f"{mib:.0f} MiB of responses, {rows} rows, {len(os.sched_getaffinity(0))} CPUs, "
          f"load {os.getloadavg()[0]:.1f}")
    table = bench.Table(("processes", 9, "d"), ("share MiB", 9, ".1f"),
                        ("peak MiB", 8, ".1f"), ("wall s", 8, ".1f"), ("CPU s", 8, ".1f"),
                        ("largest CPU s", 13, ".1f"))
    table.row(1, mib, single.peak_mib, single.seconds, single.cpu_seconds,
              single.cpu_seconds)
    made = {}
    for count in WORKERS:
        team = Team(count, paths, "Basic", f"{top}/by-{count}.zip")
        seconds = team.wait(PATIENCE_S)
        for rank, p in enumerate(team.procs):
            if p.returncode != 0:
                raise bench.Failed(f"worker {rank}: {p.returncode}: {team.failure(rank)}")
        peak = max(u.ru_maxrss / 1024 for u in team.usage)
        cpu = [u.ru_utime + u.ru_stime for u in team.usage]
        table.row(count, mib / count, peak, seconds, sum(cpu), max(cpu))
        made[count] = peak
    for count, peak in made.items():
        goals.at_most(f"{count} workers: largest peak", peak, mib / count + MARGIN_MIB, "MiB")
        compare(f"{count} workers", one, read_models(f"{top}/by-{count}.zip"), goals)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def judge(team, victim, output, right):
    """Whether the outcome is a right one, and what it was."""
    others = [rank for rank in range(len(team.procs)) if rank != victim]
    statuses = [team.procs[rank].returncode for rank in others]
    if os.path.exists(output):
        return read(output) == right, "published, statuses " + " ".join(map(str, statuses))
    lines = [team.failure(rank) for rank in others]
    return all(s == 1 for s in statuses) and all(len(n) == 1 for n in lines), \
        "failed: " + next((n[0] for n in lines if n), "without a word")


def train_killed(top, goals):
    paths, mib = make_responses(top, KILLED_MIB)
    draw = random.Random(SEED)
    reference = {}
    for count in WORKERS:
        output = f"{top}/right-{count}.zip"
        seconds = Team(count, paths, "CounterOnly", output).wait(PATIENCE_S)
        reference[count] = seconds, read(output)
    print(f"\n{mib:.0f} MiB of responses, a worker killed at a random time")
    table = bench.Table(("workers", 7, "d"), ("victim", 6, "d"), ("at s", 6, ".2f"),
                        ("of s", 6, ".2f"), ("then s", 6, ".2f"), ("outcome", -60, "s"))
    right = 0
    for i in range(KILLS):
        count = WORKERS[i % len(WORKERS)]
        undisturbed, pipeline = reference[count]
        victim, at_s = draw.randrange(count), draw.uniform(0, 1.1 * undisturbed)
        output = f"{top}/killed-{i}.zip"
        team = Team(count, paths, "CounterOnly", output)
        while time.monotonic() - team.start < at_s and not team.ended():
            time.sleep(0.001)
        if team.usage[victim] is None:
            team.procs[victim].kill()
        killed = time.monotonic()
        try:
            team.wait(HANG_S)
            good, outcome = judge(team, victim, output, pipeline)
        except bench.Failed as e:
            good, outcome = False, str(e)
        table.row(count, victim, at_s, undisturbed, time.monotonic() - killed, outcome)
        right += good
    goals.at_least("right pipelines or clear failures", right, KILLS)


def main():
    goals = bench.Goals()
    with bench.Scratch() as top:
        train_large(top, goals)
        train_killed(top, goals)
    goals.exit()


if __name__ == "__main__":
    main()
