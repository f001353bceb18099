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
and dynamic power are told apart as Kepler does, in two packages. Both generations of
Kepler's legacy names can be written:

    0.6   bpf_cpu_time_us in us, no page cache metric, source "rapl", label "command"
    0.7   bpf_cpu_time_ms in ms, page cache metric, source "rapl-sysfs"

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

    def rates(self, rng):
        """Of the next interval. The load stays at a level for some intervals."""
        if self.left == 0:
            self.left = 3 + rng.randrange(12)
            self.level = 0.0 if rng.random() < 0.15 else rng.random()
        self.left -= 1
        busy = self.level * self.share * (0.9 + 0.2 * rng.random())
        cycles = busy * MAX_HZ
        return {
            "cpu_cycles": cycles,
            "cpu_instructions": cycles * self.instructions_a_cycle
            * (0.8 + 0.4 * rng.random()),
            "cache_miss": cycles / 1000 * self.misses_a_kilocycle
            * (0.6 + 0.8 * rng.random()),
            "bpf_cpu_time": busy * 1000,
            "bpf_page_cache_hit": busy * 400 * rng.random(),
            "bpf_net_rx_irq": busy * 120 * rng.random(),
            "bpf_net_tx_irq": busy * 15 * rng.random(),
            "bpf_block_irq": busy * 30 * rng.random(),
        }


class Machine:
    """The simulated run: times, counters of each container, joules, true watts."""

    def __init__(self, containers=4, samples=100, seed=1, noise_w=0.25, step_s=3):
        rng = random.Random(seed)
        self.times = [START_S + i * step_s for i in range(samples)]
        self.containers = [Container(i, containers, samples, rng)
                           for i in range(containers)]
        self.counters = [{} for _ in self.containers]
        self.joules = {c: [0.0] for c in (*COMPONENTS, "platform")}
        self.rates = []  # the node's, of each interval
        self.watts = []  # by the law, without the noise
        for i in range(1, samples):
            node = self.run_interval(i, step_s, rng)
            self.rates.append(node)
            self.watts.append(power_w(node))
            self.meter(step_s, noise_w, rng)

    def run_interval(self, i, step_s, rng):
        """Let each container run from sample i - 1 to i; counters are whole numbers."""
        node = {}
        for c, counters in zip(self.containers, self.counters):
            alive = c.first < i <= c.last
            for name, rate in c.rates(rng).items():
                # A container's first sample is at its start: nothing counted yet.
                series = counters.setdefault(name, [0])
                scale = 1000 if name == "bpf_cpu_time" else 1
                step = int(rate * step_s * scale) if alive else 0
                if alive:
                    series.append(series[-1] + step)
                node[name] = node.get(name, 0.0) + step / scale / step_s
        return node

    def meter(self, step_s, noise_w, rng):
        for component, series in self.joules.items():
            wide = 2 if component == "platform" else 1
            noise = noise_w * wide * (2 * rng.random() - 1)
            watts = self.watts[-1][component]
            series.append(series[-1] + (max(watts + noise, 0.0) if watts else 0.0) * step_s)


def common_labels(name):
    return {"__name__": name, "container": "kepler-exporter", "endpoint": "http",
            "instance": "simulated", "job": "kepler-exporter", "namespace": "kepler",
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
            labels = common_labels(metric)
            labels.update(container_id=c.id, container_name=c.name,
                          container_namespace="default", pod_name=c.pod)
            if generation == "0.6":
                labels["command"] = c.name
            values = counters[name]
            if metric.endswith("_ms_total"):
                values = [f"{v / 1000:.3f}" for v in values]
            series.append({"metric": labels, "values": [
                [t, str(v)] for t, v in zip(machine.times[c.first:], values)]})
    return response


def energy_series(machine, generation):
    """Metric -> series of the node's meters: by package and mode, in joules."""
    response = {}
    for component, total in machine.joules.items():
        metric = f"kepler_node_{component}_joules_total"
        rapl = "rapl" if generation == "0.6" else "rapl-sysfs"
        packages = ["0", "1"] if component != "platform" else [None]
        response[metric] = series = []
        for mode in ("dynamic", "idle"):
            for package in packages:
                labels = common_labels(metric)
                labels.update(exported_instance="simulated", mode=mode,
                              source=rapl if package else "acpi")
                if package:
                    labels["package"] = package
                values = []
                for t, joules in zip(machine.times, total):
                    idle = min(IDLE_W[component] * 0.9 * (t - START_S), joules)
                    part = idle if mode == "idle" else joules - idle
                    values.append([t, f"{part / len(packages):.3f}"])
                series.append({"metric": labels, "values": values})
    return response


def make_response(machine, generation="0.7"):
    response = {**usage_series(machine, generation), **energy_series(machine, generation)}
    info = common_labels("kepler_node_info")
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
    values = cpu_instructions(response)
    offset = int(values[20][1])
    for sample in values[20:]:
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
    parser.add_argument("--generation", choices=("0.6", "0.7"), default="0.7")
    parser.add_argument("--containers", type=int, default=4, metavar="N")
    parser.add_argument("--samples", type=int, default=100, metavar="N")
    parser.add_argument("--step", type=int, default=3, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--noise", type=float, default=0.25, metavar="WATTS")
    parser.add_argument("--fault", choices=sorted(FAULTS))
    args = parser.parse_args()
    if args.containers < 1 or args.samples < 30 or args.step < 1:
        parser.error("want 1 container, 30 samples, a step of 1 s at least")
    response = make_response(Machine(args.containers, args.samples, args.seed, args.noise,
                                     args.step), args.generation)
    if args.fault:
        FAULTS[args.fault](response)
    sys.stdout.write(to_text(response))


if __name__ == "__main__":
    main()
