#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error of AutoTrainer in virtual machines: each recorded run of a guest is estimated by
a model that tallywatt trains on the other runs. Beside it are a straight line on the
guest's CPU use, and the estimate that Kepler made in the guest at that time.

The watts are the host's RAPL share of the guest, as Kepler gives it."""
import csv
import glob
import json
import os

import bench

TRAINER = bench.quick("AutoTrainer", "LinearRegressionTrainer")
STEP_S, WINDOW_S = 3, 36
RATIO = 0.85
LOW_SHARE = 0.05  # the rows with the least CPU use
MAPE_FLOOR_W = 1


def read(path):
    with open(path, newline="", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    return {"name": os.path.basename(path).removesuffix(".csv").partition("-")[2],
            "time": [int(r["unix_s"]) for r in rows],
            "cpu": [float(r["guest_cpu_s_per_s"]) for r in rows],
            "watts": [float(r["host_vm_package_w"]) for r in rows],
            "kepler": [float(r["kepler_estimate_package_w"]) for r in rows]}


def solve(a, b):
    """a x = b by Gauss's method with the largest pivot."""
    n = len(b)
    rows = [list(row) + [v] for row, v in zip(a, b)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [u - factor * v for u, v in zip(rows[k], rows[i])]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][k] * x[k] for k in range(i + 1, n))) / rows[i][i]
    return x


def windows(run):
    """1 and the CPU use of each sample of the window; before the run, of its first."""
    return [[1.0] + [run["cpu"][max(0, i - k)] for k in range(WINDOW_S // STEP_S)]
            for i in range(len(run["cpu"]))]


def line(run, others):
    """Predictions of the straight line of least squares on the window."""
    x = [row for other in others for row in windows(other)]
    y = [w for other in others for w in other["watts"]]
    n = len(x[0])
    a = [[sum(row[i] * row[k] for row in x) for k in range(n)] for i in range(n)]
    weight = solve(a, [sum(row[i] * w for row, w in zip(x, y)) for i in range(n)])
    return [sum(u * v for u, v in zip(row, weight)) for row in windows(run)]


def write(path, runs):
    with open(path, "w", encoding="ascii") as f:
        f.write("timestamp,bpf_cpu_time_ms,package_power\n")
        for run in sorted(runs, key=lambda r: r["time"][0]):
            for t, cpu, watts in zip(run["time"], run["cpu"], run["watts"]):
                f.write(f"{t},{1000 * cpu:.1f},{watts}\n")


def train(scratch, others):
    """The directory of AutoTrainer's model."""
    write(f"{scratch}/train.csv", others)
    bench.Run([bench.program("tallywatt"), "train", "--csv",
               f"BPFOnly={scratch}/train.csv", "--source", "rapl-sysfs", "--name", "vm",
               "--abs-trainers", TRAINER, "--dyn-trainers",
               "LinearRegressionTrainer", "--model-db", f"{scratch}/db", "--replace"])
    return f"{scratch}/db/vm/rapl-sysfs/AbsPower/BPFOnly/{TRAINER}_0"


def figures(run, model, scratch):
    write(f"{scratch}/test.csv", [run])
    out = bench.Run([bench.program("tallywatt"), "validate", "--model", model, "--input",
                     f"{scratch}/test.csv", "--json"]).output
    return json.loads(out)[0]["components"]["package"]


def mae(predicted, run):
    return sum(abs(p - w) for p, w in zip(predicted, run["watts"])) / len(predicted)


def mape(predicted, run):
    errors = [abs(p - w) / w for p, w in zip(predicted, run["watts"]) if w > MAPE_FLOOR_W]
    return 100 * sum(errors) / len(errors)


def low_bias(predicted, run):
    rows = sorted(range(len(predicted)), key=lambda i: run["cpu"][i])
    rows = rows[:max(1, round(LOW_SHARE * len(rows)))]
    return sum(predicted[i] - run["watts"][i] for i in rows) / len(rows)


def main():
    runs = [read(path) for path in
            sorted(glob.glob(os.path.join(bench.shared("data/vm"), "*.csv")))][:bench.quick(None, 2)]
    print(f"{len(runs)} runs, each left out in turn; MAE in W, MAPE in %, bias at the "
          "lowest load in W")
    table = bench.Table(("run left out", -24, "s"), ("rows", 5, "d"),
                        ("line", 6, ".2f"), ("MAE", 6, ".2f"), ("ratio", 6, ".3f"),
                        ("MAPE", 6, ".1f"), ("low", 6, ".1f"), ("Kepler", 7, ".2f"),
                        ("MAPE", 6, ".1f"), ("low", 6, ".1f"))
    sums = [0.0] * 3
    for run in runs:
        others = [r for r in runs if r is not run]
        with bench.Scratch() as scratch:
            ours = figures(run, train(scratch, others), scratch)
        straight = mae(line(run, others), run)
        kepler = run["kepler"]
        table.row(run["name"], len(run["time"]), straight, ours["mae"],
                  ours["mae"] / straight, ours["mape"], ours["idle_bias"],
                  mae(kepler, run), mape(kepler, run), low_bias(kepler, run))
        sums = [s + v / len(runs) for s, v in
                zip(sums, (straight, ours["mae"], mae(kepler, run)))]
    print(f"means: line {sums[0]:.2f} W, AutoTrainer {sums[1]:.2f} W, Kepler "
          f"{sums[2]:.2f} W")
    goals = bench.Goals()
    goals.at_most("mean error, ratio to that of the line", sums[1] / sums[0], RATIO)
    goals.exit()


if __name__ == "__main__":
    main()
