#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seconds to train a whole recorded response: the ten old trainers, every valid group;
and AutoTrainer, a group with counters. Both validate on blocked folds. The time of each stage
is the median of the runs."""
import re

import bench

RESPONSE = "data/prometheus/workload-0.6.json"
TRAINERS = ("ExponentialRegressionTrainer", "GradientBoostingRegressorTrainer",
            "KNeighborsRegressorTrainer", "LinearRegressionTrainer",
            "LogarithmicRegressionTrainer", "LogisticRegressionTrainer",
            "PolynomialRegressionTrainer", "SGDRegressorTrainer",
            "SVRRegressorTrainer", "XgboostFitTrainer")
if bench.QUICK:
    TRAINERS = ("LinearRegressionTrainer", "LogisticRegressionTrainer")
AUTO = ("--trainers", bench.quick("AutoTrainer", "LinearRegressionTrainer"), "--group",
        "CounterOnly")
RUNS = bench.quick(5, 1)
AUTO_GOAL_S = 4.0  # on two CPUs
GOAL_S = 4.0  # 200 models, each with the errors that it expects: 20 ms a model


def train(response, output, *trainers):
    run = bench.Run([bench.program("tallywatt"), "train", "--input", response,
                     "--name", "bench", *trainers, "--output", output])
    *rows, times = run.output.splitlines()
    return run, rows[1:], dict(re.findall(r"([a-z ]+?) ([0-9.]+) ms", times))


def main():
    response = bench.shared(RESPONSE)
    runs, stages, auto = [], [], []
    with bench.Scratch() as scratch:
        for _ in range(RUNS):
            run, rows, times = train(response, f"{scratch}/pipeline.zip", "--trainers",
                                     ",".join(TRAINERS))
            runs.append(run)
            auto.append(train(response, f"{scratch}/auto.zip", *AUTO)[0])
            stages.append({name.strip(): float(ms) for name, ms in times.items()})
    failed = [row for row in rows if "no model:" in row]
    print(f"{RESPONSE}: {len(rows)} rows of results, {len(failed)} without a model; "
          f"medians of {RUNS} runs")
    table = bench.Table(("stage", -18, "s"), ("ms", 9, ".1f"))
    for name in stages[0]:
        table.row(name, bench.median(s[name] for s in stages))
    seconds = bench.median(r.seconds for r in runs)
    table.row("process", seconds * 1e3)
    table.row("processor time", bench.median(r.cpu_seconds for r in runs) * 1e3)
    goals = bench.Goals()
    goals.note("processor time", bench.median(r.cpu_seconds for r in runs), "s")
    goals.at_most("the whole, ten trainers", seconds, GOAL_S, "s")
    what = "AutoTrainer, two sources and outputs"
    goals.note(f"{what}, processor time", bench.median(r.cpu_seconds for r in auto), "s")
    goals.at_most(what, bench.median(r.seconds for r in auto), AUTO_GOAL_S, "s")
    goals.right(f"rows without a model: {len(failed)}", not failed)
    goals.exit()


if __name__ == "__main__":
    main()
