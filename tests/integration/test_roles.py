# SPDX-License-Identifier: Apache-2.0
"""What five kinds of users do first, each command as its page has it; test_tutorial.py has the sixth.

The files of `make install` are there. TW_NIGHTLY=1 runs the blocks that wait for a scrape, too.
"""
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

from harness import BIN, ROOT, TIMEOUT_S, need, shared
from test_slurm import V2, Shared
from transcript import Transcript, blocks_of_role

NIGHTLY = bool(os.environ.get("TW_NIGHTLY"))
EXAMPLES = "/usr/local/share/tallywatt/examples"


class Roles(Transcript):
    @classmethod
    def setUpClass(cls):
        cls.stage = tempfile.mkdtemp(prefix="tw-stage-")
        cls.addClassCleanup(shutil.rmtree, cls.stage)
        subprocess.run(["make", "-s", "-C", ROOT, "-o", "all", "install", f"O={os.path.relpath(BIN, ROOT)}", "WEB=0", "prefix=/usr/local",
                        f"DESTDIR={cls.stage}"], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       timeout=TIMEOUT_S)

    def setUp(self):
        super().setUp()
        self.enter()

    def shell_of(self, name="", **environment):
        """A shell at a virtual machine on which Tallywatt is installed."""
        return self.shell(name, {"TW_METERS": "model", **environment}, share=self.stage + "/usr/local/share")

    def follow_role(self, role):
        return self.follow_all(blocks_of_role(role, NIGHTLY))

    def test_an_sre_with_virtual_machines_and_prometheus(self):
        for tool in ("prometheus", "promtool"):
            need("prometheus", shutil.which(tool))
        self.shell_of("vm")
        self.follow_role("sre")

    def test_a_c_programmer(self):
        shell = self.shell_of(PKG_CONFIG_PATH=self.stage + "/usr/local/lib/pkgconfig",
                              PKG_CONFIG_SYSROOT_DIR=self.stage,
                              LD_LIBRARY_PATH=self.stage + "/usr/local/lib")
        for path in ("docs/examples/predict.c", "model-db"):
            os.symlink(os.path.join(ROOT, path), os.path.join(os.path.dirname(shell.log), os.path.basename(path)))
        self.follow_role("programmer")

    def test_a_user_of_kepler_0_7(self):
        shell = self.shell_of()
        os.makedirs(os.path.join(os.path.dirname(shell.log), "kepler-model-db"))
        os.symlink(shared("data/model-db"), os.path.join(os.path.dirname(shell.log), "kepler-model-db/models"))
        answer = json.loads(self.follow_role("kepler")[-1])
        self.assertEqual(set(answer["package"]["All_Weights"]), {"Bias_Weight", "Categorical_Variables", "Numerical_Variables"})

    def test_an_admin_of_slurm(self):
        for tool in ("curl", "jq"):
            need(tool, shutil.which(tool))
        machine, ended = Shared(self.path("machine"), V2), threading.Event()
        self.shell_of("n1", TW_PROC=machine.args[1], TW_SYS=machine.args[3], TW_BPF="off", TW_METERS="fake",
                      TW_INTERVAL="200ms")
        self.shell_of("controller", TALLYWATT_WAIT_S="0")
        self.program("scontrol", "echo 127.0.0.1")
        self.program("sacctmgr", f"for last; do :; done; echo \"${{last#*=}}\" > {self.path('comment')}")
        self.program("sacct", f"echo JobID AdminComment; echo ---; echo 12 $(cat {self.path('comment')})")

        def use():
            while not ended.wait(0.1):
                machine.use([40] * 4)
        user = threading.Thread(target=use)
        user.start()
        self.addCleanup(user.join)
        self.addCleanup(ended.set)
        said = self.follow_role("slurm")[-1]
        self.assertGreater(float(re.search(r"energy_joules=([\d.]+)", said)[1]), 0)

    def test_a_person_who_opens_the_page(self):
        need("chromium", shutil.which("chromium"))
        self.shell_of(TW_INTERVAL="500ms")
        # Nobody is so quick that there is no power yet. In the browser time goes as it likes.
        self.program("xdg-open", f"""
            until curl -fs "$1healthz" | jq -e '.ticks > 3' >/dev/null; do sleep 0.1; done
            exec chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \\
                --user-data-dir={self.path('browser')} --virtual-time-budget=500 --dump-dom "$1" 2>/dev/null""")
        page = self.follow_role("page")[-1]
        need("web", "has no web pages" not in page)
        self.assertIn("ESTIMATED", page)
        self.assertRegex(page, r'<p class="big[^"]*">[\d.]+')


if __name__ == "__main__":
    unittest.main()
