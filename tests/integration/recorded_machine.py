# SPDX-License-Identifier: Apache-2.0
"""A machine of tests/hardware: its /sys and /proc, its counters, its management controller.

tests/hardware/README.md describes the files of a machine.
"""
import json
import os
import re
import threading
import time

import fake_bmc

RANGE = re.compile(r"\{(\d+)\.\.(\d+)\}")
# "5000000 + 68 W": a counter in microjoules that starts there and grows.
COUNTER = re.compile(r"(\d+) \+ ([0-9.]+) (m?)W( in J)?")
# What a collector reads of every machine.
PROC = {"stat": "cpu 100 0 100 1000\ncpu0 1\nctxt 5\nintr 6\n", "vmstat": "pgfault 7\n",
        "meminfo": "MemTotal: 16384000 kB\n"}
PERIOD_S = 0.02


def expand(line):
    """The lines of a line with ranges {0..3}, which count together."""
    ranges = RANGE.findall(line)
    if not ranges:
        return [line]
    count = int(ranges[0][1]) - int(ranges[0][0]) + 1
    lines = []
    for i in range(count):
        starts = iter(ranges)
        lines.append(RANGE.sub(lambda _: str(int(next(starts)[0]) + i), line))
    return lines


def parse(text):
    """path -> content: bytes, (start, watts) of a counter, or a link's target."""
    files, folder, last = {}, None, None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("/"):
            folder, last = expand(line.strip()), None
        elif line.lstrip().startswith("|"):
            for path in folder:
                files[path] = files.get(path, "") + line.lstrip()[1:].removeprefix(" ") + "\n"
        elif " = " in line or " -> " in line:
            arrow = " -> " in line
            name, value = line.strip().split(" -> " if arrow else " = ", 1)
            for path, one in zip(folder, spread(f"{name}\0{value}", len(folder))):
                name, value = one.split("\0")
                files[f"{path.rstrip('/')}/{name}"] = (value,) if arrow else content(value)
        else:
            raise AssertionError(f"line {number}: {line}")
    return files


def spread(line, count):
    lines = expand(line)
    return lines * count if len(lines) == 1 else lines


def content(value):
    match = COUNTER.fullmatch(value)
    if match is None:
        return value + "\n"
    watts = float(match[2]) / (1000 if match[3] else 1)
    # Cray's counters are in joules, with their unit and a time.
    return int(match[1]), watts * (1e-6 if match[4] else 1), " J 1 us" if match[4] else ""


class Machine:
    """The files of a machine below `top`, which grow until close()."""

    def __init__(self, source, top):
        self.top, self.counters, self.controller = top, [], None
        with open(os.path.join(source, "known.json"), encoding="utf-8") as f:
            self.known = json.load(f)
        files = {f"/proc/{name}": text for name, text in PROC.items()}
        path = os.path.join(source, "machine.txt")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                files.update(parse(f.read()))
        for name in ("sys/class", "proc", "dev"):
            os.makedirs(os.path.join(top, name), exist_ok=True)
        for path, value in sorted(files.items()):
            self.make(os.path.join(top, path.lstrip("/")), value)
        self.begin_controller(os.path.join(source, "redfish.json"))
        self.start_s, self.over = time.monotonic(), threading.Event()
        self.feeder = threading.Thread(target=self.feed)
        self.feeder.start()

    def make(self, path, value):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(value, tuple) and len(value) == 1:
            os.symlink(value[0], path)
            return
        with open(path, "w", encoding="utf-8") as f:
            f.write(value if isinstance(value, str) else f"{value[0]}{value[2]}\n")
        if not isinstance(value, str):
            self.counters.append((os.open(path, os.O_WRONLY), *value))

    def begin_controller(self, path):
        if not os.path.exists(path):
            return
        with open(path, encoding="utf-8") as f:
            tree = json.load(f)
        self.controller = fake_bmc.Controller()
        self.controller.tree = tree
        self.controller.needs_login = False

    def feed(self):
        while not self.over.wait(PERIOD_S):
            past_s = time.monotonic() - self.start_s
            for fd, start, watts, unit in self.counters:
                os.pwrite(fd, f"{int(start + watts * 1e6 * past_s)}{unit}\n".encode(), 0)

    def args(self):
        """Of tw-collector and of tallywatt probe."""
        args = ["--proc", os.path.join(self.top, "proc"), "--sys", os.path.join(self.top, "sys"),
                "--dev", os.path.join(self.top, "dev"),
                "--nvml", os.path.join(self.top, "none.so")]
        if self.controller:
            args += ["--redfish", self.controller.url, "--redfish-insecure"]
        return args

    def close(self):
        """May be called twice."""
        if self.over.is_set():
            return
        self.over.set()
        self.feeder.join()
        for fd, *_ in self.counters:
            os.close(fd)
        if self.controller:
            self.controller.close()
