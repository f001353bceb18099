# SPDX-License-Identifier: Apache-2.0
"""From an empty Debian to watts: the commands of README.md, then those of each role: `make nightly-roles`.

The sources are a clone of the last commit. SUITES names other releases of Debian. Needs root, mmdebstrap, and
Debian's packages and those of npm.
"""
import os
import re
import subprocess
import time
import unittest

from clean_root import CleanRoot
from harness import ROOT, shared

HOME = "/root/tallywatt"
# Of the release that is supported all is tried; of later ones that it builds there.
OTHER = os.environ.get("SUITES", "trixie").split()
TOLD = ("root", "curl", "jq", "prometheus", "chromium", "web", "shared", "network namespaces")


def commands_of_readme():
    """What "Try it" has, without its comments."""
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        block = re.search(r"^## Try it\n.*?^```sh\n(.*?)^```$", f.read(), re.M | re.S)[1]
    return [line.partition(" #")[0].strip() for line in block.splitlines()]


class FromNothing(CleanRoot):
    def sh(self, command, **environment):
        """The output of a command in the clone, which succeeds; what it takes is shown at once."""
        began = time.monotonic()
        try:
            said = self.inside("sh", "-ec", f"cd {HOME} && {command}", timeout=7200, HOME="/root",
                               MAKEFLAGS=f"-j{len(os.sched_getaffinity(0))}", **environment)
        except AssertionError as e:
            print(e, flush=True)
            raise
        print(f"  # {command}: {time.monotonic() - began:.0f} s", flush=True)
        return said

    def start_reading(self, suite):
        """Debian, the clone, and the first commands of README.md; those that are left."""
        self.install(suite, "ca-certificates")
        subprocess.run(["git", "clone", "-q", ROOT, self.root + HOME], check=True, timeout=600)
        prepare, demo, *others = commands_of_readme()
        self.sh(prepare)
        said = self.sh(demo, DURATION="4")
        self.assertRegex(said, r"demo: first watts after \d+ s: package [\d.]+ W")
        self.assertRegex(said, r"demo: mean of \d+ tables: measured [\d.]+ W, estimated")
        return others

    def test_each_role_on_debian_12(self):
        self.assertEqual(self.start_reading("bookworm"), ["make test", "make test-web"])
        # The packages of both, and no more: the roles are among these tests.
        self.sh("etc/deps test && etc/deps web")
        self.bind(os.path.dirname(shared("data")), os.path.dirname(HOME) + "/shared")
        said = self.sh("make t/roles t/tutorial", TW_NIGHTLY="1", TW_REQUIRE=",".join(TOLD))
        self.assertRegex(said, r"roles: 5 passed, 0 failed, 0 skipped")
        self.assertRegex(said, r"tutorial: \d+ passed, 0 failed, 0 skipped")

    def test_later_releases(self):
        for suite in OTHER:
            with self.subTest(suite):
                self.start_reading(suite)
                self.sh("etc/deps test && make build-tests check-unit")


if __name__ == "__main__":
    unittest.main()
