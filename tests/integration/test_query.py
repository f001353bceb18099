# SPDX-License-Identifier: Apache-2.0
"""tallywatt query: a response from a real Prometheus."""
import csv
import json
import os
import shutil
import signal
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from harness import BIN, TIMEOUT_S, Case, need, read_json, run_tallywatt, tree
from sources import Prometheus, by_series, make_blocks, need_prometheus
import generate_response as generator

PASSWORD = "open sesame"
# bcrypt, cost 4, of the above.
PASSWORD_HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"
POINTS_MAX = 11000
SAMPLES = 11500
LAST_S = generator.START_S + 3 * (SAMPLES - 1)
RANGE = ("--start", str(generator.START_S), "--end", str(LAST_S))
STEP = ("--step", "3s")


class RealPrometheus(Case):
    """Of a machine that was watched for longer than Prometheus answers at once."""

    @classmethod
    def setUpClass(cls):
        need_prometheus()
        cls.folder = tempfile.mkdtemp(prefix="tw-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        machine = generator.Machine(samples=SAMPLES, containers=2, alike=True)
        cls.response = generator.make_response(machine, "0.10")
        cls.blocks = make_blocks(cls.folder, cls.response)

    def prometheus(self, web_config=None, flags=()):
        # Each test has its own: a killed one leaves its data as it was.
        data = self.path("data")
        shutil.copytree(self.blocks, data)
        return Prometheus(self, data, web_config, flags=flags)

    def query(self, server, *args, output="response.json"):
        self.tallywatt("query", "--server", server.url, "--output", self.path(output), *args)
        return self.path(output)

    def assert_same(self, path, response):
        found, wanted = by_series(read_json(path)), by_series(response)
        self.assertEqual(found.keys(), wanted.keys())
        for key, samples in wanted.items():
            self.assertEqual(found[key], samples, key)

    def assert_tables(self, folder, response):
        """The CSV files have the samples of a response."""
        self.assertEqual(sorted(os.listdir(folder)), [f"{metric}.csv" for metric in response])
        for metric, series in response.items():
            with open(os.path.join(folder, f"{metric}.csv"), encoding="utf-8", newline="") as f:
                rows = list(csv.DictReader(f))
            wanted = [{"timestamp": t, metric: float(v), **s["metric"]}
                      for s in series for t, v in s["values"]]
            self.assertEqual([{k: float(v) if k in ("timestamp", metric) else v
                               for k, v in row.items() if v} for row in rows], wanted)

    def test_a_range_over_the_points_limit_is_whole(self):
        server = self.prometheus()
        question = urllib.parse.urlencode({
            "query": "kepler_platform_watts", "start": generator.START_S,
            "end": LAST_S, "step": 3})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server.url}/api/v1/query_range?{question}")
        self.assertIn("11,000 points", json.load(refused.exception)["error"])
        refused.exception.close()
        self.assert_same(self.query(server, *RANGE, *STEP), self.response)

    def test_samples_as_scraped_come_in_parts(self):
        server = self.prometheus()
        for points in ("11000", "700", "100000"):
            with self.subTest(points=points):
                self.assert_same(self.query(server, *RANGE, "--points", points), self.response)

    def test_too_many_samples_at_once_are_asked_for_in_smaller_parts(self):
        server = self.prometheus(flags=("--query.max-samples=3000",))
        self.assert_same(self.query(server, *RANGE, "--metric", "kepler_platform_watts"),
                         {"kepler_platform_watts": self.response["kepler_platform_watts"]})

    def test_a_server_that_gives_fewer_points_is_asked_for_fewer(self):
        server = self.prometheus()
        # More than it gives: half of it is not.
        path = self.query(server, *RANGE, *STEP, "--points", "20000")
        self.assert_same(path, self.response)

    def test_killed_and_started_again_in_between_it_makes_no_difference(self):
        server = self.prometheus()
        whole = self.query(server, *RANGE, output="whole.json")
        query = subprocess.Popen(
            [os.path.join(BIN, "tallywatt"), "query", "--server", server.url, "--output",
             self.path("killed.json"), *RANGE, "--points", "100", "--progress"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True)
        self.addCleanup(query.stderr.close)
        self.addCleanup(query.kill)
        lines = []
        for line in query.stderr:
            lines.append(line)
            if line.startswith("tallywatt query: 2 of "):
                break
        server.kill()
        for line in query.stderr:
            lines.append(line)
            if "trying again" in line:
                break
        self.assertIn("trying again", lines[-1], "".join(lines[-5:]))
        self.assertFalse(os.path.exists(self.path("killed.json")))
        server.start()
        lines += query.stderr.readlines()
        self.assertEqual(query.wait(timeout=TIMEOUT_S), 0, "".join(lines[-5:]))
        with open(whole, "rb") as one, open(self.path("killed.json"), "rb") as two:
            self.assertEqual(one.read(), two.read())

    def test_models_equal_those_of_the_recorded_response(self):
        server = self.prometheus()
        recorded = self.write("recorded.json", generator.to_text(self.response))
        queried = self.query(server, *RANGE)
        for name, path in (("recorded", recorded), ("queried", queried)):
            # Every series is compared above; the models of one meter show the rest.
            self.tallywatt("train", "--input", path, "--name", "same", "--origin", "test",
                           "--source", "redfish",
                           "--trainers", "LinearRegressionTrainer,SGDRegressorTrainer",
                           "--model-db", self.path(name))
        one, two = tree(self.path("recorded", "same")), tree(self.path("queried", "same"))
        self.assertEqual(one.keys(), two.keys())
        self.assertTrue([n for n in one if n.endswith("weight.json")])
        # metadata.json says when it was trained.
        self.assertEqual([n for n in one if one[n] != two[n] and n != "metadata.json"], [])

    def test_labels_names_and_times_narrow_it(self):
        server = self.prometheus()
        some = ("--start", "2023-11-14T22:13:20Z", "--end", "2023-11-14T23:14:20.000+01:00",
                "--step", "3")
        path = self.query(server, *some, "--match", 'zone="package"', "--match",
                          'path=~".*:1"')
        wanted = {"kepler_node_cpu_joules_total": [
            {**s, "values": s["values"][:21]}
            for s in self.response["kepler_node_cpu_joules_total"]
            if s["metric"]["zone"] == "package" and s["metric"]["path"].endswith(":1")]}
        self.assert_same(path, wanted)
        path = self.query(server, *some, "--metric", "kepler_(platform|node_cpu)_(watts|joules).*",
                          "--to-csv", self.path("csv"))
        self.assertEqual(list(read_json(path)),
                         ["kepler_node_cpu_joules_total", "kepler_platform_watts"])
        self.assert_tables(self.path("csv"), read_json(path))
        line = self.refused("query", "--server", server.url, *some, "--metric", "absent.*",
                            "--output", self.path("none.json"), codes=(1,))
        self.assertIn("no metric", line)
        line = self.refused("query", "--server", server.url, *some, "--match", "zone=",
                            "--output", self.path("none.json"), codes=(1,))
        self.assertIn("the server answers 400", line)
        self.assertFalse(os.path.exists(self.path("none.json")))

    def test_basic_authentication(self):
        server = self.prometheus(f"basic_auth_users:\n  reader: {PASSWORD_HASH}\n")
        right = self.write("right", PASSWORD + "\n")
        wrong = self.write("wrong", "guess\n")
        short = ("--start", str(generator.START_S), "--end", str(generator.START_S + 30))
        line = self.refused("query", "--server", server.url, "--output", self.path("x"),
                            *short, codes=(1,))
        self.assertIn("the server answers 401", line)
        line = self.refused("query", "--server", server.url, "--output", self.path("x"),
                            *short, "--user", "reader", "--password-file", wrong, codes=(1,))
        self.assertIn("the server answers 401", line)
        self.assertNotIn("guess", line)
        self.query(server, *short, "--user", "reader", "--password-file", right)

    def make_certificates(self):
        """A CA, and keys that it signed: for the server and for a client."""
        need("openssl", shutil.which("openssl"))

        def openssl(*args):
            subprocess.run(["openssl", *args], check=True, cwd=self.dir, timeout=TIMEOUT_S,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)

        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
                "-subj", "/CN=test CA")
        self.write("names", "subjectAltName=IP:127.0.0.1\n")
        for name in ("server", "client"):
            openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                    f"/CN={name}")
            openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey",
                    "ca.key", "-CAcreateserial", "-out", f"{name}.pem", "-days", "2",
                    "-extfile", "names")

    def test_tls_with_a_ca_and_a_certificate_of_our_own(self):
        self.make_certificates()
        server = self.prometheus(
            "tls_server_config:\n  cert_file: server.pem\n  key_file: server.key\n"
            "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n")
        short = ("--start", str(generator.START_S), "--end", str(generator.START_S + 30))
        ours = ("--cert-file", self.path("client.pem"), "--key-file", self.path("client.key"))
        believed = ("--ca-file", self.path("ca.pem"))
        self.query(server, *short, *believed, *ours)
        line = self.refused("query", "--server", server.url, "--output", self.path("x"),
                            *short, *ours, codes=(1,))
        self.assertIn("certificate", line)
        done = run_tallywatt("query", "--server", server.url, "--output", self.path("x"),
                             *short, *ours, "--insecure")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"WARNING: certificates are not verified", done.stderr)
        line = self.refused("query", "--server", server.url, "--output", self.path("y"),
                            *short, *believed, "--retry-for", "1ms", codes=(1,))
        self.assertIn("gave up", line)


if __name__ == "__main__":
    unittest.main()
