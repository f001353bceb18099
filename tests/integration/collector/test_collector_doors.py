# SPDX-License-Identifier: Apache-2.0
"""tw-collector's port: TLS and users, large answers, clients that do not read."""
import concurrent.futures
import http.client
import os
import re
import socket
import ssl
import subprocess
import unittest

from harness import BIN, TIMEOUT_S, call, children, need_fleet, sanitized, wait_until
from web_case import TLS, WebCase, ask, basic

LOAD = os.path.join(BIN, "tests/bench/collector_load")
# bcrypt of cost 13, which no password matches: half a second of CPU time for each check.
SLOW_HASH = "$2b$13$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrX"
TICKS = re.compile(r"^tallywatt_collector_ticks_total (\S+)$", re.M)


class CollectorCase(WebCase):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)  # the collector becomes another user

    def collect(self, *args):
        # A sanitizer looks for leaks with what the filter refuses.
        if sanitized():
            args += ("--user", "root", "--filter=no")
        return self.start_http("tw-collector", "--interval", "100ms", "--shipped-models", "",
                               *args)


class Locks(CollectorCase):
    """TLS and users."""

    def collect_locked(self, text, certificate=None, args=()):
        self.web(text, certificate)
        for name in ("server.crt", "server.key"):
            if os.path.exists(self.path(name)):
                os.chmod(self.path(name), 0o644)
        return self.collect("--web-config", self.path("web.yml"), *args)

    def test_users_and_files_that_change_for_the_worse(self):
        collector = self.collect_locked(self.USERS)
        alice = basic("alice", "secret")
        self.assertEqual(call(collector, "GET", "/metrics").status, 401)
        self.assertEqual(call(collector, "GET", "/metrics",
                              headers=basic("alice", "wrong")).status, 401)
        self.assertIn(b"tallywatt_collector_info",
                      call(collector, "GET", "/metrics", headers=alice).body)
        for text, why in (("", "has no users any more"),
                          ("nonsense\n", "line 1: want 'key: value'"),
                          (None, "web.yml")):
            if text is None:
                os.remove(self.path("web.yml"))
            else:
                self.web(text)
            seen = len(collector.log())

            def told():
                self.assertEqual(call(collector, "GET", "/healthz").status, 401)
                return why in collector.log()[seen:]
            wait_until(told, f"the mistake is logged: {why}")
            self.assertEqual(call(collector, "GET", "/healthz", headers=alice).status, 200)
        self.web(self.USERS.replace("alice", "bob"))
        wait_until(lambda: call(collector, "GET", "/healthz",
                                headers=basic("bob", "secret")).status == 200,
                   "the new user is taken")
        self.assertEqual(call(collector, "GET", "/healthz", headers=alice).status, 401)

    def test_the_answer_to_a_password_waits_for_no_tick(self):
        """A client has 30 s to take its answer, which is less than until the next tick."""
        collector = self.collect_locked(self.USERS, args=("--interval", "60s"))
        for password, status in (("wrong", 401), ("secret", 200)):
            self.assertEqual(call(collector, "GET", "/metrics",
                                  headers=basic("alice", password)).status, status)

    def sum_locked(self, agent, *lines):
        """The state of an agent that a collector asks with these lines in its access file."""
        access = self.write("access", "\n".join(lines) + "\n")
        os.chmod(access, 0o600)
        summing = self.collect("--local=no", "--agents", f"https://{agent.address}",
                               "--agents-interval", "200ms", "--agents-access", access,
                               "--user", "root")

        def agents():
            return call(summing, "GET", "/api/v1/agents").json()["agents"]
        wait_until(lambda: agents() and agents()[0]["answers"] + agents()[0]["failures"],
                   "it is asked", pause_s=0.05)
        state = agents()[0]
        summing.stop()
        return state

    def test_other_collectors_ask_by_tls_with_a_user_or_a_certificate(self):
        need_fleet()
        agent = self.collect_locked(self.TLS_ONLY + self.USERS, "a")
        authority, user = f"ca = {TLS}/a.crt", ("user = alice", "password = secret")
        self.assertTrue(self.sum_locked(agent, authority, *user)["up"])
        for lines, why in (((authority,), "401"), (user, "certificate"),
                           ((authority, "user = alice", "password = wrong"), "401"),
                           ((f"ca = {TLS}/b.crt", *user), "certificate")):
            state = self.sum_locked(agent, *lines)
            self.assertFalse(state["up"])
            self.assertIn(why, state["reason"])
        self.assertTrue(self.sum_locked(agent, "insecure = yes", *user)["up"])
        agent.stop()
        agent = self.collect_locked(self.TLS_ONLY + "  client_auth_type: "
                                    f"RequireAndVerifyClientCert\n  client_ca_file: {TLS}/b.crt\n",
                                    "a")
        self.assertFalse(self.sum_locked(agent, authority)["up"])
        self.assertTrue(self.sum_locked(agent, authority, f"cert = {TLS}/b.crt",
                                        f"key = {TLS}/b.key")["up"])

    def test_certificates_wrong_expired_and_changed(self):
        collector = self.collect_locked(self.TLS_ONLY, "old")
        with self.assertRaisesRegex(ssl.SSLError, "expired"):
            ask(collector, "old", "/healthz")
        for kind in ("crt", "key"):  # the key alone does not fit
            with open(os.path.join(TLS, f"a.{kind}"), "rb") as f:
                self.write(f"server.{kind}", f.read())

        def changed():
            try:
                return ask(collector, "a", "/healthz").status == 200
            except ssl.SSLError:
                return False
        wait_until(changed, "the new certificate is used")
        with self.assertRaises(ssl.SSLError):
            ask(collector, "b", "/healthz")
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            call(collector, "GET", "/healthz")
        self.write("server.key", "no key\n")

        def told():
            self.assertEqual(ask(collector, "a", "/healthz").status, 200)
            return "continuing with the previous one" in collector.log()
        wait_until(told, "the broken key is logged")
        self.assertIn(b"tallywatt_collector_info", ask(collector, "a", "/metrics").body)

    def test_clients_need_a_certificate(self):
        collector = self.collect_locked(
            self.TLS_ONLY + "  client_auth_type: RequireAndVerifyClientCert\n"
            f"  client_ca_file: {TLS}/b.crt\n", "a")
        self.assertEqual(ask(collector, "a", "/metrics").status, 403)
        self.assertEqual(ask(collector, "a", "/metrics", client="b").status, 200)

    @unittest.skipIf(os.geteuid() != 0 or sanitized(), "needs a change of user")
    def test_files_that_only_root_can_read_are_told(self):
        os.chmod(self.web(self.USERS), 0o600)
        collector = self.collect("--web-config", self.path("web.yml"))
        alice = basic("alice", "secret")
        wait_until(lambda: "changes of the web configuration need a restart" in collector.log(),
                   "the collector says that it cannot read the file again")
        self.assertEqual(call(collector, "GET", "/healthz", headers=alice).status, 200)
        self.web("")

        def told():
            self.assertEqual(call(collector, "GET", "/healthz").status, 401)
            return "continuing with the previous one" in collector.log()
        wait_until(told, "the unreadable file is logged")

    def test_checks_of_passwords_delay_no_tick(self):
        collector = self.collect_locked(self.USERS + f"  eve: {SLOW_HASH}\n")
        alice = basic("alice", "secret")

        def ticks():
            answer = call(collector, "GET", "/metrics", headers=alice)
            return float(TICKS.search(answer.body.decode()).group(1))
        ticks()
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            guesses = [pool.submit(call, collector, "GET", "/healthz",
                                   headers=basic("eve", f"guess {i}")) for i in range(4)]
            before, seen = ticks(), 0
            while not all(g.done() for g in guesses):
                seen = ticks() - before
            self.assertEqual({g.result().status for g in guesses}, {401})
        self.assertGreaterEqual(seen, 2, "ticks go on while passwords are checked")


