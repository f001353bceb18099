# SPDX-License-Identifier: Apache-2.0
"""tw-server: what each client asks and gets, what it refuses, how it reloads and stops."""
import gzip
import io
import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import unittest
import zipfile

from harness import (COUNTER_ONLY, TIMEOUT_S, Case, call, huge_post, linear_watts, raw_call,
                     train_generated, tree, wait_until)
import generate_response as generator

SPEC = {"vendor": "authenticamd", "processor": "amd_epyc", "cores": 2, "chips": 1,
        "memory": 23, "frequency": 2600, "threads_per_core": 1}


def model_request(**more):
    return {"metrics": list(COUNTER_ONLY), "output_type": "AbsPower",
            "source": "rapl-sysfs", "weight": True, **more}


class ModelServer(Case):
    @classmethod
    def setUpClass(cls):
        cls.trained = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, cls.trained)
        train_generated(cls.trained)

    def setUp(self):
        super().setUp()
        self.server = self.start_http("tw-server", "--model-db", self.trained)

    def ask(self, **more):
        return call(self.server, "POST", "/model", model_request(**more))

    def problem(self, answer, status):
        """An answer must be problem+json with one line of detail."""
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers.get_content_type(), "application/problem+json")
        body = answer.json()
        self.assertEqual(body["status"], status)
        self.assertTrue(body["title"])
        self.assertTrue(body["detail"])
        self.assertNotIn("\n", body["detail"])
        return body["detail"]

    # ---- weights ---------------------------------------------------------------

    def test_a_request_may_be_gzip_within_the_limit(self):
        ask = json.dumps(model_request()).encode()
        packed = gzip.compress(ask)

        def post(body, coding):
            return call(self.server, "POST", "/model", body, {"Content-Encoding": coding})

        want = call(self.server, "POST", "/model", ask)
        for coding, body in (("gzip", packed), ("x-gzip", packed), ("identity", ask)):
            self.assertEqual(post(body, coding).body, want.body, coding)
        for path in ("//model", "/model/", "///model/"):
            self.assertEqual(call(self.server, "POST", path, ask).body, want.body, path)
        self.assertEqual(call(self.server, "GET", "/model/x").status, 404)
        for status, coding, body, why in (
                (415, "br", packed, "use gzip or none"),
                (400, "gzip", packed[:-9], "cut short"), (400, "gzip", ask, "not gzip"),
                (400, "gzip", packed + b"more", "not gzip"), (400, "gzip", b"", "cut short"),
                (413, "gzip", gzip.compress(b" " * (64 << 20)), "bytes")):
            answer = post(body, coding)
            self.assertEqual(answer.status, status, (coding, why, answer.body))
            self.assertIn(why, answer.body.decode())

    def test_weights_have_the_form_of_current_clients(self):
        answer = self.ask(machine_spec=SPEC, trainer_name="SGDRegressorTrainer")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers.get_content_type(), "application/json")
        body = answer.json()
        self.assertEqual(body["model_name"], "SGDRegressorTrainer_0")
        self.assertNotIn(".", json.dumps(body.get("machine_spec", {})))
        for component in ("package", "dram"):
            weights = body[component]["All_Weights"]
            self.assertIsInstance(weights["Bias_Weight"], (int, float))
            self.assertEqual(weights["Categorical_Variables"], {})
            for number in weights["Numerical_Variables"].values():
                self.assertEqual(number["mean"], 0)
                self.assertAlmostEqual(number["variance"], number["scale"] ** 2,
                                       delta=1e-9 * number["scale"] ** 2)

    def test_weights_give_the_laws_watts(self):
        machine = generator.Machine()
        for trainer in ("SGDRegressorTrainer", "LinearRegressionTrainer"):
            body = self.ask(machine_spec=SPEC, trainer_name=trainer).json()
            for rates, watts in zip(machine.rates, machine.watts):
                for component in ("package", "dram"):
                    self.assertLess(abs(linear_watts(body[component], rates) -
                                        watts[component]), 1.0)

    def test_the_order_of_metrics_does_not_matter(self):
        one = self.ask(metrics=COUNTER_ONLY, machine_spec=SPEC)
        two = self.ask(metrics=COUNTER_ONLY[::-1] + ["cpu_architecture"], machine_spec=SPEC)
        self.assertEqual((one.status, one.body), (two.status, two.body))

    def test_clients_before_0_7_12_get_component_keys_only(self):
        body = self.ask(node_type=1).json()
        self.assertTrue(set(body) <= {"package", "core", "uncore", "dram"}, list(body))
        self.assertTrue(all(isinstance(v, dict) for v in body.values()))
        for part in body.values():
            self.assertNotIn("XGboost_Weights", part["All_Weights"])

    def test_clients_before_0_5_4_get_their_names(self):
        for output in ("AbsComponentModelWeight", "DynComponentModelWeight"):
            answer = call(self.server, "POST", "/model",
                          {"metrics": COUNTER_ONLY, "output_type": output})
            self.assertEqual(answer.status, 200, answer.body)
            self.assertTrue(set(answer.json()) <= {"pkg", "core", "uncore", "dram"})
            self.assertIn("pkg", answer.json())

    def test_a_captured_request_is_answered(self):
        answer = call(self.server, "POST", "/model", {
            "metrics": ["bpf_cpu_time_ms", "bpf_page_cache_hit", "cpu_architecture"],
            "output_type": "AbsPower", "source": "intel_rapl", "node_type": 0,
            "weight": True, "trainer_name": "SGDRegressorTrainer", "filter": "",
            "machine_spec": SPEC})
        self.assertEqual(answer.status, 200, answer.body)
        self.assertIn("package", answer.json())

    def test_the_connections_content_type_does_not_matter(self):
        for kind in ("application/json", "text/plain", None):
            headers = {"Content-Type": kind} if kind else {}
            answer = call(self.server, "POST", "/model", json.dumps(model_request()),
                          headers)
            self.assertEqual(answer.status, 200)

    # ---- zip -------------------------------------------------------------------

    def test_a_zip_has_the_models_files_at_its_root(self):
        for trainer in ("SGDRegressorTrainer", "LinearRegressionTrainer"):
            answer = self.ask(weight=False, trainer_name=trainer)
            self.assertEqual(answer.status, 200, answer.body[:300])
            self.assertEqual(answer.headers.get_content_type(), "application/zip")
            self.assertEqual(answer.headers.get_filename(), f"{trainer}_0.zip")
            with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
                self.assertIsNone(z.testzip())
                names = z.namelist()
                metadata = json.loads(z.read("metadata.json"))
                self.assertEqual(metadata["model_name"], f"{trainer}_0")
                self.assertIn(metadata["model_file"], names)
                parts = json.loads(z.read(metadata["model_file"]))
                for part in parts.values():
                    self.assertIn(part["model_file"], names)
                    self.assertEqual(part["fe_files"], [])
            self.assertTrue(all("/" not in n for n in names), names)

    def test_a_zip_is_the_published_files_bytes(self):
        answer = self.ask(weight=False, trainer_name="SGDRegressorTrainer", model_classes=["linear"])
        published = [v for k, v in tree(self.trained).items()
                     if k.endswith("rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip")]
        self.assertEqual([answer.body], published)

    # ---- choice ----------------------------------------------------------------

    def test_a_request_without_a_match_is_404_with_the_reason(self):
        for more, word in (({"metrics": ["cpu_scaling_frequency_hertz"]}, ""),
                           ({"trainer_name": "NoSuchTrainer"}, "NoSuchTrainer"),
                           ({"pipeline_name": "nope"}, "nope"),
                           ({"source": "acpi", "filter": "mae:0"}, "mae"),
                           ({"filter": "mae:0"}, "mae"),
                           ({"node_type": 7, "loose_node_type": False}, "")):
            with self.subTest(more=more):
                self.assertIn(word, self.problem(self.ask(**more), 404))

    def test_filters_keep_matching_models(self):
        for text in ("mae:1000", " mae : 1000 ; mape:1000", "features:" +
                     ",".join(COUNTER_ONLY), ""):
            self.assertEqual(self.ask(filter=text).status, 200, text)

    def test_best_models_are_listed_by_output_and_group(self):
        answer = call(self.server, "GET", "/best-models")
        self.assertEqual(answer.status, 200)
        body = answer.json()
        self.assertEqual(set(body), {"AbsPower", "DynPower"})
        self.assertRegex(body["AbsPower"]["CounterOnly"], r"^\w+Trainer_0$")
        one = call(self.server, "GET", "/best-models?output-type=AbsPower&"
                   "feature-group=CounterOnly&energy-source=rapl-sysfs&filter=mae:1000")
        self.assertEqual(one.json()["AbsPower"]["CounterOnly"],
                         body["AbsPower"]["CounterOnly"])

    # ---- health and bad requests -----------------------------------------------

    def test_health_and_unknown_paths(self):
        self.assertEqual(call(self.server, "GET", "/healthz").status, 200)
        self.problem(call(self.server, "GET", "/nope"), 404)
        answer = call(self.server, "GET", "/model")
        self.assertEqual(answer.status, 405)

    def test_bad_requests_are_400_in_one_line(self):
        for body in (b"", b"{", b"[]", b"null", b'"x"', b'{"metrics":[}', b"\xff\xfe",
                     b'{"metrics":1,"output_type":"AbsPower"}',
                     b'{"output_type":"AbsPower"}', b'{"metrics":["cpu_cycles"]}',
                     b'{"metrics":["cpu_cycles"],"output_type":"Moon"}',
                     b'{"metrics":["cpu_cycles"],"output_type":7}',
                     json.dumps(model_request(machine_spec="big")).encode(),
                     json.dumps(model_request(machine_spec={"cores": "abc"})).encode(),
                     json.dumps(model_request(filter="mae")).encode(),
                     json.dumps(model_request(filter=3)).encode(),
                     json.dumps(model_request(node_type="first")).encode(),
                     b"[" * 5000):
            with self.subTest(body=body[:60]):
                self.problem(call(self.server, "POST", "/model", body), 400)
        self.assertEqual(self.ask().status, 200)

    def test_a_gibibyte_declared_and_not_sent_is_413_at_once(self):
        self.problem(raw_call(self.server, huge_post("/model")), 413)
        self.assertEqual(self.ask().status, 200)

    def test_half_a_request_and_idle_connections_disturb_no_client(self):
        host, port = self.server.address.rsplit(":", 1)
        idle = []
        for data in (b"", b"POST /mod", b"POST /model HTTP/1.1\r\nContent-Length: 50\r\n\r\n{"):
            for _ in range(30):
                s = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)
                self.addCleanup(s.close)
                s.sendall(data)
                idle.append(s)
        self.assertEqual(self.ask().status, 200)

    def test_many_clients_at_once_get_the_same_answer(self):
        wanted = self.ask().body
        wrong = []

        def client():
            for _ in range(20):
                if self.ask().body != wanted:
                    wrong.append(1)

        clients = [threading.Thread(target=client) for _ in range(8)]
        for c in clients:
            c.start()
        for c in clients:
            c.join()
        self.assertEqual(wrong, [])


