# SPDX-License-Identifier: Apache-2.0
"""tw-collector in a virtual machine without meters or counters, by the models that ship.

The virtual machine is scripted: two CPUs, whose use follows the collector's ticks. Power
rises with load, whether the collector reads the database itself or asks tw-server; tw-estimator
chooses the same model; and containers get the power of the machine that they cause."""
import http.client
import json
import os
import shutil
import socket
import statistics
import unittest

from harness import ROOT, TIMEOUT_S, Case, ask_estimator, call, copy_for_all, power_request, \
    sanitized, wait_until
from scripted_vm import Machine, Scrape, Watched

MODELS = os.path.join(ROOT, "model-db/models")
INTERVAL_MS = 400
ZONES = ("package", "platform")
CPUS = 2
LOADS = (0.0, 0.25, 0.5, 1.0)
TICKS = 5
# A busy CPU is a share of a server with 32 CPUs, of some 150 W above rest.
CPU_MIN_W, CPU_MAX_W = 0.5, 20
# The collector's timer may be some ms late: the same CPU time in a longer tick. Joules agree.
LATE, AGREE = 0.1, 0.01
# Servers with idle power between a tenth and two thirds of that at full load, packages with less.
REST_MIN, REST_MAX = 0.05, 0.67
IDLE, EQUAL = 30, 20


