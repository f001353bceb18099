# SPDX-License-Identifier: Apache-2.0
"""Services with a meter that follows a law of their work, for bench_unit.py.

The meter counts the units that the service's clients got. What is exported are the service's
own counters, as it tells them: of Nginx its log, of PostgreSQL pg_stat_database, of the token
loop vLLM's names.
"""
import glob
import http.client
import math
import os
import random
import re
import shutil
import subprocess
import threading
import time

TICK_S = 0.05
PROGRESS = re.compile(r"^progress: ([\d.]+) s, ([\d.]+) tps")
PROCESSED = re.compile(r"number of transactions actually processed: (\d+)")


class Service:
    """`law`: J of a unit of each kind; `rates`: units a second, about."""

    rates = {}
    block = "8s"

    def __init__(self, rng, standing_w, law):
        self.rng, self.standing_w, self.law = rng, standing_w, law
        self.done = dict.fromkeys(law, 0)
        self.joules, self.noise_w = 0.0, 0.0
        self.metered = dict(self.done)
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.threads = []

    def start(self):
        for work in (self.meter, *self.drivers()):
            thread = threading.Thread(target=work, daemon=True)
            thread.start()
            self.threads.append(thread)

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(20)

    def count(self, kind, units=1):
        with self.lock:
            self.done[kind] += units

    def meter(self):
        """Standing power, the law, and other power that lasts for seconds."""
        before = time.monotonic()
        while not self.stopping.wait(TICK_S):
            now = time.monotonic()
            keep = math.exp(-(now - before) / 5)
            self.noise_w = keep * self.noise_w + \
                math.sqrt(1 - keep * keep) * self.rng.gauss(0, 0.02 * self.standing_w)
            with self.lock:
                done = dict(self.done)
            self.joules += (self.standing_w + self.noise_w) * (now - before) + sum(
                j * (done[kind] - self.metered[kind]) for kind, j in self.law.items())
            self.metered, before = done, now

    def stages(self, kind):
        """(units a second, seconds), while the service runs."""
        while not self.stopping.is_set():
            rate = self.rates[kind] * self.rng.choice([0, 0.2, 0.5, 1, 1.5, 2])
            yield rate, self.rng.randrange(4, 12)


class Nginx(Service):
    """Two routes of files of 200 bytes and of 100 KiB."""

    name, rates = "nginx.service", {"/page": 60, "/file": 30}

    def __init__(self, rng, folder, port):
        super().__init__(rng, rng.uniform(3, 8), {"/page": rng.uniform(0.01, 0.03),
                                                  "/file": rng.uniform(0.05, 0.15)})
        self.folder, self.port, self.read, self.lines = folder, port, 0, dict.fromkeys(self.law, 0)
        os.makedirs(os.path.join(folder, "www"))
        os.chmod(folder, 0o755)
        for name, size in (("page", 200), ("file", 100 << 10)):
            with open(os.path.join(folder, "www", name), "wb") as f:
                f.write(b"x" * size)
        with open(os.path.join(folder, "nginx.conf"), "w", encoding="ascii") as f:
            f.write(f"daemon off; worker_processes 1; pid {folder}/pid;\n"
                    f"error_log {folder}/error.log;\nevents {{}}\nhttp {{\n"
                    f"  log_format uri '$uri'; access_log {folder}/access.log uri;\n"
                    + "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in (
                        "client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                    + f"  keepalive_requests 100000;\n"
                      f"  server {{ listen 127.0.0.1:{port}; root {folder}/www; }}\n}}\n")
        self.process = subprocess.Popen(
            ["nginx", "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"])

    def drivers(self):
        return [lambda kind=kind: self.drive(kind) for kind in self.law]

    def drive(self, kind):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        for rate, seconds in self.stages(kind):
            until, due = time.monotonic() + seconds, 0.0
            while (now := time.monotonic()) < until and not self.stopping.wait(0.02):
                due += rate * 0.02 * self.rng.random() * 2
                for _ in range(int(due)):
                    client.request("GET", kind)
                    client.getresponse().read()
                    self.count(kind)
                due -= int(due)

    def counters(self):
        with open(os.path.join(self.folder, "access.log"), "rb") as f:
            f.seek(self.read)
            text = f.read()
            self.read += len(text)
        for line in text.decode().split():
            self.lines[line] += 1
        return {f'nginx_http_response_count_total{{request_uri="{kind}"}}': n
                for kind, n in self.lines.items()}

    work = {kind: f'nginx_http_response_count_total{{request_uri="{kind}"}}' for kind in rates}

    def stop(self):
        super().stop()
        self.process.terminate()
        self.process.wait(20)


