# SPDX-License-Identifier: Apache-2.0
"""tw-server's surroundings: TLS and users, systemd, the old server's keys."""
import concurrent.futures
import http.client
import json
import os
import select
import signal
import socket
import ssl
import subprocess
import unittest

from harness import BIN, ROOT, TIMEOUT_S, Answer, Case, call, wait_until
from web_case import TLS, WebCase, ask, basic

MODELS = os.path.join(ROOT, "model-db/models")


class WebConfig(WebCase):
    def serve(self, *args):
        return self.start_http("tw-server", "--model-db", MODELS, "--web-config",
                               self.path("web.yml"), *args)

    def test_tls_and_a_certificate_that_changes(self):
        self.web(self.TLS_ONLY + "http_server_config:\n  headers:\n    X-Test: yes it is\n", "a")
        server = self.serve()
        answer = ask(server, "a")
        self.assertEqual((answer.status, answer.headers["X-Test"]), (200, "yes it is"))
        with self.assertRaises(ssl.SSLError):
            ask(server, "b")
        self.web(self.TLS_ONLY, "b")

        def changed():
            try:
                return ask(server, "b").status == 200
            except ssl.SSLError:
                return False
        wait_until(changed, "the new certificate is used")
        # A large answer, and one that is no TLS at all.
        model = "/api/v1/models/nx12-rapl/rapl-sysfs/AbsPower/CounterOnly/XgboostFitTrainer_0/zip"
        self.assertGreater(len(ask(server, "b", model).body), 50000)
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            call(server, "GET", "/livez")

    def shake_hands(self, server, ciphers):
        """OpenSSL's client, with curve P-256 only; its suite, or None if there is none.

        In TLS 1.2 suites can be told apart."""
        context = ssl.create_default_context(cafile=os.path.join(TLS, "a.crt"))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers(ciphers)
        context.set_ecdh_curve("prime256v1")
        host, port = server.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as s:
            try:
                with context.wrap_socket(s, server_hostname=host) as tls:
                    return tls.cipher()[0]
            except (ssl.SSLError, ConnectionError):
                return None

    def test_the_suites_and_curves_that_are_named_are_used(self):
        suites = ("  cipher_suites:\n  - TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384\n"
                  "  prefer_server_cipher_suites: true\n")
        for curve, suite in (("CurveP256", "ECDHE-ECDSA-AES256-GCM-SHA384"),
                             ("CurveP384", None)):
            self.web(self.TLS_ONLY + suites + f"  curve_preferences:\n  - {curve}\n", "a")
            server = self.serve()
            self.assertEqual(self.shake_hands(server, "ECDHE+AESGCM"), suite)
            self.assertIsNone(self.shake_hands(server, "ECDHE+AES128:ECDHE+CHACHA20"))

    def test_users_and_passwords_that_change(self):
        self.web(self.USERS)
        server = self.serve()
        for path in ("/livez", "/metrics", "/no/such/path"):
            answer = call(server, "GET", path)
            self.assertEqual(answer.status, 401)
            self.assertTrue(answer.headers["WWW-Authenticate"].startswith("Basic "))
            self.assertEqual(answer.headers.get_content_type(), "application/problem+json")
        self.assertEqual(call(server, "POST", "/model", b"x" * 100000).status, 401)
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("alice", "secret")).status, 200)
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("alice", "wrong")).status, 401)
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("bob", "secret")).status, 401)
        self.web(self.USERS.replace("alice", "bob"))
        wait_until(lambda: call(server, "GET", "/livez",
                                headers=basic("bob", "secret")).status == 200,
                   "the new user is taken")
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("alice", "secret")).status, 401)

    def test_a_guesser_is_limited_and_a_known_user_is_served(self):
        self.web(self.USERS)
        server = self.serve()
        alice = basic("alice", "secret")
        self.assertEqual(call(server, "GET", "/livez", headers=alice).status, 200)
        wrong = []

        def guess():
            wrong.append(call(server, "GET", "/livez",
                              headers=basic("alice", f"guess {len(wrong)}")))
            return wrong[-1].status != 401
        wait_until(guess, "the guesser is limited")
        self.assertEqual(wrong[-1].status, 429)
        self.assertGreater(int(wrong[-1].headers["Retry-After"]), 0)
        self.assertIn("too many wrong passwords", wrong[-1].json()["detail"])
        # From the same address; and what is known to be wrong is no further guess.
        self.assertEqual(call(server, "GET", "/livez", headers=alice).status, 200)
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("alice", "guess 0")).status, 401)

    def test_a_new_user_may_open_many_connections_at_once(self):
        self.web(self.USERS)
        server = self.serve()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            asked = [pool.submit(call, server, "GET", "/livez",
                                 headers=basic("alice", "secret")) for _ in range(40)]
            self.assertEqual({a.result().status for a in asked}, {200})

    def test_a_request_with_a_body_waits_for_its_password(self):
        self.web(self.USERS)
        server = self.serve()
        for name, password, status in (("alice", "secret", 200), ("alice", "wrong", 401),
                                       ("bob", "secret", 401)):
            body = {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower"}
            self.assertEqual(call(server, "POST", "/model", body,
                                  headers=basic(name, password)).status, status)

    def test_a_file_that_becomes_empty_opens_no_door(self):
        self.web(self.USERS)
        server = self.serve()
        self.web("")

        def told():
            self.assertEqual(call(server, "GET", "/livez").status, 401)
            return "has no users any more" in server.log()
        wait_until(told, "the mistake is logged")
        self.assertEqual(call(server, "GET", "/livez",
                              headers=basic("alice", "secret")).status, 200)

    def test_a_file_that_breaks_leaves_what_was(self):
        self.web(self.USERS)
        server = self.serve()
        self.web("nonsense\n")
        alice = basic("alice", "secret")

        def told():
            self.assertEqual(call(server, "GET", "/livez", headers=alice).status, 200)
            return "cannot take the web configuration" in server.log()
        wait_until(told, "the mistake is logged")
        self.assertIn("line 1: want 'key: value'", server.log())
        self.assertEqual(call(server, "GET", "/livez").status, 401)

    def test_a_file_that_is_broken_at_the_start_is_a_failure(self):
        for text, why, certificate in (
                ("x\n", "want 'key: value'", None),
                (self.TLS_ONLY, "server.crt", None),
                (self.TLS_ONLY + "  cipher_suites:\n  - TLS_RSA_WITH_RC4_128_SHA\n",
                 "cipher_suites: 'TLS_RSA_WITH_RC4_128_SHA' is not known", "a")):
            self.web(text, certificate)
            done = subprocess.run([os.path.join(BIN, "tw-server"), "--listen", "127.0.0.1:0",
                                   "--model-db", MODELS, "--web-config", self.path("web.yml")],
                                  stderr=subprocess.PIPE, timeout=TIMEOUT_S, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr.decode())

    def test_a_client_without_certificate_is_refused(self):
        self.web(self.TLS_ONLY + "  client_auth_type: RequireAndVerifyClientCert\n"
                 f"  client_ca_file: {TLS}/b.crt\n", "a")
        server = self.serve()
        self.assertEqual(ask(server, "a").status, 403)
        self.assertEqual(ask(server, "a", client="b").status, 200)
        try:
            self.assertEqual(ask(server, "a", client="a").status, 403)
        except (ssl.SSLError, ConnectionError):
            pass  # refused while shaking hands


class Systemd(Case):
    def start_by_hand(self, **more):
        """With what systemd gives: a socket as descriptor 3, a watchdog."""
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.addCleanup(notify.close)
        notify.bind(self.path("notify"))
        notify.settimeout(TIMEOUT_S)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        script = 'export LISTEN_PID=$$ WATCHDOG_PID=$$; exec "$@" 3<&"$FD"'
        env = dict(os.environ, NOTIFY_SOCKET=self.path("notify"), LISTEN_FDS="1",
                   WATCHDOG_USEC="200000", FD=str(listener.fileno()), **more)
        log = open(self.path("log"), "wb")
        self.addCleanup(log.close)
        child = subprocess.Popen(["bash", "-c", script, "sh", os.path.join(BIN, "tw-server"),
                                  "--model-db", MODELS, "--ready-file", self.path("ready")],
                                 env=env, pass_fds=[listener.fileno()], stderr=log)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        return child, notify, listener.getsockname()[1]

    def test_a_socket_the_watchdog_reload_and_stop(self):
        child, notify, port = self.start_by_hand()
        self.assertIn(b"READY=1", notify.recv(4096))
        with open(self.path("ready"), encoding="ascii") as f:
            self.assertEqual(f.read(), f"127.0.0.1:{port}\n")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_S)
        connection.request("GET", "/readyz")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        for _ in range(3):
            self.assertEqual(notify.recv(4096), b"WATCHDOG=1")
        child.send_signal(signal.SIGHUP)
        seen = []
        while not seen or seen[-1] != b"READY=1":
            seen.append(notify.recv(4096))
        self.assertTrue(any(s.startswith(b"RELOADING=1\nMONOTONIC_USEC=") for s in seen), seen)
        child.terminate()
        while notify.recv(4096) != b"STOPPING=1":
            pass
        self.assertEqual(child.wait(TIMEOUT_S), 0)


