#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The first process of the virtual machines of make test-kernels: mounts what a machine
has, runs the checks of /tw/checks, tells each result by the second serial port, and turns
the machine off."""
import ctypes
import fcntl
import importlib
import json
import os
import socket
import struct
import sys
import termios
import time
import traceback
import tty
import unittest

PORT = "/dev/ttyS1"
MOUNTS = (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"),
          ("tmpfs", "/tmp"), ("tmpfs", "/run"), ("tracefs", "/sys/kernel/tracing"),
          ("securityfs", "/sys/kernel/security"), ("cgroup2", "/sys/fs/cgroup"))
RB_POWER_OFF = 0x4321FEDC
SIOCSIFFLAGS, IFF_UP, IFF_RUNNING = 0x8914, 0x1, 0x40

libc = ctypes.CDLL(None, use_errno=True)


def mount_all():
    for kind, where in MOUNTS:
        if libc.mount(kind.encode(), where.encode(), kind.encode(), 0, None) < 0:
            error = os.strerror(ctypes.get_errno())
            print(f"{kind} on {where}: {error}", file=sys.stderr)
    os.chmod("/tmp", 0o1777)


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS,
                    struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))


class Told(unittest.TestResult):
    """Tells each result as it comes, in case that the machine does not live to the end."""

    def __init__(self, port):
        super().__init__()
        self.port = port

    def tell(self, **entry):
        self.port.write(json.dumps(entry).encode() + b"\n")
        self.port.flush()

    def startTest(self, test):
        super().startTest(test)
        self.began = time.monotonic()
        self.tell(began=test.id())

    def say(self, test, outcome, text=""):
        self.tell(test=test.id(), outcome=outcome, text=text,
                  seconds=round(time.monotonic() - self.began, 1))

    def addSuccess(self, test):
        self.say(test, "passed")

    def addSkip(self, test, reason):
        self.began = getattr(self, "began", time.monotonic())
        self.say(test, "skipped", reason)

    def addFailure(self, test, err):
        self.say(test, "failed", "".join(traceback.format_exception(*err)))

    def addError(self, test, err):
        self.began = getattr(self, "began", time.monotonic())
        self.addFailure(test, err)


def run_checks(names):
    with open(PORT, "wb", buffering=0) as port:
        tty.setraw(port.fileno(), termios.TCSANOW)
        result = Told(port)
        result.tell(release=os.uname().release)
        for name in names:
            suite = unittest.defaultTestLoader.loadTestsFromName(name)
            suite.run(result)
        result.tell(end=True)
        termios.tcdrain(port.fileno())


def reap_until(child):
    """As an init does, so that nobody's children stay zombies."""
    while os.wait()[0] != child:
        pass


def main():
    mount_all()
    raise_loopback()
    os.environ.update(TW_PORT=PORT, PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root", TW_BIN="/tw/bin",
                      TW_REQUIRE="bpf,root,mount namespaces")
    sys.path[:0] = ["/tw/checks", "/tw/tests/integration"]
    with open("/tw/checks/list", encoding="ascii") as f:
        names = f.read().split()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            run_checks(names)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    reap_until(child)
    os.sync()
    libc.reboot(RB_POWER_OFF)


if __name__ == "__main__":
    main()
