# SPDX-License-Identifier: Apache-2.0
"""What tw-collector costs and what it sees, on this machine, as root.

All of a run is of one run: variants of a measurement take turns, and their medians are
compared. See docs/bench.md.
"""
import os
import sys

import bench
from collector_capture import measure_capture, measure_overflow
from collector_run import refuse_others, skip
from collector_switch_cost import measure_counters, measure_switches, measure_traces
from collector_tick_cost import measure_all, measure_growth, measure_ticks


def main():
    if os.geteuid() != 0:
        skip("not root")
    if not os.path.exists(os.path.join(bench.HELPERS, "attach_programs")):
        skip("built without BPF")
    if not bench.QUICK:  # its times are not judged
        refuse_others()
    goals = bench.Goals()
    parts = {"switches": lambda s: measure_switches(s, goals),
             "counters": lambda s: measure_counters(s, goals),
             "traces": measure_traces,
             "capture": lambda s: measure_capture(s, goals),
             "overflow": lambda s: measure_overflow(s, goals),
             "ticks": lambda s: measure_ticks(s, goals),
             "scrapes": lambda s: measure_all(s, goals),
             "growth": lambda s: measure_growth(goals)}
    with bench.Scratch() as scratch:
        for name in sys.argv[1:] or parts:
            parts[name](scratch)
    goals.exit()


if __name__ == "__main__":
    main()
