# SPDX-License-Identifier: Apache-2.0
"""The same simulated machine by the names of several exporters, and several machines."""
import json
import os
import unittest

from harness import Case, tree
import generate_response as generator

# Names of the generator, and the feature groups that they give.
EXPORTERS = {"0.7": ("BPFOnly",), "0.10": ("BPFOnly",), "node-exporter": ("NodeCPU",),
             "tallywatt": ("BPFOnly", "NodeCPU", "CounterOnly")}
TRAINERS = ("LinearRegressionTrainer", "SGDRegressorTrainer")
COMPONENTS = ("package", "core", "dram")


def columns(text):
    """Name -> numbers, of what `tallywatt estimate` prints."""
    head, *rows = (line.split() for line in text.splitlines())
    return {name: [float(row[i]) for row in rows] for i, name in enumerate(head)}


class Schemas(Case):
    def response(self, exporter, **machine):
        made = generator.make_response(generator.Machine(alike=True, **machine), exporter)
        return self.write(f"{exporter}.json", generator.to_text(made))

    def train(self, path, name, *more):
        self.tallywatt("train", "--input", path, "--name", name, "--source", "rapl-sysfs",
                       "--trainers", ",".join(TRAINERS), "--model-db", self.path("db"),
                       *more)

    def watts(self, exporter, group, output, trainer, path):
        """Watts that the model gives for the rows that it was trained on."""
        rows = self.path("rows.csv")
        self.tallywatt("extract", "--input", path, "--group", group, "--output", rows)
        model = self.path("db", f"{exporter}-{group}", "rapl-sysfs", output, group,
                          f"{trainer}_0")
        return columns(self.tallywatt("estimate", "--model", model, "--csv", rows))

    def test_the_same_machine_trains_to_the_same_watts_by_any_exporter(self):
        # Processor time comes in ticks of 10 ms: a longer step makes less of them.
        paths = {e: self.response(e, samples=200, step_s=10) for e in EXPORTERS}
        pairs = [(e, group) for e, groups in EXPORTERS.items() for group in groups]
        for exporter, group in pairs:
            self.train(paths[exporter], f"{exporter}-{group}", "--group", group)
        for trainer in TRAINERS:
            whole = self.watts("0.7", "BPFOnly", "AbsPower", trainer, paths["0.7"])
            for output in ("AbsPower", "DynPower"):
                legacy = self.watts("0.7", "BPFOnly", output, trainer, paths["0.7"])
                for exporter, group in pairs[1:]:
                    ours = self.watts(exporter, group, output, trainer, paths[exporter])
                    for component in COMPONENTS:
                        self.same(legacy[component], ours[component], whole[component],
                                  f"{exporter} {group} {trainer} {output} {component}")

    def same(self, legacy, ours, whole, what):
        self.assertEqual(len(legacy), len(ours), what)
        worst = max(abs(a - b) / w for a, b, w in zip(legacy, ours, whole))
        mean = abs(sum(ours) / sum(legacy) - 1)
        print(f"{what}: worst row {100 * worst:.2f} % of the power, mean {100 * mean:.3f} %")
        self.assertLess(worst, 0.01, what)
        self.assertLess(mean, 0.01, what)

    def test_metrics_of_another_exporter_are_features_by_name(self):
        names = "other_io_bytes_total,other_fan_rpm,other_memory_bytes"
        machine = generator.Machine(samples=60)
        path = self.write("other.json", generator.to_text(generator.add_thirdparty(
            machine, generator.make_response(machine))))
        head, *rows = (line.split(",") for line in self.tallywatt(
            "extract", "--input", path, "--group", "CounterOnly", "--thirdparty-metrics",
            names).splitlines())
        self.assertEqual(head[:7], [
            "timestamp", "cache_miss", "cpu_cycles", "cpu_instructions", "other_fan_rpm",
            "other_io_bytes_total", "other_memory_bytes"])
        self.assertEqual(len(rows), 59)
        for i, row in enumerate(rows, 1):
            # Both fans' mean, both disks' sum, and the sum over the containers.
            alive = sum((1 + i - c.first) * 1e6 for c in machine.containers
                        if c.first <= i <= c.last)
            self.assertEqual([float(v) for v in row[4:7]],
                             [1000.5 + 10 * (i % 7), 2 * 4096 / 3, alive])

    def test_declared_gauges_are_means_over_each_step(self):
        machine = generator.Machine(samples=60)
        path = self.write("other.json", generator.to_text(generator.add_thirdparty(
            machine, generator.make_response(machine))))
        command = ("--group", "CounterOnly", "--thirdparty-metrics", "other_fan_rpm",
                   "--gauges")
        _, *rows = (line.split(",") for line in self.tallywatt(
            "extract", "--input", path, *command, "other_fan_rpm").splitlines())
        for i, row in enumerate(rows, 1):
            self.assertAlmostEqual(float(row[4]),
                                   1000.5 + 5 * (i % 7) + 5 * ((i - 1) % 7), places=6)
        for program in ("extract", "train"):
            text = self.refused(program, "--input", path, *command, "other_io",
                                *(("--name", "p") if program == "train" else ()))
            self.assertIn("--gauges: 'other_io' is not among the third-party metrics",
                          text)

    def test_a_lag_of_power_is_corrected_if_asked(self):
        response = generator.make_response(generator.Machine(samples=120))
        prompt = self.write("prompt.json", generator.to_text(response))
        for name, series in response.items():
            for one in series if "_joules_total" in name else ():
                joules = [float(v) for _, v in one["values"]]
                for i, sample in enumerate(one["values"]):
                    # One and a half steps late.
                    sample[1] = str((joules[max(0, i - 1)] + joules[max(0, i - 2)]) / 2)
        late = self.write("late.json", generator.to_text(response))

        def watts(path, *more):
            head, *rows = (line.split(",") for line in self.tallywatt(
                "extract", "--input", path, "--group", "CounterOnly", *more).splitlines())
            place = head.index("package_power")
            return {row[0]: float(row[place]) for row in rows}

        def mean_error(rows):
            return sum(abs(w - truth[t]) for t, w in rows.items()) / len(rows)

        truth = watts(prompt)
        times = list(truth)
        as_read = {t: (truth[times[i - 1]] + truth[times[i - 2]]) / 2
                   for i, t in enumerate(times) if i >= 2}
        # Else only rows whose load was steady remain.
        self.assertLess(len(watts(late)), 60)
        corrected = watts(late, "--correct-lag")
        self.assertGreaterEqual(len(corrected), 115)
        self.assertLess(mean_error(corrected), 0.5 * mean_error(as_read))
        self.assertEqual(watts(prompt, "--correct-lag"), truth)
        command = ("train", "--input", late, "--name", "late", "--group", "CounterOnly",
                   "--trainers", "LinearRegressionTrainer", "--model-db", self.path("db"))
        self.tallywatt(*command, "--correct-lag")
        with open(self.path("db", "late", "rapl-sysfs", "AbsPower", "CounterOnly",
                            "LinearRegressionTrainer_0", "details.json")) as f:
            quality, = json.load(f)["data_quality"]
        self.assertAlmostEqual(quality["lag_corrected_s"], 4.5, delta=0.31)
        self.assertLess(abs(quality["lag_s"]), 1.0)
        text = self.refused("train", "--csv", "a.csv", "--source", "rapl-sysfs", "--name",
                            "p", "--correct-lag")
        self.assertIn("--correct-lag needs --input", text)

    def test_a_model_of_named_metrics_wants_them_by_name(self):
        machine = generator.Machine(samples=120)
        path = self.write("other.json", generator.to_text(generator.add_thirdparty(
            machine, generator.make_response(machine))))
        self.train(path, "named", "--group", "CounterOnly", "--thirdparty-metrics",
                   "other_memory_bytes")
        for output in ("AbsPower", "DynPower"):
            model = self.path("db", "named", "rapl-sysfs", output, "CounterOnly",
                              "SGDRegressorTrainer_0")
            with open(os.path.join(model, "metadata.json")) as f:
                self.assertEqual(json.load(f)["features"], [
                    "cache_miss", "cpu_cycles", "cpu_instructions", "other_memory_bytes"])
            judged = json.loads(self.tallywatt("validate", "--model", model, "--input",
                                               path, "--json"))
            self.assertEqual(judged[0]["rows"], 119)
            plain = self.path("plain.csv")
            self.tallywatt("extract", "--input", path, "--group", "CounterOnly",
                           "--output", plain)
            self.assertIn("other_memory_bytes", self.refused(
                "estimate", "--model", model, "--csv", plain))
        with open(self.path("db", "named", "train_arguments.json")) as f:
            self.assertEqual(json.load(f)["thirdparty_metrics"], "other_memory_bytes")
        # From a table, the same models.
        rows = self.path("rows.csv")
        self.tallywatt("extract", "--input", path, "--group", "CounterOnly",
                       "--thirdparty-metrics", "other_memory_bytes", "--output", rows)
        self.tallywatt("train", "--csv", rows, "--source", "rapl-sysfs", "--name", "table",
                       "--group", "CounterOnly", "--thirdparty-metrics",
                       "other_memory_bytes", "--abs-trainers", "SGDRegressorTrainer",
                       "--dyn-trainers", "", "--model-db", self.path("db"))
        part = ("rapl-sysfs", "AbsPower", "CounterOnly", "SGDRegressorTrainer_0",
                "weight.json")
        with open(self.path("db", "named", *part)) as a, \
                open(self.path("db", "table", *part)) as b:
            self.assertEqual(a.read(), b.read())

    def test_a_named_metric_that_no_response_has_is_an_error(self):
        path = self.response("0.7", samples=60)
        for more in ((), ("--group", "CounterOnly")):
            text = self.refused("train", "--input", path, "--name", "p",
                                  "--thirdparty-metrics", "oops", *more, "--model-db",
                                  self.path("db"), codes=(1,))
            self.assertIn("third-party metric 'oops': no response has it", text)

    def test_rates_and_watts_are_those_of_the_law(self):
        machine = generator.Machine(alike=True, samples=60)
        for exporter in ("0.10", "node-exporter", "tallywatt"):
            path = self.write("r.json", generator.to_text(
                generator.make_response(machine, exporter)))
            text = self.tallywatt("extract", "--input", path, "--group",
                                  EXPORTERS[exporter][0])
            head, *rows = (line.split(",") for line in text.splitlines())
            self.assertEqual(len(rows), len(machine.watts))
            self.assertNotIn("uncore_power", head)
            for row, rates, watts in zip(rows, machine.rates, machine.watts):
                row = {name: float(v) for name, v in zip(head, row)}
                busy_ms = sum(v for name, v in row.items() if name.endswith("_ms"))
                # Ticks: of 4 processes, or of 5 modes on each CPU.
                ticks = 5 * generator.CORES if exporter == "node-exporter" else 4
                self.assertLess(abs(busy_ms - rates["bpf_cpu_time"]), ticks * 10 / 3)
                for component in COMPONENTS:
                    self.assertLess(abs(row[f"{component}_power"] - watts[component]), 0.26)


