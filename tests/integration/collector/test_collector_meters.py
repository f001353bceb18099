# SPDX-License-Identifier: Apache-2.0
"""tw-collector: meters that are not below powercap or hwmon."""
import json
import os
import shutil
import unittest

from harness import call, need, sanitized, wait_until
from metered import Metered

J = 16384  # of RAPL's counts
# Without GPM, by size.
MIG = "gpu GPU-b A100\nmig\nfail gpm 3\nslice 1 3\nslice 2 1\nin 1 11\nin 2 12\nenergy "


class Meters(Metered):
    def machine(self):
        """One without powercap."""
        args = super().machine()
        shutil.rmtree(self.path("sys/class/powercap"))
        self.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\n"
                                   "cpu family : 6\nmodel : 158\n")
        return args

    def gpu_joules(self, daemon, pid):
        return self.joules(daemon, "tallywatt_process_energy_joules_total", zone="gpu",
                           pid=str(pid))

    def check_sums(self, daemon, zone):
        """Of one answer: what workloads have and what nobody has is the node's."""
        samples = self.samples(daemon)

        def sum_uj(name):
            return sum(round(v * 1e6) for n, has, v in samples
                       if n == name and has["zone"] == zone)
        for level in ("process", "cgroup"):
            self.assertEqual(sum_uj(f"tallywatt_{level}_energy_joules_total") +
                             sum_uj("tallywatt_node_unattributed_joules"),
                             sum_uj("tallywatt_node_energy_joules_total"), (zone, level))
        self.assertIn(("tallywatt_collector_attribution_errors_total", {}, 0.0), samples)
        self.assertGreater(self.check_rows(daemon)["node", zone], 0)

    def test_registers_and_gpus_are_exported_and_no_joule_is_lost(self):
        daemon = self.collect(*self.machine(), "--compat", "kepler-legacy",
                              *self.registers({0x611: 8 * J, 0x619: J, 0x64d: 9 * J}),
                              *self.gpus(MIG + "1000\n"))
        wait_until(lambda: "not moved yet" in self.metrics(daemon), "it has read once")
        self.registers({0x611: 8 * J + 3 * J + 1, 0x619: J + J, 0x64d: 12 * J})
        self.gpus(MIG + "401000\n")
        self.run_until(lambda: self.gpu_joules(daemon, 11) > 0 and
                       self.node_joules(daemon, "dram") == 1 and
                       self.joules(daemon, "tallywatt_node_unattributed_joules",
                                   zone="package") == 0, "all is read")
        self.assertAlmostEqual(self.node_joules(daemon), 3.000061, 9)
        self.assertEqual(self.node_joules(daemon, "psys"), 3)
        first, second = (self.gpu_joules(daemon, pid) for pid in (11, 12))
        self.assertAlmostEqual(first, 300, 3)
        self.assertAlmostEqual(second, 100, 3)
        for zone in ("package", "dram", "psys", "gpu"):
            self.check_sums(daemon, zone)
        # Under Kepler's names: process 11 is in a container, 12 is a VM.
        self.assertEqual(self.joules(daemon, "kepler_container_gpu_joules_total",
                                     container_id="ab" * 32, source="nvml"), first)
        self.assertEqual(self.joules(daemon, "kepler_container_gpu_joules_total"), 400)
        self.assertEqual(self.joules(daemon, "kepler_vm_gpu_joules_total"), second)
        self.assertEqual(self.joules(daemon, "kepler_node_gpu_joules_total",
                                     source="nvml"), 400)
        self.assertIn("nvml:GPU-b", [has["path"] for name, has, _ in self.samples(daemon)
                                     if name == "tallywatt_node_energy_joules_total"])

    def test_gpu_energy_goes_by_the_driver_s_samples(self):
        def gpu(step, extra=""):
            return (f"gpu GPU-a V100\nenergy {1000 * step}\nbusy 80\n"
                    f"use 11 {step} 60 0 0\nuse 12 {step} 20 0 0\n{extra}")
        step = 1
        daemon = self.collect("--compat", "kepler", *self.machine(), *self.gpus(gpu(step)))

        def more():
            nonlocal step
            step += 1
            self.gpus(gpu(step))
            return self.gpu_joules(daemon, 11) >= 3
        wait_until(more, "it is attributed")
        self.check_sums(daemon, "gpu")
        power = json.loads(call(daemon, "GET", "/api/v1/power?level=process").body)
        used = {w["pid"]: z["dynamic_joules"] + z["idle_joules"]
                for w in power["workloads"] for z in w["zones"] if z["zone"] == "gpu"}
        self.assertAlmostEqual(used["11"], 3 * used["12"], 5)
        samples = self.samples(daemon)  # of one answer: a tick may come between two

        def sum_of(name, **labels):
            return sum(v for n, has, v in samples if n == name and labels.items() <= has.items())
        self.assertEqual(sum_of("kepler_node_gpu_joules_total", gpu="0", gpu_uuid="GPU-a",
                                gpu_name="V100", vendor="nvidia"),
                         sum_of("tallywatt_node_energy_joules_total", zone="gpu"))
        # It falls off the bus: a reason, no 0, and what processes had stays.
        self.gpus(gpu(step, "lost\n"))
        wait_until(lambda: self.node_joules(daemon, "gpu") == 0, "it is gone")
        self.assertIn(("gpu-0: NVML: GPU is lost", 0.0), [
            (has["reason"], value) for name, has, value in self.samples(daemon)
            if name == "tallywatt_meter_up" and has["zone"] == "gpu"])
        self.gpus(gpu(step + 7))
        wait_until(lambda: self.node_joules(daemon, "gpu") > 0, "it is back")

    def test_users_are_looked_for_each_second_of_meters_that_appear_later_too(self):
        daemon = self.collect(*self.machine(), "--interval", "3s")
        timers = f"/proc/{daemon.proc.pid}/fdinfo"
        found = []
        for fd in os.listdir(timers):
            with open(f"{timers}/{fd}", encoding="ascii") as info:
                found += [line for line in info if line.startswith("it_interval")]
        self.assertIn("it_interval: (1, 0)\n", found)

    def test_a_gpu_that_is_lost_takes_no_other_one_with_it(self):
        def gpus(step, of_b):
            return (f"gpu GPU-a H100\nenergy {1000 * step}\nbusy 80\nuse 11 {step} 60 0 0\n"
                    f"gpu GPU-b H100\nenergy 1000\n{of_b}")
        step = 1
        daemon = self.collect("--compat", "kepler-legacy", *self.machine(),
                              *self.gpus(gpus(step, "")))

        def more():
            nonlocal step
            step += 1
            self.gpus(gpus(step, "lost\n"))
            return self.gpu_joules(daemon, 11) >= 3
        wait_until(more, "it is attributed")
        self.check_sums(daemon, "gpu")
        self.assertGreaterEqual(self.joules(daemon, "kepler_process_gpu_joules_total", pid="11",
                                            source="nvml"), 3)
        self.assertEqual([(has["uuid"], value) for name, has, value in self.samples(daemon)
                          if name == "tallywatt_meter_up" and has["zone"] == "gpu"],
                         [("GPU-a", 1), ("GPU-b", 0)])

    def test_promtool_has_no_complaint(self):
        gpu = "gpu GPU-a A100\npower 50000\ngpu GPU-b A100\npower 60000\n"
        daemon = self.collect(*self.machine(), "--compat", "kepler", *self.gpus(gpu))
        wait_until(lambda: self.node_joules(daemon, "gpu") > 0, "energy is told")
        self.check_promtool(daemon)

    def test_both_are_read_after_root_is_given_up(self):
        need("root", os.geteuid() == 0)
        if sanitized():
            self.skipTest("who gave up root is not asked for leaks")
        args = [*self.machine(), *self.registers({0x611: 8 * J}), *self.gpus(MIG + "1000\n")]
        os.chmod(self.path("."), 0o755)
        os.chmod(self.path("dev/cpu/0/msr"), 0o400)
        daemon = self.collect("--user", "nobody", *args)
        wait_until(lambda: "not moved yet" in self.metrics(daemon), "it has read once")
        self.registers({0x611: 18 * J})
        self.gpus(MIG + "3000\n")
        wait_until(lambda: self.node_joules(daemon) == 10, "registers are read")
        wait_until(lambda: self.node_joules(daemon, "gpu") == 2, "GPUs are read")

    def test_unknown_sensors_are_exported_and_attributed_to_no_workload(self):
        args = self.machine()
        os.makedirs(self.path("sys/class/hwmon/hwmon1"))
        self.write("sys/class/hwmon/hwmon1/name", "ina226\n")
        self.write("sys/class/hwmon/hwmon1/power1_input", "5000000\n")
        daemon = self.collect(*args)
        wait_until(lambda: self.node_joules(daemon, "sensor") > 0, "it is told")
        named = {has["name"] for name, has, _ in self.samples(daemon)
                 if name == "tallywatt_node_energy_joules_total" and has["zone"] == "sensor"}
        self.assertEqual(named, {"ina226:power1"})
        self.run_until(lambda: self.joules(
            daemon, "tallywatt_process_energy_joules_total", zone="platform") > 0,
            "something is attributed")
        self.assertEqual([name for name, has, _ in self.samples(daemon)
                          if has.get("zone") == "sensor" and "process" in name], [])
        power = json.loads(call(daemon, "GET", "/api/v1/power?level=process").body)
        zones = {z["zone"] for w in power["workloads"] for z in w["zones"]}
        self.assertEqual(zones, {"platform"})

    def test_probe_reports_the_devices(self):
        args = [*self.machine(), *self.registers({0x611: 8 * J}), *self.gpus(MIG + "1000\n")]
        found = json.loads(self.tallywatt("probe", "--json", "--watch", "100ms",
                                          *args))
        meters = {m["name"]: m for m in found["meters"]}
        self.assertTrue(meters["rapl-msr"]["there"])
        self.assertTrue(meters["nvml"]["there"])
        self.assertIn("MIG", meters["nvml"]["zones"][0]["note"])
        self.assertEqual(meters["nvml"]["zones"][0]["zone"], "gpu")
        self.assertIn("cannot open", meters["rapl-sysfs"]["why"])
        self.assertIn("no sensor", meters["hwmon-any"]["why"])


if __name__ == "__main__":
    unittest.main()
