# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine whose processors leave RCU's work to threads (rcu_nocbs=), and
where Linux is lazy: what has ended is freed up to 10 s later. Its CPU time is told at once."""
from harness import need
from inside import LOAD, V2, Cgroup, sources
from seen import Seen

# A load, and what of it must be told ten ticks after it: not the last moments of threads, nor of a
# process that was waited for while it still ran them on another processor.
LOADS = (("storm", ("storm", "4", "60"), 0.9), ("true", ("true", "100"), 0.99),
         ("crowds", ("crowds", "10"), 0.9))
LEAST, MOST = 0.999, 1.001


class Offloaded(Seen):
    def test_time_is_told_before_what_ended_is_freed(self):
        need("BTF", sources() != ["proc"])
        missed = []
        for source in sources()[:-1]:
            daemon = self.collect("--bpf", source.removeprefix("bpf-"), "--cgroups", "v2")
            for name, args, least in LOADS:
                with Cgroup(V2, f"{name}-{source}") as cgroup:
                    first, last, _ = self.seen_of(daemon, cgroup, args)
                self.show(**{f"{name}, {source}, offloaded, at once": f"{first:.3%}",
                             f"{name}, {source}, offloaded": f"{last:.3%}"})
                if first < least or not LEAST <= last <= MOST:
                    missed.append((source, name))
            daemon.stop()
        self.assertEqual(missed, [])
