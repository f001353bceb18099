# SPDX-License-Identifier: Apache-2.0
"""Damaged recordings of a machine with a known law: a model is right, or has no certificate.

TW_DAMAGE_SEEDS is the number of seeds of each damage and schema; nightly it is 50.
"""
import json
import os
import shutil
import unittest

from harness import Case, run_tallywatt
import damage

SEEDS = int(os.environ.get("TW_DAMAGE_SEEDS", "1"))
# Models that are wrong by more may not be certified.
WRONG = 0.03
NODE = ("node_cpu_user_ms,node_cpu_nice_ms,node_cpu_system_ms,node_cpu_irq_ms,node_cpu_softirq_ms,"
        "node_context_switches,node_interrupts,node_page_faults")
TRAINER = "LinearRegressionTrainer"
LOADS = (0, 1000, 2000)


class Damage(Case):
    def train(self, schema, recording):
        """(error of the watts, certificate), or (reason, None) for a refusal."""
        _, group, source = damage.SCHEMAS[schema]
        path, db = self.path("in.json"), self.path("db")
        with open(path, "w", encoding="ascii") as f:
            json.dump(recording, f)
        shutil.rmtree(db, ignore_errors=True)
        done = run_tallywatt("train", "--input", path, "--group", group, "--source", source,
                             "--trainers", TRAINER, "--name", "x", "--model-db", db)
        if done.returncode != 0:
            return done.stderr.decode().strip(), None
        rows = ";".join(f"{x},0,0,0,0,{x / 10},{x / 20},{x / 100}" if group == "NodeCPU" else str(x)
                        for x in LOADS)
        said = self.tallywatt(
            "estimate", "--model", os.path.join(db, f"x/{source}/AbsPower/{group}/{TRAINER}_0"),
            "--metrics", NODE if group == "NodeCPU" else "bpf_cpu_time_ms", "--values", rows)
        watts = [float(line.split()[1]) for line in said.strip().splitlines()[1:]]
        models = self.tallywatt("models", "--model-db", db)
        certified = any("AbsPower" in line and line.split()[-1] == "yes"
                        for line in models.splitlines())
        law = [damage.WATTS_REST + damage.WATTS_CPU * x / 1000 for x in LOADS]
        return max(abs(a - b) / b for a, b in zip(watts, law)), certified

    def test_no_wrong_model_has_a_certificate(self):
        wrong, refused, total = [], [], 0
        for schema in damage.SCHEMAS:
            for kind in damage.DAMAGES:
                for seed in range(SEEDS):
                    total += 1
                    error, certified = self.train(schema, damage.damaged(schema, kind, seed))
                    name = f"{schema} {kind.__name__} {seed}: {error}"
                    if certified is None:
                        refused.append(name)
                    elif error > WRONG and certified:
                        wrong.append(name)
        print(f"{len(wrong)} wrong, {len(refused)} refused of {total} damaged recordings",
              *wrong, *refused, sep="\n")
        self.assertEqual(wrong, [])
        self.assertLessEqual(len(refused), 0.1 * total)


if __name__ == "__main__":
    unittest.main()
