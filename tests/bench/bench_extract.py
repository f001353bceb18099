#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed and memory of reading Prometheus responses: 4 MiB to 1 GiB of metrics that are
all kept, of two shapes. TW_BENCH_SIZES="4,64" measures others, in MiB.

    many   50 containers at a time, each for 40 samples: two minutes
    few    5 containers, all the time

Each is extracted (tallywatt extract --level node, the table written to a file) on one
core; speed is by processor time, which others that use the core do not change. The
largest are trained as well, by two linear trainers, every group: by tallywatt train, and
by tw-trainer, to which they are sent. Other trainers take what they take: what is
measured is what the data takes.
"""
import http.client
import json
import os
import signal
import subprocess
import time

import bench

SIZES = [int(s) for s in os.environ.get("TW_BENCH_SIZES", bench.quick("4,16,64,256,1024", "1")).split(",")]
SHAPES = {"many": (50, 40), "few": (5, 0)}  # containers at a time, samples of each
TRAINERS = ["LinearRegressionTrainer", "SGDRegressorTrainer"]
MIB = 1 << 20
RUNS = bench.quick(3, 1)
GOAL_MB_S = 150
GOAL_MIB = 0.4 * 1024
GOAL_GROWTH = 1.25  # seconds a MiB of the largest, against those of 64 MiB
CORE = max(os.sched_getaffinity(0))


def make_response(path, shape, mib):
    """Write it; its length is close to what is asked for. Returns its length."""
    def generate(samples):
        containers, life = SHAPES[shape]
        with open(path, "wb") as f:
            subprocess.run([os.path.join(bench.HELPERS, "make_response"), str(samples),
                            str(containers), str(life), "1"], stdout=f, check=True)
        return os.path.getsize(path)

    probe = bench.quick(2000, 100)
    return generate(int(mib * MIB * probe / generate(probe)))


def extract(response, table):
    runs = [bench.Run([bench.program("tallywatt"), "extract", "--input", response,
                       "--group", "Basic", "--source", "rapl-sysfs", "--output", table],
                      core=CORE) for _ in range(RUNS)]
    return min(runs, key=lambda r: r.cpu_seconds)


def measure_sizes(shape, scratch, goals):
    """The row of each size. Leaves the largest response behind."""
    print(f"\nextract, {shape}: one core, best of {RUNS} runs")
    table = bench.Table(("MiB", 7, ".1f"), ("wall s", 8, ".3f"), ("cpu s", 8, ".3f"),
                        ("MB/s", 7, ".1f"), ("s/GiB", 7, ".2f"), ("peak MiB", 9, ".1f"))
    response, pace = f"{scratch}/{shape}.json", {}
    for mib in SIZES:
        size = make_response(response, shape, mib)
        run = extract(response, f"{scratch}/table.csv")
        pace[mib] = run.cpu_seconds / size
        table.row(size / MIB, run.seconds, run.cpu_seconds, 1e-6 / pace[mib],
                  pace[mib] * MIB * 1024, run.peak_mib)
    largest = max(SIZES)
    goals.at_least(f"extract {shape}, {largest} MiB", 1e-6 / pace[largest], GOAL_MB_S,
                   "MB/s")
    goals.at_most(f"extract {shape}, {largest} MiB: peak", run.peak_mib, GOAL_MIB, "MiB")
    if 64 in pace and largest > 64:
        goals.at_most(f"extract {shape}: growth of time a MiB from 64 to {largest} MiB",
                      pace[largest] / pace[64], GOAL_GROWTH)
    return response


def train(response, scratch, shape, goals):
    run = bench.Run([bench.program("tallywatt"), "train", "--input", response, "--name",
                     "bench", "--trainers", ",".join(TRAINERS), "--output",
                     f"{scratch}/pipeline.zip"])
    print(run.output.splitlines()[-1])
    goals.at_most(f"tallywatt train {shape}, {max(SIZES)} MiB: peak", run.peak_mib,
                  GOAL_MIB, "MiB")


def body_of(response):
    """A request around the response, piece by piece."""
    yield json.dumps({"name": "bench", "energy_source": "rapl-sysfs", "trainer": {
        "abs_trainers": TRAINERS, "dyn_trainers": TRAINERS}})[:-1].encode()
    yield b', "prom_response": '
    with open(response, "rb") as f:
        while piece := f.read(MIB):
            yield piece
    yield b"}"


def post(response, scratch, shape, goals):
    ready = f"{scratch}/ready"
    daemon = subprocess.Popen([bench.program("tw-trainer"), "--listen", "127.0.0.1:0",
                               "--ready-file", ready, "--max-body", "2GiB",
                               "--log-level", "error"])
    try:
        bench.wait_until(lambda: os.path.exists(ready) or daemon.poll() is not None,
                         "tw-trainer is ready")
        if daemon.poll() is not None:
            raise bench.Failed("tw-trainer: it has ended")
        with open(ready, encoding="ascii") as f:
            address = f.read().strip()
        length = sum(len(piece) for piece in body_of(response))
        connection = http.client.HTTPConnection(address, timeout=600)
        start = time.monotonic()
        connection.request("POST", "/train", body_of(response),
                           {"Content-Length": str(length)})
        answer = connection.getresponse()
        received = len(answer.read())
        if answer.status != 200:
            raise bench.Failed(f"POST /train: {answer.status}")
        print(f"POST /train: {length / MIB:.0f} MiB, {received} bytes of zip, "
              f"{time.monotonic() - start:.1f} s")
        goals.at_most(f"POST /train {shape}, {max(SIZES)} MiB: peak of tw-trainer",
                      bench.peak_mib_of(daemon.pid), GOAL_MIB, "MiB")
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def main():
    goals = bench.Goals()
    for shape in SHAPES:
        with bench.Scratch() as scratch:
            response = measure_sizes(shape, scratch, goals)
            train(response, scratch, shape, goals)
            post(response, scratch, shape, goals)
    goals.exit()


if __name__ == "__main__":
    main()
