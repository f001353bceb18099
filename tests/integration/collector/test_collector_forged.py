# SPDX-License-Identifier: Apache-2.0
"""A user who names the cgroups below their own as they like takes no energy of a pod, a job or a
container, and no name."""
import json
import os
import shutil
import socketserver
import threading
import unittest

from harness import Case, need, sanitized, wait_until
from scripted_vm import FIRST_PID, Machine, Scrape, Watched, write

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
VM = "11111111-2222-3333-4444-555555555555"
# Of virtual machines, of pods and of jobs each; make nightly-forged has 1,500.
COUNT = int(os.environ.get("TW_FORGED", "60"))


def qemu(uuid):
    return f"qemu-system-x86_64\0-uuid\0{uuid}\0"


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

    def forge(self, machine, pid, group, command=None, user=1000):
        """A process in a cgroup; with a command that says it is qemu, and descriptors as if."""
        proc = f"{machine.top}/proc/{pid}"
        write(f"{proc}/cgroup", f"0::{group}\n")
        os.makedirs(machine.top + "/sys/fs/cgroup" + group, exist_ok=True)
        if command:
            write(f"{proc}/cmdline", command)
            write(f"{proc}/status", f"Name:\tqemu\nUid:\t{user}\t{user}\t{user}\t{user}\n")
            os.makedirs(f"{proc}/fd")
            for fd, name in enumerate(("/dev/kvm", "anon_inode:kvm-vm", "anon_inode:kvm-vcpu:0")):
                os.symlink(name, f"{proc}/fd/{fd}")

    def names(self, count):
        """The groups and commands of a tenant with the worst names."""
        for i in range(count):
            vm = VM if i == 0 else f"{i:08d}-2222-3333-4444-555555555555"
            yield TENANTS[0], qemu(vm)
            yield (f"{TENANTS[0]}/kubepods.slice/kubepods-pod{i:08d}_1111_2222_3333_444444444444"
                   f".slice/cri-containerd-{i:064x}.scope"), None
            yield f"{TENANTS[0]}/slurmstepd.scope/job_{i}/step_0/user/task_0", None

    @staticmethod
    def use_forged(machine, forged, jiffies):
        for i in range(len(forged)):
            pid = FIRST_PID + len(HONEST) + 1 + i
            write(f"{machine.top}/proc/{pid}/stat",
                  f"{pid} (qemu) S 1 1 1 0 -1 0 1 2 3 4 {jiffies} 0 0 0 20 0 1 0 500 1\n")

    def test_the_worst_names_change_nothing_of_others_and_have_an_end(self):
        need("root", os.geteuid() == 0)
        forged = list(self.names(COUNT))
        machine = Machine(self.path("machine"), 2, len(HONEST) + 1)
        honest = {"/system.slice/vm.service": ("vm", VM), HONEST[0]: ("pod", POD),
                  HONEST[1]: ("job", "12"), HONEST[2]: ("container", WEB)}
        groups = [(g, qemu(VM) if of[0] == "vm" else None, 0) for g, of in honest.items()]
        groups += [(g, command, 1000) for g, command in forged]
        for i, (group, command, user) in enumerate(groups):
            self.forge(machine, FIRST_PID + i, group, command, user)
        for folder, _, _ in os.walk(machine.top + "/sys/fs/cgroup" + TENANTS[0]):
            os.chown(folder, 1000, 1000)
        self.use_forged(machine, forged, 0)
        trees = self.path("trees")
        daemon = self.start_http(
            "tw-collector", "--meters", "fake", "--interval", f"{INTERVAL_MS}ms", "--bpf", "off",
            "--levels", "pod,job,cgroup,container,vm", "--top", "20", "--vm-power-dir", trees,
            "--keep-ended", "1s", "--user", "root", *(["--filter=no"] if sanitized() else []),
            *machine.args)
        watched = Watched("worst", daemon, machine, INTERVAL_MS)
        loads = [LOAD] * len(honest)

        def is_vm():
            watched.step(loads)
            return watched.now.labels("tallywatt_vm_cpu_seconds_total")
        wait_until(is_vm, "the virtual machine is known")
        first = watched.rest()
        self.use_forged(machine, forged, 1)
        # All command lines are read: 200 a tick.
        for _ in range(3 + len(groups) // 200):
            watched.step(loads)
        now = watched.rest()
        self.check_honest(first, now, honest)
        ids = {level: {has[f"{level}_id"] for has in
                       now.labels(f"tallywatt_{level}_cpu_seconds_total")}
               for level in ("vm", "pod", "job", "container")}
        print({level: len(of) for level, of in ids.items()}, f"slowest scrape "
              f"{watched.worst_s * 1000:.0f} ms, {daemon.resident_kib() / 1024:.0f} MiB, inodes "
              f"{sum(1 + len(files) for _, _, files in os.walk(trees)) - 1}")
        self.assertEqual((ids["vm"], ids["pod"], ids["job"]), ({VM}, {POD}, {"12", "other"}))
        self.assertLessEqual(len(ids["container"]), 2 + 256)
        self.assertGreaterEqual(now.sum("tallywatt_collector_names_refused_total"),
                                COUNT - 256)
        self.assertEqual(os.listdir(trees), [VM])
        # The honest one ends, and nothing of it stays.
        shutil.rmtree(f"{machine.top}/proc/{FIRST_PID}")

        def is_gone():
            Scrape(daemon)
            return not os.listdir(trees)
        wait_until(is_gone, "no inode is left")

    def check_honest(self, first, now, honest):
        """Each has the energy of its own cgroup, which root made."""
        for group, (level, name) in honest.items():
            for what in ("cpu_seconds_total", "energy_joules_total"):
                of, by = [[scrape.sum(f"tallywatt_{key}_{what}", **labels)
                           for scrape in (first, now)] for key, labels in
                          ((level, {f"{level}_id": name}), ("cgroup", {"cgroup": group}))]
                grown, wanted = of[1] - of[0], by[1] - by[0]
                self.assertGreater(wanted, 0, group)
                self.assertAlmostEqual(grown / wanted, 1, 3, f"{group}: {what}")

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
