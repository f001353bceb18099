# SPDX-License-Identifier: Apache-2.0
"""The web pages: in a real browser, and as any client gets them.

The browser is Chromium, driven by playwright-core (tests/web/browser.mjs). With TW_SHOTS=DIR
it leaves pictures of the pages there."""
import gzip
import json
import os
import shutil
import subprocess
import threading
import unittest

from harness import (BIN, GENERATED, LINEAR_TRAINERS, REQUIRED, ROOT, TIMEOUT_S, Case, call, need, need_fleet,
                     read_json, sanitized, train_generated, wait_until)
from scripted_vm import FIRST_PID, Machine, write
from simulated_agents import Node, Server

MODULES = os.environ.get("WEB_MODULES", os.path.join(BIN, "web/node_modules"))
INTERVAL_MS = 500
CHECKS = ("live", "keyboard", "many", "models", "jobs", "units", "fleet")
NODES = 24
LIMIT_BYTES = 60 * 1024


def chromium():
    """The browser and what drives it; skips where one is missing."""
    found = shutil.which("chromium")
    have = found and shutil.which("node") and subprocess.run(
        [os.path.join(ROOT, "web/modules"), "node", "npm", MODULES, "--dev"], check=False,
        stdin=subprocess.DEVNULL).returncode == 0
    need("chromium", have)
    return found


class Pages(Case):
    """The daemons, on a machine of files."""

    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)

    def collector(self):
        machine = Machine(self.path("machine"), 2, 4)
        write(f"{machine.top}/proc/{FIRST_PID}/cgroup", "0::/system.slice/cron.service\n")
        machine.args += ("--meters", "fake", "--interval", f"{INTERVAL_MS}ms", "--bpf", "off",
                         *(["--filter=no"] if sanitized() else []))
        return machine, self.start_http("tw-collector", *machine.args)

    def with_pages(self, daemon):
        answer = call(daemon, "GET", "/")
        if answer.headers["Content-Type"].startswith("text/plain"):
            if "web" in REQUIRED:
                raise AssertionError("TW_REQUIRE names 'web': the build has no pages")
            raise unittest.SkipTest("a build without web pages")
        return answer


class Served(Pages):
    def test_pages_are_files_of_their_own_server_only(self):
        server = self.start_http("tw-server", "--model-db", self.path("none"))
        page = self.with_pages(server)
        self.assertEqual(page.status, 200)
        self.assertIn("default-src 'none'; script-src 'self'", page.headers["Content-Security-Policy"])
        self.assertNotIn("unsafe", page.headers["Content-Security-Policy"])
        self.assertEqual(page.headers["X-Content-Type-Options"], "nosniff")
        self.assertIsNone(page.headers["Content-Encoding"])
        for name in ("models.js", "library.js", "style.css", "icon.svg"):
            path = f"/web/{name}"
            packed = call(server, "GET", path, headers={"Accept-Encoding": "gzip"})
            self.assertEqual(packed.headers["Content-Encoding"], "gzip")
            plain = call(server, "GET", path)
            self.assertEqual(gzip.decompress(packed.body), plain.body)
            self.assertEqual(call(server, "GET", path, headers={
                "If-None-Match": packed.headers["ETag"]}).status, 304)
            self.assertEqual(call(server, "HEAD", path).body, b"")
        self.assertEqual(call(server, "GET", "/web/live.js").status, 404)
        self.assertEqual(call(server, "GET", "/web/../etc").status, 404)
        self.assertEqual(call(server, "POST", "/").status, 405)

    def test_all_pages_together_are_small(self):
        server = self.start_http("tw-server", "--model-db", self.path("none"))
        self.with_pages(server)
        with open(os.path.join(BIN, "gen/web/sizes.txt"), encoding="ascii") as f:
            sizes = {name: int(size) for name, size in (line.split() for line in f)}
        self.assertEqual(sizes["limit"], LIMIT_BYTES)
        self.assertLessEqual(sizes["total"], LIMIT_BYTES)

    def test_the_same_sources_give_the_same_bytes(self):
        self.with_pages(self.start_http("tw-server", "--model-db", self.path("none")))
        if not os.path.isdir(MODULES):
            raise unittest.SkipTest(f"no {MODULES}")
        shutil.copytree(os.path.join(ROOT, "web"), self.path("web"))
        subprocess.run(["node", self.path("web/build.mjs"), self.path("out"), MODULES],
                       check=True, timeout=TIMEOUT_S)
        for name in ("live.inc", "models.inc", "jobs.inc"):
            with open(self.path("out", name), "rb") as a, \
                    open(os.path.join(BIN, "gen/web", name), "rb") as b:
                self.assertTrue(a.read() == b.read(), name)

    def test_an_answer_has_what_changed_since_the_last(self):
        machine, daemon = self.collector()
        whole = call(daemon, "GET", "/api/v1/live").json()
        self.assertTrue(whole["whole"])
        self.assertEqual(len(whole["processes"]), whole["living"])
        names = {g[2]: g for g in whole["groups"]}
        self.assertEqual(set(names), {"container", "cgroup"})
        self.assertEqual(names["cgroup"][3], "cron.service")
        since = f"/api/v1/live?tick={whole['tick']}&newest={whole['newest']}"

        # A process that uses CPU time, one that is new, and one that is gone.
        machine.use([500, 0, 0, 0])
        write(f"{machine.top}/proc/900/cgroup", "0::/system.slice/cron.service\n")
        write(f"{machine.top}/proc/900/stat",
              "900 (<b>bold</b>) S 1 1 1 0 -1 0 1 2 3 4 0 0 0 0 20 0 1 0 500 1\n")
        shutil.rmtree(f"{machine.top}/proc/{FIRST_PID + 3}")
        serial = next(p[0] for p in whole["processes"] if p[2] == FIRST_PID + 3)
        seen = {}

        def has_all():
            answer = call(daemon, "GET", since)
            if answer.status == 204:
                return False
            part = answer.json()
            self.assertFalse(part["whole"])
            seen["gone"] = seen.get("gone") or serial in part["ended"]
            seen["new"] = seen.get("new") or any(p[3] == "<b>bold</b>" for p in part["processes"])
            seen["busy"] = seen.get("busy") or any(
                p[2] == FIRST_PID and p[4] is not None and p[4] > 0 for p in part["processes"])
            seen["idle"] = seen.get("idle") or all(
                p[2] != FIRST_PID + 1 for p in part["processes"])
            return all(seen.get(k) for k in ("gone", "new", "busy", "idle"))

        wait_until(has_all, f"the answer has the changes: {seen}", pause_s=0.02)
        self.assertEqual(call(daemon, "GET", "/api/v1/live?tick=x").status, 400)

    def test_history_grows_by_slots(self):
        _, daemon = self.collector()

        def history(node=0):
            return call(daemon, "GET", f"/api/v1/history?node={node}").json()["node"]

        wait_until(lambda: history()["last"] >= 1, "a slot", pause_s=0.1)
        first = history()
        self.assertEqual(len(first["age_seconds"]), first["last"])
        self.assertEqual([z["zone"] for z in first["zones"]], ["package", "core", "dram"])
        for z in first["zones"]:
            self.assertEqual(len(z["dynamic_watts"]), len(first["age_seconds"]))
        self.assertEqual(history(first["last"])["age_seconds"][:1] if
                         history()["last"] == first["last"] else [], [])
        # A number of another process: all.
        self.assertGreaterEqual(len(history(10 ** 9)["age_seconds"]), 1)


