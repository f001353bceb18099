# SPDX-License-Identifier: Apache-2.0
"""etc/deps on systems that are made up from scripts named apt-get, dpkg-query and so on."""
import os
import shutil
import subprocess
import tempfile
import unittest

TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
NEEDED_TOOLS = ("sh", "awk", "dirname", "grep", "cut", "tr", "env")


def listed(*levels):
    """The packages of etc/packages, of all levels or of some."""
    with open(os.path.join(TOP, "etc/packages"), encoding="utf-8") as f:
        lines = [line.split() for line in f if line.strip() and line[0] != "#"]
    return [line[1] for line in lines if not levels or line[0] in levels]


class Deps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.bin = folder.name
        self.calls = os.path.join(self.bin, "calls")
        for tool in NEEDED_TOOLS:
            os.symlink(shutil.which(tool), os.path.join(self.bin, tool))

    def tool(self, name, script):
        path = os.path.join(self.bin, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)

    def debian(self, installed, offered, user=0):
        """A system that has and offers what these shell patterns match."""
        self.tool("dpkg-query", f'case "$4" in {installed}) printf installed ;; '
                  "*) exit 1 ;; esac")
        self.tool("apt-cache", f'case "$2" in {offered}) ;; *) exit 1 ;; esac')
        self.tool("apt-get", f'echo "$*" >>{self.calls}')
        self.tool("id", f"echo {user}")

    def debian_without(self, *lacking, offered="*", user=0):
        """All that the list names is installed, but for some."""
        names = [name for entry in listed() for name in entry.split("|")
                 if name not in lacking]
        self.debian("|".join(names), offered, user)

    def deps(self, level):
        done = subprocess.run([os.path.join(TOP, "etc/deps"), level], check=False,
                              env={"PATH": self.bin}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.decode()

    def called(self):
        if not os.path.exists(self.calls):
            return []
        with open(self.calls, encoding="utf-8") as f:
            return f.read().splitlines()

    def test_nothing_is_done_where_all_is_there(self):
        self.debian("*", "*")
        for level in ("build", "test", "web", "check", "kernels"):
            self.assertEqual(self.deps(level), (0, ""))
        self.assertEqual(self.called(), [])

    def test_only_missing_packages_are_installed(self):
        self.debian_without("libjansson-dev", "libzip-dev")
        code, _ = self.deps("build")
        self.assertEqual(code, 0)
        update, install = self.called()
        self.assertIn("update", update)
        self.assertIn("--no-install-recommends install", install)
        self.assertEqual(install.split("install ")[-1].split(),
                         ["libjansson-dev", "libzip-dev"])

    def test_either_of_two_packages_will_do(self):
        self.debian_without("gcc", "pkg-config", "libcurl4-openssl-dev", "libcurl-dev")
        self.assertEqual(self.deps("build"), (0, ""))

    def test_an_unavailable_optional_package_is_reported_and_not_installed(self):
        self.debian_without("libxgboost-dev", offered="gcc")
        code, text = self.deps("build")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"NOTE: .*libxgboost-dev.*XGBOOST=0")
        self.assertEqual(self.called(), [])
        self.debian_without("libsvm-dev", offered="gcc")
        code, text = self.deps("build")
        self.assertEqual(code, 0)
        self.assertRegex(text, r"NOTE: .*libsvm-dev.*LIBSVM=0")

    def test_make_test_installs_the_programs_that_its_tests_use(self):
        programs = ["prometheus", "minisign", "stress-ng", "curl", "openssl", "locales",
                    "clang-format-14"]
        self.debian_without(*programs)
        self.assertEqual(self.deps("build"), (0, ""))
        self.assertEqual(self.called(), [])
        self.assertEqual(self.deps("test")[0], 0)
        self.assertCountEqual(self.called()[-1].split("install ")[-1].split(), programs)

    def test_a_program_of_tests_that_is_nowhere_is_reported(self):
        self.debian_without("minisign", offered="gcc")
        code, text = self.deps("test")
        self.assertEqual(code, 0)
        self.assertRegex(text, "NOTE: .*minisign: tests that use it are skipped")

    def test_a_browser_is_apart(self):
        self.debian_without("chromium")
        self.assertEqual(self.deps("test"), (0, ""))
        self.assertEqual(self.deps("web")[0], 0)
        self.assertEqual(self.called()[-1].split("install ")[-1].split(), ["chromium"])

    def test_a_needed_package_that_is_nowhere_fails(self):
        self.debian_without("libjansson-dev", offered="gcc")
        code, text = self.deps("build")
        self.assertEqual(code, 1)
        self.assertIn("libjansson-dev", text)

    def test_without_root_and_sudo_the_command_is_printed(self):
        self.debian_without("libjansson-dev", user=1000)
        code, text = self.deps("build")
        self.assertEqual(code, 1)
        self.assertIn("apt-get install libjansson-dev", text)
        self.assertEqual(self.called(), [])

    def test_without_root_tests_run_without_the_programs_that_are_missing(self):
        self.debian_without("minisign", user=1000)
        code, text = self.deps("test")
        self.assertEqual(code, 0)
        self.assertIn("apt-get install minisign", text)
        self.assertEqual(self.called(), [])

    def test_sudo_is_used_where_it_is(self):
        self.debian_without("libjansson-dev", user=1000)
        self.tool("sudo", 'exec "$@"')
        self.assertEqual(self.deps("build")[0], 0)
        self.assertEqual(len(self.called()), 2)

    def test_elsewhere_all_is_listed_and_nothing_else_is_done(self):
        code, text = self.deps("build")
        self.assertEqual(code, 1)
        for entry in listed("build", "maybe"):
            self.assertIn(entry.split("|")[0], text)

    def test_elsewhere_what_can_build_passes(self):
        for tool in ("cc", "python3", "pkg-config"):
            self.tool(tool, "exit 0")
        self.assertEqual(self.deps("build"), (0, ""))

    def test_wrong_use_exits_2(self):
        self.assertEqual(self.deps("all")[0], 2)


if __name__ == "__main__":
    unittest.main()
