# SPDX-License-Identifier: Apache-2.0
"""tests/recipes: a patch touches only what its recipe names."""
import glob
import os
import sys
import unittest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "recipes"))
import recipes  # pylint: disable=wrong-import-position

TEXT = """### A meter

1. `meters/meter_NAME.c` and `meters/meter.h`; see [README](meters/README.md).

### A trainer

1. `fit/fit_NAME.c`.
"""


class Recipes(unittest.TestCase):
    def test_files_that_the_recipe_does_not_name_are_found(self):
        patch = "Recipe: A meter\n\n+++ b/meters/meter_x.c\n+++ b/meters/meter.h\n"
        self.assertEqual(recipes.strangers(patch, TEXT), [])
        self.assertEqual(recipes.strangers(patch + "+++ b/fit/fit_x.c\n", TEXT), ["fit/fit_x.c"])
        self.assertEqual(recipes.strangers("Recipe: A bar\n+++ b/a.c\n", TEXT), ["a.c"])
        self.assertEqual(recipes.strangers("+++ b/a.c\n", TEXT), ["no line 'Recipe: TITLE'"])

    def test_each_recipe_has_a_patch_that_keeps_to_it(self):
        text = recipes.read(os.path.join(recipes.TOP, "CONTRIBUTING.md"))
        patches = [recipes.read(p) for p in glob.glob(os.path.join(recipes.FOLDER, "*.patch"))]
        titles = sorted(p.split("\n", 1)[0] for p in patches)
        self.assertEqual(titles, ["Recipe: " + t for t in (
            "A feature group", "A field of a model's metadata",
            "A field of a training job", "A label on a metric", "A meter", "A new exporter's schema",
            "A trainer", "An option of a daemon")])
        for patch in patches:
            self.assertEqual(recipes.strangers(patch, text), [])


if __name__ == "__main__":
    unittest.main()
