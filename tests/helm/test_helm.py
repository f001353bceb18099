# SPDX-License-Identifier: Apache-2.0
"""etc/helm and etc/kubernetes give the same objects, and those of the API: `make nightly-helm`.

The templates are rendered by Go's own engine (render.go), and by Helm where HELM names one. Needs
golang-go, golang-github-masterminds-sprig-dev, golang-gopkg-yaml.v3-dev and kubectl (for its
kustomize). KUBE_OPENAPI names a swagger.json of Kubernetes (api/openapi-spec in its sources).
"""
import copy
import json
import os
import shutil
import subprocess
import tempfile
import unittest

from harness import ROOT, need

CHART = os.path.join(ROOT, "etc/helm/tallywatt")
MANIFESTS = os.path.join(ROOT, "etc/kubernetes")
NAMESPACE = "tallywatt"
WHOLE = ("namespace.create=true",)
# The same objects: a folder of etc/kubernetes, and values.
SAME = (("base", WHOLE), ("overlays/monitoring", (*WHOLE, "monitoring.enabled=true")),
        ("overlays/trainer", (*WHOLE, "trainer.enabled=true")))
FOLDERS = ("base", "overlays/monitoring", "overlays/trainer", "overlays/kepler-model-server", "train",
           "train/merge")
# An operator's, not of the API's own description.
FOREIGN = ("monitoring.coreos.com/v1",)
KEPLER = """
apiVersion: v1
kind: ConfigMap
metadata: {name: kepler-cfm, namespace: kepler}
data: {KEPLER_LOG_LEVEL: "1"}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: kepler-exporter, namespace: kepler}
spec:
  selector: {matchLabels: {app: kepler}}
  template:
    metadata: {labels: {app: kepler}}
    spec:
      containers:
        - name: kepler-exporter
          image: kepler
          volumeMounts: [{name: cfm, mountPath: /etc/kepler/kepler.config}]
      volumes: [{name: cfm, configMap: {name: kepler-cfm}}]
"""
WITH_COMPONENT = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [kepler.yaml]
components: [kepler-estimator]
"""


def run(*command, **more):
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, **more)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout


def keyed(objects):
    found = {(o["apiVersion"], o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o
             for o in objects}
    if len(found) != len(objects):
        raise AssertionError("two objects of one name")
    return found


def pod_of(thing):
    return thing["spec"].get("template", {}).get("spec") if thing["kind"] in (
        "DaemonSet", "Deployment", "Job") else None


def containers(pod):
    return pod["containers"] + pod.get("initContainers", [])


class Api:
    """Kubernetes' own description of its objects."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.types = json.load(f)["definitions"]
        self.kinds = {(k["group"], k["version"], k["kind"]): name for name, t in self.types.items()
                      for k in t.get("x-kubernetes-group-version-kind", [])}

    def check(self, thing):
        """What is wrong with an object: unknown, missing and badly typed fields."""
        group, _, version = thing["apiVersion"].rpartition("/")
        name = self.kinds.get((group, version, thing["kind"]))
        if name is None:
            return [f"no kind {thing['apiVersion']} {thing['kind']}"]
        return list(self.faults(self.types[name], thing, thing["kind"]))

    def faults(self, kind, value, where):
        if "$ref" in kind:
            kind = self.types[kind["$ref"].removeprefix("#/definitions/")]
        wanted = kind.get("type")
        if kind.get("format") == "int-or-string" or wanted is None and "properties" not in kind:
            return
        if wanted == "object" or "properties" in kind:
            yield from self.object_faults(kind, value, where)
        elif wanted == "array":
            if not isinstance(value, list):
                yield f"{where}: not a list"
            else:
                for i, item in enumerate(value):
                    yield from self.faults(kind["items"], item, f"{where}[{i}]")
        elif not isinstance(value, {"string": str, "integer": int, "boolean": bool, "number": float}[wanted]) \
                or wanted == "integer" and isinstance(value, bool):
            yield f"{where}: want {wanted}, got {value!r}"

    def object_faults(self, kind, value, where):
        if not isinstance(value, dict):
            yield f"{where}: not an object"
            return
        fields, rest = kind.get("properties", {}), kind.get("additionalProperties")
        for name in kind.get("required", []):
            if name not in value:
                yield f"{where}: no {name}"
        for name, inner in value.items():
            if name in fields or rest:
                yield from self.faults(fields.get(name, rest), inner, f"{where}.{name}")
            elif fields or rest is not None:
                yield f"{where}: unknown field {name}"


