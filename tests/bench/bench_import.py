#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imported databases: each machine by the model of the most alike other machine.

The databases are those of shared/data/model-db, and those that TW_OLD_DATABASES names
(directories, separated by ':'): kepler-model-db's models/v0.7/specpower-0.7.11 has the 317
machines of the goals.

Known watts are those of the machine's own best model at rest, half and full load, where load
1 is the end of its training range. Predicted watts are those of the other machine at the same
load, times the ratio of the numbers of chips. The table also has the ratio of physical
cores, and no ratio.
"""
import json
import os
import sys

import bench

LOADS = (0.0, 0.5, 1.0)
# Medians and 90th percentiles of |error| in % at these loads.
GOALS = {"median": (17, 11, 11), "p90": (48, 42, 40)}
GOALS_FROM = 100  # machines
METRIC = "bpf_cpu_time_ms"


def databases():
    top = bench.shared("data/model-db")
    found = [os.path.join(top, name) for name in sorted(os.listdir(top))]
    return found + [d for d in os.environ.get("TW_OLD_DATABASES", "").split(":") if d]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return json.load(f)


class Model:
    """The component of the whole of a model, with the load of its training range."""

    def __init__(self, place, name):
        self.zip = os.path.join(place, name + ".zip")
        self.metadata = read(place, name, "metadata.json")
        self.node_type = name.rsplit("_", 1)[1]
        listed = read(place, name, name + ".json")
        self.component = "platform" if "platform" in listed else "package"
        part = listed.get(self.component, {})
        self.full = dict(zip(part.get("features", []), part.get("feature_max", []))).get(METRIC)
        self.mae = self.metadata.get("mae")

    def watts(self, loads):
        """At these shares of the full load."""
        names = self.metadata["features"]
        rows = ";".join(",".join(str(load * self.full) if n == METRIC else "0" for n in names)
                        for load in loads)
        out = bench.Run([bench.program("tallywatt"), "estimate", "--model", self.zip,
                         "--metrics", ",".join(names), "--values", rows]).output.splitlines()
        column = out[0].split().index(self.component)
        return [float(line.split()[column]) for line in out[1:]]


def best_models(place):
    """Of each node type, the model of the least error of those that clients may get."""
    best = {}
    for name in sorted(os.listdir(place)):
        if not os.path.isdir(os.path.join(place, name)):
            continue
        m = Model(place, name)
        if m.full and m.mae is not None and (
                m.node_type not in best or m.mae < best[m.node_type].mae):
            best[m.node_type] = m
    return best


def measure(pipeline, place, table):
    known = {t: m.watts(LOADS) for t, m in best_models(place).items()}
    # A curve that was fitted to a few points may be absurd between them.
    known = {t: w for t, w in known.items() if all(v > 0 for v in w)}
    nearest = bench.Run([os.path.join(bench.HELPERS, "left_out"),
                         os.path.join(pipeline, "node_type_index.json"), *known]).output
    errors = {"chips": [], "cores": [], "none": []}
    for line in nearest.splitlines():
        own, other, _, cores, chips = line.split()
        for scale, factor in (("chips", float(chips)), ("cores", float(cores)), ("none", 1.0)):
            errors[scale].append([abs(p * factor - w) / w * 100
                                  for p, w in zip(known[other], known[own])])
    figures = {}
    for scale, rows in errors.items():
        at_load = list(zip(*rows))
        figures[scale] = {"median": [quantile(e, 0.5) for e in at_load],
                          "p90": [quantile(e, 0.9) for e in at_load]}
        table.row(os.path.basename(pipeline), len(rows), scale,
                  *(v for k in GOALS for v in figures[scale][k]))
    return len(errors["chips"]), figures["chips"]


def main():
    goals = bench.Goals()
    table = bench.Table(("pipeline", -18, ""), ("machines", 8, "d"), ("ratio", -6, ""),
                        *((f"{k} {load:.0%}", 11, ".1f") for k in GOALS for load in LOADS))
    with bench.Scratch() as scratch:
        for source in databases()[:bench.quick(None, 1)]:
            bench.Run([bench.program("tallywatt"), "import", source, "--to", scratch])
        judged = []
        for name in sorted(os.listdir(scratch)):
            for energy in ("acpi", "rapl-sysfs"):
                place = os.path.join(scratch, name, energy, "AbsPower", "BPFOnly")
                if os.path.isdir(place):
                    judged.append(measure(os.path.join(scratch, name), place, table))
    for machines, figures in judged:
        if machines < GOALS_FROM:
            continue
        for what, limits in GOALS.items():
            for load, value, limit in zip(LOADS, figures[what], limits):
                goals.at_most(f"{what} of |error| at load {load:.0%}, left out", value, limit,
                              " %")
    if not any(machines >= GOALS_FROM for machines, _ in judged):
        print(f"SKIPPED: {os.path.basename(sys.argv[0])}: the goals need a database of "
              f"{GOALS_FROM} machines (TW_OLD_DATABASES names some)")
    goals.exit()


if __name__ == "__main__":
    main()
