#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Change a module one line at a time, and list the changes that its tests do not notice.

    mutate.py [--count N] [--seed S] [--tests "NAME ..."] [--least PERCENT] MODULE.c
    mutate.py [--count N] [--seed S] [--least PERCENT] --all

`make mutate M=MODULE.c` and `make mutate-all` run it on a built tree. --all takes the modules of
tests/mutants.modules, and as many mutants of each. No file of the tree is changed: each mutant is
compiled beside the build, and linked in front of the library into copies of the tests. The
tests are those of tests/unit that include the module's header and those that
tests/mutants.modules adds, or those that --tests names; the name of an integration test links the
programs, too. A unit test that replaces functions of the module is left out. A mutant is killed
by a test that fails, crashes or hangs.

Mutants: a comparison flipped, a bound moved by one, a term dropped, an operator or a Boolean
replaced, a call removed, a failure ignored. Calls that release memory or descriptors, take locks or
release them stay: leaks and races are found by the sanitizers, not by these tests.

tests/mutants.equivalent lists mutants that no test can notice, with the reason. They are drawn as
the others, counted apart and not built.
"""
import argparse
import concurrent.futures
import glob
import math
import os
import random
import re
import shlex
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODULES = os.path.join(TOP, "tests/mutants.modules")
EQUIVALENT = os.path.join(TOP, "tests/mutants.equivalent")
# Folders of tests/integration whose tests share modules.
ROOMS = "collector", "server"
TIMEOUT_MIN_S = 10
# A test that spins ends sooner: this many CPU seconds, or ten times its usual ones.
CPU_MIN_S = 2
RELEASES = re.compile(r"^(free|close|closedir|fclose|json_decref|explicit_bzero|\w*memzero|"
                      r"tw_\w+_(free|release|clear|close|unref)|pthread_\w*(lock|destroy)|"
                      r"zip_\w+_(free|fini)|zip_discard|yaml_\w+_delete|inflateEnd|"
                      r"tw_log_\w+|release\w*|free_\w+|va_end|assert)$")
# An index outside of an array ends a test, as under the sanitizers of BUILD=asan.
TRAPS = "-fsanitize=bounds -fsanitize-undefined-trap-on-error"
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


def function_at(lines, i):
    """The name of the function that has the line."""
    for line in reversed(lines[:i + 1]):
        m = re.match(r"\w[^=;]*?(\w+)\(", line)
        if m:
            return m.group(1)
    return ""


def applies(old, new, line, mutant):
    """Whether the mutant of the line is that of an expression in it: old, which becomes new."""
    at = line.find(old)
    while at >= 0:
        if line[:at] + new + line[at + len(old):] == mutant:
            return True
        at = line.find(old, at + 1)
    return False


def read_source(module):
    with open(os.path.join(TOP, module), encoding="utf-8") as f:
        return f.read()


def read_equivalent(text):
    """[(module's name or "", function, expression, mutant, reason)] of a list as in EQUIVALENT."""
    text = re.sub(r"^#.*\n", "", text, flags=re.M)
    entries = []
    for block in re.split(r"\n\s*\n", text.strip()):
        m = re.fullmatch(r"(?:(\w+) )?(\w+): (.*) => (.*)\n((?:\t.+\n?)+)", block)
        if m is None:
            raise ValueError(f"no entry: {block!r}")
        entries.append((m[1] or "", *m.group(2, 3, 4), " ".join(m[5].split())))
    return entries


def matches(entry, module, function, line, mutant):
    """Whether the entry is of this mutant, a changed line of a function of the module."""
    return entry[1] == function and entry[0] in ("", os.path.basename(module)[:-2]) and \
        applies(entry[2], entry[3], line.strip(), mutant.strip())


def unmatched(entries, sources):
    """Those entries that no mutant of the sources has, {module: text}, or more than one."""
    there = {}
    for module, source in sources.items():
        lines = source.split("\n")
        for i, new in {(i, new) for i, _, new in mutants_of(source)}:
            function = function_at(lines, i)
            there.setdefault(function, []).append((module, function, lines[i], new))
    return [e for e in entries if sum(matches(e, *m) for m in there.get(e[1], ())) != 1]


def equivalent_of(module, source):
    """The entries of functions of the module."""
    with open(EQUIVALENT, encoding="utf-8") as f:
        entries = read_equivalent(f.read())
    lines = source.split("\n")
    functions = {function_at(lines, i) for i in range(len(lines))}
    return [e for e in entries if e[1] in functions]


def read_modules():
    """[(module, tests)] of MODULES."""
    with open(MODULES, encoding="utf-8") as f:
        lines = [line.strip().partition(":") for line in f if not line.startswith("#")]
    return [(module, list(dict.fromkeys(find_tests(module) + tests.split())))
            for module, _, tests in lines]


def run(command, **more):
    return subprocess.run(command, cwd=TOP, check=False, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def find_tests(module):
    """The unit tests that include the module's header, that of its own name first."""
    include = f'#include "{module[:-2]}.h"'
    names = []
    for path in sorted(glob.glob(f"{TOP}/tests/unit/*/test_*.c")):
        with open(path, encoding="utf-8") as f:
            if include in f.read():
                names.append(os.path.basename(path)[len("test_"):-2])
    stem = os.path.basename(module)[:-2]
    return sorted(names, key=lambda n: (n != stem, n))


class Build:
    """How make compiles the module and links the tests, repeated for a mutant."""

    def __init__(self, args, module, tests, folder):
        self.out, self.folder = args.out, folder
        self.unit = {t: f"{self.out}/{os.path.relpath(path, TOP)[:-2]}" for t in tests
                     for path in glob.glob(f"{TOP}/tests/unit/*/test_{t}.c")}
        self.integration = [t for t in tests if t not in self.unit]
        self.programs = args.programs.split() if self.integration else []
        targets = list(self.unit.values()) + [f"{self.out}/{p}" for p in self.programs]
        made = run(["make", "--no-print-directory", f"O={self.out}", *targets])
        if made.returncode != 0:
            sys.exit(made.stdout.decode(errors="replace"))
        said = run(["make", "--no-print-directory", f"O={self.out}", "-n", "V=1", "CCACHE=",
                    "-W", module, *targets]).stdout.decode()
        commands = [" ".join(c.split()) for c in said.replace("\\\n", " ").split("\n")]
        self.compile = next((c for c in commands if f" -c {module} " in c), None)
        if self.compile is None:
            sys.exit(f"mutate: no test of {tests} is built from {module}")
        self.object = re.search(r" -o (\S+)$", self.compile).group(1)
        self.links = {t: c for c in commands for t in targets if c.endswith(f" -o {t}")}

    def make(self, source):
        """Compile; the reason if it does not compile."""
        command = self.compile.replace(self.object, f"{self.folder}/mutant.o")
        command = re.sub(r" -MMD -MP -c \S+", f" -w -O0 -g0 {TRAPS} -c {shlex.quote(source)}",
                         command)
        done = run(["sh", "-c", command])
        return done.stdout.decode(errors="replace") if done.returncode != 0 else None

    def leave_out_stubs(self):
        """Leave out the tests that define functions of the module themselves."""
        self.unit = {t: path for t, path in self.unit.items() if b"multiple definition" not in
                     run(["sh", "-c", self.relinked(self.links[path])]).stdout}

    def link(self, test):
        """Link a unit test, or the programs that an integration test starts."""
        made = [f"{self.out}/{p}" for p in self.programs]
        if test in self.unit:
            made = [self.unit[test]]
        return all(map(self.links_again, made))

    def links_again(self, target):
        return run(["sh", "-c", self.relinked(self.links[target])]).returncode == 0

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
        return [sys.executable, *glob.glob(f"tests/integration/**/test_{test}.py", recursive=True)]

    def link_rest(self):
        """Programs that no mutant changes, and what else tests look for."""
        # Others lack the libraries that the module needs: they are not made from it.
        self.programs = [p for p in self.programs if self.links_again(f"{self.out}/{p}")]
        for name in sorted(os.listdir(os.path.join(TOP, self.out))):
            there = f"{self.folder}/bin/{name}"
            if name not in self.programs and not os.path.lexists(there):
                os.symlink(os.path.abspath(os.path.join(TOP, self.out, name)), there)
        # A test looks for the libraries of tests/fake two folders above its own.
        if not os.path.lexists(os.path.join(TOP, f"{self.out}/mutate/fake")):
            os.symlink("../tests/fake", os.path.join(TOP, f"{self.out}/mutate/fake"))


class Judge:
    def __init__(self, build):
        self.build, self.seconds = build, {}
        found = [os.path.join(TOP, "tests/integration", room) for room in ("", *ROOMS)]
        self.env = dict(os.environ, TW_BIN=os.path.abspath(f"{build.folder}/bin"),
                        PYTHONPATH=":".join(found))
        # Sanitizers have a malloc() of their own. Else, where glibc has the checks, a write
        # beyond a block and a read of no value show.
        if "-fsanitize=" not in build.compile:
            self.env.update(LD_PRELOAD="libc_malloc_debug.so.0", MALLOC_PERTURB_="165",
                            GLIBC_TUNABLES="glibc.malloc.check=3:glibc.malloc.perturb=165")

    def failing(self):
        """The name of the first test that notices; None."""
        for name in [*self.build.unit, *self.build.integration]:
            usual_s = self.seconds.get(name, 60)
            limit = max(TIMEOUT_MIN_S, 10 * usual_s)
            cpu_s = math.ceil(max(CPU_MIN_S, 10 * usual_s))
            if not self.build.link(name):
                return name
            start = time.monotonic()
            try:
                if run(["prlimit", f"--cpu={cpu_s}", *self.build.command(name)], env=self.env,
                       timeout=limit).returncode != 0:
                    return name
            except subprocess.TimeoutExpired:
                return name
            self.seconds.setdefault(name, time.monotonic() - start)
        return None


def mutate(args, module, tests, count):
    """(mutants, killed, equivalent) of the module."""
    if not tests:
        sys.exit(f"mutate: no unit test includes {module[:-2]}.h; name tests with T=")
    folder = f"{args.out}/mutate/{module[:-2].replace('/', '-')}"
    os.makedirs(os.path.join(TOP, folder, "bin"), exist_ok=True)
    source = f"{folder}/mutant.c"
    text = read_source(module)
    lines, equivalents = text.split("\n"), equivalent_of(module, text)
    build = Build(args, module, tests, folder)
    judge = Judge(build)

    def attempt(new):
        with open(os.path.join(TOP, source), "w", encoding="utf-8") as f:
            f.write(new)
        return build.make(source)
    why = attempt(text)
    if why is not None:
        sys.exit(why)
    build.leave_out_stubs()
    build.link_rest()
    bad = judge.failing()
    if bad is not None:
        sys.exit(f"mutate: test {bad} fails without a mutant")

    all_mutants = mutants_of(text)
    random.Random(args.seed).shuffle(all_mutants)
    killed = survived = broken = equivalent = 0
    for i, what, new in all_mutants:
        if count and killed + survived + equivalent == count:
            break
        if any(matches(e, module, function_at(lines, i), lines[i], new) for e in equivalents):
            equivalent += 1
        elif attempt("\n".join([*lines[:i], new, *lines[i + 1:]])) is not None:
            broken += 1
        elif judge.failing() is not None:
            killed += 1
        else:
            survived += 1
            print(f"{module}:{i + 1} {function_at(lines, i)}: {what}\n\t- {lines[i].strip()}\n"
                  f"\t+ {new.strip()}", flush=True)
    used = " ".join([*build.unit, *build.integration])
    report(f"{module}, {len(all_mutants)} in all, {broken} do not build, tests {used}",
           killed + survived + equivalent, killed, equivalent)
    return killed + survived + equivalent, killed, equivalent


def report(name, mutants, killed, equivalent):
    """The rates: of those that a test can kill, and of all."""
    rates = [f"{100 * killed / n:.1f} %" if n else "-" for n in (mutants - equivalent, mutants)]
    print(f"{name}: {mutants} mutants, {killed} killed, {equivalent} equivalent, "
          f"{mutants - killed - equivalent} survive: {rates[0]} killed ({rates[1]} with equivalent "
          f"ones)", flush=True)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("module", nargs="?")
    p.add_argument("--all", action="store_true", help="the modules of tests/mutants.modules")
    p.add_argument("--count", type=int, default=0, help="mutants, chosen by the seed; 0: all")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--tests", default="")
    p.add_argument("--jobs", type=int, default=1, help="modules at a time")
    p.add_argument("--programs", default="", help="linked for integration tests")
    p.add_argument("--out", default="build/release")
    p.add_argument("--least", type=int, default=0, help="fail if fewer %% are killed")
    args = p.parse_args()
    if args.all:
        modules = read_modules()
    else:
        module = os.path.relpath(os.path.abspath(args.module), TOP)
        listed = dict(read_modules()).get(module)
        modules = [(module, args.tests.split() or listed or find_tests(module))]
    each = -(-args.count // len(modules))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        done = [pool.submit(mutate, args, *m, each) for m in modules]
        total, killed, equivalent = (sum(n) for n in zip(*(d.result() for d in done)))
    if args.all:
        report("all", total, killed, equivalent)
    sys.exit(100 * killed < args.least * (total - equivalent))


if __name__ == "__main__":
    main()
