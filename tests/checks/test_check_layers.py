# SPDX-License-Identifier: Apache-2.0
"""The check of layers must be able to fail."""
import os
import tempfile
import unittest

import check_layers

TABLE = """# Architecture

## Layers

| folder | is | may include |
|---|---|---|
| `lib/core/` | base | nothing of ours |
| `lib/json/` | JSON | `lib/core/` |
| `model-db/` | models | `lib/` |
| `model-db/index/` | index | `model-db/`, `lib/` |
"""


class CheckLayers(unittest.TestCase):
    def check(self, files, table=TABLE, check=check_layers.check):
        with tempfile.TemporaryDirectory() as root:
            for name, text in {"docs/architecture.md": table, **files}.items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as f:
                    f.write(text)
            return list(check(root))

    def test_includes_that_the_table_allows_pass(self):
        self.assertEqual(self.check({
            "lib/core/err.h": '#include <stddef.h>\n',
            "model-db/model.c": '#include "model-db/model.h"\n#include "lib/core/err.h"\n'}), [])

    def test_an_arrow_that_points_back_is_named_with_its_line(self):
        self.assertEqual(self.check({"lib/core/err.c": '\n#  include "model-db/model.h"\n'}),
                         ['lib/core/err.c:2: lib/core/ may not include "model-db/model.h"'])

    def test_the_order_inside_a_room_is_checked(self):
        self.assertEqual(self.check({
            "lib/core/err.c": '#include "lib/json/json.h"\n',
            "lib/json/json.c": '#include "lib/core/err.h"\n',
            "model-db/model.c": '#include "model-db/index/index.h"\n',
            "model-db/index/index.c": '#include "model-db/model.h"\n'}),
            ['lib/core/err.c:1: lib/core/ may not include "lib/json/json.h"',
             'model-db/model.c:1: model-db/ may not include "model-db/index/index.h"'])

    def test_a_program_may_include_its_whole_room(self):
        self.assertEqual(self.check({
            "model-db/main.c": '#include "model-db/index/index.h"\n',
            "lib/core/fetch_main.c": '#include "lib/json/json.h"\n'}), [])

    def test_a_folder_without_a_row_is_refused(self):
        errors = self.check({"lib/a/b.h": '#include "lib/core/err.h"\n'})
        self.assertEqual(len(errors), 1)
        self.assertIn("no row for lib/a/", errors[0])

    def test_a_path_not_from_the_top_is_refused(self):
        self.assertEqual(self.check({"lib/core/err.c": '#include "err.h"\n'}),
                         ['lib/core/err.c:1: "err.h" is not a path from the top'])

    def test_a_room_without_a_row_is_refused(self):
        errors = self.check({"server/main.c": '#include "lib/core/err.h"\n'})
        self.assertEqual(len(errors), 1)
        self.assertIn("no row for server/", errors[0])

    def test_a_folder_that_no_file_includes_is_reported(self):
        files = {"model-db/index/index.c": '#include "lib/core/err.h"\n'}
        self.assertEqual(self.check(files, check=check_layers.check_unused),
                         ["docs/architecture.md: model-db/index/ may include model-db/, and does not"])
        files["model-db/index/index.c"] += '#include "model-db/model.h"\n'
        self.assertEqual(self.check(files, check=check_layers.check_unused), [])

    def test_a_document_without_the_table_is_refused(self):
        errors = self.check({"lib/core/err.c": ""}, table="# Architecture\n")
        self.assertEqual(len(errors), 1)
        self.assertIn("no table", errors[0])


if __name__ == "__main__":
    unittest.main()
