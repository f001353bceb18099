# SPDX-License-Identifier: Apache-2.0
"""Models of every feature group of the old model database, from a response of Kepler 0.5 to
0.7 whose metrics have all of its features."""
import csv
import io
import json
import os
import unittest

from harness import Case, read_json

START, STEP_S, TIMES = 1700000000, 3, 80
CONTAINERS = ("aa" * 32, "bb" * 32)
# What each container does a second at a load of 1.
COUNTERS = {
    "bpf_cpu_time_ms": 1000, "cpu_cycles": 3e9, "cpu_instructions": 4e9, "cache_miss": 2e6,
    "bpf_page_cache_hit": 500, "bpf_block_irq": 10, "bpf_net_rx_irq": 20, "bpf_net_tx_irq": 30,
    "cgroupfs_cpu_usage_us": 1e6, "cgroupfs_memory_usage_bytes": 4096,
    "cgroupfs_system_cpu_usage_us": 3e5, "cgroupfs_user_cpu_usage_us": 7e5,
    "kubelet_cpu_usage": 1, "kubelet_memory_bytes": 8192,
}
GROUPS = {
    "CgroupOnly": ["cgroupfs_cpu_usage_us", "cgroupfs_memory_usage_bytes",
                   "cgroupfs_system_cpu_usage_us", "cgroupfs_user_cpu_usage_us"],
    "KubeletOnly": ["kubelet_cpu_usage", "kubelet_memory_bytes"],
    "AcceleratorOnly": ["accelerator_intel_qat"],
    "WorkloadOnly": ["accelerator_intel_qat", "bpf_block_irq", "bpf_cpu_time_ms",
                     "bpf_net_rx_irq", "bpf_net_tx_irq", "bpf_page_cache_hit", "cache_miss",
                     "cpu_cycles", "cpu_instructions"],
}
GROUPS["Full"] = sorted(GROUPS["WorkloadOnly"] + ["cpu_scaling_frequency_hertz", "node_info"])


def load_at(container, step):
    """Loads of the containers change apart, from 0 to 0.75."""
    return ((step * (3 + 4 * container)) % 16) / 20


def watts_at(step):
    return 10 + 40 * sum(load_at(c, step) for c in range(2))


def series(values, **labels):
    return {"metric": {"job": "metrics", "instance": "kepler:9102", **labels},
            "values": [[START + i * STEP_S, f"{v:.12g}"] for i, v in enumerate(values)]}


def total(rates):
    """A counter whose rate in the step before sample i is rates[i]."""
    values = [1e6]
    for rate in rates[1:]:
        values.append(values[-1] + rate * STEP_S)
    return values


def make_response():
    response = {f"kepler_container_{name}_total": [
        series(total([most * load_at(c, i) for i in range(TIMES)]),
               container_id=id_, pod_name=f"p{c}", container_name="c", container_namespace="n")
        for c, id_ in enumerate(CONTAINERS)] for name, most in COUNTERS.items()}
    loads = [sum(load_at(c, i) for c in range(2)) for i in range(TIMES)]
    # Two devices, of which one works: the feature is the mean of the gauges.
    response["kepler_node_accelerator_intel_qat"] = [
        series([100 * load for load in loads], qatDevID="0", source="intel_qat", type="sym"),
        series([0] * TIMES, qatDevID="1", source="intel_qat", type="sym")]
    response["kepler_node_cpu_scaling_frequency_hertz"] = [
        series([hertz] * TIMES, cpu=str(cpu)) for cpu, hertz in enumerate((1e9, 3e9))]
    response["kepler_node_node_info"] = [series([1] * TIMES, cpu_architecture="Skylake")]
    watts = [watts_at(i) for i in range(TIMES)]
    for component, share in (("package", 1), ("core", 0.5), ("uncore", 0.1), ("dram", 0.2)):
        response[f"kepler_node_{component}_joules_total"] = [
            series(total([w * share for w in watts]), source="rapl-sysfs", mode="dynamic",
                   package="0")]
    return response


