#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which trainers' models earn a certificate from which recording, as a Markdown table; and
whether the models that server, estimator and collector choose by default have one.

A table of training rows gives models of one component each, a response those of all
components of its source together."""
import csv
import glob
import http.client
import io
import json
import os
import re
import socket
import time
import urllib.parse
import zipfile

import bench
from bench_server import Server

TRAINERS = {"LinearRegressionTrainer": "Lin", "SGDRegressorTrainer": "SGD",
            "ExponentialRegressionTrainer": "Exp", "LogarithmicRegressionTrainer": "Log",
            "LogisticRegressionTrainer": "Lgs", "PolynomialRegressionTrainer": "Pol",
            "KNeighborsRegressorTrainer": "KNN", "SVRRegressorTrainer": "SVR",
            "GradientBoostingRegressorTrainer": "GB", "XgboostFitTrainer": "XGB",
            "AutoTrainer": "Auto"}
QUICK_TRAINERS = ("LinearRegressionTrainer", "SGDRegressorTrainer", "LogisticRegressionTrainer")
SOURCES = {"rapl": "rapl-sysfs", "acpi": "acpi"}
POWER = "_power"
YES, MISSING, OTHER = "y", "-", "?"
# Codes of what the server says of a model's certificate.
REASONS = {"yes": YES, "power does not rise with load": "f",
           "power of the parts is not that of the whole": "p",
           "power can be negative": "n",
           "power at rest is not that of the recording": "r",
           "power jumps just above rest": "j",
           "its features do not show rest: with the least load, power is not lowest": "R",
           "its CPU time is incomplete: the recorded cycles do not fit into it": "C",
           "its own error is above 50 %": "E",
           "its mean error is too large, on all rows, at little or much power, or between both "
           "halves": "B",
           "its recording has no load: power does not vary with it": "L"}
FOLDS = bench.quick("5", "2")  # a refusal for bias is of held-out rows
TICKS_S = 5
LOOPBACK = ("--listen", "127.0.0.1:0")


def components(path, scratch):
    """(component, CSV of the features and this component's power) of a table."""
    with open(path, newline="", encoding="ascii") as f:
        rows = list(csv.DictReader(f))
    powers = [c for c in rows[0] if c.endswith(POWER)]
    for power in powers:
        if len({r[power] for r in rows}) == 1:
            continue
        columns = [c for c in rows[0] if c not in powers or c == power]
        part = f"{scratch}/{power}.csv"
        with open(part, "w", newline="", encoding="ascii") as f:
            writer = csv.DictWriter(f, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        yield power.removesuffix(POWER), part


def databases(scratch):
    """(name, component or None for all, database) of each recording."""
    tables = bench.shared("data/training")
    responses = bench.shared("data/prometheus")
    # AutoTrainer is slow, and its dynamic power never adds up.
    train = [bench.program("tallywatt"), "train", "--name", "p", "--folds", FOLDS,
             "--abs-trainers", ",".join(TRAINERS), "--dyn-trainers",
             ",".join(t for t in TRAINERS if t != "AutoTrainer")]
    for path in sorted(glob.glob(os.path.join(tables, "*.csv")))[:bench.quick(None, 1)]:
        _, _, source, group = os.path.basename(path).removesuffix(".csv").split("_")
        for component, part in components(path, scratch):
            db = f"{scratch}/{source}-{group}-{component}"
            bench.Run([*train, "--csv", f"{group}={part}", "--source", SOURCES[source],
                       "--model-db", db])
            yield "nx12", component, db
    for path in sorted(glob.glob(os.path.join(responses, "*.json")))[:bench.quick(None, 0)]:
        name = os.path.basename(path).removesuffix(".json")
        try:
            bench.Run([*train, "--input", path, "--model-db", f"{scratch}/{name}"])
        except bench.Failed as e:
            print(f"{name}: {e}")
            continue
        yield name, None, f"{scratch}/{name}"


def wanted(db):
    """(source, group, output): the features that the models have together."""
    found = {}
    for path in glob.glob(f"{db}/*/*/*/*/*/metadata.json"):
        with open(path, encoding="utf-8") as f:
            m = json.load(f)
        key = m["energy_source"], m["feature_group"], m["output_type"]
        found.setdefault(key, set()).update(m["features"])
    return {key: sorted(features) for key, features in sorted(found.items())}


def request(output, source, features):
    return {"metrics": features, "output_type": output, "source": source, "trainer_name": "",
            "filter": "", "system_features": [], "system_values": []}


def explained(server, asked):
    """(source, group, output), {trainer: yes, or the code of its failed test}"""
    connection = http.client.HTTPConnection(server.address, timeout=60)
    for (source, group, output), features in asked.items():
        connection.request("POST", "/model?explain=1",
                           json.dumps(request(output, source, features)))
        answer = json.loads(connection.getresponse().read())
        found = dict.fromkeys(TRAINERS, MISSING)
        for m in [*answer["candidates"], *filter(None, [answer["chosen"]])]:
            if m["feature_group"] == group:
                found[m["model_name"].rpartition("_")[0]] = \
                    REASONS.get(m["certificate"], OTHER)
        yield (source, group, output), found


def ask_server(server, asked):
    """Paths of the models that the server chooses: a zip, and the best of each group."""
    connection = http.client.HTTPConnection(server.address, timeout=60)
    for (source, group, output), features in asked.items():
        connection.request("POST", "/model", json.dumps(request(output, source, features)))
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == 200:
            with zipfile.ZipFile(io.BytesIO(body)) as z:
                m = json.loads(z.read("metadata.json"))
            yield source, m["feature_group"], output, m["trainer"]
        connection.request("GET", "/best-models?" + urllib.parse.urlencode(
            {"energy-source": source, "output-type": output, "feature-group": group}))
        answer = connection.getresponse()
        best = json.loads(answer.read())
        if answer.status == 200 and group in best.get(output, {}):
            yield source, group, output, best[output][group].rpartition("_")[0]


def ask_estimator(server, asked):
    path = os.path.join(os.path.dirname(server.ready), "socket")
    for (source, _, output), features in asked.items():
        row = [1000.0] * len(features)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(json.dumps({**request(output, source, features), "version": 2,
                                  "values": [row]}).encode() + b"\n")
            answer = json.loads(s.makefile().readline())
        if answer.get("model"):
            yield of_path(answer["origin"]["from"])


def ask_collector(server, _):
    """Models in use, after some ticks; none if the database has no certified one."""
    until = time.monotonic() + TICKS_S
    found = []
    while not found and time.monotonic() < until:
        time.sleep(0.2)
        connection = http.client.HTTPConnection(server.address, timeout=60)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        found = re.findall(r'tallywatt_model_info\{.*from="([^"]+)"', text)
    return [of_path(path) for path in found]


def of_path(path):
    """.../SOURCE/OUTPUT/GROUP/TRAINER_0.zip"""
    source, output, group, model = path.split("/")[-4:]
    return source, group, output, model.rpartition("_")[0]


def with_daemon(db, ask, asked, name, *options):
    """What ask() yields for a daemon of this database."""
    with bench.Scratch() as scratch:
        options = [o.replace("SCRATCH", scratch) for o in options]
        server = Server(scratch, bench.program(name), "--model-db", db, "--ready-file",
                        "READY", "--log-level", "error", *options)
        try:
            yield from ask(server, asked)
        finally:
            server.stop()


def defaults(db, asked):
    """(program, model) of the choices without a trainer's name."""
    programs = [("tw-server", ask_server, LOOPBACK),
                ("tw-estimator", ask_estimator, ("--socket", "SCRATCH/socket"))]
    # A group that tw-collector has features of on every machine.
    if ["bpf_cpu_time_ms"] in asked.values():
        programs.append(("tw-collector", ask_collector,
                         (*LOOPBACK, "--bpf", "off", "--meters", "model", "--interval",
                          "200ms", *(("--user", "root") if os.geteuid() == 0 else ()))))
    for name, ask, options in programs:
        yield from ((name, m) for m in with_daemon(db, ask, asked, name, *options))


def main():
    # The names of the trainers that this build has.
    built = bench.Run([bench.program("tallywatt"), "trainers"]).output
    for name in [t for t in TRAINERS if t not in built]:
        print(f"SKIPPED: {name}: not in this build")
        del TRAINERS[name]
    for name in bench.quick((), [t for t in TRAINERS if t not in QUICK_TRAINERS]):
        TRAINERS.pop(name, None)
    print("| data | group | output | " + " | ".join(TRAINERS.values()) + " |")
    print("|" + "---|" * (3 + len(TRAINERS)), flush=True)
    chosen, wrong, odd = {}, [], []
    with bench.Scratch() as scratch:
        for name, component, db in databases(scratch):
            asked = wanted(db)
            table = dict(with_daemon(db, explained, asked, "tw-server", *LOOPBACK))
            for (source, group, output), here in table.items():
                part = component or source.removesuffix("-sysfs")
                print(f"| {name} {part} | {group} | {output[:3]} | " +
                      " | ".join(here.values()) + " |", flush=True)
                odd += [(name, group, t) for t, v in here.items() if v == OTHER]
            for who, (source, group, output, trainer) in defaults(db, asked):
                chosen[who] = chosen.get(who, 0) + 1
                verdict = table[source, group, output].get(trainer)
                if verdict != YES:
                    wrong.append(f"{who}: {name} {source} {component} {group} {output}: {trainer}: "
                                 f"{verdict}")
    print("choices by default: " + ", ".join(f"{n} of {who}" for who, n in chosen.items()))
    for line in wrong:
        print(line)
    goals = bench.Goals()
    goals.right(f"choices without a certificate: {len(wrong)}", not wrong)
    goals.right(f"unknown reasons: {len(odd)}", not odd)
    for who in ("tw-server", "tw-estimator", "tw-collector"):
        goals.at_least(f"choices of {who}", chosen.get(who, 0), 1)
    goals.exit()


if __name__ == "__main__":
    main()
