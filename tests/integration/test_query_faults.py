# SPDX-License-Identifier: Apache-2.0
"""tallywatt query: servers that are busy, break off, lie or never end."""
import gzip
import json
import math
import os
import re
import signal
import subprocess
import time
import unittest
import urllib.parse

from harness import BIN, SMALL, TIMEOUT_S, Case, read_json, run_tallywatt, wait_until
from sources import Server, by_series, reply

METRIC = "kepler_platform_watts"
RANGE = ("--start", "1000", "--end", "1099")
SELECTOR = re.compile(r"\{.*\}\[(\d+)ms\]")
SERIES = [{"__name__": METRIC, "instance": name, "source": "redfish"} for name in "ab"]


def value_at(series, second):
    return second * 10 + series


def answer_of(path):
    """What a good server tells, as a dict."""
    url = urllib.parse.urlsplit(path)
    if url.path == "/api/v1/label/__name__/values":
        return {"status": "success", "data": [METRIC, "up", "node_load1"]}
    start, end = times_of(path)
    return matrix(range(math.ceil(start), int(end) + 1))


def times_of(path):
    """The first and last time of a request for samples. As in Prometheus 2, both belong to it."""
    url = urllib.parse.urlsplit(path)
    asked = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
    if url.path == "/api/v1/query_range":
        return float(asked["start"]), float(asked["end"])
    length_ms = int(SELECTOR.fullmatch(asked["query"]).group(1))
    return round(float(asked["time"]) - length_ms / 1000, 3), float(asked["time"])


def span_of(path):
    start, end = times_of(path)
    return end - start


def matrix(seconds):
    return {"status": "success", "data": {"resultType": "matrix", "result": [
        {"metric": labels, "values": [[s, str(value_at(i, s))] for s in seconds]}
        for i, labels in enumerate(SERIES)]}}


def good(request):
    reply(request, json.dumps(answer_of(request.path)))


def is_range(request):
    return "/query?" in request.path or "/query_range?" in request.path


class First:
    """Answers the first few range requests its own way, and the others well."""

    def __init__(self, *ways):
        self.ways = list(ways)

    def __call__(self, request):
        way = self.ways.pop(0) if is_range(request) and self.ways else good
        way(request)


def break_off_at(share):
    """A declared length, and then only part of it."""
    def answer(request):
        body = json.dumps(answer_of(request.path)).encode()
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[:int(len(body) * share)])
        request.close_connection = True
    return answer


def end_early(request):
    """No length, so that only the JSON tells that something is missing."""
    request.send_response(200)
    request.end_headers()
    request.wfile.write(json.dumps(answer_of(request.path)).encode()[:-700])
    request.close_connection = True


def status(code, **headers):
    return lambda request: reply(request, '{"status":"error","error":"busy"}', code, **headers)


