# SPDX-License-Identifier: Apache-2.0
"""Whole pipelines and other programs' files, as old and new clients download them."""
import io
import json
import os
import shutil
import subprocess
import unittest
import zipfile

from harness import ROOT, Case, call, content, need, need_fleet, tree, wait_until
from test_import import zip_bytes
from test_publish import has_sodium

MODELS = os.path.join(ROOT, "model-db/models")
BASE = "rapl-sysfs/AbsPower/BPFOnly/"
PICKLE = zip_bytes({"metadata.json": json.dumps({"model_class": "scikit",
                                                 "features": ["bpf_cpu_time_ms"]}),
                    "package.pkl": b"\x80\x04."})
WEIGHTS = {"package": {"All_Weights": {
    "Bias_Weight": 10.0, "Categorical_Variables": {},
    "Numerical_Variables": {"bpf_cpu_time_ms": {"scale": 1000.0, "weight": 20.0}}}}}
TREES = {"learner": {
    "attributes": {}, "feature_names": [], "feature_types": [],
    "gradient_booster": {"model": {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": "1",
                               "size_leaf_vector": "0"}, "tree_info": [0],
        "trees": [{"base_weights": [0, 1, 2], "categories": [], "categories_nodes": [],
                   "categories_segments": [], "categories_sizes": [], "default_left": [0, 0, 0],
                   "id": 0, "left_children": [1, -1, -1], "loss_changes": [1, 0, 0],
                   "parents": [2147483647, 0, 0], "right_children": [2, -1, -1],
                   "split_conditions": [0.5, 30, 60], "split_indices": [0, 0, 0],
                   "split_type": [0, 0, 0], "sum_hessian": [2, 1, 1],
                   "tree_param": {"num_deleted": "0", "num_feature": "1", "num_nodes": "3",
                                  "size_leaf_vector": "0"}}]}, "name": "gbtree"},
    "learner_model_param": {"base_score": "5E-1", "num_class": "0", "num_feature": "1"},
    "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}}},
    "version": [1, 7, 4]}


