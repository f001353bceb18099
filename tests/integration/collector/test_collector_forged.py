# SPDX-License-Identifier: Apache-2.0
"""A user who names the cgroups below their own as they like takes no energy of a pod, a job or a
container, and no name."""
import json
import os
import socketserver
import threading
import unittest

from harness import Case, need, sanitized, wait_until
from scripted_vm import FIRST_PID, Machine, Watched, write

POD = "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e"
SLICE = f"kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice"
JOB = "slurmstepd.scope/job_12/step_0/user/task_0"
BOX = "cri-containerd-" + "0123456789abcdef" * 4 + ".scope"
WEB, DB = "ab" * 32, "cd" * 32
HONEST = (f"/{SLICE}/{BOX}", f"/system.slice/{JOB}", f"/system.slice/docker-{WEB}.scope")
# The first directory of each is the tenant's.
TENANTS = ("/user.slice/user-1000.slice/user@1000.service", "/system.slice/app.service")
FORGED = (f"{TENANTS[0]}/{SLICE}/x", f"{TENANTS[0]}/{JOB}", f"{TENANTS[1]}/{SLICE}/x",
          f"{TENANTS[1]}/{JOB}", f"{TENANTS[0]}/docker-{WEB}.scope",
          f"{TENANTS[1]}/libpod-{WEB}.scope", f"{TENANTS[0]}/docker-{DB}.scope")
INTERVAL_MS, LOAD = 200, 0.2


class Engine(socketserver.BaseRequestHandler):
    """Docker's list of containers."""

    def handle(self):
        asked = b""
        while not asked.endswith(b"\r\n\r\n"):
            asked += self.request.recv(4096) or b"\r\n\r\n"
        self.server.asked.append(asked.split(b"\r\n")[0].decode())
        self.request.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + json.dumps(
            [{"Id": WEB, "Names": ["/web"]}, {"Id": DB, "Names": ["/db"]}]).encode())


class Forged(Case):
    def engine(self):
        server = socketserver.UnixStreamServer(self.path("docker.sock"), Engine)
        server.asked = []
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server

    def begin(self, *groups):
        machine = Machine(self.path(f"machine-{len(groups)}"), 2, len(groups))
        tree = f"{machine.top}/sys/fs/cgroup"
        for i, group in enumerate(groups):
            write(f"{machine.top}/proc/{FIRST_PID + i}/cgroup", f"0::{group}\n")
            os.makedirs(tree + group)
        for tenant in TENANTS:
            for folder, _, _ in os.walk(tree + tenant):
                os.chown(folder, 1000, 1000)
        daemon = self.start_http("tw-collector", "--meters", "fake", "--interval",
                                 f"{INTERVAL_MS}ms", "--bpf", "off",
                                 "--levels", "pod,job,cgroup,container",
                                 "--container-names", self.path("docker.sock"), "--user", "root",
                                 *(["--filter=no"] if sanitized() else []), *machine.args)
        return Watched("forged", daemon, machine, INTERVAL_MS)

    def test_a_tenant_adds_nothing_to_what_is_another_s_and_takes_no_name(self):
        need("root", os.geteuid() == 0)
        engine = self.engine()
        watched = self.begin(*HONEST, *FORGED)
        watched.rest()
        for _ in range(3):
            watched.step([LOAD] * len(HONEST + FORGED))

        def names():
            return {has["container_id"]: has["container_name"] for has in
                    watched.rest().labels("tallywatt_container_cpu_seconds_total")
                    if has["container_id"]}
        wait_until(lambda: names().get(WEB) == "web", "the container has its name")
        self.assertEqual(names()[DB], "")
        self.assertEqual(set(engine.asked), {"GET /containers/json HTTP/1.0"})
        now = watched.rest()
        self.assertEqual(now.sum("tallywatt_container_names_up", reason=""), 1)
        self.assertEqual(now.sum("tallywatt_container_names"), 2)
        seconds = 3 * LOAD * INTERVAL_MS / 1000
        for level, labels in (("pod", {"pod_id": POD}), ("job", {"job_id": "12"}),
                              ("container", {"container_id": WEB})):
            self.assertAlmostEqual(now.sum(f"tallywatt_{level}_cpu_seconds_total", **labels),
                                   seconds, 6)
        for group in FORGED:
            self.assertAlmostEqual(now.sum("tallywatt_cgroup_cpu_seconds_total", cgroup=group),
                                   seconds, 6)


if __name__ == "__main__":
    unittest.main()
