#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail on an include that the table in docs/architecture.md does not allow.

    check_layers.py ROOT

The table is under the heading "Layers": a row for each folder with sources, its first
column the folder, its last the folders that it may include. A folder of the same room
stands for the files directly in it, a folder of another room for all below it. A file
main.c, or one whose name ends in _main.c, may include its whole room.

Names file and line of each include that is not allowed, each folder that the table does not
know, and each folder that a row allows and no file includes.
"""
import os
import re
import sys

INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
FOLDER = re.compile(r"`([\w-]+(?:/[\w-]+)*)/`")


def read_table(path):
    """Folder -> the folders that it may include."""
    table, inside = {}, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("#"):
                inside = line.strip("# \n") == "Layers"
            cells = line.strip().strip("|").split("|")
            folder = FOLDER.fullmatch(cells[0].strip())
            if inside and folder:
                table[folder.group(1)] = FOLDER.findall(cells[-1])
    return table


def sources(root, room):
    for folder, _, names in os.walk(os.path.join(root, room)):
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(folder, name), root)


def stands_for(entry, other, room):
    """Whether an entry in a row of the room stands for the folder `other`."""
    return other == entry or (other.split("/")[0] != room and other.startswith(entry + "/"))


def is_allowed(path, target, allowed):
    """Whether the file at path may include the file target."""
    folder, other = os.path.dirname(path), os.path.dirname(target)
    room = path.split("/")[0]
    if folder == other or any(stands_for(a, other, room) for a in allowed):
        return True
    return other.split("/")[0] == room and (os.path.basename(path) == "main.c" or
                                            path.endswith("_main.c"))


def check_file(root, path, allowed):
    """Errors of one file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        for number, line in enumerate(f, 1):
            include = INCLUDE.match(line)
            if not include:
                continue
            target = include.group(1)
            if "/" not in target:
                yield f'{path}:{number}: "{target}" is not a path from the top'
            elif not is_allowed(path, target, allowed):
                yield f'{path}:{number}: {os.path.dirname(path)}/ may not include "{target}"'


def check(root):
    doc = os.path.join(root, "docs", "architecture.md")
    table = read_table(doc)
    if not table:
        return [f"{doc}: no table under the heading 'Layers'"]
    rooms = {folder.split("/")[0] for folder in table}
    errors = [f"{doc}: {folder}/ may include {other}/, of which the table has no row"
              for folder in sorted(table)
              for other in table[folder] if other not in table and other not in rooms]
    for room in sorted(os.listdir(root)):
        files = [] if room.startswith(".") or room in ("build", "tests") \
            else list(sources(root, room))
        missing = sorted({os.path.dirname(path) for path in files} - set(table))
        errors += [f"{doc}: the table has no row for {folder}/" for folder in missing]
        for path in files:
            if os.path.dirname(path) in table:
                errors += check_file(root, path, table[os.path.dirname(path)])
    return errors


def check_unused(root):
    """Entries of the table that no include needs."""
    for folder, allowed in read_table(os.path.join(root, "docs", "architecture.md")).items():
        used = set()
        for path in sources(root, folder):
            if os.path.dirname(path) == folder:
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                    used |= {os.path.dirname(m[1]) for m in map(INCLUDE.match, f) if m}
        for entry in allowed:
            if used and not any(stands_for(entry, other, folder.split("/")[0]) for other in used):
                yield f"docs/architecture.md: {folder}/ may include {entry}/, and does not"


def main(argv):
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    errors = [*check(argv[1]), *check_unused(argv[1])]
    for line in errors:
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
