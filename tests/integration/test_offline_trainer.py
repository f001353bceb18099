# SPDX-License-Identifier: Apache-2.0
"""tw-trainer: POST /train as kepler-model-server's clients send it."""
import hashlib
import http.client
import io
import json
import os
import signal
import subprocess
import time
import unittest
import zipfile

from harness import (GENERATED, LINEAR_TRAINERS, QUICK, Case, call, content, huge_post, most_trainers,
                     published, raw_call, read_json, shared, tree)
import generate_response as generator

LINEAR = list(LINEAR_TRAINERS)


def train_request(response, name="web", **more):
    return {"name": name, "energy_source": "rapl-sysfs",
            "trainer": {"abs_trainers": LINEAR, "dyn_trainers": LINEAR,
                        "idle_prom_response": None, "isolator": "MinIdleIsolator",
                        "isolator_args": {}},
            "prom_response": response, **more}


class OfflineTrainer(Case):
    def setUp(self):
        super().setUp()
        self.db = self.path("db")
        os.mkdir(self.db)
        self.trainer = self.start_http("tw-trainer", "--model-db", self.db)
        self.response = read_json(GENERATED["0.7"])

    def train(self, request):
        return call(self.trainer, "POST", "/train", request)

    def problem(self, answer, *statuses):
        self.assertIn(answer.status, statuses, answer.body[:300])
        self.assertEqual(answer.headers.get_content_type(), "application/problem+json")
        detail = answer.json()["detail"]
        self.assertTrue(detail)
        self.assertNotIn("\n", detail)
        self.assertEqual(published(self.db), [], "something was published")
        return detail

    def unpack(self, answer):
        """The answer's files: the pipeline's, without its own name."""
        self.assertEqual(answer.status, 200, answer.body[:300])
        self.assertEqual(answer.headers.get_content_type(), "application/zip")
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            self.assertIsNone(z.testzip())
            return {n: z.read(n) for n in z.namelist()}

    # ---- what must work --------------------------------------------------------

    def test_the_zip_is_laid_out_as_the_contract_says_and_published(self):
        files = self.unpack(self.train(train_request(self.response)))
        self.assertIn("metadata.json", files)
        self.assertIn("node_type_index.json", files)
        for output in ("AbsPower", "DynPower"):
            self.assertIn(f"rapl-sysfs_{output}_model_metadata.csv", files)
            for trainer in LINEAR:
                stem = f"rapl-sysfs/{output}/CounterOnly/{trainer}_0"
                for name in (f"{stem}.zip", f"{stem}.json", f"{stem}/metadata.json",
                             f"{stem}/weight.json", f"{stem}/{trainer}_0.json"):
                    self.assertIn(name, files)
        self.assertEqual(content(os.path.join(self.db, "web")), files)

    def test_the_old_spelling_of_the_data_is_taken(self):
        request = train_request(self.response)
        request["prome_response"] = request.pop("prom_response")
        self.assertIn("metadata.json", self.unpack(self.train(request)))

    def test_the_older_generation_is_taken(self):
        request = train_request(read_json(GENERATED["0.6"]), energy_source="rapl")
        self.assertIn("rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip",
                      self.unpack(self.train(request)))

    def test_recorded_workload_with_all_trainers(self):
        path = shared("data", "prometheus", "workload-0.6.json")
        response = read_json(path)
        del response["kepler_container_bpf_cpu_time_us_total"]  # two groups instead of five
        request = train_request(response, name="workload")
        request["trainer"]["abs_trainers"] = most_trainers()
        began = time.monotonic()
        files = self.unpack(self.train(request))
        print(f"workload-0.6.json: {len(files)} files, {time.monotonic() - began:.2f} s")
        for group in ("CounterOnly", "CounterIRQCombined"):
            self.assertIn(f"rapl-sysfs/AbsPower/{group}/SGDRegressorTrainer_0.zip", files)

    def isolated(self, name, isolator, idle=None, **told):
        """Metadata of the DynPower model that a request for the isolator gives."""
        request = train_request(self.response, name)
        request["trainer"].update(isolator=isolator, isolator_args=told,
                                  idle_prom_response=idle)
        files = self.unpack(self.train(request))
        return json.loads(files["rapl-sysfs/DynPower/CounterOnly/SGDRegressorTrainer_0/"
                                "metadata.json"])

    def test_isolators_take_their_arguments_from_the_request(self):
        self.unpack(self.train(train_request(self.response, "abs")))
        told = self.isolated("dyn", "TrainIsolator", target_hints=["load-0", "load-1"],
                             abs_pipeline_name="abs")
        self.assertIn(told["background_model"], [f"{t}_0" for t in LINEAR])
        # Without a name: the pipeline itself, as it was before.
        self.assertIn("background_model", self.isolated(
            "abs", "TrainIsolator", bg_hints="load-2,load-3"))
        rest = generator.make_response(generator.Machine(containers=1))
        told = self.isolated("rest", "ProfileBackgroundIsolator", rest)
        self.assertEqual(told["isolator"], "ProfileBackgroundIsolator")

    def test_an_isolator_names_its_missing_input(self):
        for isolator, told, text in (
                ("TrainIsolator", {"abs_pipeline_name": "none"}, "'none' has no AbsPower"),
                ("ProfileBackgroundIsolator", {}, "needs a response of the machine at")):
            request = train_request(self.response)
            request["trainer"].update(isolator=isolator, isolator_args=told)
            self.assertIn(text, self.problem(self.train(request), 400))

    def test_one_list_of_trainers_may_be_empty(self):
        request = train_request(self.response)
        request["trainer"]["dyn_trainers"] = []
        files = self.unpack(self.train(request))
        self.assertFalse([n for n in files if "DynPower/" in n])

    def test_the_same_request_gives_the_same_models(self):
        one, two = (self.unpack(self.train(train_request(self.response)))
                    for _ in range(2))
        self.assertEqual(one.keys(), two.keys())
        self.assertEqual([n for n in one if one[n] != two[n] and n != "metadata.json"], [])

    def test_a_second_pipeline_of_a_name_replaces_the_first(self):
        self.unpack(self.train(train_request(self.response)))
        other = generator.make_response(generator.Machine(seed=2))
        files = self.unpack(self.train(train_request(other)))
        self.assertEqual(content(os.path.join(self.db, "web")), files)

    def test_a_second_training_replaces_only_what_it_made_again(self):
        before = self.unpack(self.train(train_request(self.response)))
        request = train_request(generator.make_response(generator.Machine(seed=2)))
        request["trainer"]["abs_trainers"] = ["SGDRegressorTrainer"]
        request["trainer"]["dyn_trainers"] = []
        after = self.unpack(self.train(request))
        self.assertEqual(content(os.path.join(self.db, "web")), after)
        self.assertEqual(before.keys(), after.keys())
        changed = {n.split("/")[1] + "/" + n.split("/")[3] for n in after
                   if n.endswith(".zip") and before[n] != after[n]}
        self.assertEqual(changed, {"AbsPower/SGDRegressorTrainer_0.zip"})

    # ---- what must be refused --------------------------------------------------

    def test_names_that_are_no_plain_names_are_refused(self):
        for name in ("../x", "/x", "", "a/b", "..", "x" * 300, "a\0b", "a\nb", "\x1b[1m", "ä",
                     None, 7, ["x"]):
            with self.subTest(name=name):
                detail = self.problem(self.train(train_request(self.response, name=name)),
                                      400)
                self.assertNotRegex(detail, "[\0-\x1f]")
        self.assertFalse(os.path.exists(self.path("x")))

    def test_bodies_that_are_no_request_are_refused(self):
        whole = json.dumps(train_request(self.response)).encode()
        for body in (b"", b"{", b"[]", b"null", b"watts", b"\xff", b"[" * 100000,
                     b"{}", whole[:-1], whole[:len(whole) // 2], whole[:40],
                     whole + b"}", json.dumps({"name": "x"}).encode(),
                     json.dumps(train_request([])).encode(),
                     json.dumps(train_request({})).encode(),
                     json.dumps(train_request(None)).encode()):
            with self.subTest(body=body[:40], length=len(body)):
                self.problem(self.train(body), 400)
        self.unpack(self.train(whole))

    def test_each_fault_of_the_data_is_refused_with_its_place(self):
        for fault, broken in generator.FAULTS.items():
            response = generator.make_response(generator.Machine())
            broken(response)
            with self.subTest(fault=fault):
                # Without the groups that need instructions, or without a row.
                if fault in ("empty-series", "energy-reset", "reset"):
                    continue
                detail = self.problem(self.train(train_request(response)), 400, 404)
                if fault in ("disorder", "repeat", "nan", "inf", "negative", "text"):
                    self.assertIn("cpu_instructions", detail)

    def test_groups_whose_metrics_are_missing_are_left_out(self):
        response = generator.make_response(generator.Machine())
        generator.fault_empty_series(response)
        groups = {n.split("/")[2] for n in self.unpack(self.train(train_request(response)))
                  if n.count("/") > 2}
        self.assertIn("BPFOnly", groups)
        self.assertNotIn("CounterOnly", groups)

    def test_resets_are_refused_with_the_option(self):
        refusing = self.start_http("tw-trainer", "--resets", "refuse")
        for fault in ("reset", "energy-reset"):
            response = generator.make_response(generator.Machine())
            generator.FAULTS[fault](response)
            request = train_request(response)
            if fault == "reset":
                self.assertIn("cpu_instructions",
                              self.problem(call(refusing, "POST", "/train", request), 400))
            files = self.unpack(self.train(request))
            self.assertIn("rapl-sysfs/AbsPower/CounterOnly/SGDRegressorTrainer_0.zip", files)

    def test_unknown_trainers_isolators_and_sources_are_named(self):
        for change in ({"energy_source": "sun"},
                       {"trainer": {"abs_trainers": ["NoSuch"], "dyn_trainers": [],
                                    "isolator": "MinIdleIsolator"}},
                       {"trainer": {"abs_trainers": LINEAR, "dyn_trainers": LINEAR,
                                    "isolator": "NoSuch"}},
                       {"trainer": {"abs_trainers": "NoSuch"}},
                       {"trainer": None}):
            with self.subTest(change=change):
                detail = self.problem(self.train(train_request(self.response, **change)),
                                      400, 404)
                word = "sun" if "energy_source" in change else ""
                if "NoSuch" in str(change) and "dyn_trainers" in str(change):
                    word = "NoSuch"
                self.assertIn(word, detail)

    def test_a_gibibyte_declared_and_not_sent_is_413_at_once(self):
        self.problem(raw_call(self.trainer, huge_post("/train")), 413)

    def test_health_and_unknown_paths(self):
        self.assertEqual(call(self.trainer, "GET", "/healthz").status, 200)
        self.problem(call(self.trainer, "GET", "/nope"), 404)


class KilledWhilePublishing(Case):
    """SIGKILL at any moment leaves the old pipeline or the new one."""

    KILLS = 8 if QUICK else 24

    def digest(self, db):
        """Of all but the metadata, which has the time of training, and the manifest of it."""
        files = tree(os.path.join(db, "web"))
        listed = json.loads(files.pop("manifest.json"))["files"]
        self.assertEqual({name: hashlib.sha256(data).hexdigest()
                          for name, data in files.items()},
                         {name: entry["sha256"] for name, entry in listed.items()})
        files.pop("metadata.json")
        whole = hashlib.sha256()
        for name in sorted(files):
            whole.update(name.encode() + b"\0" + hashlib.sha256(files[name]).digest())
        return whole.hexdigest()

    def test_killed_at_many_points(self):
        requests = [json.dumps(train_request(generator.make_response(
            generator.Machine(seed=seed)))) for seed in (1, 2)]
        db = self.path("db")
        os.mkdir(db)
        digests, longest = [], 0.0
        trainer = self.start_http("tw-trainer", "--model-db", db)
        for request in requests:
            began = time.monotonic()
            self.assertEqual(call(trainer, "POST", "/train", request).status, 200)
            longest = max(longest, time.monotonic() - began)
            digests.append(self.digest(db))
        trainer.stop()
        self.assertNotEqual(*digests)

        seen = set()
        for i in range(self.KILLS):
            trainer = self.start_http("tw-trainer", "--model-db", db)
            client = self.send(trainer, requests[i % 2])
            # From the middle of the training to just after its usual end.
            with self.assertRaises(subprocess.TimeoutExpired):
                trainer.proc.wait(longest * (0.5 + 0.6 * i / self.KILLS))
            trainer.stop(signal.SIGKILL)
            client.close()
            digest = self.digest(db)
            self.assertIn(digest, digests, f"kill {i} left another pipeline:\n{trainer.log()}")
            seen.add(digest)
        # Left-overs of those that were killed go away with the next publication.
        trainer = self.start_http("tw-trainer", "--model-db", db)
        self.assertEqual(call(trainer, "POST", "/train", requests[0]).status, 200)
        self.assertEqual(self.digest(db), digests[0])
        self.assertEqual([n for n in os.listdir(db) if not n.startswith(".")], ["web"])
        print(f"{self.KILLS} kills, {len(seen)} of 2 pipelines seen")

    @staticmethod
    def send(daemon, body):
        host, port = daemon.address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port))
        connection.request("POST", "/train", body=body)
        return connection


if __name__ == "__main__":
    unittest.main()
