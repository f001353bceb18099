# SPDX-License-Identifier: Apache-2.0
"""Damaged recordings of a machine with a known law: a model is right, or has no certificate.

TW_DAMAGE_SEEDS is the number of seeds of each damage and schema; nightly it is 50, from
TW_DAMAGE_FIRST on.
"""
import json
import os
import random
import re
import unittest

from harness import Case, call, read_json, run_tallywatt, wait_until
from scripted_prometheus import RecordedPrometheus
import damage

FIRST = int(os.environ.get("TW_DAMAGE_FIRST", "0"))
SEEDS = range(FIRST, FIRST + int(os.environ.get("TW_DAMAGE_SEEDS", "1")))
# Models that are wrong by more may not be certified.
WRONG = 0.03
# Features of a load of 1.
SHARES = {"bpf_cpu_time_ms": 1, "node_cpu_user_ms": 1, "node_context_switches": 0.1,
          "node_interrupts": 0.05, "node_page_faults": 0.01}
TRAINER = "LinearRegressionTrainer"
LOADS = (0, 1000, 2000)
END_S = damage.START_S + 1500
VERDICT = re.compile(r'^tw_trainer_online_verdicts_total\{machine="([^"]+)",verdict="(\w+)"\} (\S+)$',
                     re.M)
REASON = re.compile(r"([\w-]+): not published: ([^\n]*)")


def name_of(case):
    schema, kind, seed = case
    return f"{schema}-{kind.__name__}-{seed}"


