# SPDX-License-Identifier: Apache-2.0
"""A model of this machine, and a tw-estimator that has it, for bench-collector."""
import os
import subprocess

import bench
from collector_run import Collector, read

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


class Estimator:
    """A running tw-estimator, which everybody may ask."""

    def __init__(self, scratch, database):
        self.socket = os.path.join(scratch, "estimator.socket")
        ready = os.path.join(scratch, "estimator-ready")
        self.proc = subprocess.Popen(
            [bench.program("tw-estimator"), "--socket", self.socket, "--socket-mode",
             "0666", "--model-db", database, "--shipped-models", "", "--ready-file", ready,
             "--log-level", "warn"], stdin=subprocess.DEVNULL)
        bench.wait_until(lambda: os.path.exists(ready) or self.proc.poll() is not None,
                         "tw-estimator is ready")
        if self.proc.poll() is not None:
            raise bench.Failed("tw-estimator did not start")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.proc.terminate()
        self.proc.wait()

    def cpu_seconds(self):
        """Of all its threads."""
        tasks = f"/proc/{self.proc.pid}/task"
        return sum(int(read(f"{tasks}/{task}/schedstat").split()[0])
                   for task in os.listdir(tasks)) / 1e9
