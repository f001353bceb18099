# SPDX-License-Identifier: Apache-2.0
"""tw-collector on other kernels than this machine's: each kernel of the directory KERNELS
(tests/kernels/fetch fills one) boots in a virtual machine, and each check inside of it is a
test here. A table at the end has what each kernel showed.

CHECKS names other modules, classes or tests than all, as unittest does."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "tests/integration")]

from archive import OPTIONAL, PROGRAMS, Archive
from bmc import Controller
from harness import BIN, need
from machine import QEMU, Counting, Machine, Offloaded, TwoSockets, UserMode

KERNELS = os.environ.get("KERNELS", "")
CHECKS = os.environ.get("CHECKS", "check_tasks check_btf check_counts check_events "
                        "check_rights check_power check_lockdown check_offloaded "
                        "check_switch").split()
# Those that take a machine of their own.
APART = {"check_offloaded": Offloaded, "check_switch": Counting, "check_sockets": TwoSockets}
OURS = ("tw-collector", "tw-ask", "tallywatt", "tests/bench/collector_load",
        "tests/bench/attach_programs")
ACCOUNTS = {"passwd": "root:x:0:0:root:/root:/bin/sh\n"
                      "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
            "group": "root:x:0:\nnogroup:x:65534:\n"}


def base_archive(names):
    """What all kernels' machines have: Python, our programs, the checks, of which some are
    run."""
    archive = Archive()
    archive.python()
    for path in (*PROGRAMS, *filter(os.path.exists, OPTIONAL)):
        archive.program(path)
    for name in OURS:
        archive.program(os.path.join(BIN, name), f"/tw/bin/{name}")
    for name, text in ACCOUNTS.items():
        archive.data(f"/etc/{name}", text.encode())
    archive.tree(os.path.join(ROOT, "tests/integration"), "/tw/tests/integration")
    archive.tree(HERE, "/tw/checks")
    archive.data("/tw/checks/list", "\n".join(names).encode())
    archive.file(os.path.join(HERE, "guest.py"), "/tw/init", 0o755)
    return archive


def kernel_of(folder):
    """What is booted, and as what kind of machine; None: there is no kernel."""
    for name, machine in (("vmlinuz", Machine), ("linux", UserMode)):
        path = os.path.join(folder, name)
        if os.path.exists(path) and (machine is UserMode or shutil.which(QEMU)):
            return path, machine
    return None


def apart(name):
    """The kind of machine that a check has for itself, or None."""
    return APART.get(name.split(".")[0])


def kernels():
    """Directories of KERNELS with a kernel that can be booted, the oldest release first."""
    def numbers(path):
        return [int(n) for n in re.findall(r"\d+", os.path.basename(path))]
    if not os.path.isdir(KERNELS):
        return []
    found = [os.path.join(KERNELS, name) for name in os.listdir(KERNELS)]
    return sorted(filter(kernel_of, found), key=numbers)


def checks():
    """The names of all tests that run inside."""
    def names(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                yield from names(test)
            else:
                yield test.id()
    return list(names(unittest.defaultTestLoader.loadTestsFromNames(CHECKS)))


class Booted:
    """One kernel, its machines run to their ends, and what they told."""

    def __init__(self, kernel, folder):
        self.results, self.shown, self.release = {}, {}, os.path.basename(kernel)
        self.ended, self.last_words = True, ""
        self.kernel, self.folder = kernel, folder
        path, machine = kernel_of(kernel)
        self.bmc = Controller(os.path.join(folder, "bmc"))
        try:
            self.boot(path, machine, [name for name in CHECKS if not apart(name)])
            for kind in APART.values() if machine is Machine else ():
                self.boot(path, kind, [name for name in CHECKS if apart(name) is kind])
        finally:
            self.bmc.close()

    def boot(self, path, machine, names):
        if not names:
            return
        initrd = os.path.join(self.folder, "initrd")
        archive = base_archive(names)
        archive.tree(os.path.join(self.kernel, "lib"), "/usr/lib")
        archive.write(initrd)
        booted = machine(path, initrd, os.path.join(self.folder, "console"),
                         self.devices(self.folder))
        self.ended = booted.run(self.take) and self.ended
        self.last_words = booted.last_words()

    @staticmethod
    def devices(folder):
        """A management controller, and a power meter of ACPI where it can be compiled."""
        found = ["-chardev", f"socket,id=bmc,path={folder}/bmc,server=on,wait=off",
                 "-device", "ipmi-bmc-extern,id=bmc0,chardev=bmc",
                 "-device", "isa-ipmi-kcs,bmc=bmc0"]
        if shutil.which("iasl"):
            subprocess.run(["iasl", "-p", f"{folder}/meter",
                            os.path.join(HERE, "power_meter.asl")], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            found += ["-acpitable", f"file={folder}/meter.aml"]
        return found

    def take(self, entry):
        if "bmc" in entry:
            vars(self.bmc).update(entry["bmc"])
        self.shown.update(entry.get("shown", {}))
        if "test" in entry:
            self.results[entry["test"]] = entry
            print(f"    {self.release}: {entry['test']}: {entry['outcome']} "
                  f"({entry['seconds']} s)", flush=True)


class Kernel(unittest.TestCase):
    """All checks of one kernel. Its subclasses are made by load_tests."""

    booted = []  # of all kernels

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory(prefix="tw-kernels-") as folder:
            cls.machine = Booted(cls.kernel, folder)
        cls.booted.append(cls.machine)

    def check(self, name):
        if apart(name) and kernel_of(self.kernel)[1] is UserMode:
            self.skipTest("not in user mode")
        result = self.machine.results.get(name)
        if result is None:
            self.fail(f"the machine did not come to this:\n{self.machine.last_words}")
        if result["outcome"] == "skipped":
            self.skipTest(result["text"])
        self.assertEqual(result["outcome"], "passed", result["text"])

    def test_the_machine_comes_to_its_end(self):
        self.assertTrue(self.machine.ended, self.machine.last_words)


class Needed(unittest.TestCase):
    def test_what_is_needed_is_there(self):
        need("qemu", shutil.which(QEMU))
        need("kernels", bool(kernels()))


def load_tests(loader, _tests, _pattern):
    suite = loader.loadTestsFromTestCase(Needed)
    for kernel in kernels():
        def method(name):
            return lambda self: self.check(name)
        tests = {"test_" + name.replace(".", "_"): method(name) for name in checks()}
        suite.addTest(loader.loadTestsFromTestCase(
            type(f"Linux_{os.path.basename(kernel)}", (Kernel,),
                 {"kernel": kernel, **tests})))
    return suite


def tearDownModule():
    """What each kernel showed."""
    rows = list(dict.fromkeys(key for b in Kernel.booted for key in b.shown))
    table = [["", *(b.release for b in Kernel.booted)]]
    table += [[row, *(str(b.shown.get(row, "-")) for b in Kernel.booted)] for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip())


if __name__ == "__main__":
    unittest.main()
