# SPDX-License-Identifier: Apache-2.0
"""Simulated nodes, agents and a central Prometheus, configured by etc/prometheus."""
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request

from harness import ROOT, wait_until
from simulated_fleet import Fleet, Server
from sources import free_port

ETC = os.path.join(ROOT, "etc/prometheus")
AGENTS = 2


def simulate(pipe, count, options):
    """The child: sends the targets, then loses a node for each number that it gets."""
    server = Server(Fleet(count, **options))
    pipe.send(server.targets())
    while (node := pipe.recv()) is not None:
        server.fleet.lost.add(node)
        pipe.send(server.fleet.scrapes)
    server.close()


class Simulation:
    def __init__(self, count, **options):
        self.pipe, child = multiprocessing.Pipe()
        self.process = multiprocessing.get_context("spawn").Process(
            target=simulate, args=(child, count, options))
        self.process.start()
        self.targets = self.pipe.recv()

    def lose(self, node):
        self.pipe.send(node)
        return self.pipe.recv()

    def close(self):
        self.pipe.send(None)
        self.process.join()


class Program:
    """A Prometheus. It runs a configuration of etc/prometheus, with other addresses and times."""

    def __init__(self, folder, name, config, interval, *args):
        self.folder, self.name = folder, name
        self.url = f"http://127.0.0.1:{free_port()}"
        with open(os.path.join(ETC, config[0]), encoding="ascii") as f:
            text = f.read()
        for old, new in [("interval: 30s", f"interval: {interval}s"),
                         ("interval: 30s", f"interval: {interval}s"), *config[1:]]:
            text = text.replace(old, new)
        path = os.path.join(folder, f"{name}.yml")
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        with open(os.path.join(folder, f"{name}.log"), "wb") as log:
            self.proc = subprocess.Popen(
                ["prometheus", f"--config.file={path}", "--log.level=warn",
                 f"--web.listen-address={self.url[len('http://'):]}", *args],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_until(self.ready, f"{name} answers")

    def ready(self):
        try:
            return self.text("/-/ready")
        except OSError:
            return None

    def text(self, path):
        with urllib.request.urlopen(self.url + path, timeout=120) as answer:
            return answer.read().decode()

    def values(self, name):
        return [float(m) for m in re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$",
                                             self.text("/metrics"), re.M)]

    def metric(self, name):
        return sum(self.values(name))

    def query(self, query, window_s=None):
        """The result, of an instant or of the last seconds in 60 steps."""
        now, arguments = time.time(), {"query": query}
        if window_s is not None:
            arguments.update(start=now - window_s, end=now, step=window_s / 60)
        kind = "query" if window_s is None else "query_range"
        return json.loads(self.text(f"/api/v1/{kind}?" + urllib.parse.urlencode(arguments)))[
            "data"]["result"]

    def cpu_s(self):
        return self.metric("process_cpu_seconds_total")

    def rss_mib(self):
        return self.metric("process_resident_memory_bytes") / 2 ** 20

    def stop(self):
        self.proc.terminate()
        self.proc.wait()


class Stack:
    """The simulation, the agents, the central Prometheus."""

    def __init__(self, count, interval_s, **options):
        self.folder, self.count, self.interval_s = tempfile.mkdtemp(prefix="tw-fleet-"), count, \
            interval_s
        self.programs, self.simulation = [], Simulation(count, **options)
        targets = os.path.join(self.folder, "targets.json")
        with open(targets, "w", encoding="ascii") as f:
            f.write(self.simulation.targets)
        self.central = self.add("central", ("fleet-central.yml", ("- tallywatt", f"- {ETC}/tallywatt")),
                                "--web.enable-remote-write-receiver",
                                f"--storage.tsdb.path={self.folder}/tsdb")
        self.agents = [self.add(f"agent-{i}", (
            "fleet-agent.yml", ("[targets.json]", f"[{targets}]"), ("agent: '0'", f"agent: '{i}'"),
            ("regex: '0'", f"regex: '{i}'"), ("http://central:9090", self.central.url),
            # All simulated nodes have one address.
            ("[__address__]", "[instance]")),
            "--enable-feature=agent", f"--storage.agent.path={self.folder}/agent-{i}")
            for i in range(AGENTS)]

    def add(self, name, config, *args):
        self.programs.append(Program(self.folder, name, config, self.interval_s, *args))
        return self.programs[-1]

    def up(self, value=1):
        found = self.central.query(f'count(up{{job="tw-collector"}} == {value})')
        return int(found[0]["value"][1]) if found else 0

    def seconds_until_lost(self, node):
        """From the loss of a node until the central Prometheus shows it."""
        self.simulation.lose(node)
        begin = time.monotonic()
        wait_until(lambda: self.central.query(f'up{{instance="node-{node}"}} == 0'),
                   "the lost node is seen", 300)
        return time.monotonic() - begin

    def close(self):
        for program in reversed(self.programs):  # agents first: they flush
            program.stop()
        self.simulation.close()
        shutil.rmtree(self.folder)
