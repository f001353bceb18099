# SPDX-License-Identifier: Apache-2.0
"""The check of the structure must be able to fail."""
import os
import tempfile
import unittest

import check_structure

INCLUDES = '#include "lib/a.h"\n#include "server/a.h"\n'


class CheckStructure(unittest.TestCase):
    def check(self, files, compiler=()):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            return check_structure.check(root, compiler)

    def test_a_valid_header_passes_and_is_measured(self):
        figures, errors = self.check({
            "lib/core/a.h": "struct tw_a {\n", "lib/core/a.c": '#include "lib/core/a.h"\n\n',
            "server/b.c": '#include "lib/core/a.h"\n\n\n\n'})
        self.assertEqual(errors, [])
        self.assertEqual(figures, "3 files, 7 lines; .c: median 3, largest server/b.c 4")

    def test_a_cycle_of_modules_is_named(self):
        _, errors = self.check({
            "lib/a.h": '#include "lib/b.h"\n', "lib/b.h": '#include "lib/c.h"\n',
            "lib/a.c": '#include "lib/a.h"\n', "lib/b.c": '#include "lib/b.h"\n',
            "lib/c.h": "", "lib/c.c": '#include "lib/c.h"\n#include "lib/a.h"\n'})
        self.assertEqual(errors, ["cycle of modules: lib/a lib/b lib/c"])

    def test_a_header_of_one_file_is_named(self):
        _, errors = self.check({"lib/a.h": "", "lib/a.c": '#include "lib/a.h"\n'})
        self.assertEqual(errors, ["lib/a.h: a header with 1 includers; merge it"])
        _, errors = self.check({"lib/a.h": "", "lib/a.c": '#include "lib/a.h"\n',
                                "tests/unit/test_a.c": '#include "lib/a.h"\n'})
        self.assertEqual(errors, [])

    def test_a_tag_with_two_definitions_is_named(self):
        _, errors = self.check({"lib/a.c": "struct tw_a {\n", "server/a.c": "struct tw_a {\n"})
        self.assertEqual(errors, ["struct tw_a is defined in lib/a.c and server/a.c"])

    def test_a_macro_of_two_headers_is_named(self):
        _, errors = self.check({"lib/a.h": "#define TW_MAX 1\n", "server/a.h": "#define TW_MAX 1\n",
                                "lib/x.c": INCLUDES,
                                "server/y.c": INCLUDES})
        self.assertEqual(errors, ["TW_MAX is defined in lib/a.h and server/a.h"])

    def test_a_name_of_two_meanings_is_named(self):
        for one, other in (("enum tw_x { TW_A };\n", "struct tw_x;\n"),
                           ("enum tw_x { TW_A };\n", "enum tw_y { TW_A };\n"),
                           ("int tw_x(void);\n", "long tw_x(void);\n")):
            _, errors = self.check({"lib/a.h": one, "server/a.h": other, "lib/x.c": INCLUDES,
                                    "server/y.c": INCLUDES}, ["cc", "-iquote."])
            self.assertTrue(errors, (one, other))
            self.assertIn("server/a.h:1:", errors[0])


if __name__ == "__main__":
    unittest.main()