class Helm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need("go", shutil.which("go") is not None)
        need("sprig", os.path.isdir("/usr/share/gocode/src/github.com/Masterminds/sprig"))
        need("kubectl", shutil.which("kubectl") is not None)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.top = folder.name
        cls.render = os.path.join(cls.top, "render")
        run("go", "build", "-o", cls.render, os.path.join(os.path.dirname(os.path.abspath(__file__)), "render.go"),
            env={**os.environ, "GO111MODULE": "off", "GOPATH": "/usr/share/gocode",
                 "GOCACHE": os.path.join(cls.top, "cache")})

    def chart(self, *values, chart=CHART):
        return keyed(json.loads(run(self.render, "chart", chart, NAMESPACE, *values)))

    def read(self, text):
        with open(os.path.join(self.top, "text.yaml"), "w", encoding="utf-8") as f:
            f.write(text)
        return keyed(json.loads(run(self.render, "objects", f.name)))

    def kustomized(self, folder):
        return self.read(run("kubectl", "kustomize", os.path.join(MANIFESTS, folder)))

    def with_estimator(self):
        """Kepler's objects as the component changes them."""
        there = os.path.join(self.top, "kepler")
        shutil.copytree(os.path.join(MANIFESTS, "kepler-estimator"), os.path.join(there, "kepler-estimator"),
                        dirs_exist_ok=True)
        for name, text in (("kepler.yaml", KEPLER), ("kustomization.yaml", WITH_COMPONENT)):
            with open(os.path.join(there, name), "w", encoding="utf-8") as f:
                f.write(text)
        return self.read(run("kubectl", "kustomize", there))

    def every_object(self):
        found = [self.with_estimator(), *(self.kustomized(f) for f in FOLDERS),
                 self.chart(*WHOLE, "trainer.enabled=true", "monitoring.enabled=true", "nodeSelector={a: b}",
                            "image.pullSecrets=[{name: x}]", "monitoring.labels={release: p}",
                            "trainer.storageClassName=fast", "collector.extraArgs=[--interval=5s]",
                            "collector.seLinuxOptions={type: spc_t}")]
        return [o for objects in found for o in objects.values()]

    def test_the_same_objects(self):
        for folder, values in SAME:
            with self.subTest(folder):
                self.assertEqual(self.chart(*values), self.kustomized(folder))

    def test_a_difference_is_noticed(self):
        base = self.kustomized("base")
        self.assertNotEqual(self.chart(), base)
        self.assertNotEqual(self.chart(*WHOLE, "server.replicas=3"), base)
        broken = os.path.join(self.top, "broken")
        shutil.copytree(CHART, broken)
        path = os.path.join(broken, "templates/collector.yaml")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("--sys=/host/sys", "--sys=/sys"))
        self.assertNotEqual(self.chart(*WHOLE, chart=broken), base)

    def test_helm_itself_gives_the_same(self):
        need("helm", "HELM" in os.environ)
        run(os.environ["HELM"], "lint", "--strict", CHART)
        for folder, values in SAME:
            text = run(os.environ["HELM"], "template", "x", CHART, "--namespace", NAMESPACE, "--kube-version", "1.30",
                       *(f"--set={v}" for v in values))
            self.assertEqual(self.read(text), self.kustomized(folder))

    def test_what_values_change(self):
        all_of = self.chart("trainer.enabled=true")
        without = self.chart("trainer.enabled=true", "networkPolicy.enabled=false")
        self.assertEqual({k for _, k, _, _ in all_of.keys() - without.keys()}, {"NetworkPolicy"})
        without = self.chart("collector.podNames=false")
        self.assertEqual([k for k in without if k[1].startswith("ClusterRole")], [])
        daemons = without["apps/v1", "DaemonSet", NAMESPACE, "tw-collector"]["spec"]["template"]["spec"]
        self.assertFalse([a for a in daemons["containers"][0]["args"] if "kube-api" in a])
        changed = self.chart("image.registry=r.example/x", "image.tag=9", "nodeSelector={a: b}",
                             "collector.extraArgs=[--interval=5s]", "image.pullSecrets=[{name: s}]")
        pod = changed["apps/v1", "DaemonSet", NAMESPACE, "tw-collector"]["spec"]["template"]["spec"]
        self.assertEqual(pod["containers"][0]["image"], "r.example/x/tallywatt-node:9")
        self.assertEqual((pod["nodeSelector"], pod["imagePullSecrets"]), ({"a": "b"}, [{"name": "s"}]))
        self.assertEqual(pod["containers"][0]["args"][-1], "--interval=5s")

    def test_kepler_has_a_native_sidecar(self):
        objects = self.with_estimator()
        self.assertEqual(objects["v1", "ConfigMap", "kepler", "kepler-cfm"]["data"], {
            "KEPLER_LOG_LEVEL": "1", "MODEL_CONFIG": "NODE_TOTAL_ESTIMATOR=true\nNODE_COMPONENTS_ESTIMATOR=true\n"})
        pod = pod_of(objects["apps/v1", "DaemonSet", "kepler", "kepler-exporter"])
        sidecar, = pod["initContainers"]
        self.assertEqual((sidecar["name"], sidecar["restartPolicy"]), ("estimator", "Always"))
        self.assertEqual([c["name"] for c in pod["containers"]], ["kepler-exporter"])
        self.assertEqual({m["mountPath"] for c in containers(pod) for m in c["volumeMounts"] if m["name"] == "tmp"},
                         {"/tmp"})

    def test_pods_but_the_collector_are_restricted(self):
        """By the rules of Pod Security's level of that name that a pod of ours can break."""
        seen = set()
        for thing in self.every_object():
            pod = pod_of(thing)
            if pod is None or thing["metadata"]["name"] in ("tw-collector", "kepler-exporter"):
                continue
            seen.add(thing["metadata"]["name"])
            self.assertFalse({"hostPID", "hostNetwork", "hostIPC"} & pod.keys())
            self.assertTrue(pod["securityContext"]["runAsNonRoot"])
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            for volume in pod.get("volumes", []):
                self.assertTrue({"configMap", "emptyDir", "secret", "persistentVolumeClaim"} & volume.keys(), volume)
            for container in containers(pod):
                limits = container["securityContext"]
                self.assertIs(limits["allowPrivilegeEscalation"], False)
                self.assertEqual(limits["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(seen, {"tw-server", "tw-trainer", "kepler-model-server", "tallywatt-train", "tallywatt-merge"})

    def test_all_of_ours_run_on_linux_with_requests_and_a_limit_of_memory(self):
        for folder in FOLDERS:
            for thing in self.kustomized(folder).values():
                pod = pod_of(thing)
                if pod is None:
                    continue
                self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux"})
                for container in containers(pod):
                    self.assertLessEqual({"cpu", "memory"}, container["resources"]["requests"].keys())
                    self.assertIn("memory", container["resources"]["limits"])

    def test_objects_are_of_the_api(self):
        need("KUBE_OPENAPI", "KUBE_OPENAPI" in os.environ)
        api = Api(os.environ["KUBE_OPENAPI"])
        checked = set()
        for thing in self.every_object():
            if thing["apiVersion"] not in FOREIGN:
                self.assertEqual(api.check(thing), [], thing["metadata"]["name"])
                checked.add(thing["kind"])
        self.assertLessEqual({"DaemonSet", "Deployment", "Job", "Service", "NetworkPolicy", "PodDisruptionBudget",
                              "ClusterRole", "ConfigMap", "Namespace", "PersistentVolumeClaim"}, checked)
        self.check_that_faults_are_found(api)

    def check_that_faults_are_found(self, api):
        thing = self.kustomized("base")["apps/v1", "DaemonSet", NAMESPACE, "tw-collector"]
        for change, wanted in (
                (lambda o: o["spec"].update(replicas=2), "DaemonSet.spec: unknown field replicas"),
                (lambda o: pod_of(o)["containers"][0].update(imagePulPolicy="Always"),
                 "DaemonSet.spec.template.spec.containers[0]: unknown field imagePulPolicy"),
                (lambda o: pod_of(o).update(hostPID="yes"),
                 "DaemonSet.spec.template.spec.hostPID: want boolean, got 'yes'"),
                (lambda o: o["spec"].pop("selector"), "DaemonSet.spec: no selector"),
                (lambda o: o.update(apiVersion="apps/v2"), "no kind apps/v2 DaemonSet")):
            wrong = copy.deepcopy(thing)
            change(wrong)
            self.assertEqual(api.check(wrong), [wanted])


if __name__ == "__main__":
    unittest.main()
