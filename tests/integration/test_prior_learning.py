# SPDX-License-Identifier: Apache-2.0
"""model-db/learning: the prior of machines is learned from a table."""
import glob
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import unittest

from harness import BIN, QUICK, ROOT, Case, need, shared

import with_numpy

with_numpy.restart()
try:
    import gaussian_process as gp
    import machine_table
    import numpy as np
    import prior_learning
except ModuleNotFoundError as e:
    if e.name != "numpy":
        raise
    np = None

FACTS = os.path.join(BIN, "model-db/learning/machine_facts")
# SHA-256 of the prior that ships and all that it is learned from.
LEARNED = os.path.join(ROOT, "model-db/learning/learned.sha256")
MADE_UP = os.path.join(ROOT, "tests/data/machines")
ROW = "Intel Xeon E5-2660,A,{},2012,2200,2,16,2,64,95,800,5,6,7,8,9,10,11,12,13,14,15\n"


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def header():
    with open(os.path.join(MADE_UP, "measured.csv"), encoding="utf-8") as f:
        return f.readline()


def without_comments(script):
    """Without lines of comments and docstrings, which change no prior."""
    return re.sub(rb'^ *(#[^\n]*|""".*?""")\n', b"", script, flags=re.MULTILINE | re.DOTALL)


class Learning(Case):
    def setUp(self):
        super().setUp()
        need("numpy", np is not None)

    def table(self, *rows):
        path = self.write("table.csv", (header() + "".join(rows)).encode())
        return machine_table.read_table([path], FACTS)


class Tables(Learning):
    def test_broken_tables_are_refused(self):
        good = ROW.format(2012)
        for rows, why in (
                (["Intel Xeon E5-2660,A,2012,2012,2200,2,16,2,64,95,800,5\n"], "cells"),
                ([good.replace("\n", ",9\n")], "cells"),
                ([good.replace("2200", "x")], "line 2, column 'nominal_mhz'"),
                ([good.replace("2200", "-1")], "line 2, column 'nominal_mhz'"),
                ([good.replace("2200", "nan")], "line 2, column 'nominal_mhz'"),
                ([good.replace("2200", "2_200")], "line 2, column 'nominal_mhz'"),
                ([good, good.replace(",5,6,", ",15,6,")], "line 3: w_100 is not above w_idle"),
                ([good.replace("2200,2,", "2200,,")], "chips or cores are missing"),
                ([good.replace(",5,6,", ",,6,")], "'w_idle' is missing"),
                ([good.replace(",14,15", ",14,")], "'w_100' is missing"),
                ([good.replace("Intel", 300 * "I")], "column 'cpu_name'"),
                (['"' + good], "unexpected end of data"),
                (4097 * [good], "more than 4096")):
            with self.subTest(why), self.assertRaisesRegex(machine_table.TableError, why):
                self.table(*rows)

    def test_a_header_has_each_column_once(self):
        for text, why in (("", "a header is missing"), ("cpu_name\n", "'system_vendor' is missing"),
                          (header().replace("chips", "chips,chips"), "'chips' comes twice")):
            with self.assertRaisesRegex(machine_table.TableError, "line 1.*" + why):
                machine_table.read_rows(io.StringIO(text))

    def test_the_newest_machine_is_last(self):
        table = self.table(*(ROW.format(f"{year}-06") for year in range(2015, 2011, -1)))
        self.assertEqual(table.year.tolist(), [2012, 2013, 2014, 2015])

    def test_hardware_long_before_its_result_is_a_misprint(self):
        for hardware, published, year in (("2008", "2018-08", 2018), ("2004-09", "2009-04", 2004),
                                          ("", "2012", 2012), ("2012", "", 2012), ("", "", 0)):
            row = ROW.format(hardware).replace(",2012,2200", f",{published},2200")
            self.assertEqual(self.table(row).year[0], year)

    def test_memory_that_no_core_works_with_is_in_tib(self):
        table = self.table(ROW.format(2012), ROW.format(2012).replace(",64,95", ",0.75,95"))
        self.assertEqual(table.number[:, machine_table.MEMORY].tolist(), [64, 768])

    def test_attributes_are_those_of_a_server(self):
        table = self.table(ROW.format(2012), ROW.format(2012).replace("95", "").replace("A,", "Dell Inc.,"))
        self.assertEqual(table.category[0][:3], ["intel", "sandy_bridge_ep", "ddr3"])
        self.assertEqual(table.before[0][:2], ["westmere_ep", "nehalem_ep"])
        self.assertEqual(table.category[1][machine_table.GENERATION_SYSTEM], "sandy_bridge_ep/dell")
        self.assertEqual(table.number[0].tolist(), [8, 2, 95, 64, 2200, 800, 32, 2])
        self.assertEqual(table.processor.tolist(), [0, 0])
        self.assertEqual(table.cpus.tolist(), [32, 32])
        self.assertEqual(table.likeness[0, 0], 0.95)

    def test_a_broken_line_stops_machine_facts(self):
        for text, why in ((b"Intel\tA\t4\n", b"line 1: want 7 cells"),
                          (b"Intel\tA\t4\tx\t1\t1\t1\n", b"line 1: "),
                          (b"I\tA\t1\t1\t1\t1\t1\n" * 4097, b"line 4097: more than 4096")):
            done = subprocess.run([FACTS], input=text, stderr=subprocess.PIPE,
                                  stdout=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stderr)

    def test_the_program_names_a_broken_table(self):
        done = subprocess.run(
            [sys.executable, os.path.join(with_numpy.LEARNING, "learn-prior"), "--facts", FACTS,
             "--input", self.write("t.csv", b"cpu_name\n"), "--output", self.path("out")],
            stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"t.csv': line 1: column 'system_vendor' is missing", done.stderr)
        self.assertFalse(os.path.exists(self.path("out")))


