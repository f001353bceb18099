# SPDX-License-Identifier: Apache-2.0
"""tw-collector: energy, from meters to /metrics."""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
import urllib.request

from harness import BIN, ROOT, call, children, health, need, sanitized, wait_until
from metered import Metered
from sources import free_port

VM = "11111111-2222-3333-4444-555555555555"


class Power(Metered):
    def test_energy_of_all_workloads_is_the_node_s_to_the_microjoule(self):
        daemon = self.collect(*self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        for step in range(1, 4):
            self.rapl(1000000 + 333333 * step)
            self.run_until(lambda: abs(self.node_joules(daemon) - 0.333333 * step) < 1e-9,
                       "it is read")
        self.run_until(lambda: self.joules(daemon, "tallywatt_node_unattributed_joules",
                                           zone="package") == 0, "all is attributed")
        samples = self.samples(daemon)
        for level in ("process", "cgroup"):
            uj = sum(round(v * 1e6) for n, has, v in samples
                     if n == f"tallywatt_{level}_energy_joules_total"
                     and has["zone"] == "package")
            self.assertEqual(uj, 999999, level)
        self.assertIn(("tallywatt_collector_attribution_errors_total", {}, 0.0), samples)

    def test_rows_of_each_level_and_the_rest_are_the_node_s_energy(self):
        """With rows beyond --top, and processes that have gone."""
        daemon = self.collect("--top", "1", "--keep-ended", "1s", *self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        for step in range(1, 4):
            self.rapl(1000000 + 333333 * step)
            self.run_until(lambda: self.check_rows(daemon).get(("node", "package")) ==
                           333333 * step, "it is read")
        self.run_until(lambda: self.check_rows(daemon)["rest of node", "package"] == 0,
                       "all is attributed")
        uj = self.check_rows(daemon)
        self.assertGreater(uj["rest of process", "package"], 0)
        # The process in the container is not in the VM, and the other way round.
        self.assertGreater(uj["rest of container", "package"], 0)
        self.assertGreater(uj["rest of vm", "package"], 0)
        for pid in (11, 12):
            shutil.rmtree(self.path(f"proc/{pid}"))

        def gone():
            self.check_rows(daemon)
            self.metrics(daemon)
            return call(daemon, "GET", "/api/v1/power?level=process").json()["workloads"] == []
        wait_until(gone, "both have gone")
        self.assertEqual(self.check_rows(daemon)["rest of process", "package"], 999999)

    def test_energy_of_unknown_idle_power_is_said_to_have_it(self):
        daemon = self.collect(*self.machine())

        def known(zone="package"):
            """By /metrics, and by the answer: of the zone, and of the kind."""
            answer = call(daemon, "GET", "/api/v1/power").json()
            return (self.joules(daemon, "tallywatt_node_idle_power_known", zone=zone),
                    [z["idle_known"] for z in answer["workloads"][0]["zones"]
                     if z["zone"] == zone and z["used"]], zone in answer["idle_unknown"])

        def moves():
            self.rapl(self.uj + 100000)
            return self.node_joules(daemon) > 0
        wait_until(moves, "it is read")
        self.assertEqual(known(), (0, [False], True))
        self.assertNotIn("tallywatt_node_idle_power_watts{", self.metrics(daemon))
        head = self.tallywatt("top", "--url", f"http://{daemon.address}", "--once")
        self.assertIn("idle power not known yet", head)
        # Some seconds of rest have the idle power.
        wait_until(lambda: moves() and known() == (1, [True], False), "it is learned")

    def test_a_lost_meter_has_a_reason_and_no_energy(self):
        daemon = self.collect(*self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.rapl(1500000)
        wait_until(lambda: self.node_joules(daemon) == 0.5, "it is read")
        shutil.rmtree(self.path("sys/class/powercap/intel-rapl:0"))
        wait_until(lambda: self.node_joules(daemon) == 0, "it is gone")
        reasons = [has["reason"] for name, has, value in self.samples(daemon)
                   if name == "tallywatt_meter_up" and value == 0 and has["zone"] == "package"]
        self.assertEqual(len(reasons), 1)
        self.assertIn("cannot open", reasons[0])
        self.rapl(1700000)
        wait_until(lambda: abs(self.node_joules(daemon) - 0.7) < 1e-9, "it is back")

    def test_a_counter_that_is_root_s_is_read_after_root_is_given_up(self):
        need("root", os.geteuid() == 0)
        if sanitized():
            self.skipTest("who gave up root is not asked for leaks")
        args = self.machine()
        os.chmod(self.path("."), 0o755)
        os.chmod(self.path("sys/class/powercap/intel-rapl:0/energy_uj"), 0o400)
        daemon = self.collect("--user", "nobody", *args)
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        with open(self.path("sys/class/powercap/intel-rapl:0/energy_uj"), "r+",
                  encoding="ascii") as f:
            f.write("1200000\n")
        wait_until(lambda: abs(self.node_joules(daemon) - 0.2) < 1e-9, "it is read")

    def test_a_head_request_is_no_scrape(self):
        daemon = self.collect(*self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.run_processes(200)

        def process():
            told = call(daemon, "GET", "/api/v1/power?level=process").json()["workloads"]
            return [w for w in told if w["pid"] == "11"]

        def ticks():
            return health(daemon)["ticks"]

        wait_until(lambda: process() and process()[0]["cpu_time_ms"] == 1000, "it has run")
        shutil.rmtree(self.path("proc/11"))
        wait_until(lambda: process()[0]["ended"], "it has ended")
        self.assertEqual(call(daemon, "HEAD", "/metrics").status, 200)
        since = ticks()
        wait_until(lambda: ticks() > since + 5, "ticks go on")
        self.assertEqual(self.joules(daemon, "tallywatt_process_cpu_seconds_total", pid="11"),
                         1)

    def settled(self, read, *daemons):
        """What read() returns once it has not changed for ten ticks of each daemon."""
        def ticks():
            return [self.joules(d, "tallywatt_collector_ticks_total") for d in daemons]

        last = [read(), ticks()]

        def same():
            value, now = read(), ticks()
            if value != last[0]:
                last[:] = [value, now]
            return all(n - then > 10 for n, then in zip(now, last[1]))
        wait_until(same, "it settles")
        return last[0]

    def test_a_guest_reads_the_measurements_of_its_host(self):
        trees = self.path("trees")
        os.makedirs(trees)
        vm = self.start_vm("-uuid", VM)
        host = self.collect("--meters", "fake", "--vm-power-dir", trees, "--compat", "kepler")
        powercap = f"{trees}/{VM}/class/powercap"
        wait_until(lambda: os.path.exists(f"{powercap}/intel-rapl:0/energy_uj"),
                   "the tree is there")
        os.kill(vm, signal.SIGSTOP)

        def at_host():
            return self.joules(host, "tallywatt_vm_energy_joules_total", zone="package",
                               vm_id=VM)

        before = self.settled(at_host, host)
        guest = self.collect("--powercap", powercap, "--compat", "kepler")
        wait_until(lambda: "not moved yet" in self.metrics(guest), "it has read once")
        os.kill(vm, signal.SIGCONT)
        wait_until(lambda: at_host() > before + 2, "it runs")
        os.kill(vm, signal.SIGSTOP)
        used = self.settled(at_host, host) - before
        read = self.settled(lambda: self.node_joules(guest), host, guest)
        self.assertAlmostEqual(read / used, 1, 3)
        # It is not taken for RAPL, and a guest of the guest is told the same origin.
        self.assertEqual(self.told_of(guest), {("passthrough", "fake", "")})
        for kepler, path in ((host, "fake:package-0"),
                             (guest, f"passthrough:{powercap}/intel-rapl:0")):
            self.assertIn(path, {has["path"] for n, has, _ in self.samples(kepler)
                                 if n == "kepler_node_cpu_joules_total"})
        nested = self.collect("--powercap", powercap, "--powercap-out", self.path("nested"))
        wait_until(lambda: self.told_of(nested), "it is read")
        self.assertEqual(self.told_of(nested), {("passthrough", "fake", "")})
        self.run_guest(vm, lambda: os.path.exists(
            self.path("nested/class/powercap/intel-rapl:0/source")))
        with open(self.path("nested/class/powercap/intel-rapl:0/source"),
                  encoding="ascii") as f:
            self.assertEqual(f.read(), "fake\n")

    @staticmethod
    def run_guest(vm, condition):
        os.kill(vm, signal.SIGCONT)
        wait_until(condition, "it is written")

    def told_of(self, daemon):
        """Source, origin and the origin's model of each zone."""
        return {(has["source"], has.get("origin"), has.get("model"))
                for n, has, _ in self.samples(daemon) if n == "tallywatt_meter_info"
                and has["zone"] != "other"}

    def test_an_estimate_that_is_passed_on_is_none_of_rapl(self):
        """A host without a meter: its model's name reaches the guest, and so does the next."""
        host_machine = self.machine()
        for meter in ("powercap", "hwmon"):
            shutil.rmtree(self.path("sys/class", meter))
        models = os.path.join(ROOT, "model-db/models")
        trees = self.path("trees")
        os.makedirs(trees)
        host = self.collect(*host_machine, "--model-db", models, "--shipped-models", "",
                            "--vm-power-dir", trees)
        tree = f"{trees}/web/class/powercap"
        self.run_until(lambda: os.path.exists(f"{tree}/intel-rapl:0/energy_uj"), "it is there")
        [name] = {has["model"] for n, has, _ in self.samples(host)
                  if n == "tallywatt_model_info" and has["energy_source"] == "rapl-sysfs"}
        guest = self.collect("--powercap", tree)
        self.run_until(lambda: ("passthrough", "model", name) in self.told_of(guest),
                       "it is told")
        [package] = [z for z in call(guest, "GET", "/api/v1/power").json()["workloads"][0]
                     ["zones"] if z["zone"] == "package"]
        self.assertEqual((package["source"], package["estimated"], package["origin"],
                          package["origin_model"]), ("passthrough", True, "model", name))
        host.stop()
        # As another collector of the host begins.
        self.exchange("trees/web/class/powercap/intel-rapl:0/model", "Other_1\n")
        os.rename(f"{tree}/intel-rapl:0/last_uj", f"{tree}/intel-rapl:0/energy_uj")
        wait_until(lambda: ("passthrough", "model", "Other_1") in self.told_of(guest),
                   "the other one is told")

    @staticmethod
    def counter(tree, zone="intel-rapl:0", file="energy_uj"):
        """What a virtual tree says of a zone, in uJ; 0 while no collector writes it."""
        try:
            with open(f"{tree}/class/powercap/{zone}/{file}", encoding="ascii") as f:
                return int(f.read())
        except FileNotFoundError:
            return 0

    def test_a_virtual_counter_goes_on_after_a_restart(self):
        tree, trees = self.path("tree"), self.path("trees")
        last = dict.fromkeys((tree, f"{trees}/{VM}"), 0)
        self.start_vm("-uuid", VM)
        for _ in range(2):
            daemon = self.collect("--meters", "fake", "--powercap-out", tree,
                                  "--vm-power-dir", trees)
            for of, uj in last.items():
                wait_until(lambda of=of: self.counter(of) != 0, "it is written")
                self.assertGreaterEqual(self.counter(of), uj)
            wait_until(lambda: all(self.counter(of) > uj + 1000000
                                   for of, uj in last.items()), "it grows")
            daemon.stop()
            self.assertEqual([self.counter(of) for of in last], [0, 0])
            last = {of: self.counter(of, file="last_uj") for of in last}

    @staticmethod
    def sockets(pid):
        """Of a process that may have ended; without the standard files."""
        found = set()
        with contextlib.suppress(FileNotFoundError):
            for fd in set(os.listdir(f"/proc/{pid}/fd")) - set("012"):
                found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        return {name for name in found if name.startswith("socket:")}

    def test_the_counters_of_a_killed_collector_are_no_0_watts(self):
        tree, trees = self.path("tree"), self.path("trees")
        both = (tree, f"{trees}/{VM}")
        self.start_vm("-uuid", VM)
        args = ("--meters", "fake", "--powercap-out", tree, "--vm-power-dir", trees,
                "--model-db", os.path.join(ROOT, "model-db/models"))
        daemon = self.collect(*args)
        wait_until(lambda: all(self.counter(of) > 1000000 for of in both), "they are written")
        # A copy of the keeper's socket would delay the end that the keeper awaits.
        for child in children(daemon.proc.pid):
            self.assertEqual(self.sockets(daemon.proc.pid) & self.sockets(child), set())
        daemon.stop(signal.SIGKILL)
        wait_until(lambda: not any(self.counter(of) for of in both), "the keeper retires them")
        last = [self.counter(of, file="last_uj") for of in both]
        self.assertGreater(min(last), 1000000)
        self.collect(*args)
        wait_until(lambda: all(self.counter(of) > uj for of, uj in zip(both, last)),
                   "the next collector goes on")

    def test_without_a_counter_that_moves_there_are_no_steps(self):
        def pauses():
            with open(f"/proc/{daemon.proc.pid}/status", encoding="ascii") as f:
                return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M)[1])

        daemon = self.collect("--interval", "1s", "--vm-power-dir", self.path("trees"))
        for _ in range(2):
            before, until = pauses(), time.monotonic() + 2
            wait_until(lambda until=until: time.monotonic() > until, "ticks pass", pause_s=0.5)
        # Steps of 25 ms would be 80.
        self.assertLess(pauses() - before, 40)

    def test_a_virtual_counter_is_of_one_meter_only(self):
        daemon = self.collect(*self.machine(), "--powercap-out", self.path("tree"))
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.rapl(1500000)
        wait_until(lambda: self.counter(self.path("tree"), "intel-rapl:1") == 500000,
                   "psys is written")
        os.rename(self.path("sys/class/powercap/intel-rapl:1"), self.path("away"))
        wait_until(lambda: self.node_joules(daemon, "psys") == 0, "psys is gone")
        before = self.joules(daemon, "tallywatt_node_energy_joules_total", zone="platform")
        wait_until(lambda: self.joules(daemon, "tallywatt_node_energy_joules_total",
                                       zone="platform") > before + 20, "the platform goes on")
        self.assertEqual(self.counter(self.path("tree"), "intel-rapl:1"), 500000)

    def test_a_virtual_counter_moves_between_ticks(self):
        daemon = self.start_http("tw-collector", "--interval", "2s", "--bpf", "off", "--user",
                                 "root", *(["--filter=no"] if sanitized() else []),
                                 *self.machine(), "--powercap-out", self.path("tree"))
        seen = {}

        def moves():
            ticks = health(daemon)["ticks"]
            uj = self.counter(self.path("tree"))
            if health(daemon)["ticks"] == ticks:
                seen.setdefault(ticks, set()).add(uj)
            self.rapl(self.uj + 100000)
            return max(map(len, seen.values()), default=0) > 3
        wait_until(moves, "the counter has some values within a tick")

    def test_node_exporter_reads_the_virtual_tree(self):
        need("node_exporter", shutil.which("prometheus-node-exporter") is not None)
        daemon = self.collect("--meters", "fake", "--powercap-out", self.path("tree"))
        wait_until(lambda: os.path.exists(
            self.path("tree/class/powercap/intel-rapl:0:2/energy_uj")), "the tree is there")
        port = free_port()
        exporter = subprocess.Popen(
            ["prometheus-node-exporter", "--path.sysfs", self.path("tree"),
             "--collector.disable-defaults", "--collector.rapl",
             f"--web.listen-address=127.0.0.1:{port}"], stderr=subprocess.DEVNULL)
        self.addCleanup(exporter.wait)
        self.addCleanup(exporter.kill)

        def exported():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as a:
                    text = a.read().decode()
            except OSError:
                return -1
            found = re.search(r"^node_rapl_package_joules_total\{.*\} (\S+)$", text, re.M)
            return float(found[1]) if found else -1

        wait_until(lambda: exported() > 0, "it is read")

        def the_same():
            before = self.node_joules(daemon)
            return before <= exported() + 1e-6 and exported() <= self.node_joules(daemon) + 1e-6
        wait_until(the_same, "the same joules")

    def test_a_model_of_the_machine_s_own_samples_predicts_its_power(self):
        response, db = self.path("response.json"), self.path("db")
        measured = self.collect("--meters", "fake", "--compat", "kepler")
        self.tallywatt("record", "--output", response, "--for", "8s", "--interval", "250ms",
                       f"http://{measured.address}/metrics")
        train = ("train", "--input", response, "--name", "own", "--group", "NodeCPU",
                 "--trainers", "SGDRegressorTrainer", "--folds", "2", "--model-db", db)
        # Simulated power is never taken for measured power.
        self.assertIn("nothing to train on: the energy of source 'fake' is estimated, "
                      "simulated or passed on; to train on it, pass --source fake",
                      self.refused(*train))
        # Nor by Kepler's names, which have no source.
        self.assertIn("the energy of source 'fake' is estimated", self.refused(
            *(text.replace("NodeCPU", "BPFOnly") for text in train), "--source", "rapl-sysfs"))
        self.tallywatt(*train, "--source", "fake")
        model = os.path.join(db, "own/fake/AbsPower/NodeCPU/SGDRegressorTrainer_0")
        daemon = self.collect("--model", model, "--estimated-idle", "scale")

        def told():
            return [has for name, has, value in self.samples(daemon)
                    if name == "tallywatt_node_power_watts" and value > 0]

        # A model of a few seconds may know no tick as idle, or as busy, as the first.
        wait_until(lambda: {has["zone"] for has in told()} == {"package", "core", "dram"},
                   "all zones have power")
        self.assertEqual({(has["source"], has["path"]) for has in told()},
                         {("model", "model:fake")})

    def test_promtool_has_no_complaint(self):
        daemon = self.collect("--meters", "fake", "--compat", "kepler")
        wait_until(lambda: self.node_joules(daemon) > 0, "energy is told")
        self.check_promtool(daemon)

    def test_json_has_the_same(self):
        daemon = self.collect(*self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.rapl(1400000)
        self.run_until(lambda: self.energy_of_all(daemon), "energy is attributed")
        for level, identity in (("process", "pid"), ("cgroup", "cgroup"), ("vm", "vm_id"),
                                ("container", "container_id"), ("pod", "pod_id")):
            answer = call(daemon, "GET", f"/api/v1/power?level={level}")
            self.assertEqual(answer.status, 200)
            first = json.loads(answer.body)["workloads"][0]
            self.assertTrue(first[identity])
            self.assertGreater(first["cpu_time_ms"], 0)
            package = [z for z in first["zones"] if z["zone"] == "package"][0]
            self.assertGreater(package["dynamic_joules"] + package["idle_joules"], 0)
            self.assertEqual(package["source"], "rapl-sysfs")
        node = json.loads(call(daemon, "GET", "/api/v1/power").body)["workloads"][0]
        self.assertEqual({z["zone"] for z in node["zones"]},
                         {"package", "core", "uncore", "dram", "psys", "platform",
                          "other"})
        for query, levels in (("", {"node"}), ("?level=", {"node"}), ("?level=,", {"node"}),
                              ("?level=node,", {"node"}), ("?level=process", {"process"}),
                              ("?level=process,,node", {"node", "process"})):
            answer = call(daemon, "GET", "/api/v1/power" + query).json()
            self.assertEqual({w["level"] for w in answer["workloads"]}, levels, query)
        for wrong in ("rack", "node,rack", "Node", "pods"):
            answer = call(daemon, "GET", f"/api/v1/power?level={wrong}")
            self.assertEqual(answer.status, 400)
            self.assertIn("is not one of node, process, cgroup, container, pod, vm, job, step", str(answer.body))

    def usage(self, path, seconds):
        """What the kernel says that a cgroup has used, with what is below it."""
        base = "sys/fs/cgroup" + path
        os.makedirs(self.path(base), exist_ok=True)
        self.exchange(base + "/cpu.stat", f"usage_usec {round(seconds * 1e6)}\n"
                                          "user_usec 1\nsystem_usec 2\n")

    def test_time_of_unseen_processes_belongs_to_the_cgroup(self):
        args = self.machine()
        with open(self.path("proc/11/cgroup"), encoding="ascii") as f:
            container = f.read().strip().split("::")[1]
        with open(self.path("proc/12/cgroup"), encoding="ascii") as f:
            vm = f.read().strip().split("::")[1]
        for path in (container, vm):
            self.usage(path, 100)
        daemon = self.collect(*args)
        seconds = {"container": 0, "vm": 0}

        def told():
            return all(abs(self.joules(daemon, f"tallywatt_{level}_cpu_seconds_total")
                           - wanted) < 1e-6 for level, wanted in seconds.items())

        ticks = "tallywatt_collector_ticks_total"
        wait_until(lambda: self.joules(daemon, ticks) > 3, "it ticks")
        wait_until(told, "what was before is not told")
        # Its living process has used nothing yet, so it hides nothing.
        self.usage(container, 105)
        seconds["container"] = 5
        wait_until(told, "it is the container's")
        self.run_processes(150)  # 0.5 s each, of which the container's was charged before
        self.usage(vm, 100.5)
        seconds["container"], seconds["vm"] = 5.5, 0.5
        wait_until(told, "what is seen is not charged twice")
        self.usage(container, 105.5)
        before = self.joules(daemon, ticks)
        wait_until(lambda: self.joules(daemon, ticks) > before + 3, "it ticks on")
        wait_until(told, "and so it stays")
        self.assertAlmostEqual(
            self.joules(daemon, "tallywatt_collector_unseen_cpu_seconds_total"), 5)

    def test_few_series_where_few_are_wanted(self):
        daemon = self.collect("--top", "1", "--levels", "process", *self.machine())
        wait_until(lambda: "tallywatt_node_power_watts{" in self.metrics(daemon), "it ticks")
        self.rapl(1400000)
        self.run_until(lambda: self.node_joules(daemon) > 0, "energy is told")
        pids = {has["pid"] for name, has, _ in self.samples(daemon)
                if name == "tallywatt_process_energy_joules_total" and
                has["command"] != "other"}
        # The largest, and the largest before it, whose series ends.
        self.assertLessEqual(len(pids), 2)
        self.assertNotIn("tallywatt_cgroup_", self.metrics(daemon))

    def test_the_platform_alone_is_the_energy_of_workloads(self):
        daemon = self.collect("--meters", "acpi", "--compat", "kepler-legacy", "--top", "1",
                              *self.machine())
        total = "kepler_container_joules_total"
        self.run_until(lambda: self.joules(daemon, total) > 0, "its energy is exported")
        # --top is by energy. A process gets a series of its own once its energy grows.
        samples = []

        def process_has_energy():
            samples[:] = self.samples(daemon)
            return any(value > 0 for name, has, value in samples
                       if name == "tallywatt_process_energy_joules_total" and
                       has["command"] != "other")
        self.run_until(process_has_energy, "a process has energy")
        self.assertEqual([has for name, has, _ in samples if name == "tallywatt_node_sum_info"],
                         [{"zone": "platform"}])
        self.assertEqual(sum(value for name, _, value in samples if name == total),
                         sum(value for name, _, value in samples
                             if name == "kepler_container_platform_joules_total"))
        answer = json.loads(call(daemon, "GET", "/api/v1/power").body)
        self.assertEqual(answer["sum"], ["platform"])
        url = f"http://{daemon.address}"
        picture = self.tallywatt("top", "--url", url, "--once", "-o", "joules")
        head, row = (line.split() for line in (picture.splitlines()[i] for i in (4, 7)))
        self.assertGreater(float(row[head.index("JOULES")]), 0)

    def test_wrong_use_is_refused(self):
        for args, word in ((["--meters", "sundial"], "sundial"), (["--levels", "rack"], "rack"),
                           (["--compat", "prometheus"], "kepler-legacy")):
            done = subprocess.run([os.path.join(BIN, "tw-collector"), *args], check=False,
                                  stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(word, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