class OldKeys(Case):
    def serve(self, env):
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.addCleanup(notify.close)
        notify.bind(self.path("notify"))
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TW_MODEL", "MODEL_"))}
        child = subprocess.Popen([os.path.join(BIN, "tw-server"), "--ready-file",
                                  self.path("ready")], stderr=subprocess.DEVNULL,
                                 env=dict(clean, NOTIFY_SOCKET=self.path("notify"), **env))
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        self.assertTrue(select.select([notify], [], [], TIMEOUT_S)[0])
        with open(self.path("ready"), encoding="ascii") as f:
            return f.read().strip().rsplit(":", 1)[1]

    def get(self, port, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def test_files_go_before_the_environment(self):
        os.mkdir(self.path("config"))
        self.write("config/MODEL_PATH", MODELS + "\n")
        self.write("config/MODEL_SERVER_MODEL_REQ_PATH", "/old/model\n")
        port = self.serve({"CONFIG_PATH": self.path("config"), "MODEL_PATH": "/nowhere",
                           "MODEL_SERVER_PORT": "0",
                           "MODEL_SERVER_MODEL_LIST_PATH": "old/best"})
        request = json.dumps({"metrics": ["cpu_cycles", "cpu_instructions", "cache_miss"],
                              "output_type": "AbsPower", "weight": True})
        for path in ("/model", "/old/model"):
            self.assertEqual(self.get(port, "POST", path, request).status, 200)
        for path in ("/best-models", "/old/best"):
            self.assertIn("BPFOnly", self.get(port, "GET", path).json()["AbsPower"])

    def in_force(self, program, **env):
        """Name -> value of the settings that these keys make."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("TW_MODEL", "MODEL_"))}
        done = subprocess.run([os.path.join(BIN, program), "--print-config"], check=True,
                              stdout=subprocess.PIPE, timeout=TIMEOUT_S,
                              env=dict(clean, CONFIG_PATH=self.dir, **env))
        return dict(line.split(" = ", 1) for line in done.stdout.decode().splitlines()
                    if " = " in line)

    def test_every_key_that_is_heeded_is_a_setting(self):
        self.write("ERROR_KEY", "mse\n")
        server = self.in_force("tw-server", INITIAL_PIPELINE_URL="http://h/a.zip",
                               MODEL_TOPURL="http://h/top", ERROR_KEY="r2", MNT_PATH="/mnt",
                               MODEL_SERVER_PORT="8200")
        self.assertEqual(server["error-key"], "mse")
        self.assertEqual(server["pull"], "http://h/a.zip")
        self.assertEqual(server["pull-from"], "http://h/top")
        self.assertEqual(server["model-db"], "/mnt/models")
        self.assertEqual(server["listen"], ":8200")
        self.assertEqual(self.in_force("tw-trainer", MODEL_PATH="/a", MNT_PATH="/mnt")["model-db"],
                         "/a")
        name = "http://kepler-model-server.kepler.svc.cluster.local"
        self.assertEqual(self.in_force("tw-estimator", MODEL_SERVER_ENABLE="true")["model-server"],
                         name + ":8100")
        self.assertEqual(self.in_force("tw-estimator", MODEL_SERVER_ENABLE="true",
                                       MODEL_SERVER_PORT="9")["model-server"], name + ":9")
        self.assertEqual(self.in_force("tw-estimator", MODEL_SERVER_ENABLE="true",
                                       MODEL_SERVER_URL="http://x")["model-server"], "http://x")
        self.assertNotIn("kepler", self.in_force("tw-estimator").get("model-server", ""))


if __name__ == "__main__":
    unittest.main()
