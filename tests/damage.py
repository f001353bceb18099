# SPDX-License-Identifier: Apache-2.0
"""A recording of a machine with a known law, by several exporters, and ways to damage it.

The law: 30 W and 20 W a busy CPU. A recording is {metric: [{"metric": labels, "values": samples}]}.
Each damage has a random place and size, and returns the damaged recording.
"""
import bisect
import itertools
import random

START_S = 1700000000
WATTS_REST, WATTS_CPU = 30, 20
RAPL = "/sys/class/powercap/intel-rapl:0"
TARGET = {"instance": "10.1.1.1:9100", "job": "node"}


class Machine:
    """Processes of one thread each, whose load changes from time to time. `step_s` apart."""

    def __init__(self, rng, count=300, step_s=5, processes=3):
        self.times, self.cpu_s, self.joules, self.watts = [], [], [], []
        cpu_s = [rng.uniform(1e4, 9e4) for _ in range(processes)]
        joules, busy, level, left = rng.uniform(1e5, 9e5), 0, 0, 0
        for i in range(count):
            self.times.append(START_S + i * step_s)
            self.cpu_s.append(list(cpu_s))
            self.joules.append(joules)
            self.watts.append(WATTS_REST + WATTS_CPU * busy)
            if left == 0:
                level, left = rng.choice((0, 0.2, 0.5, 0.9)), rng.randrange(8, 25)
            left -= 1
            used = [level * rng.uniform(0.8, 1) for _ in cpu_s]
            busy = sum(used)
            cpu_s = [c + u * step_s for c, u in zip(cpu_s, used)]
            joules += (WATTS_REST + WATTS_CPU * busy) * step_s

    def series(self, labels, values):
        return {"metric": {**TARGET, **labels},
                "values": [[t, repr(round(v, 4))] for t, v in zip(self.times, values)]}

    def by_process(self, labels, factor=1):
        return [self.series(labels(k), [c[k] * factor for c in self.cpu_s])
                for k in range(len(self.cpu_s[0]))]


def kepler(m):
    return {"kepler_process_cpu_seconds_total": m.by_process(
                lambda k: {"pid": str(100 + k), "comm": "app"}),
            "kepler_node_cpu_joules_total": [m.series({"zone": "package", "path": RAPL}, m.joules)]}


def kepler_gauge(m):
    return {"kepler_process_cpu_seconds_total": kepler(m)["kepler_process_cpu_seconds_total"],
            "kepler_platform_watts": [m.series({"source": "redfish", "bmc_id": "1"}, m.watts)]}


def kepler_legacy(m):
    return {"kepler_container_bpf_cpu_time_ms_total": m.by_process(
                lambda k: {"container_id": f"c{k}", "pod_name": "p", "container_name": "m",
                           "container_namespace": "d"}, 1000),
            "kepler_node_package_joules_total": [
                m.series({"mode": "dynamic", "package": "0", "source": "rapl-sysfs"}, m.joules)]}


def node_exporter(m):
    sums = [sum(c) for c in m.cpu_s]
    cpu = []
    for k in range(len(m.cpu_s[0])):
        busy = [c[k] for c in m.cpu_s]
        spans = [t - START_S for t in m.times]
        cpu.append(m.series({"cpu": str(k), "mode": "user"}, busy))
        cpu.append(m.series({"cpu": str(k), "mode": "idle"},
                            [1e6 + s - b for s, b in zip(spans, busy)]))
        cpu += [m.series({"cpu": str(k), "mode": mode}, [100] * len(busy))
                for mode in ("nice", "system", "irq", "softirq", "iowait", "steal")]
    return {"node_cpu_seconds_total": cpu,
            "node_context_switches_total": [m.series({}, [1e9 + 100 * s for s in sums])],
            "node_intr_total": [m.series({}, [1e9 + 50 * s for s in sums])],
            "node_vmstat_pgfault": [m.series({}, [1e9 + 10 * s for s in sums])],
            "node_rapl_package_joules_total": [
                m.series({"index": "0", "path": "/host" + RAPL}, m.joules)]}


def tallywatt(m):
    return {"tallywatt_process_cpu_seconds_total": m.by_process(lambda k: {"pid": str(100 + k)}),
            "tallywatt_node_energy_joules_total": [
                m.series({"zone": "package", "source": "rapl-sysfs", "path": RAPL}, m.joules)]}


# Name: recording, feature group, energy source.
SCHEMAS = {"kepler": (kepler, "BPFOnly", "rapl-sysfs"),
           "kepler-gauge": (kepler_gauge, "BPFOnly", "redfish"),
           "kepler-legacy": (kepler_legacy, "BPFOnly", "rapl-sysfs"),
           "node-exporter": (node_exporter, "NodeCPU", "rapl-sysfs"),
           "tallywatt": (tallywatt, "BPFOnly", "rapl-sysfs")}


