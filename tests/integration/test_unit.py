# SPDX-License-Identifier: Apache-2.0
"""tallywatt unit and tw-trainer --unit: joules of units of work, from a Prometheus and from a
recording."""
import json
import math
import random
import re
import shutil
import subprocess
import xml.etree.ElementTree

from harness import Case, call, wait_until
from scripted_prometheus import START_S, ScriptedPrometheus

SCRAPE_S = 15
SECONDS = 4 * 3600
STANDING_W, IDLE_W, JOULES = 6.0, 20.0, {"prefill": 0.002, "decode": 0.05}
ENERGY = "tallywatt_pod_energy_joules_total"
WORK = {"prefill": "vllm:prompt_tokens_total", "decode": "vllm:generation_tokens_total"}
RUNNING = "vllm:num_requests_running"
LIVE = re.compile(r"^tallywatt_unit_(\w+)\{(.*)\} (\S+)$", re.M)
SELECTOR = re.compile(r'^\{__name__="([\w:]+)"(?:,([^}]*))?\}\[(\d+)ms\]$')
MATCHER = re.compile(r'(\w+)="([^"]*)"')


def make_series(together=False, change_s=SECONDS):
    """(metric, labels, samples): a service that restarts once and has two replicas for a while,
    and another service. Energy and work are scraped at different times. From change_s on a decoded
    token takes twice the energy."""
    rng = random.Random(41)
    loads = {"prefill": 0.0, "decode": 0.0}
    joules = {"chat-0": 0.0, "chat-1": 0.0, "other": 0.0}
    done = {(pod, kind): 0.0 for pod in ("chat-0", "chat-1") for kind in WORK}
    series = {}

    def add(metric, t, value, **labels):
        series.setdefault((metric, tuple(sorted(labels.items()))), []).append((START_S + t, value))

    for t in range(SECONDS):
        two = 6000 <= t < 9000
        for kind, memory_s in (("prefill", 60), ("decode", 300)):
            keep = math.exp(-1 / memory_s)
            loads[kind] = keep * loads[kind] + math.sqrt(1 - keep * keep) * rng.gauss(0, 1)
        rates = {"prefill": 2000 * math.exp(0.7 * loads["prefill"]),
                 "decode": 150 * math.exp(0.7 * loads["decode"])}
        if together:
            rates["prefill"] = 10 * rates["decode"]
        if t == 3000:  # the server restarts, between two scrapes of its counters
            for kind in WORK:
                done["chat-0", kind] = 0.0
        for pod, share in (("chat-0", 0.5 if two else 1), ("chat-1", 0.5 if two else 0)):
            joules[pod] += share * STANDING_W
            for kind in WORK:
                done[pod, kind] += share * rates[kind]
                joules[pod] += share * rates[kind] * JOULES[kind] * (
                    2 if kind == "decode" and t >= change_s else 1)
        joules["other"] += 5 + rng.random()
        up = {"chat-0", "other"} | ({"chat-1"} if two else set())
        if t % SCRAPE_S == 0:
            for pod in sorted(up):
                labels = {"instance": "node", "zone": "package", "pod_name": pod,
                          "namespace": "other" if pod == "other" else "chat"}
                add(ENERGY, t, joules[pod], mode="dynamic", **labels)
                add(ENERGY, t, IDLE_W * t, mode="idle", **labels)
                add(ENERGY, t, joules[pod] / 2, mode="dynamic", **{**labels, "zone": "core"})
        if t % SCRAPE_S == 7:
            add(RUNNING, t, rates["decode"] / 10)
            for (pod, kind), value in done.items():
                if pod in up:
                    add(WORK[kind], t, math.floor(value), pod=pod)
    return [(metric, dict(labels), samples) for (metric, labels), samples in series.items()]


class LabelledPrometheus(ScriptedPrometheus):
    """Of series with names and matchers of any kind."""

    def __init__(self, case, series):
        self.series = series
        self.queries = []
        super().__init__(case, type("Machine", (), {"end_s": lambda _: START_S + SECONDS})())

    def answer(self, request):
        url, asked = self.parse(request)
        if self.down or asked.get("query") == "time()":
            super().answer(request)
            return
        if url.path.endswith("/label/__name__/values"):
            self.succeed(request, sorted({metric for metric, _, _ in self.series}))
            return
        name, matchers, range_ms = SELECTOR.match(asked["query"]).groups()
        self.queries.append((name, matchers))
        to_s = float(asked["time"])
        wanted = dict(MATCHER.findall(matchers or ""))
        self.succeed(request, {"resultType": "matrix", "result": [
            {"metric": {"__name__": metric, **labels},
             "values": [[t, str(v)] for t, v in samples
                        if to_s - int(range_ms) / 1000 <= t <= to_s]}
            for metric, labels, samples in self.series
            if metric == name and wanted.items() <= labels.items()]})


