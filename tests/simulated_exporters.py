# SPDX-License-Identifier: Apache-2.0
"""A simulated machine behind four exporters, whose CPU time and energy are known exactly.

The machine runs processes, each at a constant share of a CPU from its start to its end.
Power depends on the load in a way that extraction does not know: a root and a step above
half of the CPUs. An exporter is read at scrapes that may come late, and may restart.
"""
import json

START_S = 1700000000.0
STEP_S = 3.0
CPUS = 4
IDLE_W = 7.0


class Process:
    def __init__(self, pid, comm, start, end, share, container=""):
        self.pid, self.comm, self.container = pid, comm, container
        self.start, self.end, self.share = start, end, share

    def used_s(self, until, since=0.0):
        begin, end = max(self.start, since), min(self.end, until)
        return max(end - begin, 0.0) * self.share


class Machine:
    """Times are seconds since START_S."""

    def __init__(self, processes, length_s):
        self.processes, self.length_s = processes, length_s
        edges = sorted({0.0, length_s + 60.0} | {t for p in processes
                                                 for t in (p.start, p.end)})
        self.edges, self.joules, self.watts = edges, [0.0], []
        change = {t: 0.0 for t in edges}
        for p in processes:
            change[p.start] += p.share
            change[p.end] -= p.share
        load = 0.0
        for a, b in zip(edges, edges[1:]):
            load = max(load + change[a], 0.0)
            self.watts.append(self.law(load))
            self.joules.append(self.joules[-1] + self.watts[-1] * (b - a))

    @staticmethod
    def law(load):
        return IDLE_W + 5.5 * load ** 0.7 + 2.5 * max(load - CPUS / 2, 0.0)

    def energy_j(self, until):
        """By bisection of the edges."""
        low, high = 0, len(self.watts) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.edges[middle] <= until else (low, middle - 1)
        return self.joules[low] + self.watts[low] * (until - self.edges[low])

    def cpu_s(self, until, since=0.0):
        return sum(p.used_s(until, since) for p in self.processes)


class Recording:
    """Scrapes of an exporter: `at` is the sample's time, `tick` that of the counters."""

    def __init__(self, machine, late=None, restart=None):
        self.machine, self.restart, self.scrapes = machine, restart, []
        for i in range(int(machine.length_s / STEP_S)):
            at = 1.0 + STEP_S * i
            if restart is not None and restart <= at < restart + STEP_S:
                continue  # not yet up again
            read = at + (late or {}).get(i, 0.002)
            if self.scrapes and at <= self.scrapes[-1][1]:
                continue  # the scrape before has not ended
            self.scrapes.append((at, read))

    def ticks(self, by_tick=True):
        """(time of the sample, time of its counters, time of those before it)"""
        before = -1.0
        for at, read in self.scrapes:
            tick = STEP_S * int(read / STEP_S) if by_tick else read
            yield START_S + at, tick, before
            before = tick

    def base(self, tick):
        """Since when the counters of this tick count."""
        return self.restart if self.restart is not None and tick >= self.restart else 0.0


class Series:
    def __init__(self):
        self.metrics = {}

    def add(self, metric, labels, time, value, digits=6):
        key = tuple(sorted(labels.items()))
        series = self.metrics.setdefault(metric, {}).setdefault(
            key, {"metric": {"__name__": metric, **labels}, "values": []})
        series["values"].append([round(time, 3), f"{value:.{digits}f}"])

    def text(self):
        return json.dumps({m: list(s.values()) for m, s in sorted(self.metrics.items())})


def shown(process, tick, before):
    """Alive, or exited since the scrape before."""
    return process.start < tick and process.end > before


