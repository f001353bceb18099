#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines of known laws: AutoTrainer learns from an hour, and its model is judged on the next
hour by the claims that it makes: the error on held-out rows and the 95 % interval. Rows beyond
the training ranges are left out, because clients get no interval for them.

	bench_laws.py [LAW..]"""
import csv
import json
import os
import random
import sys

import bench

CORES, ROWS, STEP_S = 16, bench.quick(1200, 120), 3
GROUPS = {"CounterOnly": ("cache_miss", "cpu_cycles", "cpu_instructions"),
          "BPFOnly": ("bpf_cpu_time_ms", "bpf_page_cache_hit")}
# What the law adds: f(load, kind of work, progress of the two hours, cache misses, GHz) in W.
LAWS = {
    "plain": lambda l, k, t, m, g: 60 + 140 * l * k,
    "turbo": lambda l, k, t, m, g: 60 + 6 * g ** 3 * l * k,
    "threads": lambda l, k, t, m, g: 60 + (200 * min(l, .5) + 40 * max(0, l - .5)) * k,
    "packages": lambda l, k, t, m, g: 80 + 110 * l * k + 25 * (l > .5),
    "memory": lambda l, k, t, m, g: 60 + 40 * l + 4.7e-7 * m,
    "slow": lambda l, k, t, m, g: 60 + 140 * l * k,
    "GPU": lambda l, k, t, m, g: 60 + 140 * l * k,
    "half load": lambda l, k, t, m, g: 60 + 140 * l * k,
    "drift": lambda l, k, t, m, g: 60 * (1 + .15 * t) + 140 * l * k,
    "firmware": lambda l, k, t, m, g: min(60 + 140 * l * k, 999 if t < .5 else 130),
}
# No recording can show what changes after it: this law has no goals.
CHANGING = ("firmware",)
ERROR, COVERAGE = 1.25, 0.90


def loads(rng, top):
    """Plateaus of 24 to 120 s; a quarter of them at rest."""
    out = []
    while len(out) < ROWS:
        level = 0 if rng.random() < .25 else top * rng.random()
        out += [level] * rng.randint(8, 40)
    return [min(top, abs(x + .01 * rng.gauss(0, 1))) if x else .002 + .002 * rng.random()
            for x in out[:ROWS]]


def hours(law, seed=1):
    """The rows of two hours."""
    rng = random.Random(seed)
    series = loads(rng, .5 if law == "half load" else 1) + loads(rng, 1)
    mix = gpu = lag = 0
    for i, load in enumerate(series):
        mix = rng.random() if i % 30 == 0 else mix
        gpu = 150 * (rng.random() < .4) if i % 40 == 0 else gpu
        ghz = 3.8 - 1.2 * load if law == "turbo" else 3
        cycles = load * CORES * ghz * 1e9 * (.98 + .04 * rng.random())
        instructions = cycles * (.6 + 1.6 * mix)
        misses = instructions * (.002 * (1 - mix) + 1e-4)
        watts = LAWS[law](load, .8 + .3 * mix, i / len(series), misses, ghz)
        watts += gpu if law == "GPU" else 0
        lag += (watts - lag) * (STEP_S / 45 if i else 1)
        watts = .75 * watts + .25 * lag if law == "slow" else watts
        yield {"timestamp": 1700000000 + STEP_S * i, "cpu_cycles": cycles,
               "cpu_instructions": instructions, "cache_miss": misses,
               "bpf_cpu_time_ms": 1000 * CORES * load,
               "bpf_page_cache_hit": 100 * load * rng.random(),
               "package_power": watts * (1 + .01 * rng.gauss(0, 1))}


def write(path, features, rows):
    with open(path, "w", encoding="utf-8", newline="") as f:
        writer = csv.DictWriter(f, ("timestamp", *features, "package_power"),
                                extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def judge(scratch, law, group):
    """Metadata of the model, and its figures on the second hour."""
    rows, features, tallywatt = list(hours(law)), GROUPS[group], bench.program("tallywatt")
    most = {f: max(r[f] for r in rows[:ROWS]) for f in features}
    db = f"{scratch}/{law} {group}".replace(" ", "-")
    os.makedirs(db)
    write(f"{db}.train", features, rows[:ROWS])
    write(f"{db}.test", features,
          [r for r in rows[ROWS:] if all(r[f] <= most[f] for f in features)])
    bench.Run([tallywatt, "train", "--model-db", db, "--name", "m", "--source", "rapl-sysfs",
               "--csv", f"{group}={db}.train", "--abs-trainers", "AutoTrainer",
               "--dyn-trainers", "LinearRegressionTrainer"])
    model = f"{db}/m/rapl-sysfs/AbsPower/{group}/AutoTrainer_0"
    out = bench.Run([tallywatt, "validate", "--json", "--input", f"{db}.test", "--model",
                     f"{model}.zip"]).output
    with open(f"{model}/metadata.json", encoding="utf-8") as f:
        return json.load(f), json.loads(out)[0]["components"]["package"]


def main():
    table = bench.Table(("law", -10, ""), ("group", -12, ""), ("claimed, W", 10, ".2f"),
                        ("next hour, W", 12, ".2f"), ("ratio", 6, ".2f"), ("bias, W", 8, ".2f"),
                        ("in 95 %", 8, ".3f"), ("certificate", -30, ""))
    goals = bench.Goals()
    with bench.Scratch() as scratch:
        for law in sys.argv[1:] or bench.quick(list(LAWS), ["plain"]):
            for group in GROUPS:
                metadata, next_hour = judge(scratch, law, group)
                claimed = metadata.get("package_series_mae", metadata["package_mae"])
                ratio, held = next_hour["mae"] / claimed, next_hour["intervals"]["coverage"]
                refused = metadata.get("certificate_refused")
                table.row(law, group, claimed, next_hour["mae"], ratio, next_hour["bias"], held,
                          refused or "yes")
                if refused or law in CHANGING:
                    continue
                goals.at_most(f"{law}, {group}, error by claimed error", ratio, ERROR)
                goals.at_least(f"{law}, {group}, in the 95 % interval", held, COVERAGE)
    goals.exit()


if __name__ == "__main__":
    main()
