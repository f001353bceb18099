# SPDX-License-Identifier: Apache-2.0
"""Inside of a virtual machine: meters by the kernel's own drivers, which come and go."""
import glob
import os
import subprocess
import time

from harness import BIN, need
from inside import Inside, read, tell, wait_until

INTERVAL = "power1_average_interval"
UNKNOWN_MW = 0xFFFFFFFF  # ACPI's "not known"


def modprobe(*names):
    for name in names:
        subprocess.run(["modprobe", name], check=True)


def remove(*names):
    for name in names:
        subprocess.run(["modprobe", "-r", name], check=True)


class Metering(Inside):
    def setUp(self):
        super().setUp()
        need("modules", os.path.isdir(f"/lib/modules/{os.uname().release}"))

    def meter(self, name):
        """What a probe tells of one."""
        return next(m for m in self.probe()["meters"] if m["name"] == name)

    def watts(self, daemon):
        return {has["zone"]: value for name, has, value in self.samples(daemon)
                if name == "tallywatt_node_power_watts"}

    def reasons(self, daemon):
        return [has["reason"] for name, has, value in self.samples(daemon)
                if name == "tallywatt_meter_up" and value == 0]

    def wait_watts(self, daemon, watts, zone="platform"):
        wait_until(lambda: abs(self.watts(daemon).get(zone, -1) - watts) < 0.001,
                   f"{watts} W: {self.watts(daemon)}, {self.reasons(daemon)}")

    def wait_gone(self, daemon, why=""):
        wait_until(lambda: any(why in r for r in self.reasons(daemon)), f"gone: {why}")
        self.assertEqual(self.watts(daemon), {})

    def check_energy(self, daemon, watts):
        """Joules are watts times time, as it passes here."""
        before, began = self.node_joules(daemon, "platform"), time.monotonic()
        read_first = time.monotonic()
        wait_until(lambda: self.node_joules(daemon, "platform") > before + 3 * watts,
                   "energy comes")
        joules, ended = self.node_joules(daemon, "platform") - before, time.monotonic()
        # A tick may be in or out at both ends; emulation makes ticks late.
        self.assertLess(joules, watts * (ended - began + 3))
        self.assertGreater(joules, watts * (read_first - began))
        self.assertGreater(joules, 3 * watts)
        self.assertEqual(self.value(daemon, "tallywatt_collector_attribution_errors_total"), 0)


class Rapl(Metering):
    def test_registers_that_are_all_0_are_no_meter(self):
        modprobe("msr")
        self.assertTrue(os.path.exists("/dev/cpu/1/msr"))
        found = self.meter("rapl-msr")
        self.show(msr=found["why"])
        self.assertFalse(found["there"])
        self.assertRegex(found["why"], "all registers are 0|0x606")
        done = subprocess.run([f"{BIN}/tw-collector", "--meters", "rapl-msr", "--listen",
                               "127.0.0.1:0"], check=False, stderr=subprocess.PIPE, timeout=300)
        self.assertEqual(done.returncode, 1)
        self.assertIn(found["why"], done.stderr.decode())

    def test_a_powercap_without_zones_is_no_meter(self):
        subprocess.run(["modprobe", "intel_rapl_msr"], check=False)
        self.assertEqual(glob.glob("/sys/class/powercap/intel-rapl:*"), [])
        found = self.meter("rapl-sysfs")
        self.show(powercap=found["why"])
        self.assertFalse(found["there"])
        self.assertNotEqual(found["why"], "")


