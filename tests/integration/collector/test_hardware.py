# SPDX-License-Identifier: Apache-2.0
"""tw-collector on each machine of tests/hardware measures what is known to be true of it."""
import json
import math
import os
import subprocess
import unittest

from harness import BIN, ROOT, Case, call, sanitized, wait_until
from recorded_machine import Machine

MACHINES = os.path.join(ROOT, "tests/hardware")
# Counters grow in steps, and a tick sees one step more or less.
TOLERANCE = 0.04
# The probe looks for 2 s only: other tests may delay a step by a fifth of it, or by more.
PROBE_TOLERANCE = 0.2
PROBES = 3
# So many machines and collectors run beside each other.
AT_ONCE = 8


def is_near(seen, known, tolerance=TOLERANCE):
    return math.isclose(seen, known, rel_tol=tolerance, abs_tol=0.5)


def watts(zone):
    return zone.get("dynamic_watts", math.nan) + zone.get("idle_watts", math.nan)


class Hardware(Case):
    def live(self, daemon):
        return json.loads(call(daemon, "GET", "/api/v1/live").body)["node"]

    @staticmethod
    def sum_of(node):
        """None: a zone of the sum has no reading, or there is none."""
        counted = [z for z in node["zones"] if z["zone"] in node["sum"] and z.get("used", True)
                   and "silent" not in z]
        total = sum(map(watts, counted))
        return total if counted and not math.isnan(total) else None

    def differences(self, node, known):
        """What is not as it is known to be."""
        found, total = [], self.sum_of(node)
        if (total is None) != (known["watts"] is None) or (
                total is not None and not is_near(total, known["watts"])):
            found.append(f"watts: {total}")
        for zone in known["zones"]:
            if not any((z["zone"], z["name"]) == tuple(zone[:2]) and is_near(watts(z), zone[2])
                       for z in node["zones"]):
                found.append(f"no zone {zone}")
        found += [f"no reason: {words}" for words in known.get("missing", [])
                  if not any(words in z.get("missing", "") for z in node["zones"])]
        return found

    @staticmethod
    def probe(machine):
        return subprocess.Popen([os.path.join(BIN, "tallywatt"), "probe", "--explain", "--json",
                                 "--watch", "2s", *machine.args(),
                                 *machine.known.get("args", [])],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def tree_of(self, probe):
        out, err = probe.communicate()
        self.assertEqual(probe.returncode, 0, err)
        return json.loads(out)["tree"]

    def check_tree(self, name, machine, probe):
        """tallywatt probe --explain has the same sum, and a reason for what it leaves out."""
        known = machine.known

        def same_sum():
            if known["watts"] is None or tree["watts"] is None:
                return known["watts"] == tree["watts"]
            return is_near(tree["watts"], known["watts"], PROBE_TOLERANCE)
        tree = self.tree_of(probe)
        for _ in range(1, PROBES):
            if same_sum():
                break
            tree = self.tree_of(self.probe(machine))
        shown = f"{name}: {json.dumps(tree, indent=1)}"
        self.assertTrue(same_sum(), shown)
        for zone, words in known["uncounted"].items():
            self.assertTrue(any(z["name"] == zone and not z["counted"] and words in z["why"]
                                for z in tree["zones"]), f"{zone}: {words}: {shown}")
        for inner, outer in known.get("inside", {}).items():
            self.assertIn((inner, outer), list(self.edges(tree["zones"])), shown)

    @staticmethod
    def edges(zones):
        """(name, name of the one that contains it)."""
        path = []
        for zone in zones:
            del path[zone["depth"] - 1:]
            yield zone["name"], path[-1] if path else "machine"
            path.append(zone["name"])

    def check(self, name, machine, daemon):
        seen = {}

        def is_true():
            node = self.live(daemon)
            seen.update(node=node, differences=self.differences(node, machine.known))
            return not seen["differences"]
        try:
            wait_until(is_true, f"{name} is as it is known", timeout=60, pause_s=0.3)
        except AssertionError:
            self.fail(f"{name}: {seen['differences']} of {json.dumps(seen['node'], indent=1)}")
        for words in machine.known.get("log", []):
            daemon.wait_logged(words)

    def begin(self, name):
        top = self.path(name)
        machine = Machine(os.path.join(MACHINES, name), top)
        self.addCleanup(machine.close)
        daemon = self.start_http("tw-collector", "--interval", "1s", "--bpf", "off",
                                 "--counters", "off", "--user", "root", "--shipped-models=",
                                 *(["--filter=no"] if sanitized() else []), *machine.args(),
                                 *machine.known.get("args", []))
        probe = self.probe(machine)
        self.addCleanup(probe.wait)
        return machine, daemon, probe

    def test_each_machine_is_as_it_is_known(self):
        names = sorted(n for n in os.listdir(MACHINES)
                       if os.path.isdir(os.path.join(MACHINES, n)))
        for some in (names[i:i + AT_ONCE] for i in range(0, len(names), AT_ONCE)):
            begun = [(name, *self.begin(name)) for name in some]
            for name, machine, daemon, probe in begun:
                with self.subTest(name):
                    self.check(name, machine, daemon)
                    self.check_tree(name, machine, probe)
            for _, machine, daemon, _ in begun:
                daemon.stop()
                machine.close()


if __name__ == "__main__":
    unittest.main()
