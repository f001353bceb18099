# SPDX-License-Identifier: Apache-2.0
"""A few simulated nodes, agents and a central Prometheus, as configured for a large fleet."""
import unittest

from fleet_stack import Stack
from harness import Case, need_fleet, wait_until
from simulated_fleet import Fleet
from sources import need_prometheus

NODES = 12


def setUpModule():
    need_fleet()


class Nodes(unittest.TestCase):
    def test_the_growth_of_workloads_and_the_rest_is_that_of_the_node(self):
        fleet = Fleet(2, pods=5, jobs=1, containers=2, life_s=1e6)
        fleet.begin -= 1000
        text = fleet.metrics(1).decode()
        self.assertAlmostEqual(
            sum(fleet.watts(1, s) for s in range(6)) + 65, fleet.node_watts(1))
        for level, count in (("pod", 5), ("container", 10), ("job", 1)):
            self.assertEqual(text.count(f"tallywatt_{level}_cpu_seconds_total"), count)

    def test_pods_are_replaced(self):
        fleet = Fleet(1, life_s=0.001)
        fleet.begin -= 3600
        self.assertGreater(fleet.life(0, 0)[0], 1000)


class Agents(Case):
    def test_nodes_are_written_to_the_central_server_and_a_lost_one_is_seen(self):
        need_prometheus()
        stack = Stack(NODES, 1, pods=3, containers=2)
        self.addCleanup(stack.close)
        wait_until(lambda: stack.up() == NODES, "all nodes are up")
        central = stack.central
        agents = {s["metric"]["agent"] for s in central.query("up")}
        self.assertEqual(agents, {"0", "1"})
        wait_until(lambda: central.query("covers:tallywatt_node_power_watts:sum"), "rules have watts")
        wait_until(lambda: central.query("user_id:tallywatt_job_power_watts:rate2m"),
                   "rules have watts of users")
        # Each node is scraped by one agent, and exports what the budget has.
        wait_until(lambda: len(central.query("tallywatt_node_power_watts{zone='package'}")) == NODES,
                   "all nodes have watts")
        wait_until(lambda: [s["value"][1] for s in central.query(
            "count(tallywatt_pod_energy_joules_total{instance='node-1'})")] == ["12"],
                   "a node has twelve series of pods")
        for dropped in ("tallywatt_container_energy_joules_total", "tallywatt_pod_cpu_seconds_total",
                        "tallywatt_pod_energy_joules_total{zone='core'}"):
            self.assertEqual(central.query(dropped), [], dropped)
        print(f"a lost node is seen after {stack.seconds_until_lost(3):.1f} s")
        self.assertEqual(stack.up(), NODES - 1)
        wait_until(lambda: [s["value"][1] for s in central.query("tallywatt_nodes_down:count")] ==
                   ["1"], "the rule counts it")


if __name__ == "__main__":
    unittest.main()
