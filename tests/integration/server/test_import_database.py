# SPDX-License-Identifier: Apache-2.0
"""Databases of several old pipelines, and old models that are weights alone."""
import json
import os
import shutil
import unittest

from harness import Case, run_tallywatt, shared, tree
from test_import import zip_bytes

METRICS = {"BPFOnly": ["bpf_cpu_time_ms"],
           "CounterOnly": ["cache_miss", "cpu_cycles", "cpu_instructions"]}


def linear(bias, **weights):
    """0.7's and late 0.6's: a scale alone."""
    return {"All_Weights": {"Bias_Weight": bias, "Categorical_Variables": {},
                            "Numerical_Variables": {
                                f: {"scale": s, "mean": 0, "variance": 0, "weight": w}
                                for f, (s, w) in weights.items()}}}


V06 = {"package": linear(151.5, bpf_cpu_time_us=(29170.0, 313.875)),
       "dram": linear(132.25, bpf_cpu_time_us=(29170.0, 50.875))}
V07 = {"package": linear(10.0, cache_miss=(100.0, 2.0), cpu_cycles=(1000.0, 3.0),
                         cpu_instructions=(500.0, 4.0))}
CURVE = {"package": {"All_Weights": {
    "Categorical_Variables": {}, "Numerical_Variables": {"bpf_cpu_time_ms": {"scale": 50.0}},
    "CurveFit_Weights": [3.0, 0.5, 7.0]}}}
UNKNOWN = {"package": linear(1.0, cpu_time=(1.0, 1.0))}
TABLE = (",model_name,features,mae,package_mae,mape,package_mape,feature_group\n"
         "0,SGDRegressorTrainer_1,\"['a', 'b']\",9,9,9,9,CounterOnly\n"
         "1,SGDRegressorTrainer_1,\"['a', 'b']\",66.5,66.5,-1,x,BPFOnly\n")


