# SPDX-License-Identifier: Apache-2.0
"""Several workers train one pipeline: as one process does, or not at all."""
import json
import os
import socket
import subprocess
import unittest
import zipfile

from harness import BIN, HERE, TIMEOUT_S, Case, built_trainers, need, wait_until
import generate_response as generator

SAMPLES, STEP_S = 40, 3
LINEAR = "LinearRegressionTrainer,SGDRegressorTrainer"
BOOSTED = "XgboostFitTrainer"
START_S = generator.START_S


def response_from(start_s, seed):
    """The response of a slice of time; counters begin anew in each."""
    generator.START_S = start_s
    try:
        machine = generator.Machine(4, SAMPLES, seed, 0.25, STEP_S, "simulated", False, None)
        return generator.to_text(generator.make_response(machine, "0.7"))
    finally:
        generator.START_S = START_S


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


class Workers(Case):
    @classmethod
    def setUpClass(cls):
        need("xgboost", BOOSTED in built_trainers())

    def setUp(self):
        super().setUp()
        self.slices = [self.write(f"slice-{i}.json",
                                  response_from(START_S + i * SAMPLES * STEP_S, i + 1))
                       for i in range(4)]
        self.port = free_port()

    def arguments(self, *more, inputs=None):
        return ("train", "--input", ",".join(inputs or self.slices), "--name", "one",
                "--source", "acpi", "--group", "CounterOnly", "--folds", "3", *more)

    def worker(self, rank, of, *more, inputs=None, env=None):
        args = [os.path.join(BIN, "tallywatt"), *self.arguments(*more, inputs=inputs),
                "--tracker", f"127.0.0.1:{self.port}"]
        if env is None:
            args += ["--workers", str(of), "--rank", str(rank)]
        proc = subprocess.Popen(args, cwd=HERE.name, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=dict(os.environ, **(env or {})))
        self.addCleanup(self.end, proc)
        return proc

    @staticmethod
    def end(proc):
        if proc.poll() is None:
            proc.kill()
        proc.communicate()

    def outcomes(self, procs):
        """Exit status, stdout, and the lines of stderr that are no progress."""
        results = []
        for p in procs:
            out, err = p.communicate(timeout=TIMEOUT_S)
            lines = [line for line in err.decode().splitlines()
                     if line.startswith("tallywatt train: ") and " fits, " not in line]
            results.append((p.returncode, out.decode(), lines))
        return results

    def models(self, path):
        """File name -> content, of the pipeline's zip, without zips in it."""
        with zipfile.ZipFile(path) as z:
            return {n: z.read(n).decode() for n in z.namelist() if not n.endswith(".zip")}

    def same(self, a, b, where):
        """Numbers are equal to 1e-9, all else is equal."""
        if isinstance(a, float) or isinstance(b, float):
            self.assertLessEqual(abs(a - b), 1e-9 * max(abs(a), 1e-3), where)
        elif isinstance(a, dict):
            self.assertEqual(a.keys(), b.keys(), where)
            for key, v in a.items():
                self.same(v, b[key], f"{where}: {key}")
        elif isinstance(a, list):
            self.assertEqual(len(a), len(b), where)
            for i, v in enumerate(a):
                self.same(v, b[i], f"{where}: {i}")
        else:
            self.assertEqual(a, b, where)

    def same_files(self, one, many):
        self.assertEqual(one.keys(), many.keys())
        for name, text in one.items():
            if BOOSTED in name or name.endswith("metadata.csv"):
                continue
            if name.endswith(".json"):
                self.same(json.loads(text), json.loads(many[name]), name)
            elif name.endswith(".csv"):
                self.same([[number(c) for c in line.split(",")] for line in
                           text.splitlines()],
                          [[number(c) for c in line.split(",")] for line in
                           many[name].splitlines()], name)
            else:
                self.assertEqual(text, many[name], name)

    def test_three_workers_make_the_pipeline_of_one_process(self):
        trainers = ("--abs-trainers", f"{LINEAR},{BOOSTED}", "--dyn-trainers", LINEAR)
        self.tallywatt(*self.arguments("--output", self.path("one.zip"), *trainers))
        procs = [self.worker(rank, 3, "--output", self.path(f"by-{rank}.zip"), *trainers)
                 for rank in (1, 2)]
        # A stranger at the tracker's port does not stop the workers.
        procs.insert(0, self.worker(0, 3, "--output", self.path("by-0.zip"), *trainers))
        wait_until(self.is_listening, "the tracker listens")
        for noise in (b"GET / HTTP/1.0\r\n\r\n", b""):
            with socket.create_connection(("127.0.0.1", self.port)) as s:
                s.sendall(noise)
        for code, out, lines in self.outcomes(procs):
            self.assertEqual((code, lines), (0, []), out)
        self.assertTrue(os.path.exists(self.path("by-0.zip")))
        self.assertFalse(os.path.exists(self.path("by-1.zip")), "worker 0 alone publishes")
        one, many = self.models(self.path("one.zip")), self.models(self.path("by-0.zip"))
        self.same_files(one, many)
        name = next(n for n in one if BOOSTED in n and n.endswith("/metadata.json"))
        exact, boosted = json.loads(one[name]), json.loads(many[name])
        self.assertEqual(exact["data_rows"], boosted["data_rows"])
        # So few rows have splits of their own in exact trees.
        self.assertLess(boosted["mae"], 1.5 * exact["mae"])

    def is_listening(self):
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def test_the_environment_of_an_engine_says_which_worker_this_is(self):
        trainers = ("--trainers", "LinearRegressionTrainer")
        engines = ({"SLURM_PROCID": "0", "SLURM_NTASKS": "2"},
                   {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"})
        procs = [self.worker(None, None, "--output", self.path(f"{i}.zip"), *trainers,
                             env=env) for i, env in enumerate(engines)]
        for code, _, lines in self.outcomes(procs):
            self.assertEqual((code, lines), (0, []))
        self.assertTrue(os.path.exists(self.path("0.zip")))

    def test_a_worker_that_is_killed_ends_all_and_nothing_is_published(self):
        for victim in (0, 2):
            self.port = free_port()
            out = self.path(f"killed-{victim}.zip")
            # Many trees: none is done before the kill.
            procs = [self.worker(rank, 3, "--output", out, "--folds", "10", "--trainers",
                                 BOOSTED, "--worker-wait", "60") for rank in range(3)]
            wait_until(lambda: all(self.links(p.pid) >= 2 for p in procs),
                       "the workers are linked, or about to be")
            procs[victim].kill()
            for rank, (code, _, lines) in enumerate(self.outcomes(procs)):
                if rank != victim:
                    self.assertEqual(code, 1, lines)
                    self.assertEqual(len(lines), 1, lines)
                    self.assertRegex(lines[0], r"\bleft\b")
            self.assertFalse(os.path.exists(out))

    def test_workers_that_wait_for_another_learn_of_the_end_of_a_third(self):
        out, pipe = self.path("waits.zip"), self.path("pipe.json")
        os.mkfifo(pipe)
        inputs = [self.slices[0], pipe, *self.slices[2:]]
        procs = [self.worker(rank, 4, "--output", out, inputs=inputs) for rank in range(4)]

        def is_read():
            """Worker 1 opens its input once all are linked. The pipe then stays open."""
            try:
                self.addCleanup(os.close, os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                return True
            except OSError:
                return False

        wait_until(is_read, "worker 1 reads its input")
        # Worker 3 waits for worker 1, its parent, and has no sum to take from worker 2.
        procs[2].kill()
        for code, _, lines in self.outcomes([procs[0], procs[1], procs[3]]):
            # By the tracker, or by a connection between workers.
            self.assertEqual((code, len(lines)), (1, 1), lines)
            self.assertIn(": a worker has left", lines[0])
        self.assertFalse(os.path.exists(out))

    @staticmethod
    def links(pid):
        """The number of sockets of a process."""
        count = 0
        for fd in os.listdir(f"/proc/{pid}/fd"):
            try:
                count += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
            except FileNotFoundError:
                pass
        return count

    def test_wrong_use_is_refused(self):
        place = ("--tracker", f"127.0.0.1:{self.port}")
        for args, why in (
                (("--workers", "2"), "need --tracker"),
                ((*place, "--rank", "0"), "--workers is missing"),
                ((*place, "--workers", "2"), "--rank is missing"),
                ((*place, "--workers", "2", "--rank", "2"), "rank '2'"),
                ((*place, "--workers", "8", "--rank", "0"), "4 inputs for 8 workers"),
                (("--tracker", "nowhere", "--workers", "2", "--rank", "0"),
                 "want HOST:PORT"),
                (("--tracker", 'a":1', "--workers", "2", "--rank", "0"), "want HOST:PORT"),
                ((*place, "--workers", "2", "--rank", "0", "--keep-until", "mae:1"),
                 "not with --csv")):
            self.assertIn(why, self.refused(*self.arguments(*args)), args)

    def test_faults_are_the_failure_of_all(self):
        def fail(*more, inputs=None, ranks=(0, 1)):
            self.port = free_port()
            procs = [self.worker(r, 2, "--output", self.path("x.zip"), *more,
                                 inputs=inputs) for r in ranks]
            failures = []
            for code, _, lines in self.outcomes(procs):
                self.assertEqual((code, len(lines)), (1, 1), lines)
                failures.append(lines[0])
            self.assertFalse(os.path.exists(self.path("x.zip")))
            return failures

        linear = ("--trainers", "LinearRegressionTrainer")
        # A trainer that needs all rows.
        for line in fail("--trainers", "KNeighborsRegressorTrainer"):
            self.assertIn("KNeighborsRegressorTrainer needs all rows in one process", line)
        # Slices that are not in order of time.
        for line in fail(*linear, inputs=self.slices[::-1]):
            self.assertIn("give the inputs in order of time", line)
        # An input that only worker 1 reads, and cannot.
        gone = [*self.slices[:2], self.path("gone.json")]
        for line in fail(*linear, inputs=gone):
            self.assertIn("worker 1: ", line)
            self.assertIn("gone.json", line)
        # A worker that does not come.
        line, = fail(*linear, "--worker-wait", "1", ranks=(0,))
        self.assertIn("1 of 2 workers came in time", line)
        line, = fail(*linear, "--worker-wait", "1", ranks=(1,))
        self.assertIn("is worker 0 running there?", line)


def number(text):
    try:
        return float(text)
    except ValueError:
        return text


if __name__ == "__main__":
    unittest.main()
