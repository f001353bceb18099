#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Errors of all trainers on blocked folds beside those of the old programs."""
import re
import subprocess
import sys
import os

import bench

GEOMETRIC_OF_SAME_NAME = 1.02
ALONE, SERIES, WORST = 0.90, 0.80, 1.00


def main():
    command = [os.path.join(bench.HELPERS, "accuracy"), bench.shared("data/training"),
               bench.shared("golden/accuracy/blocked.csv"),
               *bench.quick([], ["LinearRegressionTrainer"])]
    figures, trainer = {}, None
    # Lines are shown as they come: it takes minutes.
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            print(line, end="", flush=True)
            if re.match(r"\w+Trainer\b", line):
                trainer = line.split()[0]
            found = re.match(r"\s*(.*?),? *geometric mean ([0-9.]+), largest ([0-9.]+)",
                             line)
            if found:
                figures[trainer, found[1]] = float(found[2]), float(found[3])
    if child.returncode != 0:
        sys.exit(f"accuracy: status {child.returncode}")
    goals = bench.Goals()
    for (name, what), (mean, largest) in figures.items():
        if name != "AutoTrainer":
            goals.at_most(f"{name}, geometric mean of the ratios", mean,
                          GEOMETRIC_OF_SAME_NAME)
        elif what.startswith("package"):
            goal = ALONE if "alone" in what else SERIES
            goals.at_most(f"{name}, {what}, geometric mean", mean, goal)
            goals.at_most(f"{name}, {what}, largest", largest, WORST)
    goals.exit()


if __name__ == "__main__":
    main()
