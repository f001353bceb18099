#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tallywatt unit on programs that run: Nginx with two routes, PostgreSQL with two statements of
pgbench, a token loop with vLLM's names, each under a meter with a law that is drawn anew and that
tallywatt does not know. A Prometheus scrapes them. And the cost of a day of 50 series, for the command
and for tw-trainer --unit.

Goals: each coefficient and the standing power within 5 %. SEED=n repeats a law.
"""
import http.server
import json
import multiprocessing
import os
import random
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

import bench
from bench import Run, Scratch, Table, program, quick, wait_until
from unit_services import Nginx, Postgres, TokenLoop

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))
from scripted_prometheus import RecordedPrometheus  # noqa: E402

SECONDS = quick(400, 32)
SCRAPE_MS = quick(1000, 250)
ENERGY = "tallywatt_cgroup_energy_joules_total"
DAY_STEPS, DAY_STEP_S = quick(5760, 600), 15


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Exporter:
    """The meters and counters of all services, at /metrics."""

    def __init__(self, services):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                lines = []
                for s in services:
                    lines.append(f'{ENERGY}{{unit="{s.name}",zone="package",mode="dynamic"}} '
                                 f'{s.joules!r}')
                    lines += [f"{name} {value}" for name, value in s.counters().items()]
                body = ("\n".join(lines) + "\n").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Prometheus:
    def __init__(self, folder, target):
        self.port = free_port()
        with open(f"{folder}/prometheus.yml", "w", encoding="ascii") as f:
            f.write(f"scrape_configs:\n- job_name: node\n  scrape_interval: {SCRAPE_MS}ms\n"
                    f"  scrape_timeout: {SCRAPE_MS}ms\n"
                    f"  static_configs: [{{targets: ['{target}']}}]\n")
        with open(f"{folder}/prometheus.log", "wb") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml",
                 f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log)
        wait_until(self.ready, "Prometheus answers")

    def ready(self):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def ask(server, service, start_s):
    work = [arg for kind in service.law for arg in (
        "--work", f"{kind.strip('/')}={service.work[kind]}")]
    run = Run([program("tallywatt"), "unit", "--server", f"http://127.0.0.1:{server.port}",
               "--start", f"{start_s:.3f}", "--energy", f'{ENERGY}{{unit="{service.name}"}}',
               "--json", *work, *(["--block", service.block] if not bench.QUICK else [])])
    return json.loads(run.output)


def report(service, found, table, goals):
    truths = {unit.strip("/"): j for unit, j in service.law.items()}
    rows = [(u["unit"], u["joules"], truths[u["unit"]]) for u in found["units"]]
    rows.append(("standing W", found["standing_watts"], service.standing_w))
    for unit, value, truth in rows:
        off = 100 * abs(value["value"] / truth - 1)
        table.row(service.name, unit, truth, value["value"], value["low"], value["high"], off)
        goals.at_most(f"{service.name}: {unit}, off", off, 5, "%")
    print(f"{service.name}: R2 {found['r2']:.4f}, {found['blocks']} blocks of "
          f"{found['block_seconds']:g} s, warnings {found['warnings']}", flush=True)


def watch_services(folder, goals):
    seed = int(os.environ.get("SEED") or random.randrange(1 << 32))
    rng = random.Random(seed)
    print(f"SEED={seed}", flush=True)
    services, server = [], None
    try:
        services.append(TokenLoop(rng))
        services.append(Nginx(rng, f"{folder}/nginx", free_port()))
        services.append(Postgres(rng, f"{folder}/postgres"))
        for service in services:
            service.start()
        wait_until(lambda: all(services[1].done.values()), "Nginx answers")
        server = Prometheus(folder, Exporter(services).address)
        start_s = time.time()
        time.sleep(SECONDS)
        table = Table(("service", -20, ""), ("unit", -10, ""), ("law", 9, ".4g"),
                      ("found", 9, ".4g"), ("low", 9, ".4g"), ("high", 9, ".4g"),
                      ("off %", 6, ".2f"))
        for service in services:
            try:
                report(service, ask(server, service, start_s), table, goals)
            except bench.Failed as e:  # the form of seconds may be too short
                print(e, flush=True)
                goals.missed += not bench.QUICK
    finally:
        if server:
            server.stop()
        for service in services:
            service.stop()


def write_day(path):
    """A day of 40 series of energy and 10 of work."""
    rng = random.Random(1)
    joules, work = [0.0] * 40, [0] * 10
    series = [[] for _ in range(50)]
    for step in range(DAY_STEPS):
        rate = rng.randrange(1000)
        for i in range(10):
            work[i] += rate + rng.randrange(100)
            series[40 + i].append([step * DAY_STEP_S, str(work[i])])
        for i in range(40):
            joules[i] += 90 + rate / 100 + rng.random()
            series[i].append([step * DAY_STEP_S, f"{joules[i]:.3f}"])
    with open(path, "w", encoding="ascii") as f:
        json.dump({metric: [{"metric": {"pod": str(i)}, "values": s} for i, s in enumerate(part)]
                   for metric, part in ((ENERGY, series[:40]), ("work_total", series[40:]))}, f)


def measure_cost(folder, goals):
    path = f"{folder}/day.json"
    # In a process of its own: what this one holds would count as the command's memory.
    writer = multiprocessing.Process(target=write_day, args=(path,))
    writer.start()
    writer.join()
    runs = [Run([program("tallywatt"), "unit", "--input", path, "--energy", ENERGY, "--work",
                 "work_total"]) for _ in range(quick(5, 1))]
    goals.at_most("a day of 50 series at 15 s", bench.median([r.seconds for r in runs]), 2, "s")
    goals.at_most("a day of 50 series at 15 s, memory", max(r.peak_mib for r in runs), 64, "MiB")


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_watch(folder, goals):
    """The same day, by a trainer that asks a Prometheus: from its start to the first joules."""
    case = unittest.TestCase()
    with open(f"{folder}/day.json", encoding="ascii") as f:
        server = RecordedPrometheus(case, json.load(f), DAY_STEPS * DAY_STEP_S)
    with open(f"{folder}/units.json", "w", encoding="ascii") as f:
        json.dump({"window": f"{DAY_STEPS * DAY_STEP_S}s", "every": "1h",
                   "units": [{"name": "day", "energy": [ENERGY], "work": ["work_total"]}]}, f)
    address = f"127.0.0.1:{free_port()}"
    trainer = subprocess.Popen(
        [program("tw-trainer"), "--listen", address, "--prometheus", server.url, "--delay", "0s",
         "--unit", f"{folder}/units.json"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def evaluated():
        try:
            with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:
                return b"tallywatt_unit_joules{" in answer.read()
        except OSError:
            return False
    try:
        wait_until(evaluated, "tw-trainer evaluates the day")
        goals.at_most("the same by tw-trainer --unit, CPU", cpu_seconds(trainer.pid), 2, "s")
        goals.at_most("the same by tw-trainer --unit, memory", bench.peak_mib_of(trainer.pid), 64, "MiB")
    finally:
        trainer.kill()
        trainer.wait()
        case.doCleanups()


def main():
    bench.need_programs("prometheus", "nginx", "pgbench", "psql")
    goals = bench.Goals()
    with Scratch() as folder:
        os.chmod(folder, 0o755)
        watch_services(folder, goals)
        measure_cost(folder, goals)
        measure_watch(folder, goals)
    goals.exit()


if __name__ == "__main__":
    main()
