# SPDX-License-Identifier: Apache-2.0
"""tw-collector: what it asks of others: power of a management controller, names of pods."""
import http.server
import json
import os
import signal
import subprocess
import threading
import time
import unittest

import answering
from metered import Metered
from fake_bmc import PASSWORD, USER, V1, Controller, chassis, metrics, power, supplies
from harness import BIN, ROOT, call, children, need, read_json, run_tallywatt, sanitized, wait_until
from sources import free_port

TLS = os.path.join(ROOT, "tests/data/tls")
A, B = [(os.path.join(TLS, f"{n}.crt"), os.path.join(TLS, f"{n}.key")) for n in "ab"]
PODS = os.path.join(ROOT, "tests/data/kube/pods.json")


class Asked(Metered):
    def samples_of(self, daemon, name):
        return [(has, value) for n, has, value in self.samples(daemon) if n == name]

    def watts(self, daemon):
        """By the name of the zone, of those that are told."""
        return {has["name"]: value
                for has, value in self.samples_of(daemon, "tallywatt_node_power_watts")}

    def reasons(self, daemon):
        return [has["reason"] for has, value in self.samples_of(daemon, "tallywatt_meter_up")
                if value == 0]

    def wait_watts(self, daemon, wanted):
        def told():
            found = self.watts(daemon)
            return set(found) == set(wanted) and all(
                abs(found[name] - wanted[name]) < 0.001 for name in wanted)
        wait_until(told, f"{wanted}, not {self.watts(daemon)}: {self.reasons(daemon)}")

    def wait_gone(self, daemon, why):
        wait_until(lambda: any(why in r for r in self.reasons(daemon)), f"gone: {why}")
        self.assertEqual(self.watts(daemon), {})

    @staticmethod
    def helpers(daemon):
        """Those that were started, then those that they started."""
        first = children(daemon.proc.pid)
        return first, [p for pid in first for p in children(pid)]

    def login_file(self, password=PASSWORD, mode=0o600):
        path = self.write("login", f"# of the controller\nuser = {USER}\npassword = {password}\n")
        os.chmod(path, mode)
        return path

    def kubelet(self):
        server = Kubelet()
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return server, f"http://127.0.0.1:{server.server_address[1]}"


