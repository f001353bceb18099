# SPDX-License-Identifier: Apache-2.0
"""/metrics of many simulated nodes with tw-collector, from one process and one port.

A node has pods with containers, which end and are replaced, and Slurm jobs. All counters are
functions of the time, so a node keeps no state and any number of scrapers may ask.
"""
import asyncio
import json
import threading
import time

ZONES = (("package", 1.0), ("core", 0.7), ("dram", 0.2))
IDLE_W = 60.0
SYSTEM_W = 5.0


def mix(*numbers):
    """A number from 0 to 1 that is always the same for the same numbers."""
    h = 0x9e3779b97f4a7c15
    for n in numbers:
        h = (h ^ n) * 0xff51afd7ed558ccd & 0xffffffffffffffff
        h ^= h >> 32
    return (h >> 11) / (1 << 53)


class Fleet:
    """Nodes 0 to count - 1. life_s: the shortest life of a pod; the longest is ten times that."""

    def __init__(self, count, pods=30, jobs=3, containers=0, life_s=700.0):
        self.count, self.pods, self.jobs, self.life_s = count, pods, jobs, life_s
        self.containers = containers  # of a pod, that are exported
        self.begin, self.lost, self.scrapes = time.time(), set(), 0

    def life(self, node, slot):
        """(generation, age in seconds) of what is now in a slot of a node."""
        length = self.life_s * (1 + 9 * mix(node, slot, 1))
        age = time.time() - self.begin + length * mix(node, slot, 2)
        return int(age / length), age % length

    @staticmethod
    def watts(node, slot):
        return 0.5 + 4.5 * mix(node, slot, 3)

    def node_watts(self, node):
        """Of the zone package."""
        return IDLE_W + SYSTEM_W + sum(self.watts(node, s) for s in range(self.pods + self.jobs))

    @staticmethod
    def workload(out, level, labels, watts, age):
        out.append(f'tallywatt_{level}_cpu_seconds_total{{{labels}}} {watts * age / 10:.3f}\n')
        for zone, share in ZONES:
            head = f'tallywatt_{level}_energy_joules_total{{{labels},zone="{zone}",mode='
            tail = f',source="rapl-sysfs"}} {watts * age * share:.6f}\n'
            out.append(f'{head}"dynamic"{tail}{head}"idle",source="rapl-sysfs"}} 0\n')

    def metrics(self, node):
        """As bytes. Families are in any order, without HELP."""
        now, out = time.time() - self.begin, []
        for slot in range(self.pods):
            generation, age = self.life(node, slot)
            watts, name = self.watts(node, slot), f"app-{slot}-{node}-{generation}"
            pod = f'pod_id="{name}",pod_name="{name}",namespace="team-{slot % 20}"'
            for part in range(self.containers):
                self.workload(out, "container", f'container_id="{name}-{part}",runtime="crio",'
                              f'container_name="c{part}",{pod}',
                              watts / self.containers, age)
            self.workload(out, "pod", pod, watts, age)
        for slot in range(self.pods, self.pods + self.jobs):
            generation, age = self.life(node, slot)
            self.workload(out, "job", f'job_id="{1000000 * slot + 1000 * (node // 4) + generation}",'
                          f'user_id="{1000 + slot % 7}"', self.watts(node, slot), age)
        rest = self.node_watts(node) - IDLE_W
        for zone, share in ZONES:
            labels = f'zone="{zone}",path="{zone}",source="rapl-sysfs"'
            for mode, watts in (("dynamic", rest), ("idle", IDLE_W)):
                out.append(f'tallywatt_node_energy_joules_total{{{labels},mode="{mode}"}} '
                           f'{watts * share * now:.6f}\n')
            out.append(f'tallywatt_node_power_watts{{{labels}}} {(rest + IDLE_W) * share:.3f}\n'
                       f'tallywatt_meter_up{{{labels}}} 1\n')
        for zone in ("package", "dram"):
            out.append(f'tallywatt_node_sum_info{{zone="{zone}"}} 1\n')
        for mode, share in (("user", 0.3), ("system", 0.1), ("idle", 0.6)):
            out.append(f'tallywatt_node_cpu_seconds_total{{mode="{mode}"}} {64 * share * now:.2f}\n')
        for number in range(15):
            out.append(f"tallywatt_collector_processes_{number}_total {now:.0f}\n")
        return "".join(out).encode()


class Exchange(asyncio.Protocol):
    """A connection of a scraper."""

    def __init__(self, fleet):
        self.fleet, self.head = fleet, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.head += data
        while b"\r\n\r\n" in self.head:
            head, self.head = self.head.split(b"\r\n\r\n", 1)
            self.answer(int(head.split(b" ", 2)[1].split(b"/")[1]))

    def answer(self, node):
        if node in self.fleet.lost:
            self.transport.abort()
            return
        body = self.fleet.metrics(node)
        self.fleet.scrapes += 1
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body) + body)


class Server:
    """Serves a fleet until close()."""

    def __init__(self, fleet):
        self.fleet, self.loop, started = fleet, asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self.run, args=(started,))
        self.thread.start()
        started.wait()

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(self.loop.create_server(
            lambda: Exchange(self.fleet), "127.0.0.1", 0, backlog=4096))
        self.port = server.sockets[0].getsockname()[1]
        started.set()
        self.loop.run_forever()
        server.close()

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def targets(self):
        """For file_sd_configs."""
        return json.dumps([{"targets": [f"127.0.0.1:{self.port}"], "labels": {
            "__metrics_path__": f"/{i}/metrics", "instance": f"node-{i}"}}
            for i in range(self.fleet.count)])
