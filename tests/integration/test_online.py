# SPDX-License-Identifier: Apache-2.0
"""tw-trainer --online: it teaches itself from Prometheus, keeps what is better, and survives
what happens to servers."""
import contextlib
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import unittest
import zlib

from harness import BIN, Case, call, wait_until
from scripted_prometheus import METRICS, START_S, Machine, ScriptedPrometheus
from sources import Prometheus, make_blocks, need_prometheus, reply

SAMPLE = re.compile(r'^tw_trainer_online_(\w+)(?:\{(.*)\})? (\S+)$', re.M)
TRAIN_AFTER = 200
YEAR_S = 365 * 86400


class Online(Case):
    def teach(self, server, *args):
        return self.start_http(
            "tw-trainer", "--online", "--prometheus", server.url, "--model-db", self.path("db"),
            "--online-state", self.path("state"), "--online-trainers", "LinearRegressionTrainer",
            "--sampling-interval", "500ms", "--delay", "0s", "--train-after", str(TRAIN_AFTER), *args)

    @staticmethod
    def metrics(trainer):
        text = call(trainer, "GET", "/metrics").body.decode()
        return {(name, labels or ""): float(value)
                for name, labels, value in SAMPLE.findall(text)}

    def metric(self, trainer, name, labels='machine="teacher"'):
        return self.metrics(trainer).get((name, labels))

    def verdicts(self, trainer, verdict):
        return self.metric(trainer, "verdicts_total", f'machine="teacher",verdict="{verdict}"')

    def advance(self, server, trainer, seconds):
        """Let the machine run, and wait until the trainer has read all."""
        server.machine.run(seconds)
        server.now_s = server.machine.end_s()
        samples = self.metric(trainer, "polls_total", 'result="ok"')
        wait_until(lambda: self.metric(trainer, "polls_total", 'result="ok"') >= samples + 2 and
                   self.metric(trainer, "behind_seconds", "") < 1, "all is read", pause_s=0.05)

    def stored(self):
        """(series, time): value, of all segments; no sample is twice."""
        found = {}
        with contextlib.closing(sqlite3.connect(self.path("state/online.sqlite"))) as db:
            for blob, in db.execute("SELECT deflated FROM response ORDER BY id"):
                for metric, series in json.loads(zlib.decompress(blob)).items():
                    for s in series:
                        key = (metric, tuple(sorted(s["metric"].items())))
                        for t, v in s["values"]:
                            self.assertNotIn((key, t), found, "a sample twice")
                            found[key, t] = float(v)
            read_to_ms, = db.execute("SELECT to_ms FROM reading").fetchone()
        return found, read_to_ms / 1000

    def assert_whole(self, server):
        """The window has each sample of the server from its first to the last that was read."""
        found, read_to_s = self.stored()
        self.assertTrue(found)
        first_s = min(t for _, t in found)
        count = 0
        for metric in METRICS:
            for labels, samples in server.machine.samples(metric, first_s - 0.01, read_to_s):
                del labels
                count += sum(not any(a <= t < b for a, b in server.gaps) for t, _ in samples)
        self.assertEqual(len(found), count)

    def test_it_publishes_what_is_better_and_says_why_it_does_not(self):
        machine = Machine()
        machine.run(20)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "20s", "--rollback-after", "1h")
        wait_until(lambda: self.verdicts(trainer, "published") == 1, "a model is published")
        self.assertTrue(os.path.isdir(self.path("db/online-teacher/rapl-sysfs/AbsPower/BPFOnly")))
        first = self.metric(trainer, "expected_error_watts")
        self.assertLess(first, 0.5)
        # More of the same is no reason to publish, and no drift.
        self.advance(server, trainer, 20)
        wait_until(lambda: self.verdicts(trainer, "not_better") == 1, "a verdict")
        trainer.wait_logged("not published: error .* W, that of the "
                            r"serving model .* W, on \d+ held-out rows: not 5 %")
        self.assertEqual(self.metric(trainer, "drifting"), 0)
        self.assertLess(self.metric(trainer, "drift_ratio"), 2)
        # Another law: seen within ten intervals, and learnt.
        machine.law = (9.0, 5.0)
        self.advance(server, trainer, 5)
        self.assertEqual(self.metric(trainer, "drifting"), 1)
        self.assertEqual(self.health(trainer)["online"]["drifting"], 1)
        self.assertGreater(self.metric(trainer, "drift_ratio"), 2)
        for _ in range(6):
            self.advance(server, trainer, 4)
        self.assertEqual(self.verdicts(trainer, "published"), 2)
        trainer.wait_logged("since the drift began")
        self.advance(server, trainer, 5)
        self.assertEqual(self.metric(trainer, "drifting"), 0)
        self.assertLess(self.metric(trainer, "live_error_watts"), 0.5)
        self.assertEqual(self.verdicts(trainer, "rolled_back"), 0)

    def test_a_model_that_becomes_worse_than_the_one_before_is_rolled_back(self):
        machine = Machine()
        machine.run(20)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "20s", "--rollback-after", "1s")
        wait_until(lambda: self.verdicts(trainer, "published") == 1, "a model is published")
        machine.law = (9.0, 5.0)
        for _ in range(8):
            self.advance(server, trainer, 4)
            if self.verdicts(trainer, "published") == 2:
                break
        self.assertEqual(self.verdicts(trainer, "published"), 2)
        machine.law = (6.0, 8.0)
        self.advance(server, trainer, 5)
        self.assertEqual(self.verdicts(trainer, "rolled_back"), 1)
        trainer.wait_logged("rolled_back: live error .* W, that of the previous")
        self.advance(server, trainer, 3)
        self.assertLess(self.metric(trainer, "live_error_watts"), 0.5)

    def test_no_sample_is_twice_and_none_is_lost(self):
        machine = Machine()
        machine.run(10)
        server = ScriptedPrometheus(self, machine)
        server.gaps.append((START_S + 3.525, START_S + 4.525))
        server.faults = [lambda r: reply(r, '{"status":"error"}', 500), self.break_off,
                         lambda r: reply(r, "", 404)]
        more = ("--lookback", "30s", "--train-after", "100000", "--token-file",
                self.write("token", "sesame\n"))
        trainer = self.teach(server, *more)
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 40, "samples are read")
        self.assertGreater(self.metric(trainer, "polls_total", 'result="failed"'), 0)
        for i in range(3):
            trainer.stop(signal.SIGKILL)
            self.assert_whole(server)
            machine.run(3.65)
            server.now_s = machine.end_s()
            trainer = self.teach(server, *more)
            wait_until(lambda t=trainer, n=40 * (i + 1): self.metric(t, "samples_total", "") > n,
                       "samples")
        # Its clock is set back, then it is down; the samples go on.
        server.now_s -= 8
        wait_until(lambda: "clock was set back" in trainer.log(), "the clock is noticed")
        server.down = True
        wait_until(lambda: self.metric(trainer, "polls_total", 'result="failed"') > 2, "failures")
        server.down = False
        self.advance(server, trainer, 3)
        trainer.wait_logged("again")
        trainer.stop()
        self.assert_whole(server)
        self.assertTrue(all(headers["Authorization"] == "Bearer sesame"
                            for _, headers in server.asked))

    @staticmethod
    def break_off(request):
        request.send_response(200)
        request.send_header("Content-Length", "100000")
        request.end_headers()
        request.wfile.write(b'{"status":"success","data":{"resultType":"matrix","result":[{"me')
        request.close_connection = True

    def health(self, trainer):
        return call(trainer, "GET", "/healthz").json()

    def test_partial_answers_are_read_again_unless_they_are_accepted(self):
        machine = Machine()
        machine.run(10)
        server = ScriptedPrometheus(self, machine)
        server.more = {"warnings": ["store b: deadline exceeded"]}
        trainer = self.teach(server, "--lookback", "20s", "--train-after", "100000")
        trainer.wait_logged("answer is partial.*store b: deadline exceeded.*--partial accept")
        self.assertEqual(self.metric(trainer, "samples_total", ""), 0)
        server.more = {}
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 40, "samples are read")
        trainer.stop()
        self.assert_whole(server)
        server.more = {"isPartial": True}
        machine.run(5)
        server.now_s = machine.end_s()
        trainer = self.teach(server, "--lookback", "20s", "--train-after", "100000",
                             "--partial", "accept")
        trainer.wait_logged("answer is partial.*isPartial is true")
        wait_until(lambda: self.metric(trainer, "behind_seconds", "") < 1, "all is read")
        trainer.stop()
        self.assert_whole(server)

    def test_a_clock_that_is_a_year_ahead_stops_nothing(self):
        machine = Machine(start_s=int(time.time()) - 60)
        machine.run(10)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "60s", "--train-after", "100000")
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 40, "samples are read")
        self.assertEqual(self.health(trainer)["status"], "ok")
        self.assertIsNone(self.health(trainer)["online"]["problem"])
        # The next answers are of a clock a year ahead.
        server.now_s += YEAR_S
        trainer.wait_logged("server's clock is 31[0-9]{6} s ahead of this machine's")
        wait_until(lambda: self.metric(trainer, "behind_seconds", "") > YEAR_S / 2, "it shows")
        wait_until(lambda: re.search("31[0-9]{6} s ahead", str(self.health(trainer)["online"])),
                   "the health shows it")
        machine.run(5)
        server.now_s = machine.end_s()
        trainer.wait_logged("agrees with this machine's again")
        self.advance(server, trainer, 5)
        wait_until(lambda: self.health(trainer)["online"]["problem"] is None, "it is over")
        self.assertLess(self.health(trainer)["online"]["behind_seconds"], 1)
        trainer.stop()
        self.assert_whole(server)
        # A store in which a wrong clock left such times.
        with contextlib.closing(sqlite3.connect(self.path("state/online.sqlite"))) as db:
            db.execute("UPDATE reading SET to_ms = to_ms + ?", (YEAR_S * 1000,))
            db.execute("UPDATE standing SET trained_to_ms = trained_to_ms + ?, tried_to_ms = "
                       "tried_to_ms + ?", (YEAR_S * 1000, YEAR_S * 1000))
            db.execute("UPDATE segment SET from_ms = from_ms + ?, to_ms = to_ms + ? WHERE id = "
                       "(SELECT max(id) FROM segment)", (YEAR_S * 1000, YEAR_S * 1000))
            db.commit()
        trainer = self.teach(server, "--lookback", "60s", "--train-after", "100000")
        trainer.wait_logged("of a time in the future are forgotten")
        trainer.wait_logged("s in the future: reading again after the last stored one")
        self.advance(server, trainer, 5)
        # One answer with samples of another year is refused, and asked for again.
        server.faults = [self.year_ahead]
        machine.run(2)
        server.now_s = machine.end_s()
        trainer.wait_logged("later than what was asked for")
        self.advance(server, trainer, 5)
        self.assertIsNone(self.health(trainer)["online"]["problem"])
        trainer.stop()
        self.assert_whole(server)

    def test_one_answer_of_a_year_ahead_is_over_with_the_next(self):
        """The server's clock is behind this machine's, so that it may be right."""
        machine = Machine()
        machine.run(10)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "60s", "--train-after", "100000")
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 40, "samples are read")
        server.now_s += YEAR_S
        polls = self.metric(trainer, "polls_total", 'result="ok"')
        wait_until(lambda: self.metric(trainer, "polls_total", 'result="ok"') > polls + 1, "polls")
        server.now_s = machine.end_s()
        trainer.wait_logged("s in the future: reading again after the last stored one")
        self.advance(server, trainer, 5)
        trainer.stop()
        self.assert_whole(server)

    def test_a_damaged_store_stops_online_training_only(self):
        os.mkdir(self.path("state"))
        self.write("state/online.sqlite", "no database " * 100)
        trainer = self.teach(ScriptedPrometheus(self, Machine()))
        trainer.wait_logged("no online training: .*online.sqlite': file is not a database")
        self.assertIn("not a database", self.health(trainer)["online"]["problem"])
        answer = call(trainer, "POST", "/train", "{}")
        self.assertEqual(answer.status, 400)
        self.assertIn("name", answer.json()["detail"])

    def year_ahead(self, request):
        answer = [{"metric": {"__name__": METRICS[2], "instance": "teacher"},
                   "values": [[time.time() + YEAR_S, "1"]]}]
        ScriptedPrometheus.succeed(request, {"resultType": "matrix", "result": answer})

    def test_an_estimate_is_refused_with_a_reason(self):
        machine = Machine()
        machine.source = "trained_power_model"
        machine.run(10)
        trainer = self.teach(ScriptedPrometheus(self, machine), "--lookback", "20s")
        trainer.wait_logged("teacher: power of source 'trained_power_model' is not trained on: it "
                            "is estimated, simulated or passed on")
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 500, "all is read")
        trainer.stop()
        self.assertEqual(trainer.log().count("is not trained on"), 1)
        with contextlib.closing(sqlite3.connect(self.path("state/online.sqlite"))) as db:
            self.assertEqual(db.execute("SELECT count(*) FROM segment").fetchone(), (0,))

    def test_intervals_without_a_row_are_named_once(self):
        machine = Machine()
        machine.run(2)
        trainer = self.teach(ScriptedPrometheus(self, machine), "--lookback", "2s",
                             "--sampling-interval", "50ms")
        trainer.wait_logged("teacher: not trained on: an interval of 0.05 s has one sample .* "
                            "set --sampling-interval to three times the scrape interval")
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 20, "all is read")
        trainer.stop()
        self.assertEqual(trainer.log().count("set --sampling-interval"), 1)

    def test_an_exporter_that_two_jobs_scrape_counts_once(self):
        machine = Machine()
        machine.jobs = ("kepler", "pods")
        machine.run(20)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "20s")
        wait_until(lambda: self.metric(trainer, "behind_seconds", "") < 1, "all is read")
        machine.jobs = ("kepler",)
        for _ in range(5):
            self.advance(server, trainer, 5)
        wait_until(lambda: self.verdicts(trainer, "published") == 1, "a model is published")
        with open(self.path("db/online-teacher/rapl-sysfs/AbsPower/BPFOnly/"
                            "LinearRegressionTrainer_0/weight.json"), encoding="ascii") as f:
            weights = json.load(f)["package"]["All_Weights"]
        self.assertAlmostEqual(weights["Bias_Weight"], 6, delta=0.3)

    def test_a_full_window_keeps_rest_and_full_load(self):
        machine = Machine()
        machine.run(5)  # all states
        machine.busy, machine.hits, machine.left = 0.5, 100, 10 ** 9
        machine.run(30)
        server = ScriptedPrometheus(self, machine)
        trainer = self.teach(server, "--lookback", "35s", "--window-rows", "150",
                             "--train-after", "100000")
        wait_until(lambda: self.metric(trainer, "polls_total", 'result="ok"') >= 2, "all is read")
        trainer.stop()
        with contextlib.closing(sqlite3.connect(self.path("state/online.sqlite"))) as db:
            rows, = db.execute("SELECT sum(rows) FROM segment").fetchone()
            kept = db.execute("SELECT from_ms, load_high FROM segment ORDER BY 1").fetchall()
        self.assertLessEqual(rows, 150)
        early = [ms for ms, _ in kept if ms < (START_S + 5) * 1000]
        # A newest-first window of 150 rows would have none of these.
        self.assertGreaterEqual(len(early), 5)

    def test_a_real_prometheus_that_is_killed_loses_nothing(self):
        need_prometheus()
        end_s = int(time.time())
        machine = Machine(start_s=end_s - 20)
        machine.run(20)
        response = {metric: [{"metric": labels, "values": [(round(t, 3), v) for t, v in samples]}
                             for labels, samples in machine.samples(metric, 0, end_s)]
                    for metric in METRICS}
        server = Prometheus(self, make_blocks(self.dir, response))
        server.machine, server.gaps = machine, []
        trainer = self.teach(server, "--lookback", "10m")
        wait_until(lambda: self.metric(trainer, "samples_total", "") > 0, "samples are read")
        server.kill()
        wait_until(lambda: self.metric(trainer, "polls_total", 'result="failed"') > 0, "a failure")
        trainer.stop(signal.SIGKILL)
        server.start()
        trainer = self.teach(server, "--lookback", "10m")
        wait_until(lambda: self.verdicts(trainer, "published") == 1, "a model is published")
        trainer.stop()
        self.assert_whole(server)

    def test_wrong_use_is_one_line(self):
        for args in (("--online",), ("--online", "--model-db", self.path("db")),
                     ("--online", "--model-db", self.path("db"), "--online-state",
                      self.path("s"), "--online-trainers", "Nope")):
            done = self.run_trainer(*args)
            self.assertIn(done[0], (1, 2))
            self.assertIn("--online", done[1])

    @staticmethod
    def run_trainer(*args):
        done = subprocess.run([os.path.join(BIN, "tw-trainer"), "--listen", "127.0.0.1:0", *args],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        return done.returncode, done.stderr


if __name__ == "__main__":
    unittest.main()
