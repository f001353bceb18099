# SPDX-License-Identifier: Apache-2.0
"""Kepler's power from our models: kepler_client.py asks tw-server and tw-estimator.

A case is one configured power model of one Kepler release: weights or socket, node or
processes, energy source, trainer's name or the default, feature filter, with or without
hardware counters. Each case has one outcome, the worst of:

    ok       power rises with load, and idle containers draw nothing
    refused  no such model: Kepler uses the weights in its own image
    UNREAD   the release cannot parse the answer
    IDLE     all idle containers together draw more than 0.1 W
    ZERO     a loaded node or container draws nothing, or a node no more than at rest
    WRAP     a negative power: 1.8e16 W in Kepler
    PANIC    Kepler crashes

A client that names a trainer over the socket may get a model that is not additive: the table
shows its IDLE and ZERO. Weights and defaults must be right.
"""
import collections
import glob
import json
import os
import random
import shutil
import socket
import tempfile
import unittest
import zipfile
from unittest import mock

import kepler_client as kepler
from harness import (GENERATED, QUICK, ROOT, SLOW, Case, Daemon, built_trainers, need,
                     read_json, train_generated)
from scripted_vm import Machine

SHIPPED = os.path.join(ROOT, "model-db/models")
SPEC = {"vendor": "authenticamd", "processor": "amd_epyc", "cores": 2, "chips": 1,
        "memory": 23, "frequency": 2600, "threads_per_core": 1}
# Rates of one busy CPU, of plain computing.
PER_CPU = {"cpu_cycles": 2.6e9, "cpu_instructions": 3.1e9, "cache_miss": 1e7,
           "bpf_cpu_time_ms": 1000.0, "bpf_page_cache_hit": 100.0, "bpf_net_rx_irq": 60.0,
           "bpf_net_tx_irq": 8.0, "bpf_block_irq": 15.0}
COUNTERS = {"cpu_cycles", "cpu_instructions", "cache_miss"}
TREES = ("XgboostFitTrainer", "GradientBoostingRegressorTrainer")
# kepler-model-server's estimator loads models of these, the last two as files of XGBoost.
LOADED = (*TREES, "LinearRegressionTrainer", kepler.LINEAR)
WEIGHTS, SOCKET = "weights", "socket"
IDLE_CONTAINERS, EQUAL_CONTAINERS = 30, 20
# AutoTrainer takes as long as a hundred trainers: it trains one feature group, and none in
# sanitizer builds. These judge models by two folds: the models are the same.
FEW_FOLDS = ("--folds", "2") if QUICK else ()


def busy(cpus, **times):
    return {f: rate * cpus * times.get(f, 1.0) for f, rate in PER_CPU.items()}


def computing(cpus):
    """No network and no disk: Kepler rounds such small rates down to whole events."""
    return busy(cpus, bpf_net_rx_irq=0, bpf_net_tx_irq=0, bpf_block_irq=0)


class Model:
    """The properties by which a client asks for a model."""

    def __init__(self, path):
        with zipfile.ZipFile(path) as z:
            metadata = json.loads(z.read("metadata.json"))
        self.trainer = metadata["trainer"]
        self.use = {v: k for k, v in kepler.OUTPUT.items()}[metadata["output_type"]]
        self.source = kepler.PLATFORM if metadata["energy_source"] == "acpi" \
            else kepler.COMPONENTS
        self.features = tuple(metadata["features"])


class Database:
    """A directory of pipelines that is served alone."""

    def __init__(self, name, path):
        self.name, self.path = name, path
        self.models = [Model(p)
                       for p in sorted(glob.glob(os.path.join(path, "*/*/*/*/*.zip")))]

    def without_counters(self, use, source, trainer=""):
        """Models for machines without counters."""
        return [m for m in self.models
                if (m.use, m.source) == (use, source) and trainer in ("", m.trainer) and
                not COUNTERS & set(m.features)]

    def full_load(self):
        """The largest rate of each feature that the models have seen: linear weights'
        scales."""
        seen = {}
        names = os.path.join(self.path, "*/*/*/*/LinearRegressionTrainer_*.json")
        for path in glob.glob(names):
            for part in read_json(path).values():
                if not isinstance(part, dict) or "All_Weights" not in part:
                    continue
                for feature, v in part["All_Weights"]["Numerical_Variables"].items():
                    seen[feature] = max(seen.get(feature, 0.0), v["scale"])
        cpus = seen.get("cpu_cycles", 0.0) / PER_CPU["cpu_cycles"]
        cpus = max(cpus, seen.get("bpf_cpu_time_ms", 0.0) / 1000)
        return {**busy(max(cpus, 2.0)), **seen}


