#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of the prior for machines that it was not trained on, against its goals."""
import itertools
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

# all, idle, full: a processor that the table lacks, as served
GOALS = 12, 16.5, 10.5
# idle, full: the mean of the eras since Zen 2 and Ice Lake, a vendor each
ERA_GOALS = 27, 15
ERAS = {"amd": ("rome", "milan", "genoa", "bergamo", "siena"),
        "intel": ("ice_lake_sp", "rocket_lake", "sapphire_rapids", "emerald_rapids",
                  "raptor_lake")}
CALIBRATED = {"host,idle,full": 3.5, "host,half": 4.5}
COVERAGE = 86, 94
ERA_COVERAGE = 80
CLAIMED = 0.8, 1.25
QUICK_STEP = 9  # each so many machines of the data
FOLDS = bench.quick(12, 2)
QUICK_ERAS = 3
FIRST_YEAR = 2012
LAST_YEARS = 2016, 2020, 2021
TABLES = "specpower.csv", "specpower_2022.csv"


def main():
    if np is None:
        bench.skip("no numpy", "numpy")
    data = [bench.shared("data/specpower/" + name) for name in TABLES]
    with bench.Scratch() as scratch:
        if bench.QUICK:
            data = [few_of(path, scratch) for path in data]
        facts = bench.program("model-db/learning/machine_facts")
        judge(write_plan(machine_table.read_table(data, facts), scratch))


def few_of(path, scratch):
    with open(path, encoding="utf-8") as f:
        lines = f.readlines()
    few = os.path.join(scratch, os.path.basename(path))
    with open(few, "w", encoding="utf-8") as out:
        out.writelines(lines[:1] + lines[1::QUICK_STEP])
    return few


def eras_of(table):
    """Each year from 2012 on; hardware after a year; memory types and generations of then."""
    for year in np.unique(table.year[table.year >= FIRST_YEAR]):
        yield f"year-{year}", table.year == year
    for year in LAST_YEARS:
        yield f"year>{year}", table.year > year
    for name, c in (("memory", machine_table.MEMORY_TYPE),
                    ("generation", machine_table.GENERATION)):
        levels = np.array([category[c] for category in table.category])
        for level in np.unique(levels[(table.year >= FIRST_YEAR) & (levels != "")]):
            yield f"{name}-{level}", levels == level


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

    prior = prior_learning.Prior(table)
    # Neighbours in the table fall apart.
    fold_of = table.processor * 7919 % FOLDS
    for fold in range(FOLDS):
        prior_learning.learn(prior, fold_of != fold)
        learned = save(prior, f"fold-{fold}.json")
        for processor in np.unique(table.processor[fold_of == fold]):
            judged = table.processor == processor
            prior_learning.condition(prior, ~judged)
            add("processor", learned, save(prior, f"without-{processor}.json"), judged)
    for name, judged in itertools.islice(eras_of(table), bench.quick(None, QUICK_ERAS)):
        prior_learning.learn(prior, ~judged)
        path = save(prior, f"{name}.json")
        add(name, path, path, judged)
    path = os.path.join(scratch, "plan")
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return path


def run(plan):
    """The lines of the program: protocol and method, number of machines, figures."""
    program = os.path.join(bench.HELPERS, "machines")
    with subprocess.Popen([program, plan], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            protocol, method, count, *numbers = line.split()
            yield (protocol, method), int(count), [float(n) for n in numbers]
    if child.returncode != 0:
        sys.exit(f"{program}: status {child.returncode}")


def judge(plan):
    table = bench.Table(("left out", -28, ""), ("known", -16, ""), ("machines", 8, "d"),
                        ("all %", 6, ".2f"), ("idle %", 6, ".2f"), ("full %", 6, ".2f"),
                        ("median", 6, ".2f"), ("p90", 6, ".2f"), ("in 90 %", 7, ".1f"),
                        ("claimed/real", 12, ".2f"), ("interval x", 10, ".2f"))
    figures, counts = {}, {}
    for key, count, values in run(plan):
        figures[key], counts[key] = values, count
        if key[0] == "processor" or key[1] in ("served", *CALIBRATED):
            table.row(*key, count, *values)
    goals = bench.Goals()
    every, idle, full, _, _, inside, claimed, _ = figures["processor", "served"]
    for name, value, most in zip(("all loads", "idle", "full"), (every, idle, full), GOALS):
        goals.at_most(f"processor left out, {name}", value, most, "%")
    goals.at_least("processor left out, coverage", inside, COVERAGE[0], "%")
    goals.at_most("processor left out, coverage", inside, COVERAGE[1], "%")
    goals.at_least("processor left out, claimed/real", claimed, CLAIMED[0], "")
    goals.at_most("processor left out, claimed/real", claimed, CLAIMED[1], "")
    for method, most in CALIBRATED.items():
        goals.at_most(f"calibrated {method}, all loads", figures["processor", method][0],
                      most, "%")
    for (protocol, method), (*_, inside, _, _) in figures.items():
        if method in CALIBRATED:
            goals.at_least(f"{protocol} left out, calibrated {method}, coverage", inside,
                           COVERAGE[0], "%")
    judge_eras(figures, counts, goals)
    goals.exit()


def judge_eras(figures, counts, goals):
    for vendor, eras in ERAS.items():
        keys = [(f"generation-{era}", vendor) for era in eras]
        keys = [key for key in keys if key in figures]
        known = [(figures[key], counts[key]) for key in keys]
        if not known:  # in the short form
            continue
        for at, name, most in ((1, "idle", ERA_GOALS[0]), (2, "full", ERA_GOALS[1])):
            total = sum(values[at] * count for values, count in known)
            goals.at_most(f"generation left out, {vendor}, {name}",
                          total / sum(count for _, count in known), most, "%")
        for (era, _), (values, _) in zip(keys, known):
            goals.at_least(f"{era} left out, coverage", values[5], ERA_COVERAGE, "%")


if __name__ == "__main__":
    main()