class QueryCase(Case):
    step = ()  # samples as scraped, by range selectors

    def query(self, server, *args, env=None):
        return subprocess.run(
            [os.path.join(BIN, "tallywatt"), "query", "--output", self.path("out.json"),
             *(("--server", server.url) if server else ()), *RANGE,
             *self.step, *args],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=dict(os.environ, **(env or {})), timeout=TIMEOUT_S, check=False, text=True)

    def assert_whole(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        found = by_series(read_json(self.path("out.json")))
        self.assertEqual(len(found), len(SERIES))
        for i, labels in enumerate(SERIES):
            key = (METRIC, tuple(sorted((k, v) for k, v in labels.items()
                                        if k != "__name__")))
            self.assertEqual(found[key], [(s, value_at(i, s)) for s in range(1000, 1100)])

    def assert_fails(self, done, *texts):
        self.assertEqual(done.returncode, 1, done.stderr)
        last = done.stderr.splitlines()[-1]
        for text in texts:
            self.assertIn(text, last)
        self.assertEqual(os.listdir(self.dir), [], "something is left")


class QueryFaults(QueryCase):
    def test_a_good_answer_is_recorded_whole(self):
        server = Server(self, good)
        self.assert_whole(self.query(server))
        self.assertEqual(len(server.asked), 2)
        self.assertTrue(all("gzip" in headers["Accept-Encoding"]
                            for _, headers in server.asked))

    def test_compressed_answers_are_taken(self):
        self.assert_whole(self.query(Server(self, lambda request: reply(
            request, gzip.compress(json.dumps(answer_of(request.path)).encode()),
            Content_Encoding="gzip"))))

    def test_parts_join_without_a_double_or_lost_sample(self):
        for points in ("1", "7", "99", "100", "101"):
            with self.subTest(points=points):
                self.assert_whole(self.query(Server(self, good), "--points", points))

    def test_busy_servers_are_asked_again(self):
        done = self.query(Server(self, First(status(503), status(500), status(429))))
        self.assert_whole(done)
        self.assertEqual(done.stderr.count("trying again"), 3)

    def test_the_wait_is_as_long_as_the_server_asks(self):
        began = time.monotonic()
        done = self.query(Server(self, First(status(429, Retry_After="2"))))
        self.assertGreaterEqual(time.monotonic() - began, 2.0)
        self.assert_whole(done)
        self.assertIn("the server answers 429: busy; trying again in 2.0 s", done.stderr)

    def test_a_wait_that_is_too_long_is_not_begun(self):
        done = self.query(Server(self, First(status(429, Retry_After="86400"))))
        self.assert_fails(done, "gave up", "429")

    def test_answers_that_break_off_are_asked_for_again(self):
        ways = [break_off_at(share) for share in (0.0, 0.3, 0.9)] + [end_early]
        done = self.query(Server(self, First(*ways)))
        self.assert_whole(done)
        self.assertEqual(done.stderr.count("trying again"), len(ways))

    def test_partial_answers_are_refused_or_named(self):
        for member, said in (({"warnings": ["store b: deadline exceeded"]}, "store b: deadline"),
                             ({"isPartial": True}, "isPartial is true")):
            def lack(request, member=member):
                reply(request, json.dumps({**answer_of(request.path), **member}))
            with self.subTest(member=member):
                server = Server(self, First(lack))
                self.assert_fails(self.query(server), METRIC, "partial", said, "--partial accept")
                done = self.query(Server(self, First(lack)), "--partial", "accept")
                self.assert_whole(done)
                self.assertIn(said, done.stderr)
                os.unlink(self.path("out.json"))
        self.assert_whole(self.query(Server(self, First(lambda request: reply(request, json.dumps(
            {**answer_of(request.path), "isPartial": False, "warnings": []}))))))

    def test_the_query_gives_up_in_the_end(self):
        done = self.query(Server(self, status(502)), "--retry-for", "1s")
        self.assert_fails(done, "gave up", "502")

    def test_refusals_are_not_asked_again(self):
        for code in (400, 401, 403, 404, 422):
            server = Server(self, status(code))
            with self.subTest(code=code):
                self.assert_fails(self.query(server), f"the server answers {code}: busy")
                self.assertEqual(len(server.asked), 1)

    def test_rubbish_is_refused(self):
        names = {"status": "success", "data": ["kepler_platform_watts"]}
        for body in (b"<html>login</html>", b"\0\xff\x1b[31m", b"[]", b"{}", b"[" * 1000,
                     b'{"data":{"result":7}}', b'{"data":{"result":[7]}}',
                     b'{"data":{"result":[{"metric":[],"values":[]}]}}',
                     b'{"data":{"result":[{"values":[[1,"1"]],"metric":{}}]}}',
                     b'{"data":{"result":[{"metric":{},"values":[[1,2]]}]}}',
                     b'{"data":{"result":[{"metric":{},"values":[[1]]}]}}',
                     b'{"data":{"result":[{"metric":{},"values":[[2,"1"],[1,"1"]]}]}}',
                     b'{"data":{"result":[]}} more'):
            def answer(request, body=body):
                reply(request, body if is_range(request) else json.dumps(names))
            with self.subTest(body=body[:50]):
                done = self.query(Server(self, answer))
                self.assert_fails(done)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertNotRegex(done.stderr, "[\0\x1b]")

    def test_a_servers_own_words_are_repeated(self):
        for body, why in (
                ('{"status":"error","errorType":"timeout","error":"query timed out in evaluation"}',
                 "query timed out in evaluation"),
                ('{"status":"error","error":"x","data":{"resultType":"","result":[]}}', "error: x"),
                ("<!DOCTYPE html><html><title>Sign in</title></html>", "a web page, not with JSON"),
                ("\n <html>", "a web page, not with JSON"),
                ('{"status":"success","data":{"resultType":"matrix","result":null}}',
                 "no sample")):
            def answer(request, body=body):
                reply(request, body if is_range(request) else json.dumps(answer_of(request.path)))
            with self.subTest(body):
                self.assert_fails(self.query(Server(self, answer)), why)

    def test_no_series_is_no_file(self):
        def answer(request):
            reply(request, '{"status":"success","data":{"result":[]}}' if is_range(request)
                  else json.dumps(answer_of(request.path)))
        self.assert_fails(self.query(Server(self, answer)), "no sample")

    def test_answers_without_end_meet_a_limit(self):
        def endless(request):
            request.send_response(200)
            request.end_headers()
            request.wfile.write(b'{"status":"success","data":[')
            while True:
                request.wfile.write(b'"up",' * 10000)
        self.assert_fails(self.query(Server(self, endless), "--max-answer", "1MiB"),
                          "over the limit")

    def test_small_answers_that_grow_meet_it_too(self):
        bomb = gzip.compress(b" " * (16 << 20))
        done = self.query(Server(self, lambda request: reply(
            request, bomb, Content_Encoding="gzip")), "--max-answer", "1MiB")
        self.assert_fails(done, "over the limit")

    def test_too_much_at_once_is_asked_for_in_smaller_parts(self):
        def answer(request):
            if is_range(request) and span_of(request.path) > 20:
                reply(request, '{"status":"error","error":"query processing would load '
                      'too many samples into memory in query execution"}', 422)
            else:
                good(request)
        self.assert_whole(self.query(Server(self, answer)))

    def test_an_answer_over_our_limit_is_asked_for_in_smaller_parts(self):
        def answer(request):
            answer = answer_of(request.path)
            if is_range(request) and span_of(request.path) > 50:
                # Behind the first series, whose samples come again in several parts.
                answer["data"]["result"].insert(1, {"pad": ["x" * 1000] * 100})
            reply(request, json.dumps(answer))
        self.assert_whole(self.query(Server(self, answer), "--max-answer", "50000"))

    def test_a_broken_answer_over_the_limit_is_not_resumed(self):
        def too_much(request):
            reply(request, '{"status":"error","error":"too many samples"}', 422)
        self.assert_whole(self.query(Server(self, First(break_off_at(0.8), too_much))))

    def test_redirects_are_followed_unless_there_are_credentials(self):
        behind = Server(self, good)
        front = Server(self, lambda request: reply(request, "", 302,
                                                   Location=behind.url + request.path))
        self.assert_whole(self.query(front))
        os.unlink(self.path("out.json"))
        behind.asked.clear()
        done = self.query(front, env={"TW_HTTP_TOKEN": "sesame"})
        self.assert_fails(done, "the server answers 302")
        self.assertEqual(behind.asked, [])

    def test_credentials_reach_the_server_only(self):
        server = Server(self, First(status(503)))
        done = self.query(server, "--progress", env={
            "TW_HTTP_TOKEN": "sesame", "PROM_HEADERS": '{"X-Scope-OrgID": "team-a"}'})
        self.assert_whole(done)
        self.assertNotIn("sesame", done.stderr)
        for _, headers in server.asked:
            self.assertEqual(headers["Authorization"], "Bearer sesame")
            self.assertEqual(headers["X-Scope-OrgID"], "team-a")

    def test_the_old_programs_keys_are_taken_and_their_files_first(self):
        server = Server(self, good)
        os.mkdir(self.path("config"))
        self.write("config/PROM_SERVER", server.url + "\n")
        self.write("config/PROM_SSL_DISABLE", "True\n")
        done = self.query(None, env={"PROM_SERVER": "http://127.0.0.1:1",
                                     "CONFIG_PATH": self.path("config")})
        self.assert_whole(done)
        self.assertIn("WARNING: certificates are not verified", done.stderr)

    def test_samples_that_are_no_numbers_are_left_out_and_counted(self):
        def answer(request):
            answer = answer_of(request.path)
            if is_range(request):
                answer["data"]["result"][0]["values"][3][1] = "NaN"
                answer["data"]["result"][0]["values"][4][1] = "+Inf"
            reply(request, json.dumps(answer))
        done = self.query(Server(self, answer))
        self.assertIn("2 samples that are NaN or infinite were left out", done.stderr)
        counts = [len(s["values"]) for s in read_json(self.path("out.json"))[METRIC]]
        self.assertEqual(counts, [98, 100])

    def test_memory_does_not_grow_with_the_range(self):
        used = {}
        for seconds in (2000, 200000):
            query, peak = None, [0]

            def answer(request):
                if query is not None:
                    with open(f"/proc/{query.pid}/status", encoding="ascii") as f:
                        peak[0] = next(int(x.split()[1]) for x in f if x.startswith("VmHWM:"))
                good(request)
            server = Server(self, answer)
            query = subprocess.Popen(
                [os.path.join(BIN, "tallywatt"), "query", "--server", server.url, "--output",
                 self.path("out.json"), "--start", "1000", "--end", str(1000 + seconds),
                 *self.step, "--points", "100"], stdin=subprocess.DEVNULL, env=SMALL)
            self.assertEqual(query.wait(timeout=TIMEOUT_S), 0)
            used[seconds] = peak[0]
        print(f"{used[2000]} KiB for 4 thousand samples, {used[200000]} KiB for 400")
        self.assertGreater(used[2000], 0)
        # 400 thousand samples are 6.4 MB.
        self.assertLess(used[200000] - used[2000], 2000)

    def test_interrupted_it_leaves_the_old_file(self):
        def hang(request):
            if is_range(request):
                request.connection.recv(1)  # until it goes away
            else:
                good(request)
        old = self.write("out.json", "old")
        server = Server(self, hang)
        query = subprocess.Popen([os.path.join(BIN, "tallywatt"), "query", "--server",
                                  server.url, "--output", old, *RANGE, *self.step],
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(query.kill)
        wait_until(lambda: len(server.asked) == 2, "it asks for the range")
        query.send_signal(signal.SIGINT)
        _, text = query.communicate(timeout=TIMEOUT_S)
        self.assertEqual(query.returncode, 1)
        self.assertEqual(text, "tallywatt query: kepler_platform_watts: interrupted\n")
        self.assertEqual(os.listdir(self.dir), ["out.json"])
        with open(old, encoding="ascii") as f:
            self.assertEqual(f.read(), "old")

    def test_wrong_use_is_reported_in_one_line(self):
        for args in (("--step", "0"), ("--step", "x"), ("--start", "2000", "--end", "1000"),
                     ("--start", "yesterday"), ("--user", "me"), ("--points", "0"),
                     ("--password-file", "/dev/null"), ("--key-file", "x"), ("operand",)):
            with self.subTest(args=args):
                done = run_tallywatt("query", "--output", self.path("out.json"), *args)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        self.refused("query", codes=(2,))


class RangeQueryFaults(QueryFaults):
    """The same by range queries."""

    step = ("--step", "1")


class RawSamples(QueryCase):
    def test_samples_keep_their_times_and_come_once(self):
        # Each 5 s, within parts and at their borders.
        for scraped in ([1000 + 5 * i for i in range(20)],
                        [round(1000.999 + 5 * i + i % 3 / 1000, 3) for i in range(20)]):
            def answer(request, scraped=scraped):
                if not is_range(request):
                    return good(request)
                start, end = times_of(request.path)
                return reply(request, json.dumps(matrix([t for t in scraped if start <= t <= end])))
            for points in ("1", "5", "7", "11000"):
                with self.subTest(points=points, first=scraped[0]):
                    done = self.query(Server(self, answer), "--points", points)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    all_series = read_json(self.path("out.json"))[METRIC]
                    self.assertTrue(all_series)
                    for series in all_series:
                        self.assertEqual([t for t, _ in series["values"]], scraped)

    def test_a_server_without_range_selectors_is_named(self):
        def vector(request):
            reply(request, json.dumps({"status": "success", "data": {
                "resultType": "vector", "result": [{"metric": SERIES[0], "value": [1, "1"]}]}}))
        ways = [status(code) for code in (400, 404, 405, 422)] + [vector, lambda request: reply(
            request, '{"status":"error","error":"no ranges"}')]
        for way in ways:
            done = self.query(Server(self, First(*[way] * 3)))
            self.assert_fails(done, METRIC, "range selector", "--step")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for way, *args in ((status(403),), (status(503), "--retry-for", "1ms"),
                           (lambda request: reply(request, "{", 200), "--retry-for", "1ms")):
            done = self.query(Server(self, First(*[way] * 3)), *args)
            self.assert_fails(done, METRIC)
            self.assertNotIn("--step", done.stderr)


if __name__ == "__main__":
    unittest.main()
