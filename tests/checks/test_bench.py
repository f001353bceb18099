# SPDX-License-Identifier: Apache-2.0
"""What benches judge by: where a median is, which goals are met, and who is in the way."""
import contextlib
import csv
import io
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "bench"))
import bench  # noqa: E402
import collector_run  # noqa: E402
import record  # noqa: E402


def places(n):
    """Of n values: which of them, from 1, the median is between."""
    return bench.median_interval(range(1, n + 1))


def surely_between(n, first, last):
    """Whether the median is between these places in 19 of 20 cases: if first or more of the
    n values, but fewer than last, are below it."""
    return 20 * sum(math.comb(n, k) for k in range(first, last)) >= 19 * 2 ** n


class MedianInterval(unittest.TestCase):
    def test_of_six_it_is_between_all_of_them(self):
        self.assertEqual(bench.median_interval([3, 9, 1, 7, 5, 8]), (1, 9))

    def test_five_are_too_few(self):
        for n in range(6):
            with self.assertRaisesRegex(bench.Failed, f"^{n} values are too few to be "
                                                      "95% sure of their median$"):
                bench.median_interval([1.0] * n)

    def test_places_are_those_of_tables_of_the_sign_test(self):
        for n, low, high in ((6, 1, 6), (8, 1, 8), (9, 2, 8), (10, 2, 9), (12, 3, 10),
                             (15, 4, 12), (20, 6, 15), (25, 8, 18), (30, 10, 21)):
            self.assertEqual(places(n), (low, high))

    def test_the_interval_is_as_wide_as_needed(self):
        for n in range(6, 301):
            low, high = places(n)
            self.assertEqual(low + high, n + 1)
            self.assertTrue(surely_between(n, low, high), n)
            self.assertFalse(surely_between(n, low + 1, high - 1), n)

    def test_a_higher_confidence_widens_the_interval(self):
        values = range(1, 31)
        self.assertEqual(bench.median_interval(values, sure=0.99), (8, 23))
        self.assertEqual(bench.median_interval(values, sure=0.5), (13, 18))
        with self.assertRaisesRegex(bench.Failed, "^6 values are too few to be 99% sure"):
            bench.median_interval(range(6), sure=0.99)

    def test_values_keep_their_order_and_may_be_equal(self):
        values = [2, 1, 2, 2, 3, 2, 2]
        self.assertEqual(bench.median_interval(values), (1, 3))
        self.assertEqual(values, [2, 1, 2, 2, 3, 2, 2])
        self.assertEqual(bench.median_interval([4.5] * 9), (4.5, 4.5))

    def test_the_true_median_is_in_the_interval_as_often_as_claimed(self):
        # A distribution that is far from symmetric: its median is 1/8, its mean 1/4.
        draw = random.Random(1)
        for n in (6, 9, 15):
            inside = 0
            for _ in range(2000):
                low, high = bench.median_interval([draw.random() ** 3 for _ in range(n)])
                inside += low <= 0.125 <= high
            self.assertGreaterEqual(inside / 2000, 0.95, n)


