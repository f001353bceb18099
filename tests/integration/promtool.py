# SPDX-License-Identifier: Apache-2.0
"""What Prometheus' own tool says of an exposition. `promtool check metrics` reads the text
format only, and says what is against the conventions, too; how OpenMetrics are read is seen
by having them written into blocks, which takes Prometheus' own parser, and reading these."""
import json
import os
import re
import shutil
import subprocess

from harness import TIMEOUT_S, need

OPENMETRICS = "application/openmetrics-text"
# Any: samples of a scrape have none, and those of blocks must.
TIME_S = 1700000000
DUMPED = re.compile(r'^\{__name__="(\w+)"(?:, )?(.*)\} (\S+) \d+$')
LABEL = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*")')


def need_promtool():
    need("promtool", shutil.which("promtool") is not None)


def run(*args, text=""):
    return subprocess.run(["promtool", *args], check=False, input=text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=TIMEOUT_S)


def complaints(text):
    """(metric, what is said of it), of an exposition in the text format."""
    done = run("check", "metrics", text=text)
    found = {tuple(line.split(" ", 1)) for line in done.stdout.decode().splitlines()}
    assert done.returncode == (3 if found else 0), done.stdout.decode()
    return found


def with_times(text):
    return re.sub(r"^(?!#)(.+)$", rf"\1 {TIME_S}", text, flags=re.M)


def read_back(folder, text):
    """name, labels and value of each sample of OpenMetrics, as Prometheus has stored it."""
    samples, blocks = os.path.join(folder, "openmetrics"), os.path.join(folder, "blocks")
    with open(samples, "w", encoding="utf-8") as f:
        f.write(with_times(text))
    done = run("tsdb", "create-blocks-from", "openmetrics", samples, blocks)
    assert done.returncode == 0, done.stdout.decode()
    os.mkdir(os.path.join(blocks, "wal"))  # not read without
    dumped = run("tsdb", "dump", blocks).stdout.decode()
    shutil.rmtree(blocks)
    found = []
    for line in dumped.splitlines():
        name, labels, value = DUMPED.match(line).groups()
        # Hashable: thousands of samples are compared.
        found.append((name, frozenset((k, json.loads(v)) for k, v in LABEL.findall(labels)),
                      float(value)))
    return found


def as_stored(samples):
    """Samples as they were told: a label that is empty is none to Prometheus."""
    return [(name, frozenset((k, json.loads(f'"{v}"')) for k, v in labels.items() if v), value)
            for name, labels, value in samples]
