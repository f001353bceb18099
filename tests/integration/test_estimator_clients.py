# SPDX-License-Identifier: Apache-2.0
"""tw-estimator and clients of every kind: wrong, slow, many, and those who may not ask."""
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
import unittest

from harness import (BIN, COUNTER_ONLY, TIMEOUT_S, Case, ask_estimator, dial, need,
                     power_request, sanitized, train_generated)

ROW = [3.1e6, 2.5e9, 1.7e9]
GOOD = power_request(COUNTER_ONLY, [ROW])
NOBODY = 65534

# Each value in the place of each key: none of them may be answered with watts or hurt.
WRONG = [None, True, 0, -1, 1e308, "", "x", "\u0000", "\ud800", [], [[]], [[1]], [None],
         [[None] * 3], [["1", 2, 3]], [[1, 2, 3], [1, 2]], {}, {"a": {"b": []}}, ["a", "a"],
         ["x" * 200], ["cpu_cycles"] * 300, [[1e999] * 3]]
RAW = [b"", b" ", b"{", b"}", b"[]", b"1", b'"x"', b"null", b"{}", b"{}{}", b'{"metrics"',
       b'{"metrics":[NaN]}', b'{"values":[[NaN,1,2]]}', b'{"values":[[1e999,1,2]]}',
       b'{"values":[[01,1,2]]}', b'{"x":"\xff\xfe"}', b'{"x":"\\ud800"}', b'{"x":"\x01"}',
       b'{"metrics":["a"],"metrics":["a"]}', b'{"a":' * 100, b"[" * 100, b"\x00" * 100,
       b"\xef\xbb\xbf{}", b"GET / HTTP/1.1\r\n\r\n", b'{"values":' + b"9" * 5000 + b"}",
       b'{"x":"' + b"y" * 70000 + b'"}', b'{"output_type":"' + b"A" * 2000 + b'"}']