class OldGroups(Case):
    def setUp(self):
        super().setUp()
        self.response = self.write("response.json", json.dumps(make_response()))

    def test_rows_have_rates_of_workloads_and_values_of_gauges(self):
        text = self.tallywatt("extract", "--input", self.response, "--group", "Full")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(rows), TIMES - 1)
        for step in (5, 40, TIMES - 2):
            row = rows[step]
            load = sum(load_at(c, step + 1) for c in range(2))
            self.assertAlmostEqual(float(row["cpu_cycles"]), 3e9 * load, delta=100)
            self.assertAlmostEqual(float(row["accelerator_intel_qat"]), 50 * load, places=5)
            self.assertEqual(float(row["cpu_scaling_frequency_hertz"]), 2e9)
            self.assertEqual(float(row["node_info"]), 1)
            self.assertAlmostEqual(float(row["package_power"]), 10 + 40 * load, delta=1e-3)
        line = self.refused("extract", "--input", self.response, "--group", "Full",
                            "--level", "container")
        self.assertIn("Full with these metrics has no features of containers", line)

    def test_memory_that_is_freed_is_no_reset(self):
        response = read_json(self.response)
        for metric in ("cgroupfs_memory_usage_bytes", "kubelet_memory_bytes"):
            for s in response[f"kepler_container_{metric}_total"]:
                s["values"][40][1] = "5"
        falls = self.write("falls.json", json.dumps(response))
        for group in ("CgroupOnly", "KubeletOnly"):
            rows = self.tallywatt("extract", "--input", falls, "--group", group).splitlines()
            # The memory that is taken again within a step may count as a glitch.
            self.assertGreaterEqual(len(rows), TIMES - 1)
        response["kepler_container_kubelet_cpu_usage_total"][0]["values"][40][1] = "5"
        resets = self.write("resets.json", json.dumps(response))
        self.assertIn("counter falls from", self.refused(
            "extract", "--input", resets, "--group", "KubeletOnly", "--resets", "refuse"))

    def test_every_group_trains_and_predicts_the_law(self):
        db = self.path("db")
        os.makedirs(db)
        more = ["--input", self.response, "--name", "old", "--model-db", db,
                "--trainers", "LinearRegressionTrainer", "--isolator", "MinIdleIsolator"]
        self.tallywatt("train", *more)
        # No present Kepler has their features: they are trained if they are asked for.
        for group in ("CgroupOnly", "KubeletOnly"):
            self.assertFalse(os.path.exists(os.path.join(db, "old/rapl-sysfs/AbsPower", group)))
            self.tallywatt("train", *more, "--group", group)
        place = os.path.join(db, "old/rapl-sysfs")
        for group, features in GROUPS.items():
            for output, idle in (("AbsPower", 10), ("DynPower", 0)):
                model = os.path.join(place, output, group, "LinearRegressionTrainer_0")
                self.assertEqual(read_json(os.path.join(model, "metadata.json"))["features"],
                                 features)
                for load in (0.3, 1.2):
                    values = [self.value(name, load) for name in features]
                    answer = self.tallywatt("estimate", "--model", model, "--metrics",
                                            ",".join(features), "--values",
                                            ",".join(str(v) for v in values))
                    package = float(answer.splitlines()[-1].split()[1])
                    # The data have no noise: what is left is of the isolator's rest.
                    self.assertAlmostEqual(package, idle + 40 * load, delta=0.2,
                                           msg=f"{group} {output} {load}: {answer}")

    @staticmethod
    def value(feature, load):
        gauges = {"accelerator_intel_qat": 50 * load, "node_info": 1,
                  "cpu_scaling_frequency_hertz": 2e9}
        return gauges[feature] if feature in gauges else COUNTERS[feature] * load


if __name__ == "__main__":
    unittest.main()
