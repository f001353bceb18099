# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine of two sockets with SMT: whose joules, by a real scheduler."""
import os
import subprocess
import time

from harness import need
from inside import LOAD, V2, Cgroup, Inside, read, wait_until
from sockets import OURS, PACKAGES, POWER_W, Meters

ONLINE = "/sys/devices/system/cpu/cpu{}/online"
TICK_S = 0.5
RULE = "tallywatt_node_attribution_info"
SUMS = [f"tallywatt_{level}_energy_joules_total" for level in ("node", "process", "cgroup")]


class Spinner:
    """A cgroup with a process that spins, or runs the command, on each of some CPUs."""

    def __init__(self, test, name, cpus, *command):
        self.cgroup = Cgroup(V2, name)
        self.cgroup.__enter__()
        self.processes = [subprocess.Popen(command or (LOAD, "spin", "3600000"),
                                           stdout=subprocess.DEVNULL,
                                           preexec_fn=lambda c=cpu: self.enter(c))
                          for cpu in cpus]
        test.addCleanup(self.close)

    def enter(self, cpu):
        self.cgroup.enter()
        os.sched_setaffinity(0, cpu if isinstance(cpu, set) else {cpu})

    def move(self, cpu):
        for process in self.processes:
            os.sched_setaffinity(process.pid, {cpu})

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.cgroup.__exit__()


class Sockets(Inside):
    def setUp(self):
        super().setUp()
        packages = [read(f"/sys/devices/system/cpu/cpu{c}/topology/physical_package_id").strip()
                    if os.path.exists(f"/sys/devices/system/cpu/cpu{c}") else ""
                    for cpus in PACKAGES for c in cpus]
        need("two sockets", packages == ["0"] * 4 + ["1"] * 4)
        os.sched_setaffinity(0, {OURS})
        self.last = {}
        self.meters = Meters(self.path("powercap"))
        self.addCleanup(self.meters.close)

    def collect_sockets(self, *args):
        daemon = self.collect("--interval", f"{TICK_S * 1000:.0f}ms", "--counters", "software",
                              "--powercap", self.path("powercap"), "--meters", "rapl-sysfs",
                              "--top", "0", *args)
        self.wait_ticks(daemon)
        return daemon

    def cgroups(self, daemon):
        """Dynamic joules of each cgroup, and the rules; sums are checked."""
        samples = self.samples(daemon)
        self.check_sums(samples)
        rules = {has["rule"] for name, has, value in samples
                 if name == RULE and has["zone"] == "package" and value == 1}
        joules = {}
        for name, has, value in samples:
            if name == "tallywatt_cgroup_energy_joules_total" and has["mode"] == "dynamic":
                joules[has["cgroup"]] = joules.get(has["cgroup"], 0) + value
        return joules, rules

    def check_sums(self, samples):
        """Workloads have all energy of the machine, to the microjoule. A process that ended keeps
        its last scraped value; the energy after that scrape counts for its cgroup."""
        for name, has, value in samples:
            if has.get("zone") == "package" and name in SUMS:
                # A process keeps its serial number where its labels change.
                key = has["mode"], has.get("serial", tuple(has.items()))
                self.last.setdefault(name, {})[key] = round(value * 1e6)
        node, *levels = (sum(self.last[name].values()) for name in SUMS)
        self.assertEqual(levels, [node, node])
        self.assertEqual(sum(v for n, _, v in samples
                             if n == "tallywatt_collector_attribution_errors_total"), 0)

    def during(self, daemon, seconds):
        """Joules of each cgroup in so many seconds, scraped each tick; and the rules."""
        first, rules = self.cgroups(daemon)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(TICK_S)
            last, more = self.cgroups(daemon)
            rules |= more
        return {name: joules - first.get(name, 0) for name, joules in last.items()}, rules

    def check_share(self, found, name, of, least, most):
        part = found[name] / sum(found[n] for n in of)
        self.show(**{f"{self._testMethodName[5:]}: {name}": f"{part:.1%}"})
        self.assertTrue(least <= part <= most, (part, found))

    # ---- where it ran ----

    def test_energy_of_a_package_is_of_what_ran_there(self):
        near, far = Spinner(self, "near", (0,)), Spinner(self, "far", (4,))
        daemon = self.collect_sockets()
        found, rules = self.during(daemon, 8)
        names = [s.cgroup.name for s in (near, far)]
        self.assertEqual(rules & {"plain"}, set())
        self.check_share(found, names[0], names, 0.6, 0.9)
        # A process that moves takes the energy of where it is.
        near.move(5)
        time.sleep(2 * TICK_S)
        found, _ = self.during(daemon, 8)
        self.check_share(found, names[0], names, 0.4, 0.6)

    def test_energy_of_an_offline_cpu_goes_to_nobody_and_sums_stay(self):
        near, far = Spinner(self, "near", ({0, 1},)), Spinner(self, "far", (4,))
        names = [s.cgroup.name for s in (near, far)]
        daemon = self.collect_sockets()
        near.move(1)
        self.set_online(1, False)
        self.addCleanup(self.set_online, 1, True)
        time.sleep(2 * TICK_S)
        # The kernel has moved the process to any other CPU, perhaps of package 1.
        near.move(2)
        time.sleep(2 * TICK_S)
        found, rules = self.during(daemon, 6)
        self.assertEqual(rules & {"plain"}, set())
        self.check_share(found, names[0], names, 0.6, 0.9)
        self.set_online(1, True)
        wait_until(lambda: "came back without its counters" in daemon.log(), "counting stops")
        time.sleep(3 * TICK_S)
        found, rules = self.during(daemon, 4)
        self.show(**{"rule after a CPU came back": " ".join(sorted(rules))})
        self.assertEqual(rules, {"plain"})
        self.check_share(found, names[0], names, 0.4, 0.6)

    def set_online(self, cpu, online):
        with open(ONLINE.format(cpu), "w", encoding="ascii") as f:
            f.write(str(int(online)))

    def test_a_process_that_moves_to_another_cgroup_takes_its_energy_along(self):
        # Cleanups run from the last: the process is killed before its second cgroup goes.
        second, first = Spinner(self, "second", ()), Spinner(self, "first", (0,))
        Spinner(self, "far", (4,))
        daemon = self.collect_sockets()
        names = [s.cgroup.name for s in (first, second)]
        before, _ = self.during(daemon, 4)
        with open(f"{V2}{names[1]}/cgroup.procs", "w", encoding="ascii") as f:
            f.write(str(first.processes[0].pid))
        after, _ = self.during(daemon, 4)
        self.assertLess(before.get(names[1], 0), 1)
        # At most the tick of the move is the first one's.
        self.assertLess(after.get(names[0], 0), 2 * TICK_S * POWER_W[0])
        self.check_share(after, names[1], names, 0.8, 1)

    def test_processes_that_exit_within_a_tick_have_their_energy(self):
        near, far = Spinner(self, "near", (0,)), Spinner(self, "far", (4,))
        # Processes of 50 ms, one after the other, beside one that lasts.
        short = Spinner(self, "short", (1,), "/bin/sh", "-c",
                        f"while :; do {LOAD} spin 50; done")
        daemon = self.collect_sockets()
        found, _ = self.during(daemon, 8)
        names = [s.cgroup.name for s in (near, short, far)]
        self.check_share(found, names[1], names[:2], 0.3, 0.6)
