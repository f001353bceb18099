# SPDX-License-Identifier: Apache-2.0
"""The pictures of live power in docs/web, of a simulated node: docs/web/pictures.py [SECONDS]

Run it by `make pictures-web`. It takes SECONDS (600), for the history that the page shows.
"""
import itertools
import json
import math
import os
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
sys.path.append(os.path.join(ROOT, "tests/integration"))
from harness import BIN, Daemon  # noqa: E402
from scripted_vm import FIRST_PID, JIFFY_MS, Machine, write  # noqa: E402

STEP_MS = 500
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 600
REST_S = SECONDS / 10
DOCKER = {"web": "3e23e81600395c64", "queue": "ca978112ca1bbdca"}
# cgroup, command, CPUs at full load, seconds of a period
LOADS = (
    (f"/system.slice/docker-{DOCKER['web'] * 4}.scope", "java", 2.6, 0),
    (f"/system.slice/docker-{DOCKER['web'] * 4}.scope", "nginx", 0.2, 0),
    (f"/system.slice/docker-{DOCKER['queue'] * 4}.scope", "beam.smp", 0.9, 90),
    ("/user.slice/user-1000.slice/session-3.scope", "cc1", 1.4, 0),
    ("/machine.slice/machine-qemu\\x2d1\\x2dbuild.scope", "qemu-system-x86", 1.1, 240),
    ("/system.slice/postgresql.service", "postgres", 0.5, 0),
    ("/system.slice/prometheus.service", "prometheus", 0.1, 60),
    ("/system.slice/ssh.service", "sshd", 0, 0),
)


class Node(Machine):
    def use(self, cpu_ms):
        super().use(cpu_ms)
        for i, (cgroup, comm, _, _) in enumerate(LOADS):
            write(f"{self.top}/proc/{FIRST_PID + i}/cgroup", f"0::{cgroup}\n")
            write(f"{self.top}/proc/{FIRST_PID + i}/stat",
                  f"{FIRST_PID + i} ({comm}) S 1 1 1 0 -1 0 1 2 3 4 {self.jiffies[i]} 0 0 0 20 0 1 0 500 1\n")


class Engine(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps([{"Id": of * 4, "Names": ["/" + name]} for name, of in DOCKER.items()]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "engine"

    def log_message(self, *args):
        pass


def load(at_s, period_s):
    """Of 0 to 1: rest, load, a pause, load."""
    if at_s < REST_S or SECONDS * 0.6 < at_s < SECONDS * 0.7:
        return 0
    return 0.5 + 0.5 * math.sin(2 * math.pi * at_s / period_s) if period_s else 0.9 + 0.1 * math.sin(at_s)


def use(node, ended):
    began = time.monotonic()
    for step in itertools.count():
        node.use([round(STEP_MS * cpus * load(step * STEP_MS / 1000, period) / JIFFY_MS) * JIFFY_MS
                  for _, _, cpus, period in LOADS])
        if ended.wait(max(0, began + (step + 1) * STEP_MS / 1000 - time.monotonic())):
            return


def main():
    with tempfile.TemporaryDirectory(prefix="tw-pictures-") as top:
        os.chmod(top, 0o755)
        node = Node(f"{top}/node", 8, len(LOADS))
        engine = socketserver.ThreadingUnixStreamServer(f"{top}/engine.sock", Engine)
        threading.Thread(target=engine.serve_forever, daemon=True).start()
        daemon = Daemon(f"{top}/collector", "tw-collector", (
            "--listen", "127.0.0.1:0", "--meters", "fake", "--interval", "1s", "--bpf", "off", "--user", "root",
            "--node-name", "node-17", "--container-names", f"{top}/engine.sock", *node.args))
        ended = threading.Event()
        user = threading.Thread(target=use, args=(node, ended))
        try:
            user.start()
            time.sleep(SECONDS)
            subprocess.run(["node", os.path.join(ROOT, "docs/web/pictures.mjs"), os.path.join(BIN, "web/node_modules"),
                            f"http://{daemon.address}/", os.path.join(ROOT, "docs/web")], check=True)
        finally:
            daemon.stop()
            ended.set()
            user.join()
            engine.shutdown()


main()
