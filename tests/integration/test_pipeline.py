# SPDX-License-Identifier: Apache-2.0
"""Extract, isolate and train by command, from generated and from recorded responses."""
import csv
import glob
import io
import json
import os
import re
import shutil
import tempfile
import unittest

from harness import (COUNTER_ONLY, GENERATED, LINEAR_TRAINERS, QUICK, ROOT, Case,
                     linear_watts, published, read_json, run_tallywatt, shared,
                     train_generated, tree)
import generate_response as generator

# Of five groups.
SOME_GROUPS = ("--group", "CounterOnly") if QUICK else ()

# The generator's noise, and what rounding of joules and ms adds.
NOISE_W = 0.25 + 0.01


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def close(a, b, tolerance):
    return abs(a - b) <= tolerance * max(abs(a), abs(b), 1e-12)


class Extract(Case):
    def extract(self, path, level="node", group="CounterOnly", source="rapl-sysfs", *more):
        return table(self.tallywatt("extract", "--input", path, "--source", source,
                                    "--group", group, "--level", level, *more))

    def test_both_generations_give_the_laws_rates_and_watts(self):
        machine = generator.Machine()
        for generation, path in GENERATED.items():
            rows = self.extract(path)
            self.assertEqual(len(rows), len(machine.rates))
            for row, rates, watts in zip(rows, machine.rates, machine.watts):
                for feature in COUNTER_ONLY:
                    self.assertTrue(close(float(row[feature]), rates[feature], 1e-9),
                                    f"{generation}: {feature} {row} {rates}")
                for component in ("package", "dram", "core"):
                    self.assertLess(
                        abs(float(row[f"{component}_power"]) - watts[component]), NOISE_W)
                self.assertEqual(float(row["uncore_power"]), 0)

    def test_processor_time_is_in_milliseconds(self):
        machine = generator.Machine()
        for row, rates in zip(self.extract(GENERATED["0.7"], group="BPFIRQ"), machine.rates,
                              strict=True):
            self.assertLess(abs(float(row["bpf_cpu_time_ms"]) - rates["bpf_cpu_time"]), 0.01)

    def test_platform_power_has_its_own_source(self):
        machine = generator.Machine()
        rows = self.extract(GENERATED["0.7"], source="acpi")
        for row, watts in zip(rows, machine.watts, strict=True):
            self.assertLess(abs(float(row["platform_power"]) - watts["platform"]),
                            2 * NOISE_W)

    def test_containers_add_up_to_the_node(self):
        node = self.extract(GENERATED["0.7"])
        sums = {}
        for row in self.extract(GENERATED["0.7"], level="container"):
            of_time = sums.setdefault(float(row["timestamp"]), dict.fromkeys(COUNTER_ONLY, 0))
            for feature in COUNTER_ONLY:
                of_time[feature] += float(row[feature])
        self.assertEqual(len(node), len(sums))
        for row in node:
            for feature in COUNTER_ONLY:
                self.assertTrue(close(float(row[feature]),
                                      sums[float(row["timestamp"])][feature], 1e-9))

    def test_output_goes_to_a_file_with_the_option(self):
        out = self.path("f.csv")
        text = self.tallywatt("extract", "--input", GENERATED["0.7"], "--source", "acpi",
                              "--group", "CounterOnly", "--level", "node")
        self.assertEqual(self.tallywatt(
            "extract", "--input", GENERATED["0.7"], "--source", "acpi", "--group",
            "CounterOnly", "--level", "node", "--output", out), "")
        with open(out, encoding="utf-8") as f:
            self.assertEqual(f.read(), text)

    def test_agrees_with_the_old_programs_on_recorded_data(self):
        inputs = {"idle": "idle.json", "old": "workload-0.6.json"}
        # tests/unit/extract/test_golden.c has the container level too.
        names = sorted(glob.glob(os.path.join(shared("golden", "extract"), "*_aggr.csv")))
        self.assertTrue(names)
        for name in names:
            run, source, group, _ = os.path.basename(name)[:-4].split("__")
            with self.subTest(golden=os.path.basename(name)):
                with open(name, encoding="utf-8") as f:
                    golden = table(f.read())
                ours = self.extract(
                    shared("data", "prometheus", inputs[run]),
                    "node", group, source, "--compat=kms")
                self.same_tables(ours, golden)

    def same_tables(self, ours, golden):
        self.assertEqual(len(ours), len(golden))
        for a, b in zip(ours, golden):
            for column in b:
                if column:  # the first is pandas' index
                    self.assertTrue(close(float(a[column]), float(b[column]), 1e-9),
                                    f"{column}: {a}, not {b}")