class VirtualMachine(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)  # the collector becomes another user
        self.models = copy_for_all(MODELS, self.path("shipped"))

    def collect(self, way, *args, containers=1):
        machine = Machine(self.path("machine-" + way), CPUS, containers)
        daemon = self.start_http(
            "tw-collector", "--interval", f"{INTERVAL_MS}ms", "--bpf", "off",
            "--shipped-models", "", "--nvml", self.path("none.so"),
            *(["--filter=no"] if sanitized() else []), *machine.args, *args)
        wait_until(lambda: set(ZONES) <= set(Scrape(daemon).power()),
                   f"{way}: there is power of {ZONES}: {daemon.log()}")
        return Watched(way, daemon, machine, INTERVAL_MS)

    def ways(self, models=None):
        models = models or self.models
        server = self.server = self.start_http("tw-server", "--model-db", models)
        return {"database": ("--model-db", models),
                "server": ("--model-server", f"http://{server.address}")}

    def at_load(self, watched, load):
        """Of each collector the median power of some ticks at that load, as (its gauge, joules
        of a tick): a timer that is late makes ticks of other lengths, with the same joules."""
        return {w.way: self.median_power(w, [load * CPUS] + [0] * (len(w.machine.jiffies) - 1))
                for w in watched}

    @staticmethod
    def median_power(watched, loads):
        powers, joules = [], []
        # The use that is told in a step is that of the tick before.
        for _ in range(2):
            watched.step(loads)
        for _ in range(20 * TICKS):
            before = watched.now
            now = watched.step(loads)
            if set(ZONES) <= set(now.power()):
                powers.append(now.power())
                joules.append({zone: VirtualMachine.grown(
                    before, now, "tallywatt_node_energy_joules_total", zone=zone)
                    for zone in ZONES})
            if len(powers) == TICKS:
                break
        return {zone: tuple(statistics.median(x[zone] for x in of) for of in (powers, joules))
                for zone in ZONES}

    def test_power_rises_with_load_whoever_has_the_model(self):
        ways = self.ways()
        watched = [self.collect(way, *args) for way, args in ways.items()]
        watched.append(self.collect("scaled", *ways["database"], "--estimated-idle", "scale"))
        for w in watched:
            models = w.now.labels("tallywatt_model_info")
            self.assertEqual({m["idle"] for m in models},
                             {"scaled" if w.way == "scaled" else "hidden"}, w.way)
            self.assertEqual({s["source"] for s in w.now.labels("tallywatt_node_power_watts")},
                             {"model"}, w.way)
        powers = [self.at_load(watched, load) for load in LOADS]
        for w in watched:
            for zone in ZONES:
                watts = [p[w.way][zone][0] for p in powers]
                print(f"{w.way}: {zone} at {LOADS}: "
                      f"{', '.join(f'{x:.2f}' for x in watts)} W")
                self.check_rise(w.way, zone, watts)
        for zone in ZONES:
            for p in powers[1:]:
                values = [p[way][zone][1] for way in ways]
                self.assertLess(max(values), (1 + AGREE) * min(values), f"{zone}: {values}")

    def check_rise(self, way, zone, watts):
        what = f"{way}: {zone} {watts}"
        rest, full = watts[0], watts[-1]
        for less, more in zip(watts, watts[1:]):
            self.assertGreater(more, less + 0.05 * (full - rest), what)
        self.assertGreater(full - rest, CPU_MIN_W * CPUS, what)
        self.assertLess(full - rest, CPU_MAX_W * CPUS, what)
        if way == "scaled":
            self.assertGreater(rest / full, REST_MIN * (1 - LATE), what)
            self.assertLess(rest / full, REST_MAX * (1 + LATE), what)
        else:
            self.assertEqual(rest, 0, what)

    def test_top_says_that_power_is_estimated_and_whether_with_idle(self):
        for idle, words in (("auto", "above idle"), ("scale", "with idle")):
            watched = self.collect(idle, "--model-db", self.models, "--estimated-idle", idle)
            for _ in range(3):
                watched.step([1])
            text = self.tallywatt("top", "-b", "-n1", "-d", "100ms", "-l", "container",
                                  "--url", f"http://{watched.daemon.address}")
            _, facts, _, summary = text.splitlines()[:4]
            self.assertIn(f"estimated {words} by ", facts)
            self.assertIn(f", ESTIMATED {words}; ", summary)

    def features(self):
        """The features that a collector sends to its model server."""
        with socket.create_server(("127.0.0.1", 0)) as ear:
            ear.settimeout(TIMEOUT_S)
            machine = Machine(self.path("machine-listened"), CPUS, 1)
            self.start_http("tw-collector", "--bpf", "off", "--shipped-models", "", "--nvml",
                            self.path("none.so"), *(["--filter=no"] if sanitized() else []),
                            *machine.args, "--model-server",
                            f"http://127.0.0.1:{ear.getsockname()[1]}")
            with ear.accept()[0] as client:
                client.settimeout(TIMEOUT_S)
                with client.makefile("rb") as request:
                    headers = http.client.parse_headers(request) if request.readline() else {}
                    return json.loads(request.read(int(headers["Content-Length"])))["metrics"]

    def test_all_programs_choose_the_same_model(self):
        features = self.features()
        self.assertIn("bpf_cpu_time_ms", features)
        self.assertFalse({"cpu_cycles", "cpu_instructions", "cache_miss",
                          "bpf_page_cache_hit", "cpu_scaling_frequency_hertz"} & set(features),
                         "there are no counters, no traces and no frequencies")
        ways = self.ways()
        estimator = self.path("estimator.socket")
        # The estimator chooses for its machine: one like the collectors'.
        self.start("tw-estimator", "--socket", estimator, "--model-db", self.models,
                   "--shipped-models", "", *Machine(self.path("host"), CPUS, 1).args)
        chosen = {way: self.chosen_by_collector(self.collect(way, *args))
                  for way, args in ways.items()}
        for source, zone in zip(("rapl-sysfs", "acpi"), ZONES):
            line = self.tallywatt("explain", "--model-db", self.models, "--metrics",
                                  ",".join(features), "--cores", str(CPUS), "--source", source)
            [words] = [x.split() for x in line.splitlines() if x.endswith(" CHOSEN")]
            told = {way: models[source] for way, models in chosen.items()}
            told["command"] = words[2]
            told["server's explanation"] = self.chosen_by_server(features, source)
            told["estimator"] = ask_estimator(estimator, power_request(
                features, [[1.0] * len(features)], source=source, version=2))["model"]
            print(f"{zone}: {told}")
            self.assertEqual(len(set(told.values())), 1, told)

    @staticmethod
    def chosen_by_collector(watched):
        return {m["energy_source"]: m["model"]
                for m in Scrape(watched.daemon).labels("tallywatt_model_info")}

    def chosen_by_server(self, features, source):
        answer = call(self.server, "POST", "/model?explain=1", json.dumps({
            "metrics": features, "output_type": "AbsPower", "source": source,
            "model_classes": ["ensemble", "xgboost"], "loose_node_type": True,
            "machine_spec": {"processor": "amd_epyc", "cores": CPUS}}))
        return answer.json()["chosen"]["model_name"]

    def test_containers_get_the_power_that_they_cause(self):
        for way, args in self.ways().items():
            watched = self.collect(way, *args, containers=IDLE + EQUAL)
            loads = [0] * IDLE + [CPUS / EQUAL] * EQUAL
            for _ in range(3):
                watched.step(loads)
            # At rest before and after, so that each container's use is counted whole.
            first = watched.rest()
            for _ in range(TICKS):
                watched.step(loads)
            last = watched.rest()
            for zone in ZONES:
                self.check_containers(f"{way}: {zone}", first, last, zone)

    def test_without_abspower_models_dynpower_models_serve(self):
        """The power of the machine is the sum of its containers', above idle."""
        models = self.path("db")
        shutil.copytree(self.models, models, ignore=shutil.ignore_patterns("AbsPower", "machines"))
        for way, more in self.ways(models=models).items():
            # Idle power is wanted, but these models have none.
            w = self.collect(way, *more, "--estimated-idle=scale", containers=EQUAL)
            first = w.step([CPUS / EQUAL] * EQUAL)
            for _ in range(TICKS):
                last = w.step([CPUS / EQUAL] * EQUAL)
            outputs = {has["output"] for has in last.labels("tallywatt_model_info")}
            self.assertEqual(outputs, {"DynPower"}, way)
            for zone in ZONES:
                node = self.grown(first, last, "tallywatt_node_energy_joules_total",
                                  zone=zone, mode="dynamic")
                each = self.grown(first, last, "tallywatt_container_energy_joules_total",
                                  zone=zone, mode="dynamic")
                print(f"{way}, {zone}: {node:.3f} J, of containers {each:.3f} J")
                self.assertGreater(node, 1, way)
                self.assertAlmostEqual(each, node, delta=1e-4 * node, msg=way)
                self.assertEqual(last.sum("tallywatt_node_energy_joules_total",
                                          zone=zone, mode="idle"), 0, way)

    def check_containers(self, what, first, last, zone):
        seconds = TICKS * INTERVAL_MS / 1000
        node = self.grown(first, last, "tallywatt_node_energy_joules_total",
                          zone=zone, mode="dynamic") / seconds
        by_id = {}
        for has in last.labels("tallywatt_container_energy_joules_total"):
            if has["zone"] == zone:
                by_id[has["container_id"]] = self.grown(
                    first, last, "tallywatt_container_energy_joules_total", zone=zone,
                    container_id=has["container_id"]) / seconds
        idle = [w for name, w in by_id.items() if int(name, 16) < IDLE]
        equal = [w for name, w in by_id.items() if int(name, 16) >= IDLE]
        print(f"{what}: node {node:.2f} W, {len(idle)} idle containers {sum(idle):.3f} W, "
              f"{len(equal)} equal {sum(equal):.2f} W")
        self.assertEqual(len(equal), EQUAL, what)
        self.assertGreater(node, CPU_MIN_W * CPUS, what)
        self.assertLess(sum(idle), 0.5, what)
        self.assertAlmostEqual(sum(equal) / node, 1, delta=0.05, msg=what)
        self.assertAlmostEqual(max(equal) / min(equal), 1, delta=0.05, msg=what)

    @staticmethod
    def grown(first, last, name, **labels):
        return last.sum(name, **labels) - first.sum(name, **labels)


if __name__ == "__main__":
    unittest.main()
