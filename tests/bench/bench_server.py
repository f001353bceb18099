#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tw-server under wrk: against a route of the same HTTP server that answers 200 bytes from
memory, on the shipped and on a generated database; start, memory, idle and slow clients."""
import http.client
import json
import os
import resource
import socket
import statistics
import subprocess
import threading
import time

import bench

HERE = os.path.dirname(os.path.abspath(__file__))
SHIPPED = os.path.join(HERE, "../../model-db/models")
TYPES = bench.quick(320, 4)            # x 10 trainers x 3 groups x 2 outputs = 19,200 models
SMALLER = bench.quick((3, 32), (3,))   # node types of the smaller databases
SECONDS = bench.quick(2, 1)
LONGER = bench.quick(5, 1)
ROUNDS = bench.quick(3, 1)             # of each case, in turn: the median counts
CONNECTIONS = 64
IDLE, SLOW = bench.quick((5000, 200), (50, 5))
FLAT_REQUESTS = bench.quick(1_000_000, 1)
# Of the shipped models without a trainer's name: its zip is of boosted trees, 200 KiB long, so that
# it measures how fast bytes are moved and has no goal.
UNNAMED = "shipped, any trainer"
METRICS = ["cpu_cycles", "cpu_instructions", "cache_miss", "bpf_cpu_time_ms",
           "bpf_page_cache_hit", "cpu_architecture"]


class Server:
    """A program that writes its address to a ready file."""

    def __init__(self, scratch, *command):
        self.ready = os.path.join(scratch, "ready")
        start = time.monotonic()
        self.child = subprocess.Popen(
            [a if a != "READY" else self.ready for a in command],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(self.ready):
            if self.child.poll() is not None:
                raise bench.Failed(self.child.stderr.read().decode())
            time.sleep(0.0002)
        self.ready_ms = (time.monotonic() - start) * 1e3
        with open(self.ready, encoding="ascii") as f:
            self.address = f.read().strip()
        # Its log must not fill the pipe.
        threading.Thread(target=self.child.stderr.read, daemon=True).start()

    def resident_mib(self):
        with open(f"/proc/{self.child.pid}/status", encoding="ascii") as f:
            return next(int(line.split()[1]) for line in f
                        if line.startswith("VmRSS:")) / 1024

    def cpu_seconds(self):
        with open(f"/proc/{self.child.pid}/stat", encoding="ascii") as f:
            ticks = f.read().rsplit(")", 1)[1].split()[11:13]
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        self.child.terminate()
        if self.child.wait(timeout=30) != 0:
            raise bench.Failed(f"status {self.child.returncode}")


def tw_server(scratch, db):
    return Server(scratch, bench.program("tw-server"), "--listen", "127.0.0.1:0",
                  "--model-db", db, "--ready-file", "READY")


class Wrk:
    """One run: requests a second, p99 in ms, the server's processor time in us a request."""

    def __init__(self, server, path, script="get.lua", *args, seconds=SECONDS):
        if script == "post.lua":
            args = (*args, path)
        before = server.cpu_seconds()
        run = bench.Run(["wrk", "-t", "2", "-c", str(CONNECTIONS), "-d", f"{seconds}s",
                         "-s", os.path.join(HERE, script), f"http://{server.address}{path}",
                         "--", *args])
        line = next(l for l in run.output.splitlines() if l.startswith("RESULT"))
        requests, us, p99_us, errors = map(int, line.split()[1:])
        if errors:
            raise bench.Failed(f"{errors} of {requests} requests failed: {path} {args}")
        self.rate, self.p99 = requests / (us / 1e6), p99_us / 1e3
        self.cpu_us = (server.cpu_seconds() - before) * 1e6 / requests


def answer_bytes(server, file):
    """Mean length of the answers to the bodies of a file; each is asked for once, and the server
    has a model for it."""
    host, port = server.address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    total = count = 0
    with open(file, encoding="ascii") as f:
        for line in f:
            connection.request("POST", "/model", line.strip())
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200:
                raise bench.Failed(f"POST /model {line.strip()}: {answer.status}: "
                                   f"{body.decode(errors='replace').strip()}")
            total += len(body)
            count += 1
    connection.close()
    return round(total / count)


def spec_of(i):
    """As make_database.c makes them."""
    return {"vendor": "intel", "processor": f"intel_xeon_{i * 2 // 3}",
            "cores": 8 + 8 * (i % 16), "chips": 1 + i % 2, "memory": 64 << i % 4,
            "frequency": 2000 + 100 * (i % 20), "threads_per_core": 2}


