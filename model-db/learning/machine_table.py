# SPDX-License-Identifier: Apache-2.0
"""Machines with measured wall power over load, from CSV: the columns of published
SPECpower_ssj2008 results (docs/machines.md)."""
import csv
import json
import subprocess
from dataclasses import dataclass

import numpy as np

LOADS = 11  # 0, 10 .. 100 %
WATTS = ["w_idle"] + [f"w_{percent}" for percent in range(10, 101, 10)]
TEXTS = ["cpu_name", "system_vendor", "hw_available", "published"]
NUMBERS = ["nominal_mhz", "chips", "cores", "threads_per_core", "memory_gib", "tdp_w_per_chip",
           "psu_rating_w"]
MOST = 1e6
ROWS_MAX = 4096
TEXT_MAX = 255
YEARS_MAX = 8  # from hardware to the publication of its result
GIB_MIN = 1 / 16  # of a core; memory below is a misprint, in TiB
# The numbers and categories of model-db/prior/prior_machine.h, in their order.
CORES, CHIPS, TDP, MEMORY, MHZ, SUPPLY, PROCESS, THREADS, FACTS = range(9)
(VENDOR, GENERATION, MEMORY_TYPE, LOW_POWER, SYSTEM, GENERATION_SYSTEM, PROCESSOR,
 CATEGORIES) = range(8)


class TableError(Exception):
    """What is wrong with a table, and where."""


@dataclass
class Table:
    """Machines by year: the last one is the newest."""
    number: np.ndarray     # NaN: unknown
    category: list         # of each machine, texts; "": unknown
    w: np.ndarray          # at each load; NaN: unknown, but for idle and full power
    year: np.ndarray       # of the hardware, else of the publication
    processor: np.ndarray  # number of the CPU model, in the order of the file
    cpus: np.ndarray       # logical CPUs
    likeness: np.ndarray   # of machine i, which asks, and machine j (profiler/likeness.h)
    before: list           # of each machine: generations before its own, the next older first
    memory_before: list    # memory types, likewise


def read_number(row, name, line):
    text = row[name]
    if text == "":
        return np.nan
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= MOST or not text.isascii() or set(text) & set("_ \t"):
        raise TableError(f"line {line}, column '{name}': '{text[:32]}' is not a number above 0")
    return value


def read_row(row, line):
    if None in row or None in row.values():
        raise TableError(f"line {line}: the header has another number of cells")
    for name in TEXTS:
        if len(row[name].encode()) > TEXT_MAX:
            raise TableError(f"line {line}, column '{name}': more than {TEXT_MAX} bytes")
    out = {name: row[name] for name in TEXTS}
    out.update((name, read_number(row, name, line)) for name in NUMBERS + WATTS)
    if np.isnan(out["chips"]) or np.isnan(out["cores"]):
        raise TableError(f"line {line}: chips or cores are missing")
    if out["memory_gib"] < GIB_MIN * out["cores"]:
        out["memory_gib"] *= 1024
    for name in (WATTS[0], WATTS[-1]):
        if np.isnan(out[name]):
            raise TableError(f"line {line}: '{name}' is missing")
    if out["w_100"] <= out["w_idle"]:
        raise TableError(f"line {line}: w_100 is not above w_idle")
    return out


def read_rows(file):
    reader = csv.DictReader(file, strict=True)
    try:
        header = reader.fieldnames
        if not header:
            raise TableError("line 1: a header is missing")
        for name in TEXTS + NUMBERS + WATTS:
            if header.count(name) != 1:
                how = "comes twice" if name in header else "is missing"
                raise TableError(f"line 1: column '{name}' {how}")
        rows = [read_row(row, reader.line_num) for row in reader]
    except csv.Error as e:
        raise TableError(f"line {reader.line_num}: {e}") from e
    return rows


def year_of(row):
    """Of the hardware, unless it is a misprint: results of old hardware are few years old."""
    hardware, published = (int(row[name][:4]) if row[name][:4].isdigit() else 0
                           for name in ("hw_available", "published"))
    return hardware if 0 < hardware and published <= hardware + YEARS_MAX else published or hardware


def known(value, otherwise):
    return otherwise if np.isnan(value) else value


def ask_facts(rows, program):
    """The attributes that a client's machine would have, from the product's own code."""
    asked = []
    for row in rows:
        threads = known(row["threads_per_core"], 1)
        numbers = (int(row["cores"]) * int(threads), row["chips"], known(row["memory_gib"], 0),
                   known(row["nominal_mhz"], 0), threads)
        asked.append("\t".join([row["cpu_name"], row["system_vendor"]] +
                               [str(int(n)) for n in numbers]) + "\n")
    done = subprocess.run([program], input="".join(asked), stdout=subprocess.PIPE,
                          encoding="utf-8", check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def numbers_of(row, fact):
    out = np.array([np.nan if n is None else n for n in fact["number"]], float)
    out[CORES] = row["cores"] / row["chips"]
    out[CHIPS] = row["chips"]
    out[MEMORY] = row["memory_gib"]
    out[SUPPLY] = row["psu_rating_w"]
    out[THREADS] = row["threads_per_core"]
    out[TDP] = known(row["tdp_w_per_chip"], out[TDP])
    out[MHZ] = known(row["nominal_mhz"], out[MHZ])
    return out


def read_files(paths):
    rows = []
    for path in paths:
        try:
            with open(path, encoding="utf-8", newline="") as file:
                rows += read_rows(file)
        except (OSError, UnicodeError, TableError) as e:
            raise TableError(f"'{path}': {e}") from e
    if len(rows) > ROWS_MAX:
        raise TableError(f"more than {ROWS_MAX} machines")
    return rows


def read_table(paths, facts_program):
    in_file = read_files(paths)
    rows = sorted(in_file, key=year_of)
    facts = ask_facts(rows, facts_program)
    categories = [fact["category"] for fact in facts]
    for row, category in zip(rows, categories):
        category[PROCESSOR] = category[PROCESSOR] or row["cpu_name"][:95]
    processor_of = {row["cpu_name"]: c[PROCESSOR] for row, c in zip(rows, categories)}
    order = {}
    for row in in_file:
        order.setdefault(processor_of[row["cpu_name"]], len(order))
    threads = np.array([int(known(row["threads_per_core"], 1)) for row in rows])
    return Table(np.array([numbers_of(r, f) for r, f in zip(rows, facts)]), categories,
                 np.array([[row[name] for name in WATTS] for row in rows]),
                 np.array([year_of(row) for row in rows]),
                 np.array([order[c[PROCESSOR]] for c in categories]),
                 np.array([int(row["cores"]) for row in rows]) * threads,
                 np.array([fact["likeness"] for fact in facts]),
                 [fact["before"] for fact in facts],
                 [fact["memory_before"] for fact in facts])
