# SPDX-License-Identifier: Apache-2.0
"""tw-collector's helper asks by name: the C library's resolver, under the helper's filter of
system calls, with a real name server in a network of its own."""
import os
import unittest

from fake_bmc import Controller, chassis, power
from harness import sanitized, wait_until
from name_server import Names, bind_mount, in_namespaces
from test_collector_asked import Asked

NAME = "bmc.tallywatt.test"
OPTIONS = "options timeout:1 attempts:1\n"


class Resolved(Asked):
    def resolve_by(self, *hosts):
        """From now on, here: by these name servers and nothing else."""
        for name, text in (("resolv.conf", OPTIONS + "".join(f"nameserver {h}\n" for h in hosts)),
                           ("nsswitch.conf", "hosts: files dns\n")):
            path = self.write(name, text)
            os.chmod(path, 0o644)
            bind_mount(path, f"/etc/{name}")

    def names(self, records, host="127.0.0.1"):
        server = Names(records, host)
        self.addCleanup(server.close)
        return server

    def controller(self, host="127.0.0.1"):
        bmc = Controller(host=host)
        self.addCleanup(bmc.close)
        bmc.have((chassis("1U"), {"Power": power(344.5)}))
        return bmc

    def ask(self, port, *args):
        return self.collect("--meters", "redfish", "--redfish", f"http://{NAME}:{port}",
                            "--redfish-interval", "1s", "--redfish-insecure",
                            "--redfish-login", self.login_file(), *args)

    def check_filtered(self, daemon):
        """Both processes have the filter, and it killed neither."""
        first, second = self.helpers(daemon)
        self.assertEqual((len(first), len(second)), (1, 1))
        for pid in [*first, *second]:
            with open(f"/proc/{pid}/status", encoding="ascii") as f:
                self.assertRegex(f.read(), rf"Seccomp:\s{0 if sanitized() else 2}\n")
        self.assertNotIn("signal", daemon.log())
        self.assertNotIn("has ended", daemon.log())

    def check_address(self, records, host):
        names = self.names({NAME: records})
        self.resolve_by("127.0.0.1")
        daemon = self.ask(self.controller(host).port)
        self.wait_watts(daemon, {"1U": 344.5})
        self.check_filtered(daemon)
        return names

    @in_namespaces
    def test_an_address_of_4_bytes_is_found(self):
        names = self.check_address([("A", "127.0.0.1")], "127.0.0.1")
        self.assertIn(("udp", NAME, "A"), names.asked)

    @in_namespaces
    def test_an_address_of_16_bytes_is_found(self):
        names = self.check_address([("AAAA", "::1")], "::1")
        self.assertIn(("udp", NAME, "AAAA"), names.asked)

    @in_namespaces
    def test_of_two_addresses_the_one_that_answers_is_taken(self):
        names = self.check_address([("A", "127.0.0.1"), ("AAAA", "::1")], "127.0.0.1")
        self.assertLessEqual({("udp", NAME, "A"), ("udp", NAME, "AAAA")}, set(names.asked))

    @in_namespaces
    def test_an_answer_that_is_too_long_for_udp_is_fetched_by_tcp(self):
        """As forty addresses are; the controller is at each of them."""
        names = self.check_address([("A", f"127.0.1.{i}") for i in range(1, 41)], "0.0.0.0")
        self.assertIn(("udp", NAME, "A"), names.asked)
        self.assertIn(("tcp", NAME, "A"), names.asked)

    @in_namespaces
    def test_an_unknown_name_is_reported_until_it_is_known(self):
        names = self.names({})
        self.resolve_by("127.0.0.1")
        daemon = self.ask(self.controller().port)
        self.wait_gone(daemon, f"Could not resolve host: {NAME}")
        self.check_filtered(daemon)
        names.records = {NAME: [("A", "127.0.0.1")]}
        self.wait_watts(daemon, {"1U": 344.5})
        self.check_filtered(daemon)

    @in_namespaces
    def test_a_name_server_that_is_silent_or_fails_is_waited_for(self):
        names = self.names({NAME: [("A", "127.0.0.1")]})
        self.resolve_by("127.0.0.1")
        for trouble in ("silent", "failing"):
            with self.subTest(trouble):
                names.trouble = trouble
                daemon = self.ask(self.controller().port)
                self.wait_gone(daemon, f"Could not resolve host: {NAME}")
                self.check_filtered(daemon)
                names.trouble = None
                self.wait_watts(daemon, {"1U": 344.5})
                self.check_filtered(daemon)
                daemon.stop()

    @in_namespaces
    def test_after_a_dead_name_server_the_next_is_asked(self):
        """Nothing listens at the first: the kernel says so at once."""
        names = self.names({NAME: [("A", "127.0.0.1")]})
        self.resolve_by("127.0.0.2", "127.0.0.1")
        daemon = self.ask(self.controller().port)
        self.wait_watts(daemon, {"1U": 344.5})
        self.assertIn(("udp", NAME, "A"), names.asked)
        self.check_filtered(daemon)

    @in_namespaces
    def test_a_missing_name_server_is_reported(self):
        self.resolve_by("127.0.0.1")
        daemon = self.ask(self.controller().port)
        self.wait_gone(daemon, f"Could not resolve host: {NAME}")
        self.check_filtered(daemon)

    @in_namespaces
    def test_a_kubelet_is_found_by_its_name(self):
        names = self.names({"node.tallywatt.test": [("A", "127.0.0.1")]})
        self.resolve_by("127.0.0.1")
        server, _ = self.kubelet()
        self.write("token", "t0ken\n")
        daemon = self.collect(
            "--kubelet", f"http://node.tallywatt.test:{server.server_address[1]}",
            "--kube-insecure", "--kube-interval", "1s", "--kube-token", self.path("token"),
            *self.machine())
        wait_until(lambda: ({"reason": ""}, 1.0) in self.samples_of(
            daemon, "tallywatt_pod_names_up"), "names are there")
        self.assertIn(("udp", "node.tallywatt.test", "A"), names.asked)
        self.check_filtered(daemon)


if __name__ == "__main__":
    unittest.main()