class Damage(Case):
    def train(self, db, name, schema, recording):
        """The reason of a refusal, or None: the pipeline of that name is in db."""
        _, group, source = damage.SCHEMAS[schema]
        path = self.path("in.json")
        with open(path, "w", encoding="ascii") as f:
            f.write(json.dumps(recording))
        done = run_tallywatt("train", "--input", path, "--group", group, "--source", source,
                             "--trainers", TRAINER, "--name", name, "--model-db", db)
        return done.stderr.decode().strip() if done.returncode != 0 else None

    def certified(self, db):
        """The pipelines whose model of power has a certificate."""
        return {line.split()[0] for line in self.tallywatt("models", "--model-db", db).splitlines()
                if "AbsPower" in line and line.split()[-1] == "yes"}

    @staticmethod
    def error(db, name, schema):
        """Of the watts that a client computes by a pipeline's weights."""
        _, group, source = damage.SCHEMAS[schema]
        (weights,) = read_json(os.path.join(
            db, f"{name}/{source}/AbsPower/{group}/{TRAINER}_0/weight.json")).values()
        weights = weights["All_Weights"]
        law = [damage.WATTS_REST + damage.WATTS_CPU * x / 1000 for x in LOADS]
        slope = sum(SHARES.get(f, 0) * w["weight"] / w["scale"]
                    for f, w in weights["Numerical_Variables"].items())
        watts = [weights["Bias_Weight"] + x * slope for x in LOADS]
        return max(abs(a - b) / b for a, b in zip(watts, law))

    def test_no_wrong_model_of_a_job_has_a_certificate(self):
        why, db = {}, self.path("db")
        trainer = self.start_http("tw-trainer", "--model-db", db)
        for case in [(schema, kind, seed) for schema in damage.SCHEMAS for kind in damage.DAMAGES
                     for seed in SEEDS]:
            answer = call(trainer, "POST", "/train", {
                "name": name_of(case), "energy_source": damage.SCHEMAS[case[0]][2],
                "trainer": {"abs_trainers": [TRAINER]}, "prom_response": damage.damaged(*case)})
            why[case] = answer.body.decode() if answer.status != 200 else None
        self.judge("jobs", db, why)

    def judge(self, what, db, why):
        """Judge the pipelines of some cases. why: the reason of a refusal, or None, by case."""
        certified, wrong, refused = self.certified(db), [], []
        for case, reason in why.items():
            name = name_of(case)
            if name in certified:
                error = self.error(db, name, case[0])
                wrong += [f"{name}: {error}"] if error > WRONG else []
            elif case[1] not in damage.HOPELESS:
                refused.append(f"{name}: {reason}")
        self.report(what, len(why), wrong, refused)

    def report(self, what, total, wrong, refused):
        """Refusals are a rate to look at: online, a busy machine decides after fewer rows."""
        print(f"{len(wrong)} wrong, {len(refused)} refused of {total} {what}", *wrong, *refused,
              sep="\n")
        self.assertEqual(wrong, [])
        self.assertLess(len(refused), 0.8 * total)

    @staticmethod
    def some(seeds):
        """(schema, damage, seed): each damage and seed once, with the schemas in turn."""
        schemas = list(damage.SCHEMAS)
        return [(schemas[(k + seed) % len(schemas)], kind, seed)
                for seed in seeds for k, kind in enumerate(damage.DAMAGES)]

    def test_rows_without_work_are_no_rest_if_they_bend_the_line(self):
        """More than half of the rows without work are of counters that stood still."""
        db = self.path("db")
        recording = damage.damaged("kepler-legacy", damage.frozen_work, 301)
        self.assertIsNone(self.train(db, "x", "kepler-legacy", recording))
        self.assertLess(self.error(db, "x", "kepler-legacy"), WRONG)

    def test_rows_of_other_times_are_no_inertia(self):
        db = self.path("db")
        recording = damage.damaged("kepler-gauge", damage.other_step, 28)
        self.assertIsNone(self.train(db, "x", "kepler-gauge", recording))
        self.assertEqual(self.certified(db), set())

    def test_a_wrong_step_of_a_counter_is_no_step_of_a_query(self):
        """Scrapes each 2 s would explain these rows of 5 s, one of which has work for days."""
        db, cases = self.path("db"), (("kepler", damage.jump, 2), ("tallywatt", damage.jump, 7))
        for case in cases:
            self.assertIsNone(self.train(db, name_of(case), case[0], damage.damaged(*case)))
            self.assertLess(self.error(db, name_of(case), case[0]), WRONG)
        self.assertEqual(self.certified(db), set(map(name_of, cases)))

    def test_rows_with_a_scrape_too_many_are_no_glitches(self):
        """Scrapes each 10 s and a step of 11 s: a tenth of the rows has the work of two scrapes."""
        db = self.path("db")
        for schema in ("kepler", "kepler-gauge", "tallywatt"):
            recording = damage.SCHEMAS[schema][0](damage.Machine(random.Random(1), 300, 10))
            damage.query_each(recording, 11)
            self.assertIsNone(self.train(db, schema, schema, recording))
        self.assertEqual(self.certified(db), set())

    def test_a_noisy_gauge_needs_many_readings(self):
        db, why = self.path("db"), {}
        for count in (80, 1500):
            rng = random.Random(count)
            recording = damage.kepler_gauge(damage.Machine(rng, count))
            for s in recording["kepler_platform_watts"]:
                s["values"] = [[t, repr(float(v) * rng.gauss(1, 0.1))] for t, v in s["values"]]
            self.assertIsNone(self.train(db, f"of-{count}", "kepler-gauge", recording))
            why[count] = read_json(os.path.join(
                db, f"of-{count}/redfish/AbsPower/BPFOnly/{TRAINER}_0/metadata.json"
            )).get("certificate_refused")
        self.assertEqual(why, {
            80: "its recording has too few readings for the noise of its power", 1500: None})
        self.assertEqual(self.certified(db), {"of-1500"})

    def test_no_wrong_model_of_queries_has_a_certificate(self):
        why, db = {}, self.path("db")
        for case in self.some(SEEDS):
            schema, kind, seed = case
            step = ("--step", f"{3 + 4 * (seed % 2)}s") if kind is damage.other_step else ()
            server = RecordedPrometheus(self, damage.damaged(
                schema, kind if not step else lambda *_: None, seed), END_S)
            self.tallywatt("query", "--server", server.url, "--output", self.path("answer.json"),
                           "--start", str(damage.START_S), "--end", str(END_S), *step)
            with open(self.path("answer.json"), encoding="utf-8") as f:
                why[case] = self.train(db, name_of(case), schema, json.load(f))
        self.judge("answers to queries", db, why)

    def test_no_wrong_model_is_published_online(self):
        wrong, refused, total = [], [], 0
        for i in range(0, len(SEEDS), 5):
            total += self.teach(SEEDS[i:i + 5], wrong, refused)
        self.report("machines online", total, wrong, refused)

    def teach(self, seeds, wrong, refused):
        """A machine for each damaged recording, at one Prometheus. It has samples as scraped, and
        so no steps of a query. Returns their number."""
        db, verdicts = self.path(f"db{seeds[0]}"), {}
        schema_of, recording, hopeless = {}, {}, set()
        for schema, kind, seed in self.some(seeds):
            # A first model is of the rows before a process is shown: the next one knows.
            if kind not in (damage.other_step, damage.old_process):
                name = name_of((schema, kind, seed))
                schema_of[name] = schema
                hopeless |= {name} if kind in damage.HOPELESS else set()
                self.add_machine(recording, name, damage.damaged(schema, kind, seed))
        server = RecordedPrometheus(self, recording, END_S)
        trainer = self.start_http(
            "tw-trainer", "--online", "--prometheus", server.url, "--model-db", db,
            "--online-state", self.path(f"state{seeds[0]}"), "--online-trainers", TRAINER,
            "--delay", "0s", "--train-after", "40", "--lookback", "1500s")

        def all_are_decided():
            text = call(trainer, "GET", "/metrics").body.decode()
            verdicts.update({m: v for m, v, n in VERDICT.findall(text) if float(n) > 0})
            return schema_of.keys() - hopeless <= verdicts.keys()

        wait_until(all_are_decided, "verdicts", pause_s=0.2)
        trainer.stop()
        certified = self.certified(db)
        errors = {m: self.error(db, f"online-{m}", schema) for m, schema in schema_of.items()
                  if f"online-{m}" in certified}
        wrong += [f"{m}: {error}" for m, error in errors.items() if error > WRONG]
        reasons = dict(REASON.findall(trainer.log()))
        refused += [f"{m}: {v}: {reasons.get(m)}" for m, v in verdicts.items()
                    if m not in errors and m not in hopeless]
        return len(schema_of)

    @staticmethod
    def add_machine(recording, name, damaged):
        """Of another address."""
        for metric, series in damaged.items():
            recording.setdefault(metric, []).extend(
                {"metric": {**s["metric"], "instance": name}, "values": s["values"]}
                for s in series)


if __name__ == "__main__":
    unittest.main()