class Unit(Case):
    RANGE = ("--start", str(START_S), "--end", str(START_S + SECONDS))
    ASK = ("--energy", ENERGY + '{namespace="chat"}', *RANGE,
           *(arg for kind, metric in WORK.items() for arg in ("--work", f"{kind}={metric}")))

    def recording(self, series):
        response = {}
        for metric, labels, samples in series:
            response.setdefault(metric, []).append(
                {"metric": {"__name__": metric, **labels}, "values": [[t, str(v)] for t, v in samples]})
        return self.write("recording.json", json.dumps(response))

    def assert_law(self, found):
        for unit in found["units"]:
            value = unit["joules"]
            self.assertLess(abs(value["value"] / JOULES[unit["unit"]] - 1), 0.05, unit)
            self.assertLessEqual(value["low"], value["value"])
            self.assertLessEqual(value["value"], value["high"])
        self.assertLess(abs(found["standing_watts"]["value"] / STANDING_W - 1), 0.05, found)
        self.assertLess(abs(found["idle_watts"] / IDLE_W - 1), 0.25, found)
        self.assertGreater(found["r2"], 0.98)

    def test_a_law_is_found_from_a_prometheus_and_from_a_recording(self):
        series = make_series()
        server = LabelledPrometheus(self, series)
        path = self.recording(series)
        found = json.loads(self.tallywatt("unit", "--server", server.url, "--json",
                                            "--batch", RUNNING, *self.ASK))
        self.assert_law(found)
        sizes = [part["size"] for part in found["batches"]]
        self.assertEqual(sizes, sorted(sizes))
        for part in found["batches"]:  # a law without batches
            self.assertLess(abs(part["joules"]["decode"] / JOULES["decode"] - 1), 0.1, part)
        self.assertIn((ENERGY, 'namespace="chat"'), server.queries)
        self.assertEqual(found["warnings"], [])
        again = json.loads(self.tallywatt("unit", "--input", path, "--json",
                                            "--batch", RUNNING, *self.ASK))
        self.assertEqual(again, found)

        text = self.tallywatt("unit", "--input", path, "--svg", self.path("unit.svg"), "--rules",
                              self.path("rules.yml"), "--sci", "decode", "--intensity", "360",
                              "--embodied", "1000", "--reserved", "50", "--batch", RUNNING,
                              *self.ASK)
        for line in (r"^BATCH SIZE  BLOCKS +prefill J +decode J$",
                     r"^idle \S+ W, not attributed$",
                     r"^prefill +\S+ +\S+ \.\. \S+ ",
                     r"^standing power, W +\S+ ", r"^SCI = \(E x I \+ M\) / R: \S+ gCO2e",
                     r"^I  360 gCO2e/kWh, a constant$", r"^M  \S+ gCO2e: 1000 kg in 4 years, 50 %"):
            self.assertRegex(text, re.compile(line, re.M))
        xml.etree.ElementTree.parse(self.path("unit.svg"))
        with open(self.path("rules.yml"), encoding="utf-8") as f:
            self.assertIn('* sum(rate(vllm:generation_tokens_total[5m]))"', f.read())
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "rules", self.path("rules.yml")], check=True,
                           stdout=subprocess.DEVNULL)

    def watch(self, server):
        """tw-trainer with two units, of which one has no series."""
        path = self.write("units.json", json.dumps({
            "window": f"{SECONDS}s", "every": "1s", "units": [
                {"name": "chat", "energy": [ENERGY + '{namespace="chat"}'],
                 "work": [f"{kind}={metric}" for kind, metric in WORK.items()]},
                {"name": "lost", "energy": [ENERGY], "work": ["no_such_total"]}]}))
        return self.start_http("tw-trainer", "--prometheus", server.url, "--delay", "0s", "--unit", path)

    @staticmethod
    def metrics(trainer):
        text = call(trainer, "GET", "/metrics").body.decode()
        return {(name, labels): float(value) for name, labels, value in LIVE.findall(text)}

    def test_a_trainer_evaluates_units_and_tells_drift(self):
        server = LabelledPrometheus(self, make_series())
        trainer = self.watch(server)
        wait_until(lambda: self.metrics(trainer).get(("up", 'unit="lost",reason="no series"')) == 0,
                   "both units are evaluated")
        found = self.metrics(trainer)
        self.assertEqual(found["up", 'unit="chat",reason=""'], 1)
        self.assertEqual(found["drift", 'unit="chat"'], 0)
        self.assertLess(abs(found["evaluated_timestamp_seconds", 'unit="chat"'] - server.now_s), 60)
        self.assertFalse([key for key in found if 'unit="lost"' in key[1] and key[0] != "up"])
        # The same numbers as the command's.
        told = json.loads(self.tallywatt("unit", "--server", server.url, "--json", *self.ASK))
        self.assert_law(told)
        for unit in told["units"]:
            labels = f'unit="chat",counter="{unit["unit"]}"'
            self.assertEqual([found[name, labels] for name in ("joules", "low_joules", "high_joules")],
                             [unit["joules"][key] for key in ("value", "low", "high")])
        self.assertEqual([found[name, 'unit="chat"'] for name in (
            "standing_watts", "standing_low_watts", "standing_high_watts", "r2", "residual_watts")], [
                *(told["standing_watts"][key] for key in ("value", "low", "high")),
                told["r2"], told["residual_watts"]])
        chat, lost = call(trainer, "GET", "/api/v1/units").json()["units"]
        self.assertEqual([c["name"] for c in chat["counters"]], list(WORK))
        self.assertEqual(chat["evaluations"][-1]["joules"], [u["joules"] for u in told["units"]])
        self.assertEqual((chat["problem"], chat["warnings"], lost["evaluations"]), (None, [], []))
        self.assertIn("no_such_total", lost["problem"])
        self.assertEqual([p["unit"] for p in call(trainer, "GET", "/healthz").json()["units"]["problems"]],
                         ["lost"])

        server.series = make_series(change_s=SECONDS - 6000)
        wait_until(lambda: self.metrics(trainer).get(("drift", 'unit="chat"')) == 1, "drift is told")
        trainer.wait_logged("unit chat drifts: .* J for decode in the last 1.6.? h, ")

        server.down = True
        wait_until(lambda: self.metrics(trainer).get(("up", 'unit="chat",reason="no answer"')) == 0,
                   "the failure is told")
        found = self.metrics(trainer)
        self.assertNotIn(("standing_watts", 'unit="chat"'), found)
        self.assertIn(("evaluated_timestamp_seconds", 'unit="chat"'), found)

    def test_work_that_is_counted_late_is_told(self):
        series = [(metric, labels, [(t + (90 if metric in WORK.values() else 0), v)
                                    for t, v in samples]) for metric, labels, samples in make_series()]
        path = self.recording(series)
        found = json.loads(self.tallywatt("unit", "--input", path, "--json", *self.ASK))
        self.assertRegex(" ".join(found["warnings"]),
                         "blocks twice as long give .* pass a longer --block")

    def test_what_gives_no_number_is_refused(self):
        path = self.recording(make_series(together=True))
        self.assertRegex(self.refused("unit", "--input", path, *self.ASK, codes=(1,)),
                         "prefill moves together with decode .*: joules not identifiable")
        one = ("unit", "--input", path, "--energy", ENERGY)
        self.assertRegex(self.refused(*one, "--work", "no_such_total", codes=(1,)),
                         "no series of 'no_such_total'$")
        for args, line in (
                ((), "--work is missing"),
                (("--work", "a{b}"), "--work: 'a{b}': no operator"),
                (("--work", "a", "--work", "a{b=\"c\"}"), "two counters named 'a'"),
                (("--work", "a", "--sci", "b", "--intensity", "1", "--embodied", "0"),
                 "--sci: no work of the name 'b'"),
                (("--work", "a", "--sci", "a"), "--sci needs --intensity and --embodied"),
                (("--work", "a", "--intensity", "1"), "--intensity and --embodied need --sci"),
                (("--work", "a", "--block", "0s"), "--block: '0s' is not a length of time"),
                (("--work", "a", "--idle", "-3"), "--idle: '-3': want a number from 0")):
            self.assertIn(line, self.refused(*one, *args, codes=(2,)))
        self.assertIn("idle power leaves nothing", self.refused(
            "unit", "--input", path, "--idle", "9999", *self.ASK, codes=(1,)))
        self.assertRegex(self.refused("unit", "--input", path, "--sci", "decode", "--embodied", "0",
                                      "--intensity", "co2", *self.ASK, codes=(1,)),
                         "no series of 'co2'$")


if __name__ == "__main__":
    import unittest
    unittest.main()
