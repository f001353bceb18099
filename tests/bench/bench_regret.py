#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regrets of the choice: each block of a recording is estimated, as a series, by models of all
trainers that saw the other blocks. The model that the server chooses by default stands beside the
best one that it might have chosen, which is known only afterwards. Neither training, calibration
nor choice has seen the block, so the coverage of the intervals is that of a new time.

	bench_regret.py [TEXT..]	only recordings with these texts in their names"""
import csv
import glob
import http.client
import json
import math
import os
import shutil
import sys

import bench
from bench_server import tw_server

FOLDS = 5
REGRET = 1.03
COVERAGE, BLOCK_COVERAGE = 0.90, 0.85
# Certified models have a mean error of at most this share of the mean power.
BIAS = 0.05
SOURCES = {"rapl": "rapl-sysfs", "acpi": "acpi"}
GROUPS = "CounterOnly", "BPFOnly"
POWERS = "package", "platform", "dram"
# What tw-estimator reads.
CLASSES = ["curvefit", "ensemble", "isotonic", "linear", "knn", "svr", "polynomial", "trees",
           "xgboost"]


def read(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f))


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def blocks(rows):
    return [rows[len(rows) * k // FOLDS:len(rows) * (k + 1) // FOLDS] for k in range(FOLDS)]


def recordings(scratch):
    """Name, source, group, and blocks of rows."""
    for path in sorted(glob.glob(os.path.join(bench.shared("data/training"), "*.csv"))):
        name, _, source, group = os.path.basename(path).removesuffix(".csv").split("_")
        yield f"{name} {source} {group}", SOURCES[source], group, blocks(read(path))
    for path in sorted(glob.glob(os.path.join(bench.shared("data/prometheus"), "work*.json"))):
        for short, source in SOURCES.items():
            for group in GROUPS:
                table = f"{scratch}/table.csv"
                bench.Run([bench.program("tallywatt"), "extract", "--input", path, "--source",
                           source, "--group", group, "--output", table])
                name = os.path.basename(path).removesuffix(".json")
                yield f"{name} {short} {group}", source, group, blocks(read(table))
    runs = [[{"timestamp": r["unix_s"], "bpf_cpu_time_ms": 1000 * float(r["guest_cpu_s_per_s"]),
              "package_power": r["host_vm_package_w"]} for r in read(path)] for path in
            sorted(glob.glob(os.path.join(bench.shared("data/vm"), "*.csv")))]
    yield "vm, runs", "rapl-sysfs", "BPFOnly", sorted(runs, key=lambda r: int(r[0]["timestamp"]))


def train(scratch, source, group, rows):
    """A database of models of all trainers."""
    shutil.rmtree(f"{scratch}/db", ignore_errors=True)
    write(f"{scratch}/train.csv", rows)
    names = [line.split()[0] for line in
             bench.Run([bench.program("tallywatt"), "trainers"]).output.splitlines()]
    names = bench.quick(names, ["LinearRegressionTrainer", "LogisticRegressionTrainer"])
    bench.Run([bench.program("tallywatt"), "train", "--model-db", f"{scratch}/db", "--name", "m",
               "--source", source, "--abs-trainers", ",".join(names), "--dyn-trainers",
               "LinearRegressionTrainer", "--csv", f"{group}={scratch}/train.csv"])
    return f"{scratch}/db"


def choose(scratch, db, source):
    """The model that a client gets who keeps earlier rows, or None; those with a certificate."""
    server = tw_server(scratch, db)
    try:
        connection = http.client.HTTPConnection(server.address, timeout=60)
        with open(glob.glob(f"{db}/m/{source}/AbsPower/*/*/metadata.json")[0],
                  encoding="utf-8") as f:
            metrics = json.load(f)["features"]
        connection.request("POST", "/model?explain=1", json.dumps({
            "metrics": metrics, "output_type": "AbsPower", "source": source,
            "model_classes": CLASSES}))
        answer = json.loads(connection.getresponse().read())
    finally:
        server.stop()
    chosen = answer["chosen"]
    found = [m for m in [chosen, *answer["candidates"]] if m]
    return (chosen and chosen["model_name"],
            {m["model_name"] for m in found if m["certificate"] == "yes"})


def evaluate(scratch, db, source, rows):
    """Figures of the components of each model."""
    write(f"{scratch}/test.csv", rows)
    models = glob.glob(f"{db}/m/{source}/AbsPower/*/*.zip")
    out = bench.Run([bench.program("tallywatt"), "validate", "--json", "--input",
                     f"{scratch}/test.csv", "--model", ",".join(models)]).output
    return {m["model_name"]: {c: f for c, f in m["components"].items() if c in POWERS}
            for m in json.loads(out)}


class Block:
    """A block of a recording, and what models say of it that saw the others."""

    def __init__(self, scratch, recording, k):
        _, source, group, parts = recording
        db = train(scratch, source, group, [r for p in parts[:k] + parts[k + 1:] for r in p])
        self.chosen, self.certified = choose(scratch, db, source)
        self.figures = evaluate(scratch, db, source, parts[k])
        self.rows = parts[k]

    def watts(self, component):
        return sum(float(r[component + "_power"]) for r in self.rows)


def mean(judged, figure, model_of, component):
    """Over all rows; NaN if a block lacks the model."""
    rows = sum(len(block.rows) for block in judged)
    out = 0
    for block in judged:
        figures = block.figures.get(model_of(block))
        out += figure(figures[component]) * len(block.rows) / rows if figures else math.nan
    return out


def error_of(figures):
    return figures["mae"]


def bias_of(figures):
    return figures["bias"]


def coverage_of(figures):
    return figures["intervals"]["coverage"]


def short(model):
    return (model or "none").removesuffix("_0").removesuffix("Trainer")


def report(name, blocks_of_all, table, goals):
    """A line for each component: of the blocks in which the server chose a model with a
    certificate, if there are any. Goals are of models that have a certificate in each of them."""
    served = [block for block in blocks_of_all if block.chosen in block.certified]
    judged = served or blocks_of_all
    models = sorted({m for block in judged for m in block.figures})
    certified = [m for m in models if all(m in block.certified for block in judged)]
    for component in judged[0].figures[models[0]]:
        def by_model(figure):
            return {m: mean(judged, figure, lambda _: m, component) for m in models}
        errors, biases = by_model(error_of), by_model(bias_of)
        ours = mean(judged, error_of, lambda block: block.chosen, component)
        best = min(certified or models, key=errors.get)
        watts = sum(b.watts(component) for b in judged) / sum(len(b.rows) for b in judged)
        bias = max((abs(biases[m]) / watts for m in certified), default=math.nan)
        inside = [coverage_of(b.figures[b.chosen][component]) if served else math.nan
                  for b in judged]
        covered = mean(judged, coverage_of, lambda block: block.chosen, component)
        regret = ours / errors[best] if served else math.nan
        names = "/".join(sorted({short(block.chosen) for block in judged}))
        table.row(name, component, f"{len(served)}/{len(blocks_of_all)}",
                  names if served else "no certificate", ours, short(best), errors[best], regret,
                  covered, min(inside), 100 * bias)
        if certified:
            goals.at_most(f"{name}, {component}, bias of a certified model", bias, BIAS)
        if not served:
            continue
        # All components have the same model, by the worst of them.
        if component != "dram":
            goals.at_most(f"{name}, {component}, regret", regret, REGRET)
        goals.at_least(f"{name}, {component}, coverage", covered, COVERAGE)
        goals.at_least(f"{name}, {component}, coverage of a block", min(inside), BLOCK_COVERAGE)


def main():
    table = bench.Table(("recording", -28, ""), ("component", -9, ""), ("blocks", 6, ""),
                        ("served", -20, ""),
                        ("MAE, W", 7, ".3f"), ("best", -26, ""), ("MAE, W", 7, ".3f"),
                        ("regret", 6, ".3f"), ("in 95 %", 7, ".3f"), ("worst", 6, ".3f"),
                        ("bias %", 6, ".1f"))
    goals = bench.Goals()
    with bench.Scratch() as scratch:
        for recording in list(recordings(scratch))[:bench.quick(None, 1)]:
            if any(text in recording[0] for text in sys.argv[1:] or [""]):
                judged = [Block(scratch, recording, k) for k in range(len(recording[3]))]
                report(recording[0], judged, table, goals)
    goals.exit()


if __name__ == "__main__":
    main()