class Processes(Learning):
    def data(self, rows=30):
        random = np.random.default_rng(1)
        y = random.normal(size=rows)
        similar = {1: np.array([[2.0, 1, 0, 0], [1, 3, 1, 0], [0, 1, 1, 0], [0, 0, 0, 2]])}
        return gp.Data(random.normal(size=(rows, 5)), random.integers(-1, 3, (rows, 3)),
                       np.array([True, True, False]), similar, y - y.mean(),
                       random.integers(0, 8, rows), 0.3)

    def test_the_gradient_is_that_of_the_density(self):
        d = self.data()
        theta = gp.density(d)[0] + np.linspace(-0.5, 0.5, 12)
        g = gp.evaluate(d, theta)[1]
        for p in range(len(theta)):
            step = np.eye(len(theta))[p] * 1e-5
            by_differences = (gp.evaluate(d, theta + step)[0] -
                              gp.evaluate(d, theta - step)[0]) / 2e-5
            self.assertAlmostEqual(g[p], by_differences, delta=1e-5 * (1 + abs(g[p])))

    def test_covariance_is_the_formula(self):
        d = self.data(4)
        k = gp.kernel_of(d, np.linspace(-1, 1, 12))
        of_all = gp.covariance(k, d.z, d.category, d.z, d.category)
        for i in range(4):
            for j in range(4):
                a, b = d.z[i], d.z[j]
                want = (k.linear * a @ b + k.square * (a * a - 1) @ (b * b - 1) +
                        k.radial * np.exp(-0.5 * (((a - b) / k.length) ** 2).sum()) +
                        k.category[0] * (d.category[i, 0] == d.category[j, 0] >= 0))
                one, other = d.category[i, 1], d.category[j, 1]
                if one >= 0 and other >= 0:
                    want += k.category[1] * d.similar[1][one, other]
                self.assertAlmostEqual(of_all[i, j], want, delta=1e-12)

    def test_a_left_out_group_is_predicted_by_the_others(self):
        d = self.data()
        k = gp.kernel_of(d, gp.density(d)[0])
        left_out = gp.leave_out(d, k)
        for group in np.unique(d.group):
            rest = d.group != group
            others = gp.Data(d.z[rest], d.category[rest], d.used, d.similar, d.y[rest],
                             d.group[rest], 0.3)
            weight, constant = gp.solve(others, k)
            want = constant + gp.covariance(k, d.z[~rest], d.category[~rest], others.z,
                                            others.category) @ weight
            np.testing.assert_allclose(left_out[~rest], want, rtol=0, atol=1e-9)

    def test_the_search_raises_the_density(self):
        d = self.data()
        self.assertLess(gp.evaluate(d, gp.search(d))[0], gp.evaluate(d, gp.density(d)[0])[0])

    def test_few_rows_of_a_group_choose_the_variances(self):
        few = gp.first_of_groups(np.array([3, 3, 1, 3, 1]), 2)
        self.assertEqual(few.tolist(), [True, True, True, False, True])