class Reload(Case):
    def test_an_empty_database_is_503_until_a_pipeline_is_published(self):
        db = self.path("db")
        os.mkdir(db)
        server = self.start_http("tw-server", "--model-db", db)
        self.assertEqual(call(server, "GET", "/healthz").status, 200)
        self.assertEqual(call(server, "POST", "/model", model_request()).status, 503)
        train_generated(db)
        wait_until(lambda: call(server, "POST", "/model", model_request()).status == 200,
                   "the server serves what was published")

    def test_sighup_reads_the_database_again(self):
        db = self.path("db")
        train_generated(db)
        server = self.start_http("tw-server", "--model-db", db)
        # A change below a pipeline is not one that a publisher makes.
        shutil.rmtree(os.path.join(db, "simulated", "rapl-sysfs", "AbsPower"))
        server.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: call(server, "POST", "/model", model_request()).status == 404,
                   "the server has read the database again")

    def test_a_broken_model_is_skipped_and_reported(self):
        db = self.path("db")
        train_generated(db)
        broken = os.path.join(
            db, "simulated/rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip")
        with open(broken, "r+b") as f:
            f.truncate(100)
        server = self.start_http("tw-server", "--model-db", db)
        self.assertIn("SGDRegressorTrainer_0.zip", server.log())
        body = call(server, "POST", "/model", model_request(machine_spec=SPEC)).json()
        self.assertNotEqual(body["model_name"], "SGDRegressorTrainer_0")

    def test_the_server_stops_with_requests_in_progress(self):
        db = self.path("db")
        train_generated(db)
        server = self.start_http("tw-server", "--model-db", db)
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as s:
            s.sendall(b"POST /model HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{")
            call(server, "GET", "/healthz")
            server.stop()
        self.assertFalse(os.path.exists(server.ready_file))

    def test_wrong_use_exits_2(self):
        for args in (("--listen", "nowhere"), ("--nonsense",), ("--log-level", "loud")):
            with self.assertRaises(AssertionError):
                self.start("tw-server", "--model-db", self.dir, *args)


if __name__ == "__main__":
    unittest.main()
