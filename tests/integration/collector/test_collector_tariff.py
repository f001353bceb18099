# SPDX-License-Identifier: Apache-2.0
"""tw-collector --carbon and --price: each tick's energy at the tariff of its time, for the
machine and for each workload, and what `tallywatt run` prints of it."""
import json
import os
import subprocess
import time
import unittest

from harness import BIN, TIMEOUT_S, call, wait_until
from metered import Metered
from sources import Server, reply

SUM = ("package", "dram")  # of the meter "fake"
J_PER_KWH = 3.6e6


class Tariff(Metered):
    def tariff(self, *args):
        return self.collect("--meters", "fake", "--tariff-interval", "100ms", *args)

    @staticmethod
    def value(samples, name, **labels):
        found = [v for n, has, v in samples if n == name and
                 all(has.get(k) == w for k, w in labels.items())]
        return found[0] if found else None

    @staticmethod
    def total(samples, name):
        """Of the zones that add up, if the metric has zones."""
        return sum(v for n, has, v in samples if n == name and
                   has.get("zone", SUM[0]) in SUM)

    def joules(self, samples):
        return self.total(samples, "tallywatt_node_energy_joules_total")

    def up(self, daemon, of="co2e"):
        (labels, value), = [(has, v) for n, has, v in self.samples(daemon)
                            if n == f"tallywatt_{of}_up"]
        return value, labels["reason"]


class Values(Tariff):
    def test_grams_and_cost_are_those_of_the_energy_for_machine_and_workloads(self):
        daemon = self.tariff("--carbon", "400", "--price", "0.3")
        wait_until(lambda: self.joules(self.samples(daemon)) > 5, "energy")
        samples = self.samples(daemon)
        for name, rate in (("co2e_grams", 400), ("cost", 0.3)):
            wanted = self.joules(samples) * rate / J_PER_KWH
            self.assertAlmostEqual(self.total(samples, f"tallywatt_node_{name}_total"), wanted,
                                   delta=1e-10)
            waiting = self.total(samples, "tallywatt_node_unattributed_joules") * rate / J_PER_KWH
            for level in ("process", "cgroup"):
                self.assertAlmostEqual(
                    self.total(samples, f"tallywatt_{level}_{name}_total") + waiting, wanted,
                    delta=1e-9)
        # Each workload has its own: to a picogram in each tick.
        ticks = self.value(samples, "tallywatt_collector_ticks_total")
        joules, grams = {}, {}
        for name, labels, value in samples:
            key = labels.get("serial")
            if name == "tallywatt_process_energy_joules_total" and labels["zone"] in SUM:
                joules[key] = joules.get(key, 0) + value
            elif name == "tallywatt_process_co2e_grams_total":
                grams[key] = value
        self.assertGreater(len(joules), 0)
        for key, value in joules.items():
            self.assertAlmostEqual(grams[key], value * 400 / J_PER_KWH, delta=ticks * 1e-12 + 1e-11)
        self.assertEqual(self.value(samples, "tallywatt_node_co2e_unknown_joules_total"), 0)
        answer = call(daemon, "GET", "/api/v1/power").json()
        self.assertEqual((answer["co2e_grams_per_kwh"], answer["price_per_kwh"]), (400, 0.3))

    def test_without_tariffs_there_are_no_such_metrics(self):
        daemon = self.tariff()
        self.assertNotIn("co2e", self.metrics(daemon))
        self.assertNotIn("co2e", call(daemon, "GET", "/api/v1/power").body.decode())

    def test_a_file_has_a_rate_for_each_time_and_may_be_replaced(self):
        now = time.time()
        path = self.write("co2.csv", f"time,g\n{now - 60:.1f},100\n{now + 1.5:.1f},1000\n"
                                     f"{now + 3600:.1f},1\n")
        daemon = self.tariff("--carbon", path)
        seen, last = set(), None

        def follow():
            nonlocal last
            samples = self.samples(daemon)
            this = (self.value(samples, "tallywatt_co2e_grams_per_kwh"), self.joules(samples),
                    self.value(samples, "tallywatt_node_co2e_grams_total"))
            if last is not None and this[1] > last[1] and this[0] == last[0]:
                self.assertAlmostEqual((this[2] - last[2]) / (this[1] - last[1]) * J_PER_KWH,
                                       this[0], delta=this[0] * 1e-4)
                seen.add(this[0])
            last = this
        wait_until(lambda: follow() or 1000 in seen, "the second rate", pause_s=0.1)
        self.assertLessEqual(seen, {100, 1000})
        os.rename(self.write("next.csv", "7\n"), path)
        wait_until(lambda: follow() or 7 in seen, "the rate of the new file", pause_s=0.1)
        # One that says nothing of now.
        os.rename(self.write("old.csv", "1,2\n3,4\n"), path)
        wait_until(lambda: self.up(daemon) == (0, "the file has no line of this time"), "no rate")
        samples = self.samples(daemon)
        self.assertIsNone(self.value(samples, "tallywatt_co2e_grams_per_kwh"))
        grams = self.value(samples, "tallywatt_node_co2e_grams_total")
        wait_until(lambda: self.value(self.samples(daemon),
                                      "tallywatt_node_co2e_unknown_joules_total") > 1,
                   "energy without a rate")
        self.assertEqual(self.value(self.samples(daemon), "tallywatt_node_co2e_grams_total"), grams)
        self.assertIsNone(call(daemon, "GET", "/api/v1/power").json()["co2e_grams_per_kwh"])
        # A broken one leaves what was read.
        os.rename(self.write("good.csv", "7\n"), path)
        wait_until(lambda: self.up(daemon)[0] == 1, "a rate")
        os.rename(self.write("bad.csv", "x\n"), path)
        wait_until(lambda: self.ticks_on(daemon, 5), "ticks")
        self.assertEqual(self.up(daemon), (1, ""))

    def ticks_on(self, daemon, count):
        first = self.value(self.samples(daemon), "tallywatt_collector_ticks_total")
        wait_until(lambda: self.value(self.samples(daemon), "tallywatt_collector_ticks_total")
                   >= first + count, "ticks")
        return True

    def test_run_has_grams_and_cost(self):
        daemon = self.tariff("--carbon", "400", "--price", "2")
        # Without BPF a process is seen that runs for some ticks.
        command = ["--", "/bin/sh", "-c", "timeout 1 md5sum /dev/zero || :"]
        for more, grams in (([], 400), (["--carbon", "500"], 500)):
            done = subprocess.run(
                [os.path.join(BIN, "tallywatt"), "run", "--json", "--url",
                 f"http://{daemon.address}", *more, *command], check=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=TIMEOUT_S)
            run, = json.loads(done.stdout.splitlines()[-1])["runs"]
            self.assertGreater(run["joules"], 0)
            self.assertAlmostEqual(run["co2e_grams"], run["joules"] * grams / J_PER_KWH, places=12)
            self.assertAlmostEqual(run["cost"], run["joules"] * 2 / J_PER_KWH, places=12)


