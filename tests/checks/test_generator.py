# SPDX-License-Identifier: Apache-2.0
"""The recorded responses are what the generator makes, and hold to their law."""
import json
import os
import subprocess
import sys
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, TESTS)
import generate_response as generator  # noqa: E402

# With the options beside the generation that each was made with.
RECORDED = {"0.6": [], "0.7": [], "0.10": ["--samples", "40", "--alike"],
            "node-exporter": ["--samples", "40", "--alike"],
            "tallywatt": ["--samples", "40", "--alike"]}
LEGACY = ("0.6", "0.7")
SIZE_MAX = 200000


def record(generation, *args):
    script = os.path.join(TESTS, "generate_response.py")
    return subprocess.run([sys.executable, script, "--generation", generation, *args],
                          stdout=subprocess.PIPE, check=True).stdout


def node_watts(response, component):
    """Watts of each step, modes and packages summed."""
    totals = {}
    for series in response[f"kepler_node_{component}_joules_total"]:
        for t, v in series["values"]:
            totals[t] = totals.get(t, 0.0) + float(v)
    times = sorted(totals)
    return [(totals[b] - totals[a]) / (b - a) for a, b in zip(times, times[1:])]


def node_rates(response, metric):
    """The node's rate of a counter in each step, containers summed."""
    series = response[f"kepler_container_{metric}_total"]
    times = sorted({t for s in series for t, _ in s["values"]})
    rates = dict.fromkeys(times[1:], 0.0)
    for s in series:
        for (t0, v0), (t1, v1) in zip(s["values"], s["values"][1:]):
            rates[t1] += (float(v1) - float(v0)) / (t1 - t0)
    return list(rates.values())


class Generator(unittest.TestCase):
    def test_recorded_responses_equal_the_generator_s(self):
        for generation, options in RECORDED.items():
            name = f"simulated-{generation}.json"
            with open(os.path.join(TESTS, "data", "prom", name), "rb") as f:
                recorded = f.read()
            self.assertEqual(recorded, record(generation, *options), f"{name} is out of date")
            self.assertLess(len(recorded), SIZE_MAX)

    def test_another_seed_gives_another_machine(self):
        self.assertNotEqual(record("0.7"), record("0.7", "--seed", "2"))

    def test_watts_hold_to_the_law_within_the_noise(self):
        for generation in LEGACY:
            response = json.loads(record(generation, "--noise", "0.25"))
            rates = [node_rates(response, m) for m in generator.COUNTERS]
            package, dram = (node_watts(response, c) for c in ("package", "dram"))
            for i, values in enumerate(zip(*rates)):
                law = generator.power_w(dict(zip(generator.COUNTERS, values)))
                self.assertLess(abs(law["package"] - package[i]), 0.26)
                self.assertLess(abs(law["dram"] - dram[i]), 0.26)

    def test_packages_add_up_to_the_machine_and_differ(self):
        for packages in (1, 2, 3):
            response = json.loads(record("0.7", "--packages", str(packages), "--noise", "0"))
            alone = json.loads(record("0.7", "--noise", "0"))
            for component in generator.COMPONENTS:
                for whole, watts in zip(node_watts(alone, component),
                                        node_watts(response, component)):
                    self.assertAlmostEqual(whole, watts, delta=0.003)
            gauge = response[generator.PACKAGE_USE]
            self.assertEqual(len(gauge), 4 * packages)
            seconds = 3 * generator.CORES * sum(
                float(v) for s in gauge for _, v in s["values"])
            cpu_ms = sum(float(s["values"][-1][1]) for s in
                         response["kepler_container_bpf_cpu_time_ms_total"])
            self.assertAlmostEqual(seconds, cpu_ms / 1000, delta=0.001)
            first = [sum(float(s["values"][-1][1]) for s in response[
                "kepler_node_package_joules_total"] if s["metric"]["package"] == p)
                for p in map(str, range(packages))]
            self.assertGreaterEqual(max(first) / min(first), 1 if packages == 1 else 1.05)

    def test_power_varies_and_containers_come_and_go(self):
        response = json.loads(record("0.7"))
        package = node_watts(response, "package")
        self.assertGreater(max(package) - min(package), 20)
        lives = {len(s["values"])
                 for s in response["kepler_container_cpu_cycles_total"]}
        self.assertGreater(len(lives), 2)

    def test_alike_machines_hold_to_the_law_by_processor_time(self):
        response = json.loads(record("0.7", "--alike", "--noise", "0"))
        package = node_watts(response, "package")
        busy = [ms / 1000 for ms in node_rates(response, "bpf_cpu_time_ms")]
        for watts, cpus in zip(package, busy):
            law = 40 + (30 * 1.5 + 12) * cpus * generator.MAX_HZ / 1e10
            self.assertLess(abs(law - watts), 0.01)

    def test_every_exporter_yields_the_same_cpu_time_and_energy(self):
        legacy, kepler, node, ours = (
            json.loads(record(g, "--alike")) for g in
            ("0.7", "0.10", "node-exporter", "tallywatt"))

        def last(response, metric, **labels):
            return sum(float(s["values"][-1][1]) for s in response[metric]
                       if labels.items() <= s["metric"].items())

        seconds = last(legacy, "kepler_container_bpf_cpu_time_ms_total") / 1000
        joules = last(legacy, "kepler_node_package_joules_total")
        for metric in ("process", "container"):
            self.assertAlmostEqual(
                seconds, last(kepler, f"kepler_{metric}_cpu_seconds_total"), delta=0.05)
        busy = last(node, "node_cpu_seconds_total") - \
            last(node, "node_cpu_seconds_total", mode="idle")
        self.assertAlmostEqual(seconds, busy, delta=0.5)
        for level in ("process", "container"):
            self.assertAlmostEqual(
                seconds, last(ours, f"tallywatt_{level}_cpu_seconds_total"), delta=0.01)
        self.assertAlmostEqual(seconds, last(ours, "tallywatt_node_cpu_seconds_total"),
                               delta=0.5)
        self.assertAlmostEqual(
            joules, last(ours, "tallywatt_node_energy_joules_total", zone="package"),
            delta=0.1)
        self.assertAlmostEqual(
            joules, last(kepler, "kepler_node_cpu_joules_total", zone="package"), delta=0.1)
        self.assertAlmostEqual(
            joules, last(node, "node_rapl_package_joules_total"), delta=0.1)

    def test_each_fault_changes_the_response(self):
        whole = record("0.7")
        for fault in generator.FAULTS:
            with self.subTest(fault=fault):
                self.assertNotEqual(record("0.7", "--fault", fault), whole)


if __name__ == "__main__":
    unittest.main()