class Goals(unittest.TestCase):
    def told(self, judge):
        """The lines that are printed, and the status that a part exits with."""
        goals, out = bench.Goals(), io.StringIO()
        with contextlib.redirect_stdout(out):
            judge(goals)
            with self.assertRaises(SystemExit) as end:
                goals.exit()
        return out.getvalue().splitlines(), end.exception.code

    def test_a_figure_at_its_goal_meets_it(self):
        def judge(goals):
            goals.at_least("rate", 150, 150, "MB/s")
            goals.at_most("memory", 0.4, 0.4, "GiB")
        self.assertEqual(self.told(judge), (["met     rate: 150 MB/s, want 150 or more",
                                             "met     memory: 0.4 GiB, want 0.4 or less"],
                                            0))

    def test_a_missed_goal_is_printed_with_its_distance(self):
        def judge(goals):
            goals.at_least("rate", 75, 150, "MB/s")
            goals.at_most("growth", 1, 0)
        self.assertEqual(self.told(judge),
                         (["MISSED  rate: 75 MB/s, want 150 or more: missed by 50.0%",
                           "MISSED  growth: 1, want 0 or less"], 1))

    def test_surely_at_least_is_met_if_all_of_the_interval_is(self):
        for interval in ((15, 20), (15.5, 20), (15, 15)):
            lines, status = self.told(lambda g, i=interval: g.surely_at_least("x", i, 15))
            self.assertEqual((lines[0][:8], status), ("met     ", 0))

    def test_surely_at_least_is_missed_only_if_none_of_it_is(self):
        lines, status = self.told(lambda g: g.surely_at_least("x", (10, 14.5), 15, "ns"))
        self.assertEqual(lines, ["MISSED  x: between 10 and 14.5 ns, want 15 or more"])
        self.assertEqual(status, 1)

    def test_surely_at_most_is_met_if_all_of_the_interval_is(self):
        for interval in ((-5, 15), (-5, 14.5), (15, 15)):
            lines, status = self.told(lambda g, i=interval: g.surely_at_most("x", i, 15))
            self.assertEqual((lines[0][:8], status), ("met     ", 0))

    def test_surely_at_most_is_missed_only_if_none_of_it_is(self):
        lines, status = self.told(lambda g: g.surely_at_most("x", (15.5, 20), 15, "ns"))
        self.assertEqual(lines, ["MISSED  x: between 15.5 and 20 ns, want 15 or less"])
        self.assertEqual(status, 1)

    def test_an_undecided_figure_is_open_and_no_success(self):
        for judge in (lambda g: g.surely_at_least("x", (14, 16), 15),
                      lambda g: g.surely_at_least("x", (14, 15), 15),
                      lambda g: g.surely_at_most("x", (14, 16), 15),
                      lambda g: g.surely_at_most("x", (15, 16), 15)):
            lines, status = self.told(judge)
            self.assertEqual((lines[0][:8], status), ("OPEN    ", 1))

    def test_a_single_missed_goal_fails_the_bench(self):
        def judge(goals):
            goals.surely_at_most("a", (1, 2), 15)
            goals.surely_at_most("b", (14, 16), 15)
            goals.at_most("c", 1, 15)
        lines, status = self.told(judge)
        self.assertEqual([line.split()[0] for line in lines], ["met", "OPEN", "met"])
        self.assertEqual(status, 1)

    def test_without_any_that_is_not_met_a_part_succeeds(self):
        self.assertEqual(self.told(lambda goals: None), ([], 0))


    def test_a_wrong_answer_fails_the_bench(self):
        for holds, line, status in ((True, "right   x", 0), (False, "WRONG   x", 1)):
            self.assertEqual(self.told(lambda g, h=holds: g.right("x", h)), ([line], status))

    def test_in_its_form_of_seconds_no_goal_is_judged_and_answers_are(self):
        self.addCleanup(setattr, bench, "QUICK", bench.QUICK)
        bench.QUICK = True
        self.assertEqual(self.told(lambda g: g.at_most("x", 3, 1, "s")), (["ran     x: 3 s"], 0))
        self.assertEqual(self.told(lambda g: g.surely_at_least("x", (1, 2), 3))[1], 0)
        self.assertEqual(self.told(lambda g: g.right("x", False))[1], 1)


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "bench.csv")

    def add(self, *figures, judge=True):
        return record.Record(self.path).add("bench_x", figures, judge)

    def values(self):
        with open(self.path, newline="", encoding="utf-8") as f:
            rows = list(csv.DictReader(f))
        self.assertEqual(set(rows[0]), set(record.COLUMNS))
        return [(row["figure"], row["value"], row["unit"], row["better"]) for row in rows]

    def test_a_figure_that_is_worse_than_the_last_fails_and_is_not_recorded(self):
        self.assertEqual(self.add(("rate", 100, "MB/s", "more"), ("time", 100, "s", "less")), [])
        self.assertEqual(self.add(("rate", 91, "MB/s", "more"), ("time", 109, "s", "less")), [])
        self.assertEqual(self.add(("rate", 80, "MB/s", "more"), ("time", 125, "s", "less")),
                         ["WORSE   rate: 80 MB/s, the last record is 91: 12.1% worse",
                          "WORSE   time: 125 s, the last record is 109: 14.7% worse"])
        self.assertEqual(self.values(), [("rate", "100", "MB/s", "more"), ("time", "100", "s", "less"),
                                         ("rate", "91", "MB/s", "more"), ("time", "109", "s", "less")])

    def test_without_judging_all_is_recorded(self):
        self.add(("time", 100, "s", "less"))
        self.assertEqual(self.add(("time", 200, "s", "less"), judge=False), [])
        self.assertEqual(self.add(("time", 205, "s", "less")), [])

    def test_figures_of_another_machine_or_bench_do_not_compare(self):
        self.add(("time", 100, "s", "less"))
        with open(self.path, encoding="utf-8") as f:
            text = f.read()
        for change in ((record.machine_name(), "another"), ("bench_x", "bench_y")):
            with open(self.path, "w", encoding="utf-8") as f:
                f.write(text.replace(*change))
            self.assertEqual(self.add(("time", 200, "s", "less")), [])

    def test_a_bench_records_its_figures_and_fails_where_one_is_worse(self):
        script = ("import bench, sys\ngoals = bench.Goals()\n"
                  "goals.at_most('p99 (the echo has 7)', float(sys.argv[1]), 50, 'ms')\n"
                  "goals.note('memory', 5, 'MiB')\ngoals.exit()\n")
        folder = os.path.join(TESTS, "bench")
        for value, status in (("10", 0), ("10.9", 0), ("12.5", 1)):
            done = subprocess.run([sys.executable, "-c", script, value], check=False, cwd=folder,
                                  env=dict(os.environ, TW_BENCH_RECORD=self.path, TW_BENCH_JUDGE="1",
                                           TW_BENCH_QUICK=""), stdout=subprocess.DEVNULL)
            self.assertEqual(done.returncode, status, value)
        self.assertEqual([v[:2] for v in self.values()],
                         [("p99", "10"), ("memory", "5"), ("p99", "10.9"), ("memory", "5"),
                          ("memory", "5")])


