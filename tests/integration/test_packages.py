# SPDX-License-Identifier: Apache-2.0
"""Machines of several packages: power and shares of each, and models as without them.

What a package draws and what is used of it is known by the generator. Joules are written to
a thousandth, by two modes, at both ends of a step of 3 s; use to a billionth.
"""
import csv
import io
import json
import os
import unittest
import zipfile

from harness import Case, call, content, run_tallywatt
import generate_response as generator

STEP_S, WINDOW = 3, 10
WATTS_OFF = 4 * 0.0005 / STEP_S + 1e-9
USE_OFF = 0.5e-9
GAUGE = generator.PACKAGE_USE
TRAINERS = "SGDRegressorTrainer,ExponentialRegressionTrainer,KNeighborsRegressorTrainer"


def read_rows(text):
    return [{name: v if name == "id" else float(v) for name, v in row.items()}
            for row in csv.DictReader(io.StringIO(text))]


def use_of(machine, number, i):
    """What a container used of each package at a sample, as it is written."""
    c = machine.containers[number]
    if not c.first <= i <= c.last:
        return [0.0] * machine.packages.count
    return [float(f"{v:.9f}") for v in machine.packages.use[number][i]]


def total(uses):
    """Package by package."""
    return [sum(parts) for parts in zip(*uses)]


def place_of(machine, row):
    return (int(row["timestamp"]) - generator.START_S) // STEP_S


class Packages(Case):
    def response(self, name, *machines):
        made = {}
        for machine in machines:
            for metric, series in generator.make_response(machine).items():
                made.setdefault(metric, []).extend(series)
        return self.write(name, generator.to_text(made))

    def extract(self, path, *more):
        return read_rows(self.tallywatt("extract", "--input", path, "--group", "BPFOnly",
                                        *more))

    def check_watts(self, machine, row, window=1):
        """Of each package, and their sum."""
        i = place_of(machine, row)
        for component in generator.COMPONENTS:
            whole = 0.0
            for u in range(machine.packages.count):
                metered = sum(machine.packages.watts[k - 1][component][u]
                              for k in range(i - window + 1, i + 1)) / window
                watts = row[f"package_{u}_{component}_power"]
                self.assertLessEqual(abs(watts - metered), WATTS_OFF, (i, component, u))
                whole += watts
            self.assertLessEqual(abs(whole - row[f"{component}_power"]), 1e-9)

    def check_shares(self, machine, row, numbers, window=1):
        """Of what these containers used in the window."""
        i = place_of(machine, row)
        use = total(use_of(machine, number, k) for number in numbers
                    for k in range(i - window + 1, i + 1))
        off = USE_OFF * window * len(use) * len(numbers) / sum(use) + 1e-12
        for u, used in enumerate(use):
            self.assertLessEqual(abs(row[f"packge_ratio_{u}"] - used / sum(use)), off)
        self.assertLessEqual(abs(row["package_usage"] - sum(use) / window), 1e-12)

    def check_node(self, machine, rows, window=1):
        self.assertNotIn("packge_ratio_package", rows[0])
        for row in rows:
            self.check_watts(machine, row, window)
            self.check_shares(machine, row, range(len(machine.containers)), window)

    def check_containers(self, machine, rows, window=1):
        numbers = {f"{c.id}/{c.pod}/{c.name}/default": n
                   for n, c in enumerate(machine.containers)}
        for row in rows:
            self.check_watts(machine, row, window)
            self.check_shares(machine, row, [numbers[row["id"]]], window)

    def test_power_and_shares_of_packages_are_the_true_ones(self):
        for packages in (1, 2, 3):
            machine = generator.Machine(samples=80, containers=6, packages=packages)
            path = self.response("r.json", machine)
            rows = self.extract(path)
            self.assertEqual(len(rows), 79)
            self.check_node(machine, rows)
            shares = [row["packge_ratio_0"] for row in rows]
            if packages > 1:
                self.assertGreater(max(shares) - min(shares), 0.3)

    def test_at_container_level_too(self):
        machine = generator.Machine(samples=80, containers=6, packages=2)
        path = self.response("r.json", machine)
        rows = self.extract(path, "--level", "container")
        self.check_containers(machine, rows)
        # Those and no others that used something.
        self.assertEqual(len(rows), sum(
            sum(use_of(machine, n, i)) > 0 for n in range(6) for i in range(80)))

    def test_smoothed_they_are_those_of_the_window(self):
        machine = generator.Machine(samples=80, containers=6, packages=2)
        path = self.response("r.json", machine)
        smooth = ("--extractor", "smooth", "--smooth-window", str(WINDOW))
        rows = self.extract(path, *smooth)
        self.assertEqual(len(rows), 79 - WINDOW + 1)
        self.check_node(machine, rows, WINDOW)
        self.check_containers(machine, self.extract(path, "--level", "container", *smooth),
                              WINDOW)

    def test_several_machines_have_their_own(self):
        machines = [generator.Machine(samples=50, seed=seed, name=name, packages=packages)
                    for seed, name, packages in ((3, "a", 2), (4, "b", 3), (5, "c", None))]
        both = self.response("all.json", *machines)
        for level in ("node", "container"):
            for machine in machines:
                alone = self.response("one.json", machine)
                of_all = ("extract", "--group", "BPFOnly", "--level", level, "--machine",
                          machine.name, "--input", both)
                one = ("extract", "--group", "BPFOnly", "--level", level, "--input", alone)
                self.assertEqual(self.tallywatt(*of_all), self.tallywatt(*one))
        rows = self.extract(both, "--machine", "b")
        self.check_node(machines[1], rows)
        self.assertEqual(self.extract(both, "--machine", "c")[0]["packge_ratio_package"], 1)

    def test_a_package_without_power_is_reported_and_left_out(self):
        machine = generator.Machine(samples=40, packages=2)
        made = generator.make_response(machine)
        before = self.write("before.json", generator.to_text(made))
        stranger = json.loads(json.dumps(made[GAUGE][0]))
        stranger["metric"]["pkg_id"] = "5"
        made[GAUGE].append(stranger)
        done = run_tallywatt("extract", "--group", "BPFOnly", "--input",
                             self.write("after.json", generator.to_text(made)))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.decode().splitlines()[0],
                         f"{GAUGE}: no power series of pkg_id '5': left out")
        self.assertEqual(done.stdout.decode(), self.tallywatt(
            "extract", "--group", "BPFOnly", "--input", before))

    def test_isolated_packages_add_up_to_the_isolated_power(self):
        machine = generator.Machine(samples=80, packages=2)
        path = self.response("r.json", machine)
        node = self.extract(path)
        for isolator in ("MinIdleIsolator", "IdleRegressionIsolator", "NoneIsolator"):
            rows = read_rows(self.tallywatt("isolate", "--isolator", isolator, "--input",
                                            path, "--group", "BPFOnly"))
            self.assertEqual(len(rows), len(node))
            for row, before in zip(rows, node):
                for component in generator.COMPONENTS:
                    parts = [row[f"package_{u}_{component}_power"] for u in range(2)]
                    self.assertAlmostEqual(sum(parts), row[f"{component}_power"], places=9)
                # Rows of containers come to the node's.
                for name in ("packge_ratio_0", "packge_ratio_1", "package_usage"):
                    self.assertAlmostEqual(row[name], before[name], places=12)