class Large(CollectorCase):
    """Answers that child processes write."""
    COMPAT = ("--compat", "kepler,kepler-legacy", "--top", "0")
    PROCESSES = 800

    def sleep_together(self):
        load = subprocess.Popen([LOAD, "sleepers", str(self.PROCESSES)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(load.communicate)
        load.stdout.readline()

    def collect_many(self):
        collector = self.collect(*self.COMPAT)
        self.sleep_together()
        wait_until(lambda: call(collector, "GET", "/metrics").body.count(
            b"tallywatt_process_cpu_seconds_total{") > self.PROCESSES * 3 // 4,
                   "the processes are exported")
        return collector

    def test_every_set_of_a_large_scrape_is_of_one_tick(self):
        collector = self.collect_many()
        own = re.compile(r'^tallywatt_process_cpu_seconds_total\{pid="(\d+)".* (\S+)$', re.M)
        old = re.compile(r'^kepler_process_bpf_cpu_time_ms_total\{.*pid="(\d+)".* (\S+)$', re.M)
        for headers in ({}, {"Accept": "application/openmetrics-text; version=1.0.0"}):
            answer = call(collector, "GET", "/metrics", headers=headers)
            self.assertEqual(answer.headers["Transfer-Encoding"], "chunked")
            text = answer.body.decode()
            seconds, ms = dict(own.findall(text)), dict(old.findall(text))
            same = seconds.keys() & ms.keys() - {"0"}
            self.assertGreater(len(same), self.PROCESSES // 2)
            for pid in same:
                self.assertAlmostEqual(float(seconds[pid]) * 1000, float(ms[pid]), places=5)
        self.assertTrue(text.endswith("# EOF\n"))
        power = call(collector, "GET", "/api/v1/power?level=process").json()
        self.assertGreater(len(power["workloads"]), self.PROCESSES // 2)
        self.assertEqual(call(collector, "HEAD", "/metrics").status, 200)
        node = call(collector, "GET", "/api/v1/power")
        self.assertIsNotNone(node.headers["Content-Length"])

    def test_clients_that_do_not_read_hold_neither_ticks_nor_others(self):
        collector = self.collect_many()
        host, port = collector.address.rsplit(":", 1)
        before, mute = self.sockets(collector), []
        for _ in range(30):
            s = socket.socket()
            self.addCleanup(s.close)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(TIMEOUT_S)
            s.connect((host, int(port)))
            s.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            mute.append(s)

        def scraped():
            answer = call(collector, "GET", "/metrics")
            return answer.status == 200 and float(TICKS.search(answer.body.decode()).group(1))
        first = scraped()
        self.assertTrue(first)
        wait_until(lambda: scraped() > first + 5, "ticks and answers go on", pause_s=0.2)
        self.assertGreater(self.sockets(collector), before + 20)

        wait_until(lambda: self.sockets(collector) <= before + 1,
                   "clients that do not read are dropped", pause_s=0.2)
        # Children do not outlive what they write.
        wait_until(lambda: not children(collector.proc.pid), "no child is left")

    @staticmethod
    def sockets(collector):
        folder, count = f"/proc/{collector.proc.pid}/fd", 0
        for fd in os.listdir(folder):
            try:
                count += os.readlink(os.path.join(folder, fd)).startswith("socket:")
            except FileNotFoundError:
                continue
        return count


if __name__ == "__main__":
    unittest.main()
