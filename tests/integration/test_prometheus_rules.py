# SPDX-License-Identifier: Apache-2.0
"""Rules, alerts and dashboards of etc/: promtool, and a real Prometheus that scrapes all daemons."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

from harness import ROOT, TIMEOUT_S, train_generated, wait_until
from metered import Metered
from sources import free_port, need_prometheus

ETC = os.path.join(ROOT, "etc/prometheus")
BOARDS = os.path.join(ROOT, "etc/grafana")
RULES = sorted(glob.glob(os.path.join(ETC, "tallywatt-*.yml")))

# Queries that need an exporter of somebody else's, online training, units of work, or a machine
# without a meter.
WITHOUT_DATA = ("co2e", "tw_trainer_online_", "tallywatt_model_", "tallywatt_node_unattributed_joules",
                *(f"tallywatt_unit_{name}" for name in ("joules", "low_", "high_", "standing_", "drift")))

# Kepler's public dashboards ask for these (Kepler 0.10 and later).
KEPLER = [
    'sum(kepler_node_cpu_watts{zone="package"})',
    "sum by (zone) (kepler_node_cpu_active_watts)", "sum by (zone) (kepler_node_cpu_idle_watts)",
    "kepler_node_cpu_info", "kepler_node_cpu_usage_ratio",
    "topk(10, sum by (comm, pid) (kepler_process_cpu_watts))",
    "topk(10, kepler_container_cpu_watts)", "topk(10, kepler_vm_cpu_watts)",
    "topk(10, sum by (pod_name, pod_namespace) (kepler_pod_cpu_watts))",
    "sum by (zone) (rate(kepler_node_cpu_joules_total[1m]))",
    "group by (node_name, zone) (kepler_node_cpu_watts)",
    "count by (instance, model_name) (kepler_node_cpu_info)",
    'kepler_process_cpu_watts{zone=~".+", pid="11"}', 'kepler_vm_cpu_watts{vm_name=~".+"}',
]

SCRAPE = """global: {scrape_interval: 500ms, evaluation_interval: 500ms}
rule_files: [%s]
scrape_configs:
"""


class Prometheus:
    """A real one with the rules, that scrapes {job: address}."""

    def __init__(self, case, targets):
        config = SCRAPE % ", ".join(json.dumps(path) for path in RULES)
        for job, address in targets.items():
            config += f"  - {{job_name: {job}, static_configs: [{{targets: ['{address}']}}]}}\n"
        self.url = f"http://127.0.0.1:{free_port()}"
        with open(case.path("prometheus.log"), "wb") as log:
            self.proc = subprocess.Popen(
                ["prometheus", f"--config.file={case.write('prometheus.yml', config)}",
                 f"--storage.tsdb.path={case.path('tsdb')}",
                 f"--web.listen-address={self.url[len('http://'):]}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        case.addCleanup(self.stop)
        wait_until(self.ready, "Prometheus answers")

    def ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/-/ready", timeout=5):
                return True
        except OSError:
            return False

    def stop(self):
        self.proc.kill()
        self.proc.wait()

    def get(self, path, **query):
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            return json.load(answer)["data"]

    def ask(self, query):
        return self.get("query", query=query)["result"]


def queries():
    """(board, title, PromQL) of each panel and of each variable."""
    for path in sorted(glob.glob(os.path.join(BOARDS, "*.json"))):
        with open(path, encoding="utf-8") as f:
            board = json.load(f)
        for panel in board["panels"]:
            for target in panel["targets"]:
                yield board["uid"], panel["title"], target["expr"]
        for variable in board["templating"]["list"]:
            found = re.fullmatch(r"label_values\((.*), \w+\)", variable["query"])
            if found:
                yield board["uid"], variable["name"], found[1]


def filled_in(query):
    return (query.replace("$job", "tw-collector").replace("$instance", ".+")
            .replace("$namespace", ".*"))


class Files(unittest.TestCase):
    def promtool(self, *args):
        need_prometheus()
        done = subprocess.run(["promtool", *args], check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_rules_are_right(self):
        self.promtool("check", "rules", *RULES)

    def test_the_sample_configuration_is_right(self):
        self.promtool("check", "config", os.path.join(ETC, "prometheus.yml"))

    def test_the_configurations_of_a_fleet_are_right(self):
        self.promtool("check", "config", "--agent", os.path.join(ETC, "fleet-agent.yml"))
        self.promtool("check", "config", os.path.join(ETC, "fleet-central.yml"))

    def test_the_lines_of_the_manual_are_right_and_no_command_writes_a_user_s_file(self):
        with open(os.path.join(ROOT, "docs/prometheus.md"), encoding="utf-8") as f:
            blocks = re.findall(r"^```(yaml|sh)\n(.*?)^```$", f.read(), re.M | re.S)
        (lines,), commands = ([text for kind, text in blocks if kind == wanted]
                              for wanted in ("yaml", "sh"))
        for command in commands:
            self.assertNotRegex(command, r"\b(cp|mv|install|tee)\b|>")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "prometheus.yml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(lines.replace("/usr/local/share/tallywatt/examples", ETC))
            self.promtool("check", "config", path)

    def test_rules_make_known_watts_and_alerts(self):
        self.promtool("test", "rules", *sorted(glob.glob(os.path.join(
            ROOT, "tests/prometheus/*_test.yml"))))

    def test_dashboards_are_what_their_program_writes(self):
        sys.path.insert(0, BOARDS)
        import dashboards  # noqa: PLC0415
        for name, board in dashboards.DASHBOARDS.items():
            with open(os.path.join(BOARDS, f"{name}.json"), encoding="utf-8") as f:
                self.assertEqual(f.read(), dashboards.text_of(board),
                                 f"run etc/grafana/dashboards.py: {name}.json differs")


class Loop(Metered):
    def setUp(self):
        need_prometheus()
        super().setUp()

    def start_all(self):
        machine = self.machine()
        train_generated(self.path("db"))
        units = self.write("units.json", '{"units":[{"name":"web","work":["http_requests_total"]}]}')
        return {
            "tw-collector": self.collect("--compat", "kepler,kepler-legacy", *machine),
            "tw-server": self.start_http("tw-server", "--model-db", self.path("db")),
            "tw-trainer": self.start_http("tw-trainer", "--model-db", self.path("db"),
                                          "--prometheus", "http://127.0.0.1:1", "--unit", units),
        }

    def run_machine(self, seconds):
        """Each RAPL zone counts on, and both processes run."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.rapl(self.uj + 1350000)
            self.run_processes(self.ticks + 5)
            threading.Event().wait(0.1)

    def answered(self, server, wanted):
        def missing():
            self.run_machine(0.5)
            return {q for q in wanted if not server.ask(q)}
        wait_until(lambda: not missing(), "every query has data")

    def test_queries_of_workloads_are_answered_where_only_the_whole_machine_is_measured(self):
        daemon = self.collect("--meters", "acpi", *self.machine())
        server = Prometheus(self, {"tw-collector": daemon.address})
        self.answered(server, {filled_in(query) for board, _, query in queries()
                               if board == "tallywatt-workloads"})
        self.assertEqual({sample["metric"]["zone"] for sample in server.ask(
            "tallywatt_node_sum_info")}, {"platform"})

    def test_every_query_is_answered(self):
        daemons = self.start_all()
        targets = {job: daemon.address for job, daemon in daemons.items()}
        server = Prometheus(self, targets)
        every = [(board, title, filled_in(query)) for board, title, query in queries()]
        wanted = {q for _, _, q in every if not any(word in q for word in WITHOUT_DATA)}
        wanted |= set(KEPLER)
        wanted -= {q for q in wanted if "estimator" in q}

        self.answered(server, wanted)
        for board, title, query in every:
            server.ask(query)  # an error is an exception

        node = server.ask("instance:tallywatt_node_power_watts:rate2m")
        self.assertEqual([sample["metric"]["covers"] for sample in node], ["platform"])
        # A rate of two minutes counts the time before the start as 0 W; a gauge does not. The
        # machine's power meter, in its file, reads 90 W.
        self.assertGreater(float(node[0]["value"][1]), 0)
        platform = server.ask('tallywatt_node_power_watts{zone="platform"}')
        self.assertAlmostEqual(float(platform[0]["value"][1]), 90, 3)
        broken = [rule["name"] for group in server.get("rules")["groups"]
                  for rule in group["rules"] if rule["health"] == "err"]
        self.assertEqual(broken, [])


if __name__ == "__main__":
    unittest.main()
