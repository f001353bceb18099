# SPDX-License-Identifier: Apache-2.0
"""Disks that fail, memory that ends, servers that are killed: no version is ever half."""
import errno
import glob
import http.client
import os
import shutil
import signal
import socket
import unittest

from harness import BIN, GENERATED, TIMEOUT_S, Case, ask_estimator, call, need, \
    power_request, preload, published, read_json, run_tallywatt, sanitized, train_generated, tree, \
    wait_until
from test_publish import PIPELINE, TOKEN, zip_of
from test_train_jobs import train_request

FAULTS = preload("libfaults.so")
EIO = errno.EIO


class FaultCase(Case):
    """Programs that run with tests/fake/faults.c."""

    def faults(self, *lines):
        """From now on these calls fail: (call, path)."""
        self.write("faults.new", "".join(f"{what} {EIO} {path}\n" for what, path in lines) or
                   "none 0 /\n")
        os.rename(self.path("faults.new"), self.path("faults"))

    def start_faulty(self, program, *args, env=()):
        self.faults()
        more = " ".join(f"{name}='{value}'" for name, value in env)
        script = self.write(f"start-{program}", (
            "#!/bin/sh\nexport ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\"\n"
            f"exec env TW_FAULTS='{self.path('faults')}' {more} LD_PRELOAD='{FAULTS}' "
            f"'{os.path.join(BIN, program)}' \"$@\"\n"))
        os.chmod(script, 0o755)
        return self.start_http(script, *args)


