# SPDX-License-Identifier: Apache-2.0
"""The closed loop of each meter: a machine with a known law of power, in files; tw-collector
reads its meters, `tallywatt record` records that, `train` learns from it, and `estimate`
predicts the law."""
import os
import subprocess
import threading
import time
import unittest

from harness import BIN, need, preload, sanitized
from metered import Metered

J = 16384  # of RAPL's counts
OWN = "class/hwmon/hwmon1/power1_input"  # a meter of the user's own reads it
MOST = 1.6  # CPUs in use, of 2
RAMP_S = 8  # the load rises for so long, and falls again: lags of meters cancel out
ASKED = (0.3, 0.9, 1.5)
# Of the law's range over the loads. CPU time has steps of 10 ms in rows of 0.5 s: 2 % of a
# CPU. A controller is asked once a second, while the load moves by 12 % of its
# range; on a busy machine the answer comes later.
TOLERANCE = {"ipmi": 0.2}
TOLERANCE_ELSE = 0.05


def law(idle_w, busy_w):
    return lambda load: idle_w + busy_w * load


LAWS = {"package": law(8, 20), "dram": law(2, 5), "core": law(3, 16), "platform": law(60, 50),
        "gpu": law(30, 100)}


class MetersTeach(Metered):
    def machine(self):
        """A process, and meters without a meter below powercap."""
        args = super().machine()
        for tree in ("powercap", "hwmon"):
            os.rename(self.path("sys/class", tree), self.path("sys", tree + ".off"))
        os.makedirs(self.path("sys/class/hwmon/hwmon0"))
        os.makedirs(self.path("sys/class/hwmon/hwmon1"))
        self.write("sys/class/hwmon/hwmon0/name", "amd_energy\n")
        self.write("sys/class/hwmon/hwmon0/energy1_label", "Ecore000\n")
        self.write("sys/class/hwmon/hwmon0/energy2_label", "Esocket0\n")
        self.write("sys/class/hwmon/hwmon1/name", "corsairpsu\n")
        self.write("sys/class/hwmon/hwmon1/power1_label", "power total\n")
        self.write("proc/cpuinfo", "".join(
            f"processor : {cpu}\nvendor_id : GenuineIntel\ncpu family : 6\nmodel : 158\n\n"
            for cpu in range(2)))
        self.write("dev-ipmi", "")
        self.joules_of = dict.fromkeys(LAWS, 100.0)
        self.cpu_s = 5.0
        self.load = 0
        args += self.registers({}) + self.gpus("gpu GPU-a H100\nenergy 1000\n")
        self.write("dev/ipmi0", "")
        os.environ["TW_FAKE_IPMI"] = self.path("watts")
        self.addCleanup(os.environ.pop, "TW_FAKE_IPMI", None)
        self.advance(0.0)
        return args

    def advance(self, seconds):
        """The machine runs for a time at its load."""
        self.cpu_s += seconds * self.load
        for zone, watts in LAWS.items():
            self.joules_of[zone] += seconds * watts(self.load)
        uj = {zone: round(j * 1e6) for zone, j in self.joules_of.items()}
        ticks = round(self.cpu_s * 100)
        idle = round(time.monotonic() * 200) - ticks
        self.exchange("proc/stat", f"cpu {ticks} 0 0 {idle}\ncpu0 {ticks // 2} 0 0 {idle // 2}\n"
                                   f"cpu1 {ticks - ticks // 2} 0 0 {idle - idle // 2}\n"
                                   "ctxt 5\nintr 6\n")
        self.run_processes(ticks)
        self.registers({0x611: round(self.joules_of["package"] * J),
                        0x639: round(self.joules_of["core"] * J),
                        0x619: round(self.joules_of["dram"] * J)})
        self.exchange("sys/class/hwmon/hwmon0/energy1_input", f"{uj['core']}\n")
        self.exchange("sys/class/hwmon/hwmon0/energy2_input", f"{uj['package']}\n")
        platform = LAWS["platform"](self.load)
        self.exchange("sys/class/hwmon/hwmon1/power1_input", f"{round(platform * 1e6)}\n")
        self.answer_watts(platform)
        self.gpus(f"gpu GPU-a H100\nenergy {round(self.joules_of['gpu'] * 1000)}\nbusy 50\n")

    def answer_watts(self, watts):
        """In place: the controller has the file open, and must never read it empty."""
        file = os.open(self.path("watts"), os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(file, f"{round(watts)}\n".ljust(16).encode(), 0)
        os.close(file)

    def run_processes(self, ticks):
        """Only the first of the machine's processes works."""
        self.ticks = ticks
        for pid, used in ((11, ticks), (12, 7)):
            os.makedirs(self.path(f"proc/{pid}"), exist_ok=True)
            self.exchange(f"proc/{pid}/stat", f"{pid} (job) S 1 1 1 0 -1 0 1 2 3 4 {used} "
                                              "0 0 0 20 0 1 0 500 1\n")

    def run_load(self, load_at, seconds):
        start = last = time.monotonic()
        while last < start + seconds:
            threading.Event().wait(0.02)
            now = time.monotonic()
            self.load = load_at(now - start)
            self.advance(now - last)
            last = now

    def record(self, collectors):
        """A response of each collector, recorded at the same time."""
        self.run_load(lambda _: 0, 2)  # a counter is exported once it has moved
        urls = [f"{name}=http://{daemon.address}/metrics" for name, daemon in
                collectors.items()]
        recording = threading.Thread(target=self.tallywatt, args=(
            "record", "--output", self.path("out.json"), "--interval", "500ms",
            "--for", f"{2 * RAMP_S + 1}s", *urls))
        recording.start()
        self.run_load(lambda t: max(0, MOST * (1 - abs(t / RAMP_S - 1))), 2 * RAMP_S + 1)
        recording.join()

    def check_law(self, source, machine, zones):
        """A model of the source predicts the law at loads that were not recorded, from its
        file and as tw-estimator chooses it."""
        db = self.path(f"db-{source}")
        os.makedirs(db)
        self.tallywatt("train", "--input", self.path("out.json"), "--machine", machine,
                       "--source", source, "--group", "BPFOnly", "--name", "loop",
                       "--abs-trainers", "LinearRegressionTrainer", "--model-db", db)
        model = os.path.join(db, "loop", source, "AbsPower/BPFOnly/LinearRegressionTrainer_0")
        socket = self.path(f"{source}.socket")
        estimator = self.start("tw-estimator", "--socket", socket, "--model-db", db)
        for way in (["--model", model], ["--socket", socket, "--source", source]):
            self.check_answer(source, zones, self.tallywatt(
                "estimate", *way, "--metrics", "bpf_cpu_time_ms",
                "--values", ";".join(str(load * 1e3) for load in ASKED), daemon=estimator))

    def check_answer(self, source, zones, answer):
        lines = [line.split() for line in answer.splitlines()]
        header = next(line for line in lines if line and line[0] == "row")
        self.assertEqual(sorted(header[1:]), sorted(zones), answer)
        rows = lines[lines.index(header) + 1:][:len(ASKED)]
        for load, row in zip(ASKED, rows, strict=True):
            for zone, watts in zip(header[1:], row[1:]):
                want = LAWS[zone](load)
                span = LAWS[zone](MOST) - LAWS[zone](0)
                self.assertAlmostEqual(float(watts), want, delta=TOLERANCE.get(source, TOLERANCE_ELSE) * span,
                                       msg=f"{source} {zone} at load {load}")

    def test_each_meter_s_recording_teaches_its_law(self):
        args = self.machine()
        collectors = {
            "inside": self.collect(*args, "--meters", "rapl-msr,nvml"),
            "amd": self.collect(*args, "--meters", "amd_energy"),
            "psu": self.collect(*args, "--meters", "hwmon"),
            "own": self.collect(*args, "--meter-file", self.path("sys", OWN), "--meter-unit", "uW",
                                "--meter-interval", "100ms", "--meter-source", "rack-7.pdu"),
        }
        bmc = self.controller(args)
        if bmc is not None:
            collectors["bmc"] = bmc
        self.record(collectors)
        self.check_law("rapl-msr", "inside", ("package", "core", "dram"))
        self.check_law("nvml", "inside", ("gpu",))
        self.check_law("amd_energy", "amd", ("package", "core"))
        self.check_law("hwmon", "psu", ("platform",))
        self.check_law("rack-7.pdu", "own", ("platform",))
        need("IPMI that can be simulated", bmc is not None)
        self.check_law("ipmi", "bmc", ("platform",))

    def controller(self, args):
        """A collector whose tw-ask has a simulated controller; None if it cannot have."""
        library = preload("libfreeipmi.so")
        self.assertTrue(os.path.exists(library), f"no {library}: make build-tests")
        if sanitized() or "freeipmi: yes" not in self.tallywatt_version():
            return None
        os.environ["LD_PRELOAD"] = library
        try:
            return self.collect(*args, "--meters", "ipmi", "--ipmi-interval", "1s")
        finally:
            del os.environ["LD_PRELOAD"]

    @staticmethod
    def tallywatt_version():
        return subprocess.run([os.path.join(BIN, "tw-collector"), "--version"], check=True,
                              stdout=subprocess.PIPE).stdout.decode()


if __name__ == "__main__":
    unittest.main()