class Browser(Pages):
    @staticmethod
    def training(name, trainers):
        return {"name": name, "energy_source": "rapl-sysfs",
                "trainer": {"abs_trainers": list(trainers), "dyn_trainers": []},
                "prom_response": read_json(GENERATED["0.7"])}

    def start_jobs(self):
        trainer = self.start_http("tw-trainer", "--threads", "1", "--parallel", "3")
        call(trainer, "POST", "/api/v1/train", self.training("first", LINEAR_TRAINERS[:1]))
        call(trainer, "POST", "/api/v1/train", self.training("second", LINEAR_TRAINERS))
        return trainer

    def start_fleet(self):
        """A collector that sums simulated nodes: one has a hostile name, one is down."""
        need_fleet()
        of = {f"n{i}": Node(f"rack{1 + i // 8}-node{i % 8}", watts=10 + 7 * i, seed=i) for i in range(NODES)}
        of["bad"] = "garbage"
        # Two machines of one name: what one measures as platform is no part of the other.
        of["twin1"] = Node("twin", watts=3, kinds=("platform",), source="acpi")
        of["twin2"] = Node("twin", watts=9)
        of["hostile"] = Node("<i>node</i>", watts=5, source="model")
        server = Server(of)
        self.addCleanup(server.close)
        return self.start_http("tw-collector", "--local=no", "--agents", ",".join(map(server.url, of)),
                               "--agents-interval", "500ms", *(["--filter=no"] if sanitized() else []))

    def use_cpu(self, machine, stop):
        while not stop.wait(INTERVAL_MS / 2000):
            machine.use([100, 50, 0, 20])

    def test_pages_in_a_browser(self):
        browser = chromium()
        machine, collector = self.collector()
        self.with_pages(collector)
        write(f"{machine.top}/proc/900/cgroup", "0::/system.slice/cron.service\n")
        write(f"{machine.top}/proc/900/stat",
              "900 (<b>bold</b>) S 1 1 1 0 -1 0 1 2 3 4 0 0 0 0 20 0 1 0 500 1\n")
        train_generated(self.path("db"), trainers=LINEAR_TRAINERS[:1])
        server = self.start_http("tw-server", "--model-db", self.path("db"))
        trainer = self.start_jobs()
        fleet = self.start_fleet()
        long = json.dumps(self.training("long", ["AutoTrainer"]))
        stop = threading.Event()
        user = threading.Thread(target=self.use_cpu, args=(machine, stop))
        user.start()
        try:
            done = subprocess.run(
                ["node", os.path.join(ROOT, "tests/web/browser.mjs"), json.dumps({
                    "modules": MODULES, "chromium": browser,
                    "live": f"http://{collector.address}/", "models": f"http://{server.address}/",
                    "jobs": f"http://{trainer.address}/", "fleet": f"http://{fleet.address}/fleet",
                    "long": self.write("long.json", long),
                    "nodes": NODES, "shots": os.environ.get("TW_SHOTS")})],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                timeout=TIMEOUT_S, check=False)
        finally:
            stop.set()
            user.join()
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        result = json.loads(done.stdout)
        print(json.dumps(result["figures"]))
        self.assertEqual(set(result["wrong"]), set(CHECKS))
        self.assertEqual({k: v for k, v in result["wrong"].items() if v}, {})


if __name__ == "__main__":
    unittest.main()
