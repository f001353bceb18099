# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorial.md, as they stand there, and the output that it shows.

Both run here, in a network of their own. The machine with the meter is in files: its CPU time
and energy follow the workload that tallywatt engage names.
"""
import ctypes
import fcntl
import os
import re
import shutil
import socket
import struct
import subprocess
import unittest

from harness import BIN, ROOT, TIMEOUT_S, need, sanitized, wait_until
from metered import Metered

PAGE = os.path.join(ROOT, "docs/tutorial.md")
METAL = "10.0.0.1"
# tallywatt waits for a collector that was just started.
PORTS = {"tw-server": 8100}
CLONE_NEWNET = 0x40000000
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8913, 0x8914, 1
# Reading twice changes nothing: a figure may come with the next tick.
READS = re.compile(r"^(curl|tallywatt models) ")


def steps(text):
    """(machine, command, lines of its output) of each prompt of the page."""
    found = []
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.M | re.S):
        for line in block.splitlines():
            prompt = re.match(r"(metal|vm)\$ (.*)", line)
            if prompt:
                found.append((prompt[1], prompt[2], []))
            elif found:
                found[-1][2].append(line)
            else:
                raise AssertionError(f"{PAGE}: output before a command: {line}")
    return found


def shape(line):
    """A pattern of a line of output: any number for a number, anything for '...'. Of a row
    that begins with a number, any words."""
    row = line[:1].isdigit()
    words = []
    for word in line.split():
        literal = re.split(r"(\.\.\.|\d+(?:\.\d+)?)", word)
        words.append(r"\S+" if row else "".join(
            ".*" if part == "..." else r"\d+(?:\.\d+)?" if part[:1].isdigit() else re.escape(part)
            for part in literal))
    return re.compile(r"\s+".join(words) + r"\s*")


def lacks(expected, output):
    """The first line of the page that the output does not have, in this order; None: none."""
    lines = iter(output.splitlines())
    for want in expected:
        if want != "..." and not any(shape(want).fullmatch(line.strip()) for line in lines):
            return want
    return None


def own_network():
    """Leave the network of the host: a loopback only, with the address of `metal`."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for name, address in ((b"lo", "127.0.0.1"), (b"lo:1", METAL)):
            packed = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(s, SIOCSIFADDR, packed)
        flags = struct.unpack("16sh", fcntl.ioctl(s, SIOCGIFFLAGS, struct.pack("16sh14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | IFF_UP))


def answers(shell, port):
    try:
        socket.create_connection((shell.address, port)).close()
    except ConnectionRefusedError:
        return False
    return True


class Shell:
    """The shell of a user at a machine."""

    def __init__(self, folder, address, environment):
        self.address = address
        os.mkdir(folder)
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen(
                ["bash", "--noprofile", "--norc"], cwd=folder, stdin=subprocess.PIPE, stdout=log,
                stderr=log, text=True, env={**os.environ, **environment})
        self.count = 0

    def output(self):
        with open(self.log, encoding="utf-8", errors="replace") as f:
            return f.read()

    def run(self, command):
        """Status and output of a command; of one in the background, what it has so far."""
        self.count += 1
        end = re.compile(rf"\ndone {self.count} (\d+)\n")
        start = len(self.output())
        self.proc.stdin.write(f"{command}\nprintf '\\ndone %s %s\\n' {self.count} $?\n")
        self.proc.stdin.flush()
        wait_until(lambda: end.search(self.output(), start) or self.proc.poll() is not None, command)
        found = end.search(self.output(), start)
        if found is None:
            raise AssertionError(f"the shell ended: {self.output()}")
        return int(found[1]), self.output()[start:found.start()]

    def end(self):
        self.proc.stdin.write("kill $(jobs -p) 2>/dev/null; wait\n")
        self.proc.stdin.close()
        self.proc.wait(timeout=TIMEOUT_S)


class Tutorial(Metered):
    def setUp(self):
        super().setUp()
        need("root", os.geteuid() == 0)
        need("curl", shutil.which("curl"))
        try:
            own_network()
        except PermissionError:
            need("network namespaces", False)
        os.chmod(self.dir, 0o755)
        os.makedirs(self.path("bin"))
        self.write("bin/sudo", '#!/bin/sh\nexec "$@"\n')
        os.chmod(self.path("bin/sudo"), 0o755)
        metal = self.shell("metal", METAL, self.metal())
        self.follow_phases(metal.output)
        self.shells = {"metal": metal, "vm": self.shell("vm", "127.0.0.1", {
            "TW_METERS": "model", "TW_SHIPPED_MODELS": ""})}

    def shell(self, name, address, environment):
        path = os.pathsep.join((self.path("bin"), BIN, os.environ["PATH"]))
        shell = Shell(self.path(name), address, {"PATH": path, "TW_NODE_NAME": name,
                                        **({"TW_FILTER": "no"} if sanitized() else {}), **environment})
        self.addCleanup(shell.end)
        return shell

    def metal(self):
        """The environment of the machine with the meter: its files, its address."""
        args = self.machine()
        for name in ("intel-rapl:0:1", "intel-rapl:0:2", "intel-rapl:1"):
            shutil.rmtree(self.path("sys/class/powercap", name))
        shutil.rmtree(self.path("sys/class/hwmon"))
        return {**{f"TW_{name[2:].upper()}": value for name, value in zip(args[::2], args[1::2])},
                "TW_BPF": "off", "TW_COLLECTOR_LISTEN": f"{METAL}:8103", "TW_COLLECTOR_URL": f"http://{METAL}:8103"}

    def follow(self, shell, command, expected):
        if command.endswith("&"):
            shell.run(command)
            port = next((p for name, p in PORTS.items() if name in command), None)
            wait_until(lambda: port is None or answers(shell, port), command)
            return ""
        said = shell.run(command)

        def shown():
            nonlocal said
            if said[0] != 0 or lacks(expected, said[1]):
                said = shell.run(command)
                return False
            return True
        if READS.match(command):
            try:
                wait_until(shown, command, pause_s=0.3)
            except AssertionError as e:
                raise AssertionError(f"{e}: no line {lacks(expected, said[1])!r} in: {said[1]}") from e
        self.assertEqual(said[0], 0, f"{command}: {said[1]}")
        self.assertIsNone(lacks(expected, said[1]), f"{command}: {said[1]}")
        return said[1]

    def test_commands_work_as_they_stand(self):
        with open(PAGE, encoding="utf-8") as f:
            todo = steps(f.read())
        self.assertGreater(len(todo), 8)
        for machine, command, expected in todo:
            said = self.follow(self.shells[machine], command, expected)
            if os.environ.get("TW_SHOW"):
                print(f"{machine}$ {command}\n{said}")
        for shell in self.shells.values():
            self.assertNotIn("level=error", shell.output())


class Shapes(unittest.TestCase):
    def test_a_number_stands_for_a_number_and_a_word_for_itself(self):
        text = "web: package 4.6 W (model), dram 0.6 W"
        self.assertIsNone(lacks([text], "x\nweb: package 14 W (model),  dram 1.25 W\n"))
        for other in ("web: package 4.6 W (rapl-sysfs), dram 0.6 W", "web: package - W (model), dram 0.6 W"):
            self.assertEqual(lacks([text], other), text)
        self.assertEqual(lacks(["a", "b"], "b\na\n"), "b")
        self.assertIsNone(lacks(["a", "...", "b 1..."], "a\nc\nb 23 more\n"))


if __name__ == "__main__":
    unittest.main()
