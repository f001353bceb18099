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


if __name__ == "__main__":
    unittest.main()
