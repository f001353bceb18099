# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: a kernel that does not tell its types (BTF), be it that it was
built so or that nobody sees them."""
import os
import re
import subprocess

from harness import BIN
from inside import BTF, PERF, V2, Cgroup
from seen import Seen

WHY = "no /sys/kernel/btf/vmlinux (a kernel with CONFIG_DEBUG_INFO_BTF has it)"
# Of a load of some 0.8 s by /proc, whose grain is 10 ms of user and of kernel.
LEAST, MOST = 0.9, 1.1


class WithoutBtf(Seen):
    def setUp(self):
        super().setUp()
        if os.path.exists(BTF):
            where = os.path.dirname(BTF)
            subprocess.run(["mount", "-t", "tmpfs", "none", where], check=True)
            self.addCleanup(subprocess.run, ["umount", where], check=True)
        self.show(without_btf="hidden" if os.path.exists("/sys/kernel/btf") else "none built")

    def test_a_probe_says_why_there_is_proc_only(self):
        found = self.probe()
        self.assertEqual([(s["name"], s["there"], s["used"]) for s in found["tasks"]],
                         [("bpf-walk", False, False), ("bpf-iter", False, False),
                          ("proc", True, True)])
        for source in found["tasks"][:-1]:
            self.assertIn(WHY, source["why"])
        self.assertTrue(any("CONFIG_DEBUG_INFO_BTF" in line for line in found["advice"]),
                        found["advice"])

    def test_it_runs_with_proc_and_says_why(self):
        daemon = self.collect("--trace", "page-cache,softirqs")
        self.wait_ticks(daemon)
        self.show(source_without_btf=self.health(daemon)["tasks"])
        self.assertEqual(self.health(daemon)["tasks"], "proc")
        for what in ("bpf-walk: cannot load the BPF programs",
                     "bpf-iter: cannot load the BPF programs",
                     # Where there are kprobes, reads are seen without.
                     "--trace: page-cache: cannot trace (reads of|writes to) the page cache",
                     "--trace: softirqs: cannot trace softirqs"):
            self.assertRegex(daemon.log(), f'msg="no {what}: {re.escape(WHY)}"')
        self.assertIn("without BPF: processes that begin and end between two ticks are not "
                      "seen", daemon.log())
        self.check_metrics(daemon)

    def check_metrics(self, daemon):
        samples = self.samples(daemon)
        self.assertEqual([has["tasks"] for name, has, _ in samples
                          if name == "tallywatt_collector_info"], ["proc"])
        names = {name for name, _, _ in samples}
        self.assertIn("tallywatt_process_cpu_seconds_total", names)
        self.assertFalse([name for name in names if "softirqs" in name
                          and not name.startswith("tallywatt_node_")])
        self.assertEqual(self.value(daemon, "tallywatt_collector_ticks_failed_total"), 0)
        with Cgroup(V2, "without-btf") as cgroup:
            _, part, _ = self.seen_of(daemon, cgroup, ("spin", "800"))
        self.show(seen_without_btf=f"{part:.2%}")
        self.assertTrue(LEAST < part < MOST, part)

    def test_what_was_asked_for_by_name_is_refused_and_says_why(self):
        asked = [("--bpf", "walk"), ("--bpf", "iter")]
        if os.path.exists(PERF):
            asked.append(("--counters", "software"))
        for args in asked:
            done = subprocess.run([os.path.join(BIN, "tw-collector"), "--listen",
                                   "127.0.0.1:0", *args], check=False, timeout=300,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(WHY, done.stdout.decode())
