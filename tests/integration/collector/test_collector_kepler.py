# SPDX-License-Identifier: Apache-2.0
"""tw-collector under the names of both generations of Kepler."""
import os
import re
import shutil
import subprocess
import time
import unittest

from harness import call, need, shared, wait_until
from kepler_series import (BOTH, COMPLAINTS, COMPLAINTS_OLD, COUNTED, KEPLER, LEGACY,
                           LEVELS, OLD, as_found, find)
from metered import RANGE, Metered
from test_collector import bpf_works

CONTAINER = "ab" * 32
POD = "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e"
CGROUP = (f"kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/"
          f"cri-containerd-{CONTAINER}.scope")
GPU = "gpu GPU-a A100\npower 50000\nmig\nhold 11 4096\nhold 12 4096\n"
CPUACCT = "/sys/fs/cgroup/cpuacct"


class Kepler(Metered):
    def cgroup(self):
        """What the kernel tells of the container, by version 2."""
        os.makedirs(self.path("sys/fs/cgroup", CGROUP), exist_ok=True)
        for file, text in (("cpu.stat", "usage_usec 3000001\nuser_usec 2000000\n"
                                        "system_usec 1000001\nnr_periods 0\n"),
                           ("memory.current", "10485760\n"),
                           ("memory.stat", "anon 8192\ninactive_file 485760\n")):
            self.write(f"sys/fs/cgroup/{CGROUP}/{file}", text)

    def run_machine(self, *args):
        machine = self.machine()
        self.cgroup()
        daemon = self.collect(*args, "--node-name", "here", *machine, *self.gpus(GPU))
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.rapl(1100000)
        self.run_until(lambda: self.energy_of_all(daemon) and self.joules(
            daemon, "tallywatt_node_energy_joules_total", zone="gpu") > 0,
            "energy is attributed")
        return daemon

    def found(self, daemon):
        text = self.metrics(daemon)
        types = dict(re.findall(r"^# TYPE (kepler_\w+) (\w+)$", text, re.M))
        return find(self.parse(text), types)

    def labels(self, daemon, name, **some):
        return [has for n, has, _ in self.samples(daemon)
                if n == name and some.items() <= has.items()]

    def values(self, daemon, name):
        return {tuple(sorted(has.items())): value for n, has, value in self.samples(daemon)
                if n == name}

    def check_series(self, wanted, *args):
        daemon = self.run_machine("--compat", *args)
        self.maxDiff = None
        self.assertEqual(self.found(daemon), as_found(wanted))
        return daemon

    def test_exactly_the_series_of_0_10_are_exported(self):
        daemon = self.check_series(KEPLER, "kepler")
        one = self.labels(daemon, "kepler_node_cpu_info")[0]
        self.assertEqual(one, {
            "processor": "0", "vendor_id": "GenuineIntel", "model_name": 'A \\"Xeon\\"',
            "physical_id": "1", "core_id": "2", "node_name": "here"})
        zones = self.labels(daemon, "kepler_node_cpu_joules_total")
        self.assertEqual({has["zone"] for has in zones},
                         {"package", "core", "uncore", "dram", "psys"})
        self.assertEqual({os.path.basename(has["path"]) for has in zones},
                         {"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:0:1",
                          "intel-rapl:0:2", "intel-rapl:1"})
        self.assertEqual(self.labels(daemon, "kepler_process_cpu_seconds_total", pid="11"), [
            {"pid": "11", "comm": "job", "exe": "", "type": "container",
             "container_id": CONTAINER, "vm_id": "", "node_name": "here"}])
        self.assertEqual(self.labels(daemon, "kepler_process_cpu_joules_total", pid="12",
                                     zone="core")[0], {
            "pid": "12", "comm": "job", "exe": "", "type": "vm", "container_id": "",
            "vm_id": "web", "node_name": "here", "state": "running", "zone": "core"})
        self.assertEqual(self.labels(daemon, "kepler_container_cpu_watts", zone="dram"), [
            {"container_id": CONTAINER, "container_name": "", "runtime": "containerd",
             "pod_id": POD, "state": "running", "zone": "dram", "node_name": "here"}])
        self.assertEqual(self.labels(daemon, "kepler_vm_cpu_watts", zone="psys"), [
            {"vm_id": "web", "vm_name": "web", "hypervisor": "kvm", "state": "running",
             "zone": "psys", "node_name": "here"}])
        self.assertEqual(self.labels(daemon, "kepler_platform_watts"), [
            {"source": "acpi", "bmc_id": "", "chassis_id": "power1", "node_name": "here"}])
        self.assertEqual(self.labels(daemon, "kepler_node_gpu_watts"), [
            {"gpu": "0", "gpu_uuid": "GPU-a", "gpu_name": "A100", "vendor": "nvidia",
             "node_name": "here"}])

    def test_a_container_without_a_name_has_what_kepler_reads_as_hostname(self):
        cgroup = f"/system.slice/docker-{'0123456789abcdef' * 4}.scope"
        self.run_shell(1, 1, cgroup)
        daemon = self.run_machine("--compat", "kepler")
        self.run_shell(1, 51, cgroup)
        wait_until(lambda: {(has["runtime"], has["container_name"]) for has in self.labels(
            daemon, "kepler_container_cpu_watts")} == {
                ("docker", "0123456789ab"), ("containerd", "")}, "both are exported")

    def test_sockets_are_one_series(self):
        machine = self.machine()
        for file, value in (("name", "package-1"), ("energy_uj", 1000000),
                            ("max_energy_range_uj", 262143328850)):
            os.makedirs(self.path("sys/class/powercap/intel-rapl:2"), exist_ok=True)
            self.write(f"sys/class/powercap/intel-rapl:2/{file}", f"{value}\n")
        daemon = self.collect(*machine, "--compat", "kepler")
        wait_until(lambda: {"package-0", "package-1"} <= {
            has["name"] for has in self.labels(daemon, "tallywatt_meter_info")},
                   "both are read")
        self.rapl(1500000)
        self.exchange("sys/class/powercap/intel-rapl:2/energy_uj", "1250000\n")
        wait_until(lambda: self.node_joules(daemon, "package") == 0.75, "both have energy")
        (labels, value), = [(has, value) for name, has, value in self.samples(daemon)
                            if name == "kepler_node_cpu_joules_total" and
                            has["zone"] == "package"]
        self.assertEqual((labels["path"], value), ("aggregated-package", 0.75))
        build, = self.labels(daemon, "kepler_build_info")
        self.assertRegex(build["version"], "^tallywatt ")

    def test_exactly_the_series_of_0_9_are_exported(self):
        daemon = self.check_series(LEGACY, "kepler-legacy")
        self.assertEqual(self.labels(daemon, "kepler_node_info"), [
            {"cpu_architecture": os.uname().machine, "components_power_source": "rapl-sysfs",
             "platform_power_source": "acpi", "source": "tallywatt"}])
        for zone in ("package", "core", "uncore", "dram"):
            self.assertEqual(
                self.labels(daemon, f"kepler_node_{zone}_joules_total"),
                [{"package": "0", "instance": "here", "mode": mode, "source": "rapl-sysfs"}
                 for mode in ("dynamic", "idle")])
        self.assertEqual({(has["package"], has["source"]) for has in
                          self.labels(daemon, BOTH)}, {("0", "nvml")})
        self.assertEqual({has["source"] for has in
                          self.labels(daemon, "kepler_process_joules_total")}, {""})
        self.assertEqual({has["source"] for has in
                          self.labels(daemon, "kepler_container_bpf_cpu_time_ms_total")},
                         {"bpf"})

    def test_dies_of_a_package_are_that_package_and_its_architecture_is_named(self):
        machine = self.machine()
        self.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\n"
                                   "cpu family : 6\nmodel : 85\nstepping : 7\n")
        shutil.rmtree(self.path("sys/class/powercap"))
        self.dies(0)
        daemon = self.collect("--compat", "kepler-legacy", *machine)
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.dies(1500000)
        wait_until(lambda: self.node_joules(daemon) == 3, "it is read")
        for zone in ("package", "dram"):
            self.assertEqual(sum(self.values(
                daemon, f"kepler_node_{zone}_joules_total").values()), 3)
            self.assertEqual([has["package"] for has in self.labels(
                daemon, f"kepler_node_{zone}_joules_total")], ["0", "0"])
        self.assertEqual([has["cpu_architecture"] for has in
                          self.labels(daemon, "kepler_node_info")], ["Cascade Lake"])

    def dies(self, uj):
        for die in (0, 1):
            for name, zone in ((f"intel-rapl:{die}", f"package-0-die-{die}"),
                               (f"intel-rapl:{die}:0", "dram")):
                base = f"sys/class/powercap/{name}"
                os.makedirs(self.path(base), exist_ok=True)
                for file, value in (("name", zone), ("energy_uj", 1000000 + uj),
                                    ("max_energy_range_uj", RANGE)):
                    self.exchange(f"{base}/{file}", f"{value}\n")

    def test_system_and_kernel_complete_the_machine_s_sum(self):
        def others(ticks):
            for pid, flags, comm in ((13, 0, "sh"), (14, 0x200000, "kworker/0:1")):
                os.makedirs(self.path(f"proc/{pid}"), exist_ok=True)
                self.write(f"proc/{pid}/cgroup", "0::/\n")
                self.exchange(f"proc/{pid}/stat",
                              f"{pid} ({comm}) S 1 1 1 0 -1 {flags} 1 2 3 4 {ticks} 0 0 0 20 "
                              "0 1 0 500 1\n")
        others(10)
        daemon = self.run_machine("--compat", "kepler-legacy")
        others(90)
        container, process = ("kepler_container_bpf_cpu_time_ms_total",
                              "kepler_process_bpf_cpu_time_ms_total")
        wait_until(lambda: self.joules(daemon, container,
                                       container_id="kernel_processes") == 800, "it is told")
        self.assertEqual({(has["container_id"], has["pod_name"], has["container_name"],
                           has["container_namespace"])
                          for has in self.labels(daemon, container)}, {
            (CONTAINER, "", "", ""),
            ("system_processes", "system_processes", "system_processes", "system"),
            ("kernel_processes", "kernel_processes", "kernel_processes", "kernel")})
        self.assertEqual({has["pid"]: has["container_id"] for has in
                          self.labels(daemon, process)},
                         {"11": CONTAINER, "12": "system_processes",
                          "13": "system_processes", "14": "kernel_processes"})
        self.run_until(lambda: self.joules(daemon, "tallywatt_node_unattributed_joules",
                                           zone="package") == 0, "all is attributed")
        samples = self.samples(daemon)
        for zone in ("package", "dram", "platform"):
            def sum_uj(level, zone=zone, samples=samples):
                return sum(round(v * 1e6) for n, _, v in samples
                           if n == f"kepler_{level}_{zone}_joules_total")
            waiting = sum(round(v * 1e6) for n, has, v in samples
                          if n == "tallywatt_node_unattributed_joules"
                          and has["zone"] == zone)
            self.assertEqual(sum_uj("container") + waiting, sum_uj("node"), zone)
        self.assertEqual(sum(v for n, _, v in samples if n == container),
                         sum(v for n, _, v in samples if n == process))

    def assert_no_series_twice(self, daemon, pid="", seconds=0.0):
        """Of one scrape; the process of that pid has had so much CPU time."""
        told = [((name, *sorted(has.items())), value)
                for name, has, value in self.samples(daemon)]
        names = [name for name, _ in told]
        self.assertEqual([name for name in names if names.count(name) > 1], [])
        self.assertEqual(sum(value for name, value in told if ("pid", pid) in name
                             and name[0] == "kepler_process_cpu_seconds_total"), seconds)

    def test_two_meters_of_one_name_are_two_series(self):
        machine = self.machine()
        for supply in (1, 2):  # beside the power meter of the machine
            os.makedirs(self.path(f"sys/class/hwmon/hwmon{supply}"))
            for file, text in (("name", "corsairpsu"), ("power1_label", "power total"),
                               ("power1_input", "70000000")):
                self.write(f"sys/class/hwmon/hwmon{supply}/{file}", text + "\n")
        daemon = self.collect("--compat", "kepler,kepler-legacy", *machine)
        wait_until(lambda: len(self.labels(daemon, "kepler_platform_watts")) == 3, "it ticks")
        self.assert_no_series_twice(daemon)

    def run_shell(self, start, ticks, cgroup="/"):
        """Process 13; with another start it is another one."""
        os.makedirs(self.path("proc/13"), exist_ok=True)
        self.write("proc/13/cgroup", f"0::{cgroup}\n")
        self.exchange("proc/13/stat", f"13 (sh) S 1 1 1 0 -1 0 1 2 3 4 {ticks} 0 0 0 20 0 1 0 "
                                      f"{start} 1\n")

    def shells(self, daemon):
        """(ended, CPU time in ms) of each process 13. To ask for that is no scrape."""
        told = call(daemon, "GET", "/api/v1/power?level=process").json()["workloads"]
        return [(w["ended"], w["cpu_time_ms"]) for w in told if w["pid"] == "13"]

    def test_a_reused_pid_follows_the_earlier_process(self):
        start = int(time.clock_gettime(time.CLOCK_BOOTTIME) * 100) + 100000
        self.run_shell(start, 1)
        daemon = self.run_machine("--compat", "kepler,kepler-legacy", "--keep-ended=8s")
        self.run_shell(start, 51)
        wait_until(lambda: self.shells(daemon) == [(False, 500)], "it has run")
        self.run_shell(start + 1, 0)
        wait_until(lambda: self.shells(daemon) == [(True, 500)], "it has ended")
        self.run_shell(start + 1, 30)
        wait_until(lambda: self.shells(daemon) == [(True, 500), (False, 300)],
                   "the next has run")
        self.assert_no_series_twice(daemon, pid="13", seconds=0.5)
        wait_until(lambda: self.shells(daemon) == [(False, 300)], "the first is forgotten")
        self.assert_no_series_twice(daemon, pid="13", seconds=0.3)

    def test_the_series_of_0_5_are_exported_on_request(self):
        daemon = self.check_series({**LEGACY, **OLD}, "kepler-0.5")
        its = (("container_id", CONTAINER), ("container_name", ""),
               ("container_namespace", ""), ("pod_name", ""), ("source", "cgroup"))
        for name, value in (("cgroupfs_cpu_usage_us", 3000001),
                            ("cgroupfs_user_cpu_usage_us", 2000000),
                            ("cgroupfs_system_cpu_usage_us", 1000001),
                            ("cgroupfs_memory_usage_bytes", 10485760),
                            ("kubelet_cpu_usage", 3.000001),
                            ("kubelet_memory_bytes", 10000000)):
            self.assertEqual(self.values(daemon, f"kepler_container_{name}_total"),
                             {its: value}, name)
        self.assertEqual(
            self.joules(daemon, "kepler_process_bpf_cpu_time_us_total", pid="11"),
            self.joules(daemon, "kepler_process_bpf_cpu_time_ms_total", pid="11"))

    def test_of_both_together_only_one_name_is_the_older_s(self):
        self.check_series({**KEPLER, **LEGACY}, "kepler,kepler-legacy")

    def test_promtool_complains_of_kepler_s_own_names_only(self):
        for names, wanted in (("kepler", set()), ("kepler-legacy", COMPLAINTS),
                              ("kepler,kepler-legacy", COMPLAINTS),
                              ("kepler-0.5", COMPLAINTS | COMPLAINTS_OLD),
                              ("kepler,kepler-0.5", COMPLAINTS | COMPLAINTS_OLD)):
            with self.subTest(names):
                daemon = self.run_machine("--compat", names)
                self.check_promtool(daemon, wanted)
                daemon.stop()

    def container(self):
        """A real one, with a process that runs; its pid."""
        path = os.path.join(CPUACCT, f"tallywatt-test-{os.getpid()}")
        inner = os.path.join(path, f"docker-{CONTAINER}.scope")
        try:
            os.makedirs(inner)
        except OSError:
            need("cgroups", False)
        self.addCleanup(os.rmdir, path)
        self.addCleanup(os.rmdir, inner)
        child = subprocess.Popen(["/bin/sh", "-c", "while :; do :; done"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        with open(os.path.join(inner, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(child.pid))
        return child.pid

    def run_counted(self):
        """On this machine, with what only its kernel can count; ready once all is told."""
        need("bpf", bpf_works())
        need("cgroups", os.access(CPUACCT, os.W_OK))
        self.container()
        self.start_vm()
        daemon = self.start_http("tw-collector", "--interval", "100ms", "--user", "root",
                                 "--filter=no", "--cgroups", "v1", "--meters", "fake",
                                 "--top=0", "--counters", "software", "--trace",
                                 "page-cache,softirqs", "--compat", "kepler-legacy")
        wait_until(lambda: COUNTED.keys() <= self.found(daemon).keys(), "all is told")
        return daemon

    def test_only_counters_that_exist_are_exported_at_each_level(self):
        found = {name: it for name, it in self.found(self.run_counted()).items()
                 if name in COUNTED or "_joules" not in name}
        wanted = {name: it for name, it in {**LEGACY, **COUNTED}.items()
                  if "_joules" not in name}
        self.assertEqual(found, as_found(wanted))

    def test_promtool_complains_of_no_count(self):
        self.check_promtool(self.run_counted(), COMPLAINTS)


def expand(name):
    """a_{b,c}_d: both."""
    match = re.search(r"\{([^}]*)\}", name)
    if not match:
        return [name]
    return [one for part in match[1].split(",")
            for one in expand(name[:match.start()] + part.strip() + name[match.end():])]


def rows_of(text, heading):
    """The rows of the table below a heading: cells."""
    part = re.split(r"^## ", text.split(heading, 1)[1], maxsplit=1, flags=re.M)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in part.splitlines() if line.startswith("|")]
    return part, rows[2:]


def names_of(cell):
    """`kepler_a_b_joules_total`, `_watts`: the second is kepler_a_b_watts."""
    names = []
    for text in re.findall(r"`([^`]+)`", cell):
        if text.startswith("kepler_"):
            first = expand(text)
            names += first
            stem = re.match(r"kepler_[a-z]+_[a-z]+", text)[0]
        elif text.endswith("_"):
            names += [stem + text + name[len(stem) + 1:] for name in first]
        else:
            names.append(stem + text)
    return names


class Design(unittest.TestCase):
    """The list above is that of the design, name by name."""

    def setUp(self):
        with open(shared("design", "metrics.md"), encoding="utf-8") as f:
            self.text = f.read()

    def test_0_10(self):
        _, rows = rows_of(self.text, "## 2. ")
        found, before = {}, set()
        for names, its in rows:
            labels = set(re.findall(r"`([^`]+)`", its))
            if its.startswith("the same less"):
                labels = before - labels
            before = labels
            for name in names_of(names):
                found[name] = labels | {"node_name"}
        # Not one of power: dashboards ask for it.
        self.assertEqual({*KEPLER} - {*found}, {"kepler_build_info"})
        self.assertEqual(found, {name: set(KEPLER[name][1].split()) for name in found})

    def test_0_5_to_0_9(self):
        part, rows = rows_of(self.text, "## 1. ")
        labels = {level: set(re.findall(r"`([^`]+)`", its)) for level, its in rows}
        self.assertEqual({level: its - {"mode"} for level, its in labels.items()
                          if level != "node"},
                         {level: set(its.split()) for level, its in LEVELS.items()})
        series = {**LEGACY, **COUNTED, **OLD}
        for name, (_, its) in series.items():
            level = name.split("_")[1]
            if "_joules_" in name:
                self.assertEqual(set(its.split()), labels[level], name)
        listed = set()
        for text in re.findall(r"`([^`]+)`", part):
            if text.startswith("kepler_<level>_"):
                listed |= {name for level in labels
                           for name in expand(text.replace("<level>", level))}
            elif text.startswith("kepler_") and text.endswith("_total"):
                listed.add(text)
            elif text.startswith("_") and text.endswith("_total"):
                listed |= {f"kepler_{level}{text}" for level in LEVELS}
            elif text.startswith("bpf_"):
                listed |= {f"kepler_{level}_{text}" for level in LEVELS}
            elif text.startswith("kepler_node_info{"):
                listed.add("kepler_node_info")
                self.assertEqual(set(series["kepler_node_info"][1].split()),
                                 set(text.split("{")[1].rstrip("}").split(",")))
        # Usage is of workloads; cgroups and the kubelet told of containers.
        listed = {name for name in listed
                  if not (name.startswith("kepler_node_") and "_joules" not in name
                          and name != "kepler_node_info")
                  and not re.match("kepler_(process|vm)_cgroupfs", name)}
        self.assertEqual(listed - set(series), set())
        self.assertEqual({name for name in series if "_kubelet_" not in name
                          and not re.search("_(user|system)_cpu_usage", name)} - listed, set())
        self.assertIn("`_kubelet_*`", part)


if __name__ == "__main__":
    unittest.main()
