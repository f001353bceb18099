# SPDX-License-Identifier: Apache-2.0
"""Collectors on one port, each below a path of its own: simulated nodes, relays to real
collectors, and servers that hang, drip, send garbage or lie. A ledger has what was sent."""
import asyncio
import functools
import gzip
import itertools
import json
import random
import threading
import time
import urllib.request
from decimal import Decimal

ZONES = ("package", "core", "dram", "other")
MICRO = Decimal(1000000)


def joules(uj):
    return f"{uj // 1000000}.{uj % 1000000:06d}"


class Node:
    """A simulated node: pods of two containers each, a VM, two jobs, and some pods that end."""
    serial = itertools.count()

    def __init__(self, name, pods=4, churn=1, vm=True, seed=0, vm_id="", source="rapl-sysfs",
                 watts=7.5, kinds=ZONES):
        self.name, self.source, self.churn, self.vm_id = name, source, churn, vm_id
        self.kinds = kinds  # of the node
        self.watts = watts  # of each zone of the node
        self.rng = random.Random(seed)
        self.instance, self.began = f"{name}-{next(self.serial)}", time.monotonic()
        self.node = {zone: [0, 0] for zone in kinds}
        self.vms = [self.make("vm")] if vm else []
        self.pods = [self.make("pod") for _ in range(pods)]
        # All nodes have parts of the same jobs.
        self.jobs = [dict(self.make("job"), id=f"{100 + i}") for i in range(2)]

    def make(self, level):
        number = next(self.serial)
        return {"level": level, "id": f"{level}-{number:08d}", "left": None,
                "namespace": f"team-{number % 5}",
                "energy": [{zone: [0, 0] for zone in ZONES} for _ in range(2)]}

    def restart(self):
        """As the process does: all counters begin at 0."""
        self.__init__(self.name, len(self.pods), self.churn, bool(self.vms), self.rng.random(),
                      self.vm_id, self.source, self.watts, self.kinds)

    def tick(self):
        for w in self.pods + self.vms + self.jobs:
            if w["left"] is not None:
                w["left"] -= 1
                continue
            for part in w["energy"]:
                for zone in ZONES:
                    for mode in (0, 1):
                        part[zone][mode] += self.rng.randrange(3000000)
        for zone in self.kinds:
            for mode in (0, 1):
                self.node[zone][mode] += self.rng.randrange(300000000)
        self.pods = [p for p in self.pods if p["left"] != 0]
        alive = [p for p in self.pods if p["left"] is None]
        # An ended pod is exported some times more, as --keep-ended does.
        for pod in self.rng.sample(alive, min(self.churn, len(alive))):
            pod["left"] = 4
            self.pods.append(self.make("pod"))

    def zones(self, energies, node=False):
        return ",".join(
            f'{{"zone":"{zone}","source":"{self.source}","estimated":false,' +
            (f'"name":"{zone}-0","path":"/sys/{zone}","used":true,"watts":{self.watts},' if node else
             '"dynamic_watts":2.5,"idle_watts":0.5,') +
            f'"dynamic_joules":{joules(sum(e[zone][0] for e in energies))},'
            f'"idle_joules":{joules(sum(e[zone][1] for e in energies))}}}' for zone in (self.kinds if node else ZONES))

    def body(self):
        rows = [f'{{"level":"node","node_name":"{self.name}","zones":'
                f'[{self.zones([self.node], True)}]}}']
        for w in self.vms:
            rows.append(f'{{"level":"vm","vm_id":"{w["id"]}","vm_name":"vm","hypervisor":"kvm",'
                        f'"pod_id":"{w.get("pod", "")}","zones":[{self.zones(w["energy"])}]}}')
        for w in self.jobs:
            rows.append(f'{{"level":"job","job_id":"{w["id"]}","user_id":"1000",'
                        f'"zones":[{self.zones(w["energy"])}]}}')
        for p in self.pods:
            pod = (f'"pod_id":"{p["id"]}","pod_name":"name-of-{p["id"]}",'
                   f'"namespace":"{p["namespace"]}"')
            rows.append(f'{{"level":"pod",{pod},"zones":[{self.zones(p["energy"])}]}}')
            for i, part in enumerate(p["energy"]):
                rows.append(f'{{"level":"container","container_id":"{p["id"]}-{i}{"a" * 50}",'
                            f'"runtime":"containerd","container_name":"c{i}",{pod},'
                            f'"zones":[{self.zones([part])}]}}')
        return (f'{{"node_name":"{self.name}","instance":"{self.instance}","vm_id":'
                f'"{self.vm_id}","uptime_seconds":{time.monotonic() - self.began},"interval_seconds":3,'
                f'"elapsed_seconds":3,"workloads":[{",".join(rows)}],"models":[]}}').encode()

    def answer(self):
        self.tick()
        return self.body()


