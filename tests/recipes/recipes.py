#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Apply the recipes' patches, each to a copy of the tree, and build and test the result.

    recipes.py COPY [MAKE-ARGUMENT...]

A patch NAME.patch beside this file follows the recipe of its first line, "Recipe: TITLE", a
section of CONTRIBUTING.md. It may touch only the files that the recipe names, as `path` or, for
a new file, as `path/part_NAME.c`. A line "Tests: NAME..." names the tests that make runs
besides the checks of the sources. COPY is a folder that is made again.
"""
import os
import re
import shutil
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.dirname(os.path.abspath(__file__))
CHECKS = ("check-layers", "check-structure", "check-docs", "check-headers")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def recipe_files(title, text):
    """What the recipe names, as an expression each."""
    section = re.search(rf"^### {re.escape(title)}$(.*?)(?=^##|\Z)", text, re.M | re.S)
    if section is None:
        return []
    return [re.escape(path).replace("NAME", r"\w+")
            for path in re.findall(r"`([\w./-]+/[\w./-]+\.\w+)`", section.group(1))]


def touched(patch):
    """The files that a patch changes or makes."""
    return re.findall(r"^\+\+\+ b/(\S+)", patch, re.M)


def strangers(patch, text):
    """Files of the patch that its recipe does not name."""
    title = re.match(r"Recipe: (.+)\n", patch)
    if title is None:
        return ["no line 'Recipe: TITLE'"]
    allowed = recipe_files(title.group(1), text)
    return [path for path in touched(patch) if not any(re.fullmatch(a, path) for a in allowed)]


def copy_tree(to):
    shutil.rmtree(to, ignore_errors=True)
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                            cwd=TOP, check=True, stdout=subprocess.PIPE).stdout.decode()
    for path in filter(None, listed.split("\0")):
        if os.path.isfile(os.path.join(TOP, path)):
            os.makedirs(os.path.dirname(os.path.join(to, path)), exist_ok=True)
            shutil.copy2(os.path.join(TOP, path), os.path.join(to, path), follow_symlinks=False)


def apply(copy, patch, *options):
    return subprocess.run(["patch", "--quiet", "-p1", *options], cwd=copy, check=False,
                          input=patch.encode()).returncode == 0


def failing_goal(copy, goals, make):
    """Print the output of the first goal that fails, and return it; None if all pass."""
    for goal in goals:
        done = subprocess.run(["make", "--no-print-directory", "WERROR=1", *make, goal], cwd=copy,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            print(done.stdout.decode(errors="replace")[-4000:])
            return goal
    return None


def try_patch(copy, name, patch, make):
    """What is wrong, or None. The patch is taken back, so the next one has a clean tree."""
    wrong = strangers(patch, read(os.path.join(TOP, "CONTRIBUTING.md")))
    if wrong:
        return f"its recipe does not name {', '.join(wrong)}"
    if not apply(copy, patch, "--dry-run") or not apply(copy, patch):
        return "does not apply"
    tests = re.search(r"^Tests: (.+)$", patch, re.M)
    goals = ["all", *CHECKS, *(f"t/{t}" for t in (tests.group(1).split() if tests else ()))]
    failed = failing_goal(copy, goals, make)
    if not apply(copy, patch, "--reverse"):
        return f"{name} cannot be taken back"
    return f"make {failed} fails" if failed else None


def main(argv):
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    copy, failed = os.path.abspath(argv[1]), 0
    copy_tree(copy)
    for name in sorted(n for n in os.listdir(FOLDER) if n.endswith(".patch")):
        wrong = try_patch(copy, name, read(os.path.join(FOLDER, name)), argv[2:])
        print(f"{name}: {wrong or 'ok'}", flush=True)
        failed += wrong is not None
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