def bodies(scratch, name, requests):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="ascii") as f:
        for more in requests:
            f.write(json.dumps({"metrics": METRICS, "source": "rapl-sysfs",
                                "trainer_name": "", "filter": "", **more}) + "\n")
    return path


def cases(scratch):
    """(name, database, file of bodies)"""
    every = [{"output_type": o} for o in ("AbsPower", "DynPower")]
    linear = [{"trainer_name": "SGDRegressorTrainer", **o} for o in every]
    types = [{"node_type": i, **o} for i in range(TYPES) for o in every]
    specs = [{"machine_spec": spec_of(i), **o} for i in range(TYPES) for o in every]
    result = []
    for kind, weight in (("weights", True), ("zip", False)):
        for name, db, requests in (("shipped", "shipped", linear),
                                   (UNNAMED, "shipped", every),
                                   ("19,200: node type", "generated", types),
                                   ("19,200: machine spec", "generated", specs),
                                   ("19,200: any", "generated", every)):
            file = bodies(scratch, f"{kind}-{name}".replace(" ", ""),
                          [{"weight": weight, **r} for r in requests])
            result.append((f"{kind}, {name}", db, file))
    return result


class Measured:
    """A case's rounds: (a) just before it, and the bare route of as many bytes just after."""

    def __init__(self, name, server, file):
        self.name, self.server, self.file = name, server, file
        self.bytes = answer_bytes(server, file)  # every weight and zip is made, and kept, by that
        self.rounds = []

    def measure(self, plain):
        self.rounds.append((Wrk(plain, "/plain"),
                            Wrk(self.server, "/model", "post.lua", self.file),
                            Wrk(plain, f"/plain/{self.bytes}", "post.lua", self.file)))

    def median(self, of):
        return statistics.median(of(*r) for r in self.rounds)

    def of_a(self):
        return self.median(lambda a, case, bare: case.rate / a.rate)

    def p99(self):
        return self.median(lambda a, case, bare: case.p99)


def measure_throughput(scratch, databases, goals):
    plain = Server(scratch, os.path.join(bench.HELPERS, "plain_server"), "READY")
    os.unlink(plain.ready)
    servers = {}
    for name, db in databases.items():
        servers[name] = tw_server(scratch, db)
        os.unlink(servers[name].ready)
    todo = [Measured(name, servers[db], file) for name, db, file in cases(scratch)]
    # Each case has been asked for all its models; wrk takes a second for each run.
    todo = todo[:bench.quick(len(todo), 1)]
    for _ in range(ROUNDS):
        for case in todo:
            case.measure(plain)
    every = [a for case in todo for a, _, _ in case.rounds]
    print(f"\n(a) 200 bytes from memory: {statistics.median(a.rate for a in every):.0f} "
          f"requests/s, p99 {statistics.median(a.p99 for a in every):.2f} ms, "
          f"{statistics.median(a.cpu_us for a in every):.1f} us of the server's processor time; "
          f"{CONNECTIONS} connections\nbare: a route that takes the same requests and answers as "
          "many bytes from memory; cpu: the server's processor time a request, of (a) and of it")
    table = bench.Table(("POST /model", -30, "s"), ("bytes", 7, "d"), ("of (a)", 7, ".3f"),
                        ("of bare", 8, ".3f"), ("requests/s", 11, ".0f"), ("p99 ms", 7, ".2f"),
                        ("of (a)", 7, ".2f"), ("cpu us", 7, ".1f"), ("of (a)", 7, ".3f"))
    for case in todo:
        table.row(case.name, case.bytes, case.of_a(),
                  case.median(lambda a, case, bare: case.rate / bare.rate),
                  case.median(lambda a, case, bare: case.rate), case.p99(),
                  case.median(lambda a, case, bare: a.p99),
                  case.median(lambda a, case, bare: case.cpu_us),
                  case.median(lambda a, case, bare: a.cpu_us / case.cpu_us))
    for case in todo:
        if case.name == f"zip, {UNNAMED}":
            continue
        goals.at_least(f"{case.name}: share of (a)", case.of_a(), 0.6)
        goals.at_most(f"{case.name}: p99", case.p99(), 5, "ms")
    memory = {name: s.resident_mib() for name, s in servers.items()}
    for server in (plain, *servers.values()):
        server.stop()
    goals.at_most("resident, shipped, after all that", memory["shipped"], 12, "MiB")
    goals.at_most("resident, generated, after all that", memory["generated"], 64, "MiB")