def tallywatt(recording):
    out, machine = Series(), recording.machine
    node = {"instance": "node:8103", "job": "tallywatt"}
    for time, tick, before in recording.ticks():
        base = recording.base(tick)
        out.add("tallywatt_collector_tick_time_seconds", node, time, 4000 + tick, 9)
        for p in machine.processes:
            if shown(p, tick, before) and p.end > base:
                out.add("tallywatt_process_cpu_seconds_total", {
                    **node, "pid": str(p.pid), "command": p.comm, "serial": str(id(p)),
                    "container_id": p.container}, time, p.used_s(tick, base), 9)
        used = machine.cpu_s(tick)
        for mode, value in (("user", 0.8 * used), ("system", 0.2 * used),
                            ("idle", CPUS * tick - used)):
            out.add("tallywatt_node_cpu_seconds_total", {**node, "mode": mode}, time,
                    value)
        out.add("tallywatt_node_energy_joules_total", {
            **node, "zone": "package", "mode": "dynamic", "source": "rapl-sysfs"}, time,
            machine.energy_j(tick) - machine.energy_j(base))
    return out.text()


def kepler(recording):
    """CPU time counts from the process's start, energy from the exporter's."""
    out, machine = Series(), recording.machine
    node = {"instance": "node:28282", "job": "kepler", "node_name": "node"}
    for time, tick, before in recording.ticks():
        for p in machine.processes:
            if shown(p, tick, before):
                out.add("kepler_process_cpu_seconds_total", {
                    **node, "pid": str(p.pid), "comm": p.comm, "container_id": p.container,
                    "state": "running" if p.end > tick else "terminated"}, time,
                    p.used_s(tick))
        out.add("kepler_node_cpu_joules_total", {**node, "zone": "package"}, time,
                machine.energy_j(tick) - machine.energy_j(recording.base(tick)))
    return out.text()


def kepler_legacy(recording):
    """Containers only: processes of the host are in one."""
    out, machine = Series(), recording.machine
    node = {"instance": "node", "job": "kepler"}
    for time, tick, before in recording.ticks():
        base, used = recording.base(tick), {}
        for p in machine.processes:
            name = p.container or "system_processes"
            if p.start < tick and (p.end > before or not p.container) and p.end > base:
                used[name] = used.get(name, 0.0) + 1e3 * p.used_s(tick, base)
        for name, value in used.items():
            out.add("kepler_container_bpf_cpu_time_ms_total", {
                **node, "container_id": name, "container_name": name, "pod_name": name,
                "container_namespace": "default"}, time, value, 3)
        out.add("kepler_node_package_joules_total", {
            **node, "package": "0", "mode": "dynamic", "source": "rapl-sysfs"}, time,
            machine.energy_j(tick) - machine.energy_j(base))
    return out.text()


def node_exporter(recording):
    """The kernel's counters, read during the scrape; a restart leaves them as they are."""
    out, machine = Series(), recording.machine
    node = {"instance": "node", "job": "node"}
    for time, tick, _ in recording.ticks(by_tick=False):
        used = machine.cpu_s(tick) / CPUS
        for cpu in range(CPUS):
            for mode, value in (("user", 0.7 * used), ("system", 0.3 * used),
                                ("irq", 0.0), ("nice", 0.0), ("softirq", 0.0),
                                ("idle", tick - used), ("iowait", 0.0)):
                out.add("node_cpu_seconds_total", {**node, "cpu": str(cpu), "mode": mode},
                        time, value, 2)
        out.add("node_rapl_package_joules_total", {**node, "index": "0"}, time,
                machine.energy_j(tick))
        for name in ("node_context_switches_total", "node_intr_total",
                     "node_vmstat_pgfault"):
            out.add(name, node, time, 1000 * tick, 0)
    return out.text()


# Schema -> exporter, feature group, and whether its counters have ticks of their own.
EXPORTERS = {"tallywatt": (tallywatt, "BPFOnly", True),
             "kepler": (kepler, "BPFOnly", True),
             "kepler-legacy": (kepler_legacy, "BPFOnly", True),
             "node-exporter": (node_exporter, "NodeCPU", False)}
