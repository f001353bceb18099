# SPDX-License-Identifier: Apache-2.0
"""The whole way with the running programs: a Prometheus response becomes a watt."""
import io
import json
import os
import unittest
import zipfile

from harness import (COUNTER_ONLY, GENERATED, LINEAR_TRAINERS, Case, ask_estimator, call,
                     linear_watts, power_request, read_json, shared, wait_until)

TRAINERS = list(LINEAR_TRAINERS)
# Answers of the estimator have 3 decimals.
ROUNDING_W = 0.0006


class MainJob(Case):
    def run_job(self, path, source, trainers=TRAINERS):
        db = self.path("db")
        os.mkdir(db)
        trainer = self.start_http("tw-trainer", "--model-db", db)
        server = self.start_http("tw-server", "--model-db", db)

        answer = call(trainer, "POST", "/train", {
            "name": "job", "energy_source": source, "prom_response": read_json(path),
            "trainer": {"abs_trainers": trainers, "dyn_trainers": trainers,
                        "isolator": "MinIdleIsolator", "isolator_args": {},
                        "idle_prom_response": None}})
        self.assertEqual(answer.status, 200, answer.body[:300])
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            print(f"POST /train: {answer.status}, {len(z.namelist())} files, "
                  f"{len(answer.body)} bytes")

        request = {"metrics": COUNTER_ONLY, "output_type": "AbsPower", "source": source,
                   "weight": True, "trainer_name": "SGDRegressorTrainer"}
        wait_until(lambda: call(server, "POST", "/model", request).status == 200,
                   "the server serves what the trainer published")
        weights = call(server, "POST", "/model", request).json()
        print(f"POST /model weights: {json.dumps(weights)[:200]}...")
        archive = call(server, "POST", "/model", {**request, "weight": False})
        self.assertEqual(archive.status, 200)
        with zipfile.ZipFile(io.BytesIO(archive.body)) as z:
            metadata = json.loads(z.read("metadata.json"))
            print(f"POST /model zip: {z.namelist()}, mae {metadata['mae']} W")
        self.assertEqual(metadata["model_name"], "SGDRegressorTrainer_0")
        self.check_watts(server, weights)
        for daemon in (server, trainer):
            daemon.stop()

    def check_watts(self, server, weights):
        """The estimator must say what a client computes from the weights."""
        path = self.path("estimator.socket")
        self.start("tw-estimator", "--socket", path, "--model-server", f"http://{server.address}",
                   "--model-db", self.path("none"))
        rows = [[1e6 * i, 2e9 * i, 3e9 * i] for i in range(6)]
        request = power_request(COUNTER_ONLY, rows, trainer_name="SGDRegressorTrainer")
        wait_until(lambda: ask_estimator(path, request), "the estimator has a model")
        powers = ask_estimator(path, request)["powers"]
        print(f"estimator: {powers}")
        for component in ("package", "dram"):
            self.assertEqual(len(powers[component]), len(rows))
            for row, watts in zip(rows, powers[component]):
                wanted = linear_watts(weights[component], dict(zip(COUNTER_ONLY, row)))
                self.assertLess(abs(watts - wanted), ROUNDING_W)
        self.assertGreater(powers["package"][5], powers["package"][0])

    def test_recorded_workload(self):
        self.run_job(shared("data", "prometheus", "workload-0.6.json"), "rapl-sysfs")

    def test_generated_response(self):
        self.run_job(GENERATED["0.7"], "rapl-sysfs")

    def test_generated_response_of_the_older_generation(self):
        self.run_job(GENERATED["0.6"], "rapl")


if __name__ == "__main__":
    unittest.main()
