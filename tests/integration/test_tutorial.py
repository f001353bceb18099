# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorial.md, as they stand there, and the output that it shows.

Both run here, in a network of their own. The machine with the meter is in files: its CPU time
and energy follow the workload that tallywatt engage names. It is the transcript of a researcher with one server.
"""
import shutil
import unittest

from transcript import Transcript, blocks_of_page, lacks, steps

METAL = "10.0.0.1"


class Tutorial(Transcript):
    def setUp(self):
        super().setUp()
        self.enter(METAL)
        metal = self.shell("metal", self.metal(), METAL)
        self.follow_phases(metal.output)
        self.shell("vm", {"TW_METERS": "model", "TW_SHIPPED_MODELS": ""})

    def metal(self):
        """The environment of the machine with the meter: its files, its address."""
        args = self.machine()
        for name in ("intel-rapl:0:1", "intel-rapl:0:2", "intel-rapl:1"):
            shutil.rmtree(self.path("sys/class/powercap", name))
        shutil.rmtree(self.path("sys/class/hwmon"))
        return {**{f"TW_{name[2:].upper()}": value for name, value in zip(args[::2], args[1::2])},
                "TW_BPF": "off", "TW_COLLECTOR_LISTEN": f"{METAL}:8103", "TW_COLLECTOR_URL": f"http://{METAL}:8103"}

    def test_commands_work_as_they_stand(self):
        blocks = blocks_of_page("docs/tutorial.md")
        self.assertGreater(len(steps(blocks)), 8)
        self.follow_all(blocks)


class Shapes(unittest.TestCase):
    def test_a_number_stands_for_a_number_and_a_word_for_itself(self):
        text = "web: package 4.6 W (model), dram 0.6 W"
        self.assertIsNone(lacks([text], "x\nweb: package 14 W (model),  dram 1.25 W\n"))
        for other in ("web: package 4.6 W (rapl-sysfs), dram 0.6 W", "web: package - W (model), dram 0.6 W"):
            self.assertEqual(lacks([text], other), text)
        self.assertEqual(lacks(["a", "b"], "b\na\n"), "b")
        self.assertIsNone(lacks(["a", "...", "b 1..."], "a\nc\nb 23 more\n"))


if __name__ == "__main__":
    unittest.main()
