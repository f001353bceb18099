#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the Prometheus response of a simulated machine whose power law is known.

A machine runs containers that start, end and work in phases. What each does in a second
is drawn from a seeded generator; the power of the node follows from the sums over its
containers (rates a second):

    package  = 40 W + 30 W * cpu_instructions / 1e10 + 12 W * cpu_cycles / 1e10
    dram     =  5 W +  8 W * cache_miss / 1e8
    core     = package / 2                      uncore = 0 W
    platform = 35 W + 1.1 * (package + dram)

plus noise, uniform within --noise watts either side (platform's within twice that). Idle
and dynamic power are told apart as Kepler does, in two packages. One machine can be
written under the names of several exporters (--generation):

    0.6   bpf_cpu_time_us (in ms), no page cache metric, source "rapl", label "command"
    0.7   bpf_cpu_time_ms in ms, page cache metric, source "rapl-sysfs"
    0.10  processor seconds of processes and containers, energy by zone, no uncore
    node-exporter  processor seconds by CPU and mode, energy by RAPL zone, no uncore
    tallywatt      ours: processor seconds and counters of processes and containers,
                   the node's by mode, energy by zone and mode, no uncore

With --packages the machine has so many (of 0.6 and 0.7), each container is at home in
one of them and works in all, and a gauge tells what it uses of each
(kepler_container_cpu_usage_per_package_ratio). The law holds in each package for what is
done there; at rest it draws its part of the machine's idle power, the first one most.

The two before the last know nothing of instructions and cache misses. With --alike each second of
processor time has the same of both, so that the law holds by processor time alone, and
all of them tell it.

The same options give the same bytes. Only +, -, *, / and random() are used, so that no
other C library gives other bytes. --fault breaks the response in one way, for tests.
"""
import argparse
import json
import random
import sys

START_S = 1700000000
COUNTERS = ("cpu_cycles", "cpu_instructions", "cache_miss")
COMPONENTS = ("package", "core", "uncore", "dram")
IDLE_W = {"package": 40.0, "core": 20.0, "uncore": 0.0, "dram": 5.0, "platform": 84.5}
MAX_HZ = 2.6e9
CORES = 8


def power_w(rates):
    """The law: watts of each component from the node's rates a second."""
    package = 40.0 + 30.0 * rates["cpu_instructions"] / 1e10 \
        + 12.0 * rates["cpu_cycles"] / 1e10
    dram = 5.0 + 8.0 * rates["cache_miss"] / 1e8
    return {"package": package, "core": package / 2, "uncore": 0.0, "dram": dram,
            "platform": 35.0 + 1.1 * (package + dram)}


class Container:
    """Its rates in each interval, and its life: samples first..last."""

    def __init__(self, number, count, samples, rng):
        self.name = f"load-{number}"
        self.id = "%064x" % (rng.getrandbits(256))
        self.pod = f"{self.name}-{rng.getrandbits(20):05x}"
        self.first, self.last = 0, samples - 1
        # Half of those after the first two start late or end early.
        if number >= 2 and number % 2 == 0:
            self.first = samples // 5 + rng.randrange(samples // 5)
        elif number >= 2:
            self.last = samples - 1 - samples // 5 - rng.randrange(samples // 5)
        self.instructions_a_cycle = 0.5 + 2.0 * rng.random()
        self.misses_a_kilocycle = 0.5 + 8.0 * rng.random()
        self.share = 0.4 + 1.2 * rng.random() if count < 2 * CORES else 2 * CORES / count
        self.level = rng.random()
        self.left = 0

    def rates(self, rng, alike):
        """Of the next interval. The load stays at a level for some intervals."""
        if self.left == 0:
            self.left = 3 + rng.randrange(12)
            self.level = 0.0 if rng.random() < 0.15 else rng.random()
        self.left -= 1
        busy = self.level * self.share * (0.9 + 0.2 * rng.random())
        cycles = busy * MAX_HZ
        instructions = self.instructions_a_cycle * (0.8 + 0.4 * rng.random())
        misses = self.misses_a_kilocycle * (0.6 + 0.8 * rng.random())
        return {
            "cpu_cycles": cycles,
            "cpu_instructions": cycles * (1.5 if alike else instructions),
            "cache_miss": cycles / 1000 * (4.0 if alike else misses),
            "bpf_cpu_time": busy * 1000,
            "bpf_page_cache_hit": busy * 400 * rng.random(),
            "bpf_net_rx_irq": busy * 120 * rng.random(),
            "bpf_net_tx_irq": busy * 15 * rng.random(),
            "bpf_block_irq": busy * 30 * rng.random(),
        }


def idle_shares(packages):
    """Parts of the idle power: 0.6 and 0.4 of two packages."""
    weights = [packages + 1 - u for u in range(packages)]
    return [w / sum(weights) for w in weights]


class Packages:
    """Where the work of a machine is done, and what each package draws."""

    def __init__(self, count, containers, rng):
        self.count, self.rng = count, rng
        self.use = [[[0.0] * count] for _ in range(containers)]  # container, sample
        self.watts = []  # of each interval: component -> by package, as metered
        self.joules = {c: [[0.0] for _ in range(count)] for c in COMPONENTS}

    def place(self, number, busy_s):
        """Parts of a container's work by package; half of it at least at home."""
        home = 0.5 + 0.5 * self.rng.random()
        others = (1.0 - home) / (self.count - 1) if self.count > 1 else 0.0
        parts = [others] * self.count
        parts[number % self.count] = 1.0 - others * (self.count - 1)
        self.use[number].append([busy_s * part / CORES for part in parts])
        return parts

    def meter(self, done, noise, step_s):
        """done: the rates of each package; noise: of each component, in watts."""
        idle = power_w(dict.fromkeys(COUNTERS, 0.0))
        watts = {c: [] for c in COMPONENTS}
        for rates, share in zip(done, idle_shares(self.count)):
            law = power_w(rates)
            for component in COMPONENTS:
                watts[component].append(law[component] - idle[component] * (1.0 - share)
                                        + noise[component] * share)
        for component, series in self.joules.items():
            for total, w in zip(series, watts[component]):
                total.append(total[-1] + w * step_s)
        self.watts.append(watts)


class Machine:
    """The simulated run: times, counters of each container, joules, true watts."""

    def __init__(self, containers=4, samples=100, seed=1, noise_w=0.25, step_s=3,
                 name="simulated", alike=False, packages=None):
        rng = random.Random(seed)
        self.name, self.seed, self.alike = name, seed, alike
        self.times = [START_S + i * step_s for i in range(samples)]
        self.containers = [Container(i, containers, samples, rng)
                           for i in range(containers)]
        self.counters = [{} for _ in self.containers]
        self.joules = {c: [0.0] for c in (*COMPONENTS, "platform")}
        self.rates = []  # the node's, of each interval
        self.watts = []  # by the law, without the noise
        self.packages = Packages(packages, containers, random.Random(seed + 2000000)) \
            if packages else None
        for i in range(1, samples):
            node = self.run_interval(i, step_s, rng)
            self.rates.append(node)
            self.watts.append(power_w(node))
            self.meter(step_s, noise_w, rng)

    def run_interval(self, i, step_s, rng):
        """Let each container run from sample i - 1 to i; counters are whole numbers."""
        node = {}
        self.done = [dict.fromkeys(COUNTERS, 0.0)
                     for _ in range(self.packages.count if self.packages else 0)]
        for number, (c, counters) in enumerate(zip(self.containers, self.counters)):
            alive = c.first < i <= c.last
            rates = c.rates(rng, self.alike)
            parts = self.packages.place(
                number, rates["bpf_cpu_time"] / 1000 if alive else 0.0) \
                if self.packages else ()
            for name, rate in rates.items():
                # A container's first sample is at its start: nothing counted yet.
                series = counters.setdefault(name, [0])
                scale = 1000 if name == "bpf_cpu_time" else 1
                step = int(rate * step_s * scale) if alive else 0
                if alive:
                    series.append(series[-1] + step)
                node[name] = node.get(name, 0.0) + step / scale / step_s
                for done, part in zip(self.done, parts):
                    done[name] = done.get(name, 0.0) + step / step_s * part
        return node

    def meter(self, step_s, noise_w, rng):
        noises = {}
        for component, series in self.joules.items():
            wide = 2 if component == "platform" else 1
            noise = noise_w * wide * (2 * rng.random() - 1)
            watts = self.watts[-1][component]
            noises[component] = noise if watts else 0.0
            series.append(series[-1] + (max(watts + noise, 0.0) if watts else 0.0) * step_s)
        if self.packages:
            self.packages.meter(self.done, noises, step_s)

    def joules_by_package(self, component):
        """Package label, or None -> joules at each time, and the idle part of watts."""
        total, idle_w = self.joules[component], IDLE_W[component] * 0.9
        if component == "platform":
            return {None: (total, idle_w)}
        if self.packages:
            return {str(u): (joules, idle_w * share) for u, (joules, share) in enumerate(
                zip(self.packages.joules[component], idle_shares(self.packages.count)))}
        return {u: ([v / 2 for v in total], idle_w / 2) for u in ("0", "1")}


def common_labels(machine, name):
    return {"__name__": name, "container": "kepler-exporter", "endpoint": "http",
            "instance": machine.name, "job": "kepler-exporter", "namespace": "kepler",
            "service": "kepler-exporter"}


def usage_series(machine, generation):
    """Metric -> series of what the containers used."""
    names = [*COUNTERS, "bpf_cpu_time", "bpf_net_rx_irq", "bpf_net_tx_irq",
             "bpf_block_irq"]
    if generation == "0.7":
        names.append("bpf_page_cache_hit")
    response = {}
    for name in sorted(names):
        metric = name
        if name == "bpf_cpu_time":
            metric = "bpf_cpu_time_us" if generation == "0.6" else "bpf_cpu_time_ms"
        metric = f"kepler_container_{metric}_total"
        response[metric] = series = []
        for c, counters in zip(machine.containers, machine.counters):
            labels = common_labels(machine, metric)
            labels.update(container_id=c.id, container_name=c.name,
                          container_namespace="default", pod_name=c.pod)
            if generation == "0.6":
                labels["command"] = c.name
            values = counters[name]
            if "_cpu_time_" in metric:
                values = [f"{v / 1000:.3f}" for v in values]
            series.append({"metric": labels, "values": [
                [t, str(v)] for t, v in zip(machine.times[c.first:], values)]})
    return response


def energy_series(machine, generation):
    """Metric -> series of the node's meters: by package and mode, in joules."""
    response = {}
    for component in machine.joules:
        metric = f"kepler_node_{component}_joules_total"
        rapl = "rapl" if generation == "0.6" else "rapl-sysfs"
        response[metric] = series = []
        for mode in ("dynamic", "idle"):
            for package, (total, idle_w) in machine.joules_by_package(component).items():
                labels = common_labels(machine, metric)
                labels.update(exported_instance=machine.name, mode=mode,
                              source=rapl if package else "acpi")
                if package:
                    labels["package"] = package
                values = []
                for t, joules in zip(machine.times, total):
                    idle = min(idle_w * (t - START_S), joules)
                    part = idle if mode == "idle" else joules - idle
                    values.append([t, f"{part:.3f}"])
                series.append({"metric": labels, "values": values})
    return response


PACKAGE_USE = "kepler_container_cpu_usage_per_package_ratio"


def package_use_series(machine):
    """What each container used of each package in the interval before."""
    for c, use in zip(machine.containers, machine.packages.use):
        for u in range(machine.packages.count):
            labels = common_labels(machine, PACKAGE_USE)
            labels.update(container_id=c.id, container_name=c.name, pkg_id=str(u),
                          container_namespace="default", pod_name=c.pod)
            yield {"metric": labels, "values": [
                [t, f"{at[u]:.9f}"] for t, at in zip(machine.times[c.first:c.last + 1],
                                                     use[c.first:c.last + 1])]}


# ---- Kepler 0.10 and node_exporter ------------------------------------------

def zone_series(machine, metric, zone_labels, shares=(0.5, 0.5)):
    """Series of each zone and package: joules since the start."""
    for component in ("package", "core", "dram"):
        for package, share in enumerate(shares):
            yield {"metric": {"__name__": metric(component),
                              **zone_labels(component, package)},
                   "values": [[t, f"{joules * share:.3f}"] for t, joules
                              in zip(machine.times, machine.joules[component])]}


def platform_gauge(machine, labels):
    """What the platform draws at each time: of the interval before it."""
    joules = machine.joules["platform"]
    step_s = machine.times[1] - machine.times[0]
    watts = [(b - a) / step_s for a, b in zip(joules, joules[1:])]
    return {"metric": labels, "values": [[t, f"{w:.3f}"] for t, w
                                         in zip(machine.times, [watts[0], *watts])]}


def kepler_response(machine):
    """Kepler 0.10: a container is one process, which both metrics show."""
    response = {"kepler_process_cpu_seconds_total": [],
                "kepler_container_cpu_seconds_total": []}
    common = {"instance": "10.0.0.1:28282", "job": "kepler", "node_name": machine.name}
    for number, (c, counters) in enumerate(zip(machine.containers, machine.counters)):
        values = [[t, f"{v / 1e6:.2f}"] for t, v
                  in zip(machine.times[c.first:], counters["bpf_cpu_time"])]
        response["kepler_process_cpu_seconds_total"].append({"metric": {
            **common, "pid": str(1000 + number), "comm": c.name, "exe": f"/bin/{c.name}",
            "type": "container", "container_id": c.id, "vm_id": ""}, "values": values})
        response["kepler_container_cpu_seconds_total"].append({"metric": {
            **common, "container_id": c.id, "container_name": c.name,
            "runtime": "containerd", "state": "running", "pod_id": c.pod},
            "values": values})
    name = "kepler_node_cpu_joules_total"
    response[name] = list(zone_series(machine, lambda _: name, lambda zone, package: {
        **common, "zone": zone, "path": f"/sys/class/powercap/intel-rapl:{package}"}))
    response[name].append({
        "metric": {**common, "zone": "psys", "path": "/sys/class/powercap/intel-rapl:2"},
        "values": [[t, f"{v:.3f}"] for t, v
                   in zip(machine.times, machine.joules["platform"])]})
    response["kepler_platform_watts"] = [platform_gauge(machine, {
        **common, "source": "redfish", "bmc_id": "bmc-0", "chassis_id": "1"})]
    return response


def node_totals(machine, rng):
    """What the node's processors did until each time: joined counters, seconds by mode."""
    modes = dict.fromkeys(("user", "system", "softirq", "irq", "nice"), 0.0)
    other = dict.fromkeys(("switches", "interrupts", "faults"), 0)
    step_s = machine.times[1] - machine.times[0]
    yield dict(modes), dict(other)
    for rates in machine.rates:
        busy = rates["bpf_cpu_time"] / 1000
        share = {"user": 0.6 + 0.3 * rng.random(), "softirq": 0.02 * rng.random(),
                 "irq": 0.01 * rng.random(), "nice": 0.03 * rng.random()}
        share["system"] = 1.0 - sum(share.values())
        for mode, part in share.items():
            modes[mode] += busy * part * step_s
        other["switches"] += int((200 + 900 * busy * rng.random()) * step_s)
        other["interrupts"] += int((400 + 500 * busy * rng.random()) * step_s)
        other["faults"] += int((50 + 3000 * busy * rng.random()) * step_s)
        yield dict(modes), dict(other)


def cpu_series(machine, totals, common):
    """Each CPU does its part of each mode; what is left is idle."""
    for cpu in range(CORES):
        for mode in (*totals[0][0], "idle"):
            values = []
            for t, (modes, _) in zip(machine.times, totals):
                seconds = modes[mode] if mode != "idle" \
                    else CORES * (t - START_S) - sum(modes.values())
                values.append([t, f"{seconds / CORES:.2f}"])
            yield {"metric": {**common, "cpu": str(cpu), "mode": mode}, "values": values}


def node_exporter_response(machine):
    common = {"instance": machine.name, "job": "node-exporter"}
    rng = random.Random(machine.seed + 1000000)
    totals = list(node_totals(machine, rng))
    response = {"node_cpu_seconds_total": list(cpu_series(machine, totals, common))}
    for metric, what in (("node_context_switches_total", "switches"),
                         ("node_intr_total", "interrupts"),
                         ("node_vmstat_pgfault", "faults")):
        response[metric] = [{"metric": common, "values": [
            [t, str(other[what])] for t, (_, other) in zip(machine.times, totals)]}]
    response["node_cpu_scaling_frequency_hertz"] = [
        {"metric": {**common, "cpu": str(cpu)}, "values": [
            [t, str(1200000000 + 100000000 * rng.randrange(15))] for t in machine.times]}
        for cpu in range(2)]
    for series in zone_series(machine, lambda zone: f"node_rapl_{zone}_joules_total",
                              lambda _, package: {**common, "index": str(package)}):
        response.setdefault(series["metric"].pop("__name__"), []).append(series)
    response["node_hwmon_power_average_watt"] = [
        platform_gauge(machine, {**common, "chip": "lnxsybus:00_acpi000d:00",
                                 "sensor": "power1"}),
        {"metric": {**common, "chip": "0000:03:00_0", "sensor": "power1"},
         "values": [[t, "9"] for t in machine.times]}]
    return response


def workload_series(machine, common):
    """Ours: a container is one process, which both levels show."""
    response = {}
    metrics = (("cpu_seconds", "bpf_cpu_time", 1e6, "{:.3f}"),
               ("cpu_cycles", "cpu_cycles", 1, "{:.0f}"),
               ("cpu_instructions", "cpu_instructions", 1, "{:.0f}"),
               ("cache_misses", "cache_miss", 1, "{:.0f}"))
    for number, (c, counters) in enumerate(zip(machine.containers, machine.counters)):
        levels = {"process": {"pid": str(1000 + number), "comm": c.name,
                              "container_id": c.id},
                  "container": {"container_id": c.id, "container_name": c.name,
                                "pod_name": c.pod, "namespace": "default"}}
        for metric, counter, scale, form in metrics:
            values = [[t, form.format(v / scale)] for t, v
                      in zip(machine.times[c.first:], counters[counter])]
            for level, labels in levels.items():
                response.setdefault(f"tallywatt_{level}_{metric}_total", []).append(
                    {"metric": {**common, **labels}, "values": values})
    return response


def zone_modes(machine, common):
    """Ours: joules of each zone, by package and mode; the platform's by its meter."""
    for zone, joules in machine.joules.items():
        whole = zone == "platform"
        for package in (0, 1) if not whole else (None,):
            for mode in ("dynamic", "idle"):
                labels = {**common, "zone": zone, "mode": mode,
                          "source": "redfish" if whole else "rapl-sysfs"}
                if not whole:
                    labels["path"] = f"intel-rapl:{package}"
                values = []
                for t, total in zip(machine.times, joules):
                    idle = min(IDLE_W[zone] * 0.9 * (t - START_S), total)
                    part = idle if mode == "idle" else total - idle
                    values.append([t, f"{part / (1 if whole else 2):.3f}"])
                if zone != "uncore":
                    yield {"metric": labels, "values": values}


def tallywatt_response(machine):
    common = {"instance": f"{machine.name}:9103", "job": "tallywatt",
              "node_name": machine.name}
    rng = random.Random(machine.seed + 1000000)
    totals = list(node_totals(machine, rng))
    response = workload_series(machine, common)
    response["tallywatt_node_energy_joules_total"] = list(zone_modes(machine, common))
    response["tallywatt_node_cpu_seconds_total"] = [
        {"metric": {**common, "mode": mode}, "values": [
            [t, f"{modes[mode]:.3f}"] for t, (modes, _) in zip(machine.times, totals)]}
        for mode in totals[0][0]]
    for metric, what in (("context_switches", "switches"), ("interrupts", "interrupts"),
                         ("page_faults", "faults")):
        response[f"tallywatt_node_{metric}_total"] = [{"metric": common, "values": [
            [t, str(other[what])] for t, (_, other) in zip(machine.times, totals)]}]
    response["tallywatt_node_cpu_frequency_hertz"] = [
        {"metric": {**common, "cpu": str(cpu)}, "values": [
            [t, str(1200000000 + 100000000 * rng.randrange(15))] for t in machine.times]}
        for cpu in range(2)]
    return response


def add_thirdparty(machine, response):
    """What another exporter tells: of containers, of fans and of disks."""
    common = {"instance": machine.name, "job": "other"}
    response["other_memory_bytes"] = [
        {"metric": {**common, "container_id": c.id, "container_name": c.name,
                    "container_namespace": "default", "pod_name": c.pod},
         "values": [[t, str(1000000 * (1 + i))] for i, t
                    in enumerate(machine.times[c.first:c.last + 1])]}
        for c in machine.containers]
    response["other_fan_rpm"] = [
        {"metric": {**common, "fan": str(fan)},
         "values": [[t, str(1000 + 10 * (i % 7) + fan)] for i, t in enumerate(machine.times)]}
        for fan in range(2)]
    response["other_io_bytes_total"] = [
        {"metric": {**common, "device": device},
         "values": [[t, str(4096 * i)] for i, t in enumerate(machine.times)]}
        for device in ("sda", "sdb")]
    return response


def make_response(machine, generation="0.7"):
    if generation == "0.10":
        return dict(sorted(kepler_response(machine).items()))
    if generation == "node-exporter":
        return dict(sorted(node_exporter_response(machine).items()))
    if generation == "tallywatt":
        return dict(sorted(tallywatt_response(machine).items()))
    response = {**usage_series(machine, generation), **energy_series(machine, generation)}
    if machine.packages:
        response[PACKAGE_USE] = list(package_use_series(machine))
    info = common_labels(machine, "kepler_node_info")
    info["cpu_architecture"] = "Simulated"
    response["kepler_node_info"] = [{"metric": info,
                                     "values": [[t, "1"] for t in machine.times]}]
    return dict(sorted(response.items()))


# ---- faults ----------------------------------------------------------------

def cpu_instructions(response):
    """The samples that most faults change: of the first container, a counter."""
    return response["kepler_container_cpu_instructions_total"][0]["values"]


def fault_disorder(response):
    values = cpu_instructions(response)
    values[10], values[11] = values[11], values[10]


def fault_repeat(response):
    values = cpu_instructions(response)
    values.insert(10, list(values[10]))


def fault_nan(response):
    cpu_instructions(response)[10][1] = "NaN"


def fault_inf(response):
    cpu_instructions(response)[10][1] = "+Inf"


def fault_negative(response):
    cpu_instructions(response)[10][1] = "-5"


def fault_text(response):
    cpu_instructions(response)[10][1] = "many"


def fault_reset(response):
    """The exporter is restarted: all counters of a metric fall."""
    for series in response["kepler_container_cpu_instructions_total"]:
        later = [s for s in series["values"] if s[0] >= START_S + 60]
        offset = int(later[0][1]) if later else 0
        for sample in later:
            sample[1] = str(int(sample[1]) - offset)


def fault_energy_reset(response):
    for series in response["kepler_node_package_joules_total"]:
        offset = float(series["values"][20][1])
        for sample in series["values"][20:]:
            sample[1] = f"{float(sample[1]) - offset:.3f}"


def fault_no_usage(response):
    for name in list(response):
        if name.startswith("kepler_container_"):
            del response[name]


def fault_no_energy(response):
    for name in list(response):
        if name.endswith("_joules_total"):
            del response[name]


def fault_empty_series(response):
    response["kepler_container_cpu_instructions_total"] = []


def fault_no_common_time(response):
    for name, series in response.items():
        if name.startswith("kepler_container_"):
            for s in series:
                for sample in s["values"]:
                    sample[0] += 1000000


FAULTS = {name[len("fault_"):].replace("_", "-"): f
          for name, f in sorted(globals().items()) if name.startswith("fault_")}


def to_text(response):
    """One series a line: readable with a pager, and with differences that show."""
    lines = []
    for metric, series in response.items():
        texts = ",\n".join(json.dumps(s, separators=(",", ":")) for s in series)
        lines.append(f"{json.dumps(metric)}:[\n{texts}]")
    return "{\n" + ",\n".join(lines) + "}\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generation", default="0.7",
                        choices=("0.6", "0.7", "0.10", "node-exporter", "tallywatt"))
    parser.add_argument("--containers", type=int, default=4, metavar="N")
    parser.add_argument("--samples", type=int, default=100, metavar="N")
    parser.add_argument("--step", type=int, default=3, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--noise", type=float, default=0.25, metavar="WATTS")
    parser.add_argument("--name", default="simulated", help="of the machine")
    parser.add_argument("--alike", action="store_true",
                        help="a second of processor time is the same work everywhere")
    parser.add_argument("--packages", type=int, metavar="N",
                        help="of a legacy generation: tell what is used of each")
    parser.add_argument("--fault", choices=sorted(FAULTS),
                        help="of a legacy generation")
    args = parser.parse_args()
    if args.containers < 1 or args.samples < 30 or args.step < 1:
        parser.error("want 1 container, 30 samples, a step of 1 s at least")
    if args.packages is not None and (args.packages < 1 or
                                      args.generation not in ("0.6", "0.7")):
        parser.error("--packages wants 1 at least, and --generation 0.6 or 0.7")
    response = make_response(Machine(args.containers, args.samples, args.seed, args.noise,
                                     args.step, args.name, args.alike, args.packages),
                             args.generation)
    if args.fault and args.generation not in ("0.6", "0.7"):
        parser.error("--fault wants --generation 0.6 or 0.7")
    if args.fault:
        FAULTS[args.fault](response)
    sys.stdout.write(to_text(response))


if __name__ == "__main__":
    main()
