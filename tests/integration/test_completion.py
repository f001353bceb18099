# SPDX-License-Identifier: Apache-2.0
"""tallywatt completion, by bash itself; names of commands and options that are mistyped."""
import os
import re
import shutil
import subprocess
import unittest

from harness import BIN, TIMEOUT_S, Case, need, run_tallywatt

ASK = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
_tallywatt
printf '%s\\n' "${COMPREPLY[@]}"
"""


class Completion(Case):
    def setUp(self):
        super().setUp()
        self.script = self.write("bash", self.tallywatt("completion", "bash"))

    def complete(self, *words):
        done = subprocess.run(["bash", "--norc", "-c", ASK, "bash", self.script, "tallywatt",
                               *words], check=False, cwd=self.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=TIMEOUT_S)
        # Outside of a completion, compopt has nothing to set.
        self.assertEqual(done.stderr.decode(), "")
        return sorted(set(done.stdout.decode().split()))

    def commands(self):
        return re.findall(r"^  ([a-z-]+) ", self.tallywatt("--help"), re.M)

    def test_bash_completes_commands_and_all_their_options(self):
        commands = self.commands()
        self.assertIn("trainers", commands)
        self.assertEqual(self.complete(""), sorted([*commands, "help", "--help", "--version"]))
        self.assertEqual(self.complete("tr"), ["train", "trainers"])
        self.assertEqual(self.complete("help", "to"), ["top"])
        for command in commands:
            told = set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", self.tallywatt(command, "--help"),
                                  re.M))
            self.assertEqual(set(self.complete(command, "--")), told, command)

    def test_bash_completes_values(self):
        self.write("a.json", "")
        os.makedirs(self.path("database"))
        self.assertEqual(self.complete("top", "--level", "c"), ["cgroup", "container"])
        self.assertEqual(self.complete("top", "-l", ""),
                         ["cgroup", "container", "job", "pod", "process", "step", "vm"])
        self.assertEqual(self.complete("top", "--level", "=", "v"), ["vm"])
        self.assertEqual(self.complete("top", "--level", "="),
                         ["cgroup", "container", "job", "pod", "process", "step", "vm"])
        self.assertEqual(self.complete("extract", "--input", "a"), ["a.json"])
        self.assertEqual(self.complete("train", "--model-db", ""), ["database"])
        self.assertEqual(self.complete("top", "--delay", ""), [])
        self.assertEqual(self.complete("completion", ""), ["bash", "fish", "zsh"])

    def test_bash_completes_options_of_daemons(self):
        for daemon in ("tw-collector", "tw-server"):
            done = subprocess.run(
                ["bash", "--norc", "-c", ASK.replace("_tallywatt\n", f"_tallywatt_daemon '{BIN}/{daemon}'\n"), "bash",
                 self.script, daemon, "--l"], check=True, stdout=subprocess.PIPE, timeout=TIMEOUT_S)
            told = re.findall(r"^ *(--l[a-z-]+)", subprocess.run(
                [f"{BIN}/{daemon}", "--help"], check=True, stdout=subprocess.PIPE).stdout.decode(), re.M)
            self.assertEqual(sorted(set(done.stdout.decode().split())), sorted(told))
            self.assertIn("--listen", told)

    def test_the_script_for_fish_has_all_options(self):
        script = self.tallywatt("completion", "fish")
        for command in self.commands():
            has = set(re.findall(rf"^complete .* '__fish_seen_subcommand_from {command}' -l ([a-z0-9-]+)", script, re.M))
            told = set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", self.tallywatt(command, "--help"), re.M))
            self.assertEqual(has, told, command)
        names = re.search(r'complete -c \$program -a "\((.*)\)"', script)[1]
        os.symlink(BIN, self.path("bin"))  # sh splits what fish does not
        done = subprocess.run(["sh", "-c", names], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, "program": self.path("bin/tw-server")}, timeout=TIMEOUT_S)
        lines = done.stdout.decode().splitlines()
        self.assertIn("--listen", lines)
        self.assertIn("--check-config", lines)
        self.assertEqual([line for line in lines if not re.fullmatch("--[a-z0-9-]+", line)], [])
        need("fish", shutil.which("fish"))
        path = self.write("c.fish", script)
        for line, wanted in (("tallywatt top --level c", ["cgroup", "container"]),
                             ("tallywatt top --conf", ["--config"]), ("tw-server --liste", ["--listen"])):
            done = subprocess.run(["fish", "--no-config", "-c", f"source {path}; complete -C '{line}'"], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                                  env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
            # A description follows a tab.
            found = sorted(has.split("\t")[0] for has in done.stdout.decode().splitlines())
            self.assertEqual((found, done.stderr), (wanted, b""), line)

    def test_the_script_for_zsh_has_all_options(self):
        script = self.tallywatt("completion", "zsh")
        self.assertTrue(script.startswith("#compdef tallywatt tw-collector tw-estimator tw-server tw-trainer\n"))
        for command in self.commands():
            block = re.search(rf"^\t{command}\) _arguments(.*?) ;;$", script, re.S | re.M)[1]
            options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)",
                                 self.tallywatt(command, "--help"), re.M)
            self.assertIn("--help", options)
            for option in options:
                self.assertRegex(block, rf"'\*?{option}[=\[]")
        self.assertEqual(script.replace("'\\''", "").count("'") % 2, 0)

    def test_wrong_names_are_answered_with_near_or_all_possible_ones(self):
        for args, said in ((("trian",), "did you mean 'train'?"),
                           (("tr",), "ambiguous command 'tr': train, trainers"),
                           (("ex",), "ambiguous command 'ex': explain, export, extract"),
                           (("xyzzy",), "no command 'xyzzy'"),
                           (("top", "--lvel", "x"), "did you mean '--level'?"),
                           (("top", "--re=x", "--r"), "--reverse"),
                           (("train", "--m", "x"), "ambiguous option '--m': --m"),
                           (("top", "--qqq"), "unknown option '--qqq' (see --help)"),
                           (("completion", "ksh"), "want bash, fish or zsh"), (("help", "nix"), "nix")):
            done = run_tallywatt(*args)
            self.assertEqual(done.returncode, 2, args)
            self.assertIn(said, done.stderr.decode())
            self.assertEqual(len(done.stderr.decode().splitlines()), 1)
        self.assertEqual(self.tallywatt("help", "top"), self.tallywatt("top", "--help"))
        self.assertEqual(self.tallywatt("traine", "--help"),
                         self.tallywatt("trainers", "--help"))
        self.assertEqual(self.tallywatt("help"), self.tallywatt("--help"))


if __name__ == "__main__":
    unittest.main()
