#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many simulated nodes, two agents and a central Prometheus with the rules of etc/prometheus: ingest
rate, memory, dashboard queries, and how soon a lost node is seen.

TW_FLEET_NODES, TW_FLEET_INTERVAL_S, TW_FLEET_SECONDS: how many, how often, how long.
"""
import os
import statistics
import sys
import time

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../integration"))
from fleet_stack import Stack  # noqa: E402
from harness import wait_until  # noqa: E402

NODE = 'instance="node-7"'
QUERIES = [
    "sum(covers:tallywatt_node_power_watts:sum)", "covers:tallywatt_node_power_watts:sum",
    "source:tallywatt_nodes:count", "tallywatt_node_cpu_busy:ratio_avg",
    "tallywatt_nodes_down:count", "topk(15, instance:tallywatt_node_power_watts:top15)",
    "topk(15, namespace:tallywatt_pod_power_watts:rate2m)",
    "topk(15, user_id:tallywatt_job_power_watts:rate2m)",
    "instance_zone_source:tallywatt_node_power_watts:rate2m{%s}" % NODE,
    "topk(15, instance_namespace_pod:tallywatt_pod_power_watts:rate2m{%s})" % NODE]
RAW_MAX = 2000  # nodes for which the query without rules does not take minutes
RAW = ('topk(15, sum by (namespace) '
       '(rate(tallywatt_pod_energy_joules_total{zone=~"package|dram"}[2m])))')


def p95(values):
    return statistics.quantiles(values, n=20)[-1]


def time_of(stack, query, window_s):
    begin = time.monotonic()
    stack.central.query(query, window_s)
    return time.monotonic() - begin


def begin(stack):
    """Wait until all nodes are scraped and the rules know their power."""
    since = time.monotonic()
    wait_until(lambda: stack.up() == stack.count, "all nodes are up", 600, 1)
    print(f"{stack.count} nodes, each {stack.interval_s} s: all up after "
          f"{time.monotonic() - since:.0f} s")
    wait_until(lambda: stack.central.query("covers:tallywatt_node_power_watts:sum"), "watts", 600)


def sum_of(stack, metric):
    return float(stack.central.query(f"sum({metric})")[0]["value"][1])


def measure(stack, seconds):
    """What the programs use over so many seconds."""
    def totals():
        return (time.monotonic(), stack.central.metric("prometheus_tsdb_head_samples_appended_total"),
                [p.cpu_s() for p in stack.programs])
    before = totals()
    time.sleep(seconds)
    after = totals()
    took = after[0] - before[0]
    series = stack.central.metric("prometheus_tsdb_head_series")
    print(f"a node exports {sum_of(stack, 'scrape_samples_scraped') / stack.count:.0f} series, of "
          f"which agents keep {sum_of(stack, 'scrape_samples_post_metric_relabeling') / stack.count:.0f}"
          f" and {sum_of(stack, 'scrape_series_added') / stack.count:.2f} are new at a scrape")
    print(f"central: {series:.0f} series, {series / stack.count:.0f} a node with recorded ones; "
          f"{(after[1] - before[1]) / took:.0f} samples/s, "
          f"{stack.central.rss_mib() * 1024 / series:.1f} KiB of memory a series")
    for program, old, new in zip(stack.programs, before[2], after[2]):
        print(f"{program.name}: {program.rss_mib():.0f} MiB, {(new - old) / took:.2f} CPUs")


def main():
    count = int(os.environ.get("TW_FLEET_NODES", bench.quick("2000", "10")))
    interval_s = int(os.environ.get("TW_FLEET_INTERVAL_S", bench.quick("30", "1")))
    seconds = int(os.environ.get("TW_FLEET_SECONDS", bench.quick("120", "2")))
    bench.need_programs("prometheus")
    stack = Stack(count, interval_s)
    try:
        begin(stack)
        measure(stack, seconds)
        times = {q: [time_of(stack, q, 300) for _ in range(bench.quick(10, 2))] for q in QUERIES}
        for query, all_s in times.items():
            print(f"{1000 * p95(all_s):8.1f} ms  {query}")
        slow = max(p95(t) for t in times.values())
        rules = max(stack.central.values("prometheus_rule_group_last_duration_seconds"))
        lost = [stack.seconds_until_lost(i) for i in range(bench.quick(3, 1))]
        missed = stack.central.metric("prometheus_rule_group_iterations_missed_total")
        print(f"the slowest group of rules: {rules:.2f} s an evaluation, {missed:.0f} missed")
        if count <= RAW_MAX:
            print(f"{1000 * time_of(stack, RAW, 300):8.1f} ms  without rules: {RAW}")
        goals = bench.Goals()
        goals.at_most("slowest p95 of ten queries", slow, 1, "s")
        goals.at_most("rules, of the interval", rules, interval_s, "s")
        goals.at_most("a lost node is seen", max(lost), 2 * interval_s, "s")
        goals.exit()
    finally:
        stack.close()


if __name__ == "__main__":
    main()
