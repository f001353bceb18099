# SPDX-License-Identifier: Apache-2.0
"""tw-collector --agents: sums of other collectors, equal to their parts to the microjoule,
whatever some of them do."""
import os
import re
import ssl
import subprocess
import unittest
from decimal import Decimal

from harness import BIN, ROOT, call, health, need_fleet, sanitized, wait_until
from metered import LABEL, Metered
from scripted_vm import FIRST_PID, Machine, write
from simulated_agents import ZONES, Node, Relay, Server

EXACT = re.compile(r'^(tallywatt_agent\w*)\{(.*)\} ([0-9.e+-]+)$')
TLS = os.path.join(ROOT, "tests/data/tls")
VM = "6b1d6f5e-0c9a-4a52-9d5b-0123456789ab"
REASONS = {"hang": "timed out", "drip": "timed out", "garbage": "byte 0", "huge": "over the limit",
           "bomb": "over the limit", "lie": "impossible", "wrong": "it answers 503"}


def setUpModule():
    need_fleet()


class Summed(Metered):
    def serve(self, *, tls=None, **of):
        server = Server(of, tls=tls)
        self.addCleanup(server.close)
        return server

    def aggregate(self, server, *names, more=()):
        daemon = self.start_http(
            "tw-collector", "--local=no", "--agents", ",".join(map(server.url, names)),
            "--agents-interval", "200ms", "--agents-timeout", "3s", "--levels", "pod",
            "--keep-ended", "1h", *(["--filter=no"] if sanitized() else []), *more)
        self.wait_agents(daemon, lambda a: len(a) == len(names), "agents are known")
        return daemon

    def told(self, daemon):
        """(name, labels, exact value) of each sample of agents."""
        found = []
        for line in call(daemon, "GET", "/metrics").body.decode().splitlines():
            match = EXACT.match(line)
            if match:
                found.append((match[1], dict(LABEL.findall(match[2])), Decimal(match[3])))
        return found

    def sum(self, told, name, **labels):
        return sum((v for n, has, v in told if n == name and
                    all(has[k] == w for k, w in labels.items())), Decimal(0))

    def agents(self, daemon):
        """By the last part of its URL."""
        answer = call(daemon, "GET", "/api/v1/agents").json()
        return {a["url"].rsplit("/", 1)[-1]: a for a in answer["agents"]}

    def wait_agents(self, daemon, condition, what):
        wait_until(lambda: condition(self.agents(daemon)), what, pause_s=0.1)

    def settle(self, daemon, server, *names):
        """Until each of them has sent its last values, and the collector has them."""
        for name in names:
            server.freeze(name)
        before = {n: a["answers"] for n, a in self.agents(daemon).items()}
        self.wait_agents(daemon, lambda now: all(
            now[n]["answers"] >= before.get(n, 0) + 3 for n in names), "last values arrive")

    def all_energy(self, told, zone):
        """In the sum over all, without what guests claim beyond their hosts' machines."""
        beyond = self.sum(told, "tallywatt_agent_guest_beyond_host_joules_total", zone=zone)
        return self.sum(told, "tallywatt_agents_energy_joules_total", zone=zone) - beyond

    def check_sums(self, daemon, ledger, whole, agents, pods=()):
        """Each sum is that of its parts. whole: agents in the sum over all."""
        told = self.told(daemon)
        for zone in sorted({key[5] for key in ledger.last}):
            self.assertEqual(self.all_energy(told, zone), ledger.sum("node", zone, whole), zone)
            for agent, node in agents.items():
                self.assertEqual(self.sum(told, "tallywatt_agents_node_energy_joules_total",
                                          node=node, zone=zone),
                                 ledger.sum("node", zone, (agent,)), (node, zone))
            for level in ("pod", "container", "vm", "job"):
                self.assertEqual(
                    self.sum(told, f"tallywatt_agents_{level}_energy_joules_total", zone=zone),
                    ledger.sum(level, zone), (level, zone))
            for space in {key[4] for key in ledger.last if key[2] == "pod"} - {""}:
                self.assertEqual(
                    self.sum(told, "tallywatt_agents_namespace_energy_joules_total", zone=zone,
                             namespace=space),
                    ledger.sum("pod", zone, namespace=space), (space, zone))
        for job in {key[3] for key in ledger.last if key[2] == "job"}:
            self.assertEqual(self.sum(told, "tallywatt_agents_job_energy_joules_total", job_id=job,
                                      zone="package"), ledger.sum("job", "package", of=job))
        for name in pods:
            self.assertEqual(
                self.sum(told, "tallywatt_agents_pod_energy_joules_total", pod_id=name,
                         zone="package"), ledger.sum("pod", "package", of=name))
        return told


