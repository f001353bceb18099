# SPDX-License-Identifier: Apache-2.0
"""tw-collector without a meter: models of files, a server, a database, an estimator."""
import glob
import json
import os
import re
import shutil
import signal
import socket
import tempfile
import unittest
import zipfile

from harness import BIN, Case, Daemon, call, children, need, run_tallywatt, sanitized, tree, wait_until

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.e+-]+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
MODEL = "fake/AbsPower/NodeCPU/SGDRegressorTrainer_0"
ZONES = {"package", "core", "dram"}


class Models(Case):
    @classmethod
    def setUpClass(cls):
        """A model of this machine's own samples, which tests change as they like."""
        cls.top = tempfile.mkdtemp(prefix="tw-")
        cls.addClassCleanup(shutil.rmtree, cls.top)
        measured = Daemon(os.path.join(cls.top, "measured"), "tw-collector",
                          ["--listen", "127.0.0.1:0", "--interval", "100ms", "--bpf", "off",
                           "--user", "root", "--meters", "fake",
                           *(["--filter=no"] if sanitized() else [])])
        record = ("record", "--output", cls.top + "/response.json", "--for", "4s", "--interval",
                  "250ms", f"http://{measured.address}/metrics")
        train = ("train", "--input", cls.top + "/response.json", "--name", "own", "--group",
                 "NodeCPU", "--source", "fake", "--trainers", "SGDRegressorTrainer", "--folds",
                 "2", "--model-db", cls.top + "/db")

        def trained(*more):
            """A recording of a busy machine may be too short: then it goes on."""
            done = run_tallywatt(*record, *more)
            if done.returncode == 0:
                done = run_tallywatt(*train)
            if done.returncode != 0:
                print(f"AGAIN: {done.stderr.decode()}")
            return done.returncode == 0
        try:
            if not trained():
                wait_until(lambda: trained("--append"), "there is a model")
        finally:
            measured.stop()

    def pipeline(self, path, watts, trainer="SGDRegressorTrainer", **metadata):
        """Put in place a pipeline whose model predicts so many W, nearly whatever the features are."""
        fresh = tempfile.mkdtemp(dir=self.dir) + "/own"
        shutil.copytree(self.top + "/db/own", fresh)
        os.remove(fresh + "/manifest.json")
        shutil.rmtree(fresh + "/fake/DynPower")
        base = os.path.join(fresh, MODEL)
        for zone in ZONES:
            name = f"{base}/{zone}.json"
            with open(name, encoding="ascii") as f:
                weights = json.load(f)
            weights["All_Weights"]["Bias_Weight"] = watts
            for number in weights["All_Weights"]["Numerical_Variables"].values():
                number["weight"] = 2e-5  # it rises, as every model that is chosen
            with open(name, "w", encoding="ascii") as f:
                json.dump(weights, f)
        with open(base + "/metadata.json", encoding="ascii") as f:
            told = json.load(f)
        # Whether this machine rested while the samples were taken does not matter here.
        told = {k: v for k, v in told.items() if not k.startswith("certificate_")}
        told.update(metadata)
        with open(base + "/metadata.json", "w", encoding="ascii") as f:
            json.dump(told, f)
        with zipfile.ZipFile(base + ".zip", "w") as z:
            for name in glob.glob(base + "/*.json"):
                z.write(name, os.path.basename(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.rename(path, fresh + "-before")
        os.rename(fresh, path)
        return os.path.join(path, MODEL)

    def collect(self, *args, interval="100ms", idle="scale"):
        return self.start_http("tw-collector", "--interval", interval, "--bpf", "off",
                               "--user", "root", "--meters", "model", "--estimated-idle",
                               idle, *(["--filter=no"] if sanitized() else []), *args)

    def samples(self, daemon):
        found = []
        for line in call(daemon, "GET", "/metrics").body.decode().splitlines():
            match = SAMPLE.match(line)
            if match:
                found.append((match[1], dict(LABEL.findall(match[2] or "")), float(match[3])))
        return found

    def value(self, daemon, name, **labels):
        """The sum of the samples that have these labels."""
        return sum(v for n, has, v in self.samples(daemon) if n == name
                   and all(has.get(k) == w for k, w in labels.items()))

    def info(self, daemon):
        return [has for n, has, _ in self.samples(daemon) if n == "tallywatt_model_info"]

    def power(self, daemon):
        return {has["zone"]: (v, has["source"]) for n, has, v in self.samples(daemon)
                if n == "tallywatt_node_power_watts"}

    def wait_for_power(self, daemon, watts):
        """Each zone has so many W; energy is whole microjoules of a tick."""
        def told():
            power = self.power(daemon)
            return set(power) == ZONES and all(
                source == "model" and abs(value - watts) < 1e-3
                for value, source in power.values())
        wait_until(told, f"{watts} W are told")

    def estimates_go_on(self, daemon):
        """A few more ticks are estimated."""
        before = self.value(daemon, "tallywatt_model_estimates_total")
        wait_until(lambda: self.value(daemon, "tallywatt_model_estimates_total")
                   > before + 5, "ticks are estimated")

    def serve(self, *args):
        return self.start_http("tw-server", "--model-db", self.path("db"), *args)

    # ---- files ----

    def test_the_expected_error_of_an_estimate_is_exported(self):
        daemon = self.collect("--model", os.path.join(self.top, "db/own", MODEL))
        wait_until(lambda: set(self.power(daemon)) == ZONES, "there is power")
        [info] = self.info(daemon)
        self.assertEqual({k: info[k] for k in ("source", "model", "trainer", "features",
                                               "energy_source", "origin", "idle")},
                         {"source": "model", "model": "SGDRegressorTrainer_0",
                          "trainer": "SGDRegressorTrainer", "features": "NodeCPU",
                          "energy_source": "fake", "origin": "file", "idle": "scaled"})
        with open(os.path.join(self.top, "db/own", MODEL, "metadata.json"),
                  encoding="ascii") as f:
            metadata = json.load(f)
        for zone in ZONES:
            self.assertAlmostEqual(
                self.value(daemon, "tallywatt_model_mae_watts", zone=zone),
                metadata[zone + "_mae"])
        self.assertAlmostEqual(self.value(daemon, "tallywatt_model_mape_ratio"),
                               metadata["mape"] / 100)
        least = {has["feature"]: v for n, has, v in self.samples(daemon)
                 if n == "tallywatt_model_feature_minimum" and has["zone"] == "dram"}
        self.assertEqual(set(least), set(metadata["features"]))
        for name, value in least.items():
            most = self.value(daemon, "tallywatt_model_feature_maximum", zone="dram",
                              feature=name)
            self.assertLessEqual(value, most)
        answer = call(daemon, "GET", "/api/v1/power").json()
        self.assertTrue(all(z["estimated"] for z in answer["workloads"][0]["zones"]))
        [model] = answer["models"]
        self.assertEqual((model["model"], model["idle"], set(model["mae_watts"])),
                         ("SGDRegressorTrainer_0", "scaled", ZONES))
        self.assertGreater(model["estimates"], 0)

    def test_a_model_that_is_replaced_is_used_and_a_broken_one_is_not(self):
        path = self.pipeline(self.path("own"), 8)
        daemon = self.collect("--model", path)
        self.wait_for_power(daemon, 8)
        self.pipeline(self.path("own"), 9)
        self.wait_for_power(daemon, 9)
        self.write("own/" + MODEL + "/package.json", "{")
        os.utime(self.path("own", MODEL, "metadata.json"))
        wait_until(lambda: self.value(daemon, "tallywatt_model_failures_total") == 1,
                   "it is refused")
        self.estimates_go_on(daemon)
        self.wait_for_power(daemon, 9)
        self.assertEqual(self.value(daemon, "tallywatt_model_loads_total"), 2)
        self.assertIn("package.json", call(daemon, "GET", "/api/v1/power")
                      .json()["models"][0]["failure"])
        self.pipeline(self.path("own"), 9)
        wait_until(lambda: self.value(daemon, "tallywatt_model_loads_total") == 3,
                   "it is whole again")
        os.kill(daemon.proc.pid, signal.SIGHUP)
        wait_until(lambda: self.value(daemon, "tallywatt_model_loads_total") == 4,
                   "it is read again when asked for")
        os.rename(self.path("own"), self.path("gone"))
        self.estimates_go_on(daemon)
        self.wait_for_power(daemon, 9)

    def test_rows_beyond_the_training_range_are_counted(self):
        path = self.pipeline(self.path("own"), 8)
        base = os.path.join(path, "SGDRegressorTrainer_0.json")
        with open(base, encoding="ascii") as f:
            files = json.load(f)
        for part in files.values():
            part["feature_min"] = [-2.0] * len(part["features"])
            part["feature_max"] = [-1.0] * len(part["features"])
        with open(base, "w", encoding="ascii") as f:
            json.dump(files, f)
        daemon = self.collect("--model", path)
        wait_until(lambda: self.value(
            daemon, "tallywatt_model_extrapolated_estimates_total") > 3, "they are counted")
        samples = self.samples(daemon)
        count = {n: v for n, _, v in samples if n.startswith("tallywatt_model_e")}
        self.assertEqual(count["tallywatt_model_extrapolated_estimates_total"],
                         count["tallywatt_model_estimates_total"])
        self.assertEqual(count["tallywatt_model_extrapolating"], 1)
        self.assertGreater(count["tallywatt_model_extrapolated_seconds_total"], 0)

    def test_idle_power_is_hidden_or_scaled_by_cores(self):
        cores = os.cpu_count()
        path = self.pipeline(self.path("own"), 8, machine_spec={"cores": 4 * cores})
        scaled = self.collect("--model", path)
        self.wait_for_power(scaled, 2)
        self.assertEqual(self.value(scaled, "tallywatt_model_core_ratio"), 0.25)
        hidden = self.collect("--model", path, idle="hide")
        self.wait_for_power(hidden, 0)
        self.assertEqual(self.info(hidden)[0]["idle"], "hidden")
        # In a virtual machine, as its processors' flags say, it is hidden if not asked for.
        for flags, watts in (("fpu hypervisor", 0), ("fpu", 2)):
            proc = self.path("proc-" + str(watts))
            os.makedirs(proc)
            self.write(proc + "/stat", "cpu 100 0 100 1000\ncpu0 1\nctxt 5\nintr 6\n")
            self.write(proc + "/vmstat", "pgfault 7\n")
            self.write(proc + "/cpuinfo", f"processor : 0\nflags\t\t: {flags}\n")
            sys = self.path("sys-" + str(watts))
            os.makedirs(sys + "/devices/system/cpu")
            self.write(sys + "/devices/system/cpu/present", f"0-{cores - 1}\n")
            os.makedirs(sys + "/fs/cgroup")
            self.write(sys + "/fs/cgroup/cgroup.controllers", "cpu\n")
            daemon = self.collect("--model", path, "--proc", proc, "--sys", sys, idle="auto")
            self.wait_for_power(daemon, watts)

    def test_a_model_that_cannot_be_used_is_refused_at_the_start(self):
        path = self.pipeline(self.path("own"), 8)
        shutil.copy(self.path("own", MODEL, "dram.json"), self.path("dram.json"))
        for args, words in ((("--model", self.path("nowhere")), "nowhere"),
                            (("--model", path + "," + path), "is a second model of fake")):
            with self.assertRaisesRegex(AssertionError, words):
                self.collect(*args)

    def test_absurd_weights_tell_no_power(self):
        """A valid file of somebody who makes watts: more than there can be are none, and a good model is."""
        path = self.pipeline(self.path("own"), 1e300)
        daemon = self.collect("--model", path)
        for watts, wanted in ((1e300, {("it reports more W than there can be", 0)}),
                              (-1e300, {("", 1)})):
            self.pipeline(self.path("own"), watts)
            loads = self.value(daemon, "tallywatt_model_loads_total")
            os.kill(daemon.proc.pid, signal.SIGHUP)
            wait_until(lambda n=loads: self.value(daemon, "tallywatt_model_loads_total") > n,
                       "it is read")
            self.estimates_go_on(daemon)
            self.assertEqual({(has["reason"], value) for name, has, value in self.samples(daemon)
                              if name == "tallywatt_meter_up"}, wanted)
            self.assertEqual(self.value(daemon, "tallywatt_node_energy_joules_total"), 0)
        self.pipeline(self.path("own"), 9)
        self.wait_for_power(daemon, 9)

    # ---- others' ----

    def test_the_last_good_model_outlives_server_and_a_restart(self):
        self.pipeline(self.path("db/own"), 8)
        server = self.serve()
        args = ("--model-server", f"http://{server.address}", "--model-source", "fake",
                "--keep", self.path("keep"), "--model-refresh", "1s")
        daemon = self.collect(*args)
        wait_until(lambda: self.value(daemon, "tallywatt_model_loads_total") == 1,
                   "the server has sent a model")
        self.wait_for_power(daemon, 8)
        self.assertTrue(tree(self.path("keep")))
        self.assertEqual(self.info(daemon)[0]["from"], f"http://{server.address}")
        server.stop(signal.SIGKILL)
        wait_until(lambda: self.value(daemon, "tallywatt_model_refresh_failing") > 0,
                   "the server is missed")
        self.estimates_go_on(daemon)
        self.wait_for_power(daemon, 8)
        daemon.stop()
        again = self.collect(*args)
        self.wait_for_power(again, 8)
        self.assertEqual(self.info(again)[0]["origin"], "server")

    def test_a_finder_that_is_killed_leaves_its_model_and_starts_again(self):
        self.pipeline(self.path("db/own"), 8)
        daemon = self.collect("--model-db", self.path("db"), "--model-source", "fake",
                              "--model-refresh", "1s")
        self.wait_for_power(daemon, 8)
        self.assertEqual(self.info(daemon)[0]["origin"], "database")
        [keeper] = children(daemon.proc.pid)
        [finder] = children(keeper)
        os.kill(finder, signal.SIGKILL)
        daemon.wait_logged("the model finder was killed by signal 9: .* starts in 1 s")
        self.estimates_go_on(daemon)
        self.wait_for_power(daemon, 8)
        wait_until(lambda: children(keeper), "another finder starts")
        [again] = children(keeper)
        self.pipeline(self.path("db/own"), 9)
        self.wait_for_power(daemon, 9)
        os.kill(again, signal.SIGKILL)
        daemon.wait_logged("the model finder was killed by signal 9: .* starts in 2 s")
        os.kill(keeper, signal.SIGKILL)
        daemon.wait_logged("the model finder has exited: the models are no longer refreshed")
        self.estimates_go_on(daemon)

    def test_a_resting_finder_ends_with_the_collector(self):
        self.pipeline(self.path("db/own"), 8)
        daemon = self.collect("--model-db", self.path("db"), "--model-source", "fake")
        self.wait_for_power(daemon, 8)
        [keeper] = children(daemon.proc.pid)
        for wait_s in 1, 2, 4, 8:
            wait_until(lambda: children(keeper), "a finder starts")
            os.kill(children(keeper)[0], signal.SIGKILL)
            daemon.wait_logged(f"the model finder was killed .* starts in {wait_s} s")
        daemon.stop(signal.SIGKILL)
        wait_until(lambda: not os.path.exists(f"/proc/{keeper}"), "it rests on", timeout=7)

    def copy_programs(self, mode, *names):
        """Programs in a folder of their own, with the mode of both."""
        folder = self.path("programs")
        os.makedirs(folder, exist_ok=True)
        for name in names:
            shutil.copy(os.path.join(BIN, name), folder)
            os.chmod(os.path.join(folder, name), mode)
        os.chmod(folder, mode)
        return folder

    def ask_as_nobody(self, folder):
        """The collector of a folder, which becomes nobody, with the model of a server."""
        self.pipeline(self.path("db/own"), 8)
        server = self.serve()
        daemon = Daemon(self.path("nobody"), os.path.join(folder, "tw-collector"),
                        ["--listen", "127.0.0.1:0", "--interval", "100ms", "--bpf", "off",
                         "--user", "nobody", "--meters", "model", "--estimated-idle", "scale",
                         "--shipped-models", "", "--model-source", "fake", "--model-server",
                         f"http://{server.address}"])
        self.addCleanup(self.stop_once, daemon)
        return daemon

    @unittest.skipIf(sanitized(), "a sanitizer wants calls that the filter refuses")
    def test_programs_that_are_private_to_root_ask_the_server(self):
        need("root", os.geteuid() == 0)
        daemon = self.ask_as_nobody(self.copy_programs(0o700, "tw-collector", "tw-ask"))
        self.wait_for_power(daemon, 8)
        self.assertEqual(self.info(daemon)[0]["origin"], "server")

    @unittest.skipIf(sanitized(), "a sanitizer wants calls that the filter refuses")
    def test_a_missing_helper_ends_nothing_and_is_used_once_it_is_there(self):
        os.chmod(self.dir, 0o755)
        daemon = self.ask_as_nobody(self.copy_programs(0o755, "tw-collector"))
        daemon.wait_logged("trying again: HTTP client: cannot run '.*/tw-ask'")
        ticks = self.value(daemon, "tallywatt_collector_ticks_total")
        wait_until(lambda: self.value(daemon, "tallywatt_collector_ticks_total") > ticks + 20,
                   "it ticks on")
        self.assertEqual(daemon.log().count("HTTP client"), 1, daemon.log())
        self.copy_programs(0o755, "tw-ask")
        self.wait_for_power(daemon, 8)

    def test_a_finder_that_cannot_start_ends_nothing(self):
        daemon = self.collect("--model-db", self.top + "/db", "--keep", "/proc/self/keep")
        daemon.wait_logged("the model finder failed: .*/proc/self/keep")
        daemon.wait_logged("the model finder has exited: the models are no longer refreshed")
        ticks = self.value(daemon, "tallywatt_collector_ticks_total")
        wait_until(lambda: self.value(daemon, "tallywatt_collector_ticks_total") > ticks + 3,
                   "it ticks on")

    def test_the_collector_has_one_thread_while_models_are_found(self):
        if sanitized():
            self.skipTest("a sanitizer may have threads")
        self.pipeline(self.path("db/own"), 7)
        server = self.serve()
        daemon = self.collect("--model-server", f"http://{server.address}",
                              "--model-source", "fake", "--shipped-models", "")
        wait_until(lambda: any(has["origin"] == "server" for has in self.info(daemon)),
                   "the server's model is used")
        slow = socket.create_connection(daemon.address.split(":"))
        self.addCleanup(slow.close)
        slow.sendall(b"GET /metrics HT")
        ticks = self.value(daemon, "tallywatt_collector_ticks_total")
        wait_until(lambda: self.value(daemon, "tallywatt_collector_ticks_total") > ticks + 3,
                   "it ticks on")
        self.assertEqual(len(os.listdir(f"/proc/{daemon.proc.pid}/task")), 1)

    def test_a_newly_published_model_is_used(self):
        self.pipeline(self.path("db/own"), 8)
        server = self.serve()
        local = self.collect("--model-db", self.path("db"), "--model-source", "fake")
        asking = self.collect("--model-server", f"http://{server.address}",
                              "--model-source", "fake", "--model-refresh", "1s")
        for daemon in (local, asking):
            self.wait_for_power(daemon, 8)
        self.pipeline(self.path("db/own"), 9)
        for daemon in (local, asking):
            self.wait_for_power(daemon, 9)

    def test_without_any_model_there_is_a_reason_and_no_power(self):
        daemon = self.collect("--model-server", "http://127.0.0.1:9", "--model-source", "fake")

        def reasons():
            return {has["reason"] for n, has, v in self.samples(daemon)
                    if n == "tallywatt_meter_up" and v == 0 and has["zone"] != "other"}
        wait_until(lambda: [r for r in reasons() if "127.0.0.1:9" in r], "it is asked")
        self.assertEqual(len(reasons()), 1)
        self.assertEqual(self.power(daemon), {})


if __name__ == "__main__":
    unittest.main()
