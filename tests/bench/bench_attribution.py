#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How far rules of attribution are from fair shares, on simulated machines whose law of power
the product does not know (docs/attribution.md)."""
import os
import tempfile
import time

import bench
import kepler_itself

# Sets that "ours, a day" learns from: 28,800 ticks, a day of ticks of 3 s.
KNOWN, MORE, SETS, DAY = bench.quick((12, 8, 60, 4800), (3, 1, 3, 20))
KINDS = ("share", "whole", "bill")
GOALS = (3, 6)  # median and 95 % of errors, in %
TRUTH = 1  # p95 of how far the truth is from that of shorter quanta, in %
KEPLER_LAWS, KEPLER_SETS = bench.quick((3, 20), (1, 2))
KEPLER_RUNS = 2  # the first is before the one that is judged
KEPLER_MISS = 1  # Kepler counts CPU time in ticks of 10 ms
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


def read_feed(law):
    """[{"tick": lists of numbers, "rule": numbers, "fair": numbers}], by set."""
    sets = []
    run = bench.Run([os.path.join(bench.HELPERS, "attribution"), "feed", str(law), str(KEPLER_SETS)])
    for line in run.output.splitlines():
        kind, at, *numbers = line.split("\t")
        if int(at) == len(sets):
            sets.append({"tick": []})
        numbers = [float(number) for number in numbers]
        if kind == "tick":
            sets[-1]["tick"].append(numbers)
        else:
            sets[-1][kind] = numbers
    return sets


class Machine:
    """Of files, for Kepler, which measures once at the end of each tick."""

    def __init__(self, folder):
        self.zone = os.path.join(folder, "sys/class/powercap/intel-rapl:0")
        os.makedirs(self.zone)
        for file, text in (("name", "package-0"), ("max_energy_range_uj", 1 << 60), ("energy_uj", 0)):
            kepler_itself.replace(os.path.join(self.zone, file), f"{text}\n")
        self.processes = kepler_itself.Processes(os.path.join(folder, "proc"))
        self.busy_s, self.idle_s, self.energy_j = {}, 100.0, 0.0
        self.write()
        self.kepler = kepler_itself.Kepler(folder, self.processes.folder,
                                           os.path.join(folder, "sys"), kepler_itself.BY_SCRAPE)

    def write(self):
        kepler_itself.replace(os.path.join(self.zone, "energy_uj"), f"{round(self.energy_j * 1e6)}\n")
        self.processes.run({pid: int(100 * s) for pid, s in self.busy_s.items()},
                           int(100 * self.idle_s))

    def tick(self, seconds, cpus, energy_j, *busy_s):
        """What Kepler charges each process since its start, after a tick."""
        for i, s in enumerate(busy_s):
            self.busy_s[11 + i] = self.busy_s.get(11 + i, 0) + s
        self.idle_s += seconds * cpus - sum(busy_s)
        self.energy_j += energy_j
        self.write()
        time.sleep(kepler_itself.BY_SCRAPE_PAUSE_S)
        charged_j = {int(has["pid"]): value for has, value in
                     self.kepler.samples("kepler_process_cpu_joules_total")}
        return [charged_j.get(11 + i, 0) for i in range(len(busy_s))]


def run_kepler(ticks):
    """What Kepler's own program charges each workload, of the last of some equal runs."""
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder)
        try:
            after = [0] * len(ticks[0][3:])
            for _ in range(KEPLER_RUNS):
                before = after
                for tick in ticks:
                    after = machine.tick(*tick)
        finally:
            machine.kepler.stop()
    return [b - a for a, b in zip(before, after)]


def judge_kepler(goals):
    if not kepler_itself.is_there():
        print("Kepler's own program: not run; KEPLER=PATH names it")
        return
    for law in range(KEPLER_LAWS):
        errors, misses = [], []
        for one in read_feed(law):
            own = run_kepler(one["tick"])
            errors += [100 * abs(j / fair - 1) for j, fair in zip(own, one["fair"])]
            misses += [100 * abs(j - rule) / sum(one["rule"]) for j, rule in zip(own, one["rule"])]
        print(f"Kepler's own program, law {law + 1}: share {quantile(errors, 0.5):.1f} / "
              f"{quantile(errors, 0.95):.1f} %")
        goals.at_most(f"law {law + 1}: our form of Kepler's rule from its program, of all",
                      max(misses), KEPLER_MISS, "%")


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
    goals.at_most("the truth from that of quanta of a quarter, p95",
                  100 * quantile([e for of in truths for e in of["fine"]], 0.95), TRUTH, "%")
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
    judge_kepler(goals)
    goals.exit()


if __name__ == "__main__":
    main()
