# SPDX-License-Identifier: Apache-2.0
"""A machine with meters, in files, and what tw-collector tells of it."""
import contextlib
import fcntl
import os
import re
import subprocess
import threading
import time

import promtool
from harness import BIN, Case, call, need, sanitized, wait_until

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
RANGE = 262143328850
# Busy CPUs of the machine in files.
WORKLOADS = {"rest": 0, "cpu-10": 0.2, "cpu-25": 0.5, "cpu-50": 1, "cpu-75": 1.5, "cpu-100": 2,
             "cpu-one": 1, "memory": 1.2, "cache": 1.9, "disk": 0.3, "switches": 0.8, "mixed": 1.4}
IDLE_W, CPU_W = 6, 4


def machine_of_kvm():
    """Descriptors of KVM, of a virtual machine and of its processor; none without KVM."""
    create_vm, create_vcpu = 0xAE01, 0xAE41
    try:
        kvm = os.open("/dev/kvm", os.O_RDWR)
        vm = fcntl.ioctl(kvm, create_vm, 0)
        return [kvm, vm, fcntl.ioctl(vm, create_vcpu, 0)]
    except OSError:
        return []


def keep_time(pid=0):
    """Run this thread, or a process, before all others: of a machine in files, those that move
    time on and that look at it. With pauses of the one or the other it has wrong watts."""
    with contextlib.suppress(OSError):  # not root
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))