def measure_start(scratch, databases, goals):
    for name, limit in (("shipped", 50), ("generated", 1500)):
        ms = []
        for _ in range(bench.quick(5, 1)):
            server = tw_server(scratch, databases[name])
            ms.append(server.ready_ms)
            mib = server.resident_mib()
            server.stop()
        print(f"\n{name}: resident {mib:.1f} MiB before the first request")
        goals.at_most(f"ready, {name}, median of {len(ms)}", statistics.median(ms),
                      limit, "ms")


def measure_flat(scratch, databases, goals):
    server = tw_server(scratch, databases["shipped"])
    file = bodies(scratch, "flat", [{"output_type": o, "weight": w}
                                    for o in ("AbsPower", "DynPower") for w in (True, False)])
    Wrk(server, "/model", "post.lua", file, seconds=LONGER)
    before, done = server.resident_mib(), 0.0
    while done < FLAT_REQUESTS:
        done += LONGER * Wrk(server, "/model", "post.lua", file, seconds=LONGER).rate
    after = server.resident_mib()
    server.stop()
    print(f"\nresident {before:.2f} MiB, after {done:.0f} requests more {after:.2f} MiB")
    goals.at_most("growth over a million requests", after - before, 1, "MiB")


def connect(server):
    host, port = server.address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=30)


def measure_crowd(scratch, databases, goals):
    """Idle connections, and slow ones that send a byte now and then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
    server = tw_server(scratch, databases["shipped"])
    file = bodies(scratch, "crowd", [{"output_type": "AbsPower", "weight": True}])
    head = b"POST /model HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
    idle = [connect(server) for _ in range(IDLE)]
    slow = [connect(server) for _ in range(SLOW)]
    for s in slow:
        s.sendall(head)
    stop = threading.Event()

    def drip():
        while not stop.wait(0.1):
            for s in slow:
                s.send(b" ")

    thread = threading.Thread(target=drip)
    thread.start()
    try:
        p99 = Wrk(server, "/model", "post.lua", file, seconds=LONGER).p99
    finally:
        stop.set()
        thread.join()
    open_still = sum(1 for s in slow if not closed(s))
    print(f"\n{IDLE} idle connections, {SLOW} slow ones, {open_still} of these still there")
    goals.at_most(f"p99 beside {IDLE} idle and {SLOW} slow connections", p99, 20, "ms")
    for s in idle + slow:
        s.close()
    server.stop()


def closed(s):
    s.setblocking(False)
    try:
        return s.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def measure_choice(databases, goals):
    costs = []
    table = bench.Table(("choice, microseconds", -22, "s"), ("node type", 10, ".2f"),
                        ("spec", 8, ".2f"), ("any", 8, ".2f"), ("stranger", 9, ".2f"),
                        ("not found", 10, ".2f"))
    for db in databases:
        lines = bench.Run([os.path.join(bench.HELPERS, "choose"), db]).output.splitlines()
        values = [float(line.rsplit(" ", 1)[1]) for line in lines]
        costs.append(values)
        table.row(f"{values[0]:.0f} models", *values[1:])
    for name, i in (("node type", 1), ("machine spec", 2), ("any", 3)):
        goals.at_most(f"choice by {name} among {costs[-1][0]:.0f} models, us", costs[-1][i], 10)
    goals.at_most(f"no match among {costs[-1][0]:.0f} models, us", costs[-1][5], 500)


def main():
    bench.need_programs("wrk")
    goals = bench.Goals()
    with bench.Scratch() as scratch:
        databases = {"shipped": os.path.normpath(SHIPPED)}
        for types in (*SMALLER, TYPES):
            db = os.path.join(scratch, f"db-{types}")
            bench.Run([os.path.join(bench.HELPERS, "make_database"), db, str(types)])
            databases["generated" if types == TYPES else str(types)] = db
        measure_choice([databases[str(t)] for t in SMALLER] + [databases["generated"]], goals)
        measure_start(scratch, databases, goals)
        measure_throughput(scratch, databases, goals)
        measure_crowd(scratch, databases, goals)
        measure_flat(scratch, databases, goals)
    goals.exit()


if __name__ == "__main__":
    main()
