# SPDX-License-Identifier: Apache-2.0
"""A virtual machine with a kernel of its own, by software emulation or in user mode: it
boots, runs tests/kernels/guest.py as its first process and tells what came out of each
check, a line of JSON each, by its second serial port."""
import json
import os
import selectors
import signal
import subprocess

QEMU = "qemu-system-x86_64"
# Emulation on a busy machine is slow: nothing is told for so long only by what hangs.
SILENCE_S = 600
# A processor that has RAPL, as far as its model tells.
CPU = "max,la57=off,vendor=GenuineIntel,family=6,model=85,stepping=4"


class Machine:
    """Runs to its end; then `told` has what it told and `console` what its kernel wrote."""

    processors = ("-accel", "tcg,thread=multi", "-smp", "2")
    options = ""  # of the kernel

    def __init__(self, kernel, initrd, console, devices=()):
        self.told = []
        self.console = console
        self.errors = console + ".errors"
        with open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(
                self.command(kernel, initrd, devices), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=errors, start_new_session=True)

    def command(self, kernel, initrd, devices):
        return [QEMU, *self.processors, "-cpu", CPU, "-m", "1536",
                "-display", "none", "-nodefaults", "-no-reboot", "-nic", "none",
                "-serial", f"file:{self.console}",
                "-chardev", "stdio,id=told,signal=off", "-serial", "chardev:told",
                "-kernel", kernel, "-initrd", initrd,
                "-append", "console=ttyS0 panic=-1 quiet mitigations=off no_timer_check "
                           f"loglevel=4 rdinit=/tw/init {self.options}",
                *devices]

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
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while selector.select(SILENCE_S):
                more = os.read(self.process.stdout.fileno(), 65536)
                if not more:
                    return
                *whole, data = (data + more).split(b"\n")
                yield from (line for line in whole if line.strip())

    def stop(self):
        """All of its processes: a kernel in user mode has one for each of its own."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()

    def last_words(self):
        words = ""
        for path in filter(os.path.exists, (self.errors, self.console)):
            with open(path, encoding="utf-8", errors="replace") as f:
                words += f.read()[-4000:]
        return words


class Counting(Machine):
    """Of one processor, whose clock is the count of its instructions, a nanosecond each:
    what takes so long there takes so many of them, whatever else runs here."""

    processors = ("-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off")


class TwoSockets(Machine):
    """Two packages of two cores of two threads, each with memory of its own."""

    processors = ("-accel", "tcg,thread=multi", "-smp", "8,sockets=2,cores=2,threads=2",
                  "-object", "memory-backend-ram,id=near,size=768M",
                  "-object", "memory-backend-ram,id=far,size=768M",
                  "-numa", "node,nodeid=0,cpus=0-3,memdev=near",
                  "-numa", "node,nodeid=1,cpus=4-7,memdev=far")


class Offloaded(Machine):
    """Threads do what RCU has put off."""

    options = "rcu_nocbs=all"


class UserMode(Machine):
    """A kernel that is a program of this machine: one processor and no devices. Its console
    is its standard error."""

    def command(self, kernel, initrd, devices):
        return [kernel, "mem=1536M", f"initrd={initrd}", "rdinit=/tw/init", "panic=-1",
                f"uml_dir={os.path.dirname(self.console)}/", "con=null", "con0=null,fd:2",
                "ssl=null", "ssl1=null,fd:1"]