class Clients(Case):
    @classmethod
    def setUpClass(cls):
        cls.db = tempfile.mkdtemp(prefix="tw-db-")
        cls.addClassCleanup(shutil.rmtree, cls.db)
        os.chmod(cls.db, 0o755)
        train_generated(cls.db, trainers=("SGDRegressorTrainer",))

    def setUp(self):
        super().setUp()
        self.socket = self.path("s")
        self.estimator = None

    def start_estimator(self, *args):
        self.estimator = self.start("tw-estimator", "--socket", self.socket, "--model-db",
                                    self.db, "--shipped-models", "", *args)
        self.powers = ask_estimator(self.socket, GOOD)["powers"]

    def still_answers(self):
        self.assertEqual(ask_estimator(self.socket, GOOD)["powers"], self.powers)

    def dial(self):
        s = dial(self.socket)
        self.addCleanup(s.close)
        return s

    def send_and_read(self, data):
        """What comes back until the end; our side says that there is no more."""
        with self.dial() as s:
            got = b""
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(65536):
                    got += more
            except (BrokenPipeError, ConnectionResetError):
                pass
            return got

    # ---- wrong -----------------------------------------------------------------

    def test_every_field_wrong_in_every_way_is_closed_or_answered_whole(self):
        self.start_estimator()
        begun = time.monotonic()
        series = dict(GOOD, version=2, time_ms=[1000], series="a", components=["package"])
        for good, key, value in ((g, k, v) for g in (GOOD, series) for k in g for v in WRONG):
            request = dict(good, **{key: value})
            text = json.dumps(request, ensure_ascii=True).replace("Infinity", "1e999")
            got = self.send_and_read(text.encode())
            if got:
                for powers in json.loads(got)["powers"].values():
                    self.assertEqual(len(powers), len(request["values"]), text)
        for data in RAW:
            self.assertEqual(self.send_and_read(data), b"", data[:60])
        self.still_answers()
        seconds = time.monotonic() - begun
        lines = [line for line in self.estimator.log().splitlines() if "level=warn" in line]
        # One a second for each of the threads that log.
        self.assertLessEqual(len(lines), 2 * (int(seconds) + 2), "\n".join(lines))
        self.assertTrue(any("request refused: " in line for line in lines))

    def test_missing_keys_are_closed(self):
        self.start_estimator()
        for key in ("metrics", "values", "output_type"):
            request = {k: v for k, v in GOOD.items() if k != key}
            self.assertIsNone(ask_estimator(self.socket, request), key)
        for key in ("source", "system_features", "trainer_name", "filter"):
            request = {k: v for k, v in GOOD.items()
                       if k != key and (key, k) != ("system_features", "system_values")}
            self.assertEqual(ask_estimator(self.socket, request)["powers"], self.powers, key)

    def test_ten_megabytes_of_brackets_are_not_read_to_their_end(self):
        self.start_estimator()
        before = self.estimator.resident_kib()
        with self.dial() as s:
            sent = 0
            try:
                while sent < 10_000_000:
                    sent += s.send(b"[" * 65536)
            except (BrokenPipeError, ConnectionResetError):
                pass
        self.assertLess(sent, 10_000_000)
        self.still_answers()
        self.grown_little(before, 2048)

    def switches(self):
        """How often its threads have gone to sleep or were put to sleep, all together."""
        pid, total = self.estimator.proc.pid, 0
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/status", encoding="ascii") as f:
                total += sum(int(line.split()[1]) for line in f if "ctxt_switches" in line)
        return total

    def test_without_work_no_thread_wakes(self):
        self.start_estimator()
        with open(os.path.join(BIN, "tw-estimator"), "rb") as f:
            need("no thread of ThreadSanitizer", b"__tsan_init" not in f.read())
        with self.dial():
            self.still_answers()
            until = time.monotonic() + TIMEOUT_S
            rest = -1
            while (now := self.switches()) != rest:
                self.assertLess(time.monotonic(), until, "it does not come to rest")
                rest = now
                time.sleep(0.3)
            time.sleep(1.5)
            self.assertEqual(self.switches(), rest)

    # ---- slow and many ---------------------------------------------------------

    def test_a_byte_now_and_then_is_no_request(self):
        self.start_estimator("--request-timeout", "300ms")
        data = json.dumps(GOOD).encode()
        with self.dial() as s:
            sent = 0
            try:
                while sent < len(data):
                    s.sendall(data[sent:sent + 1])
                    sent += 1
                    s.settimeout(0.05)
                    try:
                        if s.recv(1) == b"":
                            break
                    except socket.timeout:
                        pass
            except (BrokenPipeError, ConnectionResetError):
                pass
            self.assertLess(sent, len(data))
        self.estimator.wait_logged("incomplete after")
        self.still_answers()

    def test_a_client_that_never_reads_costs_the_memory_of_one_answer(self):
        self.start_estimator()
        before = self.estimator.resident_kib()
        many = json.dumps(power_request(COUNTER_ONLY, [ROW] * 500)).encode()
        for _ in range(4):
            s = self.dial()
            s.setblocking(False)
            try:
                for _ in range(1000):
                    s.send(many)
            except BlockingIOError:
                pass
        self.still_answers()
        self.grown_little(before)

    def grown_little(self, before_kib, most_kib=4096):
        """A sanitizer keeps for long what was freed."""
        if not sanitized("tw-estimator"):
            self.assertLess(self.estimator.resident_kib() - before_kib, most_kib)

    def test_ten_thousand_connects_and_two_hundred_at_once(self):
        self.start_estimator()
        before = self.estimator.resident_kib()
        for i in range(10000):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                # Without a time limit: with one, a full queue would be an error.
                s.connect(self.socket)
                if i % 1000 == 0:
                    s.sendall(b'{"metrics":["cpu_')
        data = json.dumps(GOOD).encode()
        at_once = [self.dial() for _ in range(200)]
        for s in at_once:
            s.sendall(data)
        for s in at_once:
            self.assertEqual(json.loads(s.recv(4096))["powers"], self.powers)
        for s in at_once:
            s.close()
        self.still_answers()
        self.grown_little(before)

    # ---- who may ---------------------------------------------------------------

    def test_mode_and_owner_of_the_socket_follow_the_options(self):
        root = os.geteuid() == 0
        owner = ("--socket-owner", f"{NOBODY}:{NOBODY}") if root else ()
        self.start_estimator("--socket-mode", "0620", *owner)
        st = os.stat(self.socket)
        self.assertEqual(stat.S_IMODE(st.st_mode), 0o620)
        if root:
            self.assertEqual((st.st_uid, st.st_gid), (NOBODY, NOBODY))

    def ask_as(self, user):
        """The answer's length that another user's process gets."""
        code = ("import os,socket,sys;os.setuid(int(sys.argv[1]));"
                "s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[2]);"
                "s.sendall(sys.argv[3].encode());print(len(s.recv(4096)))")
        done = subprocess.run([sys.executable, "-c", code, str(user), self.socket,
                               json.dumps(GOOD)], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        return int(done.stdout) if done.returncode == 0 else 0

    def test_only_listed_users_are_answered(self):
        if os.geteuid() != 0:
            self.skipTest("SKIPPED: other users: root only")
        os.chmod(self.dir, 0o755)
        self.start_estimator("--socket-mode", "0666", "--allow-users", f"root,{NOBODY}")
        self.assertGreater(self.ask_as(NOBODY), 0)
        self.assertEqual(self.ask_as(NOBODY - 1), 0)
        self.estimator.wait_logged(f"user {NOBODY - 1}, process ")

    def test_a_socket_that_systemd_passes_is_used_and_its_file_left(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(self.socket)
            listener.listen(16)
            log = self.path("log")
            with open(log, "wb") as out:
                child = subprocess.Popen(
                    ["/bin/sh", "-c", 'exec 3<&"$1"; shift; LISTEN_PID=$$ LISTEN_FDS=1 '
                     'exec "$@"', "sh", str(listener.fileno()),
                     os.path.join(BIN, "tw-estimator"), "--model-db", self.db,
                     "--shipped-models", "", "--socket", self.path("unused")],
                    pass_fds=(listener.fileno(),), stdout=out, stderr=out)
        # The request is there before the program is.
        answer = ask_estimator(self.socket, GOOD)
        self.assertTrue(answer["powers"]["package"])
        child.terminate()
        self.assertEqual(child.wait(timeout=TIMEOUT_S), 0)
        self.assertTrue(os.path.exists(self.socket))
        self.assertFalse(os.path.exists(self.path("unused")))
        with open(log, encoding="utf-8") as f:
            self.assertIn("1 sockets passed by systemd", f.read())

    def test_an_unknown_user_is_wrong_use(self):
        for option, value, said in (("--allow-users", "no such", "--allow-users: user"),
                                    ("--socket-owner", "root:no", "--socket-owner: group"),
                                    ("--request-timeout", "0", "--request-timeout: '0': want 1ms or more")):
            done = subprocess.run([os.path.join(BIN, "tw-estimator"), option, value],
                                  check=False, stderr=subprocess.PIPE, text=True,
                                  timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, "^tw-estimator: " + re.escape(said))


if __name__ == "__main__":
    unittest.main()
