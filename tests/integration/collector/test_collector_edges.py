# SPDX-License-Identifier: Apache-2.0
"""tw-collector where the kernel is odd: time namespaces, entries that outlive their process,
cgroups that come and go."""
import json
import os
import re
import shutil
import subprocess
import threading
import time
import unittest

from harness import BIN, TIMEOUT_S, Case, call, need, sanitized, wait_until
from test_collector import bpf_works

LOAD = os.path.join(BIN, "tests/bench/collector_load")
SECONDS = re.compile(r'^tallywatt_process_cpu_seconds_total\{(.*)\} (\S+)$', re.M)
# How long cgroups come and go, and how many a second: more for a bench.
CHURN_S = float(os.environ.get("TW_CHURN_SECONDS", "3"))
CHURN_HZ = float(os.environ.get("TW_CHURN_HZ", "1000"))


def in_time_namespace(*command):
    return ("unshare", "--time", "--boottime", "864000", "--monotonic", "864000", *command)


class EdgeCase(Case):
    def setUp(self):
        super().setUp()
        need("bpf", bpf_works())

    def collect(self, *args, prefix=(), interval="200ms"):
        args = ("--interval", interval, "--shipped-models", "", "--top", "0", *args)
        if sanitized():
            args += ("--user", "root", "--filter=no")
        if not prefix:
            return self.start_http("tw-collector", *args)
        script = self.write("start", "#!/bin/sh\nexec " + " ".join(prefix) + " " +
                            f"'{BIN}/tw-collector' \"$@\"\n")
        os.chmod(script, 0o755)
        return self.start_http(script, *args)

    @staticmethod
    def seconds_of(collector, label):
        """CPU time of the processes with a label."""
        text = call(collector, "GET", "/metrics").body.decode()
        return sum(float(value) for labels, value in SECONDS.findall(text) if label in labels)

    @staticmethod
    def bpftool(*args):
        done = subprocess.run(["bpftool", "--json", *args], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=TIMEOUT_S)
        return json.loads(done.stdout or b"[]") or []

    def map_of(self, collector, name):
        """The id of a collector's map. Collectors of other tests have maps of that name, too."""
        fdinfo, ids = f"/proc/{collector.proc.pid}/fdinfo", set()
        for fd in os.listdir(fdinfo):
            with open(f"{fdinfo}/{fd}", encoding="ascii") as f:
                ids.update(map(int, re.findall(r"^map_id:\s*(\d+)$", f.read(), re.M)))
        [found] = [m["id"] for m in self.bpftool("map", "list")
                   if m["id"] in ids and m.get("name") == name]
        return str(found)

    @staticmethod
    def ticks(collector):
        text = call(collector, "GET", "/metrics").body.decode()
        return float(re.search(r"^tallywatt_collector_ticks_total (\S+)$", text, re.M).group(1))


