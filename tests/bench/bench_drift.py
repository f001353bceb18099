#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How often a drift is found in simulated recordings, and where there is none."""
import os
import subprocess

import bench

RECORDINGS = bench.quick(1000, 100)
# With rest and without, where a kind of work lasts for up to an eighth of the recording.
FALSE, LONGEST_KIND = 2, 150
# The usual machine, whose power changes by 4 W in a line.
USUAL, POWER = ("line", "0.25", "30", "4"), 90


def main():
    program = os.path.join(bench.HELPERS, "drift")
    done = subprocess.run([program, str(RECORDINGS)], stdout=subprocess.PIPE, text=True, check=True)
    table = bench.Table(("shape", -10, ""), ("rest", 5, ""), ("rows of a kind", 14, ""),
                        ("W", 3, ""), ("found %", 8, ".1f"))
    goals = bench.Goals()
    for line in done.stdout.splitlines():
        *machine, share = line.split()
        found = 100 * float(share)
        table.row(*machine, found)
        if machine[3] == "0" and int(machine[2]) <= LONGEST_KIND:
            goals.at_most(f"found without a drift, rest {machine[1]}, kinds of {machine[2]} rows",
                          found, FALSE, "%")
        if tuple(machine) == USUAL:
            goals.at_least("a line of 4 W found", found, POWER, "%")
    goals.exit()


if __name__ == "__main__":
    main()
