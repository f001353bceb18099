# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: where tw-collector takes CPU time from, and how much of it."""
import os
import subprocess

from harness import need
from inside import BTF, LOAD, V1, V2, Cgroup, sources
from seen import EXACT_S, Seen

# A load, and what of its cgroup's CPU time must be seen.
LOADS = (("true", ("true", "100")), ("storm", ("storm", "4", "60")),
         ("pipe", ("pipe", "5000")), ("threads", ("threads", "5000")),
         ("spin", ("spin", "800")), ("short", ("short", "200")),
         ("crowds", ("crowds", "10")))
LEAST, MOST = 0.999, 1.001
# From /proc a load that begins or ends at a tick may be seen less of: once more, then, and the
# table has each.
PROC_TRIES = 3
# /proc has 10 ms, of user and of kernel: of so much is not known whose it is.
PROC_S, PROC_PART = 0.08, 0.02


class Sources(Seen):
    def test_a_probe_tells_what_this_kernel_allows(self):
        found = self.probe()
        there = [s["name"] for s in found["tasks"] if s["there"]]
        self.show(sources=" ".join(there), release=os.uname().release)
        self.assertEqual(there, sources())
        self.assertEqual([s["name"] for s in found["tasks"] if s["used"]], sources()[:1])
        for source in found["tasks"]:
            self.assertEqual(source["there"], source["why"] == "", source)
        self.assertTrue(all(right["there"] for right in found["rights"]), found["rights"])
        self.assertEqual(found["cgroups"], "v2")

    def test_the_best_source_is_used(self):
        daemon = self.collect()
        self.wait_ticks(daemon)
        self.assertEqual(self.health(daemon)["tasks"], sources()[0])
        self.assertEqual(self.value(daemon, "tallywatt_collector_ticks_failed_total"), 0)

    def test_a_load_is_seen_by_each_source_in_cgroups_v2(self):
        self.check_loads(V2, "v2")

    def test_a_load_is_seen_by_each_source_in_cgroups_v1(self):
        self.mount_v1()
        self.check_loads(V1, "v1")

    def mount_v1(self):
        """In place of v2, as a machine had it: what is asked for by --cgroups=auto too."""
        os.makedirs("/run/v2", exist_ok=True)
        subprocess.run(["mount", "--move", V2, "/run/v2"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "cgroup", V2], check=True)
        os.mkdir(V1)
        subprocess.run(["mount", "-t", "cgroup", "-o", "cpuacct", "cpuacct", V1], check=True)
        self.addCleanup(subprocess.run, ["mount", "--move", "/run/v2", V2], check=True)
        self.addCleanup(subprocess.run, ["umount", V2], check=True)
        self.addCleanup(subprocess.run, ["umount", V1], check=True)

    def check_loads(self, top, version):
        missed = []
        for source in sources():
            daemon = self.collect_from(source, "--cgroups", version, "--ended-max", "1000")
            for name, args in LOADS:
                parts = []
                with Cgroup(top, f"{name}-{source}") as cgroup:
                    for _ in range(PROC_TRIES if source == "proc" else 1):
                        _, part, seconds = self.seen_of(daemon, cgroup, args)
                        parts.append(f"{part:.3%}")
                        blur = PROC_PART + PROC_S / seconds if source == "proc" else 0
                        seen = LEAST - blur <= part <= MOST + blur
                        if seen:
                            break
                self.show(**{f"{name}, {source}, {version}": ", then ".join(parts)})
                if not seen:
                    missed.append((source, name, parts))
            self.assertEqual(
                self.value(daemon, "tallywatt_collector_ticks_failed_total"), 0)
            daemon.stop()
        self.assertEqual(missed, [])

    def collect_from(self, source, *args):
        return self.collect("--bpf", {"bpf-walk": "walk", "bpf-iter": "iter",
                                      "proc": "off"}[source], *args)

    def test_what_ended_is_told_to_the_microsecond(self):
        for source in sources()[:-1]:
            daemon = self.collect_from(source)
            with Cgroup(V2, f"exact-{source}") as cgroup:
                _, part, seconds = self.seen_of(daemon, cgroup, ("storm", "2", "50"))
            off_us = (part - 1) * seconds * 1e6
            self.show(**{f"us off after 100 ends, {source}": f"{off_us:.1f}"})
            self.assertLess(abs(off_us), 1e6 * EXACT_S)
            daemon.stop()

    def test_names_that_find_no_room_lose_no_time(self):
        need("BTF", os.path.exists(BTF))
        daemon = self.collect("--events-max", "64", "--interval", "10s")
        with Cgroup(V2, "overflow") as cgroup:
            cgroup.run(LOAD, "storm", "4", "60")
            self.wait_ticks(daemon, 1)
            seen = self.cgroup_s(daemon, cgroup) / (cgroup.usage_ns() / 1e9)
        self.show(overflow=f"{seen:.3%}")
        self.assertGreaterEqual(seen, LEAST)
        self.assertLessEqual(seen, MOST)
