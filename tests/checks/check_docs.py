#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fail where a name, an option or a route is not documented.

    check_docs.py PROGRAM...

Names of registered trainers, isolators and predictors need a section of their own; meters,
energy sources, features and feature groups a word. Links
between pages lead to a file, and to a heading of it. Every
option that a program's --help prints must be in its page below docs/ and in its man page, as
it is installed; of `tallywatt`, those of each command in the command's section, in one that it
refers to as "#options-of-COMMAND", or in one of no command. The tables of a daemon's options have the
defaults and the environment variables of --help. Every metric that a program's
--list-metrics prints must be in a table of its page, and the tables name no others. Every route
and every argument of a request needs a mention in its program's page, an argument also in openapi.json.
TW_BIN is where the programs are.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

# Files of a registry's entries, and the page that has a section for each.
REGISTRIES = (("trainer/fit/fit_*.c", "docs/trainers.md"),
              ("isolator/isolate_*.c", "docs/pipelines.md"),
              ("estimator/predict/predict_*.c", "docs/model-format.md"))
# Files with names in tables, how a name stands there, and the page with a word of each.
TABLES = (("collector/meters/meter_*.c",
           r'(?:\.name = |HWMON_METER\(\w+, |define ANY )"([^"]+)"',
           "docs/tw-collector.md"),
          ("collector/meters/meter_own.c", r'OWN_METER\((\w+), "', "docs/tw-collector.md"),
          ("lib/field/energy.c", r'^\t\{ "([^"]+)", PARTS', "docs/tallywatt.md"),
          ("lib/field/feature.c", r'^\t\{ "([^"]+)", "', "docs/wire.md"),
          ("lib/field/feature.c", r'^\t\{ "([^"]+)", [\w +]+, TW_COUNT', "docs/wire.md"))
# Files with routes, and the page that describes them.
ROUTES = (("server/*.c", "docs/tw-server.md"), ("trainer/service/*.c", "docs/tw-trainer.md"),
          ("collector/expose/*.c", "docs/tw-collector.md"))
NAME = re.compile(r'^\s*\.name = "([^"]+)"', re.MULTILINE)
ROUTE = re.compile(r'^\t\{ "[A-Z]+", "(/[^"]*)"', re.MULTILINE)
# What a handler reads of a request q: an argument of the query, or of the path.
ARGUMENT = re.compile(r'\w+\(q, "([a-z][a-z_-]*)"')
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
# A line of --help: option, default, environment variable.
HELP_LINE = re.compile(r"^  (?:-\w, )?(--[a-z0-9-]+)(?: \S+)?  +.*?(?: \[([^][]*)\])?(?: \(([A-Z0-9_]+)\))?$",
                       re.MULTILINE)
# A default as a value, not in words.
VALUE = re.compile(r"(?:`[^`]*`|\d+|yes|no|)")
# A metric in a row of a table: `tw_{models,pipelines}_total{label}`.
METRIC = re.compile(r"`((?:tallywatt|tw|kepler)_[\w{},.]+)`")
LABELS = re.compile(r"(?<!_)\{[^}]*\}$")
# What a build without the fleet wing has not got: metrics, and options of a sample.
FLEET_METRIC = re.compile("tallywatt_agents?_|tw_pull_")
FLEET_OPTION = re.compile("^pull = .*$", re.MULTILINE)
PLACEHOLDERS = {
    "LEVEL": "process cgroup container pod vm job step".split(),
    "SUM": ["", "node_", "namespace_", "pod_", "container_", "vm_", "job_"],
    "ZONE": "package core uncore dram other platform gpu".split(),
}
LINK = re.compile(r"\]\((?![a-z]+:)([^()\s#]*)#?([^()\s]*)\)")
COMMAND = re.compile(r"^  ([a-z][a-z-]*)  +\S", re.MULTILINE)


def read(path):
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return ""


def found_in(pattern, expression):
    """(file, name) of each match in the files of a pattern."""
    for path in sorted(glob.glob(pattern)):
        for name in expression.findall(read(path)):
            yield path, name