class Metered(Case):
    def collect(self, *args):
        # Directories of tests are for their user alone. A sanitizer looks for leaks with
        # what the filter refuses.
        return self.start_http("tw-collector", "--interval", "100ms", "--bpf", "off",
                               "--user", "root", *(["--filter=no"] if sanitized() else []),
                               *args)

    def metrics(self, daemon, accept=""):
        answer = call(daemon, "GET", "/metrics", headers={"Accept": accept})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body.decode()

    def samples(self, daemon):
        return self.parse(self.metrics(daemon))

    @staticmethod
    def parse(text):
        """(name, labels, value) of each sample."""
        found = []
        for line in text.splitlines():
            match = SAMPLE.match(line)
            if match:
                found.append((match[1], dict(LABEL.findall(match[2] or "")),
                              float(match[3])))
        return found

    def check_promtool(self, daemon, wanted=frozenset()):
        """Prometheus' tool has these complaints of the text, and reads all of OpenMetrics."""
        promtool.need_promtool()
        self.assertEqual(promtool.complaints(self.metrics(daemon)), wanted)
        text = self.metrics(daemon, promtool.OPENMETRICS)
        told = self.parse(text)
        self.assertEqual(len(told), len(re.findall("^[^#]", text, re.M)))
        self.assertCountEqual(promtool.read_back(self.dir, text), promtool.as_stored(told))

    def joules(self, daemon, name, **labels):
        return sum(value for n, has, value in self.samples(daemon)
                   if n == name and all(has[k] == v for k, v in labels.items()))

    def node_joules(self, daemon, zone="package"):
        return self.joules(daemon, "tallywatt_node_energy_joules_total", zone=zone)

    def exchange(self, name, text):
        """Whoever reads it sees the old or the new one."""
        self.write(name + ".new", text)
        os.rename(self.path(name + ".new"), self.path(name))

    def energy_of_all(self, daemon):
        """Whether both the container and the VM have some, of a little more."""
        self.uj += 1000
        self.rapl(self.uj)
        return all(self.joules(daemon, f"tallywatt_{level}_energy_joules_total",
                               zone="package") > 0 for level in ("container", "vm"))

    def machine(self):
        """A machine with a container, a VM, RAPL and a power meter, in files."""
        pod = "8f3b1c52_7e0d_4b59_9a4e_0d1c2b3a4f5e"
        self.run_processes(100)
        for pid, path in ((11, f"/kubepods.slice/kubepods-pod{pod}.slice/cri-containerd-"
                               + "ab" * 32 + ".scope"),
                          (12, "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope")):
            self.write(f"proc/{pid}/cgroup", f"0::{path}\n")
        self.write("proc/stat", "cpu 100 0 100 1000\ncpu0 1\nctxt 5\nintr 6\n")
        self.write("proc/vmstat", "pgfault 7\n")
        self.write("proc/cpuinfo", "processor : 0\nvendor_id : GenuineIntel\n"
                                   "model name : A \"Xeon\"\nphysical id : 1\ncore id : 2\n")
        os.makedirs(self.path("sys/fs/cgroup"), exist_ok=True)
        self.write("sys/fs/cgroup/cgroup.controllers", "cpu\n")
        self.rapl(1000000)
        os.makedirs(self.path("sys/class/hwmon/hwmon0"), exist_ok=True)
        self.write("sys/class/hwmon/hwmon0/name", "power_meter\n")
        self.write("sys/class/hwmon/hwmon0/power1_average", "90000000\n")
        return ["--proc", self.path("proc"), "--sys", self.path("sys"),
                "--nvml", self.path("none.so"), "--amdsmi", self.path("none.so")]

    def gpus(self, text):
        """GPUs of a library that looks like NVIDIA's (tests/fake/nvml.c)."""
        self.exchange("gpus", text)
        os.environ["TW_FAKE_NVML"] = self.path("gpus")
        self.addCleanup(os.environ.pop, "TW_FAKE_NVML", None)
        library = os.path.join(BIN, "tests/fake/libnvidia-ml.so.1")
        self.assertTrue(os.path.exists(library), f"no {library}: make build-tests")
        return ["--nvml", library]

    def start_vm(self, *args):
        """A process that looks like qemu and is one to the kernel: it holds a machine of KVM,
        or is in a hypervisor's cgroup. Its pid."""
        kvm = machine_of_kvm()
        scope = None if kvm else self.vm_scope()
        vm = subprocess.Popen(["qemu-system-x86_64", "-c", "while :; do :; done", "-name", "web",
                               *args], executable="/bin/sh",
                              pass_fds=kvm)
        self.addCleanup(vm.wait)
        self.addCleanup(vm.kill)
        for fd in kvm:
            os.close(fd)
        if not kvm:
            with open(os.path.join(scope, "cgroup.procs"), "w", encoding="ascii") as f:
                f.write(str(vm.pid))
        return vm.pid

    def vm_scope(self):
        """A cgroup as libvirt makes one for its VM web."""
        top = "/sys/fs/cgroup"
        if not os.path.exists(f"{top}/cgroup.controllers"):
            top += "/cpuacct"
        path = f"{top}/tallywatt-test-{os.getpid()}.slice"
        scope = f"{path}/machine-qemu\\x2d1\\x2dweb.scope"
        try:
            os.makedirs(scope)
        except OSError:
            need("kvm", False)
        self.addCleanup(os.rmdir, path)
        self.addCleanup(os.rmdir, scope)
        return scope

    def registers(self, counts):
        """RAPL's of an Intel processor, each count J / 2^14; as module msr shows them."""
        if not os.path.exists(self.path("dev/cpu/0/msr")):
            os.makedirs(self.path("dev/cpu/0"), exist_ok=True)
            os.makedirs(self.path("sys/devices/system/cpu/cpu0/topology"), exist_ok=True)
            for file in ("physical_package_id", "die_id", "core_id"):
                self.write(f"sys/devices/system/cpu/cpu0/topology/{file}", "0\n")
            self.write("dev/cpu/0/msr", "")
        with open(self.path("dev/cpu/0/msr"), "r+b", buffering=0) as f:
            for at, value in {0x606: 0xa0e03, **counts}.items():
                os.pwrite(f.fileno(), value.to_bytes(8, "little"), at)
        return ["--dev", self.path("dev")]

    def check_rows(self, daemon):
        """Of one answer: the rows of each level and the rest are the node's, to the microjoule."""
        levels = ("process", "cgroup", "container", "pod", "vm", "job", "step")
        answer = call(daemon, "GET", f"/api/v1/power?level=node,{','.join(levels)}").json()
        uj = {}
        for row in answer["workloads"] + [{**r, "level": f"rest of {r['level']}"}
                                          for r in answer["rest"]]:
            for zone in filter(lambda z: z.get("used", True), row["zones"]):
                at = row["level"], zone["zone"]
                uj[at] = uj.get(at, 0) + round(1e6 * (zone.get("dynamic_joules", 0) +
                                                      zone.get("idle_joules", 0)))
        for level in levels:
            for zone in {zone for of, zone in uj if of == "node"}:
                self.assertEqual(uj.get((level, zone), 0) + uj[f"rest of {level}", zone] +
                                 uj["rest of node", zone], uj["node", zone], (level, zone, answer))
        return uj

    def run_until(self, condition, what):
        """Both processes go on until it is so: energy goes to what runs."""
        def more():
            if condition():
                return True
            self.ticks += 1
            self.run_processes(self.ticks)
            return False
        wait_until(more, what)

    def follow_phases(self, log):
        """CPU time and energy of the phase of tallywatt engage that the log names last."""
        stopped = threading.Event()
        clock = threading.Thread(target=self.run_phases, args=(log, stopped))
        clock.start()
        self.addCleanup(clock.join)
        self.addCleanup(stopped.set)

    def run_phases(self, log, stopped):
        keep_time()
        ticks, start = 100.0, time.monotonic()
        last = start
        while not stopped.wait(0.02):
            now = time.monotonic()
            phase = re.findall(r"\[\d+/13\] ([\w-]+):", log())
            busy = WORKLOADS[phase[-1]] if phase else 0
            ticks += 50 * busy * (now - last)
            last = now
            # Energy follows the CPU time that the kernel shows: two processes, ticks of 10 ms.
            joules = 1 + IDLE_W * (now - start) + CPU_W * 2 * int(ticks) / 100
            self.run_processes(int(ticks))
            for zone, share in (("intel-rapl:0", 1), ("intel-rapl:0:0", 0.5)):
                self.exchange(f"sys/class/powercap/{zone}/energy_uj",
                              f"{int(joules * share * 1e6)}\n")

    def run_processes(self, ticks):
        self.ticks = ticks
        for pid in (11, 12):
            os.makedirs(self.path(f"proc/{pid}"), exist_ok=True)
            self.exchange(f"proc/{pid}/stat", f"{pid} (job) S 1 1 1 0 -1 0 1 2 3 4 {ticks} "
                                              "0 0 0 20 0 1 0 500 1\n")

    def rapl(self, uj):
        self.uj = uj
        for name, zone in (("intel-rapl:0", "package-0"), ("intel-rapl:0:0", "core"),
                           ("intel-rapl:0:1", "uncore"), ("intel-rapl:0:2", "dram"),
                           ("intel-rapl:1", "psys")):
            base = f"sys/class/powercap/{name}"
            os.makedirs(self.path(base), exist_ok=True)
            for file, value in (("name", zone), ("energy_uj", uj),
                                ("max_energy_range_uj", RANGE)):
                self.exchange(f"{base}/{file}", f"{value}\n")