class Agents(Summed):
    def test_sums_of_simulated_nodes_are_those_of_their_parts(self):
        nodes = {f"n{i}": Node(f"node-{i}", churn=2, seed=i) for i in range(6)}
        server = self.serve(**nodes)
        daemon = self.aggregate(server, *nodes)
        self.wait_agents(daemon, lambda a: all(x["answers"] >= 3 for x in a.values()), "answers")
        seen = {}

        def grow():
            for name, labels, value in self.told(daemon):
                if name.endswith("_joules_total"):
                    key = (name, *sorted(labels.items()))
                    self.assertGreaterEqual(value, seen.get(key, 0), key)
                    seen[key] = value
        grow()
        # One restarts with all its last values read, others go on.
        self.settle(daemon, server, "n1")
        nodes["n1"].restart()
        del server.frozen["n1"]
        self.wait_agents(daemon, lambda a: a["n1"]["restarts"] == 1, "the restart is seen")
        grow()
        # One is away for a while.
        away, server.of["n2"] = server.of["n2"], "wrong"
        self.wait_agents(daemon, lambda a: not a["n2"]["up"] and a["n2"]["failures"] >= 2, "away")
        self.assertEqual(self.agents(daemon)["n2"]["reason"], "it answers 503")
        self.assertFalse([1 for name, labels, _ in self.told(daemon) if
                          name == "tallywatt_agents_node_power_watts" and
                          labels["node"] == "node-2"], "an absent node has no watts")
        grow()
        server.of["n2"] = away
        self.wait_agents(daemon, lambda a: a["n2"]["up"], "it is back")
        self.settle(daemon, server, *nodes)
        told = self.check_sums(daemon, server.ledger, set(nodes),
                               {n: node.name for n, node in nodes.items()},
                               {p["id"] for n in nodes.values() for p in n.pods})
        grow()
        self.assertGreater(len(seen), 500)
        # Watts of all zones of the last answers, to the digit.
        self.assertEqual(self.sum(told, "tallywatt_agents_power_watts"),
                         Decimal("7.5") * len(nodes) * len(ZONES))
        self.assertEqual(self.sum(told, "tallywatt_agents_pod_power_watts", zone="dram"),
                         3 * sum(len(n.pods) for n in nodes.values()))
        self.assertEqual(self.sum(told, "tallywatt_agent_up"), len(nodes))
        self.check_promtool(daemon)

    def test_sums_of_real_collectors_are_those_of_their_parts_beside_bad_ones(self):
        host = self.host()
        guest = Machine(self.path("guest"), 1, 1)
        write(self.path("guest/sys/class/dmi/id/product_uuid"), VM.upper() + "\n")
        os.chmod(self.dir, 0o755)
        real = {"host": self.collect("--meters", "fake", "--node-name", "host", *host.args),
                "guest": self.collect("--meters", "fake", "--node-name", "guest", *guest.args),
                "plain": self.collect("--meters", "fake", "--node-name", "plain")}
        # A guest is known as such once its host exports the VM, which is after its first use.
        host.use([10, 10, 10])
        wait_until(lambda: call(real["host"], "GET", "/api/v1/power?level=vm").json()["workloads"],
                   "the host exports the VM")
        relays = {n: Relay(f"http://{d.address}") for n, d in real.items()}
        server = self.serve(host=relays["host"], plain=relays["plain"], **{n: n for n in REASONS})
        daemon = self.aggregate(server, *real, *REASONS)
        # Until the host has answered, the guest counts as a node of its own.
        self.wait_agents(daemon, lambda a: a["host"]["answers"], "the host answers first")
        server.of.update(relays)
        self.wait_agents(daemon, lambda a: all(a[n]["answers"] >= 2 for n in real), "answers")
        # The sum over all begins when all were asked: those that hang, until they time out.
        self.wait_agents(daemon, lambda a: all(a[n]["failures"] for n in REASONS), "all were asked")
        for _ in range(3):
            host.use([300, 200, 100])
            guest.use([500])
            before = self.agents(daemon)
            self.wait_agents(daemon, lambda a, b=before: all(
                a[n]["answers"] > b[n]["answers"] + 1 for n in real), "ticks")
        # The plain one restarts.
        self.settle(daemon, server, "plain")
        real["plain"].stop()
        real["plain"] = self.collect("--meters", "fake", "--node-name", "plain")
        server.of["plain"].url = f"http://{real['plain'].address}"
        del server.frozen["plain"]
        self.wait_agents(daemon, lambda a: a["plain"]["restarts"] == 1, "the restart is seen")
        self.settle(daemon, server, *real)
        # The guest's energy is in its host's, so it is not in the sum over all.
        told = self.check_sums(daemon, server.ledger, {"host", "plain"}, {n: n for n in real})
        self.assertGreater(server.ledger.sum("node", "package", ("guest",)), 0)
        self.assertGreater(server.ledger.sum("vm", "package", of=VM), 0)
        self.assertGreater(server.ledger.sum("pod", "package", ("host",)), 0)
        guests = {labels["node"]: value for name, labels, value in told
                  if name == "tallywatt_agent_guest"}
        self.assertEqual(guests, {"host": 0, "guest": 1, "plain": 0})
        # Each bad one is named with its reason, and delays no other.
        for name, why in REASONS.items():
            # On a busy machine a large answer may time out first.
            self.wait_agents(daemon, lambda a, n=name, w=why: w in (a[n].get("reason") or ""),
                             f"{name} fails: {why}")
            self.assertEqual(self.agents(daemon)[name]["answers"], 0)
        first = self.agents(daemon)
        self.wait_agents(daemon, lambda a: a["hang"]["failures"] > first["hang"]["failures"] + 1,
                         "an agent hangs until it times out")
        self.assertGreater(self.agents(daemon)["host"]["answers"], first["host"]["answers"])
        self.assertEqual(call(daemon, "GET", "/api/v1/power").status, 404)
        self.assertEqual(health(daemon)["status"], "ok")

    def test_pods_in_a_virtual_machine_of_a_pod_are_in_no_namespace(self):
        """KubeVirt: the energy of the guest's pods is in the pod that runs it."""
        host, plain = Node("host"), Node("plain")
        host.vms[0]["pod"] = host.pods[0]["id"]
        of = {"host": host, "inside": Node("inside", vm_id=host.vms[0]["id"]),
              "plain": plain, "beside": Node("beside", vm_id=plain.vms[0]["id"])}
        server = self.serve(host=host, plain=plain)
        daemon = self.start_http(
            "tw-collector", "--local=no", "--agents", ",".join(map(server.url, of)),
            "--agents-interval", "200ms", "--keep-ended", "1h",
            *(["--filter=no"] if sanitized() else []))
        self.wait_agents(daemon, lambda a: len(a) == 4 and all(
            a[n]["answers"] for n in ("host", "plain")), "the hosts answer first")
        server.of.update(of)
        self.wait_agents(daemon, lambda a: all(x["answers"] >= 2 for x in a.values()), "answers")
        self.settle(daemon, server, *of)
        told = self.told(daemon)
        for space in {key[4] for key in server.ledger.last if key[2] == "pod"} - {""}:
            self.assertEqual(
                self.sum(told, "tallywatt_agents_namespace_energy_joules_total", zone="package",
                         namespace=space),
                sum(server.ledger.sum("pod", "package", (n,), namespace=space)
                    for n in ("host", "plain", "beside")), space)
        self.assertEqual(self.sum(told, "tallywatt_agents_pod_energy_joules_total", zone="package"),
                         server.ledger.sum("pod", "package"))
        self.assertEqual(self.all_energy(told, "package"),
                         server.ledger.sum("node", "package", ("host", "plain")))

    def host(self):
        """Two pods and a virtual machine."""
        host = Machine(self.path("host"), 2, 3)
        for i in range(2):
            write(self.path(f"host/proc/{FIRST_PID + i}/cgroup"),
                  f"0::/kubepods.slice/kubepods-pod{i:08d}_1111_2222_3333_444444444444.slice/"
                  f"cri-containerd-{i:064x}.scope\n")
        pid = FIRST_PID + 2
        write(self.path(f"host/proc/{pid}/cgroup"), "0::/system.slice/vm.service\n")
        with open(self.path(f"host/proc/{pid}/cmdline"), "wb") as f:
            f.write(b"qemu-system-x86_64\0-name\0web\0-uuid\0" + VM.encode() + b"\0")
        os.makedirs(self.path(f"host/proc/{pid}/fd"))
        os.symlink("anon_inode:kvm-vm", self.path(f"host/proc/{pid}/fd/9"))
        os.symlink("anon_inode:kvm-vcpu:0", self.path(f"host/proc/{pid}/fd/10"))
        write(self.path(f"host/proc/{pid}/status"), "Name:\tkvm\nUid:\t0\t0\t0\t0\n")
        return host

    def test_a_collector_with_a_local_machine_sums_others_and_users_are_checked(self):
        node = Node("alone")
        server = self.serve(alone=node)
        daemon = self.start_http(
            "tw-collector", "--agents", server.url("alone"), "--agents-interval", "200ms",
            "--meters", "fake", "--bpf", "off", "--interval", "100ms", "--user", "root",
            "--agents-levels", "node", *(["--filter=no"] if sanitized() else []))
        self.wait_agents(daemon, lambda a: a and a["alone"]["answers"] >= 2, "answers")
        names = {name for name, _, _ in self.samples(daemon)}
        self.assertIn("tallywatt_node_energy_joules_total", names)
        self.assertIn("tallywatt_agents_node_energy_joules_total", names)
        self.assertNotIn("tallywatt_agents_pod_energy_joules_total", names)
        server.freeze("alone")
        sums = call(daemon, "GET", "/api/v1/agents?level=namespace,node").json()["sums"]
        self.assertEqual([(s["level"], s["node_name"]) for s in sums], [("node", "alone")])
        self.assertEqual({z["zone"]: (z["source"], z["watts"]) for z in sums[0]["zones"]},
                         {zone: ("rapl-sysfs", 7.5) for zone in ZONES})
        self.assertNotIn("sums", call(daemon, "GET", "/api/v1/agents").json())
        wrong = call(daemon, "GET", "/api/v1/agents?level=node,pod")
        self.assertEqual(wrong.status, 400)
        self.assertIn("is not one of node, namespace", wrong.json()["detail"])

    def test_two_collectors_of_one_node_name_have_their_own_zones(self):
        of = {"a": Node("twin", watts=3, kinds=("platform",), source="acpi"),
              "b": Node("twin", watts=9)}
        server = self.serve(**of)
        daemon = self.aggregate(server, *of, more=("--agents-levels", "node"))
        self.wait_agents(daemon, lambda a: all(x["answers"] >= 2 for x in a.values()), "answers")
        self.settle(daemon, server, *of)
        agents = self.agents(daemon)
        self.assertEqual({n: (a["node_name"], a["instance"]) for n, a in agents.items()},
                         {n: ("twin", node.instance) for n, node in of.items()})
        self.assertEqual([(z["zone"], z["source"], z["watts"]) for z in agents["a"]["zones"]],
                         [("platform", "acpi", 3)])
        self.assertEqual({z["zone"]: z["watts"] for z in agents["b"]["zones"]},
                         dict.fromkeys(ZONES, 9))
        for name, agent in agents.items():
            for z in agent["zones"]:
                self.assertAlmostEqual(
                    z["dynamic_joules"] + z["idle_joules"],
                    float(server.ledger.sum("node", z["zone"], (name,))), 5)
        server.of["a"] = "wrong"
        self.wait_agents(daemon, lambda a: not a["a"]["up"], "it is away")
        self.assertNotIn("watts", self.agents(daemon)["a"]["zones"][0])

    def test_users_and_tokens_of_agents_come_from_a_file(self):
        access = self.write("access", "user = reader\npassword = secret\n")
        os.chmod(access, 0o644)
        server = self.serve(alone=Node("alone"))
        done = self.program("tw-collector", "--agents", "http://a", "--agents-access", access)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"is not secret", done.stderr)
        os.chmod(access, 0o600)
        daemon = self.aggregate(server, "alone", more=("--agents-access", access, "--user", "root"))
        self.wait_agents(daemon, lambda a: a["alone"]["up"], "it is asked")
        self.assertIn(b"authorization: basic cmVhZGVyOnNlY3JldA==".lower(),
                      server.last_head.lower())
        daemon.stop()
        # A token may change while the collector runs.
        token = self.write("token", "first\n")
        os.chmod(token, 0o600)
        self.write("access", f"token-file = {token}\n")
        self.aggregate(server, "alone", more=("--agents-access", access, "--user", "root"))
        for text in ("first", "second"):
            self.exchange("token", text + "\n")
            wait_until(lambda t=text: f"authorization: bearer {t}".encode() in
                       server.last_head.lower(), "the token is sent", pause_s=0.05)

    def test_agents_by_tls_are_who_their_certificate_says(self):
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=f"{TLS}/b.crt")
        tls.load_cert_chain(f"{TLS}/a.crt", f"{TLS}/a.key")
        tls.verify_mode = ssl.CERT_REQUIRED
        server = self.serve(tls=tls, alone=Node("alone"))
        daemon = self.aggregate(server, "alone", more=("--user", "root", "--agents-access",
                                                       self.tls_access("ok", "a", "b")))
        self.wait_agents(daemon, lambda a: a["alone"]["up"], "it is asked")
        for name, ca, own in (("other", "b", "b"), ("stranger", "a", "a")):
            with self.subTest(name):
                daemon = self.aggregate(server, "alone", more=(
                    "--user", "root", "--agents-access", self.tls_access(name, ca, own)))
                self.wait_agents(daemon, lambda a: a["alone"]["failures"] > 0, "it is refused")
                self.assertFalse(self.agents(daemon)["alone"]["up"])

    def tls_access(self, name, ca, own):
        """A key that nobody else may read, and the file that names it."""
        key = self.path(f"{name}.key")
        with open(f"{TLS}/{own}.key", "rb") as f, open(key, "wb") as to:
            to.write(f.read())
        access = self.write(name, f"ca = {TLS}/{ca}.crt\ncert = {TLS}/{own}.crt\nkey = {key}\n")
        for path in (key, access):
            os.chmod(path, 0o600)
        return access

    def test_names_are_looked_up_and_the_same_process_is_summed_once(self):
        server = self.serve(alone=Node("alone"))
        daemon = self.start_http(
            "tw-collector", "--local=no", "--agents-interval", "200ms", "--agents",
            f"dns:localhost:{server.port},dns:nosuch.invalid,{server.url('alone')},"
            f"{server.url('alone')}/", *(["--filter=no"] if sanitized() else []))
        self.wait_agents(daemon, lambda a: any("the same as" in x["reason"] for x in a.values()),
                         "the second URL is known as the same")
        lookups = {labels["name"]: (value, labels["reason"]) for name, labels, value in
                   self.told(daemon) if name == "tallywatt_agents_lookup_up"}
        self.assertEqual(lookups[f"dns:localhost:{server.port}"], (1, ""))
        self.assertEqual(lookups["dns:nosuch.invalid"][0], 0)
        self.assertTrue(lookups["dns:nosuch.invalid"][1])
        self.assertTrue(any(a["url"].endswith(f"at 127.0.0.1:{server.port}") for a in
                            call(daemon, "GET", "/api/v1/agents").json()["agents"]))

    def test_wrong_use_is_refused(self):
        for args in (("--local=no",), ("--agents", "localhost:1"), ("--agents", "dns:"),
                     ("--agents", "http://a?b=c"), ("--agents", "http://a", "--agents-levels",
                                                    "rack"),
                     ("--agents", "http://a", "--agents-interval", "10ms"),
                     ("--agents", "http://a", "--agents-timeout", "2m")):
            done = self.program("tw-collector", *args)
            self.assertEqual(done.returncode, 2, args)
            self.assertEqual(len(done.stderr.decode().splitlines()), 1, args)

    @staticmethod
    def program(name, *args):
        return subprocess.run([os.path.join(BIN, name), *args], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


if __name__ == "__main__":
    unittest.main()
