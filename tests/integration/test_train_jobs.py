# SPDX-License-Identifier: Apache-2.0
"""tw-trainer: trainings as jobs, and `tallywatt train --url`."""
import base64
import os
import signal
import subprocess
import unittest
import zipfile

from harness import BIN, GENERATED, TIMEOUT_S, Case, call, published, read_json, \
    run_tallywatt, tree, wait_until

# Of "secret".
HASH = "$2b$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW"
ENDED = ("done", "failed", "cancelled", "lost")


def train_request(response, name, trainers=("LinearRegressionTrainer",)):
    return {"name": name, "energy_source": "rapl-sysfs",
            "trainer": {"abs_trainers": list(trainers), "dyn_trainers": [],
                        "isolator": "MinIdleIsolator"},
            "prom_response": response}


class Jobs(Case):
    def setUp(self):
        super().setUp()
        self.response = read_json(GENERATED["0.7"])
        self.db = self.path("db")
        os.mkdir(self.db)

    def begin(self, *args):
        return self.start_http("tw-trainer", "--model-db", self.db,
                               "--jobs", self.path("jobs"), *args)

    def post(self, trainer, name, trainers=("LinearRegressionTrainer",)):
        """The path of a new job."""
        answer = call(trainer, "POST", "/api/v1/train",
                      train_request(self.response, name, trainers))
        self.assertEqual(answer.status, 202, answer.body[:300])
        job = answer.json()
        self.assertEqual(answer.headers["Location"], f"/api/v1/jobs/{job['id']}")
        self.assertEqual(job["pipeline"], name)
        return answer.headers["Location"]

    def job(self, trainer, path):
        answer = call(trainer, "GET", path)
        self.assertEqual(answer.status, 200, answer.body[:300])
        return answer.json()

    def ended(self, trainer, path):
        wait_until(lambda: self.job(trainer, path)["state"] in ENDED, f"{path} ends")
        return self.job(trainer, path)

    def problem(self, trainer, method, path, status, text):
        answer = call(trainer, method, path)
        self.assertEqual(answer.status, status, answer.body[:300])
        self.assertIn(text, answer.json()["detail"])

    def test_a_job_trains_publishes_and_keeps_its_zip(self):
        trainer = self.begin()
        path = self.post(trainer, "web")
        job = self.ended(trainer, path)
        self.assertEqual((job["state"], job["published"]), ("done", True))
        self.assertGreater(job["models"], 0)
        self.assertIn("web/metadata.json", published(self.db))
        made = call(trainer, "GET", path + "/pipeline")
        self.assertEqual(made.status, 200)
        self.assertEqual(made.headers.get_content_type(), "application/zip")
        # The synchronous form answers with the same bytes, but for times, and is a job, too.
        self.assertEqual(call(trainer, "POST", "/train",
                              train_request(self.response, "sync")).status, 200)
        jobs = call(trainer, "GET", "/api/v1/jobs").json()["jobs"]
        self.assertEqual([j["pipeline"] for j in jobs], ["sync", "web"])
        metrics = call(trainer, "GET", "/metrics").body.decode()
        self.assertIn('tw_trainer_jobs{state="done"} 2\n', metrics)
        self.problem(trainer, "DELETE", path, 409, "has ended: done")
        self.problem(trainer, "GET", "/api/v1/jobs/x", 404, "no job 'x'")
        self.problem(trainer, "GET", "/api/v1/jobs/x/pipeline", 404, "no job 'x'")

    def test_lists_are_sent_to_those_who_have_others(self):
        trainer = self.begin()
        for path in ("/api/v1/jobs", "/api/v1/units"):
            tag = call(trainer, "GET", path).headers["ETag"]
            again = call(trainer, "GET", path, headers={"If-None-Match": tag})
            self.assertEqual((again.status, again.body), (304, b""))
            other = call(trainer, "GET", path, headers={"If-None-Match": '"other"'})
            self.assertEqual(other.status, 200)

    def test_a_training_that_fails_is_a_job_with_an_error(self):
        trainer = self.begin()
        self.response = {}
        job = self.ended(trainer, self.post(trainer, "web"))
        self.assertEqual(job["state"], "failed")
        self.assertIn("nothing to train on", job["error"])
        bad = call(trainer, "POST", "/api/v1/train", {"name": "web"})
        self.assertEqual(bad.status, 400)
        self.assertEqual(published(self.db), [])

    def test_jobs_are_cancelled_while_they_wait_and_while_they_run(self):
        trainer = self.begin()
        first = self.post(trainer, "web", ("AutoTrainer",))
        second = self.post(trainer, "web", ("AutoTrainer",))
        wait_until(lambda: self.job(trainer, first)["state"] != "waiting", "the first runs")
        self.assertEqual(self.job(trainer, second)["state"], "waiting")
        for path in (second, first):
            answer = call(trainer, "DELETE", path)
            self.assertEqual(answer.status, 202, answer.body[:300])
        for path in (first, second):
            self.assertEqual(self.ended(trainer, path)["state"], "cancelled")
        self.assertEqual(published(self.db), [])

    def test_a_full_queue_answers_503(self):
        trainer = self.begin("--parallel", "1", "--queue", "0")
        path = self.post(trainer, "web", ("AutoTrainer",))
        answer = call(trainer, "POST", "/api/v1/train", train_request(self.response, "b"))
        self.assertEqual(answer.status, 503, answer.body[:300])
        self.assertIn("Retry-After", answer.headers)
        call(trainer, "DELETE", path)

    def test_a_killed_trainer_reports_its_jobs_as_lost(self):
        trainer = self.begin()
        done = self.post(trainer, "done")
        self.ended(trainer, done)
        lost = [self.post(trainer, "web", ("AutoTrainer",)) for _ in range(3)]
        trainer.stop(signal.SIGKILL)
        trainer = self.begin()
        for path in lost[1:]:
            self.assertEqual(self.job(trainer, path)["state"], "lost")
        self.assertEqual(self.job(trainer, done)["state"], "done")
        self.problem(trainer, "GET", done + "/pipeline", 409, "in the model database")
        self.assertEqual(self.ended(trainer, self.post(trainer, "web"))["state"], "done")

    def test_a_stopped_trainer_ends_soon_and_reports_its_jobs_as_lost(self):
        trainer = self.begin()
        paths = [self.post(trainer, "web", ("AutoTrainer",)) for _ in range(4)]
        trainer.stop()
        trainer = self.begin()
        for path in paths:
            self.assertIn(self.job(trainer, path)["state"], ("done", "lost"))
        self.assertEqual(self.job(trainer, paths[-1])["state"], "lost")

    # ---- tallywatt train --url ---------------------------------------------------

    def remote(self, trainer, *args):
        return ("train", "--url", f"http://{trainer.address}/", "--name", "web", "--input",
                GENERATED["0.7"], "--trainers", "LinearRegressionTrainer", *args)

    def test_the_command_shows_the_progress_and_writes_the_zip(self):
        trainer = self.begin()
        out = self.path("web.zip")
        done = run_tallywatt(*self.remote(trainer, "--output", out, "--isolator",
                                           "MinIdleIsolator", "--source", "rapl-sysfs"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, rb"^web: models=\d+ published=yes\n$")
        self.assertIn(b"tallywatt train: job ", done.stderr)
        self.assertIn(b"tallywatt train: done\n", done.stderr)
        with zipfile.ZipFile(out) as z:
            self.assertIn("metadata.json", z.namelist())

    def test_the_command_fails_with_the_reason_of_the_trainer(self):
        trainer = self.begin()
        failed = run_tallywatt(*self.remote(trainer, "--source", "hmc"))
        self.assertEqual(failed.returncode, 1)
        self.assertIn(b"job failed: no model could be made: ", failed.stderr)
        self.assertIn("--seed does not go with --url", self.refused(
            *self.remote(trainer, "--seed", "2"), codes=(2,)))
        trainer.stop()
        self.assertIn(trainer.address, self.refused(*self.remote(trainer), codes=(1,)))

    def test_a_trainer_with_users_takes_jobs_of_users_only(self):
        web = self.write("web.yml", f"basic_auth_users:\n  alice: {HASH}\n")
        trainer = self.begin("--web-config", web)
        for method, path in (("POST", "/train"), ("POST", "/api/v1/train"),
                             ("DELETE", "/api/v1/jobs/x"), ("GET", "/api/v1/jobs")):
            self.assertEqual(call(trainer, method, path).status, 401)
        self.assertIn("answers 401", self.refused(*self.remote(trainer), codes=(1,)))
        done = self.tallywatt(*self.remote(
            trainer, "--user", "alice", "--password-file", self.write("password", "secret\n")))
        self.assertTrue(done.startswith("web: models="))

    def train_as(self, trainer, user, name):
        """Status and detail of a training that is waited for."""
        answer = call(trainer, "POST", "/train", train_request(self.response, name),
                      self.user(user))
        return answer.status, answer.json()["detail"] if answer.status != 200 else ""

    @staticmethod
    def user(name):
        return {"Authorization": "Basic " + base64.b64encode(f"{name}:secret".encode()).decode()}

    def jobs_of(self, trainer, user):
        return call(trainer, "GET", "/api/v1/jobs", headers=self.user(user)).json()["jobs"]

    def owner(self, name):
        return read_json(os.path.join(self.db, name, "metadata.json")).get("trained_by")

    def test_a_user_adds_to_its_own_pipelines_only(self):
        call_as_nobody = self.begin()
        answer = call(call_as_nobody, "POST", "/train", train_request(self.response, "old"),
                      {"Authorization": "Basic YWxpY2U6c2VjcmV0"})
        self.assertEqual(answer.status, 200)
        self.assertIsNone(self.owner("old"), "a password that nobody has checked")
        call_as_nobody.stop()
        web = self.write("web.yml", "basic_auth_users:\n" +
                         "".join(f"  {user}: {HASH}\n" for user in ("alice", "bob")))
        trainer = self.begin("--web-config", web)
        self.assertEqual(self.train_as(trainer, "alice", "web")[0], 200)
        self.assertEqual(self.train_as(trainer, "alice", "web")[0], 200)
        self.assertEqual(self.owner("web"), "alice")
        before = tree(os.path.join(self.db, "web"))
        for name, owner in (("web", "alice"), ("old", "somebody else")):
            status, detail = self.train_as(trainer, "bob", name)
            self.assertEqual(status, 403)
            self.assertIn(f"pipeline '{name}' was published by {owner}", detail)
        self.assertEqual(tree(os.path.join(self.db, "web")), before)
        trainer.stop()
        trainer = self.begin("--web-config", web, "--may-train", "bob=w*")
        self.assertEqual(self.train_as(trainer, "bob", "web")[0], 200)
        self.assertEqual(self.owner("web"), "alice", "it stays hers")
        for user, name in (("bob", "db"), ("alice", "web")):
            status, detail = self.train_as(trainer, user, name)
            self.assertEqual(status, 403)
            self.assertIn(f"user '{user}' may not train into pipeline '{name}'", detail)
        # The right goes for the jobs, too.
        jobs = self.jobs_of(trainer, "bob")
        self.assertTrue(jobs)
        self.assertEqual({j["pipeline"] for j in jobs}, {"web"})
        self.assertEqual(self.jobs_of(trainer, "alice"), [])
        path = f"/api/v1/jobs/{jobs[0]['id']}"
        for method, of in (("GET", ""), ("DELETE", ""), ("GET", "/pipeline"), ("GET", "/report")):
            answer = call(trainer, method, path + of, headers=self.user("alice"))
            self.assertEqual(answer.status, 403, of)
            self.assertIn("may not train into pipeline 'web'", answer.json()["detail"])
        self.assertEqual(call(trainer, "GET", path, headers=self.user("bob")).status, 200)
        self.assertEqual(call(trainer, "DELETE", path, headers=self.user("bob")).status, 409)
        trainer.stop()
        done = subprocess.run([os.path.join(BIN, "tw-trainer"), "--web-config", web, "--may-train",
                               "alice=a-*,bob=b-*"], check=False, stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"one user a rule", done.stderr)
        done = subprocess.run([os.path.join(BIN, "tw-trainer"), "--may-train", "bob=w*"], check=False,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--may-train without --web-config", done.stderr)


if __name__ == "__main__":
    unittest.main()
