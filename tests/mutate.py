#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change a module one line at a time, and list the changes that its tests do not notice.

    mutate.py [--count N] [--seed S] [--tests "NAME ..."] [--least PERCENT] MODULE.c

`make mutate M=MODULE.c` runs it on a built tree. No file of the tree is changed: each mutant is
compiled beside the build, and linked in front of the library into copies of the tests. The
tests are those of tests/unit that include the module's header, or those that --tests names; the
name of an integration test links the programs, too. A mutant is killed by a test that fails,
crashes or hangs.

Mutants: a comparison flipped, a bound moved by one, a term dropped, an operator or a Boolean
replaced, a call removed, a failure ignored. Calls that release memory or descriptors, take locks or
release them stay: leaks and races are found by the sanitizers, not by these tests.
"""
import argparse
import os
import random
import re
import shlex
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIMEOUT_MIN_S = 10
RELEASES = re.compile(r"^(free|close|closedir|fclose|json_decref|explicit_bzero|\w*memzero|"
                      r"tw_\w+_(free|release|clear|close|unref)|pthread_\w*(lock|destroy)|"
                      r"tw_log_\w+|release\w*|free_\w+|assert)$")
# (what, pattern, replacements). Groups stay around the middle one, which is replaced.
OPERATORS = (
    ("comparison flipped", r"()( == )()", (" != ",)),
    ("comparison flipped", r"()( != )()", (" == ",)),
    ("bound moved", r"()( < )()", (" <= ",)),
    ("bound moved", r"()( <= )()", (" < ",)),
    ("bound moved", r"()( > )()", (" >= ",)),
    ("bound moved", r"()( >= )()", (" > ",)),
    ("comparison flipped", r"()( <=? )()", (" > ",)),
    ("comparison flipped", r"()( >=? )()", (" < ",)),
    ("bound moved", r"([\[( ,=])(\d+)(?=[;,)\] uUlL])()", ("+1",)),
    ("term dropped", r"()( &&)(?= |$)()", (" && 1 || 0 &&", ",")),
    ("term dropped", r"()( \|\|)(?= |$)()", (" || 0 &&", ",")),
    ("term dropped", r"()( [-+*/] (?:\(\w+\))?[\w.>\[\]-]+(?:\([^()]*\))?)(?=[;,) ])()", ("",)),
    ("operator replaced", r"()( \+ )()", (" - ",)),
    ("operator replaced", r"()( - )()", (" + ",)),
    ("operator replaced", r"()( \* )(?=[\w(])()", (" / ",)),
    ("operator replaced", r"()( / )()", (" * ",)),
    ("operator replaced", r"()( \+= )()", (" -= ", " = ")),
    ("operator replaced", r"()( \|= )()", (" = ",)),
    ("negation dropped", r"([( ])(!)(?=[\w(])()", ("",)),
    ("Boolean replaced", r"\b()(true)\b()", ("false",)),
    ("Boolean replaced", r"\b()(false)\b()", ("true",)),
    ("failure ignored", r"()\b(\w+\((?:[^()]|\([^()]*\))*\) \0 \0)()", ("0",)),
    ("failure ignored", r"(return )(-1)(;)", ("0",)),
)
CALL = re.compile(r"^(\t+)(\w+)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\);$")
ASSIGNMENT = re.compile(r"^\t+[\w.>\[\]-]+ [-+*/|&]?= [^;]*;$")


def mask(text):
    """Text of the same length, comments and literals blanked."""
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
                  lambda m: re.sub(r"[^\n]", "\0", m.group()), text, flags=re.S)


def mutants_of(text):
    """(line number, what, new line) of all mutants."""
    lines, masked = text.split("\n"), mask(text).split("\n")
    found = []
    for i, (line, code) in enumerate(zip(lines, masked)):
        if not code.startswith(("\t", "#define")) or not code.strip("\0\t "):
            continue
        # Callers test the results of functions that fail by their sign; zeros initialize.
        code = re.sub(r"(?<=\)) < 0|\brc = -?[01]|return -?[01];|\{ 0 \}",
                      lambda m: m.group() if "return -1" in m.group()
                      else re.sub(r"\S", "\0", m.group()), code)
        for what, pattern, replacements in OPERATORS:
            for m in re.finditer(pattern, code):
                for new in replacements:
                    if new == "+1":
                        new = str(int(m.group(2)) + 1)
                    found.append((i, what, line[:m.start(2)] + new + line[m.end(2):]))
        # A statement of its own: the line before it ends a statement or a block, or is a condition.
        call = CALL.match(code)
        if (call and not RELEASES.match(call.group(2))) or ASSIGNMENT.match(code):
            found.append((i, "call removed" if call else "assignment removed",
                          re.match(r"\t*", line).group() + ";"))
    return found


def run(command, **more):
    return subprocess.run(command, cwd=TOP, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def find_tests(module):
    """The unit tests that include the module's header, that of its own name first."""
    include = f'#include "{module[:-2]}.h"'
    folder = os.path.join(TOP, "tests/unit")
    names = []
    for name in sorted(os.listdir(folder)):
        if re.match(r"test_.*\.c$", name):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                if include in f.read():
                    names.append(name[len("test_"):-2])
    stem = os.path.basename(module)[:-2]
    return sorted(names, key=lambda n: (n != stem, n))


