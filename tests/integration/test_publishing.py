# SPDX-License-Identifier: Apache-2.0
"""What is made of a trained pipeline: exports, and models judged by recordings."""
import json
import os
import re
import unittest
import xml.etree.ElementTree as ElementTree

from harness import (COUNTER_ONLY, GENERATED, Case, call, read_json, run_tallywatt, tree,
                     train_generated)


class Export(Case):
    def export(self, *more):
        return self.tallywatt("export", "--model-db", self.path("db"), "--name", "simulated",
                              "--output", self.path("out"), *more)

    def errors(self):
        """MAE by model card."""
        return {name: json.loads(text)["metadata"]["mae"]
                for name, text in tree(self.path("out", "simulated")).items()
                if name.endswith(".card.json")}

    def setUp(self):
        super().setUp()
        train_generated(self.path("db"), more=("--group", "CounterOnly"))

    def test_every_link_leads_to_a_file_and_every_plot_is_a_picture(self):
        self.assertIn("left-out=0", self.export())
        files = tree(self.path("out", "simulated"))
        links = 0
        for name, text in files.items():
            if not name.endswith(".md"):
                continue
            for target in re.findall(r"\]\(([^#)][^)]*)\)", text.decode()):
                place = os.path.normpath(os.path.join(os.path.dirname(name), target))
                self.assertIn(place, files, f"{name} links to {target}")
                links += 1
        self.assertGreater(links, 20)
        plots = [name for name in files if name.endswith(".svg")]
        self.assertGreater(len(plots), 10)
        for name in plots:
            picture = ElementTree.fromstring(files[name])
            self.assertTrue(picture.tag.endswith("}svg"))
            self.assertLess(len(files[name]), 15000, name)
            self.assertNotIn(b"http", files[name].split(b">", 1)[1], "loads something")

    def test_an_export_is_served_as_a_database(self):
        self.export()
        server = self.start_http("tw-server", "--model-db", self.path("out"))
        answer = call(server, "POST", "/model",
                      {"metrics": COUNTER_ONLY, "output_type": "AbsPower",
                       "source": "rapl-sysfs", "weight": True,
                       "trainer_name": "SGDRegressorTrainer"})
        self.assertEqual(answer.status, 200, answer.body[:300])
        self.assertEqual(answer.json()["model_name"], "SGDRegressorTrainer_0")
        server.stop()
        self.assertNotIn("error_report", server.log())

    def test_the_limits_hold_and_exporting_again_replaces(self):
        self.export()
        everything = self.errors()
        limit = min(everything.values())
        self.export("--max-mae", str(limit))
        self.assertEqual(self.errors(),
                         {name: mae for name, mae in everything.items() if mae <= limit})
        self.assertLess(len(self.errors()), len(everything))

    def test_wrong_use_and_empty_exports_are_reported(self):
        self.assertIn("--max-mae: 'x'", self.refused(
            "export", "--name", "simulated", "--output", "o", "--max-mae", "x", codes=(2,)))
        self.assertIn("none of", self.refused(
            "export", "--model-db", self.path("db"), "--name", "simulated", "--output",
            self.path("o"), "--max-mae", "0", codes=(1,)))
        self.assertIn("cannot", self.refused(
            "export", "--model-db", self.path("db"), "--name", "nope", "--output",
            self.path("o"), codes=(1,)))
        self.assertFalse(os.path.exists(self.path("o", "nope")))


class Validate(Case):
    def test_any_model_is_judged_by_any_recording(self):
        train_generated(self.path("db"), "0.6", more=("--group", "CounterOnly"))
        base = self.path("db", "simulated/rapl-sysfs/AbsPower/CounterOnly")
        models = f"{base}/SGDRegressorTrainer_0.zip,{base}/LinearRegressionTrainer_0"
        judged = json.loads(self.tallywatt("validate", "--model", models, "--input",
                                           GENERATED["0.7"], "--json"))
        self.assertEqual([j["model_name"] for j in judged],
                         ["SGDRegressorTrainer_0", "LinearRegressionTrainer_0"])
        for one in judged:
            # The same law by other names: what is left is the rounding of counters.
            self.assertLess(one["components"]["package"]["mae"], 1.0)
            self.assertEqual(one["components"].keys(),
                             {"package", "core", "uncore", "dram"})

    def test_a_table_is_taken_and_a_broken_model_does_not_stop_the_others(self):
        train_generated(self.path("db"), more=("--group", "CounterOnly"))
        table = self.path("t.csv")
        self.tallywatt("extract", "--input", GENERATED["0.7"], "--group", "CounterOnly",
                       "--output", table)
        good = self.path("db", "simulated/rapl-sysfs/AbsPower/CounterOnly",
                         "SGDRegressorTrainer_0.zip")
        done = run_tallywatt("validate", "--model", self.path("nope.zip"), "--model", good,
                             "--input", table)
        self.assertEqual(done.returncode, 1)
        self.assertIn("nope.zip", done.stderr.decode())
        self.assertRegex(done.stdout.decode(), r"package +\d+ +0\.\d+")
        self.assertIn("of the time of its training data", done.stdout.decode())


class Until(Case):
    def test_training_reports_whether_the_accuracy_was_reached(self):
        for wanted, line in (("mae:100,mape:500", "accuracy reached: "),
                             ("mae:0", "data ran out: ")):
            text = self.tallywatt("train", "--input", GENERATED["0.7"], "--name", "u",
                                  "--group", "CounterOnly", "--trainers",
                                  "KNeighborsRegressorTrainer", "--model-db",
                                  self.path("db"), "--keep-until", wanted)
            self.assertIn(line, text.splitlines()[-1])
        arguments = read_json(self.path("db", "u", "train_arguments.json"))
        self.assertEqual(arguments["data_share"], 1)
        self.assertIn("--keep-until: 'rmse:1' is neither", self.refused(
            "train", "--input", "x", "--name", "u", "--keep-until", "rmse:1", codes=(2,)))


if __name__ == "__main__":
    unittest.main()
