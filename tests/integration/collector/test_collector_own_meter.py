# SPDX-License-Identifier: Apache-2.0
"""A meter of the user's own: a command, a file, a Prometheus server. What it says becomes
energy; what it must not do is an error of one line, and ends with tw-collector."""
import http.server
import json
import os
import signal
import sys
import time
import unittest
from urllib.parse import parse_qs, urlparse

import answering
from harness import children, need, sanitized, wait_until
from metered import Metered


class OwnMeter(Metered):
    def meter(self, *args):
        return self.collect("--meter-interval", "100ms", *args)

    def script(self, name, text):
        path = self.write(name, f"#!{sys.executable} -S\nimport os, sys, time\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def of_meter(self, daemon, metric, source="command"):
        return [(has, value) for name, has, value in self.samples(daemon)
                if name == metric and has["source"] == source]

    def watts(self, daemon, source="command", zone="platform"):
        found = [value for has, value in
                 self.of_meter(daemon, "tallywatt_node_power_watts", source)
                 if has["zone"] == zone]
        return found[0] if found else None

    def reason(self, daemon, source="command"):
        return self.of_meter(daemon, "tallywatt_meter_up", source)[0][0]["reason"]

    def wait_watts(self, daemon, watts, *args):
        wait_until(lambda: self.watts(daemon, *args) is not None and
                   abs(self.watts(daemon, *args) - watts) < 0.001,
                   f"{watts} W, not {self.watts(daemon, *args)}")

    def wait_reason(self, daemon, why, *args):
        wait_until(lambda: why in self.reason(daemon, *args),
                   f"{why}, not {self.reason(daemon, *args)}")

    @staticmethod
    def below(pid):
        """The processes that a process has started, and theirs."""
        found = []
        for child in children(pid):
            found += [child, *OwnMeter.below(child)]
        return found


class Command(OwnMeter):
    def test_its_values_are_power_of_a_named_source(self):
        path = self.script("meter", "while True: print(42.5, flush=True); time.sleep(0.05)")
        daemon = self.meter("--meter-command", path, "--meter-source", "rack-7.pdu",
                            "--meter-zone", "package", "--meter-window", "5s",
                            "--compat", "kepler")
        self.wait_watts(daemon, 42.5, "rack-7.pdu", "package")
        (has, _), = self.of_meter(daemon, "tallywatt_meter_info", "rack-7.pdu")
        self.assertEqual((has["path"], has["reports"], has["window_seconds"]), (path, "power", "5"))
        before = self.node_joules(daemon)
        wait_until(lambda: self.node_joules(daemon) > before, "energy grows")

    def test_a_killed_one_is_started_again_and_all_end_with_the_collector(self):
        # A process that leaves its group, and one that ignores signals.
        path = self.script("meter", """
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), file=open(os.environ["TW_TEST_PID"], "w"))
while os.path.exists(os.environ["TW_TEST_PID"] + ".wait"): time.sleep(0.01)
while True: print(7, flush=True); time.sleep(0.05)""")
        os.environ["TW_TEST_PID"] = self.path("pid")
        self.addCleanup(os.environ.pop, "TW_TEST_PID")
        daemon = self.meter("--meter-command", path)
        self.wait_watts(daemon, 7)
        first = self.below(daemon.proc.pid)
        self.write("pid.wait", "")  # the next one, until the reason has been seen
        with open(self.path("pid"), encoding="ascii") as f:
            os.kill(int(f.read()), signal.SIGKILL)
        self.wait_reason(daemon, "the command died of signal 9")
        os.remove(self.path("pid.wait"))
        self.wait_watts(daemon, 7)
        pids = first + self.below(daemon.proc.pid)
        daemon.stop()
        wait_until(lambda: not [p for p in pids if os.path.exists(f"/proc/{p}")],
                   "no process is left")

    def test_they_end_with_a_killed_collector(self):
        path = self.script("meter", "while True: print(7, flush=True); time.sleep(0.05)")
        daemon = self.meter("--meter-command", path)
        self.wait_watts(daemon, 7)
        pids = self.below(daemon.proc.pid)
        self.assertGreaterEqual(len(pids), 4)
        daemon.stop(signal.SIGKILL)
        wait_until(lambda: not [p for p in pids if os.path.exists(f"/proc/{p}")],
                   "no process is left")

    def test_one_that_ends_after_a_value_is_asked_again(self):
        self.write("value", "5\n")
        daemon = self.meter("--meter-command", f"cat {self.path('value')}")
        self.wait_watts(daemon, 5)
        self.exchange("value", "6\n")
        self.wait_watts(daemon, 6)

    def test_hostile_output_is_an_error_of_one_line(self):
        cases = (("print('x', flush=True); time.sleep(99)", "line 1 of the command: 'x' is not a number"),
                 ("print('nan', flush=True); time.sleep(99)", "'nan' is not a number"),
                 ("print(-5, flush=True); time.sleep(99)", "'-5' is below 0"),
                 ("print(0, flush=True); time.sleep(99)", "it reports 0 W"),
                 ("print('9' * 300, flush=True); time.sleep(99)", "longer than 256 bytes"),
                 ("os.write(1, bytes(range(256))); time.sleep(99)", "is not a number"),
                 ("while True: print(8)", "printed more than 65536 bytes in a second"),
                 ("while True: os.write(1, b'8' * 4096)", "printed more than 65536 bytes"),
                 ("sys.exit('no such\\x1b[31m device')", "exited with 1: no such?[31m device"),
                 ("pass", "ended without a value"))
        paths = [self.script(f"meter-{i}", text) for i, (text, _) in enumerate(cases)]
        daemons = [self.meter("--meter-command", path) for path in paths]
        for daemon, (_, why) in zip(daemons, cases):
            self.wait_reason(daemon, why)
            self.assertIsNone(self.watts(daemon))
            self.assertGreater(self.joules(daemon, "tallywatt_collector_ticks_total"), 0)
        self.assertIn("no such", daemons[8].log())
        self.assertNotIn("\x1b", daemons[8].log())

    def test_one_that_hangs_is_started_again(self):
        path = self.script("meter", f"""
hang, was = {self.path('hang')!r}, {self.path('was')!r}
if os.path.exists(was):
    while os.path.exists(hang): time.sleep(0.01)
    while True: print(6, flush=True); time.sleep(0.05)
open(was, "w")
while not os.path.exists(hang): print(5, flush=True); time.sleep(0.05)
time.sleep(99)""")
        daemon = self.meter("--meter-command", path)
        self.wait_watts(daemon, 5)
        self.write("hang", "")
        self.wait_reason(daemon, "no answer for too long")
        os.remove(self.path("hang"))
        self.wait_watts(daemon, 6)

    def test_it_is_not_root(self):
        need("root", os.geteuid() == 0)
        for more, watts in (([], 65534), (["--meter-user", "root"], 1)):
            daemon = self.start_http("tw-collector", "--interval", "100ms", "--bpf", "off",
                                     *(["--filter=no"] if sanitized() else []),
                                     "--meter-unit", "mW", "--meter-interval", "100ms",
                                     "--meter-command", "sh -c 'u=$(id -u); echo $((u ? u : 1))'",
                                     *more)
            self.wait_watts(daemon, watts / 1000)

    def test_wrong_use_is_found_at_the_start(self):
        for args, why in ((["--meter-command", "cat x | head"], "needs a shell"),
                          (["--meter-command", "no-such-program"], "no program"),
                          (["--meter-command", "cat", "--meter-file", "x"], "choose one"),
                          (["--meter-prometheus", "http://x"], "needs --query"),
                          (["--meter-prometheus", "x", "--query", "y"], "want http"),
                          (["--query", "y"], "for --meter-prometheus"),
                          (["--meter-file", "x", "--meter-source", "redfish"], "another meter"),
                          (["--meter-file", "x", "--meter-source", "my-rapl"], "rapl"),
                          (["--meter-file", "x", "--meter-unit", "V"], "--meter-unit"),
                          (["--meter-file", "x", "--meter-zone", "sofa"], "--meter-zone"),
                          (["--meter-file", "x", "--meter-interval", "99ms"], "100ms to 1h"),
                          (["--meter-file", "x", "--meter-window", "61m"], "at most 1h")):
            self.assertIn(why, self.refused("probe", *args, codes=(2,)))


class File(OwnMeter):
    def joules_of(self, daemon):
        return self.joules(daemon, "tallywatt_node_energy_joules_total", source="file")

    def test_a_counter_s_growth_is_the_energy_across_gaps_and_falls(self):
        self.exchange("value", "1000\n")
        daemon = self.meter("--meter-file", self.path("value"), "--meter-unit", "J",
                            "--meter-window", "10m")
        self.wait_reason(daemon, "its counter has not moved yet", "file")
        self.exchange("value", "1003.5\n")
        wait_until(lambda: abs(self.joules_of(daemon) - 3.5) < 1e-6, "3.5 J")
        os.rename(self.path("value"), self.path("away"))
        self.wait_reason(daemon, "No such file", "file")
        self.write("away", "1010\n")
        os.rename(self.path("away"), self.path("value"))
        wait_until(lambda: abs(self.joules_of(daemon) - 10) < 1e-6, "the energy of the gap")
        self.exchange("value", "200\n")
        wait_until(lambda: self.joules(daemon, "tallywatt_meter_resets_total") == 1, "a reset")
        self.exchange("value", "201\n")
        wait_until(lambda: abs(self.joules_of(daemon) - 11) < 1e-6, "11 J")

    def test_a_value_that_nobody_writes_any_more_is_no_value(self):
        path = self.write("value", "12\n")
        daemon = self.meter("--meter-file", path)
        self.wait_watts(daemon, 12, "file")
        os.utime(path, (time.time() - 100, time.time() - 100))
        self.wait_reason(daemon, "was written 1", "file")
        self.write("value", "13\n")
        self.wait_watts(daemon, 13, "file")
        for text, why in (("", "is empty"), ("x\n", "'x' is not a number"), ("7" * 300, "256 bytes")):
            self.write("value", text)
            self.wait_reason(daemon, why, "file")


class Server(http.server.ThreadingHTTPServer):
    """Answers instant queries with what `answer` has."""
    daemon_threads = True

    def __init__(self):
        self.answer, self.queries = (200, {}), []
        super().__init__(("127.0.0.1", 0), Handler)

    def samples(self, *values):
        self.answer = 200, {"status": "success", "data": {
            "resultType": "vector", "result": [{"metric": {}, "value": [1, str(v)]}
                                               for v in values]}}


class Handler(answering.Handler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        url = urlparse(self.path)
        self.server.queries.append((url.path, parse_qs(url.query).get("query", [""])[0]))
        status, body = self.server.answer
        self.answer(json.dumps(body).encode(), status)


class Prometheus(OwnMeter):
    def test_a_query_is_power(self):
        server = Server()
        url = answering.serve(self, server)
        server.samples(120.5)
        query = 'sum(pdu_watts{outlet=~"3|4"})'
        daemon = self.meter("--meter-prometheus", f"{url}/prefix/", "--query", query)
        self.wait_watts(daemon, 120.5, "prometheus")
        self.assertEqual(server.queries[-1], ("/prefix/api/v1/query", query))
        for values, why in (([], "the query has no series now"), ([1, 2], "has 2 series"),
                            (["NaN"], "'NaN' is not a value"), ([-3], "'-3' is below 0")):
            server.samples(*values)
            self.wait_reason(daemon, why, "prometheus")
        server.answer = 400, {"status": "error", "error": "parse error: bad"}
        self.wait_reason(daemon, "refuses the query: parse error", "prometheus")
        server.answer = 503, {}
        self.wait_reason(daemon, "answers 503", "prometheus")
        server.samples(99)
        self.wait_watts(daemon, 99, "prometheus")


if __name__ == "__main__":
    unittest.main()
