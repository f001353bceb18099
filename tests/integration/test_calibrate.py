# SPDX-License-Identifier: Apache-2.0
"""tallywatt calibrate: readings of a machine's power, and the watts that clients get then."""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import kepler_client as kepler
from harness import (BIN, ROOT, Case, ask_estimator, call, power_request, read_json, run_tallywatt,
                     sanitized, wait_until)
from scripted_vm import Machine, Scrape

MODELS = os.path.join(ROOT, "model-db/models")
CPUS = 8
PROCESSOR = "amd_epyc_7713"
IDLE_W, FULL_W = 5.0, 31.0
CURVE = re.compile(r"^ *(\d+) % +[\d.]+ W \([\d. ]+\) +([\d.]+) W \(([\d.]+) \.\. ([\d.]+)\)$",
                   re.M)


class Calibrate(Case):
    made = None  # a curve, and the folder of a database with it

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)  # the collector becomes another user
        self.machine = Machine(self.path("machine"), CPUS, 1)
        self.write("machine/proc/cpuinfo", "".join(
            f"processor : {i}\nvendor_id : AuthenticAMD\n"
            f"model name : AMD EPYC 7713 64-Core Processor\nflags : fpu hypervisor\n\n"
            for i in range(CPUS)))
        self.db = self.path("db")

    def calibrate(self, *args, code=0):
        done = run_tallywatt("calibrate", "--model-db", self.db, "--prior", MODELS,
                             *self.machine.args, *args)
        self.assertEqual(done.returncode, code, done.stderr.decode())
        return done

    def curve(self, *args):
        """Load in percent -> watts, low, high."""
        text = self.calibrate(*args).stdout.decode()
        found = {int(m[1]): tuple(map(float, m.groups()[1:])) for m in CURVE.finditer(text)}
        self.assertEqual(len(found), 11, text)
        return found

    def given(self):
        """The curve of rest and full load, in self.db. It is computed once for all tests."""
        cls = type(self)
        if cls.made is None:
            curve = self.curve("--idle", str(IDLE_W), "--full", str(FULL_W))
            folder = tempfile.mkdtemp(prefix="tw-")
            cls.addClassCleanup(shutil.rmtree, folder)
            shutil.copytree(self.db, os.path.join(folder, "db"))
            cls.made = curve, folder
        elif not os.path.exists(self.db):
            shutil.copytree(os.path.join(cls.made[1], "db"), self.db)
        return cls.made[0]

    def start_server(self):
        return self.start_http("tw-server", "--model-db", self.db)

    def request(self, **more):
        return {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower", "source": "acpi",
                "machine_spec": {"processor": PROCESSOR, "cores": CPUS}, **more}

    def test_the_estimator_answers_with_the_curve(self):
        curve = self.given()
        self.assertEqual((curve[0][0], curve[100][0]), (IDLE_W, FULL_W))
        socket = self.path("estimator.socket")
        self.start("tw-estimator", "--socket", socket, "--model-db", self.db,
                   "--shipped-models", "", *self.machine.args)
        answer = ask_estimator(socket, power_request(
            ["bpf_cpu_time_ms"], [[10.0 * CPUS * load] for load in sorted(curve)],
            source="acpi"))
        for watts, load in zip(answer["powers"]["platform"], sorted(curve)):
            self.assertAlmostEqual(watts, curve[load][0], delta=0.06, msg=load)

    def test_weights_of_kepler_meet_rest_and_follow_the_curve(self):
        curve = self.given()
        server = self.start_server()
        client = kepler.Regressor(server.address, "0.9", kepler.NODE, kepler.PLATFORM,
                                  counters=False, spec={
                                      "vendor": "", "processor": PROCESSOR, "cores": CPUS,
                                      "chips": 1, "memory": 0, "frequency": 0,
                                      "threads_per_core": 1})
        client.start()
        rows = [client.row({"bpf_cpu_time_ms": 10.0 * CPUS * load}) for load in sorted(curve)]
        for power, load in zip(client.powers(rows, False), sorted(curve), strict=True):
            watts = power["platform"] / 1000
            if load == 0:
                self.assertAlmostEqual(watts, IDLE_W, delta=0.01)
            # A line cannot follow the curve better.
            self.assertLess(abs(watts / curve[load][0] - 1), 0.2, load)

    def test_the_collector_shows_the_watts_of_rest(self):
        self.given()
        collector = self.start_http(
            "tw-collector", "--interval", "200ms", "--bpf", "off", "--user", "root",
            "--shipped-models", "", "--model-db", self.db, "--estimated-idle", "scale",
            *self.machine.args, *(["--filter=no"] if sanitized() else []))
        wait_until(lambda: "platform" in Scrape(collector).power(), "watts of the model")
        self.assertAlmostEqual(Scrape(collector).power()["platform"], IDLE_W, delta=0.01)
        self.assertIn('CalibratedPrior_0', call(collector, "GET", "/metrics").body.decode())

    def test_an_explanation_says_that_the_prior_is_calibrated(self):
        self.given()
        chosen = call(self.start_server(), "POST", "/model?explain=1",
                      self.request(machine_spec=self.spec())).json()["chosen"]
        self.assertEqual(chosen["pipeline"], "calibrated")
        self.assertEqual(chosen["match"], "calibrated prior")
        self.assertEqual(chosen["certificate"], "yes")
        self.assertGreater(chosen["mape"], 0)

    def spec(self):
        name = "calibrated/acpi/AbsPower/BPFOnly/CalibratedPrior_0/metadata.json"
        return read_json(os.path.join(self.db, name))["machine_spec"]

    def test_the_prior_is_that_of_the_server(self):
        server = self.start_http("tw-server", "--model-db", MODELS)
        for spec, view in (({"processor": "apple_m1", "cores": 8}, "typical"),
                           ({"processor": "amd_epyc_9r14", "cores": 384, "chips": 2, "memory": 768,
                             "threads_per_core": 2}, "host")):
            with self.subTest(spec["processor"]):
                answer = call(server, "POST", "/model", self.request(
                    weight=True, machine_spec=spec)).json()
                idle = answer["platform"]["All_Weights"]["Bias_Weight"]
                shown = self.calibrate("--spec", self.write("spec.json", json.dumps(spec)),
                                       "--idle", str(idle), "--full", str(6 * idle))
                text = shown.stdout.decode()
                self.assertIn(f"prior's view: {view}\n", text)
                self.assertAlmostEqual(float(re.search(r"^ +0 % +([\d.]+) W", text, re.M)[1]),
                                       idle, delta=0.06)

    def test_a_mainframe_is_refused(self):
        spec = self.write("spec.json", json.dumps({"processor": "ibm_3931", "cores": 8}))
        done = self.calibrate("--spec", spec, "--idle", "300", "--full", "400", code=1)
        self.assertIn("the prior has no machine like the mainframe 'ibm_3931'",
                      done.stderr.decode())

    def test_a_wattmeters_csv_is_reduced_to_readings(self):
        rows = ["time,cpu,Power_W"] + [f"{i},{i % 101},{5 + 0.26 * (i % 101)}"
                                       for i in range(606)]
        curve = self.curve("--csv", self.write("meter.csv", "\n".join(rows) + "\n"))
        for load in range(20, 100, 10):
            self.assertLess(abs(curve[load][0] / (5 + 0.26 * load) - 1), 0.1, load)

    def test_wrong_readings_of_a_wattmeter_are_named_and_left_out(self):
        def log(*more, name="cpu", share=1):
            rows = [f"{IDLE_W + 26 * load + i % 7 * 0.01:.3f};{load * share:g}".replace(".", ",")
                    for i in range(100) for load in (0, 0.5, 1)]
            rows[90:90] = more
            return self.write("meter.csv", f"\ufeffwatts;{name}\r\n" + "\r\n".join(rows) + "\r\n")

        for row, said in (("65535;100", "line 92: 65535 is not a power: 1 of 301"),
                          ("6553,5;50", "line 92: 6553.5 is not a power"), ("0;75", "0 is not a power"),
                          ("300;100", "")):
            with self.subTest(row):
                done = self.calibrate("--csv", log(row, share=100))
                self.assertIn(said, done.stderr.decode())
                for load, watts in ((0, 5), (50, 18), (100, 31)):
                    shown = re.search(rf"^ *{load} %.*\) +([\d.]+) W", done.stdout.decode(), re.M)
                    self.assertAlmostEqual(float(shown[1]), watts, delta=0.2)
        done = self.calibrate("--csv", log(), code=1)
        self.assertIn("column 'cpu' is at most 1: name it cpu_share", done.stderr.decode())
        self.assertAlmostEqual(self.curve("--csv", log(name="cpu_share"))[100][0], 31, delta=0.2)
        done = self.calibrate("--csv", log(*["0;1"] * 40, share=100), code=1)
        self.assertIn("as in 40 of 340 lines", done.stderr.decode())

    def test_a_meter_of_this_machine_is_read(self):
        """Three phases; the meter's file follows the phase that the command names."""
        power = "machine/sys/class/hwmon/hwmon0/power1_average"
        os.makedirs(self.path("machine/sys/class/hwmon/hwmon0"))
        self.write("machine/sys/class/hwmon/hwmon0/name", "power_meter\n")
        watts = {"rest": 6, "cpu-50": 20, "cpu-100": 30}
        self.write(power, "6000000\n")
        stop = threading.Event()

        def run():
            jiffies = {name: 0 for name in ("busy", "idle")}
            while not stop.wait(0.01):
                phase = re.findall(r"calibrate: (rest|cpu-\d+)$", self.log(), re.M)
                share = {"rest": 0, "cpu-50": 0.5, "cpu-100": 1}[phase[-1] if phase else "rest"]
                jiffies["busy"] += int(100 * share)
                jiffies["idle"] += int(100 * (1 - share))
                for name, text in (
                        (power, f"{watts[phase[-1] if phase else 'rest'] * 1000000}\n"),
                        ("machine/proc/stat", f"cpu {jiffies['busy']} 0 0 {jiffies['idle']}\n"
                         + "cpu0 0 0 0 0\n" * CPUS)):
                    self.write(name + ".new", text)
                    os.rename(self.path(name + ".new"), self.path(name))

        self.write("log", "")
        thread = threading.Thread(target=run)
        thread.start()
        try:
            with open(self.path("log"), "wb") as log:
                done = subprocess.run(
                    [os.path.join(BIN, "tallywatt"), "calibrate", "--model-db", self.db,
                     "--prior", MODELS, *self.machine.args, "--for", "3s"],
                    check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        finally:
            stop.set()
            thread.join()
        self.assertEqual(done.returncode, 0, self.log())
        curve = {int(m[1]): float(m[2]) for m in CURVE.finditer(done.stdout.decode())}
        self.assertLess(abs(curve[0] / 6 - 1), 0.1)
        self.assertLess(abs(curve[50] / 20 - 1), 0.1)
        self.assertLess(abs(curve[100] / 30 - 1), 0.1)

    def log(self):
        with open(self.path("log"), encoding="utf-8") as f:
            return f.read()

    def test_wrong_use_is_named(self):
        for args, why in (
                (("--idle", "9", "--full", "5"), "power falls with load"),
                (("--idle", "x"), "--idle: 'x' is not a number"),
                (("--at", "50"), "--at: '50': want LOAD=WATTS"),
                (("--at", "120=5"), "120 %"),
                (("--csv-load", "5"), "--csv-load needs --csv"),
                (("--name", "a/b", "--idle", "5"), "pipeline name")):
            with self.subTest(args):
                self.assertIn(why, self.calibrate(*args, code=2).stderr.decode())
        for text, why in (("a,b\n1,2\n", "no column watts"),
                          ("watts\n1\n", "--csv-load"),
                          ("watts,cpu\n1,x\n", "line 2: 'x' is not a number"),
                          ("watts,cpu\n1,101\n", "line 2: 1 W at 101 % CPU"),
                          ("watts,cpu\n1\n", "line 2")):
            with self.subTest(text):
                done = self.calibrate("--csv", self.write("bad.csv", text), code=1)
                self.assertIn(why, done.stderr.decode())
        self.assertFalse(os.path.exists(self.db))

    def test_a_machine_without_a_meter_is_told_what_to_do(self):
        done = self.calibrate("--for", "300ms", code=1)
        self.assertIn("give --idle and --full", done.stderr.decode())


if __name__ == "__main__":
    unittest.main(verbosity=2)
