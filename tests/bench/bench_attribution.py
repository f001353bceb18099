#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far rules of attribution are from fair shares, on simulated machines whose law of power
the product does not know (docs/attribution.md)."""
import os

import bench

# Sets that "ours, a day" learns from: 28,800 ticks, a day of ticks of 3 s.
KNOWN, MORE, SETS, DAY = bench.quick((12, 8, 60, 4800), (3, 1, 3, 20))
KINDS = ("share", "whole", "bill")
GOALS = (3, 6)  # median and 95 % of errors, in %
COST_MS = 30  # 1 % of a CPU, at a tick of 3 s


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def read_figures():
    """{(law, held out, rule): {kind: values}}, in the order of the program's."""
    figures = {}
    run = bench.Run([os.path.join(bench.HELPERS, "attribution"),
                     *map(str, (KNOWN, MORE, SETS, DAY))])
    for line in run.output.splitlines():
        law, held, rule, kind, value = line.split("\t")
        figures.setdefault((law, held, rule), {}).setdefault(kind, []).append(float(value))
    return figures


def main():
    figures = read_figures()
    print(f"Errors of a workload's dynamic energy in %, {SETS} sets of 2 to 5 workloads by law: of "
          "its Shapley\nvalue, of the energy of all, and of how it changes when a neighbour goes")
    table = bench.Table(("law", -42, ""), ("seen", -9, ""), ("rule", -11, ""), ("median", 6, ".1f"),
                        ("p95", 6, ".1f"), ("of all", 6, ".1f"), ("p95", 6, ".1f"),
                        ("change", 6, ".1f"), ("p95", 6, ".1f"))
    for (law, held, rule), of in figures.items():
        if rule != "-":
            table.row(law, held, rule, *(100 * quantile(of[kind], part) for kind in KINDS
                                         for part in (0.5, 0.95)))
    goals = bench.Goals()
    cost_ms, = figures.pop(("-", "-", "-"))["cost"]
    truths = [of for (_, _, rule), of in figures.items() if rule == "-"]
    goals.right("the Shapley values add up", max(max(of["truth"]) for of in truths) < 1e-9)
    goals.right("shares add up to the microjoule", all(of["sum"] == [0] for of in truths))
    goals.at_most("a division among 10,000 processes", cost_ms, COST_MS, "ms")
    for seen in ("held-out", "fresh", "undelayed"):
        for rule in ("ours", "ours, a day", "plain", "CPU time", "Kepler 0.11", "one run"):
            of_rule = [kinds for (_, *key), kinds in figures.items() if key == [seen, rule]]
            errors = {kind: [100 * quantile([e for kinds in of_rule for e in kinds[kind]], part)
                             for part in (0.5, 0.95)] for kind in KINDS}
            print(f"laws {seen}, {rule}: " + ", ".join(
                f"{kind} {errors[kind][0]:.1f} / {errors[kind][1]:.1f} %" for kind in KINDS))
            if rule.startswith("ours") and seen != "undelayed":
                laws = f"laws {seen}" + rule.removeprefix("ours")
                goals.at_most(f"{laws}, median error", errors["share"][0], GOALS[0], "%")
                goals.at_most(f"{laws}, p95 error", errors["share"][1], GOALS[1], "%")
    goals.exit()


if __name__ == "__main__":
    main()