class BadInput(Case):
    SERIES = r"kepler_container_cpu_instructions_total.*load-0.*"
    EXPECTED = {  # what the line must name
        "disorder": SERIES + "17000000.*order",
        "repeat": SERIES + "1700000030.*repeat",
        "nan": SERIES + "1700000030.*NaN",
        "inf": SERIES + "1700000030.*infinite",
        "negative": SERIES + "1700000030.*negative",
        "text": SERIES + "1700000030.*not a number",
        "no-usage": "no series of kepler_container_cache_miss_total",
        "no-energy": "no series of kepler_node_package_joules_total",
        "empty-series": "no series of kepler_container_cpu_instructions_total",
        "no-common-time": "no row.*17000000.*17010000",
    }

    def setUp(self):
        super().setUp()
        self.db = self.path("db")

    def refused_training(self, path, *more):
        line = self.refused("train", "--input", path, "--name", "bad", "--source",
                            "rapl-sysfs", "--group", "CounterOnly", "--model-db", self.db,
                            *more)
        self.assertEqual(published(self.db), [], "something was published")
        return line

    def broken(self, fault):
        response = generator.make_response(generator.Machine())
        generator.FAULTS[fault](response)
        return self.write(f"{fault}.json", generator.to_text(response))

    def test_each_fault_is_refused_in_one_line_that_names_the_place(self):
        self.assertEqual(set(self.EXPECTED), set(generator.FAULTS) - {"energy-reset", "reset"})
        for fault, pattern in self.EXPECTED.items():
            with self.subTest(fault=fault):
                self.assertRegex(self.refused_training(self.broken(fault)), pattern)

    def test_counters_that_fall_cost_a_row(self):
        for fault in ("energy-reset", "reset"):
            path = self.broken(fault)
            drop, carry = (run_tallywatt("extract", "--input", path, "--group", "CounterOnly",
                                         "--resets", how).stdout.splitlines()
                           for how in ("drop", "carry"))
            times = [{line.split(b",")[0] for line in rows} for rows in (drop, carry)]
            self.assertEqual(times[1] - times[0], {b"1700000060"})
            self.assertEqual(times[0] - times[1], set())

    def test_malformed_json_is_rejected(self):
        for name, text in (("empty", b""), ("text", b"watts\n"), ("list", b"[1,2]"),
                           ("binary", bytes(range(256))), ("nul", b'{"a\0":[]}'),
                           ("utf8", b'{"\xff":[]}'), ("deep", b"[" * 100000)):
            with self.subTest(name=name):
                self.refused_training(self.write(name, text))

    def test_json_cut_short_is_refused_with_the_byte(self):
        with open(GENERATED["0.7"], "rb") as f:
            whole = f.read()
        for length in (1, 10, 300, len(whole) // 2, len(whole) - 3):
            line = self.refused_training(self.write("cut.json", whole[:length]))
            self.assertRegex(line, r"byte \d+")

    def test_a_file_that_is_not_there_is_named(self):
        self.assertIn("/nonexistent.json", self.refused_training("/nonexistent.json"))

    def test_pipeline_names_that_are_no_plain_names_are_refused(self):
        for name in ("../x", "/x", "", "a/b", ".", "..", ".hidden", "x" * 300, "a\nb",
                     "a\x01b", "a b", "ä"):
            with self.subTest(name=name):
                self.refused("train", "--input", GENERATED["0.7"], "--name", name,
                             "--model-db", self.db)
                self.assertEqual(published(self.db), [])

    def test_wrong_use_exits_2_with_one_line(self):
        for args in (("train",), ("train", "--nonsense"), ("nonsense",),
                     ("extract", "--level", "moon"),
                     ("train", "--input", GENERATED["0.7"], "--name", "x", "--trainers",
                      "NoSuchTrainer", "--model-db", self.db)):
            with self.subTest(args=args):
                self.refused(*args, codes=(2,))
                self.assertEqual(published(self.db), [])


class Isolate(Case):
    def container_csv(self):
        path = self.path("container.csv")
        self.tallywatt("extract", "--input", GENERATED["0.7"], "--source", "rapl-sysfs",
                       "--group", "CounterOnly", "--level", "container", "--output", path)
        return path

    def isolate(self, isolator, path):
        return table(self.tallywatt("isolate", "--csv", path, "--source", "rapl-sysfs",
                                    "--isolator", isolator))

    def test_min_idle_takes_the_smallest_power_away(self):
        path = self.container_csv()
        none = self.isolate("NoneIsolator", path)
        least = self.isolate("MinIdleIsolator", path)
        self.assertEqual(len(none), len(generator.Machine().watts))
        for component in ("package", "dram"):
            column = f"{component}_power"
            floor = min(float(row[column]) for row in none)
            self.assertLess(abs(floor - generator.IDLE_W[component]), 4)
            for a, b in zip(none, least):
                self.assertTrue(close(float(a[column]) - floor, float(b[column]), 1e-9) or
                                abs(float(a[column]) - floor - float(b[column])) < 1e-9)

    def train(self, name, *more):
        self.tallywatt("train", "--input", GENERATED["0.7"], "--name", name, "--group",
                       "CounterOnly", "--source", "rapl-sysfs", "--trainers",
                       "LinearRegressionTrainer", "--model-db", self.path("db"), *more)
        with open(self.path("db", name, "rapl-sysfs", "DynPower", "CounterOnly",
                            "LinearRegressionTrainer_0", "metadata.json")) as f:
            return json.load(f)

    def test_the_background_s_power_is_the_prediction_of_another_pipeline(self):
        """Of two containers of four: the law says what the others draw."""
        self.train("abs")
        told = self.train("dyn", "--isolator", "TrainIsolator", "--abs-pipeline", "abs",
                          "--target-hints", "load-0,load-1")
        self.assertEqual(told["isolator"], "TrainIsolator")
        self.assertEqual(told["background_model"], "LinearRegressionTrainer_0")
        self.assertGreater(told["background_correlation"], 0.7)
        rows = table(self.tallywatt(
            "isolate", "--input", GENERATED["0.7"], "--group", "CounterOnly", "--isolator",
            "TrainIsolator", "--model-db", self.path("db"), "--abs-pipeline", "abs",
            "--bg-hints", "load-2,load-3"))
        self.assertGreater(len(rows), 10)
        for row in rows:
            law = generator.power_w({name: float(row[name]) for name in
                                     ("cpu_cycles", "cpu_instructions", "cache_miss")})
            self.assertLess(abs(law["package"] - generator.IDLE_W["package"] -
                                float(row["package_power"])), 1.0)
        line = self.refused("isolate", "--input", GENERATED["0.7"], "--group",
                            "CounterOnly", "--isolator", "TrainIsolator", "--model-db",
                            self.path("db"), "--abs-pipeline", "nope")
        self.assertIn("'nope' has no AbsPower model", line)

    def test_processes_that_ran_at_rest_are_background(self):
        machine = generator.Machine(containers=2, noise_w=0.0)
        rest = self.write("rest.json", generator.to_text(generator.make_response(machine)))
        profile = self.path("profile.json")
        self.tallywatt("profile", "--input", rest, "--output", profile)
        with open(profile) as f:
            told = json.load(f)
        self.assertEqual(sorted(told["background"]["0"]), ["load-0", "load-1"])
        package = told["rapl-sysfs"]["package"]["0"]
        watts = [w["package"] for w in machine.watts]
        self.assertLess(abs(package["min_watt"] - min(watts)), 0.01)
        self.assertLess(abs(package["max_watt"] - max(watts)), 0.01)
        self.train("idle", "--isolator", "ProfileBackgroundIsolator", "--idle", rest)
        self.train("profile", "--isolator", "ProfileBackgroundIsolator", "--profile",
                   profile)
        kept = [tree(self.path("db", name)) for name in ("idle", "profile")]
        for name in kept[0]:
            if "/DynPower/" in name and name.endswith("weight.json"):
                self.assertEqual(kept[0][name], kept[1][name])
        with open(self.path("db", "idle", "profile.json")) as f:
            self.assertEqual(json.load(f)["rapl-sysfs"]["package"]["0"], package)
        self.assertIn("needs a response of the machine at rest", self.refused(
            "train", "--input", GENERATED["0.7"], "--name", "x", "--isolator",
            "ProfileBackgroundIsolator"))

    def test_smoothed_rows_are_means_over_the_window(self):
        options = ("--input", GENERATED["0.7"], "--group", "CounterOnly")
        raw = table(self.tallywatt("extract", *options))
        smooth = table(self.tallywatt("extract", *options, "--extractor", "smooth",
                                      "--smooth-window", "4"))
        self.assertEqual(len(smooth), len(raw) - 3)
        for i, row in enumerate(smooth):
            for column in ("cpu_cycles", "package_power"):
                mean = sum(float(r[column]) for r in raw[i:i + 4]) / 4
                self.assertTrue(close(mean, float(row[column]), 1e-9))
        self.train("smooth", "--extractor", "smooth", "--smooth-window", "4")
        with open(self.path("db", "smooth", "metadata.json")) as f:
            self.assertEqual(json.load(f)["extractor"], "smooth")

    def test_an_unknown_isolator_is_refused(self):
        line = self.refused("isolate", "--csv", self.container_csv(), "--source",
                            "rapl-sysfs", "--isolator", "NoIsolator", codes=(2,))
        self.assertIn("NoIsolator", line)


class Train(Case):
    made = {}  # threads: folder

    def setUp(self):
        super().setUp()
        self.db = self.path("db")

    def check_layout(self, pipeline, source="rapl-sysfs"):
        """Section "Pipeline layout" of docs/wire.md, name by name."""
        files = tree(pipeline)
        self.assertIn("metadata.json", files)
        self.assertIn("node_type_index.json", files)
        models = [n for n in files if n.endswith(".zip")]
        self.assertTrue(models)
        for name in models:
            parts = name.split("/")
            self.assertEqual(len(parts), 4, name)
            self.assertIn(f"{parts[0]}_{parts[1]}_model_metadata.csv", files)
            self.assertRegex(parts[3], r"^\w+Trainer_\d+\.zip$")
            stem = name[:-4]
            self.assertIn(f"{stem}/metadata.json", files)
            if parts[3].startswith(("SGD", "Linear")):
                self.assertIn(f"{stem}.json", files)
                self.assertEqual(json.loads(files[f"{stem}/weight.json"]).keys(),
                                 {c for c in json.loads(files[f"{stem}.json"])
                                  if c not in ("model_name", "machine_spec", "mae")})
        return models

    def test_a_pipeline_is_laid_out_as_the_contract_says(self):
        for generation in GENERATED:
            train_generated(self.db, generation, f"g{generation}")
            models = self.check_layout(os.path.join(self.db, f"g{generation}"))
            for output in ("AbsPower", "DynPower"):
                for trainer in LINEAR_TRAINERS:
                    self.assertIn(f"rapl-sysfs/{output}/CounterOnly/{trainer}_0.zip", models)

    def test_nothing_else_is_left_in_the_database(self):
        train_generated(self.db, "0.7", "one")
        train_generated(self.db, "0.7", "one")
        self.assertEqual([n for n in os.listdir(self.db) if not n.startswith(".")], ["one"])

    def test_linear_models_find_the_law(self):
        train_generated(self.db)
        machine = generator.Machine()
        for trainer in LINEAR_TRAINERS:
            weights = read_json(os.path.join(
                self.db, "simulated/rapl-sysfs/AbsPower/CounterOnly", f"{trainer}_0.json"))
            for component in ("package", "dram"):
                worst = max(abs(linear_watts(weights[component], rates) - watts[component])
                            for rates, watts in zip(machine.rates, machine.watts))
                self.assertLess(worst, 1.0, f"{trainer} {component}")

    @classmethod
    def trained(cls, threads):
        """A database with a pipeline p of the default trainers, which is made once."""
        if threads not in cls.made:
            folder = tempfile.mkdtemp(prefix="tw-")
            cls.addClassCleanup(shutil.rmtree, folder)
            train_generated(folder, "0.7", "p", None, ("--threads", threads, *SOME_GROUPS))
            cls.made[threads] = folder
        return cls.made[threads]

    def test_the_metadata_has_the_errors_of_blocked_folds(self):
        paths = glob.glob(os.path.join(self.trained("1"), "p/*/*/*/*/metadata.json"))
        self.assertTrue(paths)
        for path in paths:
            metadata = read_json(path)
            for key in ("model_name", "model_class", "model_file", "features",
                        "output_type", "mae", "mape"):
                self.assertIn(key, metadata, path)
            worst = max(v for k, v in metadata.items()
                        if re.fullmatch(r"(package|core|uncore|dram|platform)_mae", k))
            self.assertTrue(close(metadata["mae"], worst, 1e-6), path)

    def test_threads_do_not_change_a_byte(self):
        one, two = (tree(os.path.join(self.trained(threads), "p")) for threads in ("1", "2"))
        self.assertEqual(one.keys(), two.keys())
        for name in one:
            if name != "metadata.json":  # has the time of training
                self.assertEqual(one[name], two[name], name)

    def test_a_recorded_workload_trains_and_its_times_are_reported(self):
        path = shared("data", "prometheus", "workload-0.6.json")
        done = run_tallywatt("train", "--input", path, "--name", "workload", "--source",
                             "rapl-sysfs", "--model-db", self.db, *SOME_GROUPS)
        text = done.stdout.decode() + done.stderr.decode()
        self.assertEqual(done.returncode, 0, text)
        self.check_layout(os.path.join(self.db, "workload"))
        self.assertRegex(text, r"parse .* ms, extract .* ms, .*publish .* ms, total .* ms")
        print(text)


class Spec(Case):
    MACHINE = os.path.join(ROOT, "tests/data/proc-sys/xeon-2-chips")
    AT = ("--proc", os.path.join(MACHINE, "proc"), "--sys", os.path.join(MACHINE, "sys"))
    WANT = {"vendor": "genuineintel", "processor": "intel_xeon_platinum_8259cl", "cores": 8,
            "chips": 2, "memory": 377, "frequency": 3500, "threads_per_core": 2,
            "system_vendor": "amazon"}

    def test_a_recorded_machine_is_described(self):
        self.assertEqual(json.loads(self.tallywatt("spec", *self.AT)), self.WANT)

    def test_a_missing_machine_is_an_error(self):
        line = self.refused("spec", "--proc", self.dir, "--sys", self.dir, codes=(1,))
        self.assertIn("have no file that describes the machine", line)

    def test_training_takes_the_spec_and_the_flags_go_before_it(self):
        spec = self.write("spec.json", self.tallywatt("spec", *self.AT))
        train_generated(self.path("db"), more=("--spec", spec, "--cores", "16"))
        pipeline = self.path("db", "simulated")
        model = read_json(glob.glob(os.path.join(pipeline, "*/*/*/*/metadata.json"))[0])
        self.assertEqual(model["machine_spec"], {**self.WANT, "cores": 16})
        index = os.path.join(pipeline, "node_type_index.json")
        choice = json.loads(self.tallywatt("spec", *self.AT, "--node-types", index))
        # Cores are 8 and 16: less alike by 2/3 of their weight, 2/16.
        self.assertEqual(choice["node_type"], 0)
        self.assertEqual(choice["uncertainty"], 0)
        self.assertAlmostEqual(choice["looseness"], 2 / 3 * 2 / 16, places=9)

    def test_training_knows_no_machine_without_the_option(self):
        train_generated(self.path("db"))
        paths = glob.glob(self.path("db", "simulated/*/*/*/*/metadata.json"))
        self.assertTrue(paths)
        for path in paths:
            self.assertNotIn("machine_spec", read_json(path))

    def test_here_is_this_machine(self):
        train_generated(self.path("db"), more=("--spec", "here"))
        here = json.loads(self.tallywatt("spec"))
        path = glob.glob(self.path("db", "simulated/*/*/*/*/metadata.json"))[0]
        self.assertEqual(read_json(path)["machine_spec"], here)

    def test_a_broken_spec_or_index_is_named_and_nothing_published(self):
        for text, where in (("{", "spec.json: "),
                            ('{"cores":"abc"}', "spec.json.cores: 'abc' is not a number")):
            spec = self.write("spec.json", text)
            line = self.refused("train", "--input", GENERATED["0.7"], "--name", "x",
                                "--model-db", self.path("db"), "--spec", spec, codes=(1,))
            self.assertIn(where, line)
            self.assertEqual(published(self.path("db")), [])
        index = self.write("index.json", "{}")
        line = self.refused("spec", *self.AT, "--node-types", index, codes=(1,))
        self.assertIn("has no node type", line)


if __name__ == "__main__":
    unittest.main()
