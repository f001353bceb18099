# SPDX-License-Identifier: Apache-2.0
"""etc/kubernetes: the programs accept what the manifests pass to them."""
import glob
import os
import re
import subprocess
import unittest

from harness import BIN, ROOT, TIMEOUT_S

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
        for path, program, args in found:
            args = [a.replace("$(NODE_NAME)", "here").replace("$(JOB_COMPLETION_INDEX)", "0")
                    for a in args]
            done = subprocess.run([os.path.join(BIN, program), *args, "--check-config"],
                                  check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 0, f"{path}: {program}: {done.stdout}")


if __name__ == "__main__":
    unittest.main()