class Edges(EdgeCase):
    def test_a_time_namespace_with_an_offset(self):
        """Processes that start later are younger than the collector there, too."""
        done = subprocess.run(in_time_namespace("cat", "/proc/uptime"), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with open("/proc/uptime", encoding="ascii") as f:
            here = float(f.read().split()[0])
        need("time namespaces", done.returncode == 0 and
             float(done.stdout.split()[0]) > here + 800000)
        for source in ("walk", "iter"):
            collector = self.collect(f"--bpf={source}", prefix=in_time_namespace())
            name = f"odd-{source}"
            shutil.copy(LOAD, self.path(name))
            used = float(subprocess.run([self.path(name), "spin", "300"], check=True,
                                        stdout=subprocess.PIPE).stdout) / 1e9
            self.assertGreater(used, 0.25)
            wait_until(lambda: self.seconds_of(collector, f'command="{name}"') > 0.9 * used,
                       f"all {used} s of a short process are seen with {source}", timeout=60)

    def test_a_stale_entry_of_dead_threads_is_nobodys(self):
        """An entry that is older than the process was left by another one."""
        need("bpftool", shutil.which("bpftool"))
        collector = self.collect("--bpf=walk")
        # A process with a thread that has exited, so that it has an entry.
        late = subprocess.Popen(
            ["python3", "-c", "import threading, time\n"
             "t = threading.Thread(target=sum, args=(range(1000),)); t.start(); t.join()\n"
             "print(flush=True); time.sleep(600)"], stdout=subprocess.PIPE)
        self.addCleanup(late.communicate)
        self.addCleanup(late.kill)
        late.stdout.readline()
        dead, key = self.map_of(collector, "dead"), None

        def entry():
            nonlocal key
            for e in self.bpftool("map", "dump", "id", dead):
                raw = [int(b, 16) for b in e["key"]]
                if int.from_bytes(raw[8:], "little") == late.pid:
                    key = [str(b) for b in raw]
                    return True
            return False
        wait_until(entry, "the process has an entry")

        def replace(since_ns):
            """An hour of CPU time, of threads that began at that time."""
            value = (3600 * 10**9).to_bytes(8, "little") + since_ns.to_bytes(8, "little")
            subprocess.run(["bpftool", "map", "update", "id", dead, "key", *key,
                            "value", *[str(b) for b in value]], check=True,
                           timeout=TIMEOUT_S)
        replace(1)
        ticks = self.ticks(collector)
        wait_until(lambda: self.ticks(collector) > ticks + 3, "ticks")
        self.assertLess(self.seconds_of(collector, f'pid="{late.pid}"'), 600)
        replace(1 << 62)
        wait_until(lambda: self.seconds_of(collector, f'pid="{late.pid}"') > 600,
                   "an entry that is younger than the process is its own")


class Churn(EdgeCase):
    """Cgroups that live for a millisecond, with a process in each fiftieth."""

    def test_cgroups_that_come_and_go(self):
        parent = self.make_parent()
        collector = self.collect("--keep-ended", "1s")
        ticks = self.ticks(collector)
        wait_until(lambda: self.ticks(collector) > ticks + 5, "the collector is warm")
        before = collector.resident_kib()
        made, most, stop = 0, 0, threading.Event()

        def churn():
            nonlocal made
            began = now = time.monotonic()
            while now < began + CHURN_S and not stop.is_set():
                folder = os.path.join(parent, str(made))
                os.mkdir(folder)
                if made % 50 == 0:
                    subprocess.run(["/bin/sh", "-c", 'echo $$ > "$0/cgroup.procs"', folder],
                                   check=True, timeout=TIMEOUT_S)
                self.remove(folder)
                made += 1
                now = time.monotonic()
                time.sleep(max(0, began + made / CHURN_HZ - now))
        thread = threading.Thread(target=churn)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.5)
                text = call(collector, "GET", "/metrics").body.decode()
                most = max(most, text.count("tallywatt_cgroup_cpu_seconds_total{"))
        finally:
            stop.set()
            thread.join()
        self.assertGreater(made, 10)
        ticks = self.ticks(collector)
        wait_until(lambda: self.ticks(collector) > ticks + 2, "the ticks go on")
        text = call(collector, "GET", "/metrics").body.decode()
        missed, failed = (re.search(rf"^tallywatt_collector_ticks_{how}_total (\S+)$", text, re.M)
                          .group(1) for how in ("missed", "failed"))
        print(f"\n{made} cgroups in {CHURN_S:g} s, {most} exported at most, {missed} ticks missed")
        self.assertEqual(failed, "0")
        if not sanitized():
            wait_until(lambda: collector.resident_kib() - before < 6 << 10,
                       "the memory of the cgroups is returned")

    def make_parent(self):
        for top in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"):
            path = os.path.join(top, f"tallywatt-churn-{os.getpid()}")
            try:
                os.mkdir(path)
            except OSError:
                continue
            self.addCleanup(self.remove, path)
            return path
        return need("writable cgroups", False)

    @staticmethod
    def remove(folder):
        def removed():
            try:
                os.rmdir(folder)
            except FileNotFoundError:
                return True
            except OSError:
                return False
            return True
        wait_until(removed, f"{folder} is empty", pause_s=0.001)


if __name__ == "__main__":
    unittest.main()
