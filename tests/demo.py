#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole way on this machine: from its power meter to watts by a model of its own.

1. tw-collector reads the machine's power meter. A machine without a meter, such as most
   virtual machines, gets the simulated one, which is labelled so.
2. `tallywatt engage` runs short workloads, records the collector, trains a model of this
   machine and publishes it in the database of tw-server.
3. A second tw-collector, which has no meter, gets that model from tw-server and estimates.
4. A table shows measured beside estimated watts, with the model and its error, and the
   processes and containers that use most, while a load goes up and down.

Exits 0 if the estimates agree with the meter. Ends after --duration, or by Ctrl-C; nothing
stays behind, unless --keep leaves the programs running.
"""
import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

TESTS = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(TESTS, "integration"))
from harness import BIN, ROOT, Daemon, sanitized, wait_until  # noqa: E402

PIPELINE = "this-machine"
TRAINER = "LinearRegressionTrainer"
INTERVAL = "500ms"
PHASE = "2s"
# A table is drawn so often, of so many workloads of each level.
DRAW_S = 2
ROWS = 5
# The mean estimate is so close to the mean of the meter, or the demo has failed. A busy
# machine has other loads in the short recording.
TOLERANCE = 0.25
SAMPLE = re.compile(r'^(\w+)\{(.*)\} ([0-9.e+-]+)$', re.M)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def say(text):
    print(f"demo: {text}", flush=True)


def address(port, keep):
    """The usual port where the programs stay and nobody has it, else a free one."""
    if keep:
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return f"127.0.0.1:{port}"
            except OSError:
                pass
    return "127.0.0.1:0"


def get(daemon, path):
    with urllib.request.urlopen(f"http://{daemon.address}{path}", timeout=60) as answer:
        return answer.read().decode()


def samples(daemon, name):
    """(labels, value) of each sample of a metric."""
    return [(dict(LABEL.findall(labels)), float(value))
            for found, labels, value in SAMPLE.findall(get(daemon, "/metrics")) if found == name]


def zones(daemon):
    """Zone -> (source, watts); the packages of a machine are added up."""
    found = {}
    for labels, watts in samples(daemon, "tallywatt_node_power_watts"):
        if labels["zone"] != "sensor":
            zone = labels["zone"]
            found[zone] = labels["source"], found.get(zone, (0, 0))[1] + watts
    return found


def workloads(daemon, level):
    """(name, watts above idle, CPU time) of the workloads of a level that run, most first."""
    rows = []
    for w in json.loads(get(daemon, f"/api/v1/power?level={level}"))["workloads"]:
        if w["ended"]:
            continue
        of = {z["zone"]: z["dynamic_watts"] for z in w["zones"]}
        parts = [of[z] for z in ("package", "dram", "gpu", "other") if z in of]
        rows.append((w.get("command") or w.get("container_name") or w.get("container_id", "?")[:12],
                     sum(parts) if parts else of.get("platform", 0.0), w["cpu_time_ms"] / 1e3))
    return sorted(rows, key=lambda row: -row[1])


class Demo:
    def __init__(self, folder, keep):
        self.folder, self.keep = folder, keep
        self.daemons, self.load = [], None
        self.db = os.path.join(folder, "models")
        self.measured, self.estimated = [], []
        self.drawn = 0

    def start(self, name, program, *args):
        daemon = Daemon(os.path.join(self.folder, name), program, args)
        self.daemons.append(daemon)
        return daemon

    def collector(self, name, port, *args):
        return self.start(name, "tw-collector", "--user", "root" if os.geteuid() == 0 else "nobody",
                          "--listen", address(port, self.keep),
                          "--interval", INTERVAL, *(["--filter=no"] if sanitized() else []), *args)

    def close(self):
        if self.load is not None:
            self.load.kill()
            self.load.wait()
        if not self.keep:
            for daemon in reversed(self.daemons):
                daemon.stop()
            shutil.rmtree(self.folder)

    # ---- the steps ----

    def find_meter(self):
        """The collector of the machine's own meter, else of the simulated one."""
        meter = self.collector("meter", 8103, "--top", "0", "--shipped-models", "")
        if any(source != "model" for source, _ in self.first_watts(meter, 3).values()):
            return meter, None
        meter.stop()
        self.daemons.remove(meter)
        say("no power meter here ('tallywatt probe' says why): the meter is SIMULATED from CPU time")
        return self.collector("simulated", 8103, "--top", "0", "--meters", "fake"), "fake"

    @staticmethod
    def first_watts(daemon, patience_s):
        """The zones of the collector, once it has any; {} if it has none."""
        try:
            wait_until(lambda: zones(daemon), "first watts", timeout=patience_s, pause_s=0.1)
        except AssertionError:
            return {}
        return zones(daemon)

    def teach(self, meter, simulated):
        """Record workloads, train and publish; the energy source."""
        args = ["engage", "--url", f"http://{meter.address}", "--dir",
                os.path.join(self.folder, "engage"), "--model-db", self.db, "--name", PIPELINE,
                "--phase", PHASE, "--interval", INTERVAL, "--trainers", TRAINER,
                "--group", "BPFOnly", *(["--source", simulated] if simulated else [])]
        engage = subprocess.Popen([os.path.join(BIN, "tallywatt"), *args],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        lines = []
        try:
            for line in engage.stdout:
                lines.append(line)
                if re.search(r"\[\d+/\d+\]|:   |W at rest", line):
                    say(line.strip().replace("tallywatt engage: ", ""))
        finally:
            engage.terminate()
            engage.wait()
            engage.stdout.close()
        models = os.path.join(self.db, PIPELINE)
        if engage.returncode != 0 or not os.path.isdir(models):
            raise AssertionError("tallywatt engage:\n" + "".join(lines))
        disturbed = sum("other processes used" in line for line in lines)
        if disturbed:
            say(f"other programs ran in {disturbed} of the phases, so that rest was not at rest")
        why = [line.strip() for line in lines if line.startswith("no model serves")]
        if why:
            say(f"the model has no certificate, so that no client gets it by default ({why[0]})")
        return sorted(name for name in os.listdir(models)
                      if os.path.isdir(os.path.join(models, name, "AbsPower")))[0], not why

    def switch(self, source, certified):
        """A collector without a meter, which gets the model of this machine."""
        server = self.start("server", "tw-server", "--listen", address(8100, self.keep),
                            "--model-db", self.db)
        say(f"tw-server serves it on {server.address}")
        model = os.path.join(self.db, PIPELINE, source, "AbsPower/BPFOnly", f"{TRAINER}_0")
        found = (["--model-server", f"http://{server.address}", "--model-source", source]
                 if certified else ["--model", model])
        blind = self.collector("model", 8104, "--meters", "model", "--shipped-models", "",
                               "--estimated-idle", "scale", *found)
        wait_until(lambda: zones(blind), "the collector without a meter estimates")
        return blind

    # ---- the table ----

    def follow_load(self, elapsed_s):
        """A process that is busy for half of the time, in turns of 4 s."""
        if self.load is None:
            self.load = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        self.load.send_signal(signal.SIGCONT if elapsed_s % 8 < 4 else signal.SIGSTOP)

    def draw(self, meter, blind, simulated):
        real, guess = zones(meter), zones(blind)
        shared = [zone for zone in real if zone in guess]
        lines = [f"{'zone':10}{'source':>14}{'measured W':>13}{'estimated W':>13}{'off by W':>10}"]
        for zone in shared:
            lines.append(f"{zone:10}{real[zone][0]:>14}{real[zone][1]:13.2f}{guess[zone][1]:13.2f}"
                         f"{guess[zone][1] - real[zone][1]:10.2f}")
        for zone in [z for z in real if z not in guess]:
            lines.append(f"{zone:10}{real[zone][0]:>14}{real[zone][1]:13.2f}{'-':>13}{'-':>10}")
        self.measured.append(real[shared[0]][1])
        self.estimated.append(guess[shared[0]][1])
        info = samples(blind, "tallywatt_model_info")[0][0]
        error = [value for _, value in samples(blind, "tallywatt_model_mape_ratio")]
        known = f"{100 * error[0]:.1f} %" if error else "unknown"
        lines.append(f"model: {info['model']} of {info['energy_source']}, from {info['origin']}; "
                     f"error on blocks of time that it did not see: {known}")
        for level in ("process", "container"):
            rows = workloads(meter, level)[:ROWS]
            lines.append(f"{level:22}{'W above idle':>14}{'CPU s':>10}")
            lines += [f"  {name[:25]:26}{watts:8.2f}{cpu_s:10.1f}" for name, watts, cpu_s in rows]
            if not rows:
                lines.append("  none")
        if sys.stdout.isatty() and self.drawn > 0:
            sys.stdout.write(f"\x1b[{self.drawn}A\x1b[J")
        self.drawn = len(lines) + 2
        label = "  SIMULATED METER" if simulated else ""
        print(f"---- {time.strftime('%H:%M:%S')}{label}", *lines, "", sep="\n", flush=True)

    def show(self, meter, blind, simulated, duration_s):
        start = time.monotonic()
        say(f"the table follows for {duration_s:g} s" if duration_s else
            "the table follows; Ctrl-C ends it")
        while not duration_s or time.monotonic() < start + duration_s:
            self.follow_load(time.monotonic() - start)
            time.sleep(DRAW_S)
            self.draw(meter, blind, simulated)

    def run(self, duration_s):
        began = time.monotonic()
        os.mkdir(self.db)
        meter, simulated = self.find_meter()
        watts = ", ".join(f"{zone} {w:.1f} W" for zone, (_, w) in
                          self.first_watts(meter, 300).items())
        say(f"first watts after {time.monotonic() - began:.0f} s: {watts}")
        source, certified = self.teach(meter, simulated)
        blind = self.switch(source, certified)
        try:
            self.show(meter, blind, simulated, duration_s)
        except KeyboardInterrupt:
            print()
        if self.keep:
            self.tell_how_to_talk(meter, blind)
        return self.judge()

    def judge(self):
        if not self.measured:
            say("ended before the first table")
            return True
        real, guess = (sum(v) / len(v) for v in (self.measured, self.estimated))
        agree = abs(guess - real) <= TOLERANCE * real
        say(f"mean of {len(self.measured)} tables: measured {real:.2f} W, estimated {guess:.2f} W, "
            f"{'within' if agree else 'NOT within'} {100 * TOLERANCE:.0f} %")
        return agree

    def tell_how_to_talk(self, meter, blind):
        tallywatt = os.path.relpath(os.path.join(BIN, "tallywatt"))
        print(f"""
Left running. To talk to them:

  {tallywatt} top --url http://{meter.address}      # by the meter
  {tallywatt} top --url http://{blind.address}      # by the model
  curl -s http://{self.daemons[-2].address}/best-models

The report is {self.folder}/engage/report.html. To stop all:

  kill {' '.join(str(d.proc.pid) for d in self.daemons)}; rm -r {self.folder}
""")


def interrupt(_signal, _frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="leave the programs running")
    parser.add_argument("--duration", type=float, default=20,
                        help="show the table for so many seconds; 0: until Ctrl-C")
    args = parser.parse_args()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, interrupt)
    folder = tempfile.mkdtemp(prefix="tallywatt-demo-")
    os.chmod(folder, 0o755)  # tw-collector becomes another user
    demo = Demo(folder, args.keep)
    try:
        return 0 if demo.run(args.duration) else 1
    except AssertionError as e:
        say(f"failed: {e}")
        demo.keep = False
        return 1
    except KeyboardInterrupt:
        say("interrupted")
        demo.keep = False
        return 130
    finally:
        demo.close()


if __name__ == "__main__":
    sys.exit(main())