def node_loads(full):
    return {"at rest": (busy(0.02), False), "two busy CPUs": (busy(2.0), True),
            "half of the range": ({f: v / 2 for f, v in full.items()}, True),
            "the whole range": (full, True)}


def containers_of(full):
    """Idle containers, two that compute, and containers with one kind of work: their power
    is negative first if a weight is."""
    return [*((f"idle {i}", {}, False) for i in range(IDLE_CONTAINERS)),
            ("300 ms/s", busy(0.3), True), ("1000 ms/s", busy(1.0), True),
            ("a receiver", {**busy(0.3), "bpf_net_rx_irq": full["bpf_net_rx_irq"] / 2}, False),
            ("a sender", {**busy(0.3), "bpf_net_tx_irq": full["bpf_net_tx_irq"] / 2}, False),
            ("a writer", {**busy(0.3), "bpf_block_irq": full["bpf_block_irq"] / 2,
                          "bpf_page_cache_hit": full["bpf_page_cache_hit"] / 2}, False),
            ("one that waits for memory", busy(0.3, cache_miss=5, cpu_instructions=0.2),
             False)]


class Result:
    """A case and its outcome."""

    def __init__(self, db, transport, client, outcome, detail):
        self.db = db
        self.transport, self.release = transport, client.release.name
        self.use, self.source, self.counters = client.use, client.source, client.counters
        self.trainer, self.filter = client.trainer, client.filter
        self.first = client.metrics[0]
        self.features = {kepler.OLD_NAMES.get(m, (m,))[0] for m in client.metrics}
        self.outcome, self.detail = outcome, detail

    def lost(self):
        """The models of nx12 are not certified for machines without counters. Alone they are
        no answer for such a machine under load."""
        return not self.counters and self.db.name.startswith("nx12")

    def strict(self):
        return self.transport == WEIGHTS or not self.trainer

    def __str__(self):
        return (f"{self.outcome} {self.db.name} {self.transport} {self.release} {self.use} "
                f"{self.source} {'' if self.counters else 'VM '}{self.trainer or '(default)'} "
                f"{self.filter} {self.first} first: {self.detail}")


def cases_of(db):
    """(transport, arguments of a client) of each case."""
    wanted = collections.defaultdict(set)  # use, source, trainer -> sets of features
    for m in db.models:
        for trainer in ("", m.trainer):
            wanted[m.use, m.source, trainer] |= {(), m.features}
    for (use, source, trainer), sets in sorted(wanted.items()):
        usable = db.without_counters(use, source, trainer)
        for features in sorted(sets):
            yield from cases_with(use, source, trainer, features, True)
            # Without counters, a filter for counters makes no sense.
            if not COUNTERS & set(features):
                yield from (case for case in cases_with(use, source, trainer, features, False)
                            # These list counters that they lack. If all models need
                            # counters, no server can answer them right.
                            if case[1]["release"] not in ("0.5.3", "0.6", "0.9") or
                            any(set(m.features) <= known_to(case[1]["release"])
                                for m in usable))


def known_to(release):
    """The features that a release can send."""
    metrics = kepler.RELEASES[release].metrics(True, random.Random(1))
    return {kepler.OLD_NAMES.get(metric, (metric,))[0] for metric in metrics}


def cases_with(use, source, trainer, features, counters):
    filter_ = f"features:{','.join(features)}" if features else ""
    more = {"use": use, "source": source, "trainer": trainer, "filter_": filter_,
            "counters": counters, "spec": SPEC}
    for release in kepler.RELEASES:
        if release == "0.5.3" and trainer:
            continue  # its requests have no trainer's name
        # Clients take the first metric for a curve's feature; its place is random.
        firsts = [None]
        if trainer in kepler.CURVES and release in ("0.7.11", "0.7.12") and not features:
            firsts = sorted(PER_CPU if counters else set(PER_CPU) - COUNTERS)
        for first in firsts:
            yield WEIGHTS, {"release": release, "first": first, **more}
    for release in ("0.6", "0.7.11", "0.7.12", "0.9"):
        if release == "0.7.12" or not features:
            yield SOCKET, {"release": release, **more}


