# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with a kernel of its own, by software emulation: it boots, runs
tests/kernels/guest.py as its first process and tells what came out of each check, a line
of JSON each, by its second serial port."""
import json
import os
import selectors
import subprocess
import time

QEMU = "qemu-system-x86_64"
# Emulation on a busy machine is slow: nothing is told for so long only by what hangs.
SILENCE_S = 600
# A processor that has RAPL, as far as its model tells.
CPU = "max,la57=off,vendor=GenuineIntel,family=6,model=85,stepping=4"


class Machine:
    """Runs to its end; then `told` has what it told and `console` what its kernel wrote."""

    def __init__(self, kernel, initrd, console, devices=()):
        self.told = []
        self.console = console
        command = [QEMU, "-accel", "tcg,thread=multi", "-cpu", CPU, "-smp", "2", "-m", "1536",
                   "-display", "none", "-nodefaults", "-no-reboot", "-nic", "none",
                   "-serial", f"file:{console}",
                   "-chardev", "stdio,id=told,signal=off", "-serial", "chardev:told",
                   "-kernel", kernel, "-initrd", initrd,
                   "-append", "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check loglevel=4 rdinit=/tw/init",
                   *devices]
        self.qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, on_line):
        """Whether it came to its end by itself."""
        try:
            for line in self.lines():
                entry = json.loads(line)
                self.told.append(entry)
                on_line(entry)
                if "end" in entry:
                    return True
            return False
        finally:
            self.stop()

    def lines(self):
        """Those of the second serial port; ends with the machine or when it is silent."""
        data = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.qemu.stdout, selectors.EVENT_READ)
            while selector.select(SILENCE_S):
                more = os.read(self.qemu.stdout.fileno(), 65536)
                if not more:
                    return
                *whole, data = (data + more).split(b"\n")
                yield from (line for line in whole if line.strip())

    def stop(self):
        if self.qemu.poll() is None:
            self.qemu.terminate()
            try:
                self.qemu.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.qemu.kill()
        self.errors = self.qemu.communicate()[1].decode(errors="replace")

    def last_words(self):
        with open(self.console, encoding="utf-8", errors="replace") as f:
            return self.errors + f.read()[-4000:]
