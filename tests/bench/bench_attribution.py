#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far rules of attribution are from fair shares, on simulated machines whose law of power
the product does not know (docs/attribution.md)."""
import os

import bench

LAWS, SETS = bench.quick((10, 60), (10, 4))
KINDS = ("share", "whole", "bill")


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def read_figures():
    """{(law, held out, rule): {kind: values}}, in the order of the program's."""
    figures = {}
    run = bench.Run([os.path.join(bench.HELPERS, "attribution"), str(LAWS), str(SETS)])
    for line in run.output.splitlines():
        law, held, rule, kind, value = line.split("\t")
        figures.setdefault((law, held, rule), {}).setdefault(kind, []).append(float(value))
    return figures


def main():
    figures = read_figures()
    print(f"Errors of a workload's dynamic energy in %, {SETS} sets of 2 to 5 workloads by law: of "
          "its Shapley\nvalue, of the energy of all, and of how it changes when a neighbour goes")
    table = bench.Table(("law", -42, ""), ("", -8, ""), ("rule", -11, ""), ("median", 6, ".1f"),
                        ("p95", 6, ".1f"), ("of all", 6, ".1f"), ("p95", 6, ".1f"),
                        ("change", 6, ".1f"), ("p95", 6, ".1f"))
    for (law, held, rule), of in figures.items():
        if rule != "-":
            table.row(law, held, rule, *(100 * quantile(of[kind], part) for kind in KINDS
                                         for part in (0.5, 0.95)))
    goals = bench.Goals()
    truths = [of for (_, _, rule), of in figures.items() if rule == "-"]
    goals.right("the Shapley values add up", max(max(of["truth"]) for of in truths) < 1e-9)
    goals.right("shares add up to the microjoule", all(of["sum"] == [0] for of in truths))
    goals.exit()


if __name__ == "__main__":
    main()
