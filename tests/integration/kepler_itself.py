# SPDX-License-Identifier: Apache-2.0
"""Kepler 0.10 or later itself, and a machine in files for it. KEPLER names the program, which is
no part of this project: `go build ./cmd/kepler` in its sources."""
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request

from harness import wait_until
from sources import free_port

PROGRAM = os.environ.get("KEPLER", "")
SAMPLE = re.compile(r"^(\w+)\{(.*)\} (\S+)$", re.M)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SKIPPED = 'msg="skipping service"'  # its warning about services that only start
# Kepler measures once for each scrape, and at no other time. Two of its collectors ask in each.
BY_SCRAPE = "monitor: {interval: 0s, staleness: 40ms}\n"
BY_SCRAPE_PAUSE_S = 0.05


def is_there():
    return os.path.isfile(PROGRAM) and os.access(PROGRAM, os.X_OK)


def replace(path, text):
    """A reader sees the old or the new text."""
    with open(path + ".new", "w", encoding="ascii") as f:
        f.write(text)
    os.rename(path + ".new", path)


class Processes:
    """/proc of a machine. Kepler ends where it may not read the executable of a process, so the
    true /proc of a container does not do."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        replace(self.path("cpuinfo"), "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A\n"
                                      "physical id\t: 0\ncore id\t\t: 0\n\n")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run(self, ticks_of, idle):
        """CPU time since the start, in ticks of 10 ms: of processes by pid, and idle."""
        for pid, ticks in ticks_of.items():
            if not os.path.exists(self.path(str(pid))):
                os.makedirs(self.path(str(pid)))
                for file, text in (("comm", "job\n"), ("cmdline", "job\0"), ("environ", "A=B\0"),
                                   ("cgroup", "0::/\n")):
                    replace(self.path(str(pid), file), text)
                os.symlink("/bin/sh", self.path(str(pid), "exe"))
            replace(self.path(str(pid), "stat"), f"{pid} (job) S 1 1 1 0 -1 0 1 2 3 4 {ticks} 0 0 0 "
                    "20 0 1 0 500" + 30 * " 1" + "\n")
        cpu = f"{sum(ticks_of.values())} 0 0 {idle} 0 0 0 0 0 0"
        replace(self.path("stat"), f"cpu  {cpu}\ncpu0 {cpu}\nbtime 1\n")


class Kepler:
    """The program, ready once it has read its zones."""

    def __init__(self, folder, proc, sys_path, config=""):
        """folder: where its log is."""
        self.address = f"127.0.0.1:{free_port()}"
        self.log_file = os.path.join(folder, "kepler.log")
        replace(os.path.join(folder, "kepler.yaml"), config)
        with open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(
                [PROGRAM, *(["--config.file", os.path.join(folder, "kepler.yaml")] if config else []),
                 f"--host.sysfs={sys_path}", f"--host.procfs={proc}",
                 f"--web.listen-address={self.address}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until(lambda: self.samples("kepler_node_cpu_joules_total"), "Kepler measures", 60, 0.5)
        except AssertionError:
            self.stop()
            with open(self.log_file, encoding="utf-8") as f:
                sys.stderr.write(f.read())
            raise

    def scrape(self):
        """name -> [(labels, value)]; empty while Kepler does not answer."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=60) as answer:
                text = answer.read().decode()
        except urllib.error.URLError:
            return {}
        found = {}
        for name, labels, value in SAMPLE.findall(text):
            found.setdefault(name, []).append((dict(LABEL.findall(labels)), float(value)))
        return found

    def samples(self, name):
        return self.scrape().get(name, [])

    def zones(self, name):
        return {has["zone"]: value for has, value in self.samples(name)}

    def complaints(self):
        with open(self.log_file, encoding="utf-8") as f:
            return [line for line in f if re.search("level=(WARN|ERROR)", line)
                    and SKIPPED not in line]

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