def check_names():
    for pattern, page in REGISTRIES:
        text = read(page)
        for path, name in found_in(pattern, NAME):
            if not re.search(rf"^##+ `?{re.escape(name)}`?$", text, re.MULTILINE):
                yield f"{page}: no section '{name}' ({path})"


def check_tables():
    for pattern, expression, page in TABLES:
        text = read(page)
        names = [(path, name) for path, name in found_in(pattern, re.compile(expression, re.M))]
        if not names and glob.glob(pattern):
            yield f"{pattern}: no name as '{expression}'"
        for path, name in names:
            if f"`{name}`" not in text:
                yield f"{page}: no word of `{name}` ({path})"


def check_routes():
    for pattern, page in ROUTES:
        text = read(page)
        for path, route in found_in(pattern, ROUTE):
            if not re.search(re.escape(route) + r"(?![\w/-])", text):
                yield f"{page}: no word of the route '{route}' ({path})"


def check_arguments():
    for pattern, page in ROUTES:
        for place, form in ((page, r"\b{}=|`{}`|\{{}\}"),
                            (f"{os.path.dirname(pattern)}/openapi.json", '"name": "{}"')):
            text = read(place)
            for path, name in found_in(pattern, ARGUMENT):
                if not re.search(form.replace("{}", re.escape(name)), text):
                    yield f"{place}: no word of the argument '{name}' ({path})"


def headings(path):
    """The anchors of a page, as GitHub and mkdocs make them."""
    seen = {}
    for title in re.findall(r"^#+ (.+?)\s*$", re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S),
                            re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))
        count = seen[slug] = seen.get(slug, -1) + 1
        yield f"{slug}-{count}" if count else slug


def check_links():
    for path in sorted(["README.md", "CONTRIBUTING.md", "NEWS.md", *glob.glob("docs/*.md"),
                        *glob.glob("*/README.md"), *glob.glob("*/*/README.md")]):
        text = re.sub(r"^```.*?^```", "", read(path), flags=re.M | re.S)
        for target, anchor in LINK.findall(text):
            file = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
            if not os.path.exists(file):
                yield f"{path}: the link '{target}' leads nowhere"
            elif anchor and file.endswith(".md") and anchor not in headings(file):
                yield f"{path}: '{file}' has no heading '{anchor}'"


def built(path):
    return os.path.join(os.environ.get("TW_BIN", "build/release"), path)


def has_fleet():
    return "-DTW_FLEET=0" not in read(built("flags"))


def run(program, *args):
    return subprocess.run([built(program), *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=60)


def help_of(*command):
    done = run(*command, "--help")
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} --help exits {done.returncode}: "
                           f"{done.stderr.decode(errors='replace')}")
    return done.stdout.decode()


def options_of(program):
    """(what prints it, option) for each option of a program and its commands."""
    text = help_of(program)
    for option in sorted(set(OPTION.findall(text))):
        yield program, option
    if program == "tallywatt":
        for command in COMMAND.findall(text):
            for option in sorted(set(OPTION.findall(help_of(program, command)))):
                yield f"{program} {command}", option


def check_commands(program):
    """Each command has a section in its page, with its options, and in the man page."""
    page = f"docs/{program}.md"
    manual = read(built(f"man/{program}.1"))
    commands = COMMAND.findall(help_of(program))
    sections = dict(re.findall(r"^## (.+?)$(.*?)(?=^## |\Z)", read(page), re.MULTILINE | re.DOTALL))
    shared = "".join(text for title, text in sections.items() if title not in commands)
    for command in commands:
        if f"\n.SS {command}\n" not in manual:
            yield f"docs/man/{program}.1: no section '{command}'"
        if command not in sections:
            yield f"{page}: no section '{command}'"
            continue
        text = sections[command]
        text += shared + "".join(sections.get(other, "") for other in re.findall(r"#options-of-([a-z]+)", text))
        for option in sorted(set(OPTION.findall(help_of(program, command))) - set(OPTION.findall(text))):
            yield f"{page}: no word of {option} in the section '{command}'"


