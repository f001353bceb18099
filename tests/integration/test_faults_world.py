# SPDX-License-Identifier: Apache-2.0
"""Clocks that jump, paths that somebody else has taken, closed standard files, hostile archives,
model servers that hang, drip or talk rubbish."""
import contextlib
import http.client
import io
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import unittest
import zipfile

from harness import BIN, GENERATED, TIMEOUT_S, ask_estimator, call, need, \
    power_request, read_json, sanitized, train_generated, tree, wait_until
from test_estimator_faults import ModelServer
from test_faults_disk import FAULTS, FaultCase
from test_publish import PIPELINE, TOKEN, has_sodium, zip_of
from test_train_jobs import train_request

YEAR_S = 365 * 86400
JUMPS_S = (10 * YEAR_S, -20 * YEAR_S, 3600, -3600, 0)


class Clocks(FaultCase):
    def jump(self, seconds):
        self.write("clock.new", f"{seconds}\n")
        os.rename(self.path("clock.new"), self.path("clock"))

    def start_jumping(self, program, *args):
        self.jump(0)
        return self.start_faulty(program, *args, env=[("TW_CLOCK", self.path("clock"))])

    def test_trainings_and_uploads_are_newer_whatever_the_clock_says(self):
        db = self.path("db")
        os.mkdir(db)
        need("sodium", has_sodium())
        need("minisign", shutil.which("minisign"))
        subprocess.run(["minisign", "-G", "-W", "-p", self.path("pub"), "-s", self.path("key")],
                       check=True, stdout=subprocess.DEVNULL)
        trainer = self.start_jumping("tw-trainer", "--model-db", db, "--sign", self.path("key"))
        server = self.start_jumping("tw-server", "--model-db", db, "--publish-auth",
                                    self.write("auth", "s3cret\n"))
        ask = train_request(read_json(GENERATED["0.7"]), "trained")
        body = zip_of(tree(PIPELINE))
        versions = []
        for seconds in JUMPS_S:
            self.jump(seconds)
            self.assertEqual(call(trainer, "POST", "/train", ask).status, 200, seconds)
            answer = call(server, "PUT", "/api/v1/pipelines/sent", body, TOKEN)
            self.assertEqual(answer.status, 200, (seconds, answer.body))
            versions.append(read_json(os.path.join(db, "trained/manifest.json"))["version"])
            for daemon in (trainer, server):
                self.assertEqual(call(daemon, "GET", "/metrics").status, 200)
        self.assertEqual(versions, sorted(set(versions)))

    def test_the_command_publishes_after_a_jump_backwards(self):
        db = self.path("db")
        os.environ.update(LD_PRELOAD=FAULTS, TW_CLOCK=self.path("clock"))
        if sanitized("tallywatt"):
            os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + \
                ":verify_asan_link_order=0"
        try:
            for seconds in JUMPS_S:
                self.jump(seconds)
                self.tallywatt("publish", PIPELINE, "--name", "p", "--to", db)
        finally:
            del os.environ["LD_PRELOAD"], os.environ["TW_CLOCK"]

    def test_ticks_and_watts_go_on(self):
        db = self.path("db")
        train_generated(db)
        collector = self.start_jumping("tw-collector", "--interval", "100ms", "--user", "root",
                                       "--filter=no", "--bpf", "off", "--meters", "fake")
        script = self.write("start-estimator", (
            "#!/bin/sh\nexport ASAN_OPTIONS=\"$ASAN_OPTIONS:verify_asan_link_order=0\"\n"
            f"exec env TW_CLOCK='{self.path('clock')}' LD_PRELOAD='{FAULTS}' "
            f"'{os.path.join(BIN, 'tw-estimator')}' \"$@\"\n"))
        os.chmod(script, 0o755)
        self.start(script, "--socket", self.path("s"), "--model-db", db)
        ask = power_request(["cpu_cycles", "cpu_instructions", "cache_miss"],
                            [[2.5e9, 1.7e9, 3.1e6]])
        want = ask_estimator(self.path("s"), ask)["powers"]
        self.assertTrue(want)
        for seconds in JUMPS_S:
            self.jump(seconds)
            ticks = self.ticks(collector)
            wait_until(lambda t=ticks: self.ticks(collector) > t + 2, "the ticks go on")
            self.assertEqual(ask_estimator(self.path("s"), ask)["powers"], want)

    @staticmethod
    def ticks(collector):
        text = call(collector, "GET", "/metrics").body.decode()
        return next(float(line.split()[1]) for line in text.splitlines()
                    if line.startswith("tallywatt_collector_ticks_total "))


