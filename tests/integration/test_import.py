# SPDX-License-Identifier: Apache-2.0
"""Pipelines of kepler-model-server become ours, and say the same watts."""
import base64
import ctypes
import ctypes.util
import io
import json
import math
import os
import shutil
import unittest
import zipfile

from harness import Case, built_trainers, need, read_json, shared, tree

CURVES = {
    "ExponentialRegressionTrainer": lambda w, x: w[0] * math.exp(w[1] * x) + w[2],
    "LogarithmicRegressionTrainer": lambda w, x: w[0] * math.log(w[1] * x + 1) + w[2],
}
# In units of a feature's scale: at rest, in between, at its largest, beyond.
GRID = [0.0, 1e-6, 0.01, 0.1, 0.3333, 0.5, 0.77, 1.0, 1.5]
MAIN = {"BPFOnly": ("bpf_cpu_time_ms", "bpf_page_cache_hit"),
        "CounterOnly": ("cpu_instructions", "cache_miss")}


def zip_bytes(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in files.items():
            z.writestr(name, data)
    return out.getvalue()


class Import(Case):
    def run_import(self, source, *args):
        lines = self.tallywatt("import", source, "--to", self.path("db"), *args).splitlines()
        outcomes = {}
        for line in lines[:-1]:
            outcome, rest = line.split(None, 1)
            name, why = rest.split(": ", 1)
            outcomes[name] = (outcome, why)
        return outcomes, lines[-1]

    def watts(self, model, features, rows):
        """What our own predictor says: component -> watts of each row."""
        values = ";".join(",".join(repr(v) for v in row) for row in rows)
        lines = self.tallywatt("estimate", "--model", model, "--metrics", ",".join(features),
                               "--values", values).splitlines()
        names = lines[0].split()
        return [dict(zip(names, map(float, line.split()))) for line in lines[1:]]

    @staticmethod
    def rows(weights, features):
        variables = next(iter(weights.values()))["All_Weights"]["Numerical_Variables"]
        scales = [variables[f]["scale"] for f in features]
        return [[a * scales[0]] + [b * s for s in scales[1:]] for a in GRID for b in GRID[::3]]

    def expected(self, trainer, group, component, weights, row):
        all_ = weights[component]["All_Weights"]
        variables = all_["Numerical_Variables"]
        if "CurveFit_Weights" in all_:
            feature = MAIN[group][component == "dram"]
            return CURVES[trainer](all_["CurveFit_Weights"],
                                   row[feature] / variables[feature]["scale"])
        return all_["Bias_Weight"] + sum(v["weight"] * row[f] / v["scale"]
                                         for f, v in variables.items() if v["scale"])

    def test_every_model_of_ec2_is_reported(self):
        source = shared("data/model-db/ec2-0.7.11")
        outcomes, last = self.run_import(source)
        zips = {n[:-4] for n in tree(source) if n.endswith(".zip")}
        self.assertEqual(set(outcomes), zips)
        self.assertEqual(last, "ec2-0.7.11: usable=42 kept=63 refused=0")
        pipeline = self.path("db/ec2-0.7.11")
        for name, (outcome, why) in outcomes.items():
            kept = os.path.join(pipeline, "foreign", name + ".zip")
            ours = os.path.join(pipeline, name + ".zip")
            self.assertEqual(os.path.exists(ours), outcome == "usable", why)
            self.assertEqual(os.path.exists(kept), outcome == "kept", why)
            if outcome == "kept":
                with open(kept, "rb") as a, open(os.path.join(source, name + ".zip"), "rb") as b:
                    self.assertEqual(a.read(), b.read())
            else:
                self.assertFalse([n for n in zipfile.ZipFile(ours).namelist() if ".pkl" in n])
        listed = self.tallywatt("models", "--model-db", self.path("db")).splitlines()
        self.assertEqual(len(listed), 1 + 42)

    def test_converted_weights_are_the_formulas_on_a_grid(self):
        source = shared("data/model-db/ec2-0.7.11")
        outcomes, _ = self.run_import(source)
        compared = 0
        for name, (outcome, why) in outcomes.items():
            if outcome != "usable" or why == "xgboost":
                continue
            weights = read_json(os.path.join(source, name + ".json"))
            _, _, group, model = name.split("/")
            features = sorted(next(iter(weights.values()))["All_Weights"]["Numerical_Variables"])
            rows = self.rows(weights, features)
            got = self.watts(self.path("db/ec2-0.7.11", name + ".zip"), features, rows)
            for row, answer in zip(rows, got):
                for component, value in answer.items():
                    if component not in weights:
                        continue
                    want = max(0.0, self.expected(model.rsplit("_", 1)[0], group, component,
                                                  weights, dict(zip(features, row))))
                    # Three digits are printed.
                    self.assertAlmostEqual(value, want, delta=5.1e-4,
                                           msg=(name, component, row))
                    compared += 1
        self.assertGreater(compared, 1000)

    def booster(self, text):
        path = ctypes.util.find_library("xgboost")
        need("xgboost", path and "XgboostFitTrainer" in built_trainers())
        lib = ctypes.CDLL(path)
        handle = ctypes.c_void_p()
        self.assertEqual(lib.XGBoosterCreate(None, ctypes.c_uint64(0), ctypes.byref(handle)), 0)
        self.assertEqual(lib.XGBoosterLoadModelFromBuffer(
            handle, text, ctypes.c_uint64(len(text))), 0)
        return lib, handle

    def library_watts(self, text, rows):
        lib, booster = self.booster(text)
        flat = [v for row in rows for v in row]
        data, matrix = (ctypes.c_float * len(flat))(*flat), ctypes.c_void_p()
        self.assertEqual(lib.XGDMatrixCreateFromMat(
            data, ctypes.c_uint64(len(rows)), ctypes.c_uint64(len(rows[0])),
            ctypes.c_float(math.nan), ctypes.byref(matrix)), 0)
        count, out = ctypes.c_uint64(), ctypes.POINTER(ctypes.c_float)()
        self.assertEqual(lib.XGBoosterPredict(booster, matrix, 0, 0, 0, ctypes.byref(count),
                                              ctypes.byref(out)), 0)
        answer = [out[i] for i in range(count.value)]
        lib.XGDMatrixFree(matrix)
        lib.XGBoosterFree(booster)
        return answer

    def test_converted_trees_are_the_librarys_on_a_grid(self):
        source = shared("data/model-db/ec2-0.7.11")
        outcomes, _ = self.run_import(source)
        compared = 0
        for name, (outcome, why) in outcomes.items():
            if outcome != "usable" or why != "xgboost":
                continue
            folder, number = os.path.dirname(name), name.rsplit("_", 1)[1]
            beside = next(n for n in os.listdir(os.path.join(source, folder))
                          if n.endswith(f"_{number}.json"))
            variables = next(iter(read_json(os.path.join(source, folder, beside)).values()))[
                "All_Weights"]["Numerical_Variables"]
            features = sorted(variables)
            # The library takes values / scale, ours the values themselves.
            scaled = [[a] + [b] * (len(features) - 1) for a in GRID for b in GRID]
            raw = [[v * variables[f]["scale"] for v, f in zip(row, features)] for row in scaled]
            got = self.watts(self.path("db/ec2-0.7.11", name + ".zip"), features, raw)
            archive = zipfile.ZipFile(os.path.join(source, name + ".zip"))
            ours = zipfile.ZipFile(self.path("db/ec2-0.7.11", name + ".zip"))
            for component in ("package", "core", "uncore", "dram"):
                want = self.library_watts(archive.read(component + ".json"), scaled)
                # kepler-model-server's programs read our zip by that library.
                if component + ".json" in ours.namelist():
                    again = self.library_watts(ours.read(component + ".json"), raw)
                    self.assertLess(max(map(abs, map(float.__sub__, again, want))), 1e-3, (name, component))
                for row, value, expected in zip(scaled, got, want):
                    if component not in value:
                        continue
                    expected = max(0.0, expected)
                    # Three digits are printed, and its sum is of floats.
                    self.assertAlmostEqual(value[component], expected,
                                           delta=5.1e-4 + 1e-6 * expected,
                                           msg=(name, component, row))
                    compared += 1
        self.assertGreater(compared, 1000)

    def old_pipeline(self, base, files, metadata, weights):
        """One old model with weights beside it, as a directory."""
        folder = os.path.dirname(base)
        top = self.path("old")
        shutil.rmtree(top, ignore_errors=True)
        os.makedirs(os.path.join(top, folder))
        content = {"metadata.json": b'{"name":"old"}',
                   base + ".zip": zip_bytes({"metadata.json": json.dumps(metadata), **files}),
                   **weights}
        for name, data in content.items():
            os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
            with open(os.path.join(top, name), "wb") as f:
                f.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        return top

    def test_a_standard_scaler_of_0_6_and_its_cpu_time(self):
        base = "rapl/AbsPower/BPFOnly/SGDRegressorTrainer_1"
        weights = {"package": {"All_Weights": {
            "Bias_Weight": 100.0, "Categorical_Variables": {}, "Numerical_Variables": {
                "bpf_cpu_time_us": {"mean": 2000.0, "variance": 250000.0, "weight": 5.0},
                "bpf_page_cache_hit": {"mean": 3.0, "variance": 4.0, "weight": 1.0}}}}}
        top = self.old_pipeline(base, {}, {
            "model_name": "SGDRegressorTrainer_1", "model_class": "scikit", "mae": 1.5,
            "features": ["bpf_cpu_time_us", "bpf_page_cache_hit"], "mape": -1},
            {"rapl/AbsPower/BPFOnly/weight.json": weights})
        outcomes, _ = self.run_import(top)
        self.assertEqual(outcomes, {base: ("usable", "linear")})
        got = self.watts(self.path("db/old/rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_1.zip"),
                         ["bpf_cpu_time_ms", "bpf_page_cache_hit"], [[2500.0, 7.0]])
        # 100 + 5 (2500 - 2000) / 500 + (7 - 3) / 2
        self.assertAlmostEqual(got[0]["package"], 107.0)

    def test_trees_in_base64_are_those_of_the_zip(self):
        source = shared("data/model-db/ec2-0.7.11")
        base = "rapl-sysfs/AbsPower/BPFOnly/XgboostFitTrainer_0"
        archive = zipfile.ZipFile(os.path.join(source, base + ".zip"))
        scales = next(iter(read_json(os.path.join(
            source, "rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0.json")).values()))[
                "All_Weights"]["Numerical_Variables"]
        variables = {f: {"scale": v["scale"]} for f, v in scales.items()}
        weights = {c: {"All_Weights": {"Categorical_Variables": {},
                                       "Numerical_Variables": variables,
                                       "XGboost_Weights": base64.b64encode(
                                           archive.read(c + ".json")).decode()}}
                   for c in ("package", "core", "uncore", "dram")}
        top = self.old_pipeline(base, {}, json.loads(archive.read("metadata.json")),
                                {base + ".json": weights})
        self.assertEqual(self.run_import(top)[0][base], ("usable", "xgboost"))
        self.run_import(source)
        one, other = (zipfile.ZipFile(self.path("db", p, base + ".zip"))
                      for p in ("old", "ec2-0.7.11"))
        for component in weights:
            self.assertEqual(one.read(component + ".json"), other.read(component + ".json"))

    def test_broken_models_are_rejected_and_unknown_groups_kept(self):
        base = "rapl/AbsPower/KubeletOnly/SGDRegressorTrainer_1"
        top = self.old_pipeline(base, {}, {"model_name": "x", "features": []}, {})
        self.assertIn("none of the 1 models can be used",
                      run_refused(self, "import", top, "--to", self.path("db")))
        self.assertFalse(os.path.exists(self.path("db")))


def run_refused(case, *args):
    """As Case.refused(), but the report before it is on stdout."""
    from harness import run_tallywatt  # pylint: disable=import-outside-toplevel
    done = run_tallywatt(*args)
    case.assertEqual(done.returncode, 1)
    return done.stderr.decode()


if __name__ == "__main__":
    unittest.main()