class Foreign(Tariff):
    def test_a_series_of_an_exporter(self):
        answer = ["", 200]
        server = Server(self, lambda request: reply(request, answer[0], answer[1], "text/plain"))
        answer[0] = 'grid_co2{zone="DE"} 300\ngrid_co2{zone="FR"} 50\n'
        daemon = self.tariff("--carbon", server.url + "/metrics", "--carbon-series",
                             'grid_co2{zone="FR"}', "--price", server.url, "--price-series",
                             "grid_co2")
        wait_until(lambda: self.up(daemon)[0] == 1, "a rate")
        self.assertEqual(self.value(self.samples(daemon), "tallywatt_co2e_grams_per_kwh"), 50)
        wait_until(lambda: self.up(daemon, "cost") == (0, "it has 2 series 'grid_co2'"), "a reason")
        answer[0] = "# no end of\ngrid_co2 7"
        wait_until(lambda: "cut short" in self.up(daemon, "cost")[1], "cut short", pause_s=0.05)
        answer[0] = "grid_co2 -7\n"
        wait_until(lambda: "not from 0" in self.up(daemon, "cost")[1], "negative", pause_s=0.05)
        answer[0] = "grid_co2 NaN\n"
        wait_until(lambda: "nan is not" in self.up(daemon, "cost")[1], "NaN", pause_s=0.05)
        answer[1] = 500
        wait_until(lambda: "it answers 500" in self.up(daemon, "cost")[1], "500", pause_s=0.05)
        answer[:] = ["grid_co2 7\n", 200]
        wait_until(lambda: self.up(daemon, "cost")[0] == 1, "a price", pause_s=0.05)
        # The last value of FR is valid for some intervals.
        self.assertEqual(self.value(self.samples(daemon), "tallywatt_price_per_kwh"), 7)

    def test_options(self):
        for args, why in (
                (["--carbon", "http://x/metrics"], "needs --carbon-series"),
                (["--carbon", "1", "--carbon-series", "a"], "needs --carbon http"),
                (["--price", "-1"], "--price: -1 is not from 0"),
                (["--carbon", self.path("none")], "--carbon: "),
                (["--carbon", self.write("x", "a,b\n")], "no row"),
                (["--tariff-interval", "0"], "want 100ms to 1h")):
            done = subprocess.run([os.path.join(BIN, "tw-collector"), *args], check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT_S)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn(why, done.stderr.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