class Others(unittest.TestCase):
    """Collectors that run beside those which are measured, by a made-up /proc."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.proc = folder.name
        os.mkdir(os.path.join(self.proc, "sys"))

    def process(self, pid, comm, state=b"S"):
        os.mkdir(os.path.join(self.proc, str(pid)))
        with open(os.path.join(self.proc, str(pid), "stat"), "wb") as f:
            f.write(b"%d (%s) %s 1 1 1 0 -1\n" % (pid, comm, state))

    def refused(self):
        with self.assertRaises(SystemExit) as end:
            collector_run.refuse_others(self.proc)
        return end.exception.code

    def test_another_collector_is_refused_by_its_pid(self):
        self.process(7, b"sh")
        self.process(42, b"tw-collector", b"R")
        self.assertEqual(self.refused(), "bench-collector: another tw-collector runs, whose "
                         "ticks would be measured, too: pid 42")

    def test_all_that_there_are_are_named(self):
        # The second is stopped, and may go on at any time.
        for pid, state in ((1000, b"S"), (42, b"T"), (7, b"D")):
            self.process(pid, b"tw-collector", state)
        self.assertTrue(self.refused().endswith(": pid 7, 42, 1000"))

    def test_other_processes_are_not_refused(self):
        self.process(1, b"tw-collect")
        self.process(2, b"tw-collector2")
        self.process(3, b"a) (tw-collector) S (b")
        self.process(4, b"\xff\n)")
        self.process(5, b"tw-collector", b"Z")  # it has ended
        os.mkdir(os.path.join(self.proc, "6"))  # it is gone while we look
        collector_run.refuse_others(self.proc)


if __name__ == "__main__":
    unittest.main()