def check_options(program):
    pages = {f"docs/{program}.md": read(f"docs/{program}.md")}
    manual = read(built(f"man/{program}.1"))
    pages[f"docs/man/{program}.1"] = manual.replace("\\-", "-")
    for page, text in pages.items():
        known = set(OPTION.findall(text))
        for where, option in options_of(program):
            if option not in known:
                yield f"{page}: no word of {option} ({where})"


def check_settings(program):
    """Rows of options say what --help says. Without a column `environment`, the variable of
    --a-b is TW_A_B, or the page names it."""
    page = f"docs/{program}.md"
    text = read(page)
    told = {m[1]: (m[2] or "", m[3] or "") for m in HELP_LINE.finditer(help_of(program))}
    head = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:1] == ["option"]:
            head = cells
        row = dict(zip(head, cells))
        option = OPTION.match(row.get("option", "").strip("`"))
        if not option or option[0] not in told or "default" not in row:
            continue
        default, variable = told[option[0]]
        if default and VALUE.fullmatch(row["default"]) and row["default"].strip("`") != default:
            yield f"{page}: the default of {option[0]} is {default}"
        if "environment" in row:
            named = row["environment"] == (f"`{variable}`" if variable else "")
        else:
            named = variable in ("", "TW_" + option[0][2:].upper().replace("-", "_")) or f"`{variable}`" in text
        if not named:
            yield f"{page}: the environment variable of {option[0]} is '{variable}'"


def spelled_out(name):
    """The names that one with alternatives stands for: a_{b,c}_LEVEL."""
    found = re.search(r"\{([^}]*)\}|" + "|".join(PLACEHOLDERS), name)
    if not found:
        return [name]
    words = PLACEHOLDERS.get(found[0]) or found[1].split(",")
    return [full for word in words
            for full in spelled_out(name[:found.start()] + word + name[found.end():])]


def metrics_in(text):
    """The metrics in the tables of a page."""
    rows = "\n".join(line for line in text.splitlines() if line.startswith("|"))
    return {full for name in METRIC.findall(rows) for full in spelled_out(LABELS.sub("", name))}


def check_metrics(program):
    """The metrics of a program, if it has any, and those of its page are the same."""
    if "--list-metrics" not in help_of(program):
        return
    page = f"docs/{program}.md"
    told = {name for name in metrics_in(read(page)) if has_fleet() or not FLEET_METRIC.match(name)}
    known = {line.split("\t")[0] for line in run(program, "--list-metrics").stdout.decode().splitlines()}
    # OpenMetrics names a family without these ends.
    for name in sorted(known):
        family = re.sub(r"_(total|info)$", "", name)
        if family != name and family in known:
            yield f"{page}: {name} and {family} are one family of OpenMetrics"
    for name in sorted(known - told):
        yield f"{page}: no row of the metric {name}"
    for name in sorted(told - known):
        yield f"{page}: {program} has no metric {name}"


def check_samples(program):
    """The sample configuration must be one that the program takes."""
    sample = f"etc/tallywatt/{program}.conf"
    if not os.path.exists(sample):
        return
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        text = read(sample).replace("@pkgdatadir@", "/usr/share/tallywatt")
        f.write(text if has_fleet() else FLEET_OPTION.sub("", text))
        f.flush()
        done = run(program, "--config", f.name, "--check-config")
    if done.returncode != 0:
        yield f"{sample}: {done.stderr.decode(errors='replace').strip()}"


def main(programs):
    errors = [*check_names(), *check_tables(), *check_routes(), *check_arguments(), *check_links()]
    for program in programs:
        errors += [*check_options(program), *check_metrics(program), *check_samples(program)]
        errors += check_commands(program) if program == "tallywatt" else check_settings(program)
    for line in dict.fromkeys(errors):
        print(line, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
