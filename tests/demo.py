#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main job with the running programs, on a machine whose power law is known.

Starts tw-server, tw-trainer and tw-estimator on the models that ship, trains a pipeline from
a small recorded response, asks the server for its weights and the estimator for watts, and
compares these with the law that made the response (tests/generate_response.py). Exits 0 if
they agree. With --keep the programs are left running.
"""
import argparse
import os
import shutil
import socket
import sys
import tempfile

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TESTS, "integration"))
from harness import (BIN, COUNTER_ONLY, GENERATED, ROOT, Daemon, ask_estimator,  # noqa: E402
                     call, linear_watts, power_request, read_json, wait_until)
import generate_response as generator  # noqa: E402

PIPELINE = "demo"
TRAINER = "SGDRegressorTrainer"
TRAINERS = ["LinearRegressionTrainer", TRAINER]
ROWS = 8
# The meter of the simulated machine is 0.25 W off at most; a fit of 99 such rows less.
TOLERANCE_W = 0.5


def address(port, keep):
    """The usual port where the programs stay and nobody has it, else a free one."""
    if keep:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return f"127.0.0.1:{port}"
            except OSError:
                pass
    return "127.0.0.1:0"


def say(text):
    print(f"demo: {text}", flush=True)


def start(folder, daemons, program, *args):
    daemon = Daemon(os.path.join(folder, program), program, args)
    daemons.append(daemon)
    say(f"{program} answers on {daemon.address}")
    return daemon


def copy_models(folder):
    """The shipped database, as a copy: training adds to it."""
    db = os.path.join(folder, "models")
    shipped = os.path.join(ROOT, "model-db/models")
    if os.path.isdir(shipped):
        shutil.copytree(shipped, db)
    else:
        os.mkdir(db)
    return db


def best_models(server):
    answer = call(server, "GET", "/best-models")
    if answer.status != 200:
        return "none yet"
    return ", ".join(f"{output} {len(groups)} groups"
                     for output, groups in answer.json().items())


def train(trainer):
    answer = call(trainer, "POST", "/train", {
        "name": PIPELINE, "energy_source": "rapl-sysfs",
        "prom_response": read_json(GENERATED["0.7"]),
        "trainer": {"abs_trainers": TRAINERS, "dyn_trainers": TRAINERS,
                    "idle_prom_response": None, "isolator": "MinIdleIsolator",
                    "isolator_args": {}}})
    if answer.status != 200:
        raise AssertionError(f"POST /train: {answer.status} {answer.body!r}")
    say(f"POST /train: pipeline '{PIPELINE}', a zip of {len(answer.body)} bytes")


def ask_weights(server):
    """The weights of the model that was trained just now."""
    request = {"metrics": COUNTER_ONLY, "output_type": "AbsPower", "source": "rapl-sysfs",
               "weight": True, "trainer_name": TRAINER, "pipeline_name": PIPELINE}
    wait_until(lambda: call(server, "POST", "/model", request).status == 200,
               "the server serves what the trainer published")
    weights = call(server, "POST", "/model", request).json()
    say(f"POST /model: {weights['model_name']}, mae {weights['mae']:.3f} W")
    return weights


def ask_watts(path, machine):
    """The estimator's answer for some rows of the machine, least power first."""
    order = sorted(range(len(machine.rates)), key=lambda i: machine.watts[i]["package"])
    chosen = order[::len(order) // (ROWS - 1)][:ROWS - 1] + order[-1:]
    rows = [[machine.rates[i][f] for f in COUNTER_ONLY] for i in chosen]
    request = power_request(COUNTER_ONLY, rows, trainer_name=TRAINER,
                            filter=f"mae:{TOLERANCE_W}")
    wait_until(lambda: ask_estimator(path, request), "the estimator has a model")
    return chosen, ask_estimator(path, request)["powers"]


def compare(machine, weights, chosen, powers):
    """Print predicted beside known watts; the largest difference."""
    worst = 0.0
    print(f"\n{'package, W':^27}  {'dram, W':^27}")
    print("  ".join(["  known  weights  estimator"] * 2))
    for place, i in enumerate(chosen):
        line = ""
        for component in ("package", "dram"):
            known = machine.watts[i][component]
            formula = linear_watts(weights[component], machine.rates[i])
            watts = powers[component][place]
            worst = max(worst, abs(known - formula), abs(known - watts))
            line += f"{known:7.2f}{formula:9.2f}{watts:11.2f}  "
        print(line)
    print()
    return worst


def tell_how_to_talk(folder, daemons, path):
    server, trainer, _ = (d.address for d in daemons)
    prom = os.path.relpath(GENERATED["0.7"])
    tallywatt = os.path.relpath(os.path.join(BIN, "tallywatt"))
    print(f"""
Left running. To talk to them:

  curl -s http://{server}/best-models
  curl -s http://{server}/model -d '{{"metrics":["cache_miss","cpu_cycles",\
"cpu_instructions"],"output_type":"AbsPower","weight":true,"pipeline_name":"{PIPELINE}"}}'
  printf '{{"name":"mine","energy_source":"rapl-sysfs","trainer":{{"abs_trainers":\
["{TRAINER}"],"dyn_trainers":[],"isolator":"MinIdleIsolator"}},"prom_response":%s}}' \\
    "$(cat {prom})" | curl -s http://{trainer}/train -d @- -o mine.zip
  {tallywatt} estimate --socket {path} --trainer {TRAINER} \\
    --metrics {",".join(COUNTER_ONLY)} --values '1e6,2e9,3e9;0,0,0'

Logs and models are in {folder}. To stop them:

  kill {' '.join(str(d.proc.pid) for d in daemons)}; rm -r {folder}
""")


def run(folder, keep, daemons):
    machine = generator.Machine()
    db = copy_models(folder)
    server = start(folder, daemons, "tw-server", "--listen", address(8100, keep),
                   "--model-db", db)
    trainer = start(folder, daemons, "tw-trainer", "--listen", address(8102, keep),
                    "--model-db", db)
    say(f"models that ship: {best_models(server)}")
    train(trainer)
    weights = ask_weights(server)
    path = os.path.join(folder, "estimator.socket")
    start(folder, daemons, "tw-estimator", "--socket", path, "--model-server",
          f"http://{server.address}", "--model-db", db)
    chosen, powers = ask_watts(path, machine)
    worst = compare(machine, weights, chosen, powers)
    agree = worst <= TOLERANCE_W
    say(f"largest difference {worst:.3f} W, {'within' if agree else 'NOT within'} the "
        f"tolerance of {TOLERANCE_W} W")
    if keep:
        tell_how_to_talk(folder, daemons, path)
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave the programs running")
    keep = parser.parse_args().keep
    folder = tempfile.mkdtemp(prefix="tallywatt-demo-")
    daemons = []
    try:
        return 0 if run(folder, keep, daemons) else 1
    except AssertionError as e:
        say(f"failed: {e}")
        keep = False
        return 1
    finally:
        if not keep:
            for daemon in reversed(daemons):
                daemon.stop()
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