class Disk(FaultCase):
    def setUp(self):
        super().setUp()
        self.db = self.path("db")
        os.mkdir(self.db)

    def test_a_training_whose_disk_fails_is_answered_and_changes_nothing(self):
        trainer = self.start_faulty("tw-trainer", "--model-db", self.db)
        response = read_json(GENERATED["0.7"])
        ask = train_request(response, "p")
        self.assertEqual(call(trainer, "POST", "/train", ask).status, 200)
        before = tree(self.db)
        for fault in ("write", "fsync", "rename"):
            self.faults((fault, self.db))
            answer = call(trainer, "POST", "/train", ask)
            self.assertGreaterEqual(answer.status, 500, fault)
            self.assertIn("Input/output error", answer.json()["detail"])
            self.faults()
            self.assertEqual({n: d for n, d in tree(self.db).items() if n in before}, before)
            self.assertEqual(set(published(self.db)), set(published_of(before)), fault)
        ask["trainer"]["abs_trainers"] = ["SGDRegressorTrainer"]
        self.assertEqual(call(trainer, "POST", "/train", ask).status, 200)
        self.assertNotEqual(tree(self.db), before)

    def test_an_upload_whose_disk_fails_leaves_the_old_version(self):
        auth = self.write("auth", "s3cret\n")
        server = self.start_faulty("tw-server", "--model-db", self.db, "--publish-auth", auth)
        body = zip_of(tree(PIPELINE))

        def put():
            return call(server, "PUT", "/api/v1/pipelines/p", body, TOKEN)
        self.assertEqual(put().status, 200)
        before = tree(os.path.join(self.db, "p"))
        for fault in ("write", "fsync", "rename"):
            self.faults((fault, self.db))
            answer = put()
            self.assertGreaterEqual(answer.status, 500, fault)
            self.assertIn("Input/output error", answer.json()["detail"])
            self.assertEqual(tree(os.path.join(self.db, "p")), before)
        self.faults()
        # The list is that of the last reload, which follows an upload.
        wait_until(lambda: [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()
                            ["pipelines"]] == ["p"], "the pipeline is listed")
        self.assertEqual(put().status, 200)

    def test_a_command_whose_disk_fails_says_so(self):
        train_generated(self.db)
        before = tree(self.db)
        os.environ.update(TW_FAULTS=self.path("faults"), LD_PRELOAD=FAULTS)
        if sanitized("tallywatt"):
            os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + \
                ":verify_asan_link_order=0"
        try:
            for fault in ("write", "fsync", "rename"):
                self.faults((fault, self.db))
                line = self.refused("train", "--input", GENERATED["0.7"], "--name", "simulated",
                                    "--trainers", "SGDRegressorTrainer", "--model-db", self.db)
                self.assertIn("Input/output error", line)
                self.faults()
                self.assertEqual(set(published(self.db)), set(published_of(before)), fault)
        finally:
            del os.environ["LD_PRELOAD"], os.environ["TW_FAULTS"]
        self.assertEqual(content_of(self.db), {n: d for n, d in before.items()
                                               if n != ".lock"})

    def test_models_that_cannot_be_read_leave_the_loaded_ones(self):
        train_generated(self.db)
        server = self.start_faulty("tw-server", "--model-db", self.db)
        names = [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]
        self.assertEqual(names, ["simulated"])
        self.faults(("read", self.db))
        server.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: "Input/output error" in server.log(), "the failure is logged")
        self.assertEqual(call(server, "GET", "/api/v1/pipelines").status, 200)
        self.faults()
        server.proc.send_signal(signal.SIGHUP)
        wait_until(lambda: [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()
                            ["pipelines"]] == names, "the models are served again")

    def test_an_estimator_whose_disk_fails_answers_from_memory(self):
        train_generated(self.db)
        socket_path = self.path("estimator")
        self.faults()
        estimator = self.start_estimator(socket_path)
        ask = power_request(["cpu_cycles", "cpu_instructions", "cache_miss"],
                            [[2.5e9, 1.7e9, 3.1e6]])
        want = ask_estimator(socket_path, ask)
        self.assertTrue(want["powers"])
        self.faults(("read", self.db))
        os.utime(self.db)
        estimator.proc.send_signal(signal.SIGHUP)
        for _ in range(20):
            self.assertEqual(ask_estimator(socket_path, ask)["powers"], want["powers"])

    def start_estimator(self, path):
        script = self.write("start-estimator", (
            "#!/bin/sh\nexport ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\"\n"
            f"exec env TW_FAULTS='{self.path('faults')}' LD_PRELOAD='{FAULTS}' "
            f"'{os.path.join(BIN, 'tw-estimator')}' \"$@\"\n"))
        os.chmod(script, 0o755)
        return self.start(script, "--socket", path, "--model-db", self.db)

    def test_a_powercap_tree_that_cannot_be_written_costs_no_scrape(self):
        out = self.path("out")
        collector = self.start_faulty("tw-collector", "--interval", "100ms", "--user", "root",
                                      "--filter=no", "--bpf", "off", "--meters", "fake",
                                      "--powercap-out", out, "--shipped-models", "")
        wait_until(lambda: glob.glob(out + "/class/powercap/*/energy_uj"), "the tree is written")
        for fault in ("write", "rename"):
            self.faults((fault, out))
            ticks = self.ticks(collector)
            wait_until(lambda: self.ticks(collector) > ticks + 3, "the ticks go on")
        collector.wait_logged("Input/output error")
        self.faults()

    @staticmethod
    def ticks(collector):
        text = call(collector, "GET", "/metrics").body.decode()
        return next(float(line.split()[1]) for line in text.splitlines()
                    if line.startswith("tallywatt_collector_ticks_total "))


def published_of(files):
    return set(files) - {".lock"}


def content_of(db):
    return {n: d for n, d in tree(db).items() if n != ".lock"}