class Postgres(Service):
    """pgbench with two statements, on a database each. A backend tells its statistics once in a
    second, and pgbench its transactions."""

    block = "12s"

    name, rates = "postgresql.service", {"light": 80, "heavy": 15}
    work = {kind: f'pg_stat_database_xact_commit{{datname="{kind}"}}' for kind in rates}
    rows = {"light": 10, "heavy": 5000}

    def __init__(self, rng, folder):
        super().__init__(rng, rng.uniform(4, 9), {"light": rng.uniform(0.05, 0.1),
                                                  "heavy": rng.uniform(0.1, 0.4)})
        self.folder = folder
        self.as_user = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        self.bin = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        os.makedirs(folder)
        if self.as_user:
            shutil.chown(folder, "postgres", "postgres")
        self.run(f"{self.bin}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres",
                 "--no-sync")
        self.process = subprocess.Popen(
            [f"{self.bin}/postgres", "-D", f"{folder}/data", "-k", folder,
             "-c", "listen_addresses=", "-c", "fsync=off", "-c", "autovacuum=off"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.as_user)
        while not os.path.exists(f"{folder}/.s.PGSQL.5432"):
            if self.process.poll() is not None:
                raise OSError("postgres ended")
            time.sleep(0.1)
        while subprocess.run(["pg_isready", "-q", "-h", folder], check=False).returncode != 0:
            time.sleep(0.1)
        for kind, rows in self.rows.items():
            self.run("createdb", "-h", folder, "-U", "postgres", kind)
            # A statement that reads no table leaves the statistics to the end of its session.
            self.run("psql", "-h", folder, "-U", "postgres", "-c",
                     f"CREATE TABLE t AS SELECT g FROM generate_series(1, {rows}) g", kind)
            with open(f"{folder}/{kind}.sql", "w", encoding="ascii") as f:
                f.write("SELECT sum(g) FROM t;\n")
        self.psql = subprocess.Popen(["psql", "-h", folder, "-U", "postgres", "-qAt"], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, *command):
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL,
                       **self.as_user)

    def drivers(self):
        return [lambda kind=kind: self.drive(kind) for kind in self.law]

    def drive(self, kind):
        for rate, seconds in self.stages(kind):
            if rate == 0:
                self.stopping.wait(seconds)
                continue
            with subprocess.Popen(
                    ["pgbench", "-n", "-h", self.folder, "-U", "postgres", "-f",
                     f"{self.folder}/{kind}.sql", "-R", str(rate), "-T", str(seconds), "-P", "1",
                     kind], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as bench:
                told, before_s = 0, 0.0
                for line in bench.stderr:
                    if progress := PROGRESS.match(line):
                        units = round(float(progress[2]) * (float(progress[1]) - before_s))
                        before_s, told = float(progress[1]), told + units
                        self.count(kind, units)
                self.count(kind, int(PROCESSED.search(bench.stdout.read())[1]) - told)

    def counters(self):
        self.psql.stdin.write("SELECT datname, xact_commit FROM pg_stat_database "
                              "WHERE datname IN ('light', 'heavy');\n")
        self.psql.stdin.flush()
        rows = dict(self.psql.stdout.readline().strip().split("|") for _ in self.law)
        return {self.work[kind]: rows[kind] for kind in self.law}

    def stop(self):
        super().stop()
        self.psql.stdin.close()
        self.psql.wait(20)
        self.psql.stdout.close()
        self.process.terminate()
        self.process.wait(20)


class TokenLoop(Service):
    """A loop as of an inference server: prompts in chunks, then a token of each sequence in a
    step. A prompt is counted when it is done, as vLLM does."""

    name, rates = "vllm.service", {"prefill": 3, "decode": 0}
    work = {"prefill": "vllm:prompt_tokens_total", "decode": "vllm:generation_tokens_total"}
    STEP_S, CHUNK, BATCH = 0.02, 256, 16

    def __init__(self, rng):
        super().__init__(rng, rng.uniform(40, 90), {"prefill": rng.uniform(0.01, 0.04),
                                                    "decode": rng.uniform(0.3, 0.9)})
        self.prompts_done = 0
        self.waiting, self.sequences = [], []

    def drivers(self):
        return [self.arrive, self.loop]

    def arrive(self):
        for rate, seconds in self.stages("prefill"):
            until, long_prompts = time.monotonic() + seconds, self.rng.random() < 0.5
            while time.monotonic() < until and not self.stopping.wait(
                    self.rng.expovariate(rate) if rate else 0.2):
                if rate:
                    self.waiting.append([self.rng.randrange(300, 1500) if long_prompts else 60,
                                         self.rng.randrange(5, 60 if long_prompts else 150)])

    def loop(self):
        prompt = None
        while not self.stopping.wait(self.STEP_S):
            if prompt is None and self.waiting and len(self.sequences) < self.BATCH:
                prompt = [*self.waiting.pop(0), 0]
            if prompt:
                chunk = min(self.CHUNK, prompt[0] - prompt[2])
                prompt[2] += chunk
                self.count("prefill", chunk)
                if prompt[2] == prompt[0]:
                    self.prompts_done += prompt[0]
                    self.sequences.append(prompt[1])
                    prompt = None
            self.count("decode", len(self.sequences))
            self.sequences = [left - 1 for left in self.sequences if left > 1]

    def counters(self):
        return {self.work["prefill"]: self.prompts_done, self.work["decode"]: self.done["decode"]}