class Keplers:
    """The daemons that serve a database, and clients that ask them."""

    def __init__(self, db, stem):
        self.db, self.path = db, stem + ".socket"
        self.daemons = []
        try:
            for program, args in (("tw-server", ["--listen", "127.0.0.1:0"]),
                                  ("tw-estimator", ["--socket", self.path])):
                self.daemons.append(Daemon(f"{stem}-{program}", program,
                                           ["--model-db", db.path, *args]))
        except AssertionError:
            self.stop()
            raise
        full = db.full_load()
        self.loads, self.containers = node_loads(full), containers_of(full)

    def stop(self):
        for daemon in self.daemons:
            daemon.stop()

    def ask(self, transport, more):
        where = {WEIGHTS: (kepler.Regressor, self.daemons[0].address),
                 SOCKET: (kepler.Sidecar, self.path)}
        kind, place = where[transport]
        client = kind(place, **more)
        return Result(self.db, transport, client,
                      *kepler.use(client, self.loads, self.containers))

    def ask_all(self):
        return [self.ask(*case) for case in cases_of(self.db)]


def print_table(title, results):
    columns = [(t, r) for t in (WEIGHTS, SOCKET) for r in kepler.RELEASES
               if any((x.transport, x.release) == (t, r) for x in results)]
    cells = collections.defaultdict(collections.Counter)
    for r in results:
        cells[r.trainer, (r.transport, r.release)][r.outcome] += 1
    print(f"\n{title}: outcomes by trainer and release")
    names = sorted({r.trainer for r in results})
    for name in names:
        print(f"  {name or '(default)'}")
        for column in columns:
            if counted := cells[name, column]:
                text = ", ".join(f"{counted[o]} {o}" for o in kepler.OUTCOMES if counted[o])
                print(f"    {' '.join(column):15} {text}")
    total = collections.Counter(r.outcome for r in results)
    print("  all: " + ", ".join(f"{total[o]} {o}" for o in kepler.OUTCOMES if total[o]))


class Served:
    """Tests of any databases. Derived classes call ask_for() in setUpClass()."""
    dbs = results = ()

    @classmethod
    def ask_for(cls, title, dbs):
        """Each database is served alone. The first has a good model for every default."""
        stem = tempfile.mkdtemp(prefix="tw-kepler-")
        cls.addClassCleanup(shutil.rmtree, stem)
        cls.dbs, cls.results = dbs, []
        for i, db in enumerate(dbs):
            keplers = Keplers(db, os.path.join(stem, str(i)))
            cls.addClassCleanup(keplers.stop)
            cls.results += keplers.ask_all()
        print_table(title, cls.results)

    def none(self, outcome, among):
        self.report([r for r in among if r.outcome == outcome], among)

    def report(self, bad, among):
        if bad:
            self.fail("\n".join([f"{len(bad)} of {len(among)} cases:",
                                 *map(str, bad[:20])]))

    def test_kepler_never_panics(self):
        self.none(kepler.PANIC, self.results)

    def test_no_power_is_negative(self):
        self.none(kepler.WRAP, self.results)

    def test_every_answer_can_be_read(self):
        self.none(kepler.UNREAD, [r for r in self.results if not r.lost()])

    def test_load_draws_power(self):
        self.none(kepler.ZERO, [r for r in self.results if r.strict()])

    def test_idle_containers_draw_no_power(self):
        self.none(kepler.IDLE, [r for r in self.results if r.strict()])

    def test_a_default_sidecar_is_answered(self):
        """If the first request of a sidecar for processes fails, Kepler crashes later: it
        uses a nil model."""
        self.none(kepler.REFUSED, [
            r for r in self.results if r.db is self.dbs[0] and r.transport == SOCKET and
            not r.trainer and not r.filter and r.counters])

    def test_a_virtual_machine_draws_power(self):
        """0.6 has no bpf_page_cache_hit, which some models need."""
        machines = [r for r in self.results if not r.counters and r.use == kepler.NODE and
                    not r.trainer and not r.filter and
                    r.release in ("0.6", "0.7.11", "0.7.12", "0.9") and
                    any(set(m.features) <= r.features
                        for m in r.db.without_counters(r.use, r.source))]
        self.assertEqual({r.outcome for r in machines if r.lost()} -
                         {kepler.REFUSED, kepler.UNREAD}, set())
        machines = [r for r in machines if not r.lost()]
        if self.dbs[0].path == SHIPPED:
            self.assertEqual({r.release for r in machines}, {"0.6", "0.7.11", "0.7.12", "0.9"})
        self.assertTrue(machines)
        self.report([r for r in machines if r.outcome != kepler.OK], machines)


