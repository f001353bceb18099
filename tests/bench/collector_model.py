# SPDX-License-Identifier: Apache-2.0
"""A model of this machine, for bench-collector."""
import os

import bench
from collector_run import Collector

GROUP = "fake/AbsPower/NodeCPU"
TRAINER = "XgboostFitTrainer"


def train(scratch):
    """A database with a model of this machine's own samples under the meter `fake`. How
    good it is does not matter here; boosted trees are what takes longest to ask."""
    tool, response = bench.program("tallywatt"), os.path.join(scratch, "response.json")
    database = os.path.join(scratch, "db")
    with Collector(scratch, "--meters", "fake", interval="100ms") as collector:
        bench.Run([tool, "record", "--output", response, "--for", "5s", "--interval",
                   "100ms", collector.url])
    bench.Run([tool, "train", "--input", response, "--name", "own", "--group", "NodeCPU",
               "--source", "fake", "--trainers", TRAINER, "--folds", "2", "--model-db", database])
    return database


def path(database):
    return os.path.join(database, "own", GROUP, f"{TRAINER}_0")
