# SPDX-License-Identifier: Apache-2.0
"""The images of etc/containers, and the loop between them: `make test-images`.

With SYSROOT they are those of another architecture, in emulation. IMAGE_LISTS is where `make image-lists` wrote
archives. Needs root, buildah and podman. KUBECTL names a kubectl, which then builds etc/kubernetes.
"""
import glob
import json
import os
import struct
import subprocess
import sys
import tarfile
import time
import unittest
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "integration"))

from harness import ROOT, Case, ask_estimator, need, power_request, wait_until  # noqa: E402
from sources import free_port  # noqa: E402

TAG = os.environ.get("IMAGE_TAG", "0.1.0")
MOST_MB = {"node": 40, "server": 120}
# As in etc/kubernetes/base/collector.yaml.
COLLECTOR_RIGHTS = ["BPF", "PERFMON", "SYS_PTRACE", "DAC_READ_SEARCH", "CHOWN", "SETUID", "SETGID",
                    "SETPCAP"]
# e_machine of the programs of a platform.
MACHINE_OF = {"amd64": 62, "arm64": 183}
# qemu-user has no filters of system calls.
EMULATED = ["--env=TW_FILTER=no"] if "SYSROOT" in os.environ else []
KUSTOMIZED = ("base", "overlays/monitoring", "overlays/trainer", "overlays/kepler-model-server")


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Images(Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o777)

    def container(self, image, *command, rights=(), more=()):
        name = f"tw-test-{os.getpid()}-{self.started}"
        self.started += 1
        run("podman", "--runtime", "runc", "run", "--detach", "--name", name, "--network=host",
            "--read-only", "--cap-drop", "ALL", *(f"--cap-add={r}" for r in rights),
            "--security-opt", "no-new-privileges", "--ulimit", "nofile=4096:4096", "--ulimit",
            "nproc=4096:4096", *EMULATED, *more, f"localhost/tallywatt-{image}:{TAG}", *command)
        self.addCleanup(run, "podman", "rm", "--force", name)
        return name

    def answer(self, url, what):
        def ask():
            try:
                with urllib.request.urlopen(url, timeout=5) as reply:
                    return reply.read().decode()
            except OSError:
                return None
        wait_until(ask, what)
        return ask()

    def test_sizes(self):
        for image, most in MOST_MB.items():
            size = int(run("podman", "image", "inspect", "--format", "{{.Size}}",
                           f"localhost/tallywatt-{image}:{TAG}"))
            print(f"tallywatt-{image}: {size / 1e6:.1f} MB")
            self.assertLess(size, most * 1e6)

    def test_the_loop_between_containers(self):
        server, metrics = free_port(), free_port()
        where = f"http://127.0.0.1:{server}"
        shared = [f"--volume={self.dir}:/tmp"]
        names = [
            self.container("server", "/usr/local/bin/tw-server", "--listen",
                           f"127.0.0.1:{server}"),
            self.container("node", "/usr/local/bin/tw-collector", "--listen",
                           f"127.0.0.1:{metrics}", "--interval", "500ms", "--model-server", where,
                           rights=COLLECTOR_RIGHTS, more=[
                               "--pid=host", "--volume=/sys:/sys:ro",
                               "--security-opt=seccomp=unconfined"]),
            self.container("node", "/usr/local/bin/tw-estimator", "--model-server", where,
                           more=["--user=65532", *shared]),
        ]
        self.assertIn("tw_models", self.answer(f"{where}/metrics", "the server answers"))
        url = f"http://127.0.0.1:{metrics}/metrics"
        wait_until(lambda: "tallywatt_node_power_watts{" in self.answer(url, "the collector"),
                   "the collector has watts")
        text = self.answer(url, "the collector")
        self.assertIn(f'origin="server",from="{where}"', text)
        wait_until(lambda: os.path.exists(self.path("estimator.sock")), "the socket is there")
        reply = ask_estimator(self.path("estimator.sock"), power_request(
            ["bpf_cpu_time_ms"], [[0.0], [1000.0]], source="rapl-sysfs"))
        rest, busy = reply["powers"]["package"]
        self.assertGreater(busy, rest)
        start = time.monotonic()
        for name in names:
            run("podman", "stop", "--time", "10", name)
            state = json.loads(run("podman", "inspect", name))[0]["State"]
            self.assertEqual(state["ExitCode"], 0, name)
        print(f"stopped in {time.monotonic() - start:.1f} s")

    def test_lists_have_an_image_of_each_architecture(self):
        need("image lists", "IMAGE_LISTS" in os.environ)
        lists = glob.glob(os.path.join(os.environ["IMAGE_LISTS"], "*-all.oci.tar"))
        self.assertEqual(len(lists), len(MOST_MB))
        for path in lists:
            with tarfile.open(path) as archive:
                def blob(described):
                    return archive.extractfile("blobs/" + described["digest"].replace(":", "/"))
                top = json.load(archive.extractfile("index.json"))["manifests"]
                images = json.load(blob(top[0]))["manifests"]
                self.assertEqual(sorted(i["platform"]["architecture"] for i in images), sorted(MACHINE_OF))
                for image in images:
                    of, manifest = image["platform"]["architecture"], json.load(blob(image))
                    self.assertEqual(json.load(blob(manifest["config"]))["architecture"], of)
                    with tarfile.open(fileobj=blob(manifest["layers"][0])) as layer:
                        heads = [layer.extractfile(m).read(20) for m in layer if m.isfile() and "/bin/t" in m.name]
                    self.assertTrue(heads)
                    self.assertEqual({struct.unpack_from("<H", head, 18)[0] for head in heads}, {MACHINE_OF[of]})

    @unittest.skipUnless("KUBECTL" in os.environ, "KUBECTL names no kubectl")
    def test_manifests_can_be_built(self):
        for folder in KUSTOMIZED:
            text = run(os.environ["KUBECTL"], "kustomize",
                       os.path.join(ROOT, "etc/kubernetes", folder))
            self.assertGreater(text.count("\nkind:"), 3, folder)


if __name__ == "__main__":
    unittest.main()
