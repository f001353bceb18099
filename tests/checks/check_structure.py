#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure the sources, and fail on what a stranger would stumble over.

    check_structure.py ROOT [--objects DIRECTORY] [COMPILER...]

Prints files, lines, the median and the largest .c file. Fails on a cycle of modules (a module
is a .c and a .h of one name), on a header with fewer than two includers, on a struct tag
with two definitions, and on a macro that two headers define. The compiler, given with its
flags, must accept all headers in one translation unit: each name has one meaning. With the
object files of a build, fails on modules that call each other in a circle; a table of modules
may name their constants, as a registry does. Public headers, which only programs of others include, are exempt from the count of includers.
"""
import collections
import os
import re
import statistics
import subprocess
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
TAG = re.compile(r"^struct (tw_\w+) \{", re.M)
MACRO = re.compile(r"^#[ \t]*define (TW_\w+)", re.M)
PUBLIC = ("estimator/tallywatt.h",)
NOT_ROOMS = ("build", "docs", "etc", "tests")


def read_sources(root):
    """Path -> text of each .c and .h of the rooms, then of tests and examples."""
    product, other = {}, {}
    for folder, folders, names in os.walk(root):
        place = os.path.relpath(folder, root)
        folders[:] = [f for f in sorted(folders) if not f.startswith(".") and f != "build"]
        for name in sorted(names):
            path = os.path.normpath(os.path.join(place, name))
            if not name.endswith((".c", ".h")) or os.sep not in path:
                continue
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                text = f.read()
            (other if path.split(os.sep)[0] in NOT_ROOMS else product)[path] = text
    return product, other


def module(path):
    return path.rsplit(".", 1)[0]


def find_cycles(edges):
    """Strongly connected components of more than one module (Tarjan's method)."""
    number, low, stack, found = {}, {}, [], []

    def visit(start):
        work = [(start, iter(sorted(edges.get(start, ()))))]
        number[start] = low[start] = len(number)
        stack.append(start)
        while work:
            node, following = work[-1]
            for other in following:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    work.append((other, iter(sorted(edges.get(other, ())))))
                    break
                if other in stack:
                    low[node] = min(low[node], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    component = stack[stack.index(node):]
                    del stack[stack.index(node):]
                    if len(component) > 1:
                        found.append(sorted(component))

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


def read_calls(directory, modules):
    """Module -> the modules whose functions it calls, by the symbols of its object file."""
    objects = [path for path in (os.path.join(directory, name + ".o") for name in sorted(modules))
               if os.path.exists(path)]
    listed = subprocess.run(["nm", "-A", "--format=posix", *objects], check=True,
                            capture_output=True, text=True).stdout
    home, wanted = {}, []
    for line in listed.splitlines():
        path, symbol, kind = line.replace(": ", " ", 1).split()[:3]
        name = module(os.path.relpath(path, directory))
        if kind == "T":
            home[symbol] = name
        elif kind == "U":
            wanted.append((name, symbol))
    calls = collections.defaultdict(set)
    for name, symbol in wanted:
        if home.get(symbol, name) != name:
            calls[name].add(home[symbol])
    return calls


def compile_together(root, headers, compiler):
    """What the compiler says of all headers in one translation unit."""
    text = "".join(f'#include "{path}"\n' for path in headers)
    done = subprocess.run([*compiler, "-Werror", "-fsyntax-only", "-x", "c", "-"], input=text,
                          cwd=root, capture_output=True, text=True, check=False)
    return [f"all headers together: {line}" for line in done.stderr.splitlines()
            if ": error:" in line] or ([done.stderr] if done.returncode else [])


def check(root, compiler=(), objects=None):
    """The figures, and the errors."""
    product, other = read_sources(root)
    edges, users = collections.defaultdict(set), collections.defaultdict(set)
    tags, macros = collections.defaultdict(list), collections.defaultdict(list)
    for path, text in {**product, **other}.items():
        for target in INCLUDE.findall(text):
            users[target].add(path)
            if path in product and target in product and module(target) != module(path):
                edges[module(path)].add(module(target))
    for path, text in product.items():
        for tag in TAG.findall(text):
            tags[tag].append(path)
        for macro in set(MACRO.findall(text)) if path.endswith(".h") else ():
            macros[macro].append(path)
    errors = [f"cycle of modules: {' '.join(c)}" for c in find_cycles(edges)]
    if objects:
        errors += [f"modules that call each other: {' '.join(c)}"
                   for c in find_cycles(read_calls(objects, map(module, product)))]
    errors += [f"{path}: a header with {len(users[path])} includers; merge it"
               for path in product
               if path.endswith(".h") and path not in PUBLIC and len(users[path]) < 2]
    errors += [f"struct {tag} is defined in {' and '.join(paths)}"
               for tag, paths in sorted(tags.items()) if len(paths) > 1]
    errors += [f"{macro} is defined in {' and '.join(paths)}"
               for macro, paths in sorted(macros.items()) if len(paths) > 1]
    if compiler:
        headers = sorted(p for p in product if p.endswith(".h") and not p.endswith(".bpf.h"))
        errors += compile_together(root, headers, compiler)
    lengths = {path: text.count("\n") for path, text in product.items()}
    c = {path: n for path, n in lengths.items() if path.endswith(".c")}
    longest = max(c, key=lambda path: (c[path], path), default="")
    figures = (f"{len(product)} files, {sum(lengths.values())} lines; .c: median "
               f"{statistics.median(c.values()) if c else 0:g}, largest {longest} "
               f"{c.get(longest, 0)}")
    return figures, errors


def main(argv):
    if len(argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    objects = argv[3] if argv[2:3] == ["--objects"] and len(argv) > 3 else None
    figures, errors = check(argv[1], argv[4 if objects else 2:], objects)
    print(figures)
    for line in errors:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