# ---- damage ----

def is_power(metric):
    return "joules" in metric or "watts" in metric


def pick(recording, power):
    """A series of the meter, or of work that moves."""
    return [s for metric, series in recording.items() for s in series
            if is_power(metric) == power and s["values"][0][1] != s["values"][-1][1]
            and s["metric"].get("mode") != "idle"]


def change(series, at, by):
    series["values"] = [[t, repr(by(float(v), i)) if i >= at else v]
                        for i, (t, v) in enumerate(series["values"])]


def hold(recording, rng, metrics, count):
    """Samples repeat the first of them."""
    at = rng.randrange(20, 250 - count)
    for metric, series in recording.items():
        for s in series if metrics(metric) else ():
            held = s["values"][at][1]
            s["values"] = [[t, held if at <= i < at + count else v]
                           for i, (t, v) in enumerate(s["values"])]


def again(recording, metrics=lambda metric: True, **labels):
    for metric, series in recording.items():
        if metrics(metric):
            series += [{"metric": {**s["metric"], **labels}, "values": [list(v) for v in s["values"]]}
                       for s in series]


def spike(recording, rng):
    series, at = rng.choice(pick(recording, True)), rng.randrange(20, 280)
    gauge = "source" in series["metric"] and "bmc_id" in series["metric"]
    size = rng.choice((65535, 2 ** 32 - 1, 3e5, 2000)) if gauge else rng.choice(
        (262143.328, 1.5e6, 1.8446744e13, 10000))
    change(series, at, lambda v, i: size if gauge and i == at else v if gauge else v + size)


def zero(recording, rng):
    """A gauge reads 0, or its lowest value, for some samples; a counter stands."""
    series, at = rng.choice(pick(recording, True)), rng.randrange(20, 280)
    count, held = rng.randrange(1, 4), series["values"][at][1]
    gauge = "bmc_id" in series["metric"]
    change(series, at, lambda v, i: v if i >= at + count else 0.0 if gauge else float(held))


def twin(recording, rng):
    again(recording, job=rng.choice(("pods", "kubernetes-service-endpoints")),
          pod=f"x{rng.randrange(99)}")


def replaced(recording, rng):
    """The exporter has a new pod; the server repeats the old one's samples for a while."""
    at, stale = rng.randrange(50, 250), rng.randrange(1, 50)
    for series in recording.values():
        for s in list(series):
            old, new = s["values"][:at], s["values"][at:]
            series.append({"metric": {**s["metric"], "pod": "new"}, "values": new})
            s["metric"] = {**s["metric"], "pod": "old"}
            s["values"] = old + [[t, old[-1][1]] for t, _ in new[:stale]]


def outage(recording, rng):
    hold(recording, rng, lambda metric: True, rng.randrange(2, 60))


def no_samples(recording, rng):
    at, count = rng.randrange(20, 200), rng.randrange(2, 60)
    for series in recording.values():
        for s in series:
            del s["values"][at:at + count]


def frozen_work(recording, rng):
    hold(recording, rng, lambda metric: not is_power(metric), rng.randrange(6, 60))


def frozen_meter(recording, rng):
    hold(recording, rng, is_power, rng.randrange(6, 60))


def renamed(recording, rng):
    """At exec a process has another name; the old series goes on for some samples."""
    at, more = rng.randrange(50, 250), rng.randrange(0, 8)
    for metric, series in recording.items():
        for s in list(series) if not is_power(metric) else ():
            series.append({"metric": {**s["metric"], "comm": "renamed", "command": "renamed"},
                           "values": s["values"][at:]})
            s["values"] = s["values"][:at + more]
            return


def dip(recording, rng):
    series, at = rng.choice(pick(recording, rng.random() < 0.5)), rng.randrange(20, 280)
    if "bmc_id" in series["metric"]:
        return
    low = float(series["values"][at - 1][1]) - rng.choice((0.001, 0.01, 1))
    change(series, at, lambda v, i: low if i == at else v)


def late_process(recording, rng):
    """A small process with a large total, which the exporter did not show before."""
    metric = next(m for m in recording if not is_power(m))
    series = recording[metric]
    if metric.startswith("node_"):
        return
    labels = {k: "999" if k in ("pid", "container_id") else v for k, v in series[0]["metric"].items()}
    at, total = rng.randrange(20, 280), rng.uniform(100, 1e6)
    series.append({"metric": labels, "values": [[t, repr(total)]
                                                for t, _ in series[0]["values"][at:]]})


def old_process(recording, rng):
    """A process that works from the start, and that the exporter does not show at first."""
    metric = next(m for m in recording if not is_power(m))
    if not metric.startswith("node_"):
        del rng.choice(recording[metric])["values"][:rng.randrange(20, 280)]


