# SPDX-License-Identifier: Apache-2.0
"""libtallywatt: from C, shared and static, and from Python."""
import ctypes
import json
import math
import os
import re
import shutil
import subprocess
import tempfile
import unittest
import zipfile

from harness import (BIN, COUNTER_ONLY, ROOT, Case, linear_watts, sanitized,
                     train_generated)

EXAMPLE = os.path.join(ROOT, "docs/examples/predict.c")
HEADER = os.path.join(ROOT, "estimator/tallywatt.h")
CC = os.environ.get("CC", "cc").split()
ROW = [2.5e9, 1.7e9, 3.1e6]
# What is computed twice in another order.
TOLERANCE_W = 1e-9


class Library(Case):
    @classmethod
    def setUpClass(cls):
        if sanitized("libtallywatt.so.0"):
            raise unittest.SkipTest("a library with a sanitizer in it cannot be loaded")
        cls.db = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, cls.db)
        train_generated(cls.db, trainers=("SGDRegressorTrainer",))
        cls.model = os.path.join(cls.db, "simulated/rapl-sysfs/AbsPower/CounterOnly",
                                 "SGDRegressorTrainer_0.zip")
        with zipfile.ZipFile(cls.model) as z:
            weights = json.loads(z.read("weight.json"))
        cls.features = sorted(COUNTER_ONLY)
        cls.wanted = {c: linear_watts(w, dict(zip(cls.features, ROW)))
                      for c, w in weights.items()}

    def check(self, watts):
        self.assertEqual(set(watts), set(self.wanted))
        for component, value in watts.items():
            self.assertLess(abs(value - self.wanted[component]), TOLERANCE_W)

    # ---- C ---------------------------------------------------------------------

    def build(self, name, *flags):
        shutil.copy(HEADER, self.dir)
        program = self.path(name)
        subprocess.run([*CC, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", self.dir,
                        EXAMPLE, *flags, "-o", program], check=True)
        return program

    def run_example(self, program):
        env = dict(os.environ, LD_LIBRARY_PATH=os.path.abspath(BIN))
        listed = subprocess.run([program, self.model], env=env, check=True,
                                stdout=subprocess.PIPE, text=True).stdout.split()
        self.assertEqual(listed, self.features)
        lines = subprocess.run([program, self.model, *map(repr, ROW)], env=env, check=True,
                               stdout=subprocess.PIPE, text=True).stdout.splitlines()
        self.check({c: float(w) for c, w in (line.split() for line in lines)})
        failed = subprocess.run([program, "/nowhere"], env=env, check=False,
                                stderr=subprocess.PIPE, text=True)
        self.assertEqual(failed.returncode, 1)
        self.assertEqual(failed.stderr,
                         "predict: '/nowhere': cannot open: No such file or directory\n")

    def test_the_example_runs_with_the_shared_library(self):
        self.run_example(self.build("shared", "-L", BIN, "-ltallywatt"))

    def test_the_example_runs_with_the_static_library(self):
        self.run_example(self.build("static", os.path.join(BIN, "libtallywatt.a"),
                                    "-ljansson", "-lz", "-lm"))

    def test_the_header_is_good_for_cplusplus_where_there_is_a_compiler(self):
        if shutil.which("c++") is None:
            self.skipTest("SKIPPED: no c++")
        subprocess.run(["c++", "-Wall", "-Werror", "-fsyntax-only", "-x", "c++", HEADER],
                       check=True)

    def test_only_names_of_the_header_can_be_seen(self):
        with open(HEADER, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        declared = set(re.findall(r"\b(tallywatt_\w+)\(", text))
        for library in ("-D", "libtallywatt.so.0"), ("-g", "libtallywatt.a"):
            out = subprocess.run(["nm", "--defined-only", library[0],
                                  os.path.join(BIN, library[1])], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout
            seen = {line.split()[2].split("@")[0] for line in out.splitlines()
                    if len(line.split()) == 3 and line.split()[1] != "A"}
            self.assertEqual(seen, declared, library)

    def test_pkg_config_leads_to_it(self):
        shutil.copy(os.path.join(BIN, "tallywatt.pc"), self.dir)
        flags = subprocess.run(
            ["pkg-config", "--define-variable=libdir=/L", "--define-variable=includedir=/I",
             "--cflags", "--libs", "--static", "tallywatt"], check=True, text=True,
            stdout=subprocess.PIPE,
            env=dict(os.environ, PKG_CONFIG_PATH=self.dir)).stdout.split()
        for flag in ("-I/I", "-L/L", "-ltallywatt", "-ljansson", "-lz", "-lm"):
            self.assertIn(flag, flags)

    # ---- Python ----------------------------------------------------------------

    def load(self):
        lib = ctypes.CDLL(os.path.join(os.path.abspath(BIN), "libtallywatt.so.0"))
        for name in ("open", "open_best", "series_new"):
            getattr(lib, "tallywatt_" + name).restype = ctypes.c_void_p
        for name in ("name", "source", "output", "feature", "component", "version"):
            getattr(lib, "tallywatt_" + name).restype = ctypes.c_char_p
        for name in ("feature_count", "component_count", "extrapolated", "back"):
            getattr(lib, "tallywatt_" + name).restype = ctypes.c_size_t
        for name in ("mean_error", "error_95"):
            getattr(lib, "tallywatt_" + name).restype = ctypes.c_double
        return lib

    def predict(self, lib, model, rows):
        """Component -> watts of each row."""
        cols = len(rows[0])
        x = (ctypes.c_double * (len(rows) * cols))(*[v for row in rows for v in row])
        parts = lib.tallywatt_component_count(model)
        watts = (ctypes.c_double * (parts * len(rows)))()
        self.assertEqual(lib.tallywatt_predict(model, x, ctypes.c_size_t(len(rows)),
                                               ctypes.c_size_t(cols), watts), 0)
        return {lib.tallywatt_component(model, ctypes.c_size_t(i)).decode():
                watts[i * len(rows):(i + 1) * len(rows)] for i in range(parts)}

    def test_python_predicts_as_the_weights_do(self):
        lib = self.load()
        why = ctypes.create_string_buffer(512)
        model = ctypes.c_void_p(lib.tallywatt_open(self.model.encode(), why,
                                                   ctypes.c_size_t(512)))
        self.assertTrue(model, why.value)
        self.addCleanup(lib.tallywatt_close, model)
        self.assertEqual(lib.tallywatt_name(model), b"SGDRegressorTrainer_0")
        self.assertEqual(lib.tallywatt_output(model), b"AbsPower")
        self.assertEqual(lib.tallywatt_source(model), b"rapl-sysfs")
        self.assertIsNone(lib.tallywatt_feature(model, ctypes.c_size_t(99)))
        rows = [ROW, [0.0] * 3, ROW]
        watts = self.predict(lib, model, rows)
        self.check({c: w[0] for c, w in watts.items()})
        self.check({c: w[2] for c, w in watts.items()})
        error = lib.tallywatt_mean_error(model, ctypes.c_size_t(0))
        self.assertTrue(0 <= error <= lib.tallywatt_error_95(model, ctypes.c_size_t(0)))
        self.assertTrue(math.isnan(lib.tallywatt_mean_error(model, ctypes.c_size_t(9))))

    def test_each_row_has_an_expected_error_and_an_interval(self):
        lib = self.load()
        model = ctypes.c_void_p(lib.tallywatt_open(self.model.encode(), None,
                                                   ctypes.c_size_t(0)))
        self.addCleanup(lib.tallywatt_close, model)
        parts = lib.tallywatt_component_count(model)
        x = (ctypes.c_double * 6)(*ROW, 0, 0, 0)
        watts, expected, half = ((ctypes.c_double * (2 * parts))() for _ in range(3))
        two, cols = ctypes.c_size_t(2), ctypes.c_size_t(3)
        self.assertEqual(lib.tallywatt_predict(model, x, two, cols, watts), 0)
        self.assertEqual(
            lib.tallywatt_errors(model, x, two, cols, watts, expected, half), 0)
        for e, h in zip(expected, half):
            self.assertTrue(0 <= e and 0 <= h < 1000, (e, h))
        self.assertEqual(
            lib.tallywatt_errors(model, x, two, cols, watts, None, half), -1)

        series = ctypes.c_void_p(lib.tallywatt_series_new(model))
        self.addCleanup(lib.tallywatt_series_free, series)
        newest = [(ctypes.c_double * parts)() for _ in range(3)]
        self.assertEqual(lib.tallywatt_series_errors(series, *newest), -1)
        self.assertEqual(lib.tallywatt_series_predict(
            series, ctypes.c_int64(1000), x, newest[0]), 0)
        self.assertEqual(lib.tallywatt_series_errors(series, *newest), 0)
        self.assertEqual(list(newest[1]), [expected[2 * i] for i in range(parts)])
        self.assertEqual(list(newest[2]), [half[2 * i] for i in range(parts)])

    def test_rows_beyond_the_training_are_counted(self):
        lib = self.load()
        model = ctypes.c_void_p(lib.tallywatt_open(self.model.encode(), None,
                                                   ctypes.c_size_t(0)))
        self.addCleanup(lib.tallywatt_close, model)
        huge, nan = 1e18, float("nan")
        x = (ctypes.c_double * 9)(huge, 0, 0, nan, nan, nan, -1, nan, nan)
        outside = (ctypes.c_ubyte * 3)()
        self.assertEqual(lib.tallywatt_extrapolated(
            model, x, ctypes.c_size_t(3), ctypes.c_size_t(3), outside), 2)
        self.assertEqual(list(outside), [1, 0, 1])

    def test_the_best_model_of_a_database_and_why_there_is_none(self):
        lib = self.load()
        why = ctypes.create_string_buffer(512)
        names = [f.encode() for f in self.features]

        def best(output, source, features):
            return ctypes.c_void_p(lib.tallywatt_open_best(
                self.db.encode(), output, source,
                (ctypes.c_char_p * len(features))(*features),
                ctypes.c_size_t(len(features)), why, ctypes.c_size_t(512)))

        model = best(b"AbsPower", None, names)
        self.assertTrue(model, why.value)
        self.check({c: w[0] for c, w in self.predict(lib, model, [ROW]).items()})
        lib.tallywatt_close(model)
        self.assertFalse(best(b"AbsPower", b"hmc", names))
        self.assertIn(b"no model of AbsPower for hmc", why.value)
        self.assertFalse(best(b"NoPower", None, names))
        self.assertEqual(why.value, b"output 'NoPower' is not known, expected AbsPower or "
                                    b"DynPower")
        self.assertFalse(best(b"AbsPower", None, names[:1]))
        self.assertIn(b"needs metric", why.value)

    def rewrite(self, edit):
        """The model with its files edited: edit(name, document) gives the new one."""
        path = self.path("edited.zip")
        with zipfile.ZipFile(self.model) as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                new.writestr(name, json.dumps(edit(name, json.loads(old.read(name)))))
        return path

    def open(self, lib, path):
        why = ctypes.create_string_buffer(512)
        model = ctypes.c_void_p(lib.tallywatt_open(path.encode(), why, ctypes.c_size_t(512)))
        self.assertTrue(model, why.value)
        self.addCleanup(lib.tallywatt_close, model)
        return model

    def test_categories_have_weights(self):
        def edit(name, document):
            if name in ("package.json", "dram.json"):
                document["All_Weights"]["Categorical_Variables"] = {
                    "cpu_architecture": {"Sandy Bridge": {"weight": 2.5}}}
            return document

        lib = self.load()
        model = self.open(lib, self.rewrite(edit))
        parts = lib.tallywatt_component_count(model)

        def known(names, values):
            watts = (ctypes.c_double * parts)()
            self.assertEqual(lib.tallywatt_predict_known(
                model, (ctypes.c_char_p * len(names))(*names),
                (ctypes.c_char_p * len(values))(*values), ctypes.c_size_t(len(names)),
                (ctypes.c_double * 3)(*ROW), ctypes.c_size_t(1), ctypes.c_size_t(3),
                watts), 0)
            return {lib.tallywatt_component(model, ctypes.c_size_t(i)).decode(): watts[i]
                    for i in range(parts)}

        self.check(known([], []))
        self.check(known([b"cpu_architecture"], [b"Haswell"]))
        more = known([b"os", b"cpu_architecture"], [b"x", b"Sandy Bridge"])
        for component in ("package", "dram"):
            self.assertAlmostEqual(more[component], self.wanted[component] + 2.5, 9)

    def test_a_series_is_looked_back_at(self):
        def linear(feature):
            return {"weight": 1, "columns": [0], "predictor": "linear", "model": {
                "All_Weights": {"Bias_Weight": 0, "Numerical_Variables": {
                    feature: {"scale": 1, "weight": 1}}}}}

        def edit(name, document):
            if name == "metadata.json":
                document["model_class"] = "ensemble"
            if "All_Weights" not in document:
                return document
            return {"ensemble": {
                "floor": 0, "ceiling": 1e6, "step_ms": 1000,
                "alone": {"bias": 0, "columns": [[0, 0, 0]],
                          "members": [linear(self.features[0])]},
                "series": {"bias": 0, "columns": [[0, 2, 2]],
                           "members": [linear(self.features[0] + "@2")]}}}

        lib = self.load()
        model = self.open(lib, self.rewrite(edit))
        self.assertEqual(lib.tallywatt_back(model), 2)
        self.assertEqual(lib.tallywatt_back(self.open(lib, self.model)), 0)
        series = ctypes.c_void_p(lib.tallywatt_series_new(model))
        self.addCleanup(lib.tallywatt_series_free, series)
        watts = (ctypes.c_double * 8)()

        def add(time_ms, value):
            self.assertEqual(lib.tallywatt_series_predict(
                series, ctypes.c_int64(time_ms), (ctypes.c_double * 3)(value, 0, 0), watts), 0)
            return watts[0]

        # The first by itself; then the oldest stands for what is missing.
        self.assertEqual([add(1000 * i, 10 * i) for i in range(1, 6)], [10, 10, 10, 20, 30])
        self.assertEqual(add(5000, 70), 30)
        # Too long after the last one, and from before it: by itself again.
        self.assertEqual(add(60000, 80), 80)
        self.assertEqual(add(1000, 90), 90)
        self.assertEqual(lib.tallywatt_series_predict(None, ctypes.c_int64(0), None, None), -1)

    def test_unknown_arguments_are_rejected(self):
        lib = self.load()
        why = ctypes.create_string_buffer(512)
        self.assertFalse(lib.tallywatt_open(None, why, ctypes.c_size_t(512)))
        self.assertEqual(why.value, b"path is NULL")
        lib.tallywatt_close(None)


if __name__ == "__main__":
    unittest.main()