class ClosedFiles(FaultCase):
    """Programs that are started without standard input, output and error."""

    def start_closed(self, program, *args):
        script = self.write(f"start-{program}", (
            f"#!/bin/sh\nexec '{os.path.join(BIN, program)}' \"$@\" <&- >&- 2>&-\n"))
        os.chmod(script, 0o755)
        return self.start(script, *args)

    def test_no_socket_is_taken_for_the_log(self):
        db, listen = self.path("db"), ("--listen", "127.0.0.1:0")
        train_generated(db)
        for program, *args in (("tw-server", *listen, "--model-db", db),
                               ("tw-trainer", *listen, "--model-db", db),
                               ("tw-estimator", "--socket", self.path("s"), "--model-db", db),
                               ("tw-collector", *listen, "--user", "root", "--filter=no",
                                "--bpf", "off", "--meters", "fake")):
            with self.subTest(program):
                daemon = self.start_closed(program, *args)
                for fd in range(3):
                    self.assertEqual(os.readlink(f"/proc/{daemon.proc.pid}/fd/{fd}"),
                                     "/dev/null")
                daemon.stop()

    def test_a_command_that_cannot_write_fails(self):
        db = self.path("db")
        train_generated(db)
        command = f"'{os.path.join(BIN, 'tallywatt')}' models --model-db '{db}'"
        done = subprocess.run(["sh", "-c", f"{command} <&- >&-"], stderr=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, b"tallywatt models: cannot write to stdout\n")
        done = subprocess.run(["sh", "-c", f"{command} <&- 2>&-"], stdout=subprocess.PIPE,
                              timeout=TIMEOUT_S, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"CounterOnly", done.stdout)


class FewFiles(FaultCase):
    """Programs whose limit of open files is low."""

    def start_limited(self, limit, program, *args):
        """`limit`: arguments of ulimit."""
        script = self.write(f"start-{program}", (
            f"#!/bin/sh\nulimit {limit} && exec '{os.path.join(BIN, program)}' \"$@\"\n"))
        os.chmod(script, 0o755)
        return self.start_http(script, *args)

    def test_connections_leave_files_for_the_rest(self):
        """accept() without a descriptor fails at once, again and again. The longest idle connections
        make room for the newest."""
        db = self.path("db")
        train_generated(db)
        for program in ("tw-server", "tw-trainer"):
            with self.subTest(program), contextlib.ExitStack() as clients:
                daemon = self.start_limited("-n 48", program, "--model-db", db)
                self.assertIn("the limit of 48 open files allows connections=", daemon.log())
                host, port = daemon.address.rsplit(":", 1)
                for _ in range(60):
                    clients.enter_context(socket.create_connection((host, int(port)), TIMEOUT_S))

                def is_answered():
                    try:
                        return call(daemon, "GET", "/metrics").status == 200
                    except (OSError, http.client.HTTPException):
                        return False  # the places of those that end are not free yet
                wait_until(is_answered, "a new connection is answered")
                self.assertLess(len(os.listdir(f"/proc/{daemon.proc.pid}/fd")), 48)
                daemon.stop()

    def test_a_soft_limit_is_raised(self):
        db = self.path("db")
        train_generated(db)
        for program, *args in (("tw-server", "--model-db", db), ("tw-trainer",),
                               ("tw-collector", "--user", "root", "--filter=no", "--bpf", "off",
                                "--meters", "fake")):
            with self.subTest(program):
                daemon = self.start_limited("-Sn 48", program, *args)
                soft, _ = resource.prlimit(daemon.proc.pid, resource.RLIMIT_NOFILE)
                self.assertGreater(soft, 48)
                self.assertNotIn("open files", daemon.log())
                daemon.stop()


