#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tw-collector --agents: 200 simulated nodes with churn, from one process. CPU time and
memory of the collector and of its helper, the time of a scrape, and what agents that hang
do to the others."""
import http.client
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time

import bench

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from simulated_agents import Node, Server  # noqa: E402

NODES = int(os.environ.get("TW_AGENTS", bench.quick("200", "10")))
PODS, HANGING = 25, NODES // 10
INTERVAL_S, ROUNDS = bench.quick((10, 3), (4, 1))
CLOCK = os.sysconf("SC_CLK_TCK")


def simulate(pipe):
    """The child: all nodes. It sends its port, and lets some of them hang at "hang"."""
    server = Server({f"n{i}": Node(f"node-{i}", pods=PODS, churn=2, seed=i)
                     for i in range(NODES)})
    pipe.send(server.port)
    while pipe.recv() == "hang":
        for i in range(HANGING):
            server.of[f"n{i}"] = "hang"
        pipe.send(None)
    server.close()


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        found = [int(p) for p in f.read().split()]
    return found + [p for c in found for p in children(c)]


def cpu_s(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            stat = f.read().rsplit(")", 1)[1].split()
        total += int(stat[11]) + int(stat[12])
    return total / CLOCK


def rss_mib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status", encoding="ascii") as f:
            total += next(int(x.split()[1]) for x in f if x.startswith("VmRSS:"))
    return total / 1024


class Aggregator:
    def __init__(self, port, directory):
        ready = os.path.join(directory, "ready")
        urls = ",".join(f"http://127.0.0.1:{port}/n{i}" for i in range(NODES))
        with open(os.path.join(directory, "log"), "wb") as log:
            self.proc = subprocess.Popen(
                [bench.program("tw-collector"), "--local=no", "--listen", "127.0.0.1:0",
                 "--ready-file", ready, "--agents", urls, "--agents-interval",
                 f"{INTERVAL_S}s", "--interval", "1s"], stdout=log, stderr=log)
        while not os.path.exists(ready) or not os.path.getsize(ready):
            time.sleep(0.05)
        with open(ready, encoding="ascii") as f:
            self.address = f.read().strip()
        self.helpers = children(self.proc.pid)

    def get(self, path):
        start = time.monotonic()
        connection = http.client.HTTPConnection(self.address, timeout=60)
        connection.request("GET", path)
        body = connection.getresponse().read()
        connection.close()
        return body, time.monotonic() - start

    def wait_up(self, count):
        bench.wait_until(lambda: sum(a["up"] for a in self.agents()) == count,
                         f"{count} agents are up", pause=0.2)

    def agents(self):
        return json.loads(self.get("/api/v1/agents")[0])["agents"]


def measure(agg, what, goals):
    pids = [agg.proc.pid]
    before = cpu_s(pids), cpu_s(agg.helpers)
    time.sleep(INTERVAL_S * ROUNDS)
    collector_s, helper_s = cpu_s(pids) - before[0], cpu_s(agg.helpers) - before[1]
    body, _ = agg.get("/metrics")
    times = sorted(agg.get("/metrics")[1] for _ in range(5))
    agents = agg.agents()
    up = [a for a in agents if a["up"]]
    lag = next(float(line.split()[1]) for line in body.decode().splitlines()
               if line.startswith("tallywatt_collector_tick_lag_seconds"))
    missed = next(float(line.split()[1]) for line in body.decode().splitlines()
                  if line.startswith("tallywatt_collector_ticks_missed_total"))
    print(f"{what}: {len(up)} of {len(agents)} agents up, {up[0]['rows']} rows each, "
          f"{sum(a['bytes'] for a in up) / 2**20:.1f} MiB a round")
    print(f"  collector {collector_s / ROUNDS:.3f} s CPU a round of {INTERVAL_S} s, "
          f"{rss_mib(pids):.1f} MiB; helper {helper_s / ROUNDS:.3f} s, "
          f"{rss_mib(agg.helpers):.1f} MiB")
    print(f"  scrape {times[2] * 1e3:.0f} ms (worst of 5: {times[-1] * 1e3:.0f} ms), "
          f"{len(body) / 2**20:.1f} MiB, {body.count(10)} lines")
    print(f"  oldest answer {max(a['age_seconds'] for a in up):.1f} s; last tick "
          f"{lag * 1e3:.1f} ms late, {missed:.0f} ticks missed")
    for why in sorted({a["reason"] for a in agents if not a["up"]}):
        print(f"  {sum(a['reason'] == why for a in agents)} agents: {why or 'not asked'}")
    goals.note(f"{what}: collector's CPU a round", collector_s / ROUNDS, "s")
    goals.note(f"{what}: helper's CPU a round", helper_s / ROUNDS, "s")
    goals.note(f"{what}: collector's memory", rss_mib(pids), "MiB")
    goals.note(f"{what}: scrape", times[2] * 1e3, "ms")
    return up


def main():
    ours, theirs = multiprocessing.Pipe()
    nodes = multiprocessing.Process(target=simulate, args=(theirs,))
    nodes.start()
    goals = bench.Goals()
    with tempfile.TemporaryDirectory() as directory:
        agg = Aggregator(ours.recv(), directory)
        try:
            agg.wait_up(NODES)
            up = measure(agg, f"{NODES} agents", goals)
            goals.right("all agents are up", len(up) == NODES)
            ours.send("hang")
            ours.recv()
            agg.wait_up(NODES - HANGING)
            up = measure(agg, f"{HANGING} of them hang", goals)
            # A slow machine delays all; a hanging agent must not delay the others.
            goals.right("all agents that answer are up", len(up) >= NODES - HANGING)
            goals.at_most("oldest answer, while others hang",
                          max(a["age_seconds"] for a in up), 2 * INTERVAL_S, "s")
        finally:
            agg.proc.terminate()
            agg.proc.wait()
            ours.send("end")
            nodes.join()
    goals.exit()


if __name__ == "__main__":
    main()
