# SPDX-License-Identifier: Apache-2.0
"""Commands of a page, as they stand there, and the output that it shows beside them."""
import ctypes
import fcntl
import glob
import os
import re
import shutil
import signal
import socket
import struct
import subprocess

from harness import BIN, ROOT, need, sanitized, wait_until
from metered import Metered

# tallywatt waits for a collector that was just started.
PORTS = {"tw-server": 8100, "prometheus ": 9090}
CLONE_NEWNET = 0x40000000
SIOCSIFADDR, SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8916, 0x8913, 0x8914, 1
# Reading twice changes nothing: a figure may come with the next tick or scrape.
READS = re.compile(r"^(curl|tallywatt models|promtool query|sacct) ")
# Its phases of a second teach nothing while other programs use the processors: it is repeated, loudly.
TEACHES = re.compile(r"^tallywatt engage ")
# A comment before a block names the role whose block it is, and whether it is for nightly tests.
MARKED = re.compile(r"^<!-- role: (\w+)(, nightly)? -->\n```console\n(.*?)^```$", re.M | re.S)
PROMPT = re.compile(r"(\w*)\$ (.*)")


def steps(blocks):
    """(machine, command, lines of its output) of each prompt of console blocks."""
    found = []
    for line in "".join(blocks).splitlines():
        prompt = PROMPT.fullmatch(line)
        if prompt:
            found.append((prompt[1], prompt[2], []))
        elif found:
            found[-1][2].append(line)
        else:
            raise AssertionError(f"output before a command: {line}")
    return found


def blocks_of_page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as f:
        return re.findall(r"^```console\n(.*?)^```$", f.read(), re.M | re.S)


def blocks_of_role(role, nightly):
    """The blocks that a role is marked at, in the one page that has them."""
    pages = {}
    for page in glob.glob(os.path.join(ROOT, "docs/*.md")):
        with open(page, encoding="utf-8") as f:
            for of, slow, block in MARKED.findall(f.read()):
                if of == role and (nightly or not slow):
                    pages.setdefault(page, []).append(block)
    if len(pages) != 1:
        raise AssertionError(f"role {role}: {len(pages)} pages have it: {sorted(pages)}")
    return next(iter(pages.values()))


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


def own_network(*addresses):
    """Leave the network of the host: a loopback only, and these addresses of it."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for i, address in enumerate(("127.0.0.1", *addresses)):
            name = b"lo:%d" % i if i > 0 else b"lo"
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
    """The shell of a user at a machine, with a folder of its own; share: is there as /usr/local/share."""

    def __init__(self, folder, address, environment, share=None):
        self.address = address
        os.mkdir(folder)
        self.log = os.path.join(folder, "log")
        with open(self.log, "wb") as log:
            self.proc = subprocess.Popen(
                [*(["unshare", "--mount", "--propagation", "private", "sh", "-c",
                    'mount --bind "$0" /usr/local/share && exec "$@"', share] if share else []),
                 "bash", "--noprofile", "--norc"], cwd=folder, stdin=subprocess.PIPE, stdout=log,
                stderr=log, text=True, start_new_session=True,
                env={**os.environ, **environment})
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
        try:
            self.proc.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.proc.pid, signal.SIGKILL)
            self.proc.wait()


class Transcript(Metered):
    """Shells in a network of the test's own, by the name of their machine."""

    def enter(self, *addresses):
        need("root", os.geteuid() == 0)
        need("curl", shutil.which("curl"))
        try:
            own_network(*addresses)
        except PermissionError:
            need("network namespaces", False)
        os.chmod(self.dir, 0o755)
        os.makedirs(self.path("bin"))
        self.program("sudo", 'exec env "$@"')
        self.shells = {}

    def program(self, name, text):
        """A program that all shells find first."""
        self.write(f"bin/{name}", f"#!/bin/sh\n{text}\n")
        os.chmod(self.path("bin", name), 0o755)

    def shell(self, name, environment, address="127.0.0.1", share=None):
        path = os.pathsep.join((self.path("bin"), BIN, os.environ["PATH"]))
        shell = Shell(self.path(f"at-{name}"), address, {
            "PATH": path, "HOME": self.path(f"at-{name}"), "TW_NODE_NAME": name,
            **({"TW_FILTER": "no"} if sanitized() else {}), **environment}, share)
        self.addCleanup(shell.end)
        self.shells[name] = shell
        return shell

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
        for _ in range(3):
            if not TEACHES.match(command) or (said[0] == 0 and not lacks(expected, said[1])):
                break
            print(f"AGAIN: {command}: {said[1]}")
            shell.run("rm -rf engage")
            said = shell.run(command)
        self.assertEqual(said[0], 0, f"{command}: {said[1]}")
        self.assertIsNone(lacks(expected, said[1]), f"{command}: {said[1]}")
        return said[1]

    def follow_all(self, blocks):
        """All commands, whose outputs are returned."""
        outputs = []
        for machine, command, expected in steps(blocks):
            outputs.append(self.follow(self.shells[machine], command, expected))
            if os.environ.get("TW_SHOW"):
                print(f"{machine}$ {command}\n{outputs[-1]}")
        for shell in self.shells.values():
            self.assertNotIn("level=error", shell.output())
        return outputs