class Shipped(Served, unittest.TestCase):
    """The shipped models: all in one database, and each pipeline alone."""

    @classmethod
    def setUpClass(cls):
        top = tempfile.mkdtemp(prefix="tw-kepler-")
        cls.addClassCleanup(shutil.rmtree, top)
        dbs = [Database("all", SHIPPED)]
        for pipeline in sorted(os.listdir(SHIPPED)):
            if os.path.isdir(os.path.join(SHIPPED, pipeline)):
                alone = os.path.join(top, pipeline)
                shutil.copytree(os.path.join(SHIPPED, pipeline), os.path.join(alone, pipeline))
                dbs.append(Database(pipeline, alone))
        cls.ask_for("shipped models", dbs)


class Containers(Case):
    """Kepler's containers with the shipped models and the default choice: 30 are idle, 20 have
    the same load, and a row has the load of all, as Kepler sends it."""

    def setUp(self):
        super().setUp()
        self.keplers = Keplers(Database("all", SHIPPED), self.path("kepler"))
        self.addCleanup(self.keplers.stop)

    def clients(self):
        where = (("weights", kepler.Regressor, self.keplers.daemons[0].address),
                 ("socket", kepler.Sidecar, self.keplers.path))
        for name, kind, place in where:
            for release in ("0.6", "0.7.11", "0.7.12", "0.9"):
                for source in (kepler.COMPONENTS, kepler.PLATFORM):
                    for counters in (True, False):
                        yield (f"{name} {release} {source} {'' if counters else 'VM'}",
                               kind(place, release, kepler.PROCESS, source,
                                    counters=counters, spec=SPEC))

    def test_idle_ones_get_nothing_and_equal_ones_the_dynamic_power(self):
        cpus = SPEC["cores"]
        for what, client in self.clients():
            client.start()
            rows = [*([client.row({})] * IDLE_CONTAINERS),
                    *([client.row(computing(cpus / EQUAL_CONTAINERS))] * EQUAL_CONTAINERS),
                    client.row(computing(cpus))]
            watts = [(kepler.main_mw(p) + p.get("dram", 0)) / 1000
                     for p in client.powers(rows, False)]
            idle, equal = sum(watts[:IDLE_CONTAINERS]), sum(watts[IDLE_CONTAINERS:-1])
            print(f"{what}: {IDLE_CONTAINERS} idle {idle:.3f} W, {EQUAL_CONTAINERS} equal "
                  f"{equal:.2f} W, all at once {watts[-1]:.2f} W")
            self.assertGreater(watts[-1], 1, what)
            self.assertLess(idle, 0.5, what)
            self.assertAlmostEqual(equal / watts[-1], 1, delta=0.05, msg=what)


class DefaultTrainer(Case):
    """Kepler 0.7.9 to 0.7.11 names SGDRegressorTrainer to the estimator, too, if its user names
    no trainer: as 0.7.12 does to the server, it means any linear model."""
    spec = {"vendor": "authenticamd", "processor": "amd_epyc", "cores": 2}

    def setUp(self):
        super().setUp()
        self.server = self.start_http("tw-server", "--model-db", SHIPPED)

    def estimator(self, name, *args):
        path = self.path(name + ".socket")
        self.start("tw-estimator", "--socket", path, "--shipped-models", "",
                   *Machine(self.path("machine"), self.spec["cores"], 1).args, *args)
        return path

    @staticmethod
    def powers(client):
        client.start()
        rows = [client.row(busy(cpus)) for cpus in (0, 1, 2)]
        return client.powers(rows, True)[:1] + client.powers(rows, False)

    def test_a_virtual_machine_has_the_same_power_by_both(self):
        ways = {"database": self.estimator("db", "--model-db", SHIPPED),
                "server": self.estimator("net", "--model-server",
                                         f"http://{self.server.address}")}
        for source in (kepler.PLATFORM, kepler.COMPONENTS):
            more = {"use": kepler.NODE, "source": source, "counters": False, "spec": self.spec}
            want = self.powers(kepler.Regressor(self.server.address, "0.7.12", **more))
            for way, path in ways.items():
                got = self.powers(kepler.Sidecar(path, "0.7.11", **more))
                print(f"{source} by the estimator's {way}: at rest "
                      f"{kepler.main_mw(got[0]) / 1000} W, by the server's weights "
                      f"{kepler.main_mw(want[0]) / 1000} W")
                for one, other in zip(got, want, strict=True):
                    for name, mw in other.items():
                        self.assertAlmostEqual(one[name], mw, delta=2, msg=f"{way} {name}")

    def test_a_client_that_chose_it_gets_the_trainer_s_model(self):
        path = self.estimator("db", "--model-db", SHIPPED)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            s.sendall(json.dumps({
                "version": 2, "metrics": ["bpf_cpu_time_ms"], "values": [[0.0]],
                "output_type": "AbsPower", "source": "acpi", "system_features": [],
                "system_values": [], "trainer_name": "SGDRegressorTrainer"}).encode())
            answer = json.loads(s.makefile().readline())
        self.assertEqual(answer["model"], "SGDRegressorTrainer_0")


