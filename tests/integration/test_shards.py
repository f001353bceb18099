# SPDX-License-Identifier: Apache-2.0
"""A training in shards: plan, workers and merge give the bytes of a single training."""
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import unittest
import zipfile

from harness import BIN, GENERATED, Case, need_fleet, tree, wait_until
import generate_response as generator
from served_files import Files, Served
from sources import Prometheus, make_blocks, need_prometheus

MACHINES = ("node-a", "node-b", "node-c")
OPTIONS = ("--trainers", "LinearRegressionTrainer,SGDRegressorTrainer", "--group", "BPFOnly",
           "--shuffled", "--seed", "7")


def setUpModule():
    need_fleet()


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class ShardCase(Case):
    def setUp(self):
        super().setUp()
        self.inputs = []
        for seed, name in enumerate(MACHINES):
            machine = generator.Machine(samples=40, seed=seed + 1, name=name)
            path = self.write(f"{name}.json",
                              generator.to_text(generator.make_response(machine)))
            self.inputs.append(f"{name}={path}")

    def whole(self, *options, inputs=None):
        """A single training's zip."""
        path = self.path("whole.zip")
        self.tallywatt("train", "--input", ",".join(inputs or self.inputs), "--name", "fleet",
                       *(options or OPTIONS), "--output", path)
        return path

    def plan(self, *options, inputs=None):
        path = self.path("plan.json")
        text = self.tallywatt("plan", "--input", ",".join(inputs or self.inputs), "--name",
                              "fleet", *(options or OPTIONS), "--output", path, "--json")
        return path, json.loads(text)

    def train(self, plan, units, parts="parts"):
        return self.tallywatt("train", "--plan", plan, "--units", units, "--parts",
                              self.path(parts), "--cache", self.path("cache"))

    def merge(self, plan, *parts):
        path = self.path("merged.zip")
        self.tallywatt("merge", "--plan", plan, "--output", path,
                       *[self.path(p) for p in parts or ("parts",)])
        return path

    def same(self, a, b):
        self.assertEqual(digest(a), digest(b))