class Foreign(Case):
    def setUp(self):
        super().setUp()
        trees = zip_bytes({"metadata.json": json.dumps({"model_class": "xgboost", "features": [
            "bpf_cpu_time_ms"]}), "package.json": json.dumps(TREES)})
        self.old = {"metadata.json": b"{}", BASE + "SGDRegressorTrainer_0.json":
                    json.dumps(WEIGHTS).encode(), BASE + "KNeighborsRegressorTrainer_0.zip":
                    PICKLE, BASE + "XgboostFitTrainer_0.zip": trees}
        for name, data in self.old.items():
            path = self.path("old", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as f:
                f.write(data)
        self.tallywatt("import", self.path("old"), "--to", self.path("db"))
        shutil.copytree(os.path.join(MODELS, "nx12-acpi"), self.path("db/ours"))

    def serve(self, *args, db="db"):
        os.makedirs(self.path(db), exist_ok=True)
        return self.start_http("tw-server", "--model-db", self.path(db), *args)

    def get(self, server, path, headers=None):
        return call(server, "GET", path, headers=headers)

    def unpack(self, answer):
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["Content-Type"], "application/zip")
        with zipfile.ZipFile(io.BytesIO(answer.body)) as z:
            return {n: z.read(n) for n in z.namelist()}

    def test_a_pipeline_of_ours_is_sent_as_it_lies(self):
        server = self.serve()
        for path in ("/models/ours.zip", "/api/v1/pipelines/ours/zip"):
            answer = self.get(server, path)
            self.assertEqual(self.unpack(answer), tree(self.path("db/ours")))
            self.assertIn("ours.zip", answer.headers["Content-Disposition"])
            tag = answer.headers["ETag"]
            self.assertEqual(self.get(server, path, {"If-None-Match": tag}).status, 304)
            part = self.get(server, path, {"Range": "bytes=100-", "If-Range": tag})
            self.assertEqual((part.status, part.body), (206, answer.body[100:]))
        for path in ("/models/none.zip", "/models/ours", "/models/.old-ours.zip",
                     "/api/v1/pipelines/none/zip", "/models/..%2fdb.zip"):
            self.assertEqual(self.get(server, path).status, 404, path)

    def test_models_by_the_names_of_files(self):
        server = self.serve()
        answer = self.get(server, f"/models/old/{BASE}SGDRegressorTrainer_0.json")
        self.assertEqual(answer.json()["package"]["All_Weights"]["Bias_Weight"], 10.0)
        with open(self.path("db/old", BASE + "SGDRegressorTrainer_0.zip"), "rb") as f:
            self.assertEqual(self.get(server, f"/models/old/{BASE}SGDRegressorTrainer_0.zip")
                             .body, f.read())
        for name in ("X_0.zip", "SGDRegressorTrainer_0", "metadata.json"):
            self.assertEqual(self.get(server, f"/models/old/{BASE}{name}").status, 404)

    def test_foreign_files_are_refused_unless_asked_for(self):
        server = self.serve()
        answer = self.get(server, f"/models/old/{BASE}KNeighborsRegressorTrainer_0.zip")
        self.assertEqual(answer.status, 403)
        self.assertIn("--serve-foreign", answer.json()["detail"])
        for path in ("/models/old.zip", "/api/v1/pipelines/old/zip"):
            files = self.unpack(self.get(server, path))
            self.assertFalse([n for n in files if "KNeighbors" in n or "foreign" in n])
            self.assertIn(BASE + "SGDRegressorTrainer_0.zip", files)
        asked = {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower",
                 "trainer_name": "KNeighborsRegressorTrainer"}
        self.assertEqual(call(server, "POST", "/model", asked).status, 404)

    def test_foreign_files_are_passed_through_where_asked_for(self):
        server = self.serve("--serve-foreign")
        path = f"/models/old/{BASE}KNeighborsRegressorTrainer_0.zip"
        answer = self.get(server, path)
        self.assertEqual((answer.status, answer.body), (200, PICKLE))
        self.assertEqual(answer.headers["Content-Type"], "application/zip")
        tag = answer.headers["ETag"]
        self.assertEqual(self.get(server, path, {"If-None-Match": tag}).status, 304)
        part = self.get(server, path, {"Range": "bytes=5-9"})
        self.assertEqual((part.status, part.body), (206, PICKLE[5:10]))
        # Where the old programs look for them; and as they are kept.
        files = self.unpack(self.get(server, "/models/old.zip"))
        self.assertEqual(files[BASE + "KNeighborsRegressorTrainer_0.zip"], PICKLE)
        self.assertNotIn("manifest.json", files)
        self.assertEqual(self.unpack(self.get(server, "/api/v1/pipelines/old/zip")),
                         tree(self.path("db/old")))
        # POST /model chooses among models that were looked at: never a pickle.
        asked = {"metrics": ["bpf_cpu_time_ms"], "output_type": "AbsPower",
                 "trainer_name": "KNeighborsRegressorTrainer"}
        self.assertEqual(call(server, "POST", "/model", asked).status, 404)

    def test_links_and_names_that_lead_elsewhere_are_not_followed(self):
        self.write("secret.zip", b"secret")
        folder = self.path("db/old/foreign", BASE)
        os.symlink(self.path("secret.zip"), os.path.join(folder, "Link_0.zip"))
        os.symlink(self.dir, self.path("db/old/foreign/rapl"))
        server = self.serve("--serve-foreign")
        for path in (f"/models/old/{BASE}Link_0.zip", "/models/old/rapl/db/old/secret.zip",
                     "/models/old/..%2f../db/old/secret.zip", "/models/old/a/b/c/%2e%2e.zip"):
            self.assertIn(self.get(server, path).status, (400, 404), path)

    def test_foreign_files_of_an_unsigned_pipeline_are_not_sent_where_a_signature_is_needed(self):
        need("sodium", has_sodium())
        need("minisign", shutil.which("minisign"))
        subprocess.run(["minisign", "-G", "-W", "-p", self.path("k.pub"), "-s",
                        self.path("k.key")], check=True, stdout=subprocess.DEVNULL)
        needed = ("--serve-foreign", "--require-signature", "--public-key", self.path("k.pub"))
        path = f"/models/old/{BASE}KNeighborsRegressorTrainer_0.zip"
        self.tallywatt("publish", os.path.join(MODELS, "nx12-acpi"), "--to", self.path("db"),
                       "--sign", self.path("k.key"))
        server = self.serve(*needed)
        self.assertEqual(self.get(server, path).status, 404)
        server.stop()
        self.tallywatt("publish", self.path("db/old"), "--to", self.path("signed"), "--sign",
                       self.path("k.key"))
        self.assertEqual(self.get(self.serve(*needed, db="signed"), path).body, PICKLE)

    def pulled_from(self, source, db, *args):
        server = self.serve("--pull-from", f"http://{source.address}/models", "--pull", "old",
                            *args, db=db)
        wait_until(lambda: b'state="current"} 1' in self.get(server, "/metrics").body,
                   "the pipeline is pulled")
        return server

    def test_a_server_pulls_from_a_server(self):
        need_fleet()
        source = self.serve("--serve-foreign")
        self.pulled_from(source, "db2")
        # Ours are not converted a second time: thresholds would be scaled again.
        self.assertEqual(content(self.path("db2/old")), content(self.path("db/old")))
        source = self.serve()
        self.pulled_from(source, "db3")
        wanted = {n: d for n, d in content(self.path("db/old")).items()
                  if not n.startswith("foreign")}
        self.assertEqual(content(self.path("db3/old")), wanted)

    def test_importing_what_is_ours_already_changes_no_model(self):
        self.tallywatt("import", self.path("db/old"), "--to", self.path("again"))
        self.assertEqual({n: d for n, d in tree(self.path("again/old")).items()
                          if n.endswith(".zip")},
                         {n: d for n, d in tree(self.path("db/old")).items()
                          if n.endswith(".zip") and "foreign" not in n})


if __name__ == "__main__":
    unittest.main()