class Parts(Learning):
    def test_quantiles_are_of_the_weight(self):
        x, weight = np.array([4.0, 1, 3, 2]), np.array([1.0, 1, 1, 1])
        for share, want in ((0.25, 1), (0.5, 2), (0.51, 3), (1, 4)):
            self.assertEqual(prior_learning.quantile(x, weight, share), want)
        self.assertEqual(prior_learning.quantile(x, np.array([9.0, 1, 1, 1]), 0.5), 4)

    def test_the_factor_has_the_least_relative_error(self):
        random = np.random.default_rng(2)
        log_ratio = random.normal(0.2, 0.5, (301, 11))
        factor = prior_learning.find_factor(log_ratio, np.arange(301))
        def error(c):
            return np.abs(c * np.exp(-log_ratio) - 1).mean(0)
        for other in (0.98, 1.02):
            self.assertTrue((error(factor) <= error(factor * other)).all())

    def test_intervals_hold_nine_in_ten_processors(self):
        random = np.random.default_rng(3)
        miss, group = random.normal(size=(900, 11)), np.arange(900)
        width, error = prior_learning.find_misses(0.1 * miss, np.full((900, 11), 0.01), group,
                                                  np.ones(11))
        np.testing.assert_allclose((np.abs(miss) <= width).mean(0), 0.9, atol=0.003)
        # The mean of a normal variable's absolute value is 0.8; |exp(-x) - 1| is a little more.
        np.testing.assert_allclose(error, 0.8, atol=0.06)

    def test_the_width_of_eras_is_rounded_up_to_the_next_era(self):
        miss, one = np.arange(1, 101.0)[:, None], np.ones((100, 1))
        for eras, most in ((None, 91), (20, 95), (9, 100), (1, 100)):
            width, _ = prior_learning.find_misses(miss, one, np.arange(100), np.ones(1), eras)
            self.assertEqual(width[0], most)

    def test_errors_do_not_rise_with_likeness(self):
        self.assertEqual(prior_learning.pool_violators([0, 3, 1, 2, 0], [0, 1, 1, 1, 0]).tolist(),
                         [3, 3, 1.5, 1.5, 1.5])

    def test_the_nearest_machine_has_another_processor(self):
        table = self.table(ROW.format(2012), ROW.format(2012),
                           ROW.format(2012).replace("2660", "2650").replace(",5,6,", ",5.5,6,"))
        error = prior_learning.find_nearest_error(table, np.ones(3, bool))
        k = round(table.likeness[0, 2] * 20)
        # 5.5 W for 5 W and the reverse, each at one load of eleven.
        self.assertAlmostEqual(error[k], (0.5 / 5 + 0.5 / 5.5) / 2 / 11)