class Shards(ShardCase):
    def test_shards_merge_to_the_bytes_of_a_single_training(self):
        plan, units = self.plan()
        self.assertEqual([u["unit"] for u in units], list(range(24)))
        self.assertEqual(units[0]["address"],
                         "node-a/acpi/AbsPower/BPFOnly/LinearRegressionTrainer")
        self.assertTrue(all(u["cost_s"] > 0 and u["rows"] == 40 for u in units))
        for i in range(5):
            self.train(plan, f"{i}+1/5")
        self.assertEqual(len(os.listdir(self.path("parts"))), len(units))
        self.same(self.merge(plan), self.whole())

    def test_units_by_number_and_address_in_several_directories(self):
        plan, units = self.plan()
        listed = self.write("units", "# the first half\n\n" + "".join(
            f"{u['unit']}\n" if u["unit"] % 2 else f"{u['address']}\n"
            for u in units[:12]))
        self.assertIn("12 units trained", self.train(plan, listed, "one"))
        # Three units run on both workers; they count once.
        self.train(plan, self.write("rest", "".join(f"{u}\n" for u in range(9, 24))), "two")
        self.same(self.merge(plan, "one", "two"), self.whole())
        wrong = self.write("wrong", "3\nnode-a/acpi/AbsPower/BPFOnly/NoTrainer\n")
        self.assertRegex(self.refused("train", "--plan", plan, "--units", wrong, "--parts",
                                      self.path("one")), "line 2: .*NoTrainer")
        for bad in ("0/3", "4/3"):
            self.assertIn("1/N", self.refused("train", "--plan", plan, "--units", bad,
                                              "--parts", self.path("one")))

    def test_missing_different_and_foreign_parts_are_named(self):
        plan, units = self.plan()
        self.train(plan, "1/1")
        whole = self.merge(plan)
        missing = self.path("parts", "000005.unit.zip")
        shutil.move(missing, self.path("kept"))
        text = self.refused("merge", "--plan", plan, "--output", whole, self.path("parts"))
        self.assertIn(f"1 of 24 units are missing: {units[5]['address']}", text)
        for unit, words in ((6, "2 of 24"), (7, "3 of 24"), (8, "4 of 24")):
            os.rename(self.path("parts", f"{unit:06d}.unit.zip"), self.path(f"kept-{unit}"))
            text = self.refused("merge", "--plan", plan, "--output", whole, self.path("parts"))
            self.assertIn(f"{words} units are missing: {units[5]['address']}, "
                          f"{units[6]['address']}", text)
            self.assertEqual(text.rstrip().endswith(", .."), unit == 8, text)
            self.assertEqual(units[unit]["address"] in text, unit < 8, text)
        for unit in (6, 7, 8):
            os.rename(self.path(f"kept-{unit}"), self.path("parts", f"{unit:06d}.unit.zip"))
        # The same unit with other bytes: of a training that found other rows.
        os.mkdir(self.path("other"))
        with open(self.path("kept"), "rb") as f:
            data = f.read()
        shutil.copy(self.path("kept"), missing)
        with open(self.path("other", "000005.unit.zip"), "wb") as f:
            f.write(self.changed(data, {"note": "x"}))
        text = self.refused("merge", "--plan", plan, "--output", whole, self.path("parts"),
                            self.path("other"))
        self.assertIn("different results of unit 5", text)
        # A part of another plan.
        second = self.path("second.json")
        self.tallywatt("plan", "--input", ",".join(self.inputs), "--name", "fleet",
                       *OPTIONS[:-1], "8", "--output", second)
        self.assertIn("of another plan", self.refused(
            "merge", "--plan", second, "--output", whole, self.path("parts")))
        self.assertIn("of another plan", self.refused(
            "train", "--plan", second, "--units", "1/1", "--parts", self.path("parts")))
        with open(missing, "wb") as f:
            f.write(data[:-40])
        self.assertIn("000005.unit.zip", self.refused(
            "merge", "--plan", plan, "--output", whole, self.path("parts")))

    def test_a_part_says_what_it_is_of(self):
        plan, units = self.plan()
        self.train(plan, "1/1")
        with open(plan, encoding="utf-8") as f:
            doc = json.load(f)
        for i, unit in enumerate(units):
            part = self.document(self.path("parts", f"{i:06d}.unit.zip"))
            machine, = [m for m in doc["machines"] if m["machine"] == unit["machine"]]
            self.assertEqual(
                {k: part[k] for k in ("unit", "address", "inputs", "failure", "note")},
                {"unit": i, "address": unit["address"], "failure": None, "note": "",
                 "inputs": [doc["inputs"][k] for k in machine["inputs"]]})
            self.assertEqual((part["plan"], part["rows"], len(part["inputs"])),
                             (self.document(self.path("parts", "000000.unit.zip"))["plan"], 39, 1))

    def test_a_part_may_be_of_anybody(self):
        plan, _ = self.plan()
        self.train(plan, "1/1")
        whole, path = self.merge(plan), self.path("parts", "000005.unit.zip")
        with open(path, "rb") as f:
            mine = f.read()
        failure = {"code": 1, "text": "x"}
        for change, words in (
                ({"failure": dict(failure, code=0)}, "failure.code"),
                ({"failure": dict(failure, code=99)}, "failure.code"),
                ({"unit": 24}, "unit: 24 of 24 units"), ({"unit": -1}, "unit"),
                ({"unit": 6}, "is of another unit"),
                ({"plan": "0" * 64}, "of another plan (000000000000)"),
                ({"format_version": 9}, "format_version"), ({"rows": "many"}, "rows"),
                ({"note": None, "address": None, "data_failure": None, "inputs": [{}]}, None)):
            with open(path, "wb") as f:
                f.write(self.changed(mine, change))
            if words is None:
                self.merge(plan)
                continue
            self.assertIn(words, self.refused("merge", "--plan", plan, "--output", whole,
                                              self.path("parts")))

        shutil.copy(self.path("parts", "000006.unit.zip"), path)
        self.assertIn("000005.unit.zip' is the part of unit 6", self.refused(
            "train", "--plan", plan, "--units", "1/1", "--parts", self.path("parts")))

    @staticmethod
    def document(path):
        with zipfile.ZipFile(path) as z:
            return json.loads(z.read("unit.json"))

    def test_a_part_has_the_model_of_its_unit(self):
        """Of one unit the names, of another the model: each part of an address counts."""
        plan, units = self.plan()
        self.train(plan, "1/1")
        path = self.path("parts", "000005.unit.zip")
        mine = self.document(path)
        own, tried = units[5]["address"].split("/"), 0
        for i, unit in enumerate(units):
            if sum(a != b for a, b in zip(own, unit["address"].split("/"))) != 1:
                continue
            with open(self.path("parts", f"{i:06d}.unit.zip"), "rb") as f:
                other = f.read()
            with open(path, "wb") as f:
                f.write(self.changed(other, mine))
            text = self.refused("merge", "--plan", plan, "--output", self.path("x"),
                                self.path("parts"))
            self.assertRegex(text, r"000005\.unit\.zip': the model '.*' is of another unit")
            tried += 1
        self.assertGreaterEqual(tried, 4)

    @staticmethod
    def changed(data, change):
        """The zip with these members in unit.json; None: without."""
        out = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
            for name in old.namelist():
                text = old.read(name)
                if name == "unit.json":
                    doc = {**json.loads(text), **change}
                    text = json.dumps({k: v for k, v in doc.items()
                                       if v is not None or k not in change}).encode()
                new.writestr(name, text)
        return out.getvalue()

    def test_a_killed_worker_goes_on_and_leaves_no_half(self):
        plan, units = self.plan()
        worker = subprocess.Popen(
            [os.path.join(BIN, "tallywatt"), "train", "--plan", plan, "--units", "1/1",
             "--parts", self.path("parts")], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        wait_until(lambda: worker.poll() is not None or (
            os.path.isdir(self.path("parts")) and len(os.listdir(self.path("parts"))) > 1),
            "first parts")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        there = len([n for n in os.listdir(self.path("parts")) if n.endswith(".unit.zip")])
        text = self.train(plan, "1/1")
        self.assertIn(f"{len(units) - there} units trained", text)
        self.assertIn(f"{there} were there", text)
        before = tree(self.path("parts"))
        self.assertIn("0 units trained", self.train(plan, "1/1"))
        self.assertEqual(tree(self.path("parts")), before)
        self.same(self.merge(plan), self.whole())

    def test_the_inputs_of_a_plan_do_not_change(self):
        plan, _ = self.plan()
        path = self.inputs[1].split("=")[1]
        with open(path, "a", encoding="utf-8") as f:
            f.write("\n")
        self.train(plan, "1/3")
        text = self.refused("train", "--plan", plan, "--units", "2/3", "--parts",
                            self.path("parts"))
        self.assertIn("SHA-256", text)
        self.assertIn("node-b.json", text)
        for options in (("--units", "1/2"), ("--plan", plan), ("--plan", plan, "--units", "1/2"),
                        ("--plan", plan, "--units", "1/2", "--parts", "x", "--name", "y")):
            self.refused("train", *options, codes=(2,))

    def test_an_idle_response_specs_and_known_node_types(self):
        """What a worker cannot see of its own machines alone."""
        db, other = self.path("db"), self.path("other")
        for to in (db, other):
            self.tallywatt("train", "--input", f"node-z={GENERATED['0.7']}", "--name", "fleet",
                           *OPTIONS, "--model-db", to)
        idle = self.path("idle.json")
        rest = generator.make_response(generator.Machine(1, samples=40, seed=9, name="node-b"))
        self.write("idle.json", generator.to_text(rest))
        spec = self.write("spec.json", json.dumps({"processor": "xeon_a", "cores": 8}))
        options = OPTIONS + ("--spec", f"node-b={spec}")
        plan, units = self.plan(*options, "--model-db", db)
        self.assertEqual({u["node_type"] for u in units}, {1, 2, 3})
        for i in (3, 1, 2):
            self.train(plan, f"{i}/3")
        self.tallywatt("merge", "--plan", plan, "--model-db", db, self.path("parts"))
        self.tallywatt("train", "--input", ",".join(self.inputs), "--name", "fleet", *options,
                       "--model-db", other)
        one, two = tree(f"{db}/fleet"), tree(f"{other}/fleet")
        self.assertEqual({n: d for n, d in one.items() if n != "manifest.json"},
                         {n: d for n, d in two.items() if n != "manifest.json"})
        idle_options = OPTIONS + ("--isolator", "ProfileBackgroundIsolator", "--idle", idle)
        both = (self.inputs[1],)
        plan, _ = self.plan(*idle_options, inputs=both)
        self.train(plan, "1/2", "idle")
        self.train(plan, "2/2", "idle")
        self.same(self.merge(plan, "idle"), self.whole(*idle_options, inputs=both))
        with open(idle, "a", encoding="utf-8") as f:
            f.write("\n")
        self.assertIn("changed after the plan was made", self.refused(
            "train", "--plan", plan, "--units", "1/2", "--parts", self.path("idle")))

    def test_tables(self):
        table = self.path("rows.csv")
        self.tallywatt("extract", "--input", GENERATED["0.7"], "--group", "BPFOnly",
                       "--output", table)
        options = ("--csv", f"BPFOnly={table}", "--source", "rapl-sysfs", "--name", "fleet",
                   "--trainers", "LinearRegressionTrainer,SGDRegressorTrainer")
        plan, whole = self.path("plan.json"), self.path("whole.zip")
        self.tallywatt("plan", *options, "--output", plan)
        self.tallywatt("train", *options, "--output", whole)
        for i in (1, 2):
            self.train(plan, f"{i}/2")
        self.same(self.merge(plan), whole)


class Http(ShardCase):
    """Inputs over HTTP: resumed, checked, and read by the worker that needs them alone."""

    def setUp(self):
        super().setUp()
        self.files = Files()
        self.addCleanup(self.files.close)
        self.urls = []
        for text in self.inputs:
            name, path = text.split("=")
            with open(path, "rb") as f:
                self.files.at[f"/{name}.json"] = Served(f.read())
            self.urls.append(f"{name}={self.files.url(f'/{name}.json')}")


    def test_inputs_over_http(self):
        cache = ("--cache", self.path("cache"))
        cut = self.files.at["/node-b.json"]
        cut.cut = len(cut.data) // 2
        plan, _ = self.plan(*OPTIONS, *cache, inputs=self.urls)
        # The download that broke off went on where it was.
        self.assertEqual([h.get("Range") for h in self.files.requests("/node-b.json")],
                         [None, f"bytes={len(cut.data) // 2}-"])
        seen = len(self.files.seen)
        self.tallywatt("train", "--plan", plan, "--units", "1/3", "--parts", self.path("parts"),
                       *cache)
        self.assertEqual(len(self.files.seen), seen, "the cache has it")
        far = ("--cache", self.path("far"))
        for i in (2, 3):
            self.tallywatt("train", "--plan", plan, "--units", f"{i}/3", "--parts",
                           self.path("parts"), *far)
        self.assertEqual({path for path, _ in self.files.seen[seen:]},
                         {"/node-b.json", "/node-c.json"})
        self.same(self.merge(plan), self.whole(*OPTIONS, *cache, inputs=self.urls))
        # A digest on the command line.
        good = self.files.url("/node-a.json") + "#sha256=" + hashlib.sha256(
            self.files.at["/node-a.json"].data).hexdigest()
        bad = self.files.url("/node-a.json") + "#sha256=" + "0" * 64
        train = ("train", "--name", "x", *OPTIONS, "--output", self.path("x.zip"), *cache)
        self.tallywatt(*train, "--input", good)
        self.assertIn("SHA-256", self.refused(*train, "--input", bad))
        self.assertIn("404", self.refused(*train, "--input", self.files.url("/none.json")))
        self.files.at["/node-c.json"].data += b" "
        self.files.at["/node-c.json"].etag = '"2"'
        shutil.rmtree(self.path("far"))
        shutil.rmtree(self.path("parts"))
        self.assertIn("SHA-256", self.refused("train", "--plan", plan, "--units", "3/3", "--parts",
                                              self.path("parts"), *far))


class FromPrometheus(ShardCase):
    def test_chunks_of_a_query_are_kept_by_themselves(self):
        need_prometheus()
        response = generator.make_response(
            generator.Machine(samples=60, seed=4, name="node-p"), "0.10")
        os.mkdir(self.path("blocks"))
        server = Prometheus(self, make_blocks(self.path("blocks"), response))
        last = generator.START_S + 3 * 59
        query = (f"node-p=prometheus+{server.url}/?match=__name__%3D~%22kepler_.%2B%22"
                 f"&start={generator.START_S}&end={last}&step=3s")
        cache = ("--cache", self.path("cache"), "--source", "rapl-sysfs", "--trainers",
                 "LinearRegressionTrainer")
        plan, units = self.plan(*cache, inputs=(query + "&chunk=60s",))
        with open(plan, encoding="utf-8") as f:
            inputs = json.load(f)["inputs"]
        self.assertEqual([i["file"].split("&start=")[1] for i in inputs],
                         [f"{a}.000&end={min(a + 60, last)}.000"
                          for a in range(generator.START_S, last, 60)])
        kept = [n for n in os.listdir(self.path("cache")) if not n.endswith(".download")]
        self.assertEqual(sorted(kept), sorted({i["sha256"] for i in inputs}))
        self.train(plan, "1/1")
        merged = self.merge(plan)
        self.same(merged, self.whole(*cache, inputs=(query + "&chunk=60s",)))
        # Adjacent chunks share a sample: as many rows as without chunks.
        rows = [line.split()[-1] for line in self.tallywatt(
            "train", "--name", "fleet", "--input", query, "--output", self.path("x.zip"),
            *cache).splitlines() if line.startswith("rapl-sysfs")]
        self.assertEqual(set(rows), {"59"})
        self.assertIn("chunk is not a multiple", self.refused(
            "plan", "--name", "x", "--input", query + "&chunk=4s"))
        self.assertIn("unknown key", self.refused("plan", "--name", "x", "--input",
                                                  query + "&last=4s"))


if __name__ == "__main__":
    unittest.main()
