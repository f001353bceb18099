#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A simulated power meter that lags: prints, each INTERVAL s, the watts that a law of the
machine's load had LAG s ago. A command for tw-collector --meter-command.

	lagging_meter.py LAG [INTERVAL [PROC]]

The law: 20 W + 15 W * u^0.8, where u is the share of CPU time that is used.
"""
import collections
import os
import sys
import time

IDLE_W, BUSY_W, POWER = 20.0, 15.0, 0.8


def ticks(proc):
    """Used and all CPU time of the machine."""
    with open(os.path.join(proc, "stat"), encoding="ascii") as f:
        times = [int(word) for word in f.readline().split()[1:9]]
    return sum(times) - times[3] - (times[4] if len(times) > 4 else 0), sum(times)


def main():
    lag_s = float(sys.argv[1])
    step_s = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0
    proc = sys.argv[3] if len(sys.argv) > 3 else "/proc"
    past = collections.deque()
    before = ticks(proc)
    due = time.monotonic()
    while True:
        due += step_s
        time.sleep(max(0.0, due - time.monotonic()))
        now = ticks(proc)
        used, total = now[0] - before[0], now[1] - before[1]
        before = now
        watts = IDLE_W + BUSY_W * min(max(used / total, 0.0), 1.0) ** POWER if total > 0 else IDLE_W
        past.append((time.monotonic(), watts))
        while len(past) > 1 and past[1][0] <= time.monotonic() - lag_s:
            past.popleft()
        print(f"{past[0][1]:.3f}", flush=True)


if __name__ == "__main__":
    main()
