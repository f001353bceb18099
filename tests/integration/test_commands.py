# SPDX-License-Identifier: Apache-2.0
"""tallywatt check, plot, estimate --pipeline, export with all its parts, and a training that is
told no place."""
import csv
import io
import json
import os
import subprocess
import unittest
import xml.etree.ElementTree
import zipfile

from harness import BIN, GENERATED, HERE, Case, read_json, run_tallywatt, train_generated

RESPONSE = GENERATED["0.7"]
MODEL = "rapl-sysfs/AbsPower/BPFOnly/LinearRegressionTrainer_0"


class Commands(Case):
    def test_a_reader_that_leaves_is_no_error(self):
        reader, writer = os.pipe()
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            done = subprocess.run([os.path.join(BIN, "tallywatt"), "trainers"], check=False,
                                  stdout=out, stderr=subprocess.PIPE)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_a_check_counts_series_that_are_not_all_zero(self):
        path = self.write("r.json", json.dumps({
            "a_total": [{"metric": {"x": "1"}, "values": [[1, "0"], [4, "0.0"]]},
                        {"metric": {"x": "2"}, "values": [[1, "0"], [7, "3"]]}],
            "empty": []}))
        self.assertEqual(json.loads(self.tallywatt("check", "--input", path, "--json")), [
            {"metric": "a_total", "series": 2, "non_zero": 1, "samples": 4, "from": 1, "to": 7},
            {"metric": "empty", "series": 0, "non_zero": 0, "samples": 0}])
        table = self.tallywatt("check", "--input", path).splitlines()
        self.assertEqual(table[1].split(), ["a_total", "2", "1", "4", "6"])
        self.assertEqual(table[2].split(), ["empty", "0", "0", "0", "-"])
        self.tallywatt("check", "--input", RESPONSE, "--group", "CounterOnly",
                       "--svg", self.path("r.svg"))
        with open(self.path("r.svg"), encoding="utf-8") as f:
            drawn = f.read()
        for text in ("<svg", "package_power (", "cpu_cycles (", "% of the largest"):
            self.assertIn(text, drawn)
        response = read_json(RESPONSE)
        for series in sum(response.values(), []):
            del series["values"][20:40]
        path = self.write("gap.json", json.dumps(response))
        self.tallywatt("check", "--input", path, "--group", "CounterOnly",
                       "--svg", self.path("gap.svg"))
        with open(self.path("gap.svg"), encoding="utf-8") as f:
            self.assertGreater(f.read().count(">gap<"), drawn.count(">gap<"))
        known = {m["metric"]: m for m in
                 json.loads(self.tallywatt("check", "--input", RESPONSE, "--json"))}
        for name, series in read_json(RESPONSE).items():
            self.assertEqual(known[name]["series"], len(series))
            self.assertEqual(known[name]["samples"], sum(len(s["values"]) for s in series))
        zero = self.write("zero.json", '{"a":[{"metric":{},"values":[[1,"0"]]}]}')
        done = run_tallywatt("check", "--input", zero)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"no series with a value other than 0", done.stderr)
        for text in ("", "[", '{"a":[{"values":[[1,"x"]]}]}'):
            self.refused("check", "--input", self.write("bad.json", text), codes=(1,))

    def check_svg(self, path):
        root = xml.etree.ElementTree.parse(path).getroot()
        self.assertTrue(root.tag.endswith("svg"))
        self.assertGreater(len(list(root.iter())), 20)

    def test_a_model_and_a_table_are_drawn(self):
        db = self.path("db")
        train_generated(db, more=("--group", "BPFOnly"))
        out = self.tallywatt("plot", "--model", f"{db}/simulated/{MODEL}.zip", "--output",
                             self.path("plots")).split()
        kinds = {os.path.basename(p).split(".", 1)[1] for p in out}
        for kind in ("power-curve", "residuals", "time"):
            self.assertIn(f"package.{kind}.svg", kinds)
        for path in out:
            self.check_svg(path)
        self.tallywatt("extract", "--input", RESPONSE, "--group", "BPFOnly", "--output",
                       self.path("rows.csv"))
        self.assertEqual(self.tallywatt("plot", "--csv", self.path("rows.csv"), "--output",
                                        self.path("plots")), self.path("plots") + "/data.svg\n")
        self.check_svg(self.path("plots", "data.svg"))
        with open(self.path("plots", "data.svg"), encoding="utf-8") as f:
            self.assertIn("package_power", f.read())
        self.assertIn("no column 'nix'", self.refused(
            "plot", "--csv", self.path("rows.csv"), "--columns", "nix", "--output",
            self.path("plots"), codes=(1,)))
        for args in ((), ("--model", "a.zip", "--csv", "b"), ("--model", "a")):
            self.refused("plot", *args, "--output", self.path("plots"), codes=(2,))

    def test_a_pipeline_predicts_a_recording_into_a_file(self):
        db = self.path("db")
        train_generated(db, more=("--group", "BPFOnly"))
        told = json.loads(self.tallywatt(
            "estimate", "--pipeline", f"{db}/simulated", "--input", RESPONSE, "--predictions",
            self.path("p.csv"), "--json"))
        self.assertEqual(len(told), 8)
        with open(self.path("p.csv"), encoding="utf-8", newline="") as f:
            rows = list(csv.DictReader(f))
        for one in told:
            self.assertNotIn("error", one)
            name = os.path.basename(one["model"]).removesuffix(".zip")
            own = [r for r in rows if (r["source"], r["output"], r["model"]) ==
                   (one["source"], one["output"], name)]
            parts = {r["component"] for r in own}
            self.assertEqual(len(own), one["rows"] * len(parts))
            for part, mae in one["mae_watts"].items():
                errors = [abs(float(r["predicted_watts"]) - float(r["measured_watts"]))
                          for r in own if r["component"] == part]
                self.assertAlmostEqual(sum(errors) / len(errors), mae, 5)
        # As one model by itself predicts them.
        one = self.tallywatt("estimate", "--model", f"{db}/simulated/{MODEL}.zip", "--csv",
                             self.extracted(), "--json")
        watts = [float(r["predicted_watts"]) for r in rows if r["component"] == "package" and
                 (r["source"], r["output"], r["model"]) == tuple(
                     MODEL.split("/")[i] for i in (0, 1, 3))]
        for a, b in zip(json.loads(one)["package"], watts, strict=True):
            self.assertAlmostEqual(a, b, 5)
        self.refused("estimate", "--pipeline", db, codes=(2,))
        self.refused("estimate", "--model", "x", "--metrics", "a", "--values", "1", "--input",
                     "y", codes=(2,))

    def extracted(self):
        self.tallywatt("extract", "--input", RESPONSE, "--group", "BPFOnly", "--output",
                       self.path("rows.csv"))
        return self.path("rows.csv")

    def test_an_export_has_raw_data_its_date_and_a_zip(self):
        db = self.path("db")
        train_generated(db, more=("--group", "BPFOnly"))
        self.tallywatt("export", "--model-db", db, "--name", "simulated", "--output",
                       self.path("out"), "--zip", "--collect-date", "2026-11-21",
                       "--include-raw", RESPONSE)
        name = os.path.basename(RESPONSE)
        with open(RESPONSE, "rb") as f:
            raw = f.read()
        with open(self.path("out", "simulated", "raw", name), "rb") as f:
            self.assertEqual(f.read(), raw)
        with zipfile.ZipFile(self.path("out", "simulated.zip")) as z:
            self.assertIsNone(z.testzip())
            self.assertEqual(z.read(f"raw/{name}"), raw)
            self.assertIn("README.md", z.namelist())
            with z.open("README.md") as f:
                self.assertIn("Recorded on 2026-11-21.", io.TextIOWrapper(f).read())
        self.assertEqual(read_json(self.path("out", "simulated", "metadata.json"))
                         ["collect_date"], "2026-11-21")
        self.assertIn("collect-date", self.refused(
            "export", "--model-db", db, "--name", "simulated", "--output", self.path("out"),
            "--collect-date", "yesterday", codes=(2,)))

    def test_a_training_without_a_place_is_kept_here(self):
        done = run_tallywatt("train", "--input", RESPONSE, "--name", "nowhere", "--trainers",
                             "LinearRegressionTrainer", "--group", "BPFOnly", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"kept in ./nowhere.zip alone", done.stderr)
        with zipfile.ZipFile(os.path.join(HERE.name, "nowhere.zip")) as z:
            names = z.namelist()
            models = json.loads(done.stdout)
            self.assertEqual(len(models), 4)
            for m in models:
                name = f"{m['trainer']}_{m['node_type']}"
                path = f"{m['source']}/{m['output']}/{m['group']}/{name}/metadata.json"
                self.assertIn(path, names)
                self.assertAlmostEqual(json.loads(z.read(path))["mae"], m["mae_watts"], places=3)

    def test_lists_are_printed_as_json(self):
        db = self.path("db")
        train_generated(db, more=("--group", "BPFOnly"))
        models = json.loads(self.tallywatt("models", "--model-db", db, "--json"))
        self.assertEqual(len(models), 8)
        self.assertIn("mae_watts", models[0])
        trainers = json.loads(self.tallywatt("trainers", "--json"))
        table = self.tallywatt("trainers").splitlines()
        self.assertEqual([t["name"] for t in trainers], [line.split()[0] for line in table])


if __name__ == "__main__":
    unittest.main()
