#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on an include that the table in docs/architecture.md does not allow.

    check_layers.py ROOT

The table is under the heading "Layers": a row for each room, its first column the room,
its last the rooms that it may include. Names file and line of each include that is not
allowed, and each room that the table does not know.
"""
import os
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
ROOM = re.compile(r"`([\w-]+)/`")


def read_table(path):
    """Room -> the set of rooms that it may include, itself among them."""
    table, inside = {}, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                inside = line.strip("# \n") == "Layers"
            cells = line.strip().strip("|").split("|")
            room = ROOM.fullmatch(cells[0].strip())
            if inside and room:
                table[room.group(1)] = {room.group(1), *ROOM.findall(cells[-1])}
    return table


def sources(root, room):
    for folder, _, names in os.walk(os.path.join(root, room)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), root)


def check_file(root, path, allowed):
    """Errors of one file."""
    room = path.split(os.sep)[0]
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            target = include.group(1)
            other = target.split("/")[0]
            if "/" not in target:
                yield f'{path}:{number}: "{target}" is not a path from the top'
            elif other not in allowed:
                yield f'{path}:{number}: {room}/ may not include "{target}"'


def check(root):
    doc = os.path.join(root, "docs", "architecture.md")
    table = read_table(doc)
    if not table:
        return [f"{doc}: no table under the heading 'Layers'"]
    errors = [f"{doc}: {room}/ may include {other}/, of which the table has no row"
              for room in sorted(table) for other in sorted(table[room] - set(table))]
    for room in sorted(os.listdir(root)):
        files = [] if room.startswith(".") or room in ("build", "tests") \
            else list(sources(root, room))
        if files and room not in table:
            errors.append(f"{doc}: the table has no row for {room}/")
            continue
        for path in files:
            errors += check_file(root, path, table[room])
    return errors


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    errors = check(argv[1])
    for line in errors:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
