# SPDX-License-Identifier: Apache-2.0
"""The check of the structure must be able to fail."""
import os
import subprocess
import tempfile
import unittest

import check_structure

INCLUDES = '#include "lib/a.h"\n#include "server/a.h"\n'


class CheckStructure(unittest.TestCase):
    def check(self, files, compiler=(), build=False):
        with tempfile.TemporaryDirectory() as root:
            for name, text in files.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            for name in files if build else ():
                subprocess.run(["cc", "-c", name, "-o", name[:-1] + "o"], cwd=root, check=True)
            return check_structure.check(root, compiler, root if build else None)

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

    def test_modules_that_call_each_other_are_named(self):
        a = "void tw_b(void);\nvoid tw_a(void)\n{\n\ttw_b();\n}\n"
        b = "void tw_a(void);\nvoid tw_b(void)\n{\n\ttw_a();\n}\n"
        _, errors = self.check({"lib/a.c": a, "lib/b.c": b}, build=True)
        self.assertEqual(errors, ["modules that call each other: lib/a lib/b"])
        row = "extern const int tw_row;\nconst int *tw_a(void)\n{\n\treturn &tw_row;\n}\n"
        _, errors = self.check({"lib/a.c": row, "lib/b.c": b + "const int tw_row = 1;\n"},
                               build=True)
        self.assertEqual(errors, [])


if __name__ == "__main__":
    unittest.main()
