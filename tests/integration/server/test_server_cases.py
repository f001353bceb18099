# SPDX-License-Identifier: Apache-2.0
"""Each generation of clients, and what they must not get: tests/cases/server.

A case is a request's body and what is wanted of the answer: status; model (by name) or pipeline;
keys, sorted, of the JSON; zip; detail, a part of an error's; mw: a component's power in mW for
features, by the formulas of docs/wire.md, "Weights"; numerical, the features that a component
has weights of, sorted; spec, parts of the machine_spec.
"""
import io
import json
import math
import os
import re
import unittest
import zipfile

from harness import ROOT, Case, call, read_json

CASES = os.path.join(ROOT, "tests/cases/server")


def write_model(top, m):
    """A model's zip, in its place in a database."""
    name = m["name"] or f"{m['trainer']}_{m['node_type']}"
    features = {"BPFOnly": ["bpf_cpu_time_ms", "bpf_page_cache_hit"],
                "BPFIRQ": ["bpf_cpu_time_ms", "bpf_page_cache_hit"],
                "CounterOnly": ["cache_miss", "cpu_cycles", "cpu_instructions"]}
    used = features[m["feature_group"]]
    metadata = {"model_name": name, "model_class": m["model_class"],
                "model_file": name + ".json", "energy_source": m["source"],
                "output_type": m["output_type"], "feature_group": m["feature_group"],
                "features": used, "fe_files": [], "mae": m["mae"], "mape": m["mape"],
                **m["metadata"]}
    if m["machine_spec"]:
        metadata["machine_spec"] = m["machine_spec"]
    parts = {c: {"model_file": c + ".json", "features": used, "fe_files": []}
             for c in m["parts"]}
    folder = os.path.join(top, m["pipeline"], m["source"], m["output_type"],
                          m["feature_group"])
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(os.path.join(folder, name + ".zip"), "w",
                         zipfile.ZIP_DEFLATED) as z:
        z.writestr("metadata.json", json.dumps(metadata))
        z.writestr(name + ".json", json.dumps(parts))
        for component, text in m["parts"].items():
            z.writestr(component + ".json", json.dumps(text))


def milliwatts(name, part, first_metric, features):
    """As Kepler computes: the type by the model's name, x0 from the first metric."""
    weights = part["All_Weights"]
    numerical = weights["Numerical_Variables"]
    curve = weights.get("CurveFit_Weights")
    if curve is None:
        watts = weights["Bias_Weight"]
        for variable, values in (weights["Categorical_Variables"] or {}).items():
            watts += values.get(features.get(variable), {}).get("weight", 0)
        for feature, v in numerical.items():
            watts += v["weight"] * features.get(feature, 0) / v["scale"]
        return int(watts * 1000)
    scale = numerical.get(first_metric, {}).get("scale", 0)
    x = features.get(first_metric, 0) / scale if scale else 0
    trainer = name.rsplit("_", 1)[0]
    if trainer == "ExponentialRegressionTrainer":
        a, b, c = curve
        watts = a * math.exp(b * x) + c
    elif trainer == "LogarithmicRegressionTrainer":
        a, b, c = curve
        watts = a * math.log(b * x + 1) + c
    else:
        top, x0, k, off = curve
        watts = top / (1 + math.exp(-k * (x - x0))) + off
    return int(watts * 1000)


def check_weights(test, body):
    """What no client may meet: a number that is none, a fraction in the machine's spec."""
    for part in body.values():
        if not isinstance(part, dict) or "All_Weights" not in part:
            continue
        weights = part["All_Weights"]
        test.assertIsInstance(weights.get("Bias_Weight", 0), (int, float))
        for v in weights["Numerical_Variables"].values():
            test.assertTrue("variance" not in v or v["variance"] > 0, v)
    for value in body.get("machine_spec", {}).values():
        test.assertNotIsInstance(value, float)


class Clients(Case):
    def setUp(self):
        super().setUp()
        for m in read_json(os.path.join(CASES, "database.json")):
            write_model(self.path("db"), m)
        self.server = self.start_http("tw-server", "--model-db", self.path("db"))

    def check(self, body, want):
        answer = call(self.server, "POST", "/model", body)
        self.assertEqual(answer.status, want["status"], answer.body[:300])
        if answer.status != 200:
            self.assertEqual(answer.headers.get_content_type(), "application/problem+json")
            self.assertIn(want["detail"], answer.json()["detail"])
            return
        if want.get("zip"):
            self.check_zip(answer, want)
        else:
            self.check_json(answer, json.loads(body), want)

    def check_zip(self, answer, want):
        self.assertEqual(answer.headers.get_content_type(), "application/zip")
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            name = json.loads(z.read("metadata.json"))["model_name"]
        self.assertEqual(answer.headers.get_filename(), name + ".zip")
        if "model" in want:
            self.assertEqual(name, want["model"])

    def check_json(self, answer, request, want):
        self.assertEqual(answer.headers.get_content_type(), "application/json")
        self.assertIsNone(re.search(rb"NaN|Infinity", answer.body))
        body = answer.json()
        check_weights(self, body)
        if "keys" in want:
            self.assertEqual(sorted(body), want["keys"])
        if "model" in want:
            self.assertEqual(body["model_name"], want["model"])
        if "spec" in want:
            self.assertEqual(body["machine_spec"], want["spec"])
        for component, names in want.get("numerical", {}).items():
            numerical = body[component]["All_Weights"]["Numerical_Variables"]
            self.assertEqual(sorted(numerical), names, component)
        for component, features, mw in want.get("mw", ()):
            got = milliwatts(body.get("model_name", "SGDRegressorTrainer_0"),
                             body[component], request["metrics"][0], features)
            self.assertEqual(got, mw, (component, features))

    def test_every_case(self):
        count = 0
        for name in sorted(os.listdir(CASES)):
            folder = os.path.join(CASES, name)
            if not os.path.isdir(folder):
                continue
            with open(os.path.join(folder, "request"), "rb") as f:
                body = f.read()
            with self.subTest(name):
                self.check(body, read_json(os.path.join(folder, "want.json")))
            count += 1
        self.assertGreater(count, 60)

    def test_broken_models_are_skipped_and_reported(self):
        for name in ("BrokenRegressionTrainer_0", "ExponentialRegressionTrainer_9",
                     "NoNumber", "SGDRegressorTrainer_8"):
            self.assertRegex(self.server.log(), f"cannot load a model.*{name}")
        metrics = call(self.server, "GET", "/metrics").body.decode()
        self.assertIn("\ntw_models_refused 4\n", metrics)

    def test_an_empty_database_answers_every_path(self):
        server = self.start_http("tw-server", "--model-db", self.path("none"))
        answer = call(server, "POST", "/model", '{"metrics":["x"],"output_type":"AbsPower"}')
        self.assertEqual(answer.status, 503)
        self.assertEqual(call(server, "GET", "/best-models").status, 503)
        self.assertEqual(call(server, "GET", "/readyz").status, 503)
        self.assertEqual(call(server, "GET", "/livez").status, 200)
        self.assertEqual(call(server, "GET", "/api/v1/models").json()["total"], 0)


if __name__ == "__main__":
    unittest.main()
