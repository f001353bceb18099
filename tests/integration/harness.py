# SPDX-License-Identifier: Apache-2.0
"""Start the programs under test, talk to them, and see that they end well.

TW_BIN is where the programs are. TW_REQUIRE names what must not be skipped. Recorded real
data is looked for in TW_SHARED, else beside the repository.
"""
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
BIN = os.path.abspath(os.environ.get("TW_BIN", os.path.join(ROOT, "build/release")))
SHARED = os.environ.get("TW_SHARED", os.path.join(ROOT, "..", "shared"))
REQUIRED = set(os.environ.get("TW_REQUIRE", "").split(",")) - {""}
# Longer than anything here takes under the sanitizers on a machine that is busy: it ends a hang.
TIMEOUT_S = 300
# For programs whose memory is measured: what AddressSanitizer keeps of what was freed is
# not theirs.
SMALL = dict(os.environ, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") +
             ":quarantine_size_mb=1:thread_local_quarantine_size_kb=64")

sys.path.insert(0, os.path.join(ROOT, "tests"))

GENERATED = {"0.6": os.path.join(ROOT, "tests/data/prom/simulated-0.6.json"),
             "0.7": os.path.join(ROOT, "tests/data/prom/simulated-0.7.json")}
SLOW = "AutoTrainer"
# Smaller inputs: see tests/checks.mk.
QUICK = bool(os.environ.get("TW_TEST_QUICK"))
COUNTER_ONLY = ["cache_miss", "cpu_cycles", "cpu_instructions"]


def need(what, present):
    """Skip when something is missing, unless TW_REQUIRE says it must be there."""
    if present:
        return
    if what in REQUIRED:
        raise AssertionError(f"TW_REQUIRE names '{what}', which is missing")
    raise unittest.SkipTest(f"no {what}")


def need_fleet():
    """Skip in a build with FLEET=0."""
    with open(os.path.join(BIN, "flags"), encoding="utf-8") as f:
        if "-DTW_FLEET=0" in f.read():
            raise unittest.SkipTest("built without the fleet wing")


def sanitized(name="tw-collector"):
    """Whether a program or library of the build is one with AddressSanitizer, or with
    ThreadSanitizer."""
    with open(os.path.join(BIN, name), "rb") as f:
        text = f.read()
    return b"__asan_init" in text or b"__tsan_init" in text


def shared(*names):
    """A file of the recorded data; skips where there is none."""
    path = os.path.join(SHARED, *names)
    need("shared", os.path.exists(path))
    return path


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def wait_until(condition, what, timeout=TIMEOUT_S, pause_s=0.005):
    """Ask again and again; the pause only keeps the processor free."""
    pause = threading.Event()
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"still not so after {timeout} s: {what}")
        pause.wait(pause_s)


# What a command writes into its directory, if it is told no other, lies here.
HERE = tempfile.TemporaryDirectory(prefix="tw-here-")


def preload(name):
    """The path of a library of tests/fake for LD_PRELOAD, in which a space ends a path."""
    link = os.path.join(HERE.name, name)
    if not os.path.lexists(link):
        os.symlink(os.path.join(BIN, "tests/fake", name), link)
    return link


