# SPDX-License-Identifier: Apache-2.0
"""A node with a meter of the whole machine only: every view of a workload has the same joules.

The views: the series, /api/v1/power, `tallywatt top` and its text, the page, the recording rules,
alerts and dashboards as Prometheus evaluates them, the epilog of Slurm, and the series of Kepler 0.5
to 0.9."""
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import unittest

import answering
from harness import ROOT, Case, call, need, run_tallywatt, sanitized, wait_until
from promtool import need_promtool, run
from scripted_vm import FIRST_PID, LABEL, Machine, Scrape, write
from test_prometheus_rules import RULES, filled_in, queries

POD, BOX = "8f3b1c52-7e0d-4b59-9a4e-0d1c2b3a4f5e", "0123456789abcdef" * 4
SLICE = f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice"
GROUPS = ("/system.slice/slurmstepd.scope/job_12/step_0/user/task_0",
          f"{SLICE}/cri-containerd-{BOX}.scope",
          "/machine.slice/machine-qemu\\x2d3\\x2dweb.scope", "/system.slice/ssh.service")
LOADS_MS = (20, 40, 10, 10)
STEP_S, SHARE = 0.05, 0.001
# Levels with the labels that name a workload, the most specific first.
LEVELS = (("process", "pid"), ("container", "container_id"), ("pod", "pod_id"), ("vm", "vm_id"),
          ("job", "job_id"))
ALERTS = os.path.join(ROOT, "etc/prometheus/tallywatt-alerts.yml")
EPILOG = os.path.join(ROOT, "etc/slurm/tallywatt-epilog")
# Steps of one second, of which the rules' windows of 2 minutes are full.
STEPS, AT = 600, "8m"
SAMPLE = re.compile(r"\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\} ([-+0-9.E]+)")
# Queries of power, without those of emissions, which need a carbon intensity, and of energy that
# belongs to no workload, of idle power only, of the errors of models.
WATTS = r"power_watts:|power_watts$|energy_joules_total\{.*rate|rate\(tallywatt_\w+_energy_joules"
OTHERS = r"co2e|label_values|idle_power|estimated"


class Replay(answering.Handler):
    """The answers of one tick, again and again."""

    def do_GET(self):
        body = json.dumps(self.server.answers[self.path.rpartition("=")[2]]).encode()
        self.answer(body, headers=[("Content-Type", "application/json")])


def alert(name):
    """Its expression."""
    with open(ALERTS, encoding="utf-8") as f:
        found = re.search(rf"- alert: {name}\n *expr: \|\n((?: {{10}}.*\n)+)", f.read())
    return " ".join(found[1].split())


