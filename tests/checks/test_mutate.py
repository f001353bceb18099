# SPDX-License-Identifier: Apache-2.0
"""The mutants that tests/mutate.py makes of a source."""
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import mutate  # pylint: disable=wrong-import-position

SOURCE = """/* a == b */
static int f(int a, int b)
{
\tif (a == b && a < 3)
\t\treturn tw_fail(err, "a == b");
\tif (g(a) < 0)
\t\treturn -1;
\tsend(a, b);
\tfree(a);
\treturn a + b;
}
"""


class Mutants(unittest.TestCase):
    def setUp(self):
        self.lines = {}
        for line, _, new in mutate.mutants_of(SOURCE):
            self.lines.setdefault(line + 1, []).append(new.strip())

    def test_comparisons_bounds_and_terms_change(self):
        for new in ("if (a != b && a < 3)", "if (a == b && a <= 3)", "if (a == b && a < 4)",
                    "if (a == b, a < 3)", "if (a == b && 1 || 0 && a < 3)"):
            self.assertIn(new, self.lines[4])
        self.assertIn("return a - b;", self.lines[10])
        self.assertIn("return a;", self.lines[10])

    def test_calls_are_removed_and_failures_ignored(self):
        self.assertEqual(self.lines[6], ["if (0)"])
        self.assertEqual(self.lines[7], ["return 0;"])
        self.assertEqual(self.lines[8], [";"])

    def test_comments_texts_and_releases_stay(self):
        for line in (1, 2, 5, 9):
            self.assertNotIn(line, self.lines)

    def test_equivalent_mutants_are_named_by_function_and_expression(self):
        entry = "f: a + b => a\n\tThe second is 0.\n\tAlways.\n"
        entries = mutate.read_equivalent("# text\n" + entry)
        self.assertEqual(entries, [("", "f", "a + b", "a", "The second is 0. Always.")])
        self.assertEqual(mutate.unmatched(entries, {"lib/a.c": SOURCE}), [])
        other_line = SOURCE.replace("return a + b", "return 2 * (a + b)")
        self.assertEqual(mutate.unmatched(entries, {"lib/a.c": other_line}), [])
        moved = SOURCE.replace("static int f(", "static int g(")
        for source in (moved, SOURCE.replace("a + b", "b + a"), SOURCE + SOURCE):
            self.assertEqual(mutate.unmatched(entries, {"lib/a.c": source}), entries)
        two = {"lib/a.c": SOURCE, "lib/b.c": SOURCE}
        self.assertEqual(mutate.unmatched(entries, two), entries)
        self.assertEqual(mutate.unmatched(mutate.read_equivalent("b " + entry), two), [])
        for bad in ("f: a + b\n\tWhy.\n", entry.replace("\t", "")):
            self.assertRaises(ValueError, mutate.read_equivalent, bad)

    def test_the_list_is_of_mutants_that_exist(self):
        with open(mutate.EQUIVALENT, encoding="utf-8") as f:
            entries = mutate.read_equivalent(f.read())
        listed = dict(mutate.read_modules())
        sources = {module: mutate.read_source(module) for module in listed}
        self.assertEqual(mutate.unmatched(entries, sources), [])
        for module, tests in listed.items():
            self.assertTrue(tests, module)


if __name__ == "__main__":
    unittest.main()
