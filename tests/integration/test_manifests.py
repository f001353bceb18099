# SPDX-License-Identifier: Apache-2.0
"""etc/kubernetes: the programs accept what the manifests pass to them. etc/helm: the chart has the same lines."""
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


CHART = os.path.join(ROOT, "etc/helm/tallywatt")
# What the chart has from values and templates of its own; tests/helm compares the objects.
CHARTED = ("base/collector.yaml", "base/server.yaml", "base/network-policy.yaml", "base/namespace.yaml",
           "overlays/trainer/trainer.yaml", "overlays/monitoring/monitors.yaml")
EXPRESSION = re.compile(r"\{\{.*?\}\}(?!\})")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as f:
        return f.read()


def lines_of(text):
    """Those that say something, without comments and indentation."""
    found = (re.sub(r"(^| +)#.*", "", line).strip() for line in text.splitlines())
    return {line for line in found if line and line != "---"}


def values_of(text):
    """The names of the values of values.yaml: one level of groups, by its indentation."""
    group, found = "", set()
    for line in text.splitlines():
        if match := re.match(r"([A-Za-z]+):( \S.*)?$", line):
            group = match[1]
            if match[2]:
                found.add(group)
        elif match := re.match(r"  ([A-Za-z]+):", line):
            found.add(f"{group}.{match[1]}")
    return found


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

    def test_values_of_the_chart_are_used_and_documented(self):
        values = values_of(read(CHART, "values.yaml"))
        used = "".join(read(path) for path in glob.glob(CHART + "/templates/*"))
        self.assertEqual(set(re.findall(r"\.Values\.([A-Za-z.]+)", used)), values)
        page = read(ROOT, "docs/kubernetes.md")
        self.assertEqual(set(re.findall(r"^\| `([a-zA-Z.]+)` \| `", page, re.M)), values)
        self.assertIn("server.replicas", values)

    def test_the_chart_has_the_lines_of_the_manifests(self):
        """So a change of one alone is noticed where no engine of templates is."""
        plain, patterns = lines_of(read(CHART, "values.yaml")), []
        for path in glob.glob(CHART + "/templates/*l"):
            for line in lines_of(read(path)):
                if "{{" in line:
                    patterns.append(re.compile(".*".join(map(re.escape, EXPRESSION.split(line)))))
                else:
                    plain.add(line)
        # What is an expression alone says nothing.
        patterns = [p for p in patterns if re.search("[a-z]", p.pattern.replace(".*", ""))]
        for name in CHARTED:
            for line in lines_of(read(ROOT, "etc/kubernetes", name)):
                self.assertTrue(line in plain or any(p.fullmatch(line) for p in patterns), f"{name}: {line}")
        manifests = set().union(*(lines_of(read(path)) for path in glob.glob(
            os.path.join(ROOT, "etc/kubernetes/*/**/*.yaml"), recursive=True)))
        self.assertEqual(plain - lines_of(read(CHART, "values.yaml")) - manifests, set())


if __name__ == "__main__":
    unittest.main()