class Redfish(Asked):
    def controller(self, certificate=None, port=0):
        bmc = Controller(certificate, port)
        self.addCleanup(bmc.close)
        bmc.have((chassis("1U"), {"Power": power(344.5)}))
        return bmc

    def ask(self, bmc, *args):
        more = ["--redfish-insecure"] if bmc.url.startswith("http:") else []
        return self.collect("--meters", "redfish", "--redfish", bmc.url, "--redfish-interval",
                            "1s", "--redfish-login", self.login_file(), *more, *args)

    def test_power_becomes_energy_over_the_time_that_it_took(self):
        bmc = self.controller()
        daemon = self.ask(bmc, "--compat", "kepler")
        self.wait_watts(daemon, {"1U": 344.5})
        began, before = time.monotonic(), self.node_joules(daemon, "platform")
        asked = time.monotonic()
        wait_until(lambda: self.node_joules(daemon, "platform") > before + 600, "it grows")
        ended = time.monotonic()
        joules = self.node_joules(daemon, "platform") - before
        # The reads lie between these moments; a tick may be in or out at both ends.
        self.assertLess(joules, 344.5 * (time.monotonic() - began + 1))
        self.assertGreater(joules, 344.5 * (ended - asked - 1))
        info = self.samples_of(daemon, "tallywatt_meter_info")
        self.assertEqual([(has["reports"], has["window_seconds"], has["path"]) for has, _ in info],
                         [("power", "1800", f"{V1}/Chassis/1U/Power")])
        self.assertEqual([(has["source"], has["bmc_id"], has["chassis_id"]) for has, _ in
                          self.samples_of(daemon, "kepler_platform_watts")],
                         [("redfish", bmc.url.split("://")[1], "1U")])

    def test_supplies_add_up_where_nothing_else_reports_power(self):
        bmc = self.controller()
        bmc.have(supplies("2U", [215.25, 0.5]))
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"2U": 215.75})
        # One is pulled: the other has its load.
        bays = f"{V1}/Chassis/2U/PowerSubsystem/PowerSupplies"
        bmc.tree[f"{bays}/Bay0"] = {"Status": {"State": "Absent"}}
        bmc.tree[f"{bays}/Bay1/Metrics"] = {"InputPowerWatts": {"Reading": 216}}
        self.wait_watts(daemon, {"2U": 216})
        bmc.tree[f"{bays}/Bay1/Metrics"] = {"InputPowerWatts": {"Reading": None}}
        self.wait_gone(daemon, "no InputPowerWatts")

    def test_its_helper_may_ask_and_not_much_else(self):
        if sanitized():
            self.skipTest("who is asked for leaks has no filter")
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        first, second = self.helpers(daemon)
        for pid, filters in ((first[0], 1), (second[0], 2)):
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                status = dict(line.split(":", 1) for line in f)
            self.assertEqual((status["Seccomp"].strip(), status["NoNewPrivs"].strip()),
                             ("2", "1"))
            if "Seccomp_filters" in status:  # Linux 5.9
                self.assertEqual(int(status["Seccomp_filters"]), filters)

    def test_its_session_is_closed_at_the_end(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        self.assertEqual((len(bmc.sessions), bmc.logins), (1, 1))
        daemon.stop()
        self.assertEqual(bmc.sessions, {})

    def test_a_session_that_has_expired_is_made_anew(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        bmc.sessions.clear()
        bmc.have((chassis("1U"), {"Power": power(355)}))
        self.wait_watts(daemon, {"1U": 355})
        self.assertEqual(bmc.logins, 2)

    def test_basic_where_there_are_no_sessions(self):
        bmc = self.controller()
        bmc.makes_sessions = False
        self.wait_watts(self.ask(bmc), {"1U": 344.5})
        daemon = self.ask(bmc, "--redfish-auth", "session")
        self.wait_gone(daemon, "405")

    def test_a_wrong_password_is_tried_once(self):
        bmc = self.controller()
        path = self.login_file(password="guess")
        daemon = self.collect("--meters", "redfish", "--redfish", bmc.url, "--redfish-insecure",
                              "--redfish-interval", "1s", "--redfish-login", path)
        self.wait_gone(daemon, "answers 401: The user name or password is wrong.")
        asked = self.joules(daemon, "tallywatt_collector_ticks_total")
        wait_until(lambda: self.joules(daemon, "tallywatt_collector_ticks_total") > asked + 30,
                   "three seconds of ticks")
        self.assertEqual(bmc.logins, 1)

    def test_of_chassis_within_each_other_the_outermost_count(self):
        bmc = self.controller()
        bmc.have((chassis("Enclosure", "Enclosure"), {"Power": power(900)}),
                 (chassis("Disks", "StorageEnclosure", inside="Enclosure"), {"Power": power(300)}),
                 (chassis("GPU_0", "Module"), {"Power": power(250)}),
                 (chassis("Shelf", "Shelf", inside="Rack"), {"Power": power(50)}),
                 (chassis("Rack", "Rack", power=False), {}))
        self.wait_watts(self.ask(bmc), {"Enclosure": 900, "Shelf": 50})
        self.wait_watts(self.ask(bmc, "--redfish-chassis", "Disks,GPU_0"),
                        {"Disks": 300, "GPU_0": 250})

    def test_the_newer_resource_goes_before_the_older_one(self):
        bmc = self.controller()
        bmc.have((chassis("1U", metrics=True),
                  {"EnvironmentMetrics": metrics(374.25, 3638), "Power": power(344)}),
                 (chassis("2U", metrics=True),
                  {"EnvironmentMetrics": {"Id": "EnvironmentMetrics"}, "Power": power(20)}))
        self.wait_watts(self.ask(bmc), {"1U": 374.25, "2U": 20})

    def test_energy_alone_is_power_between_two_steps_of_it(self):
        bmc = self.controller()
        below = {"EnvironmentMetrics": metrics(None, 10)}
        bmc.have((chassis("1U", power=False, metrics=True), below))
        daemon = self.ask(bmc)
        self.wait_gone(daemon, "waiting for the counter to grow")
        kwh, began = [10], time.monotonic()

        def grow():
            """500 W, as exactly as time is told here."""
            kwh[0] = 10 + 500 * (time.monotonic() - began) / 3.6e6
            bmc.tree[f"{V1}/Chassis/1U/EnvironmentMetrics"] = metrics(None, kwh[0])
            return 400 < self.watts(daemon).get("1U", 0) < 600
        wait_until(grow, "about 500 W")

    def test_only_a_certificate_that_is_known_is_believed(self):
        bmc = self.controller(A)
        daemon = self.ask(bmc)
        self.wait_gone(daemon, "certificate")
        self.assertEqual(bmc.asked, [])
        self.wait_gone(self.ask(bmc, "--redfish-ca", B[0]), "certificate")
        self.wait_watts(self.ask(bmc, "--redfish-ca", A[0]), {"1U": 344.5})
        self.wait_watts(self.ask(bmc, "--redfish-insecure"), {"1U": 344.5})

    def test_implausible_power_is_dropped(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        for value, why in ((0, "0 W"), (-3, "0 W"), (4294967295, "more W than there can be"),
                           ("n/a", "no PowerConsumedWatts")):
            bmc.tree[f"{V1}/Chassis/1U/Power"] = power(344.5)
            self.wait_watts(daemon, {"1U": 344.5})
            bmc.tree[f"{V1}/Chassis/1U/Power"] = power(value, average=value)
            self.wait_gone(daemon, why)

    def test_a_jump_is_believed_once_two_answers_have_it(self):
        bmc = self.controller()
        bmc.tree[f"{V1}/Chassis/1U/Power"] = power(20)
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 20})
        asked = len(bmc.asked)
        bmc.tree[f"{V1}/Chassis/1U/Power"] = power(3000)
        self.wait_watts(daemon, {"1U": 3000})
        self.assertGreaterEqual(len(bmc.asked), asked + 2)

    def test_a_controller_in_trouble_is_gone_with_a_reason_until_it_is_back(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        for trouble, why in ((503, "answers 503: trouble"), ("garbage", "power: ")):
            self.wait_watts(daemon, {"1U": 344.5})
            bmc.trouble = trouble
            self.wait_gone(daemon, why)
            joules = self.node_joules(daemon, "platform")
            self.assertEqual(joules, 0)  # no series, which is something else than 0 J
            bmc.trouble = None
        self.wait_watts(daemon, {"1U": 344.5})
        self.assertGreater(self.node_joules(daemon, "platform"), 0)

    def test_energy_of_a_gap_is_known_once_the_controller_is_back(self):
        """Readers of the counter divide its growth by all of the time between two scrapes."""
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        asked = time.monotonic()
        before = self.node_joules(daemon, "platform")
        began = time.monotonic()
        bmc.trouble = 503
        self.wait_gone(daemon, "answers 503")
        threading.Event().wait(3)
        bmc.trouble = None
        self.wait_watts(daemon, {"1U": 344.5})
        ended = time.monotonic()
        joules = self.node_joules(daemon, "platform") - before
        self.assertLess(joules, 344.5 * (time.monotonic() - asked + 1))
        self.assertGreater(joules, 344.5 * (ended - began - 1))

    def test_ticks_do_not_wait_for_one_that_is_slow(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        bmc.trouble = "slow"
        ticks = self.joules(daemon, "tallywatt_collector_ticks_total")
        self.wait_gone(daemon, "timed out")
        self.assertGreater(self.joules(daemon, "tallywatt_collector_ticks_total"), ticks + 3)

    def test_a_late_controller_comes_with_all_its_chassis(self):
        port = free_port()
        daemon = self.collect("--redfish", f"http://127.0.0.1:{port}", "--redfish-insecure",
                              "--redfish-interval", "1s", "--redfish-login",
                              self.login_file(), *self.machine())
        wait_until(lambda: any("connect" in r.lower() for r in self.reasons(daemon)), "gone")
        bmc = self.controller(port=port)
        bmc.have((chassis("1U"), {"Power": power(100)}), (chassis("2U"), {"Power": power(200)}))
        wait_until(lambda: {"1U", "2U"} <= set(self.watts(daemon)), "both are told")
        paths = {has["path"]: has["source"] for has, _ in
                 self.samples_of(daemon, "tallywatt_meter_up")}
        # Five of RAPL, one of ACPI, two of the controller, and what is reckoned of them.
        self.assertEqual(len(paths), 9)
        self.rapl(1500000)
        wait_until(lambda: self.node_joules(daemon) == 0.5, "other meters go on")

    def test_a_helper_that_dies_is_started_again(self):
        bmc = self.controller()
        daemon = self.ask(bmc)
        self.wait_watts(daemon, {"1U": 344.5})
        first, second = self.helpers(daemon)
        self.assertEqual((len(first), len(second)), (1, 1))
        os.kill(second[0], signal.SIGSEGV)
        wait_until(lambda: self.helpers(daemon)[1] not in ([], second), "another one")
        self.wait_watts(daemon, {"1U": 344.5})
        os.kill(first[0], signal.SIGKILL)
        self.wait_gone(daemon, "tw-ask has exited")

    def test_the_collector_works_after_dropping_root(self):
        need("root", os.geteuid() == 0)
        if sanitized():
            self.skipTest("who gave up root is not asked for leaks")
        bmc = self.controller()
        os.chmod(self.path("."), 0o755)
        daemon = self.ask(bmc, "--user", "nobody")
        self.wait_watts(daemon, {"1U": 344.5})
        first, second = self.helpers(daemon)
        for pid in [*first, *second]:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                status = f.read()
            self.assertNotRegex(status, r"Uid:\s0")
            self.assertRegex(status, r"CapEff:\s0{16}")
            self.assertRegex(status, r"NoNewPrivs:\s1")
        # What the file says cannot be read any more, and is known all the same.
        bmc.sessions.clear()
        bmc.tree[f"{V1}/Chassis/1U/Power"] = power(355)
        self.wait_watts(daemon, {"1U": 355})
        os.kill(second[0], signal.SIGSEGV)
        wait_until(lambda: bmc.logins == 3, "a new helper logs in")
        daemon.stop()
        wait_until(lambda: len(bmc.sessions) == 1, "only the dead one's is left")

    def test_a_login_is_not_sent_where_a_redirect_leads(self):
        bmc, other = self.controller(), self.controller()
        bmc.redirect = other.url
        self.wait_gone(self.ask(bmc), "answers 307")
        self.assertEqual(other.logins, 0)

    def test_the_password_is_hidden(self):
        daemon = self.ask(self.controller())
        self.wait_watts(daemon, {"1U": 344.5})
        first, second = self.helpers(daemon)
        for pid in [daemon.proc.pid, *first, *second]:
            for name in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{name}", "rb") as f:
                    self.assertNotIn(PASSWORD.encode(), f.read())
        self.assertNotIn(PASSWORD, daemon.log())

    def test_wrong_use_is_refused(self):
        url = "https://127.0.0.1:1"
        for args, word in (
                (["--redfish", url, "--redfish-login", self.login_file(mode=0o644)],
                 "is not secret: its mode is 0644"),
                (["--redfish", url, "--redfish-login", self.path("none")], "No such file"),
                (["--redfish", "http://127.0.0.1:1"], "want https://"),
                (["--redfish", url, "--redfish-interval", "5ms"], "want 1s to 1h"),
                (["--kubelet", url, "--kube-api", url], "want one of both"),
                (["--kubelet", "http://127.0.0.1:1"], "want https://")):
            done = subprocess.run([os.path.join(BIN, "tw-collector"), *args], check=False,
                                  stderr=subprocess.PIPE, stdout=subprocess.PIPE, timeout=60)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(word, done.stderr.decode())
            self.assertEqual(len(done.stderr.decode().splitlines()), 1)

    def test_probe_reports_the_device(self):
        bmc = self.controller()
        done = run_tallywatt("probe", "--json", "--redfish", bmc.url, "--redfish-insecure",
                             "--redfish-login", self.login_file(), "--watch", "500ms")
        meter = next(m for m in json.loads(done.stdout)["meters"] if m["name"] == "redfish")
        self.assertTrue(meter["there"])
        zone = meter["zones"][0]
        self.assertEqual((zone["name"], zone["there"], zone["window_ms"]), ("1U", True, 1800000))
        self.assertAlmostEqual(zone["watts"], 344.5, 3)
        self.assertEqual(bmc.sessions, {})
        meters = {m["name"]: m for m in json.loads(run_tallywatt("probe", "--json").stdout)["meters"]}
        self.assertIn("--redfish", meters["redfish"]["why"])
        self.assertTrue(meters["ipmi"]["there"] or meters["ipmi"]["why"])


class Ipmi(Asked):
    def test_a_wrong_device_is_no_meter_and_has_a_reason(self):
        os.makedirs(self.path("dev"))
        self.write("dev/ipmi0", "")
        daemon = self.collect("--dev", self.path("dev"), *self.machine())
        self.wait_watts(daemon, {"power1": 90})
        self.assertEqual({has["source"] for has, _ in
                          self.samples_of(daemon, "tallywatt_meter_up")},
                         {"acpi", "rapl-sysfs"})
        self.assertRegex(daemon.log(), r"no ipmi: (built without libfreeipmi|.*ipmi0': \w+)")
        self.assertEqual(self.helpers(daemon), ([], []))


class Kubelet(http.server.ThreadingHTTPServer):
    """Answers /pods and /api/v1/pods to whoever has the token."""

    daemon_threads = True

    def __init__(self):
        self.pods, self.token, self.asked, self.status = read_json(PODS), "t0ken", [], 200
        super().__init__(("127.0.0.1", 0), Pods)


class Pods(answering.Handler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        server.asked.append(self.path)
        status, body = server.status, json.dumps(server.pods).encode()
        if self.headers.get("Authorization") != f"Bearer {server.token}":
            status, body = 401, b"Unauthorized"
        self.answer(body, status, [("Content-Type", "application/json")])


class Names(Asked):
    CONTAINER = "ab" * 32

    def ask(self, *args):
        self.write("token", "t0ken\n")
        return self.collect("--kube-insecure", "--kube-interval", "1s", "--kube-token",
                            self.path("token"), "--compat", "kepler,kepler-legacy", *args,
                            *self.machine())

    def labels(self, daemon, name):
        found = self.samples_of(daemon, name)
        return found[0][0] if found else {}

    def wait_named(self, daemon, pod="web-7d4b9c6f5d-x2x7p"):
        """The processes run on: what has used nothing is not told."""
        self.run_until(lambda: self.labels(
            daemon, "tallywatt_container_cpu_seconds_total").get("pod_name") == pod, pod)

    def test_names_are_exported_on_all_series(self):
        server, url = self.kubelet()
        daemon = self.ask("--kubelet", url)
        self.wait_named(daemon)
        self.assertEqual(set(server.asked), {"/pods"})
        names = {"container_id": self.CONTAINER, "pod_name": "web-7d4b9c6f5d-x2x7p",
                 "container_name": "nginx"}
        for series, more in (
                ("tallywatt_container_cpu_seconds_total", {**names, "namespace": "shop"}),
                ("kepler_container_bpf_cpu_time_ms_total",
                 {**names, "container_namespace": "shop"}),
                ("kepler_container_cpu_seconds_total", {"container_name": "nginx"}),
                ("tallywatt_pod_cpu_seconds_total",
                 {"pod_name": names["pod_name"], "namespace": "shop"})):
            labels = self.labels(daemon, series)
            self.assertEqual({k: labels.get(k) for k in more}, more, series)
        self.run_until(lambda: self.energy_of_all(daemon), "energy is attributed")
        labels = self.labels(daemon, "kepler_pod_cpu_joules_total")
        self.assertEqual((labels["pod_name"], labels["pod_namespace"]),
                         (names["pod_name"], "shop"))
        for level in ("container", "pod"):
            first = json.loads(call(daemon, "GET", f"/api/v1/power?level={level}").body)
            self.assertEqual(first["workloads"][0]["pod_name"], names["pod_name"])
        self.assertIn(("tallywatt_pod_names_up", {"reason": ""}, 1.0), self.samples(daemon))

    def test_an_api_server_is_asked_for_this_node_s(self):
        server, url = self.kubelet()
        daemon = self.ask("--kube-api", url + "/", "--node-name", "node/7")
        self.wait_named(daemon)
        self.assertEqual(set(server.asked),
                         {"/api/v1/pods?fieldSelector=spec.nodeName%3Dnode%2F7"})

    def test_the_last_names_stay_without_answers(self):
        server, url = self.kubelet()
        daemon = self.ask("--kubelet", url)
        self.wait_named(daemon)
        server.status = 503
        wait_until(lambda: [v for _, v in self.samples_of(daemon, "tallywatt_pod_names_up")]
                   == [0], "it is down")
        self.assertIn("answers 503", self.labels(daemon, "tallywatt_pod_names_up")["reason"])
        self.wait_named(daemon)
        self.run_processes(self.ticks + 1)
        self.wait_named(daemon)

    def test_without_an_answer_there_are_ids(self):
        server, url = self.kubelet()
        server.token = "another"
        daemon = self.ask("--kubelet", url)
        wait_until(lambda: "answers 401" in self.labels(
            daemon, "tallywatt_pod_names_up").get("reason", ""), "it is refused")
        self.run_until(lambda: self.labels(
            daemon, "tallywatt_container_cpu_seconds_total") != {}, "it runs")
        labels = self.labels(daemon, "tallywatt_container_cpu_seconds_total")
        self.assertEqual((labels["container_id"], labels["pod_name"]), (self.CONTAINER, ""))
        # Another token is read where the file has one.
        self.write("token", "another\n")
        self.wait_named(daemon)

    def test_an_unknown_pod_is_asked_for_early(self):
        server, url = self.kubelet()
        all_pods = server.pods
        server.pods = {**all_pods, "items": all_pods["items"][1:]}
        daemon = self.ask("--kubelet", url, "--kube-interval", "1h")
        self.run_until(lambda: self.labels(
            daemon, "tallywatt_container_cpu_seconds_total") != {}, "it runs")
        wait_until(lambda: self.joules(daemon, "tallywatt_pod_names_answers_total") == 1,
                   "asked once")
        server.pods = all_pods
        # Ten seconds at least are between two questions.
        wait_until(lambda: len(server.asked) > 1, "asked again")
        self.wait_named(daemon)


if __name__ == "__main__":
    unittest.main()