class Trained(Served, unittest.TestCase):
    """Models of every trainer in this build, and DynPower models that include idle power
    (NoneIsolator)."""

    @classmethod
    def setUpClass(cls):
        db = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, db)
        trainers = built_trainers()
        plain = [t for t in trainers if t != SLOW]
        train_generated(os.path.join(db, "all"), trainers=plain, more=FEW_FOLDS)
        if SLOW in trainers and not QUICK:
            train_generated(os.path.join(db, "all"), name="slow", trainers=[SLOW],
                            more=("--group", "BPFOnly", "--source", "rapl-sysfs",
                                  "--folds", "2"))
        train_generated(os.path.join(db, "whole"), name="whole", trainers=plain,
                        more=("--isolator", "NoneIsolator", "--source", "rapl-sysfs",
                              "--group", "BPFOnly", *FEW_FOLDS))
        cls.ask_for("models trained from " + os.path.basename(GENERATED["0.7"]),
                    [Database(name, os.path.join(db, name)) for name in ("all", "whole")])


class ModelServersEstimator(Case):
    """kepler-model-server's own estimator of each release loads what tw-server sends."""

    def check(self, db):
        """A model of each energy source, output and trainer, and for a client that names no trainer."""
        server = self.start_http("tw-server", "--model-db", db.path)
        found = {(m.use, m.source, trainer) for m in db.models if m.trainer in LOADED
                 for trainer in ("", m.trainer)}
        self.assertTrue(found)
        for release in ("0.7.7", "0.7.12"):
            estimator = kepler.PythonEstimator(server.address, release)
            for use, source, trainer in sorted(found):
                files = estimator.fetch(list(PER_CPU), kepler.OUTPUT[use], source, trainer,
                                        spec=SPEC)
                metadata = estimator.load(files)
                print(f"{db.name} {release} {use} {source} {trainer}: {metadata['model_name']}")
                # 0.7.12 divides its cores by those of the model.
                self.assertEqual("machine_spec" in metadata, release == "0.7.12", release)

    def test_the_shipped_models(self):
        self.check(Database("shipped", SHIPPED))

    def test_models_that_were_just_trained(self):
        trainers = [t for t in built_trainers() if t in TREES]
        need("xgboost", trainers)
        train_generated(self.path("db"), trainers=[*trainers, kepler.LINEAR],
                        more=("--cores", "4", *FEW_FOLDS))
        self.check(Database("trained", self.path("db")))
        self.check_files(self.path("db"))

    def test_models_of_older_files(self):
        """Their data_quality is in metadata.json."""
        shutil.copytree(os.path.join(SHIPPED, "nx12-acpi"), self.path("db/nx12-acpi"))
        for path in glob.glob(self.path("db/*/*/*/*/*.zip")):
            with zipfile.ZipFile(path) as z:
                files = {name: z.read(name) for name in z.namelist()}
            details = json.loads(files.pop("details.json", b"{}"))
            files["metadata.json"] = json.dumps({
                **json.loads(files["metadata.json"]), "data_quality": [{"rows": 9}],
                **details}).encode()
            with zipfile.ZipFile(path, "w") as z:
                for name, data in files.items():
                    z.writestr(name, data)
        self.check(Database("older", self.path("db")))

    def test_files_without_a_server(self):
        """Its estimator also takes zips from a URL."""
        self.check_files(SHIPPED)

    def check_files(self, db):
        estimator = kepler.PythonEstimator("", "0.7.12")
        zips = glob.glob(os.path.join(db, "*/*/*/*/*.zip"))
        self.assertTrue(zips)
        for path in zips:
            with zipfile.ZipFile(path) as z:
                estimator.check(json.loads(z.read("metadata.json")))

    def test_an_unknown_machine_gets_the_prior(self):
        server = self.start_http("tw-server", "--model-db", SHIPPED)
        estimator = kepler.PythonEstimator(server.address, "0.7.12")
        for spec in ({"processor": "amd_epyc_7713", "cores": 256, "chips": 2, "memory": 512,
                      "threads_per_core": 2}, {"cores": 8}):
            metadata = estimator.load(estimator.fetch(list(PER_CPU), "AbsPower", "acpi", spec=spec))
            self.assertIn("prior_view", metadata)


