# SPDX-License-Identifier: Apache-2.0
"""The figures of earlier runs of the benches, docs/bench.csv, and whether one became worse."""
import csv
import datetime
import os
import re
import subprocess

COLUMNS = ("commit", "date", "machine", "bench", "figure", "value", "unit", "better")
WORSE_MAX = 0.10


def machine_name(cpuinfo="/proc/cpuinfo", meminfo="/proc/meminfo"):
    """Model and number of the processors, and memory: figures of one machine compare."""
    with open(cpuinfo, encoding="utf-8") as f:
        model = re.search(r"^(?:model name|Model|cpu)\s*:\s*(.*)$", f.read(), re.M)
    with open(meminfo, encoding="ascii") as f:
        kib = int(re.search(r"MemTotal:\s+(\d+)", f.read()).group(1))
    return (f"{' '.join(model[1].split()) if model else os.uname().machine} x "
            f"{os.cpu_count()} {round(kib / 2 ** 20)} GiB")


def commit_name():
    """The commit of the sources; '+': with changes."""
    def git(*args):
        return subprocess.run(["git", *args], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout.strip()
    # The record itself changes as benches end.
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ":!docs/bench.csv")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def worse_by(value, last, better):
    """The share by which a figure is worse than the last one; at most 0: it is not."""
    if last == 0:
        return 0.0
    return (last - value if better == "more" else value - last) / abs(last)


class Record:
    def __init__(self, path):
        self.path, self.last = path, {}
        if os.path.exists(path):
            with open(path, newline="", encoding="utf-8") as f:
                for row in csv.DictReader(f):
                    self.last[row["machine"], row["bench"], row["figure"]] = float(row["value"])

    def add(self, bench, figures, judge=False):
        """Append figures (name, value, unit, better). With judge, a figure that is more than
        WORSE_MAX worse than the last one is not appended; the lines that say so."""
        machine, commit = machine_name(), commit_name()
        date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        worse, rows = [], []
        for name, value, unit, better in figures:
            last = self.last.get((machine, bench, name))
            if judge and last is not None and worse_by(value, last, better) > WORSE_MAX:
                worse.append(f"WORSE   {name}: {value:.4g}{unit and ' ' + unit}, the last record "
                             f"is {last:.4g}: {worse_by(value, last, better):.1%} worse")
                continue
            rows.append((commit, date, machine, bench, name, f"{value:.6g}", unit, better))
        is_new = not os.path.exists(self.path)
        with open(self.path, "a", newline="", encoding="utf-8") as f:
            writer = csv.writer(f, lineterminator="\n")
            writer.writerows([COLUMNS, *rows] if is_new else rows)
        return worse
