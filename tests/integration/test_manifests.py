# SPDX-License-Identifier: Apache-2.0
"""etc/kubernetes: the programs accept what the manifests pass to them."""
import glob
import os
import re
import subprocess
import tempfile
import unittest

from harness import BIN, ROOT, TIMEOUT_S
from web_case import HASH

COMMAND = re.compile(r"command: \[/usr/local/bin/([\w-]+)\]\n( +)args:(?: \[(.*)\]\n|\n((?:\2  - .*\n)+))")
PATCHED = re.compile(r"path: /spec/template/spec/containers/0/args\n( +)value:\n((?:\1  - .*\n)+)")


def arguments(flow, block):
    lines = flow.split(",") if flow is not None else block.splitlines()
    return [line.strip().removeprefix("- ") for line in lines]


def commands():
    """(file, program, arguments) of each container."""
    for path in sorted(glob.glob(os.path.join(ROOT, "etc/kubernetes/**/*.yaml"),
                                 recursive=True)):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for program, _, flow, block in COMMAND.findall(text):
            yield path, program, arguments(flow if not block else None, block)
        for _, block in PATCHED.findall(text):
            yield path, "tw-server", arguments(None, block)


class Manifests(unittest.TestCase):
    def test_every_option_is_accepted(self):
        found = list(commands())
        self.assertEqual(sorted({program for _, program, _ in found}),
                         ["tallywatt", "tw-collector", "tw-server", "tw-trainer"])
        web = os.path.join(self.enterContext(tempfile.TemporaryDirectory()), "web.yml")
        with open(web, "w", encoding="utf-8") as f:
            f.write(f"basic_auth_users:\n  alice: {HASH}\n")
        for path, program, args in found:
            args = [a.replace("$(NODE_NAME)", "here").replace("$(JOB_COMPLETION_INDEX)", "0")
                    .replace("/etc/tallywatt/web/web.yml", web).replace("=/host/", "=/")
                    for a in args]
            done = subprocess.run([os.path.join(BIN, program), *args, "--check-config"],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, f"{path}: {program}: {done.stdout}")

    def test_the_trainer_has_users(self):
        found = [args for path, program, args in commands()
                 if program == "tw-trainer" and "overlays/trainer" in path]
        self.assertEqual(len(found), 1)
        self.assertIn("--web-config=/etc/tallywatt/web/web.yml", found[0])
        with open(os.path.join(ROOT, "etc/kubernetes/overlays/trainer/trainer.yaml"),
                  encoding="utf-8") as f:
            self.assertIn("secret: {secretName: tw-trainer-users}", f.read())


if __name__ == "__main__":
    unittest.main()