class KnownAnswers(Case):
    """The client against powers that Kepler 0.7.12 itself computed, and its faults."""

    def powers(self, name, weights, spec=None, categorical=None):
        answer = {"model_name": name, "platform": {"All_Weights": {
            **weights, "Categorical_Variables": categorical or {}}}}
        if spec:
            answer["machine_spec"] = spec
        client = kepler.Regressor("", "0.7.12", kepler.NODE, kepler.PLATFORM, spec=SPEC)
        client.metrics = ["bpf_cpu_time_ms"]
        with mock.patch.object(client, "post", lambda _: (200, json.dumps(answer))):
            client.start()
        return [client.powers([[1000.0]], idle)[0]["platform"] for idle in (False, True)]

    def curve(self, name, numbers, numerical=None):
        return self.powers(name, {"CurveFit_Weights": numbers, "Numerical_Variables":
                                  numerical or {"bpf_cpu_time_ms": {"scale": 1000}}})

    def test_linear_weights_and_the_core_ratio(self):
        weights = {"Bias_Weight": 10, "Numerical_Variables": {
            "bpf_cpu_time_ms": {"scale": 1000, "weight": 20}}}
        name, value = kepler.ARCHITECTURE
        self.assertEqual(self.powers("SGDRegressorTrainer_0", weights, {"cores": 4},
                                     {name: {value: {"weight": 2.5}}}), [32500, 6250])

    def test_curves(self):
        for name, numbers, wanted in (
                ("ExponentialRegressionTrainer_0", [2, 1.5, 7], [15963, 9000]),
                ("LogarithmicRegressionTrainer_0", [3, 4, 7], [11828, 7000]),
                ("LogisticRegressionTrainer_0", [30, 0.5, 8, 7], [36460, 7539])):
            self.assertEqual(self.curve(name, numbers), wanted)

    def test_a_curve_takes_the_first_metric_for_its_own(self):
        self.assertEqual(self.curve("ExponentialRegressionTrainer_0", [2, 1.5, 7],
                                    {"cpu_cycles": {"scale": 1000}}), [9000, 9000])

    def test_curves_that_end_kepler(self):
        for name, numbers in (("ExponentialRegressionTrainer_0", [1, 2]),
                              ("ExponentialRegressionTrainer", [1, 2, 3]),
                              ("LogisticRegressionTrainer_0", [1, 2, 3])):
            with self.assertRaises(kepler.Panic):
                self.curve(name, numbers)

    def test_negative_watts_wrap(self):
        weights = {"Bias_Weight": 1, "Numerical_Variables": {
            "bpf_cpu_time_ms": {"scale": 1000, "weight": -3}}}
        self.assertEqual(self.powers("SGDRegressorTrainer_0", weights)[0], 2 ** 64 - 2000)
        self.assertEqual(kepler.to_uint64(-0.9), 0)

    def test_other_types_are_not_read(self):
        for weights, spec in (({"Bias_Weight": [1]}, None), ({}, {"cores": 4.0}),
                              ({"Numerical_Variables": {"a": {"scale": "1"}}}, None)):
            with self.assertRaises(kepler.Unread):
                self.powers("SGDRegressorTrainer_0", weights, spec)
        with self.assertRaises(kepler.Unread):
            kepler.RELEASES["0.7.11"].predictors({"mae": 1.5}, "")

    def test_missing_powers_end_kepler(self):
        client = kepler.Sidecar("", "0.7.12", kepler.PROCESS, kepler.COMPONENTS)
        for powers, wanted in (({}, kepler.PANIC), ({"package": []}, kepler.PANIC),
                               ({"package": [1.0] * 2}, kepler.OK)):
            with mock.patch.object(client, "watts", lambda rows, p=powers: p):
                got, _ = kepler.use(client, {}, [("a container", busy(1.0), True)])
            self.assertEqual(got, wanted)

    def test_no_estimator_is_a_refusal(self):
        path = self.path("socket")
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
            client = kepler.Sidecar(path, "0.7.12", kepler.NODE, kepler.COMPONENTS)
            with self.assertRaises(kepler.Refused):
                client.start()  # nobody listens


if __name__ == "__main__":
    unittest.main()
