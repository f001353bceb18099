# SPDX-License-Identifier: Apache-2.0
"""A machine of two sockets by its kernel, with two meters by us: a thread moves the counters of a
powercap tree, of each package by a constant power."""
import os
import threading
import time

PACKAGES = ((0, 1, 2, 3), (4, 5, 6, 7))
OURS = 6  # the CPU of the collector and of this process
POWER_W = (40, 20)
RANGE = 262143328850
STEP_S = 0.05


class Meters:
    def __init__(self, top):
        self.joules = [1.0, 1.0]
        self.files = [self.zone(top, i) for i in range(2)]
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def zone(self, top, number):
        folder = os.path.join(top, f"intel-rapl:{number}")
        os.makedirs(folder)
        for name, value in (("name", f"package-{number}"), ("max_energy_range_uj", RANGE),
                            ("energy_uj", 1000000)):
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(f"{value}\n")
        return os.open(os.path.join(folder, "energy_uj"), os.O_WRONLY)

    def run(self):
        at = time.monotonic()
        while not self.stopped.wait(STEP_S):
            ended = time.monotonic()
            for i, watts in enumerate(POWER_W):
                self.joules[i] += watts * (ended - at)
                # Digits never become fewer, so that a write replaces all of the one before.
                os.pwrite(self.files[i], b"%d\n" % (self.joules[i] * 1e6), 0)
            at = ended

    def close(self):
        self.stopped.set()
        self.thread.join()
        for fd in self.files:
            os.close(fd)
