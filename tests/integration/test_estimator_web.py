# SPDX-License-Identifier: Apache-2.0
"""TLS and users of the estimator's GET /metrics."""
import os
import re
import ssl
import subprocess
import threading
import time
import unittest

from harness import BIN, ROOT, TIMEOUT_S, ask_estimator, call, power_request, wait_until
from web_case import WebCase, ask, basic

MODELS = os.path.join(ROOT, "model-db/models")


class EstimatorWeb(WebCase):
    def estimate(self):
        """Its GET /metrics has the address of the result."""
        self.socket = self.path("s")
        daemon = self.start("tw-estimator", "--socket", self.socket, "--shipped-models", MODELS,
                            "--metrics-listen", "127.0.0.1:0",
                            "--web-config", self.path("web.yml"))
        pattern = re.compile(r"http://([^/]*)/metrics")
        wait_until(lambda: pattern.search(daemon.log()), "its log has the address")
        daemon.address = pattern.search(daemon.log()).group(1)
        return daemon

    def watts(self):
        answer = ask_estimator(self.socket, power_request(["bpf_cpu_time_ms"], [[1000]]))
        return answer["powers"]

    def test_a_certificate_and_users_that_change(self):
        self.web(self.TLS_ONLY + self.USERS, "a")
        daemon = self.estimate()
        self.assertEqual(ask(daemon, "a", "/metrics").status, 401)
        self.assertEqual(ask(daemon, "a", "/metrics", basic("alice", "guess")).status, 401)
        answer = ask(daemon, "a", "/metrics", basic("alice", "secret"))
        self.assertEqual(answer.status, 200)
        self.assertIn(b"\ntallywatt_estimator_connections_total 0\n", answer.body)
        # The socket knows no users.
        self.assertTrue(self.watts())
        self.web("basic_auth_users:\n  alice: none\n")
        wait_until(lambda: ask(daemon, "a", "/metrics").status == 401 and
                   "continuing with the previous one" in daemon.log(), "it is refused")
        self.web(self.TLS_ONLY + self.USERS.replace("alice", "bob"), "b")

        def changed():
            try:
                return ask(daemon, "b", "/metrics", basic("bob", "secret")).status == 200
            except ssl.SSLError:
                return False
        wait_until(changed, "the new certificate and user are in force")
        self.assertEqual(ask(daemon, "b", "/metrics", basic("alice", "secret")).status, 401)

    def test_requests_do_not_wait_for_a_password(self):
        """Its check takes seconds. Requests of its second half end before it does."""
        self.web(self.USERS.replace("$2b$04$", "$2b$14$"))
        daemon = self.estimate()
        ended, asked = [], []

        def guess():
            call(daemon, "GET", "/metrics", headers=basic("alice", "guess"))
            ended.append(time.monotonic())
        guesser = threading.Thread(target=guess)
        began = time.monotonic()
        guesser.start()
        try:
            while guesser.is_alive():
                asked.append([time.monotonic()])
                self.assertTrue(self.watts())
                asked[-1].append(time.monotonic())
        finally:
            guesser.join(TIMEOUT_S)
        half = (began + ended[0]) / 2
        beside = [answered for at, answered in asked if at > half and answered < ended[0]]
        # Requests that wait would end with it, one after the other.
        self.assertGreater(len(beside), 2, (began, ended, asked))

    def test_a_web_configuration_without_a_port_is_wrong_use(self):
        done = subprocess.run(
            [os.path.join(BIN, "tw-estimator"), "--web-config", self.web(self.USERS)],
            check=False, timeout=TIMEOUT_S, capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr.decode(),
                         "tw-estimator: --web-config: needs --metrics-listen\n")


if __name__ == "__main__":
    unittest.main()
