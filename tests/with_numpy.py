# SPDX-License-Identifier: Apache-2.0
"""For programs that need numpy: import with_numpy first."""
import importlib.util
import os
import subprocess
import sys

# Where a distribution's package python3-numpy is, whatever other Python comes first in PATH.
SYSTEM = "/usr/bin/python3"
# A matrix of the learning is small, and its tasks are many: a thread each. Read when numpy is
# loaded.
os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})
LEARNING = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                        "model-db/learning")
sys.path.insert(0, LEARNING)


def has_numpy():
    return importlib.util.find_spec("numpy") is not None


def restart():
    """Go on with the system's Python where only that has numpy."""
    if has_numpy() or os.path.realpath(sys.executable) == os.path.realpath(SYSTEM):
        return
    done = subprocess.run([SYSTEM, "-c", "import numpy"], stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
