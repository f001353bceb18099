# SPDX-License-Identifier: Apache-2.0
"""The HTTP ports of all daemons, at once: who opens connections and ends no request, who sends
thousands of arguments, and a page that has given its own name this machine's address."""
import contextlib
import socket
import unittest

from harness import Case, call, sanitized

BROWSER = {"User-Agent": "Mozilla/5.0", "Host": "evil.example:8100"}
CONNECTIONS = 64


class Doors(Case):
    def daemons(self):
        yield self.start_http("tw-server", "--model-db", self.path("db"), "--connections",
                              str(CONNECTIONS), "--threads", "1")
        yield self.start_http("tw-trainer")
        yield self.start_http("tw-collector", "--meters", "fake", "--shipped-models", "", "--bpf",
                              "off", *(["--user", "root", "--filter=no"] if sanitized() else []))

    @staticmethod
    def half_ask(daemon, address):
        """A connection from an address of the loopback network, whose headers do not end."""
        host, port = daemon.address.rsplit(":", 1)
        s = socket.socket()
        s.settimeout(30)
        s.bind((address, 0))
        s.connect((host, int(port)))
        with contextlib.suppress(OSError):  # it may have ended for another one
            s.sendall(b"GET /metrics HTTP/1.1\r\nX-A: ")
        return s

    def test_each_port(self):
        path = "/metrics"
        for daemon in self.daemons():
            with self.subTest(daemon.proc.args[0]), contextlib.ExitStack() as held:
                for i in range(2 * CONNECTIONS):
                    held.enter_context(self.half_ask(daemon, f"127.0.0.{2 + i % 2}"))
                for _ in range(3):
                    self.assertEqual(call(daemon, "GET", path).status, 200)
                many = call(daemon, "GET", path + "?" + "a=1&" * 3000)
                self.assertEqual(many.status, 414)
                self.assertIn("arguments", many.json()["detail"])
                rebound = call(daemon, "GET", path, headers=BROWSER)
                self.assertEqual(rebound.status, 403)
                self.assertIn("--host-names", rebound.json()["detail"])
                scrape = {"User-Agent": "Prometheus/2.45.0", "Host": "any.name.example:8100"}
                self.assertEqual(call(daemon, "GET", path, headers=scrape).status, 200)


if __name__ == "__main__":
    unittest.main()