class SeveralMachines(Case):
    def response(self, name, *machines):
        made = {}
        for machine in machines:
            for metric, series in generator.make_response(machine).items():
                made.setdefault(metric, []).extend(series)
        return self.write(name, generator.to_text(made))

    def train(self, path, name):
        return self.tallywatt("train", "--input", path, "--name", name, "--source",
                              "rapl-sysfs", "--group", "BPFOnly", "--model-db",
                              self.path("db"))

    def setUp(self):
        super().setUp()
        self.a = generator.Machine(samples=40, seed=3, name="a")
        self.b = generator.Machine(samples=40, seed=4, name="b")

    def test_together_they_give_the_two_pipelines_that_each_alone_gives(self):
        self.assertIn("machine 'b', node type 1",
                      self.train(self.response("both.json", self.b, self.a), "both"))
        both = tree(self.path("db", "both"))
        for node_type, machine in enumerate((self.a, self.b)):
            self.train(self.response("one.json", machine), f"only-{machine.name}")
            one = tree(self.path("db", f"only-{machine.name}"))
            parts = [n for n in one if "_0/" in n and os.path.basename(n).split(".")[0] in
                     ("package", "core", "uncore", "dram", "weight")]
            self.assertTrue(parts)
            for name in parts:
                self.assertEqual(one[name], both[name.replace("_0/", f"_{node_type}/")],
                                 name)
            self.assertIn(f'"{machine.name}"'.encode(), both["node_type_index.json"])

    def test_one_after_the_other_they_give_what_they_give_together(self):
        self.train(self.response("both.json", self.b, self.a), "both")
        for machine in (self.a, self.b):
            self.train(self.response("one.json", machine), "grown")
        both, grown = (tree(self.path("db", name)) for name in ("both", "grown"))
        self.assertEqual(both.keys(), grown.keys())
        self.assertEqual(both["node_type_index.json"], grown["node_type_index.json"])
        for name in both:
            if name.endswith("_model_metadata.csv") or "/package.json" in name:
                self.assertEqual(both[name], grown[name], name)

    def test_one_is_extracted_by_name_and_none_without(self):
        both = self.response("both.json", self.a, self.b)
        one = self.response("one.json", self.b)
        options = ("--group", "BPFOnly", "--level", "container")
        self.assertEqual(
            self.tallywatt("extract", "--input", both, "--machine", "b", *options),
            self.tallywatt("extract", "--input", one, *options))
        self.assertRegex(self.refused("extract", "--input", both, *options),
                         "several machines .*'a' and 'b'")
        self.assertIn("no machine 'c': it has 'a', 'b'",
                      self.refused("extract", "--input", both, "--machine", "c", *options))


if __name__ == "__main__":
    unittest.main()