class Databases(Case):
    def lay(self, top, files):
        for name, data in files.items():
            path = self.path(top, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data if isinstance(data, bytes) else
                        data.encode() if isinstance(data, str) else json.dumps(data).encode())
        return self.path(top)

    def run_import(self, source, *args, code=0):
        done = run_tallywatt("import", source, "--to", self.path("db"), *args)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.decode().splitlines(), done.stderr.decode()

    def watts(self, place, metrics, row):
        out = self.tallywatt("estimate", "--model", self.path("db", place + ".zip"), "--metrics",
                             ",".join(metrics), "--values", ",".join(map(str, row)))
        names, values = (line.split() for line in out.splitlines())
        return dict(zip(names, map(float, values)))

    def database(self):
        """As kepler-model-db lies: releases, machines, and what is none of a pipeline."""
        v06 = {"metadata.json": {"name": "std_v0.6"},
               "rapl_AbsPower_model_metadata.csv": TABLE,
               "rapl/AbsPower/BPFOnly/SGDRegressorTrainer_1.json": V06,
               "rapl/AbsPower/IRQOnly/SGDRegressorTrainer_1.json": UNKNOWN}
        v07 = {"metadata.json": {"name": "ec2"},
               "rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0/weight.json": V07,
               "rapl-sysfs/AbsPower/BPFOnly/LogarithmicRegressionTrainer_0.json": CURVE,
               "rapl-sysfs/AbsPower/BPFOnly/LogisticRegressionTrainer_0.json": CURVE,
               "rapl-sysfs/AbsPower/BPFOnly/KNeighborsRegressorTrainer_0.zip": zip_bytes(
                   {"metadata.json": json.dumps({"model_class": "scikit", "features": [
                       "bpf_cpu_time_ms"]}), "package.pkl": b"\x80\x04."}),
               "rapl-sysfs/AbsPower/BPFOnly/SVRRegressorTrainer_0.zip": b"no zip"}
        files = {"README.md": "# models\n", "v0.6/nx12/preprocessed_data/x.csv": "a,b\n"}
        for prefix, content in (("v0.6/nx12/std_v0.6", v06), ("v0.6/nx13/std_v0.6", v06),
                                ("v0.7/ec2-0.7.11", v07)):
            files.update({f"{prefix}/{n}": d for n, d in content.items()})
        return files

    def check(self, lines):
        outcomes = {}
        for line in lines:
            if line.startswith(("usable ", "kept ", "refused ")):
                outcome, rest = line.split(None, 1)
                outcomes[rest.split(": ")[0]] = (outcome, rest.split(": ", 1)[1])
        self.assertEqual({n: o for n, (o, _) in outcomes.items()}, {
            "ec2-0.7.11/rapl-sysfs/AbsPower/BPFOnly/KNeighborsRegressorTrainer_0": "kept",
            "ec2-0.7.11/rapl-sysfs/AbsPower/BPFOnly/LogarithmicRegressionTrainer_0": "usable",
            "ec2-0.7.11/rapl-sysfs/AbsPower/BPFOnly/LogisticRegressionTrainer_0": "kept",
            "ec2-0.7.11/rapl-sysfs/AbsPower/BPFOnly/SVRRegressorTrainer_0": "refused",
            "ec2-0.7.11/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0": "usable",
            "nx12-std_v0.6/rapl/AbsPower/BPFOnly/SGDRegressorTrainer_1": "usable",
            "nx12-std_v0.6/rapl/AbsPower/IRQOnly/SGDRegressorTrainer_1": "kept",
            "nx13-std_v0.6/rapl/AbsPower/BPFOnly/SGDRegressorTrainer_1": "usable",
            "nx13-std_v0.6/rapl/AbsPower/IRQOnly/SGDRegressorTrainer_1": "kept"})
        for name, (_, why) in outcomes.items():
            self.assertTrue(why, name)
        self.assertEqual(lines[-1], "pipelines=3 failed=0 of all: usable=4 kept=4 refused=1")
        self.assertIn("ec2-0.7.11: usable=2 kept=2 refused=1", lines)

    def test_a_tree_and_a_zip_of_several_give_the_same(self):
        files = self.database()
        lines, _ = self.run_import(self.lay("models", files))
        self.check(lines)
        one = tree(self.path("db"))
        shutil.rmtree(self.path("db"))
        packed = zip_bytes({n: d if isinstance(d, bytes) else d if isinstance(d, str) else
                            json.dumps(d) for n, d in files.items()})
        lines, _ = self.run_import(self.write("models.zip", packed))
        self.check(lines)
        self.assertEqual(tree(self.path("db")), one)

    def test_weights_alone_are_the_formulas(self):
        self.run_import(self.lay("models", self.database()))
        # 313.875 x / 29170; Kepler 0.6's name of the feature has another unit than its values.
        got = self.watts("nx12-std_v0.6/rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_1",
                         METRICS["BPFOnly"], [29170.0])
        self.assertAlmostEqual(got["package"], 151.5 + 313.875, places=2)
        self.assertAlmostEqual(got["dram"], 132.25 + 50.875, places=2)
        got = self.watts("ec2-0.7.11/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0",
                         METRICS["CounterOnly"], [50, 2000, 250])
        self.assertAlmostEqual(got["package"], 10 + 1 + 6 + 2, places=3)

    def test_errors_come_from_the_table_where_there_is_one(self):
        self.run_import(self.lay("models", self.database()))
        listed = self.tallywatt("models", "--model-db", self.path("db"))
        rows = {tuple(l.split()[:2]): l for l in listed.splitlines()}
        self.assertTrue(any("66.5" in l for l in rows.values()), listed)
        folder = "db/nx12-std_v0.6/rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_1"
        with open(self.path(folder, "metadata.json"), encoding="utf-8") as f:
            metadata = json.load(f)
        self.assertEqual(metadata["mae"], 66.5)
        self.assertEqual(metadata["package_mae"], 66.5)

    def test_before_0_6_weights_are_the_groups_and_there_is_no_metadata(self):
        self.lay("models", {"rapl/AbsPower/BPFOnly/weight.json": V06})
        lines, _ = self.run_import(self.path("models"), "--name", "first")
        self.assertEqual(lines, ["usable   rapl/AbsPower/BPFOnly/SGDRegressorTrainer_1: linear",
                                 "first: usable=1 kept=0 refused=0"])

    def test_unusable_models_are_kept_as_foreign(self):
        self.run_import(self.lay("models", self.database()))
        kept = self.path("db/ec2-0.7.11/foreign/rapl-sysfs/AbsPower/BPFOnly")
        self.assertEqual(sorted(os.listdir(kept)), ["KNeighborsRegressorTrainer_0.zip",
                                                    "LogisticRegressionTrainer_0.json"])

    def test_a_failing_pipeline_does_not_stop_the_others(self):
        files = self.database()
        files["v0.7/bad/rapl-sysfs/AbsPower/BPFOnly/X_0.json"] = UNKNOWN
        lines, told = self.run_import(self.lay("models", files), code=1)
        self.assertIn("failed   bad: none of the 1 models can be used", lines)
        self.assertIn("1 of 4 pipelines could not be imported", told)
        self.assertEqual(len(told.splitlines()), 1)
        self.assertEqual(sorted(n for n in os.listdir(self.path("db")) if n[0] != "."),
                         ["ec2-0.7.11", "nx12-std_v0.6", "nx13-std_v0.6"])

    def test_the_real_one_twice_in_a_tree(self):
        source = shared("data/model-db/ec2-0.7.11")
        for name in ("a", "b"):
            shutil.copytree(source, self.path("models/v0.7", name))
        lines, _ = self.run_import(self.path("models"))
        self.assertEqual(lines[-1], "pipelines=2 failed=0 of all: usable=84 kept=126 refused=0")

    def test_wrong_use_is_reported(self):
        top = self.lay("models", self.database())
        _, told = self.run_import(top, "--name", "x", code=1)
        self.assertIn("has 3 pipelines", told)
        self.lay("empty", {"README.md": "x"})
        _, told = self.run_import(self.path("empty"), code=1)
        self.assertIn("it has no model", told)
        path = self.write("cut.zip", "PK")
        _, told = self.run_import(path, code=1)
        self.assertEqual(told, f"tallywatt import: '{path}': archive: 2 bytes are too few for a zip\n")
        self.assertFalse(os.path.exists(self.path("db")))


if __name__ == "__main__":
    unittest.main()