def children(pid):
    """Pids of the children of a process; an ended process has none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split()]
    except OSError:
        return []


def run_tallywatt(*args, timeout=TIMEOUT_S):
    return subprocess.run([os.path.join(BIN, "tallywatt"), *args], check=False, cwd=HERE.name,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=timeout)


def copy_for_all(source, to):
    """A copy that every user may read: the repository may be in a private folder, or have
    private files, and some daemons become another user."""
    shutil.copytree(source, to, copy_function=shutil.copyfile)
    for folder, _, _ in os.walk(to):
        os.chmod(folder, 0o755)
    return to


def tree(top):
    """Name -> bytes of every file below a directory."""
    files = {}
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                files[os.path.relpath(path, top)] = f.read()
    return files


def content(top):
    """The same without manifests, which come with publishing."""
    return {n: d for n, d in tree(top).items() if os.path.basename(n) != "manifest.json"}


def published(db):
    """What a database has, but for what a publisher locks."""
    return sorted(set(tree(db)) - {".lock"})


class Daemon:
    """A running program. Ready once it has said so to NOTIFY_SOCKET.

    `stem` is the path that its log, ready file and socket begin with."""

    def __init__(self, stem, program, args):
        self.program = program
        self.ready_file = stem + ".ready"
        self.log_file = stem + ".log"
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        notify.bind(stem + ".notify")
        os.chmod(stem + ".notify", 0o777)  # some daemons become another user
        with notify, open(self.log_file, "wb") as log:
            self.proc = subprocess.Popen(
                [os.path.join(BIN, program), "--ready-file", self.ready_file, *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=dict(os.environ, NOTIFY_SOCKET=stem + ".notify"))
            self.wait_ready(notify)
        with open(self.ready_file, encoding="utf-8") as f:
            self.address = f.read().strip()

    def wait_ready(self, notify):
        ended = os.pidfd_open(self.proc.pid)
        try:
            readable, _, _ = select.select([notify, ended], [], [], TIMEOUT_S)
            if notify not in readable or b"READY=1" not in notify.recv(4096):
                self.proc.kill()
                self.proc.wait()
                raise AssertionError(f"{self.program} is not ready:\n{self.log()}")
        finally:
            os.close(ended)

    def stop(self, how=signal.SIGTERM):
        """A crash or a sanitizer's report is a failure of whatever test ran."""
        if self.proc.poll() is None:
            self.proc.send_signal(how)
        try:
            code = self.proc.wait(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as e:
            self.proc.kill()
            self.proc.wait()
            raise AssertionError(f"{self.program} does not stop:\n{self.log()}") from e
        wanted = -signal.SIGKILL if how == signal.SIGKILL else 0
        if code != wanted:
            raise AssertionError(f"{self.program} ended with {code}:\n{self.log()}")

    def log(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as f:
            return f.read()

    def wait_logged(self, pattern):
        """A daemon may log an event after clients can see the event."""
        wait_until(lambda: re.search(pattern, self.log()), f"{self.program} logs '{pattern}'")

    def resident_kib(self):
        with open(f"/proc/{self.proc.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))


class Case(unittest.TestCase):
    """A test with its own directory and processes, both gone afterwards."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="tw-")
        self.addCleanup(shutil.rmtree, self.dir)
        self.started = 0

    def path(self, *names):
        return os.path.join(self.dir, *names)

    def write(self, name, data):
        path = self.path(name)
        with open(path, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
        return path

    def start(self, program, *args):
        self.started += 1
        daemon = Daemon(self.path(f"{program}-{self.started}"), program, args)
        self.addCleanup(self.stop_once, daemon)
        return daemon

    @staticmethod
    def stop_once(daemon):
        if daemon.proc.returncode is None:
            daemon.stop()

    def start_http(self, program, *args):
        return self.start(program, "--listen", "127.0.0.1:0", *args)

    def tallywatt(self, *args, timeout=TIMEOUT_S, daemon=None):
        """Run a command that must succeed; its stdout. `daemon`: its log explains a failure."""
        done = run_tallywatt(*args, timeout=timeout)
        if done.returncode != 0:
            self.fail(f"{args}: {done.stderr.decode()}{daemon.log() if daemon else ''}")
        return done.stdout.decode()

    def refused(self, *args, codes=(1, 2)):
        """Run a command that must fail with one line on stderr; that line."""
        done = run_tallywatt(*args)
        self.assertIn(done.returncode, codes, f"{args}: {done.stderr.decode()}")
        lines = done.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, f"{args}: wanted one line, got {lines}")
        self.assertTrue(lines[0].strip())
        self.assertEqual(done.stdout, b"", f"{args}")
        return lines[0]


# ---- HTTP ------------------------------------------------------------------

class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    def json(self):
        return json.loads(self.body)


def call(daemon, method, path, body=None, headers=None):
    """One request to a daemon. A dict is sent as JSON."""
    host, port = daemon.address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT_S)
    if isinstance(body, (dict, list)):
        body = json.dumps(body)
        headers = {"Content-Type": "application/json", **(headers or {})}
    try:
        connection.request(method, path, body=body, headers=headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def health(daemon):
    """What a daemon says that is well. A collector is not while its ticks are late, as on a
    busy machine."""
    answers = []

    def well():
        answers.append(call(daemon, "GET", "/healthz"))
        return answers[-1].status == 200
    wait_until(well, "it is well")
    return answers[-1].json()


def raw_call(daemon, data):
    """Send bytes as they are and read the answer: for requests that http.client refuses."""
    host, port = daemon.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as s:
        s.sendall(data)
        response = http.client.HTTPResponse(s)
        response.begin()
        return Answer(response)


def huge_post(path):
    """A request that declares 1 GiB and sends nothing of it."""
    return (f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {1 << 30}\r\n\r\n").encode()


# ---- estimator -------------------------------------------------------------

def dial(path, patience_s=TIMEOUT_S):
    """A connection to a Unix socket. A full accept queue is waited for, as clients without
    a time limit do: Python's own limit would make it an error."""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO,
                     struct.pack("ll", int(patience_s), 0))
        s.connect(path)
    except OSError:
        s.close()
        raise
    s.settimeout(patience_s)
    return s


def ask_estimator(path, request, pieces=1):
    """As Kepler's client does: one connection, one write, one read of 4096 bytes.

    None where the estimator closes without an answer."""
    data = json.dumps(request).encode()
    with dial(path) as s:
        step = max(len(data) // pieces, 1)
        try:
            for i in range(0, len(data), step):
                s.sendall(data[i:i + step])
            answer = s.recv(4096)
        except (BrokenPipeError, ConnectionResetError):
            return None
    return json.loads(answer) if answer else None


def power_request(metrics, values, output_type="AbsPower", **more):
    return {"metrics": metrics, "values": values, "output_type": output_type,
            "source": "rapl-sysfs", "system_features": [], "system_values": [],
            "trainer_name": "", "filter": "", **more}


# ---- models ----------------------------------------------------------------

def linear_watts(all_weights, features):
    """What a client computes from linear weights: docs/wire.md, "Weights"."""
    weights = all_weights["All_Weights"]
    watts = weights["Bias_Weight"]
    for name, number in weights["Numerical_Variables"].items():
        if number["scale"]:
            watts += number["weight"] * features.get(name, 0.0) / number["scale"]
    return max(watts, 0.0)


LINEAR_TRAINERS = ("LinearRegressionTrainer", "SGDRegressorTrainer")


def built_trainers():
    """The trainers that this build has: without the XGBoost library, not all."""
    lines = run_tallywatt("trainers").stdout.decode().splitlines()
    return [line.split()[0] for line in lines if "not in this build" not in line]


def most_trainers():
    """The same; without the slow one where inputs are small."""
    return [t for t in built_trainers() if t != SLOW or not QUICK]


def train_generated(db, generation="0.7", name="simulated", trainers=LINEAR_TRAINERS,
                    more=()):
    """Train a pipeline from the generated response; without trainers, with all."""
    chosen = ("--trainers", ",".join(trainers)) if trainers else ()
    done = run_tallywatt("train", "--input", GENERATED[generation], "--name", name,
                         "--model-db", db, *chosen, *more)
    if done.returncode != 0:
        raise AssertionError(f"cannot train: {done.stderr.decode()}")
