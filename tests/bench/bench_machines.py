#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the prior for machines that it was not trained on, against its goals."""
import os
import subprocess
import sys

import bench

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# pylint: disable=wrong-import-position
import with_numpy

with_numpy.restart()
try:
    import machine_table
    import numpy as np
    import prior_learning
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

# protocol, method: all, idle, full, p90 of machines
GOALS = {
    ("processor", "system"): (9.5, 13.5, 9, 20),
    ("2016", "system"): (13.5, 24, 12, None),
    ("processor", "name"): (14.5, 21, 11.5, None),
}
CALIBRATED = {"system,idle,full": 3, "system,half": 3.5}
COVERAGE = 86, 94
QUICK_STEP = 9  # each so many machines of the data
FOLDS = 12
SPLIT_YEAR = 2016
VIEWS = [kind[0] for kind in prior_learning.KINDS] if np else []


def main():
    if np is None:
        bench.skip("no numpy", "numpy")
    data = bench.shared("data/specpower/specpower.csv")
    with bench.Scratch() as scratch:
        if bench.QUICK:
            with open(data, encoding="utf-8") as f:
                lines = f.readlines()
            data = os.path.join(scratch, "few.csv")
            with open(data, "w", encoding="utf-8") as out:
                out.writelines(lines[:1] + lines[1::QUICK_STEP])
        facts = bench.program("model-db/learning/machine_facts")
        plan = write_plan(machine_table.read_table(data, facts), scratch)
        judge(plan)


def write_plan(table, scratch):
    """Priors without the machines that are judged by them: tests/bench/machine_figures.h."""
    lines = []

    def save(prior, name):
        path = os.path.join(scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(prior_learning.text_of(prior))
        return path

    def add(protocol, learned, conditioned, judged):
        numbers = " ".join(map(str, np.flatnonzero(judged)))
        lines.append(f"{protocol} {learned} {conditioned} {numbers}\n")

    prior = prior_learning.Prior(table, VIEWS)
    prior_learning.learn(prior, table.year <= SPLIT_YEAR)
    path = save(prior, "2016.json")
    add("2016", path, path, table.year > SPLIT_YEAR)
    # Neighbours in the table fall apart.
    fold_of = table.processor * 7919 % FOLDS
    for fold in range(FOLDS):
        prior_learning.learn(prior, fold_of != fold)
        learned = save(prior, f"fold-{fold}.json")
        for processor in np.unique(table.processor[fold_of == fold]):
            judged = table.processor == processor
            prior_learning.condition(prior, ~judged)
            add("processor", learned, save(prior, f"without-{processor}.json"), judged)
    path = os.path.join(scratch, "plan")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def judge(plan):
    # Boosting only where the build has XGBoost.
    programs = [p for p in (os.path.join(bench.HELPERS, name)
                            for name in ("machines_boosted", "machines")) if os.path.exists(p)]
    table = bench.Table(("judged by", -10, ""), ("known", -16, ""), ("machines", 8, "d"),
                        ("all %", 6, ".2f"), ("idle %", 6, ".2f"), ("50 %", 6, ".2f"),
                        ("full %", 6, ".2f"), ("median", 6, ".2f"), ("p90", 6, ".2f"),
                        ("in 90 % interval", 16, ".1f"))
    figures = {}
    for program in programs:
        with subprocess.Popen([program, plan], stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                protocol, method, count, *numbers = line.split()
                figures[protocol, method] = values = [float(n) for n in numbers]
                table.row(protocol, method, int(count), *values[:-1],
                          None if values[-1] != values[-1] else values[-1])
        if child.returncode != 0:
            sys.exit(f"{program}: status {child.returncode}")
    goals = bench.Goals()
    for key, (every, idle, full, p90) in GOALS.items():
        name = " ".join(key)
        values = figures[key]
        goals.at_most(f"{name}, all loads", values[0], every, "%")
        goals.at_most(f"{name}, idle", values[1], idle, "%")
        goals.at_most(f"{name}, full", values[3], full, "%")
        if p90 is not None:
            goals.at_most(f"{name}, 90th percentile of machines", values[5], p90, "%")
    for method, most in CALIBRATED.items():
        goals.at_most(f"calibrated {method}, all loads", figures["calibrated", method][0],
                      most, "%")
    for key, values in figures.items():
        if key[0] == "processor" and values[-1] == values[-1]:
            goals.at_least(f"{key[1]}, coverage", values[-1], COVERAGE[0], "%")
            goals.at_most(f"{key[1]}, coverage", values[-1], COVERAGE[1], "%")
    goals.exit()


if __name__ == "__main__":
    main()
