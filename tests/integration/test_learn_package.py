# SPDX-License-Identifier: Apache-2.0
"""model-db/learning/learn-package: the rules of package and DRAM power are those of the recordings."""
import glob
import os
import re
import subprocess
import sys
import unittest

from harness import ROOT, SHARED, Case, shared

# Of the power, with a machine left out: package, package of a desktop part, DRAM.
MOST = 30, 90, 40
CLAIMED = 0.8, 1.25
LEAST_HELD = 85


def numbers(text):
    return [float(x) for x in re.findall(r"[-+]?\d+(?:\.\d+)?", text)]


class LearnPackage(Case):
    def test_the_rules_that_ship_are_learned_and_meet_their_goals(self):
        out = subprocess.run(
            [sys.executable, os.path.join(ROOT, "model-db/learning/learn-package"),
             shared("data/package/ec2_metal.csv"), shared("data/package/cpu_load.csv"),
             shared("data/model-db/ec2-0.7.11"),
             *sorted(glob.glob(os.path.join(SHARED, "data/vm/*.csv")))],
            check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout
        with open(os.path.join(ROOT, "model-db/prior/prior_model.c"), encoding="utf-8") as file:
            source = file.read()
        package, dram = (numbers(re.search(name + r"_rule = (.*?);", source, re.DOTALL).group(1))
                         for name in ("package", "dram"))
        ratios = [numbers(line) for line in out.splitlines() if re.match(r"(package|dram) \d", line)]
        self.assertEqual([package[:4], dram[:4]], ratios)
        size = numbers(re.search(r"dram_size = (.*?);", source, re.DOTALL).group(1))
        self.assertEqual([size], [numbers(line) for line in out.splitlines() if "by a power of GiB" in line])
        judged = [numbers(line) for line in out.splitlines() if "claimed / real" in line]
        self.assertEqual(len(judged), 3, out)
        stated = [package[4:6], package[6:8], dram[4:6]]
        for (error, claimed, held, _, said, interval), most, rule in zip(judged, MOST, stated):
            self.assertEqual(rule, [said / 100, interval])
            self.assertLessEqual(error, most)
            self.assertTrue(CLAIMED[0] <= claimed <= CLAIMED[1], out)
            self.assertGreaterEqual(held, LEAST_HELD)


if __name__ == "__main__":
    unittest.main(verbosity=2)