class Acpi(Metering):
    """tests/kernels/power_meter.asl: it measures what we write as its interval."""

    def setUp(self):
        super().setUp()
        modprobe("acpi_power_meter")
        self.find()
        self.addCleanup(modprobe, "acpi_power_meter")

    def find(self):
        """Where the files are: of the device, or, as drivers of old have it, of its parent."""
        found = [os.path.dirname(f) for f in glob.glob("/sys/class/hwmon/hwmon*/name") +
                 glob.glob("/sys/class/hwmon/hwmon*/device/name") if read(f) == "power_meter\n"]
        if not found:
            self.skipTest("no power meter of ACPI")
        self.files = found[0]

    def measure(self, milliwatts):
        with open(f"{self.files}/{INTERVAL}", "w", encoding="ascii") as f:
            f.write(str(milliwatts))

    def test_its_power_is_the_machine_s(self):
        self.measure(123456)
        found = self.meter("acpi")
        self.show(acpi="power1_average" if found["there"] else found["why"])
        self.assertTrue(found["there"], found)
        self.assertAlmostEqual(found["zones"][0]["watts"], 123.456, 3)
        daemon = self.collect("--meters", "acpi")
        self.wait_watts(daemon, 123.456)
        self.check_energy(daemon, 123.456)
        self.measure(200000)
        self.wait_watts(daemon, 200)

    def test_a_power_that_is_not_known_is_none(self):
        self.measure(UNKNOWN_MW)
        try:
            self.show(acpi_unknown=read(f"{self.files}/power1_average").strip() + " uW")
        except OSError as e:
            self.show(acpi_unknown=e.strerror)
        found = self.meter("acpi")
        self.assertTrue(found["there"], found)
        self.assertFalse(any(z["there"] for z in found["zones"]), found)
        self.assertTrue(all(z["why"] for z in found["zones"]), found)
        # A meter it is: what it measures comes later.
        daemon = self.collect("--meters", "acpi")
        self.wait_gone(daemon)
        for milliwatts in (UNKNOWN_MW, 0):
            self.measure(90000)
            self.wait_watts(daemon, 90)
            self.measure(milliwatts)
            self.wait_gone(daemon)
            before = self.node_joules(daemon, "platform")
            self.wait_ticks(daemon)
            self.assertEqual(self.node_joules(daemon, "platform"), before)

    def test_a_driver_that_goes_and_comes_back_is_told(self):
        self.measure(90000)
        daemon = self.collect("--meters", "acpi")
        self.wait_watts(daemon, 90)
        remove("acpi_power_meter")
        self.wait_gone(daemon)
        modprobe("acpi_power_meter")
        self.find()
        self.measure(110000)
        self.wait_watts(daemon, 110)


class Ipmi(Metering):
    """tests/kernels/bmc.py, which hears from us what it measures."""

    def setUp(self):
        super().setUp()
        modprobe("ipmi_si", "ipmi_devintf")
        if not os.path.exists("/dev/ipmi0"):
            self.skipTest("no /dev/ipmi0")
        self.measure(250)
        self.addCleanup(modprobe, "ipmi_si", "ipmi_devintf")

    def measure(self, watts, code=0, silent=False):
        tell(bmc={"watts": watts, "code": code, "silent": silent})

    def test_its_power_is_the_machine_s(self):
        found = self.meter("ipmi")
        self.show(ipmi="DCMI" if found["there"] else found["why"])
        self.assertTrue(found["there"], found)
        self.assertAlmostEqual(found["zones"][0]["watts"], 250, 3)
        daemon = self.collect("--meters", "ipmi", "--ipmi-interval", "1s")
        self.wait_watts(daemon, 250)
        self.check_energy(daemon, 250)
        self.measure(301)
        self.wait_watts(daemon, 301)

    def test_a_controller_that_is_busy_or_measures_nothing_is_said_to_be_gone(self):
        daemon = self.collect("--meters", "ipmi", "--ipmi-interval", "1s")
        self.wait_watts(daemon, 250)
        for watts, code, why in ((250, 0xC0, "busy"), (0, 0, "0 W")):
            self.measure(watts, code)
            self.wait_gone(daemon, why)
            self.measure(260)
            self.wait_watts(daemon, 260)
        # Then it is left alone for ten minutes.
        self.measure(250, 0xC1)
        self.wait_gone(daemon, "does not know DCMI")

    def test_a_controller_that_does_not_answer_is_said_to_be_gone_until_it_does(self):
        daemon = self.collect("--meters", "ipmi", "--ipmi-interval", "1s")
        self.wait_watts(daemon, 250)
        self.measure(250, silent=True)
        self.wait_gone(daemon)
        self.show(ipmi_silent=self.reasons(daemon)[0])
        self.measure(270)
        self.wait_watts(daemon, 270)