class Squatters(FaultCase):
    """Paths that somebody else has taken, as anybody can in /tmp."""

    def refuses(self, program, *args):
        done = subprocess.run([os.path.join(BIN, program), *args], check=False,
                              stderr=subprocess.PIPE, stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr.decode()

    def test_an_estimator_takes_over_nothing_but_its_own_dead_socket(self):
        db, path = self.path("db"), self.path("socket")
        train_generated(db)
        victim = self.write("victim", "precious")
        args = ("--model-db", db, "--socket", path)
        for squat, why in ((lambda: self.write("socket", "mine"), "is not a socket"),
                           (lambda: os.symlink(victim, path), "is not a socket"),
                           (lambda: os.symlink(self.path("nowhere"), path), "is not a socket"),
                           (lambda: os.mkdir(path), "is not a socket"),
                           (lambda: os.mkfifo(path), "is not a socket")):
            squat()
            self.assertIn(why, self.refuses("tw-estimator", *args))
            self.assertTrue(os.path.lexists(path))
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
            else:
                os.unlink(path)
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(path)
            other.listen()
            self.assertIn("another program answers", self.refuses("tw-estimator", *args))
        # Now nobody listens: the file is stale.
        self.start("tw-estimator", *args)
        with open(victim, encoding="ascii") as f:
            self.assertEqual(f.read(), "precious")
        self.assertFalse(os.path.lexists(self.path("nowhere")))

    def test_a_ready_file_that_is_a_link_is_not_followed(self):
        victim, link = self.write("victim", "precious"), self.path("ready")
        os.symlink(victim, link)
        db = self.path("db")
        train_generated(db)
        for program, *args in (("tw-server", "--listen", "127.0.0.1:0", "--model-db", db),
                               ("tw-trainer", "--listen", "127.0.0.1:0"),
                               ("tw-estimator", "--model-db", db, "--socket", self.path("s")),
                               ("tw-collector", "--listen", "127.0.0.1:0", "--bpf", "off",
                                "--shipped-models", "", "--user", "root", "--filter=no")):
            self.assertIn("not a regular file",
                          self.refuses(program, *args, "--ready-file", link))
            self.assertTrue(os.path.islink(link))
        with open(victim, encoding="ascii") as f:
            self.assertEqual(f.read(), "precious")


def bomb():
    """42 MiB of zeros in some 40 KiB, a thousand times."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for i in range(30):
            z.writestr(f"{i}.json", b"\0" * (42 << 20) if i == 0 else b"\0" * (4 << 20))
    return out.getvalue()


def overlapping():
    """Many entries of the directory that share one member."""
    data = bytearray(zip_of({"metadata.json": b"{}" * 5000}))
    end = data.rfind(b"PK\5\6")
    count, size, at = struct.unpack("<HII", data[end + 10:end + 20])
    entry = bytes(data[at:at + size])
    more = entry * 500
    tail = bytearray(data[end:])
    tail[8:20] = struct.pack("<HHII", count * 500, count * 500, len(more), at)
    return bytes(data[:at]) + more + bytes(tail)


def linked():
    """A symbolic link, and a file through it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        link = zipfile.ZipInfo("link")
        link.external_attr = (0o120777 << 16)
        z.writestr(link, "/tmp")
        z.writestr("link/escaped.json", "{}")
    return out.getvalue()


class Archives(FaultCase):
    def hostile(self):
        good = {"metadata.json": b"{}", "weight.json": b"{}"}
        whole = zip_of(good)
        yield "slip", zip_of({"../escaped.json": b"{}", **good})
        yield "absolute", zip_of({self.path("escaped.json"): b"{}", **good})
        yield "backslash", zip_of({"..\\escaped.json": b"{}", **good})
        yield "link", linked()
        yield "bomb", bomb()
        yield "overlap", overlapping()
        yield "many", zip_of({f"{i}/a.json": b"" for i in range(20000)})
        yield "deep", zip_of({"a/" * 2000 + "a.json": b"{}"})
        yield "cut", whole[:len(whole) // 2]
        yield "empty", b""
        yield "nested", zip_of({"a.zip": zip_of({"b.zip": bomb()})})
        yield "names", zip_of({"a\x1b[2J.json": b"{}", "-rf": b"{}", ".hidden": b"{}"})
        yield "json", zip_of({"metadata.json": b"[" * 200000, "weight.json": b"{" * 200000})
        yield "rubbish", os.urandom(100000)

    def test_import_takes_nothing_from_a_hostile_archive(self):
        for name, data in self.hostile():
            source = self.write(f"{name}.zip", data)
            inside = self.path(f"in-{name}")
            os.mkdir(inside)
            done = subprocess.run(
                ["sh", "-c", "ulimit -v 4000000; exec \"$@\"" if not sanitized("tallywatt")
                 else "exec \"$@\"", "sh", os.path.join(BIN, "tallywatt"), "import", source,
                 "--to", os.path.join(inside, "db")], check=False, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S)
            said = done.stdout + done.stderr
            self.assertIn(done.returncode, (0, 1, 2), (name, said[-500:]))
            self.assertTrue(said.strip(), name)
            self.assertLess(len(said), 100000, name)
            self.assertNotIn(b"\x1b", said, name)
            self.assertLess(sum(map(len, tree(inside).values())), 50 << 20, name)
            served = [n for n in tree(inside) if "AbsPower" in n or "DynPower" in n]
            self.assertEqual(served, [], name)
            os.unlink(source)
        left = {n for n in os.listdir(self.dir) if not n.startswith("in-")}
        self.assertEqual(left, set())
        self.assertFalse(os.path.exists("/tmp/escaped.json"))


class Dripping(ModelServer):
    """A model server that sends a byte now and then, for ever."""

    def drip(self, handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        try:
            while not self.release.wait(0.05):
                handler.wfile.write(b"P")
        except OSError:
            pass

    def endless(self, handler):
        handler.send_response(200)
        handler.end_headers()
        try:
            while not self.release.is_set():
                handler.wfile.write(b"x" * 65536)
        except OSError:
            pass


class BadServers(FaultCase):
    def test_a_bad_model_server_costs_no_tick_and_no_answer(self):
        db = self.path("db")
        train_generated(db)
        server = Dripping()
        self.addCleanup(server.close)
        server.behave = server.drip
        args = ["--user", "root", "--filter=no"] if sanitized() else []
        collector = self.start_http("tw-collector", "--interval", "100ms", "--shipped-models",
                                    "", "--model-server", server.url, "--bpf", "off", *args)
        estimator = self.start("tw-estimator", "--socket", self.path("s"), "--model-db", db,
                               "--model-server", server.url)
        ask = power_request(["cpu_cycles", "cpu_instructions", "cache_miss"],
                            [[2.5e9, 1.7e9, 3.1e6]])
        for behave in (server.drip, server.hang, server.hang_up, server.endless,
                       server.answer(b"rubbish"), server.answer(b""),
                       server.answer(zip_of({"../x": b"y"})), server.answer(b"{}", status=500),
                       server.answer(b"x" * 100, status=302)):
            server.behave = behave
            collector.proc.send_signal(signal.SIGHUP)
            estimator.proc.send_signal(signal.SIGHUP)
            ticks = Clocks.ticks(collector)
            wait_until(lambda t=ticks: Clocks.ticks(collector) > t + 2, "the ticks go on")
            self.assertTrue(ask_estimator(self.path("s"), ask)["powers"])
        server.behave = server.drip
        # A stop waits for none of them.
        for daemon in (collector, estimator):
            daemon.stop()


if __name__ == "__main__":
    unittest.main()
