# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: what is counted by tw-collector's programs, and by which of
them on this kernel."""
import json
import os
import shutil
import socket
import subprocess

from harness import need
from inside import BTF, LOAD, V2, Cgroup, Inside, wait_until

READ_BY = ("folio_mark_accessed", "mark_page_accessed")
TIMES = 400


def programs():
    """(type, name) of those that are loaded; the kernel keeps 15 bytes of a name."""
    shown = json.loads(subprocess.run(["bpftool", "-j", "prog", "show"], check=True,
                                      stdout=subprocess.PIPE).stdout)
    return {(p["type"], p.get("name", "")) for p in shown}


class Counted(Inside):
    def setUp(self):
        super().setUp()
        need("BTF", os.path.exists(BTF))

    def of_pid(self, daemon, what, pid):
        return self.value(daemon, f"tallywatt_process_{what}_total", pid=str(pid))

    def of_cgroup(self, daemon, what, cgroup):
        return self.joules(daemon, f"tallywatt_cgroup_{what}_total", cgroup=cgroup.name)

    # ---- pages and softirqs ----------------------------------------------------

    def read_pages(self):
        """Pages of one process that are read from the cache, never two of one folio."""
        far = 8 << 20
        with open(self.path("cached"), "wb+") as file:
            for place in (0, far):
                os.pwrite(file.fileno(), b"x" * 4096, place)
            for i in range(TIMES):
                os.pread(file.fileno(), 4096, i % 2 * far)

    def check_pages(self, daemon):
        before = self.of_pid(daemon, "page_cache_hits", os.getpid())
        self.read_pages()
        wait_until(lambda: self.of_pid(daemon, "page_cache_hits", os.getpid())
                   >= before + TIMES, "pages are counted")
        return self.of_pid(daemon, "page_cache_hits", os.getpid()) - before

    def test_pages_are_counted_at_a_function_by_fentry(self):
        daemon = self.collect("--trace", "page-cache", "--top=0")
        self.wait_ticks(daemon)
        self.show(page_cache=self.how_pages())
        hits = self.check_pages(daemon)
        self.show(page_hits_of_400_reads=f"{hits:.0f}")

    def how_pages(self):
        if not shutil.which("bpftool"):
            return "not known: no bpftool"
        found = programs()
        return " ".join(sorted(f"{kind}:{name}" for kind, name in found
                               if name.startswith(("on_folio_acc", "on_page_acc",
                                                   "on_pages_got"))))

    def hide_functions(self):
        """BTF in which the functions have other names, so that there is no fentry."""
        with open(BTF, "rb") as f:
            btf = f.read()
        for name in READ_BY:
            btf = btf.replace(b"\0" + name.encode() + b"\0",
                              b"\0" + b"x" * len(name) + b"\0")
        path = self.write("btf", btf)
        subprocess.run(["mount", "--bind", path, BTF], check=True)
        self.addCleanup(subprocess.run, ["umount", BTF], check=True)

    def test_pages_are_counted_at_a_function_by_kprobe(self):
        self.hide_functions()
        daemon = self.collect("--trace", "page-cache", "--top=0")
        self.wait_ticks(daemon)
        self.show(page_cache_without_fentry=self.how_pages())
        need("bpftool", shutil.which("bpftool"))
        self.assertTrue(any(kind == "kprobe" for kind, name in programs()), programs())
        self.check_pages(daemon)

    def test_softirqs_are_counted(self):
        daemon = self.collect("--trace", "softirqs", "--top=0")
        self.wait_ticks(daemon)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", 0))
            for _ in range(TIMES):
                udp.sendto(b"x", udp.getsockname())
        wait_until(lambda: self.of_pid(daemon, "net_rx_softirqs", os.getpid()) > TIMES / 2,
                   "softirqs are counted")
        self.show(net_rx_of_400_packets=int(self.of_pid(daemon, "net_rx_softirqs",
                                                        os.getpid())))

    # ---- counters --------------------------------------------------------------

    def check_clock(self, daemon, name):
        """The stand-ins count ns: what part of the CPU time of a load is counted."""
        with Cgroup(V2, name) as cgroup:
            cgroup.run(LOAD, "spin", "800")
            self.wait_ticks(daemon, 10)
            counted = self.of_cgroup(daemon, "cpu_cycles", cgroup)
            return counted / cgroup.usage_ns()

    def test_counters_count_what_ran(self):
        daemon = self.collect("--counters", "software")
        part = self.check_clock(daemon, "counted")
        self.show(counted_of_a_spin=f"{part:.2%}")
        self.assertGreater(part, 0.9)
        self.assertLess(part, 1.1)
        self.assertEqual(self.value(daemon, "tallywatt_collector_ticks_failed_total"), 0)

    def test_a_processor_that_comes_back_ends_the_counting(self):
        """The kernel has taken its events away, so that counts would be of others only."""
        daemon = self.collect("--counters", "software")
        part = self.check_clock(daemon, "two-cpus")
        self.assertGreater(part, 0.9, daemon.log())
        self.switch("0")
        self.addCleanup(self.switch, "1")
        part = self.check_clock(daemon, "one-cpu")
        self.show(counted_with_a_cpu_off=f"{part:.2%}")
        self.assertGreater(part, 0.9)
        self.assertLess(part, 1.1)
        self.assertEqual(self.value(daemon, "tallywatt_collector_ticks_failed_total"), 0)
        self.switch("1")
        wait_until(lambda: "CPU 1 came back without its counters" in daemon.log(),
                   "it is said")
        self.wait_ticks(daemon)
        self.assertEqual(self.value(daemon, "tallywatt_collector_ticks_failed_total"), 1)
        names = {name for name, _, _ in self.samples(daemon)}
        self.assertNotIn("tallywatt_process_cpu_cycles_total", names)
        self.assertIn("tallywatt_process_cpu_seconds_total", names)

    @staticmethod
    def switch(on):
        with open("/sys/devices/system/cpu/cpu1/online", "w", encoding="ascii") as f:
            f.write(on)