class Training(Case):
    """Models are of the node, whose power is the packages' sum: the gauge is no part."""

    def setUp(self):
        super().setUp()
        self.made = {}
        for seed, name in ((3, "a"), (4, "b")):
            machine = generator.Machine(samples=60, seed=seed, name=name, packages=2)
            for metric, series in generator.make_response(machine).items():
                self.made.setdefault(metric, []).extend(series)
        self.without = {m: s for m, s in self.made.items() if m != GAUGE}

    def models(self, files):
        """Those parts of a pipeline that say nothing of when it was made."""
        parts = {n: d for n, d in files.items() if "/" in n and n.endswith(".json")
                 and os.path.basename(n) != "metadata.json"}
        self.assertTrue([n for n in parts if "AbsPower" in n])
        self.assertTrue([n for n in parts if "DynPower" in n])
        return parts

    def train(self, name, *what):
        self.tallywatt("train", *what, "--name", name, "--source", "rapl-sysfs",
                       "--trainers", TRAINERS, "--model-db", self.path("db"))
        return self.models(content(self.path("db", name)))

    def test_models_are_the_same_with_and_without_the_gauge(self):
        for more in ((), ("--extractor", "smooth", "--smooth-window", "5")):
            pipelines = []
            for response in (self.made, self.without):
                path = self.write("r.json", generator.to_text(response))
                pipelines.append(self.train(f"p{len(pipelines)}{len(more)}", "--input",
                                            path, *more))
            self.assertEqual(*pipelines)

    def test_posted_responses_give_the_same_models_too(self):
        trainer = self.start_http("tw-trainer")
        pipelines = []
        for response in (self.made, self.without):
            answer = call(trainer, "POST", "/train", {
                "name": "p", "energy_source": "rapl-sysfs", "prom_response": response,
                "trainer": {"abs_trainers": TRAINERS.split(","),
                            "dyn_trainers": TRAINERS.split(","), "isolator_args": {},
                            "isolator": "MinIdleIsolator", "idle_prom_response": None}})
            self.assertEqual(answer.status, 200, answer.body[:300])
            with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
                pipelines.append(self.models({n: z.read(n) for n in z.namelist()}))
        self.assertEqual(*pipelines)

    def test_tables_with_and_without_packages_train_alike(self):
        path = self.write("r.json", generator.to_text(self.made))
        text = self.tallywatt("extract", "--group", "BPFOnly", "--machine", "a", "--level",
                              "container", "--input", path)
        rows = list(csv.reader(io.StringIO(text)))
        kept = [i for i, name in enumerate(rows[0]) if not name.startswith(
            ("package_0", "package_1", "packge_", "package_usage"))]
        self.assertLess(len(kept), len(rows[0]) - 9)
        self.write("with.csv", text)
        self.write("without.csv", "".join(
            ",".join(row[i] for i in kept) + "\n" for row in rows))
        self.assertEqual(*(self.train(name, "--group", "BPFOnly", "--csv",
                                      self.path(f"{name}.csv"))
                           for name in ("with", "without")))


if __name__ == "__main__":
    unittest.main()
