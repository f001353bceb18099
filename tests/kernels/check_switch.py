# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine whose clock counts instructions: how many a context switch
takes with tw-collector."""
import os
import statistics
import subprocess

from harness import BIN
from inside import LOAD, Inside

BLOCKS, TRIPS = 5, 20000
MOST, LEAST = 15, 15
# A kernel that has just booted becomes faster by itself: once more, then.
TRIES = 3


class Pair:
    """Two that pass a byte to and fro on one processor, until it is closed."""

    def __init__(self, load):
        self.proc = subprocess.Popen([LOAD, "lines", load], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, text=True)

    def close(self):
        self.proc.communicate()

    def block(self):
        """CPU time of both by switch: ns, and so instructions."""
        self.proc.stdin.write(f"{TRIPS}\n")
        self.proc.stdin.flush()
        return float(self.proc.stdout.readline())

    def measure(self):
        """The first is for what a change has left to be done."""
        return statistics.median([self.block() for _ in range(1 + BLOCKS)][1:])


class Switch(Inside):
    def test_a_switch_between_processes_takes_no_more_instructions(self):
        self.check("pipe")

    def test_a_switch_between_threads_takes_no_more_instructions(self):
        self.check("threads")

    def check(self, load):
        pair = Pair(load)
        self.addCleanup(pair.close)
        for _ in range(TRIES):
            nothing = pair.measure()
            ours = self.with_collector(pair) - nothing
            again = pair.measure() - nothing
            if abs(again) < MOST:
                break
        empty = self.with_empty_program(pair) - nothing
        self.show(**{f"instructions of a switch, {load}": f"{nothing:.0f}",
                     "more with tw-collector; after it; with an empty program, " + load:
                     f"{ours:+.1f}; {again:+.1f}; {empty:+.1f}"})
        self.assertLess(abs(again), MOST)
        self.assertLess(ours, MOST)
        self.assertGreater(empty, LEAST)  # what there is would be seen

    def with_collector(self, pair):
        daemon = self.collect()  # ten ticks a second
        self.wait_ticks(daemon)
        try:
            return pair.measure()
        finally:
            daemon.stop()

    def with_empty_program(self, pair):
        with subprocess.Popen([os.path.join(BIN, "tests/bench/attach_programs")],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as empty:
            empty.stdin.write("empty\n")
            empty.stdin.flush()
            self.assertEqual(empty.stdout.readline(), "empty\n")
            return pair.measure()