class Build:
    """How make compiles the module and links the tests, repeated for a mutant."""

    def __init__(self, args, folder):
        self.out, self.folder = args.out, folder
        self.unit = [t for t in args.tests if os.path.exists(f"{TOP}/tests/unit/test_{t}.c")]
        self.integration = [t for t in args.tests if t not in self.unit]
        self.programs = args.programs.split() if self.integration else []
        targets = [f"{self.out}/tests/unit/test_{t}" for t in self.unit] + \
            [f"{self.out}/{p}" for p in self.programs]
        made = run(["make", "--no-print-directory", f"O={self.out}", *targets])
        if made.returncode != 0:
            sys.exit(made.stdout.decode(errors="replace"))
        said = run(["make", "--no-print-directory", f"O={self.out}", "-n", "V=1", "CCACHE=",
                    "-W", args.module, *targets]).stdout.decode()
        commands = [" ".join(c.split()) for c in said.replace("\\\n", " ").split("\n")]
        self.compile = next((c for c in commands if f" -c {args.module} " in c), None)
        if self.compile is None:
            sys.exit(f"mutate: no test of {args.tests} is built from {args.module}")
        self.object = re.search(r" -o (\S+)$", self.compile).group(1)
        self.links = {t: c for c in commands for t in targets if c.endswith(f" -o {t}")}

    def make(self, source):
        """Compile; the reason if it does not compile."""
        command = self.compile.replace(self.object, f"{self.folder}/mutant.o")
        command = re.sub(r" -MMD -MP -c \S+", " -w -c " + shlex.quote(source), command)
        done = run(["sh", "-c", command])
        return done.stdout.decode(errors="replace") if done.returncode != 0 else None

    def link(self, test):
        """Link a unit test, or the programs that an integration test starts."""
        made = [f"{self.out}/{p}" for p in self.programs]
        if test in self.unit:
            made = [f"{self.out}/tests/unit/test_{test}"]
        for target in made:
            done = run(["sh", "-c", self.relinked(self.links[target])])
            if done.returncode != 0:
                return False
        return True

    def relinked(self, command):
        """The link with the mutant in front of the library, to our folder."""
        lib = f"{self.out}/libtw.a"
        command = command.replace(f" {self.object} ", f" {self.folder}/mutant.o ", 1)
        command = command.replace(f" {lib}", f" {self.folder}/mutant.o {lib}", 1)
        return re.sub(r" -o (\S+)$", lambda m: f" -o {self.folder}/bin/" +
                      os.path.basename(m.group(1)), command)

    def command(self, test):
        if test in self.unit:
            return [f"{self.folder}/bin/test_{test}"]
        return [sys.executable, f"tests/integration/test_{test}.py"]

    def link_rest(self):
        """Programs that no mutant changes, and what else tests look for."""
        for name in sorted(os.listdir(os.path.join(TOP, self.out))):
            there = f"{self.folder}/bin/{name}"
            if name not in self.programs and not os.path.lexists(there):
                os.symlink(os.path.abspath(os.path.join(TOP, self.out, name)), there)


class Judge:
    def __init__(self, build):
        self.build, self.seconds = build, {}
        self.env = dict(os.environ, TW_BIN=os.path.abspath(f"{build.folder}/bin"))

    def failing(self):
        """The name of the first test that notices; None."""
        for name in [*self.build.unit, *self.build.integration]:
            limit = max(TIMEOUT_MIN_S, 10 * self.seconds.get(name, 60))
            if not self.build.link(name):
                return name
            start = time.monotonic()
            try:
                if run(self.build.command(name), env=self.env, timeout=limit).returncode != 0:
                    return name
            except subprocess.TimeoutExpired:
                return name
            self.seconds.setdefault(name, time.monotonic() - start)
        return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("module")
    p.add_argument("--count", type=int, default=30, help="mutants, chosen by the seed; 0: all")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tests", default="")
    p.add_argument("--programs", default="", help="linked for integration tests")
    p.add_argument("--out", default="build/release")
    p.add_argument("--least", type=int, default=0, help="fail if fewer %% are killed")
    args = p.parse_args()
    args.module = os.path.relpath(os.path.abspath(args.module), TOP)
    args.tests = args.tests.split() or find_tests(args.module)
    if not args.tests:
        sys.exit(f"mutate: no unit test includes {args.module[:-2]}.h; name tests with T=")
    folder = f"{args.out}/mutate/{args.module[:-2].replace('/', '-')}"
    os.makedirs(f"{TOP}/{folder}/bin", exist_ok=True)
    source = f"{folder}/mutant.c"
    build = Build(args, folder)
    build.link_rest()
    judge = Judge(build)
    with open(os.path.join(TOP, args.module), encoding="utf-8") as f:
        text = f.read()

    def attempt(new):
        with open(os.path.join(TOP, source), "w", encoding="utf-8") as f:
            f.write(new)
        return build.make(source)
    why = attempt(text)
    if why is not None:
        sys.exit(why)
    bad = judge.failing()
    if bad is not None:
        sys.exit(f"mutate: test {bad} fails without a mutant")

    all_mutants = mutants_of(text)
    random.Random(args.seed).shuffle(all_mutants)
    lines = text.split("\n")
    killed = survived = broken = 0
    print(f"{args.module}: {len(all_mutants)} mutants, tests: {' '.join(args.tests)}", flush=True)
    for i, what, new in all_mutants:
        if args.count and killed + survived == args.count:
            break
        if attempt("\n".join([*lines[:i], new, *lines[i + 1:]])) is not None:
            broken += 1
            continue
        if judge.failing() is not None:
            killed += 1
            continue
        survived += 1
        print(f"{args.module}:{i + 1}: {what}\n\t- {lines[i].strip()}\n\t+ {new.strip()}",
              flush=True)
    tried = killed + survived
    percent = 100 * killed // tried if tried else 100
    print(f"{args.module}: {killed} of {tried} mutants killed ({percent} %), {survived} survive, "
          f"{broken} more do not build", flush=True)
    sys.exit(percent < args.least)


if __name__ == "__main__":
    main()
