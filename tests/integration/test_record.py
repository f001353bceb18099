# SPDX-License-Identifier: Apache-2.0
"""tallywatt record: a response from exporters, without Prometheus."""
import csv
import json
import os
import signal
import statistics
import subprocess
import threading
import time
import unittest

from harness import BIN, SMALL, TIMEOUT_S, Case, read_json, run_tallywatt, wait_until
from sources import Server, by_exporter, by_series, reply, text_at
import generate_response as generator

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def tell(request, text, content_type=TEXT):
    reply(request, text, content_type=content_type)


class Simulated:
    """An exporter that tells the generator's samples, the next at each request."""

    def __init__(self, response, times):
        self.texts = [text_at(response, t) for t in times]
        self.told = 0

    def __call__(self, request):
        tell(request, self.texts[min(self.told, len(self.texts) - 1)])
        self.told += 1


class Record(Case):
    def start_record(self, *args, output="out.json", env=None):
        record = subprocess.Popen([os.path.join(BIN, "tallywatt"), "record", "--output",
                                   self.path(output), *args], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  env=env, text=True)
        self.addCleanup(record.stderr.close)
        self.addCleanup(record.kill)
        return record

    def end(self, record, how=signal.SIGINT, code=0):
        record.send_signal(how)
        _, text = record.communicate(timeout=TIMEOUT_S)
        self.assertEqual(record.returncode, code, text)
        # A machine that is busy with other tests is late.
        return [line for line in text.splitlines() if "polls were skipped" not in line]

    def record_until(self, condition, what, *args, **more):
        record = self.start_record(*args, **more)
        wait_until(condition, what)
        return self.end(record)

    def record_nothing(self, answer, *args):
        """What is said of answers that are not taken. The first is read once there is a second
        request."""
        server = Server(self, answer)
        record = self.start_record("--interval", "20ms", *args, server.url)
        wait_until(lambda: len(server.asked) > 1, "two looks")
        lines = self.end(record, code=1)
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("no sample in", lines[1])
        self.assertEqual(os.listdir(self.dir), [])
        return lines[0]

    def series(self, output="out.json"):
        return by_series(read_json(self.path(output)))

    def test_samples_of_an_exporter_are_recorded_and_trained(self):
        machine = generator.Machine(samples=60)
        response = by_exporter(generator.make_response(machine))
        exporter = Simulated(response, machine.times)
        server = Server(self, exporter)
        for stop in (signal.SIGINT, signal.SIGTERM):
            exporter.told = 0
            record = self.start_record("--interval", "20ms", f"simulated={server.url}")
            wait_until(lambda: exporter.told > len(machine.times), "all is told")
            self.assertEqual(self.end(record, stop), [])
            self.assertEqual(os.listdir(self.dir), ["out.json"])
            found = self.series()
            for (metric, labels), samples in by_series(response).items():
                labels = dict(labels)
                if "instance" in labels:
                    labels["exported_instance"] = labels["instance"]
                labels["instance"] = "simulated"
                told = [v for _, v in found.pop((metric, tuple(sorted(labels.items()))))]
                values = [v for _, v in samples]
                self.assertEqual(told[:len(values)], values, (metric, labels))
                # The last of the texts is told again and again.
                self.assertEqual(set(told[len(values):]) - {values[-1]}, set())
            self.assertEqual(found, {})
        self.assertTrue(all(path == "/metrics" for path, _ in server.asked))
        # Looks that are late have wrong watts: train on the samples at their own times.
        recorded = read_json(self.path("out.json"))
        for series in (s for found in recorded.values() for s in found):
            series["values"] = [[t, v] for t, (_, v) in zip(machine.times, series["values"])]
        self.write("out.json", json.dumps(recorded))
        self.tallywatt("train", "--input", self.path("out.json"), "--name", "recorded",
                       "--trainers", "LinearRegressionTrainer", "--model-db",
                       self.path("db"))

    def test_watts_are_those_of_the_meter(self):
        began = time.time()

        def meter(request):
            """50 W, and a process that uses 0.4 of a CPU."""
            now = time.time() - began
            zones = "".join(f'kepler_node_cpu_joules_total{{zone="{zone}",path="p"}} '
                            f'{watts * now:.6f}\n' for zone, watts in
                            (("package", 50), ("core", 20), ("dram", 5)))
            tell(request, zones + f'kepler_process_cpu_seconds_total{{pid="7"}} '
                                  f'{0.4 * now:.6f}\n# EOF\n', OPENMETRICS)
        server = Server(self, meter)
        self.record_until(lambda: len(server.asked) >= 40, "40 looks", "--interval", "50ms",
                          f"{server.url}/")
        table = self.tallywatt("extract", "--input", self.path("out.json"), "--group",
                               "BPFOnly")
        rows = list(csv.DictReader(table.splitlines()))
        self.assertGreaterEqual(len(rows), 30)
        # The median: this machine may be busy between the clock and the exporter.
        for column, wanted in (("package_power", 50), ("bpf_cpu_time_ms", 400)):
            found = [float(row[name]) for row in rows for name in row
                     if name.startswith(column)]
            self.assertAlmostEqual(statistics.median(found), wanted, delta=wanted * 0.05)

    def test_a_target_that_fails_leaves_a_gap_and_others_go_on(self):
        down = threading.Event()

        def shaky(request):
            if down.is_set():
                reply(request, "no", 503)
            else:
                tell(request, f"kepler_platform_watts{{source=\"x\"}} {len(one.asked)}\n")

        def steady(request):
            tell(request, f"kepler_platform_watts{{source=\"x\"}} {len(two.asked)}\n")
        one, two = Server(self, shaky), Server(self, steady)
        record = self.start_record("--interval", "20ms", f"one={one.url}", f"two={two.url}")
        for happen in (down.clear, down.set, down.clear):
            happen()
            seen = len(one.asked), len(two.asked)
            wait_until(lambda: len(one.asked) > seen[0] + 5 and len(two.asked) > seen[1] + 5,
                       "both are asked")
        lines = self.end(record)
        self.assertEqual(len(lines), 2, lines)
        self.assertIn("one: the exporter answers 503; there will be a gap", lines[0])
        self.assertIn("one: answers again, after ", lines[1])
        values = {dict(labels)["instance"]: [v for _, v in samples]
                  for (_, labels), samples in self.series().items()}
        # A server sees one request more than it answered well, perhaps.
        self.assertLess(len(values["one"]), len(one.asked) - 4)
        self.assertGreaterEqual(len(values["two"]), len(two.asked) - 1)
        self.assertEqual(values["two"], sorted(values["two"]))

    def test_no_target_holds_another_up(self):
        release = threading.Event()
        self.addCleanup(release.set)
        hanging = Server(self, lambda request: release.wait(TIMEOUT_S))
        good = Server(self, lambda request: tell(request, "kepler_platform_watts 1\n"))
        self.record_until(lambda: len(good.asked) > 20, "20 looks", "--interval", "10ms",
                          hanging.url, good.url)
        self.assertEqual(len(self.series()), 1)

    def test_a_recording_continues_its_file(self):
        server = Server(self, lambda request: tell(
            request, f"kepler_platform_watts {len(server.asked)}\n"))
        self.record_until(lambda: len(server.asked) > 5, "5 looks", "--interval", "10ms",
                          server.url)
        first = self.series()
        seen = len(server.asked)
        self.record_until(lambda: len(server.asked) > seen + 5, "5 more", "--interval",
                          "10ms", "--append", server.url)
        (key, before), = first.items()
        both = self.series()[key]
        self.assertEqual(both[:len(before)], before)
        self.assertGreater(len(both), len(before) + 3)

    def test_a_killed_recording_loses_only_unsaved_samples(self):
        server = Server(self, lambda request: tell(
            request, f"kepler_platform_watts {len(server.asked)}\n"))
        record = self.start_record("--interval", "10ms", "--save-every", "50ms", server.url)
        wait_until(lambda: os.path.exists(self.path("out.json")), "it saves")
        record.send_signal(signal.SIGKILL)
        record.wait(timeout=TIMEOUT_S)
        (_, samples), = self.series().items()
        self.assertEqual([v for _, v in samples], sorted(v for _, v in samples))
        self.assertTrue(samples)

    def test_the_recording_ends_by_itself(self):
        server = Server(self, lambda request: tell(request, "kepler_platform_watts 1\n"))
        done = run_tallywatt("record", "--output", self.path("out.json"), "--interval",
                             "20ms", "--for", "300ms", "--progress", server.url)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr.decode(), r"1 series, \d+ samples; \d+ scrapes, 0 failed")

    def test_rubbish_is_a_gap_with_its_place(self):
        for text, place in (("<html>\n", "line 1: expected a name"),
                            ("a 1\nb x\n", "line 2: b: value 'x' is not a number"),
                            ("a{b=\"c} 1\n", "line 1: label 'b': a text without an end"),
                            ("kepler_platform_watts 1", "line 1: cut short"),
                            ("kepler_platform_watts{a=\"1\",a=\"2\"} 1\n", "two labels 'a'"),
                            ("a" * 100000 + "\n", "longer than 65536 bytes")):
            with self.subTest(text=text[:30]):
                self.assertIn(place, self.record_nothing(
                    lambda request, text=text: tell(request, text)))

    def test_openmetrics_without_its_end_is_not_taken(self):
        self.assertIn("without '# EOF'", self.record_nothing(
            lambda request: tell(request, "kepler_platform_watts 1\n", OPENMETRICS)))

    def test_an_answer_without_end_meets_the_limit(self):
        def endless(request):
            request.send_response(200)
            request.end_headers()
            while True:
                request.wfile.write(b"up 1\n" * 10000)
        self.assertIn("over the limit", self.record_nothing(endless, "--max-answer", "1MiB"))

    def test_a_scrape_carries_its_credentials(self):
        server = Server(self, lambda request: tell(request, "kepler_platform_watts 1\n"))
        token = self.write("token", "sesame\n")
        self.record_until(lambda: len(server.asked) > 1, "it asks", "--interval", "20ms",
                          "--token-file", token, server.url)
        _, headers = server.asked[0]
        self.assertEqual(headers["Authorization"], "Bearer sesame")
        self.assertIn("application/openmetrics-text", headers["Accept"])

    def test_memory_does_not_grow_with_time(self):
        text = "".join(f'kepler_process_cpu_seconds_total{{pid="{i}"}} 1\n'
                       for i in range(2000))
        server = Server(self, lambda request: tell(request, text))
        record = self.start_record("--interval", "10ms", server.url, env=SMALL)

        def resident_kib():
            with open(f"/proc/{record.pid}/status", encoding="ascii") as f:
                return next(int(x.split()[1]) for x in f if x.startswith("VmRSS:"))
        # Of each series two blocks of 63 samples, then six.
        wait_until(lambda: len(server.asked) > 130, "130 looks")
        before = resident_kib()
        wait_until(lambda: len(server.asked) > 400, "400 looks")
        after = resident_kib()
        self.end(record)
        # 270 looks at 2000 series are 8.6 MB of samples.
        self.assertLess(after - before, 2000)
        print(f"2000 series: {before} KiB after 130 looks, {after} KiB after 400")

    def test_wrong_use_is_reported_in_one_line(self):
        out = ("--output", self.path("out.json"))
        for args in ((), ("http://a",), (*out,), (*out, ""), (*out, "=http://a"),
                     (*out, "a b"), (*out, "http://a", "http://a/x"), (*out, "a=b", "a=c"),
                     (*out, "--interval", "1ms", "http://a"), (*out, *["a"] * 65)):
            with self.subTest(args=args):
                self.refused("record", *args, codes=(2,))


if __name__ == "__main__":
    unittest.main()
