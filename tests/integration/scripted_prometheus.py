# SPDX-License-Identifier: Apache-2.0
"""A machine with a power law, and Prometheus' API on its samples, at a time that the test sets."""
import bisect
import json
import math
import random
import re
import types
import urllib.parse

from sources import Server, reply

START_S = 1700000000
LOOKBACK_S = 300
STEP_S = 0.05
SELECTOR = re.compile(r'^\{__name__="(\w+)"\}\[(\d+)ms\]$')
METRICS = ("kepler_container_bpf_cpu_time_ms_total", "kepler_container_bpf_page_cache_hit_total",
           "kepler_node_package_joules_total")


class Machine:
    """One CPU that rests, computes and mixes, for a quarter of a second to one each. `law` may be
    changed: (W at rest, W of a busy CPU); and `source`, the label of its meter, and `jobs`, which
    scrape its exporter."""

    source = "intel_rapl"
    jobs = ("kepler",)

    def __init__(self, seed=1, noise_w=0.02, start_s=START_S):
        self.start_s = start_s
        self.random = random.Random(seed)
        self.noise_w = noise_w
        self.law = (6.0, 8.0)
        self.at = [(0.0, 0.0, 0.0)]  # joules, ms of CPU time, hits of the page cache
        self.busy, self.hits, self.left = 0.0, 0.0, 0

    def run(self, seconds):
        for _ in range(round(seconds / STEP_S)):
            if self.left == 0:
                self.busy = self.random.choice([0, 0, 0.25, 0.5, 0.75, 1, 1])
                self.hits = self.busy * self.random.choice([100, 400])
                self.left = self.random.randrange(5, 20)
            self.left -= 1
            joules, busy_ms, hits = self.at[-1]
            watts = self.law[0] + self.law[1] * self.busy + self.random.gauss(0, self.noise_w)
            self.at.append((joules + watts * STEP_S, busy_ms + self.busy * STEP_S * 1000,
                            hits + self.hits * STEP_S))

    def end_s(self):
        return self.start_s + (len(self.at) - 1) * STEP_S

    def samples(self, metric, after_s, to_s):
        """(labels, samples) of each series, of which none is at or before after_s."""
        first = max(0, math.floor((after_s - self.start_s) / STEP_S) + 1)
        last = min(len(self.at) - 1, math.floor((to_s - self.start_s) / STEP_S + 1e-6))
        times = [(i, self.start_s + i * STEP_S) for i in range(first, last + 1)]
        for job in self.jobs:
            labels = {"__name__": metric, "instance": "teacher", "job": job}
            if metric == METRICS[2]:
                yield ({**labels, "mode": "dynamic", "source": self.source, "package": "0"},
                       [(t, self.at[i][0]) for i, t in times])
                yield ({**labels, "mode": "idle", "source": self.source, "package": "0"},
                       [(t, 0.0) for i, t in times])
            else:
                yield ({**labels, "container_id": "abc", "pod_name": "web",
                        "container_name": "app", "container_namespace": "shop"},
                       [(t, self.at[i][1 + METRICS.index(metric)]) for i, t in times])


class ScriptedPrometheus(Server):
    """`now_s` is its clock. `gaps` are times without samples. `faults` are ways to answer the
    next requests for samples instead of the right one."""

    def __init__(self, case, machine):
        self.machine = machine
        self.now_s = machine.end_s()
        self.gaps, self.faults = [], []
        self.more = {}  # members of an answer with samples
        self.down = False
        super().__init__(case, self.answer)

    @staticmethod
    def parse(request):
        url = urllib.parse.urlsplit(request.path)
        return url, {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}

    def answer(self, request):
        url, asked = self.parse(request)
        if self.down:
            reply(request, '{"status":"error","error":"down"}', 503)
        elif url.path.endswith("/label/__name__/values"):
            self.succeed(request, self.names())
        elif asked["query"] == "time()":
            self.succeed(request, {"resultType": "scalar",
                                   "result": [self.now_s, str(self.now_s)]})
        elif self.faults:
            self.faults.pop(0)(request)
        else:
            metric, range_ms = SELECTOR.match(asked["query"]).groups()
            to_s = float(asked["time"])
            self.succeed(request, {"resultType": "matrix", "result": list(
                self.matrix(metric, to_s - int(range_ms) / 1000, to_s))}, **self.more)

    def matrix(self, metric, from_s, to_s):
        # As Prometheus 2: both ends belong to a range.
        for labels, samples in self.machine.samples(metric, from_s - STEP_S / 2, to_s):
            kept = [[round(t, 3), str(v)] for t, v in samples if from_s <= round(t, 3) <= to_s and
                    not any(a <= t < b for a, b in self.gaps)]
            if kept:
                yield {"metric": labels, "values": kept}

    def names(self):
        return list(METRICS)

    @staticmethod
    def succeed(request, data, **more):
        reply(request, json.dumps({"status": "success", "data": data, **more}))


class RecordedPrometheus(ScriptedPrometheus):
    """Of a recording: {metric: [{"metric": labels, "values": samples}]}."""

    def __init__(self, case, recording, now_s):
        self.recording = recording
        machine = types.SimpleNamespace(end_s=lambda: now_s)
        super().__init__(case, machine)

    def names(self):
        return list(self.recording)

    def answer(self, request):
        url = urllib.parse.urlsplit(request.path)
        if not url.path.endswith("/query_range"):
            super().answer(request)
            return
        asked = {k: v[0] for k, v in urllib.parse.parse_qs(url.query).items()}
        metric = re.match(r'^\{__name__="(\w+)"\}$', asked["query"])[1]
        start_s, end_s, step_s = (float(asked[k]) for k in ("start", "end", "step"))
        steps = [start_s + i * step_s for i in range(int((end_s - start_s) / step_s) + 1)]
        self.succeed(request, {"resultType": "matrix", "result": [
            {"metric": s["metric"], "values": list(self.last_samples(s["values"], steps))}
            for s in self.matrix(metric, start_s - LOOKBACK_S, end_s)]})

    @staticmethod
    def last_samples(samples, steps):
        """At each step the last sample of five minutes."""
        at = [t for t, _ in samples]
        for t in steps:
            i = bisect.bisect_right(at, t) - 1
            if i >= 0 and t - at[i] < LOOKBACK_S:
                yield [t, samples[i][1]]

    def matrix(self, metric, from_s, to_s):
        for series in self.recording.get(metric, ()):
            kept = [[t, v] for t, v in series["values"] if from_s <= t <= to_s]
            if kept:
                yield {"metric": {"__name__": metric, **series["metric"]}, "values": kept}
