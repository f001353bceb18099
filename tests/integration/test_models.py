# SPDX-License-Identifier: Apache-2.0
"""The models that ship: all are served, they answer offline, and they are what this
program makes of the recordings."""
import json
import os
import re
import subprocess
import unittest
import zipfile

from harness import (BIN, QUICK, ROOT, Case, ask_estimator, built_trainers, call, content, need,
                     power_request, shared, tree, wait_until)

MODELS = os.path.join(ROOT, "model-db", "models")
# The pipelines that are trained again: of nx12-rapl, the largest, there are two in small.
TRAINED = ("nx12-acpi", "haswell-kind") if QUICK else ("nx12-rapl", "nx12-acpi", "haswell-kind")
# A lightly loaded machine, each feature per second.
USE = {"bpf_cpu_time_ms": 2000, "bpf_page_cache_hit": 50, "bpf_block_irq": 2,
       "bpf_net_rx_irq": 60, "bpf_net_tx_irq": 1, "cache_miss": 5e6,
       "cpu_cycles": 5e9, "cpu_instructions": 5e9}
ALL = list(USE)
BPF_ONLY = ALL[:2]


class ShippedModels(Case):
    def test_all_are_served(self):
        zips = [name for name in tree(MODELS) if name.endswith(".zip")]
        server = self.start_http("tw-server", "--model-db", MODELS)
        count = int(re.search(r"count=(\d+)", server.log()).group(1))
        self.assertGreater(count, 0)
        self.assertEqual(count, len(zips))
        self.assertNotIn("cannot load a model", server.log())
        best = call(server, "GET", "/best-models").json()
        for output in ("AbsPower", "DynPower"):
            for group in ("BPFIRQ", "BPFOnly", "Basic", "CounterIRQCombined", "CounterOnly"):
                self.assertIn(group, best[output])

    def test_an_idle_workload_gets_no_power(self):
        names = [n for n in tree(MODELS) if n.endswith(".zip") and "/DynPower/" in n]
        self.assertTrue(names)
        for name in names:
            with zipfile.ZipFile(os.path.join(MODELS, name)) as z:
                weights = json.loads(z.read("weight.json"))
                metadata = json.loads(z.read("metadata.json"))
            for component, weight in weights.items():
                self.assertEqual(weight["All_Weights"]["Bias_Weight"], 0, name)
                low, idle, high = (metadata[f"{component}_idle{end}"]
                                   for end in ("_low", "", "_high"))
                self.assertTrue(0 <= low <= idle <= high, name)

    def test_they_answer_without_a_server(self):
        path = self.path("estimator.socket")
        self.start("tw-estimator", "--socket", path, "--model-db", MODELS)
        for source, component in (("rapl-sysfs", "package"), ("acpi", "platform")):
            for metrics in (BPF_ONLY, ALL):
                for output in ("AbsPower", "DynPower"):
                    rows = [[USE[m] for m in metrics], [0] * len(metrics)]
                    request = power_request(metrics, rows, output_type=output,
                                            source=source)
                    wait_until(lambda: ask_estimator(path, request), "a model is there")
                    powers = ask_estimator(path, request)["powers"]
                    # The main component is there even where it is 0.
                    watts = powers[component]
                    self.assertEqual(len(watts), 2)
                    for w in watts:
                        self.assertLess(w, 1000)
                        if output == "AbsPower":
                            # At least at rest, of a share of a machine.
                            self.assertGreater(w, 0)

    def test_shipped_models_equal_a_new_training(self):
        data = shared("data")
        need("xgboost", "XgboostFitTrainer" in built_trainers())
        made = self.path("made")
        done = subprocess.run([os.path.join(ROOT, "model-db", "make-models"),
                               os.path.join(BIN, "tallywatt"), data, made, *TRAINED],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=900, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-1000:])
        fresh, kept = content(made), content(MODELS)
        # The prior of machines has no recordings.
        kept = {n: data for n, data in kept.items() if n.startswith(TRAINED)}
        self.assertEqual(sorted(fresh), sorted(kept))
        for name, data in kept.items():
            self.assertEqual(fresh[name], data, f"{name} differs: make models")


if __name__ == "__main__":
    unittest.main()
