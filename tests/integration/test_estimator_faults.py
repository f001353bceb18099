# SPDX-License-Identifier: Apache-2.0
"""tw-estimator while its model server, its disk and its database fail: watts go on from the
last good model, and the metrics say so."""
import http.server
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.request

import answering
from harness import (COUNTER_ONLY, Case, ask_estimator, power_request, train_generated,
                     wait_until)

FEATURES = COUNTER_ONLY
ROW = [3.1e6, 2.5e9, 1.7e9]
OLD, NEW = "SGDRegressorTrainer", "LinearRegressionTrainer"


class ModelServer:
    """A model server whose behaviour a test sets: a function of the request handler."""

    def __init__(self):
        self.requests, self.tags = 0, []
        self.behave = None
        self.release = threading.Event()
        outer = self

        class Handler(answering.Handler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests += 1
                outer.tags.append(self.headers.get("If-None-Match"))
                outer.behave(self)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.release.set()
        self.server.shutdown()
        self.server.server_close()

    # ---- behaviours ------------------------------------------------------------

    @staticmethod
    def answer(body, tag=None, status=200):
        def behave(handler):
            handler.send_response(status)
            if tag:
                handler.send_header("ETag", tag)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        return behave

    def model(self, path, tag=None):
        with open(path, "rb") as f:
            body = f.read()
        whole = self.answer(body, tag)

        def behave(handler):
            if tag and handler.headers.get("If-None-Match") == tag:
                handler.send_response(304)
                handler.send_header("ETag", tag)
                handler.end_headers()
            else:
                whole(handler)
        return behave

    def hang(self, _):
        self.release.wait()

    @staticmethod
    def hang_up(handler):
        handler.connection.close()


class Faults(Case):
    @classmethod
    def setUpClass(cls):
        cls.db = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, cls.db)
        train_generated(cls.db, trainers=(OLD, NEW))

    def setUp(self):
        super().setUp()
        self.socket = self.path("s")
        self.estimator = None

    @staticmethod
    def zip_of(db, trainer, pipeline="simulated"):
        return os.path.join(db, pipeline, "rapl-sysfs/AbsPower/CounterOnly",
                            f"{trainer}_0.zip")

    def start_estimator(self, *args):
        self.estimator = self.start("tw-estimator", "--socket", self.socket,
                                    "--metrics-listen", "127.0.0.1:0", "--refresh", "20ms",
                                    "--shipped-models", "", *args)

    def start_server(self):
        server = ModelServer()
        self.addCleanup(server.close)
        return server

    def ask(self):
        answer = ask_estimator(self.socket, power_request(FEATURES, [ROW], version=2))
        self.assertIsNotNone(answer, self.estimator.log())
        return answer

    def served(self, trainer, kind=None):
        answer = self.ask()
        if answer.get("model") != trainer + "_0":
            return False
        self.assertTrue(answer["powers"]["package"])
        if kind:
            self.assertEqual(answer["origin"]["kind"], kind)
        return True

    def wait_served(self, trainer, kind=None):
        wait_until(lambda: self.served(trainer, kind), f"{trainer} is served")

    def metric(self, name, **labels):
        url = re.search(r"http://[^/]*/metrics", self.estimator.log()).group()
        with urllib.request.urlopen(url) as f:
            text = f.read().decode()
        wanted = "".join(f'{k}="{v}"' for k, v in labels.items())
        pattern = f"^tallywatt_estimator_{name}" + (re.escape("{" + wanted + "}") if wanted
                                                    else "") + r" (\S+)$"
        return float(re.search(pattern, text, re.M).group(1))

    # ---- the server ------------------------------------------------------------

    def test_a_server_that_hangs_or_talks_rubbish_changes_nothing_until_it_is_well(self):
        server = self.start_server()
        server.behave = server.model(self.zip_of(self.db, OLD))
        self.start_estimator("--model-server", server.url)
        self.wait_served(OLD, "server")
        with open(self.zip_of(self.db, NEW), "rb") as f:
            cut = f.read()[:-100]
        for name, behave in (("rubbish", server.answer(b"rubbish")),
                             ("cut short", server.answer(cut)),
                             ("500", server.answer(b"no", status=500)),
                             ("nothing", server.answer(b"")),
                             ("hangs up", server.hang_up)):
            failures = self.metric("model_failures_total", origin="server")
            server.behave = behave
            # A request to stop waiting: SIGHUP asks at once.
            self.estimator.proc.send_signal(1)
            wait_until(lambda: self.metric("model_failures_total", origin="server")
                       > failures, name)
            wait_until(lambda: self.metric("models_failing", origin="server") == 1, name)
            self.assertTrue(self.served(OLD, "server"), name)
        server.behave = server.hang
        asked = server.requests
        self.estimator.proc.send_signal(1)
        wait_until(lambda: server.requests > asked, "it is asked")
        for _ in range(20):
            self.assertTrue(self.served(OLD, "server"))
        server.release.set()
        server.behave = server.model(self.zip_of(self.db, NEW))
        self.estimator.proc.send_signal(1)
        self.wait_served(NEW, "server")
        wait_until(lambda: self.metric("models_failing", origin="server") == 0, "it is well")

    def test_a_stop_does_not_wait_for_a_server_that_hangs(self):
        server = self.start_server()
        server.behave = server.hang
        self.start_estimator("--model-server", server.url)
        asker = threading.Thread(target=ask_estimator, args=(
            self.socket, power_request(FEATURES, [ROW])))
        asker.start()
        wait_until(lambda: server.requests > 0, "it is asked")
        self.estimator.stop()
        asker.join()

    def test_an_unchanged_answer_is_not_sent_again(self):
        server = self.start_server()
        server.behave = server.model(self.zip_of(self.db, OLD), tag='"one"')
        self.start_estimator("--model-server", server.url)
        self.wait_served(OLD, "server")
        wait_until(lambda: server.tags.count('"one"') >= 3, "asked by the tag")
        self.assertEqual(self.metric("model_loads_total", origin="server"), 1)
        self.assertEqual(self.metric("model_failures_total", origin="server"), 0)
        server.behave = server.model(self.zip_of(self.db, NEW), tag='"two"')
        self.wait_served(NEW, "server")

    def test_the_kept_copy_serves_after_a_restart_without_the_server(self):
        server = self.start_server()
        server.behave = server.model(self.zip_of(self.db, OLD))
        keep = self.path("keep")
        self.start_estimator("--model-server", server.url, "--keep", keep)
        self.wait_served(OLD, "server")
        wait_until(lambda: os.listdir(keep), "it is kept")
        self.estimator.stop()
        server.behave = server.hang
        self.start_estimator("--model-server", server.url, "--keep", keep)
        self.wait_served(OLD, "server")
        # A copy that somebody changed is not believed.
        self.estimator.stop()
        (name,) = os.listdir(keep)
        with open(os.path.join(keep, name), "r+b") as f:
            f.seek(-200, os.SEEK_END)
            f.write(bytes(100))
        server.release.set()
        server.behave = server.answer(b"no", status=500)
        self.start_estimator("--model-server", server.url, "--keep", keep)
        answer = ask_estimator(self.socket, power_request(FEATURES, [ROW], version=2))
        self.assertEqual(answer["powers"], {})
        self.estimator.wait_logged("cannot read a cached model")

    # ---- the disk --------------------------------------------------------------

    def test_a_full_disk_keeps_no_copy_and_delays_no_client(self):
        if os.geteuid() != 0:
            self.skipTest("SKIPPED: a full disk is a file system of its own: root only")
        full = self.path("full")
        os.mkdir(full)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "none", full],
                                 check=False, stderr=subprocess.PIPE)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: no mounting here")
        self.addCleanup(subprocess.run, ["umount", full], check=True)
        with open(os.path.join(full, "filler"), "wb") as f:
            f.write(bytes(4096))
        server = self.start_server()
        server.behave = server.model(self.zip_of(self.db, OLD))
        self.start_estimator("--model-server", server.url, "--keep", full)
        self.wait_served(OLD, "server")
        wait_until(lambda: self.metric("keep_failures_total") > 0, "it is counted")
        self.estimator.wait_logged("No space left on device")
        self.assertEqual(os.listdir(full), ["filler"])

    # ---- the database ----------------------------------------------------------

    def copy_db(self):
        db = self.path("db")
        shutil.copytree(self.db, db)
        return db

    def touch(self, db):
        """As a publisher's rename does: the database's directory changes."""
        os.mkdir(os.path.join(db, "touched"))
        os.rmdir(os.path.join(db, "touched"))

    def test_a_model_that_is_cut_or_deleted_while_in_use_goes_on(self):
        db = self.copy_db()
        for trainer in (NEW, OLD):
            self.start_estimator("--model-db", db)
            wait_until(lambda: self.ask().get("model"), "one is served")
            used = self.ask()["model"].rsplit("_", 1)[0]
            path = self.zip_of(db, used)
            loads = self.metric("model_lookups_total", origin="database")
            with open(path, "r+b") as f:
                f.truncate(os.path.getsize(path) // 2)
            self.touch(db)
            wait_until(lambda: self.metric("model_lookups_total", origin="database") > loads,
                       "the database is read again")
            answer = self.ask()
            self.assertTrue(answer["powers"]["package"], trainer)
            self.estimator.stop()
            os.remove(path)
        # Both are gone: there is none, and that is said.
        self.start_estimator("--model-db", db)
        self.assertEqual(self.ask()["powers"], {})

    def test_a_database_that_goes_away_leaves_the_last_model(self):
        db = self.copy_db()
        self.start_estimator("--model-db", db)
        wait_until(lambda: self.ask().get("model"), "one is served")
        before = self.ask()["powers"]
        shutil.rmtree(os.path.join(db, "simulated"))
        wait_until(lambda: self.metric("model_failures_total", origin="database") > 0,
                   "it is noticed")
        self.assertEqual(self.ask()["powers"], before)
        wait_until(lambda: self.metric("models_failing", origin="database") == 1, "it fails")

    def test_models_are_swapped_under_load(self):
        """Every answer is one of the two models', whole."""
        server = self.start_server()
        behaviours = [server.model(self.zip_of(self.db, t)) for t in (OLD, NEW)]
        server.behave = behaviours[0]
        self.start_estimator("--model-server", server.url)
        self.wait_served(OLD, "server")
        old = self.ask()["powers"]
        server.behave = behaviours[1]
        self.wait_served(NEW, "server")
        new = self.ask()["powers"]
        seen, failed, stop = [], [], threading.Event()

        def load():
            try:
                while not stop.is_set():
                    seen.append(self.ask()["powers"])
            except (AssertionError, OSError, ValueError) as e:
                failed.append(e)

        clients = [threading.Thread(target=load) for _ in range(4)]
        for c in clients:
            c.start()
        for i in range(10):
            loads = self.metric("model_loads_total", origin="server")
            server.behave = behaviours[i % 2]
            wait_until(lambda: self.metric("model_loads_total", origin="server") > loads,
                       "it is swapped")
        stop.set()
        for c in clients:
            c.join()
        self.assertEqual(failed, [])
        self.assertTrue(all(powers in (old, new) for powers in seen))
        self.assertIn(old, seen)
        self.assertIn(new, seen)


if __name__ == "__main__":
    unittest.main()