class Inlet(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.machine = Machine(self.path("machine"), 2, len(GROUPS))
        for i, group in enumerate(GROUPS):
            write(f"{self.machine.top}/proc/{FIRST_PID + i}/cgroup", f"0::{group}\n")
        self.command("inlet", "while :; do echo 90; sleep 0.05; done")
        self.daemon = self.start_http(
            "tw-collector", "--interval", "200ms", "--bpf", "off", *self.machine.args, "--user", "root",
            *(["--filter=no"] if sanitized() else []),
            "--meter-command", self.path("bin/inlet"), "--meter-interval", "100ms",
            "--shipped-models", "", "--compat", "kepler-legacy", "--levels",
            "process,container,pod,vm,job")
        self.url = f"http://{self.daemon.address}"
        wait_until(lambda: list(Scrape(self.daemon).power()) == ["platform"], "the inlet is read")

    def command(self, name, text):
        write(self.path("bin", name), f"#!/bin/sh\n{text}\n")
        os.chmod(self.path("bin", name), 0o755)

    def load(self, seconds, step=lambda: None):
        for _ in range(int(seconds / STEP_S)):
            self.machine.use(LOADS_MS)
            step()
            threading.Event().wait(STEP_S)

    def quiet(self):
        """All use is counted: joules no longer grow."""
        ticks = Scrape(self.daemon).ticks
        wait_until(lambda: Scrape(self.daemon).ticks > ticks + 2, "it ticks")
        return Scrape(self.daemon)

    def same(self, seen, wanted, what):
        self.assertGreater(wanted, 0, what)
        self.assertAlmostEqual(seen, wanted, delta=wanted * SHARE, msg=what)

    @staticmethod
    def joules(scrape, level, **labels):
        return scrape.sum(f"tallywatt_{level}_energy_joules_total", zone="platform", **labels)

    def power(self, level):
        return json.loads(call(self.daemon, "GET", f"/api/v1/power?level={level}").body)

    def test_api_top_kepler_and_epilog_have_the_joules_of_the_series(self):
        for tool in ("curl", "jq"):
            need(tool, shutil.which(tool))
        self.load(1)
        now = self.quiet()
        for level, key in LEVELS:
            answer = self.power(level)
            shown = run_tallywatt("top", "--url", self.url, "--level", level, "--once", "--json")
            top = json.loads(shown.stdout)["workloads"]
            self.assertEqual((answer["sum"], top["sum"]), (["platform"], ["platform"]))
            for have in (answer, top):
                of = {str(w[key]): sum(z["dynamic_joules"] + z["idle_joules"] for z in w["zones"]
                                       if z["zone"] in have["sum"]) for w in have["workloads"]}
                for name, joules in of.items():
                    if name != "other":
                        self.same(joules, self.joules(now, level, **{key: name}), (level, name))
        for level, labels in (("node", {}), ("container", {"container_id": BOX}),
                              ("process", {"pid": str(FIRST_PID)}), ("vm", {"vm_id": "web"})):
            self.same(now.sum(f"kepler_{level}_platform_joules_total", **labels),
                      self.joules(now, level, **labels), ("kepler", level))
        self.same(now.sum("kepler_container_joules_total", container_id=BOX),
                  self.joules(now, "container", container_id=BOX), "kepler's sum")
        self.same(self.stored(), self.joules(now, "job", job_id="12"), "epilog")

    def stored(self):
        comment = self.write("comment", "")
        self.command("scontrol", f"echo {self.daemon.address.split(':')[1]}")
        self.command("sacctmgr", f"for last; do :; done; echo \"$last\" >> {comment}")
        subprocess.run([EPILOG], check=True, env={
            "PATH": os.pathsep.join((self.path("bin"), os.environ["PATH"])), "SLURM_JOB_ID": "12",
            "TALLYWATT_URL": "http://127.0.0.1:%s", "TALLYWATT_WAIT_S": "0"})
        wait_until(lambda: os.path.getsize(comment) > 0, "it is stored")
        with open(comment, encoding="ascii") as f:
            return float(re.fullmatch(r"AdminComment=energy_joules=([0-9.]+) .*\n", f.read())[1])

    def top(self, answers, level, ids):
        """By id the watts, those of idle power and the joules that top prints of answers, and the
        rounding of each."""
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Replay)
        server.answers = answers
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            text = run_tallywatt("top", "--url", f"http://127.0.0.1:{server.server_address[1]}",
                                 "--once", "--level", level).stdout.decode()
        finally:
            server.shutdown()
            thread.join()
            server.server_close()
        lines = [line.split() for line in text.splitlines()]
        head = next(i for i, words in enumerate(lines) if words and words[0] == "ID")
        columns = [lines[head].index(name) for name in ("WATTS", "IDLE", "JOULES")]
        rows = {i: words for words in lines[head + 1:] if words
                for i in ids if i.startswith(words[0])}
        return {i: [(float(words[c]), 0.5 / 10 ** len(words[c].partition(".")[2]))
                    for c in columns] for i, words in rows.items()}

    def check_top(self, answers, level):
        key = dict(LEVELS)[level]
        rows = [w for w in answers[level]["workloads"] if w.get(key) and w[key] != "other"]
        shown = self.top(answers, level, [w[key] for w in rows])
        self.assertEqual(set(shown), {w[key] for w in rows})
        for w in rows:
            of = [sum(z[figure] for z in w["zones"] if z["zone"] in answers[level]["sum"])
                  for figure in ("dynamic_watts", "idle_watts", "dynamic_joules")]
            for (value, rounding), wanted in zip(shown[w[key]], of):
                self.assertAlmostEqual(value, wanted, delta=abs(wanted) * SHARE + rounding,
                                       msg=(level, w[key]))
        return sum(watts + idle for (watts, _), (idle, _), _ in shown.values())

    def test_the_page_and_top_have_the_watts_of_the_api(self):
        need("node", shutil.which("node"))
        seen, busy = [], []

        def look():
            """Where there is time for all of it in one tick. Idle power is learned, or not."""
            page = json.loads(call(self.daemon, "GET", "/api/v1/live").body)
            api = self.power("pod")
            answers = {"node": self.power("node"), "pod": api, "process": self.power("process")}
            if page["tick"] == json.loads(call(self.daemon, "GET", "/api/v1/live").body)["tick"]:
                seen.append((page, api, answers))
                if any(z["dynamic_watts"] + z["idle_watts"] > 1
                       for w in api["workloads"] for z in w["zones"]):
                    busy.append(answers)

        def have_looked():
            self.load(1, look)
            return len(busy) > 1
        wait_until(have_looked, "a tick with load is seen whole")
        for level in ("pod", "process"):
            self.assertGreater(self.check_top(busy[-1], level), 0)
        script = self.write("page.mjs", "import { Tree, sum } from "
                            f"'{ROOT}/web/src/tree.js';\n"
                            "import { readFileSync } from 'node:fs';\n"
                            "const tree = new Tree();\n"
                            "tree.take(JSON.parse(readFileSync(process.argv[2])));\n"
                            "console.log(JSON.stringify([...tree.groups.values()]"
                            ".map(g => [g.level, g.id, sum(g) / 1000])));\n")
        compared = 0
        for page, api, _ in seen:
            shown = subprocess.run(["node", script, self.write("live", json.dumps(page))],
                                   check=True, stdout=subprocess.PIPE)
            of = {i: w for level, i, w in json.loads(shown.stdout) if level == "pod"}
            [zone] = api["workloads"][0]["zones"] if api["workloads"] else [None]
            if zone and of.get(POD, 0) > 0:
                self.same(of[POD], zone["dynamic_watts"] + zone["idle_watts"], "page")
                compared += 1
        self.assertGreater(compared, 0)

    def evaluate(self, first, last, asked):
        """The samples of each query, of series that grow in each second by what these did."""
        before = {(n, *sorted(has.items())): v for n, has, v in first.samples}
        series = [{"series": 'up{job="tw-collector",instance="n"}', "values": f"1x{STEPS}"}]
        for name, has, v in last.samples:
            if not name.startswith("tallywatt_"):
                continue
            grown = v - before.get((name, *sorted(has.items())), v)
            labels = ",".join(f'{k}="{t}"' for k, t in has.items())
            series.append({"series": f'{name}{{job="tw-collector",instance="n",{labels}}}',
                           "values": f"{v:.9f}{grown:+.9f}x{STEPS}"})
        test = {"rule_files": RULES, "evaluation_interval": "15s", "tests": [{
            "interval": "1s", "input_series": series, "promql_expr_test": [
                {"expr": expr, "eval_time": AT, "exp_samples": []} for expr in asked]}]}
        said = run("test", "rules", self.write("test.yml", json.dumps(test))).stdout.decode()
        found = re.findall(r'expr: "((?:[^"\\]|\\.)*)", time: \w+,\s+exp: nil\s+got: (.*)', said)
        self.assertTrue(found, said)
        return {json.loads(f'"{expr}"'): SAMPLE.findall(got) for expr, got in found}

    def check_alerts(self, answers, no_power, unattributed, first, last):
        """There is power, of which so much is a workload's; `unattributed` is both sides."""
        self.assertNotIn(no_power, answers)
        grown = self.joules(last, "node") - self.joules(first, "node")
        waiting = [s.sum("tallywatt_node_unattributed_joules", zone="platform")
                   for s in (first, last)]
        for side, wanted in zip(unattributed, (waiting[1] - waiting[0], grown)):
            [(text, value)] = answers[side]
            self.assertEqual(dict(LABEL.findall(text))["zone"], "platform")
            self.assertAlmostEqual(float(value), wanted, delta=grown * SHARE, msg=side)

    def test_rules_alerts_and_dashboards_have_the_joules_of_the_series(self):
        need_promtool()
        self.load(1)
        first = self.quiet()
        self.load(2)
        last = self.quiet()

        def grown(level, **labels):
            return self.joules(last, level, **labels) - self.joules(first, level, **labels)

        def wanted(query, labels):
            mode = {"mode": labels["mode"]} if "mode" in labels else {}
            for level, key in LEVELS:
                if key in labels:
                    return grown(level, **{key: labels[key]}, **mode)
            if "user_id" in labels:
                return grown("job", user_id=labels["user_id"])
            # An empty namespace is no label.
            return grown("pod" if "namespace" in query or mode else "node", **mode)
        rules = []
        for path in RULES:
            with open(path, encoding="utf-8") as f:
                rules += re.findall(r"- record: (\S+)", f.read())
        # The mean of a day takes a day to be that of the load.
        asked = [q.replace("[1d]", "[2m]") for q in (*rules, *(filled_in(q) for _, _, q in queries()))
                 if re.search(WATTS, q) and not re.search(OTHERS, q)]
        no_power = alert("TallywattNoPower")
        unattributed = [re.sub(r"^0\.2 \* ", "", side).replace("[30m]", "[2m]") for side in
                        alert("TallywattEnergyUnattributed").split(" > ")]
        answers = self.evaluate(first, last, [*asked, no_power, *unattributed])
        self.check_alerts(answers, no_power, unattributed, first, last)
        checked = set()
        for query in asked:
            self.assertTrue(answers.get(query), f"no samples: {query}")
            for text, value in answers[query]:
                labels = dict(LABEL.findall(text))
                joules = wanted(query, labels)
                factor = 0.024 if "0.024" in query else 1
                if joules > 0:
                    self.same(float(value), joules * factor, (query, text))
                    checked |= {key for _, key in LEVELS if key in labels}
                else:
                    self.assertEqual(float(value), 0, (query, text))
        self.assertEqual(checked, {key for _, key in LEVELS})


if __name__ == "__main__":
    unittest.main()
