# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: what the kernel does with the events of a processor that goes
and comes back, for which tw-collector counts nothing from then on. Where one of these fails,
counters could be kept over that without a right more."""
import ctypes
import errno
import fcntl
import os
import struct

from harness import need
from inside import PERF, Inside, read

SYS_PERF_EVENT_OPEN = 298  # x86-64
TYPE_SOFTWARE, CPU_CLOCK = 1, 0
TIMES_ENABLED_AND_RUNNING, DISABLED, CLOSE_ON_EXEC = 3, 1, 8
ENABLE, DISABLE = 0x2400, 0x2401
ATTR_BYTES = 112
ONLINE = "/sys/devices/system/cpu/cpu1/online"

libc = ctypes.CDLL(None, use_errno=True)


def open_event(disabled=False):
    """Of the second processor, for all processes: a descriptor, or minus an errno."""
    attr = struct.pack("IIQQQQQ", TYPE_SOFTWARE, ATTR_BYTES, CPU_CLOCK, 0, 0,
                       TIMES_ENABLED_AND_RUNNING, DISABLED if disabled else 0)
    fd = libc.syscall(SYS_PERF_EVENT_OPEN, attr.ljust(ATTR_BYTES, b"\0"), -1, 1, -1,
                      CLOSE_ON_EXEC)
    return fd if fd >= 0 else -ctypes.get_errno()


def counted_ns(fd):
    """How much an event counts while the second processor works."""
    before = struct.unpack("QQQ", os.read(fd, 24))[0]
    os.sched_setaffinity(0, [1])
    sum(range(1000000))
    os.sched_setaffinity(0, [0, 1])
    return struct.unpack("QQQ", os.read(fd, 24))[0] - before


class Events(Inside):
    def setUp(self):
        super().setUp()
        need("hotplug", os.path.exists(PERF) and os.path.exists(ONLINE))
        self.addCleanup(self.switch, "1")

    @staticmethod
    def switch(on):
        if read(ONLINE).strip() != on:
            with open(ONLINE, "w", encoding="ascii") as f:
                f.write(on)

    def test_a_processor_that_is_off_has_no_event_ahead(self):
        self.switch("0")
        self.assertEqual(open_event(disabled=True), -errno.ENODEV)

    def test_an_event_stands_still_after_its_processor_came_back(self):
        """Whether it counted or waited, and enabled again or not."""
        for disabled in (False, True):
            fd = open_event(disabled)
            self.addCleanup(os.close, fd)
            self.assertEqual(counted_ns(fd) > 0, not disabled)
            self.switch("0")
            self.switch("1")
            self.assertEqual(counted_ns(fd), 0)
            fcntl.ioctl(fd, DISABLE, 0)
            fcntl.ioctl(fd, ENABLE, 0)
            self.assertEqual(counted_ns(fd), 0)
        fresh = open_event()
        self.addCleanup(os.close, fresh)
        self.assertGreater(counted_ns(fresh), 0)
