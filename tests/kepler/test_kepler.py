# SPDX-License-Identifier: Apache-2.0
"""Kepler 0.10 or later, on the powercap trees of tw-collector: `make nightly-kepler KEPLER=PATH`.

Kepler runs at its defaults, with a /proc in files.
"""
import os
import signal
import statistics
import threading
import time
import unittest

import kepler_itself
from harness import need, wait_until
from metered import RANGE, Metered

WATTS = {"package": 5.6, "dram": 0.8, "psys": 9.3}
PLACES = {"package": ("intel-rapl:0", "package-0"), "dram": ("intel-rapl:0:2", "dram"),
          "psys": ("intel-rapl:1", "psys")}
VM = "11111111-2222-3333-4444-555555555555"
READS = 20
PERIOD_S = 5
LATE_S = 0.1
# Kepler measures anew for a scrape if its figures are older than 0.5 s.
PAUSES_S = (0.6, 1, PERIOD_S)
REST = threading.Event()


class Source:
    """RAPL of constant power, which advances each millisecond, as that of processors."""

    def __init__(self, case):
        self.case, self.start_s, self.stopped = case, time.monotonic(), threading.Event()
        self.uj = {zone: 1000000 for zone in WATTS}
        for zone, (place, name) in PLACES.items():
            os.makedirs(case.path("sys/class/powercap", place))
            case.write(f"sys/class/powercap/{place}/name", name + "\n")
            case.write(f"sys/class/powercap/{place}/max_energy_range_uj", f"{RANGE}\n")
        self.advance()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def advance(self):
        seconds = time.monotonic() - self.start_s
        for zone, watts in WATTS.items():
            self.uj[zone] = 1000000 + int(watts * seconds * 1e6)
            self.case.exchange(f"sys/class/powercap/{PLACES[zone][0]}/energy_uj",
                               f"{self.uj[zone]}\n")

    def run(self):
        while not self.stopped.wait(0.001):
            self.advance()

    def stop(self):
        self.stopped.set()
        self.thread.join()


class Peer(Metered):
    def setUp(self):
        need("KEPLER", kepler_itself.is_there())
        super().setUp()
        kepler_itself.Processes(self.path("proc")).run({11: 100, 12: 100}, idle=200)

    def source(self):
        source = Source(self)
        self.addCleanup(source.stop)
        return source

    def collector(self, *args):
        """With default settings, but without what this machine has."""
        return self.start_http("tw-collector", "--bpf", "off", "--user", "root", "--sys",
                               self.path("sys"), *args)

    def kepler(self, sys_path):
        kepler = kepler_itself.Kepler(self.dir, self.path("proc"), sys_path)
        self.addCleanup(kepler.stop)
        return kepler

    def on_tree(self):
        source, daemon = self.source(), self.collector("--powercap-out", self.path("out"))
        place = self.path("out/class/powercap/intel-rapl:1/energy_uj")
        wait_until(lambda: os.path.exists(place), "the tree is there")
        return source, daemon, self.kepler(self.path("out"))

    def errors_of(self, kepler, collector, pause_s):
        """Errors of Kepler's gauges in reads with a pause, by zone, and the latest tick."""
        errors, lag_s = {}, 0
        for _ in range(READS):
            REST.wait(pause_s)
            for zone, watts in kepler.zones("kepler_node_cpu_watts").items():
                errors.setdefault(zone, []).append(abs(watts / WATTS[zone] - 1))
            lag_s = max(lag_s, self.joules(collector, "tallywatt_collector_tick_lag_seconds"))
        return errors, lag_s

    def has_all(self, kepler, daemon, name, **labels):
        """Whether Kepler has read the joules of the collector, of each zone, to the microjoule."""
        return all(round(joules * 1e6) == round(1e6 * self.joules(daemon, name, zone=zone, **labels))
                   for zone, joules in kepler.zones("kepler_node_cpu_joules_total").items())

    def test_constant_power_is_read_as_constant(self):
        source, collector, kepler = self.on_tree()
        REST.wait(12)
        errors, lag_s = {}, 0
        for pause_s in PAUSES_S:
            found, late_s = self.errors_of(kepler, collector, pause_s)
            errors |= {(zone, pause_s): of for zone, of in found.items()}
            lag_s = max(lag_s, late_s)
        print(f"ticks up to {lag_s:.3f} s late; median and worst error:",
              {key: f"{100 * statistics.median(of):.1f} / {100 * max(of):.1f} %"
               for key, of in errors.items()}, flush=True)
        self.assertEqual(kepler.complaints(), [])
        self.assertEqual(len(errors), len(WATTS) * len(PAUSES_S))
        for (_, pause_s), of in errors.items():
            self.assertLess(statistics.median(of), 0.05)
            # A tick that is late on a busy machine leaves the counters where they are.
            if pause_s == PERIOD_S and lag_s < LATE_S:
                self.assertLess(max(of), 0.05)
        source.stop()
        wait_until(lambda: self.has_all(kepler, collector, "tallywatt_node_energy_joules_total"),
                   "Kepler has the joules of the collector", 30, 1)

    def test_a_killed_collector_is_no_rest(self):
        _, collector, kepler = self.on_tree()
        collector.stop(signal.SIGKILL)
        wait_until(lambda: not kepler.samples("kepler_node_cpu_joules_total"), "nothing is read", 30, 1)
        self.assertIn("Failed to collect power data", "".join(kepler.complaints()))
        self.assertEqual(kepler.samples("kepler_node_cpu_watts"), [])
        collector = self.collector("--powercap-out", self.path("out"))
        wait_until(lambda: kepler.samples("kepler_node_cpu_joules_total"), "it reads on", 30, 1)
        REST.wait(12)
        errors, _ = self.errors_of(kepler, collector, 1)
        for zone, of in errors.items():
            self.assertLess(statistics.median(of), 0.05, zone)

    def test_the_names_of_zones_and_their_paths(self):
        _, _, kepler = self.on_tree()
        self.assertEqual({(has["zone"], has["path"]) for has, _ in
                          kepler.samples("kepler_node_cpu_joules_total")},
                         {(zone, self.path("out/class/powercap", place))
                          for zone, (place, _) in PLACES.items()})

    def test_a_guest_reads_what_its_host_measures(self):
        trees = self.path("trees")
        os.makedirs(trees)
        vm = self.start_vm("-uuid", VM)
        host = self.start_http("tw-collector", "--bpf", "off", "--user", "root", "--meters", "fake",
                               "--vm-power-dir", trees)
        place = f"{trees}/{VM}/class/powercap/intel-rapl:0/energy_uj"
        wait_until(lambda: os.path.exists(place), "the tree is there")
        kepler = self.kepler(f"{trees}/{VM}")
        REST.wait(12)
        self.assertGreater(min(kepler.zones("kepler_node_cpu_watts").values()), 0)
        os.kill(vm, signal.SIGSTOP)
        wait_until(lambda: self.has_all(kepler, host, "tallywatt_vm_energy_joules_total", vm_id=VM),
                   "Kepler has the joules of the virtual machine", 30, 1)
        self.assertEqual(kepler.complaints(), [])


if __name__ == "__main__":
    unittest.main()