def jump(recording, rng):
    """A counter of work has a wrong step."""
    series, at = rng.choice(pick(recording, False)), rng.randrange(20, 280)
    size = float(series["values"][-1][1]) * rng.uniform(0.1, 3)
    change(series, at, lambda v, i: v + size)


def query_each(recording, step):
    """The recording's samples at each step, as a range query has them."""
    for series in recording.values():
        for s in series:
            at = [t for t, _ in s["values"]]
            s["values"] = [[t, s["values"][bisect.bisect_right(at, t) - 1][1]]
                           for t in range(at[0], at[-1], step)]


def other_step(recording, rng):
    """A range query whose step does not divide the scrape interval of 5 s, and is not a multiple."""
    query_each(recording, rng.choice((2, 3, 4, 6, 7, 8, 12)))


def slow_meter(recording, rng):
    """The meter is read each 15 s, or the query has such a step. A gauge has 3 % noise, and shows
    an instant: the work of 15 s has the power of the last 5 s."""
    at, by_query = rng.randrange(3), rng.random() < 0.5
    for metric, series in recording.items():
        for s in series:
            v = s["values"]
            if "bmc_id" in s["metric"]:
                v = [[t, repr(round(float(w) * rng.gauss(1, 0.03), 2))] for t, w in v]
            if by_query:
                v = v[at::3]
            elif is_power(metric):
                v = [[t, v[max(at + (i - at) // 3 * 3, 0)][1]] for i, (t, _) in enumerate(v)]
            s["values"] = v


def other_readings(series, by):
    """The readings of a gauge, or the increments of a counter, are those that `by` makes of all."""
    v = [float(w) for _, w in series["values"]]
    if "bmc_id" in series["metric"]:
        read = by(v)
    else:
        read = itertools.accumulate(by([b - a for a, b in zip(v, v[1:])]), initial=v[0])
    series["values"] = [[t, repr(round(w, 4))] for (t, _), w in zip(series["values"], read)]


def inert_meter(recording, rng):
    """The meter shows the power of some time ago, a mean of some time, or an exponential mean."""
    rows, share, kind = rng.choice((2, 4, 6, 12, 24)), rng.choice((0.1, 0.2, 0.3)), rng.randrange(3)

    def read(v):
        if kind == 0:
            return v[:1] * rows + v[:-rows]
        if kind == 1:
            return [sum(w) / len(w) for w in (v[max(i - rows, 0):i + 1] for i in range(len(v)))]
        return list(itertools.accumulate(v, lambda mean, w: mean + share * (w - mean)))

    for series in pick(recording, True):
        other_readings(series, read)


def other_unit(recording, rng):
    """A rule records milliwatts, kilowatts or milliseconds under the name of another unit."""
    power, factor = rng.random() < 0.5, rng.choice((1e-3, 1e3, 1e6))
    if "node_cpu_seconds_total" in recording:
        power = True  # without its CPU time a node has other counters
    for series in pick(recording, power):
        change(series, 0, lambda v, i: v * factor)


def two_paths(recording, rng):
    """intel-rapl-mmio shows the meter of intel-rapl, from another total on."""
    total = rng.uniform(10, 1e6)
    for metric in [m for m in recording if is_power(m)]:
        for s in [s for s in recording[metric] if "path" in s["metric"]]:
            path = s["metric"]["path"].replace("intel-rapl:", "intel-rapl-mmio:")
            recording[metric].append({"metric": {**s["metric"], "path": path}, "values": [
                [t, repr(float(v) + total)] for t, v in s["values"]]})


def two_clusters(recording, rng):
    """A server of servers has two machines of one name, whose clocks may be apart."""
    late_s, total = rng.choice((0, 2, 30)), rng.uniform(1e5, 1e6)
    for series in recording.values():
        for s in list(series):
            other = {"metric": {**s["metric"], "cluster": "b"}, "values": s["values"]}
            other_readings(other, lambda v: v[::-1])
            more = 0 if "bmc_id" in s["metric"] else total
            other["values"] = [[t + late_s, repr(float(v) + more)] for t, v in other["values"]]
            s["metric"]["cluster"] = "a"
            series.append(other)


DAMAGES = (spike, zero, twin, replaced, outage, no_samples, frozen_work, frozen_meter, renamed, dip,
           late_process, old_process, jump, other_step, slow_meter, inert_meter, other_unit,
           two_paths, two_clusters)
# Of these no model can be right.
HOPELESS = (other_step, other_unit, two_clusters)


def damaged(schema, damage, seed):
    rng = random.Random(f"{schema} {damage.__name__} {seed}")
    recording = SCHEMAS[schema][0](Machine(rng))
    damage(recording, rng)
    return recording