class Relay:
    """Passes on the answers of a real collector; `url` may change."""

    def __init__(self, url):
        self.url = url

    def answer(self, path):
        with urllib.request.urlopen(self.url + path, timeout=300) as answer:
            return answer.read()


class Ledger:
    """The last value of each counter of each process that was sent."""

    def __init__(self):
        self.last, self.lock = {}, threading.Lock()

    def take(self, agent, body):
        answer = json.loads(body, parse_float=Decimal)
        with self.lock:
            for w in answer["workloads"]:
                for z in w["zones"]:
                    if "dynamic_joules" not in z or not z.get("used", True):
                        continue
                    key = (agent, answer["instance"], w["level"], w.get(f"{w['level']}_id", ""),
                           w.get("namespace", ""), z["zone"], z.get("path", ""), z["source"])
                    self.last[key] = (Decimal(z["dynamic_joules"]) + Decimal(z["idle_joules"]))

    def sum(self, level, zone, agents=None, of=None, namespace=None):
        with self.lock:
            return sum((value for (agent, _, has, who, space, in_zone, _, _), value in
                        self.last.items() if has == level and in_zone == zone and
                        (agents is None or agent in agents) and (of is None or who == of) and
                        (namespace is None or space == namespace)), Decimal(0))


@functools.cache
def bomb():
    return gzip.compress(b" " * (64 << 20))


class Server:
    """`of[name]` answers below /name: a Node, a Relay, or the name of a trouble."""

    def __init__(self, of, host="127.0.0.1", tls=None):
        self.of, self.host, self.frozen, self.tls = of, host, {}, tls
        self.ledger, self.answers, self.last_head = Ledger(), {}, b""
        self.loop = asyncio.new_event_loop()
        self.started = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        self.started.wait()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self.serve, self.host, 0, backlog=1024, ssl=self.tls))
        self.port = self.server.sockets[0].getsockname()[1]
        self.started.set()
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.server.close()
        self.loop.run_until_complete(asyncio.sleep(0))

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def url(self, name):
        return f"http{'s' if self.tls else ''}://{self.host}:{self.port}/{name}"

    def freeze(self, name):
        """From now on it sends its last answer."""
        self.frozen[name] = None

    async def body_of(self, name, path):
        what = self.of[name]
        if name in self.frozen and self.frozen[name] is not None:
            return self.frozen[name]
        if isinstance(what, Relay):
            body = await asyncio.to_thread(what.answer, path)
        else:
            body = what.answer()
        self.ledger.take(name, body)
        if name in self.frozen:
            self.frozen[name] = body
        return body

    async def serve(self, reader, writer):
        try:
            while True:
                head = self.last_head = await reader.readuntil(b"\r\n\r\n")
                _, name, path = head.split(b" ")[1].decode().split("/", 2)
                what = self.of.get(name)
                if isinstance(what, str) or what is None:
                    if not await self.trouble(what, writer):
                        break
                    continue
                try:
                    body = await self.body_of(name, "/" + path)
                except OSError:
                    break
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body) + body)
                await writer.drain()
                self.answers[name] = self.answers.get(name, 0) + 1
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def trouble(self, what, writer):
        """Return whether the connection stays open."""
        def send(body, more=b""):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + more +
                         b"Content-Length: %d\r\n\r\n" % len(body) + body)
        if what == "hang":
            await asyncio.sleep(3600)
        elif what == "drip":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
            while True:
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.1)
        elif what == "garbage":
            send(bytes(range(256)) * 40)
        elif what == "huge":
            send(b" " * (9 << 20))
        elif what == "bomb":
            send(bomb(), b"Content-Encoding: gzip\r\n")
        elif what == "lie":
            send(b'{"instance":"liar","uptime_seconds":5,"elapsed_seconds":3,"workloads":[{'
                 b'"level":"node","zones":[{"zone":"package","source":"rapl-sysfs",'
                 b'"dynamic_joules":90000000000.5,"idle_joules":0,"watts":4}]}]}')
        else:
            writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return True