class Memory(Case):
    """A limit of the memory cgroup, of either version."""
    LIMIT = 24 << 20

    def limited(self):
        """A cgroup with the limit; a function that puts a process into it."""
        for top, name in (("/sys/fs/cgroup", "memory.max"),
                          ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")):
            folder = os.path.join(top, f"tallywatt-limit-{os.getpid()}")
            try:
                os.mkdir(folder)
            except OSError:
                continue
            self.addCleanup(self.remove, folder)
            try:
                with open(os.path.join(folder, name), "r+", encoding="ascii") as f:
                    f.write(str(self.LIMIT))
            except OSError:
                continue

            return folder
        return need("memory cgroups", False)

    @staticmethod
    def remove(folder):
        def removed():
            try:
                os.rmdir(folder)
            except OSError:
                return False
            return True
        wait_until(removed, f"{folder} is empty")

    def enter(self, folder, pid):
        with open(os.path.join(folder, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(pid))

    def test_a_trainer_out_of_memory_refuses_or_dies_and_loses_nothing(self):
        if sanitized("tw-trainer"):
            raise unittest.SkipTest("a sanitizer's memory is not the trainer's")
        folder = self.limited()
        db = self.path("db")
        train_generated(db, name="kept")
        before = content_of(db)
        trainer = self.start_http("tw-trainer", "--model-db", db)
        self.enter(folder, trainer.proc.pid)
        ask = train_request(read_json(GENERATED["0.7"]), "big")
        series = ask["prom_response"]["kepler_process_package_joules_total"] \
            if "kepler_process_package_joules_total" in ask["prom_response"] else \
            max(ask["prom_response"].values(), key=lambda s: len(str(s)))
        series += [dict(s, metric=dict(s["metric"], more=str(i)))
                   for i in range(150) for s in series[:2]]
        try:
            status = call(trainer, "POST", "/train", ask).status
            # Refused, or it was enough.
            self.assertIn(status, (200, 400, 413, 500, 503))
        except (OSError, http.client.HTTPException):
            self.assertEqual(trainer.proc.wait(timeout=TIMEOUT_S), -signal.SIGKILL)
        for name, data in before.items():
            self.assertEqual(tree(db)[name], data)
        if trainer.proc.poll() is None:
            self.assertEqual(call(trainer, "GET", "/healthz").status, 200)
        again = self.start_http("tw-trainer", "--model-db", db)
        ask = train_request(read_json(GENERATED["0.7"]), "after")
        self.assertEqual(call(again, "POST", "/train", ask).status, 200)

    def test_a_server_under_its_limit_takes_no_upload_that_it_cannot_hold(self):
        if sanitized("tw-server"):
            raise unittest.SkipTest("a sanitizer's memory is not the server's")
        folder = self.limited()
        db = self.path("db")
        shutil.copytree(PIPELINE, os.path.join(db, "kept"))
        before = content_of(db)
        auth = self.write("auth", "s3cret\n")
        server = self.start_http("tw-server", "--model-db", db, "--publish-auth", auth)
        self.enter(folder, server.proc.pid)
        body = zip_of({**tree(PIPELINE), "big.csv": os.urandom(self.LIMIT)})
        try:
            call(server, "PUT", "/api/v1/pipelines/big", body, TOKEN)
        except (OSError, http.client.HTTPException):
            self.assertEqual(server.proc.wait(timeout=TIMEOUT_S), -signal.SIGKILL)
        self.assertEqual({n: d for n, d in content_of(db).items() if n in before}, before)
        if server.proc.poll() is not None:
            self.assertEqual(server.proc.returncode, -signal.SIGKILL)
            server = self.start_http("tw-server", "--model-db", db, "--publish-auth", auth)
        names = [p["name"] for p in call(server, "GET", "/api/v1/pipelines").json()["pipelines"]]
        self.assertIn("kept", names)


class Killed(Case):
    def test_a_server_killed_in_an_upload_begins_again_with_what_it_had(self):
        db = self.path("db")
        shutil.copytree(PIPELINE, os.path.join(db, "p"))
        before = content_of(db)
        auth = self.write("auth", "s3cret\n")
        body = zip_of(tree(PIPELINE))
        for cut in (0, 1, len(body) // 2, len(body) - 1):
            server = self.start_http("tw-server", "--model-db", db, "--publish-auth", auth)
            host, port = server.address.rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as s:
                s.sendall(b"PUT /api/v1/pipelines/p HTTP/1.1\r\nHost: x\r\n"
                          b"Authorization: Bearer s3cret\r\n"
                          b"Content-Length: %d\r\n\r\n" % len(body) + body[:cut])
                self.assertEqual(call(server, "GET", "/livez").status, 200)
                server.stop(signal.SIGKILL)
            self.assertEqual({n: d for n, d in content_of(db).items() if n in before}, before)
        server = self.start_http("tw-server", "--model-db", db, "--publish-auth", auth)
        self.assertEqual(call(server, "PUT", "/api/v1/pipelines/p", body, TOKEN).status, 200)
        left = {n.split("/")[0] for n in tree(db)}
        self.assertLessEqual(left, {"p", ".lock", ".previous"} | {n for n in left
                                                                  if n.startswith(".old")})


if __name__ == "__main__":
    unittest.main()
