# SPDX-License-Identifier: Apache-2.0
"""What the checks inside of a virtual machine share: what its kernel has, told by the kernel
itself and not by what tw-collector finds out; loads; and cgroups."""
import functools
import json
import os
import re
import subprocess

import harness
from harness import BIN, call
from metered import Metered

LOAD = "/tw/bin/tests/bench/collector_load"
BTF = "/sys/kernel/btf/vmlinux"
# Where there is perf_event_open().
PERF = "/proc/sys/kernel/perf_event_paranoid"
V2 = "/sys/fs/cgroup"
V1 = "/sys/fs/cgroup/cpuacct"


# Emulation is slow: who asks all the time has nothing left for who answers.
harness.TIMEOUT_S = 300
wait_until = functools.partial(harness.wait_until, timeout=harness.TIMEOUT_S, pause_s=0.25)


def read(path):
    with open(path, encoding="ascii", errors="replace") as f:
        return f.read()


@functools.lru_cache(None)
def symbols():
    """Functions of the kernel."""
    return {line.split()[2] for line in read("/proc/kallsyms").splitlines()}


def sources():
    """Where tasks can come from here, the best first."""
    if not os.path.exists(BTF):
        return ["proc"]
    walk = ["bpf-walk"] if "bpf_iter_task_new" in symbols() else []
    return [*walk, *(["bpf-iter"] if "task_seq_show" in symbols() else []), "proc"]


class Cgroup:
    """One of its own, of v2 or of v1's cpuacct, for a load."""

    def __init__(self, top, name):
        self.name = "/" + name
        self.path = top + self.name
        self.v1 = top == V1

    def __enter__(self):
        os.mkdir(self.path)
        return self

    def __exit__(self, *_):
        wait_until(self.removed, "the cgroup is empty")

    def removed(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False

    def enter(self):
        with open(f"{self.path}/cgroup.procs", "w", encoding="ascii") as f:
            f.write("0")

    def usage_ns(self):
        if self.v1:
            return int(read(f"{self.path}/cpuacct.usage"))
        return 1000 * int(re.search(r"usage_usec (\d+)", read(f"{self.path}/cpu.stat"))[1])

    def run(self, *command):
        return subprocess.run(command, preexec_fn=self.enter, check=True,
                              stdout=subprocess.PIPE).stdout


class Inside(Metered):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)  # tw-collector becomes another user

    def show(self, **facts):
        """For the table at the end."""
        tell(shown=facts)

    def collect(self, *args):
        return self.start_http("tw-collector", "--interval", "100ms", *args)

    def health(self, daemon):
        return json.loads(call(daemon, "GET", "/healthz").body)

    def ticks(self, daemon):
        """A machine that is emulated may be late, which is answered with 503."""
        return self.health(daemon).get("ticks", 0)

    def wait_ticks(self, daemon, count=3):
        wait_until(lambda: self.ticks(daemon) > 0, "ticks come")
        ticks = self.ticks(daemon)
        wait_until(lambda: self.ticks(daemon) > ticks + count, "more ticks come")

    def value(self, daemon, name, **labels):
        return self.joules(daemon, name, **labels)

    def cgroup_s(self, daemon, cgroup):
        return self.joules(daemon, "tallywatt_cgroup_cpu_seconds_total", cgroup=cgroup.name)

    def probe(self):
        done = subprocess.run([os.path.join(BIN, "tallywatt"), "probe", "--json", "--watch",
                               "2s"], check=True, stdout=subprocess.PIPE, timeout=120)
        return json.loads(done.stdout)


def tell(**entry):
    """A line for who runs this machine."""
    with open(os.environ["TW_PORT"], "wb", buffering=0) as port:
        port.write(json.dumps(entry).encode() + b"\n")