class Priors(Learning):
    def learn(self, path, *views):
        prior = prior_learning.Prior(machine_table.read_table([path], FACTS),
                                     views or prior_learning.SHIPPED)
        prior_learning.learn(prior)
        return prior

    def assert_same(self, got, want, path=""):
        """Numbers differ by a step of the sixth digit at most, or by nothing beside their list."""
        self.assertIs(type(got) in (int, float), type(want) in (int, float), path)
        if isinstance(want, dict):
            self.assertEqual(list(got), list(want), path)
            for key, value in want.items():
                self.assert_same(got[key], value, f"{path}.{key}")
        elif isinstance(want, list):
            self.assertEqual(len(got), len(want), path)
            for i, value in enumerate(want):
                self.assert_same(got[i], value, f"{path}[{i}]")
        elif type(want) in (int, float):
            self.assertAlmostEqual(got, want, delta=1.01e-5 * abs(want), msg=path)
        else:
            self.assertEqual(got, want, path)

    def test_the_prior_that_ships_is_learned_from_its_table(self):
        """It takes a minute: it is learned again if a file that it depends on is not that of LEARNED,
        and each night."""
        if QUICK:
            self.skipTest("takes a minute")
        table = machine_table.read_table(
            [shared(f"data/specpower/{name}.csv") for name in ("specpower", "specpower_2022")],
            FACTS)
        shipped = read_bytes(os.path.join(ROOT, "model-db/models/machines/prior.json"))
        inputs = hashlib.sha256(shipped)
        inputs.update(json.dumps(vars(table), default=lambda x: x.tolist()).encode())
        for path in sorted(glob.glob(os.path.join(with_numpy.LEARNING, "*.py"))):
            inputs.update(without_comments(read_bytes(path)))
        with open(LEARNED, encoding="ascii") as f:
            learned = f.read().strip()
        if inputs.hexdigest() == learned and "TW_NIGHTLY" not in os.environ:
            return
        prior = prior_learning.Prior(table)
        prior_learning.learn(prior)
        self.assert_same(json.loads(prior_learning.text_of(prior)), json.loads(shipped))
        self.assertEqual(inputs.hexdigest(), learned, f"the prior is right: write this into {LEARNED}")

    def test_an_unseen_processor_is_near_its_law(self):
        """Machines of the made-up table, each predicted without its processor."""
        prior = self.learn(os.path.join(MADE_UP, "measured.csv"))
        view = prior.views[0]
        rows = prior.rows[view.row]
        tdp, chips = (rows.number[:, n] for n in (machine_table.TDP, machine_table.CHIPS))
        law = (1.5 * tdp * chips + 20)[:, None] * (0.25 + 0.075 * np.arange(11))
        use = np.ones(len(law), bool)
        use[:2] = False
        prior_learning.condition(prior, use)
        w = np.exp(prior_learning.view_log_w(prior, view, prior.rows[:2]))
        self.assertLess(np.abs(w / law[:2] - 1).max(), 0.1)

    def test_the_fixture_s_answers_are_those_of_its_table(self):
        with open(os.path.join(MADE_UP, "prior.json"), encoding="utf-8") as f:
            kept = json.load(f)
        prior = self.learn(os.path.join(MADE_UP, "measured.csv"), *(v["name"] for v in kept["views"]))
        for view, of_file in zip(prior.views, kept["views"]):
            rows = prior.rows[view.row]
            answers = prior_learning.view_log_w(prior, view, rows)
            for member, m in zip(view.member, of_file["members"]):
                for target, t in zip(member.target, m["targets"]):
                    target.mean = t["parts"][0]
                    k = target.kernel
                    k.linear, k.square, k.radial, k.noise = t["parts"][1:]
                    k.length[:machine_table.FACTS] = t["length"]
                    k.category = np.array(t["category"])
                    target.weight = np.array(t["weight"])[view.row]
            np.testing.assert_allclose(answers, prior_learning.view_log_w(prior, view, rows),
                                       rtol=0, atol=1e-4)
            np.testing.assert_allclose(view.factor, of_file["factor"], rtol=1e-4)
            np.testing.assert_allclose(view.known[0], of_file["width"], rtol=1e-3)

    def test_too_few_machines_are_named(self):
        with self.assertRaisesRegex(machine_table.TableError, "2 machines with the attributes"):
            prior_learning.learn(prior_learning.Prior(self.table(ROW.format(2012),
                                                                 ROW.format(2013))))

    def of_two_eras(self):
        """Machines with DDR3 and with DDR4, of generations and processors of their own."""
        rows = [ROW.format(2012).replace("E5-2660", f"E5-26{60 + i}") for i in range(12)]
        rows += [ROW.format(2014).replace("E5-2660", f"E5-26{60 + i} v2") for i in range(12)]
        rows += [ROW.format(2016).replace("E5-2660", f"E5-26{60 + i} v4") for i in range(4)]
        return self.table(*rows)

    def test_an_era_is_judged_by_what_its_ancestors_tell(self):
        table = self.of_two_eras()
        prior = prior_learning.Prior(table)
        use = np.ones(28, bool)
        prior_learning.fit(prior, use)
        era = np.arange(28) >= 24
        for log_ratio, variance, group in prior_learning.judge_era(prior, use & ~era, era, 1):
            self.assertEqual(log_ratio.shape, (4, 11))
            self.assertEqual(variance.shape, (4, 11))
            self.assertEqual(len(set(group)), 4)

    def test_an_era_without_earlier_machines_is_not_judged(self):
        prior = prior_learning.Prior(self.of_two_eras())
        prior_learning.MACHINES_MIN, least = 4, prior_learning.MACHINES_MIN
        eras = prior_learning.find_eras(prior, np.ones(28, bool))
        prior_learning.MACHINES_MIN = least
        self.assertEqual([(np.flatnonzero(era)[0], c) for era, c in eras],
                         [(12, machine_table.GENERATION), (24, machine_table.GENERATION),
                          (24, machine_table.MEMORY_TYPE)])

    def test_expected_errors_of_new_generations_are_those_of_earlier_machines(self):
        prior = prior_learning.Prior(self.of_two_eras())
        prior_learning.fit(prior, np.ones(28, bool))
        asked = []

        class Pool:
            @staticmethod
            def starmap(call, tasks, _):
                asked.extend(np.flatnonzero(task[1]).tolist() for task in tasks)
                return [call(*task) for task in tasks]

        prior_learning.MACHINES_MIN, least = 4, prior_learning.MACHINES_MIN
        prior_learning.ROWS_MIN, rows = 4, prior_learning.ROWS_MIN
        prior_learning.find_later(prior, np.ones(28, bool), Pool)
        prior_learning.MACHINES_MIN, prior_learning.ROWS_MIN = least, rows
        first, second, third = list(range(12)), list(range(12, 24)), list(range(24, 28))
        self.assertEqual(asked, [first + third, first + second, first + second,
                                 first, first + second])
        for view in prior.views:
            self.assertTrue((view.later[0] >= view.known[0]).all())
            self.assertTrue((view.later[1] >= view.known[1]).all())

    def test_machines_that_are_too_few_for_a_view_judge_no_era(self):
        prior = prior_learning.Prior(self.of_two_eras())
        prior_learning.fit(prior, np.ones(28, bool))
        self.assertTrue(prior_learning.tell_enough(prior, np.arange(28) < 20))
        self.assertFalse(prior_learning.tell_enough(prior, np.arange(28) < 19))

    def test_a_memory_type_that_is_left_out_counts_as_the_one_before(self):
        prior = prior_learning.Prior(self.of_two_eras())
        prior_learning.fit(prior, np.arange(28) < 24, judge=False)
        for view in prior.views:
            rows = prior_learning.take_memory(prior, view, prior.rows[24:])
            known = prior.rows.category[23, machine_table.MEMORY_TYPE]
            self.assertEqual(set(rows.category[:, machine_table.MEMORY_TYPE]), {known})

    def test_generations_differ_by_the_steps_between_them(self):
        prior = prior_learning.Prior(self.of_two_eras())
        names = prior.names[machine_table.GENERATION]
        for name, before in zip(names, prior.after):
            self.assertLess(before, names.index(name))
        similar = prior.similar[machine_table.GENERATION]
        first = names.index("sandy_bridge_ep")
        for name, steps in (("sandy_bridge_ep", 0), ("ivy_bridge_ep", 1), ("haswell_ep", 2),
                            ("broadwell_ep", 3), ("westmere_ep", 1)):
            other = names.index(name)
            self.assertAlmostEqual(similar[first, first] + similar[other, other] -
                                   2 * similar[first, other], steps / prior_learning.STEPS)
        known = prior.rows.category[:, machine_table.GENERATION]
        np.testing.assert_allclose(similar[known].sum(0)[:-1], 0, atol=1e-12)

    def test_a_view_is_the_mean_with_the_one_beside_it(self):
        prior = prior_learning.Prior(self.of_two_eras())
        prior_learning.fit(prior, np.ones(28, bool))
        system, host = prior.views[:2]
        log_w = prior_learning.view_log_w(prior, system, prior.rows)
        of_each = [prior_learning.own_log_w(prior, v, prior.rows) for v in (system, host)]
        np.testing.assert_allclose(log_w, np.mean(of_each, 0))
        self.assertIs(prior.beside(host), None)
        variance = prior_learning.find_variance(prior, system, prior.rows, log_w, np.full(28, -1))
        of_each = [prior_learning.own_variance(prior, v, prior.rows, log_w, np.full(28, -1))
                   for v in (system, host)]
        np.testing.assert_allclose(variance, np.mean(of_each, 0))

    def test_a_machine_needs_no_curve(self):
        table = self.table(*(ROW.format(2012).replace("E5-2660", f"E5-26{60 + i}")
                             .replace(",14,15", f",14,{15 + i}")
                             .replace("6,7,8,9,10,11,12,13,14", ",,,,,,,," if i == 0 else
                                      "6,7,8,9,10,11,12,13,14") for i in range(24)))
        prior = prior_learning.Prior(table)
        prior_learning.learn(prior)
        for view in prior.views:
            self.assertTrue(np.isfinite(view.factor).all() and np.isfinite(view.known).all())
            for member in view.member:
                self.assertNotEqual(member.target[0].weight[0], 0)
                self.assertEqual(member.target[2].weight[0], 0)
        machine = json.loads(prior_learning.text_of(prior))["machines"][0]
        self.assertEqual(machine[-11:], [5] + 9 * [None] + [15])


if __name__ == "__main__":
    unittest.main(verbosity=2)
