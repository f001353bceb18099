# SPDX-License-Identifier: Apache-2.0
"""The check of the documents must be able to fail."""
import os
import tempfile
import unittest

import check_docs

FIT = 'const struct tw_trainer tw_trainer_x = {\n\t.name = "XTrainer",\n};\n'
ROUTE = 'static const struct tw_http_route routes[] = {\n\t{ "POST", "/model", .handle = post_model },\n};\n'
HELP = """usage: tw-x [OPTION]..

  --listen ADDR:PORT  where to answer [127.0.0.1:0] (TW_X_LISTEN)
  --help              this text
"""


class CheckDocs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        self.write("bin/tw-x", f"#!/bin/sh\ncat <<'EOF'\n{HELP}EOF\n")
        os.chmod("bin/tw-x", 0o755)
        self.addCleanup(os.environ.__setitem__, "TW_BIN", os.environ.get("TW_BIN", ""))
        os.environ["TW_BIN"] = "bin"

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)

    def test_a_name_without_a_section_is_reported(self):
        self.write("trainer/fit/fit_x.c", FIT)
        self.write("docs/trainers.md", "# Trainers\n\nXTrainer\n")
        self.assertEqual(list(check_docs.check_names()),
                         ["docs/trainers.md: no section 'XTrainer' (trainer/fit/fit_x.c)"])
        self.write("docs/trainers.md", "# Trainers\n\n## XTrainer\n")
        self.assertEqual(list(check_docs.check_names()), [])

    def test_a_link_must_lead_to_a_page_and_a_heading(self):
        self.write("docs/a.md", "# A\n\n[b](b.md#the-end), [c](c.md), [d](#x), [e](https://e/)\n"
                                "```\n# code\n[f](f.md)\n```\n")
        self.write("docs/b.md", "# B\n\n## The `end`\n")
        self.assertEqual(list(check_docs.check_links()),
                         ["docs/a.md: the link 'c.md' leads nowhere",
                          "docs/a.md: 'docs/a.md' has no heading 'x'"])

    def test_a_name_of_a_table_without_a_word_is_reported(self):
        self.write("collector/meters/meter_x.c", "= {\n\t.name = \"meter-x\",\n};\n")
        self.write("lib/field/feature.c", '\t{ "cpu_cycles", "events/s" },\n'
                                          '\t{ "Basic", basic, TW_COUNT(basic) },\n')
        self.write("docs/wire.md", "`Basic`\n")
        self.write("docs/tw-collector.md", "`meter-xy`\n")
        self.assertEqual(list(check_docs.check_tables()),
                         ["docs/tw-collector.md: no word of `meter-x` (collector/meters/meter_x.c)",
                          "docs/wire.md: no word of `cpu_cycles` (lib/field/feature.c)"])

    def test_an_undocumented_route_is_reported(self):
        self.write("server/routes.c", ROUTE)
        self.write("docs/tw-server.md", "POST /models\n")
        self.assertEqual(list(check_docs.check_routes()),
                         ["docs/tw-server.md: no word of the route '/model' "
                          "(server/routes.c)"])
        self.write("docs/tw-server.md", "POST /model\n")
        self.assertEqual(list(check_docs.check_routes()), [])

    def test_an_undocumented_argument_is_reported(self):
        self.write("server/route_x.c", '\tread_number(q, "limit", 1, 9, &n);\n\ttw_http_header(q, "Accept");\n')
        self.assertEqual(list(check_docs.check_arguments()),
                         ["docs/tw-server.md: no word of the argument 'limit' (server/route_x.c)",
                          "server/openapi.json: no word of the argument 'limit' (server/route_x.c)"])
        self.write("server/openapi.json", '{ "name": "limit" }\n')
        self.write("docs/tw-server.md", "`limit`\n")
        self.assertEqual(list(check_docs.check_arguments()), [])

    def test_an_option_must_be_in_the_page_and_in_the_man_page(self):
        self.write("docs/tw-x.md", "`--listen` `--help`\n")
        self.write("bin/man/tw-x.1", "\\-\\-listen\n")
        self.assertEqual(list(check_docs.check_options("tw-x")),
                         ["docs/man/tw-x.1: no word of --help (tw-x)"])
        self.write("bin/man/tw-x.1", "\\-\\-listen \\-\\-help\n")
        self.assertEqual(list(check_docs.check_options("tw-x")), [])

    def test_a_command_has_a_section_with_its_options(self):
        self.write("bin/tw-x", "#!/bin/sh\n[ $# = 1 ] && echo '  do  it' || printf '  --a\\n  --help\\n'\n")
        self.write("bin/man/tw-x.1", ".SH COMMANDS\n.SS do\n")
        self.write("docs/tw-x.md", "## other\n\n`--a`\n\n## do\n\n`--help`\n")
        self.assertEqual(list(check_docs.check_commands("tw-x")), [])
        self.write("docs/tw-x.md", "## do\n\n`--help`\n")
        self.assertEqual(list(check_docs.check_commands("tw-x")),
                         ["docs/tw-x.md: no word of --a in the section 'do'"])
        self.write("docs/tw-x.md", "`--a` `--help` do\n")
        self.write("bin/man/tw-x.1", "do\n")
        self.assertEqual(list(check_docs.check_commands("tw-x")),
                         ["docs/man/tw-x.1: no section 'do'", "docs/tw-x.md: no section 'do'"])

    def test_a_row_of_an_option_has_its_default_and_its_variable(self):
        default, variable = ("docs/tw-x.md: the default of --listen is 127.0.0.1:0",
                             "docs/tw-x.md: the environment variable of --listen is 'TW_X_LISTEN'")
        for head, row, want in (
                ("environment | default", "`TW_X_LISTEN` | `127.0.0.1:0`", []),
                ("environment | default", "`TW_LISTEN` | `127.0.0.1:1`", [default, variable]),
                ("environment | default", "`TW_X_LISTEN` | any free port", []),
                ("default", "", [default, variable])):
            self.write("docs/tw-x.md", f"| option | {head} |\n|---|---|---|\n| `--listen ADDR:PORT` | {row} |\n")
            self.assertEqual(list(check_docs.check_settings("tw-x")), want)

    def test_the_metrics_of_a_page_are_those_of_its_program(self):
        listed = "".join(f"tw_{name}\\tgauge\\t-\\tHelp.\\n" for name in (
            "models", "reads_total", "node_watts", "pod_watts", "vm_watts", "job_watts"))
        self.write("bin/tw-x", "#!/bin/sh\n[ $1 = --help ] && echo ' --list-metrics' && exit\n"
                               f"printf '{listed}'\n")
        rows = ["| `tw_models` | models |", "| `tw_reads_total{result}` | reads |",
                "| `tw_{node,pod}_watts`, `tw_{vm,job}_watts{zone}` | power |"]
        self.write("docs/tw-x.md", "\n".join(rows))
        self.assertEqual(list(check_docs.check_metrics("tw-x")), [])
        self.write("docs/tw-x.md", "`tw_models`\n" + rows[2] + "\n| `tw_LEVEL_rows` | of each |")
        self.assertEqual(list(check_docs.check_metrics("tw-x")),
                         ["docs/tw-x.md: no row of the metric tw_models",
                          "docs/tw-x.md: no row of the metric tw_reads_total",
                          *(f"docs/tw-x.md: tw-x has no metric tw_{level}_rows" for level in
                            ("cgroup", "container", "job", "pod", "process", "step", "vm"))])

    def test_a_family_of_two_types_is_reported(self):
        self.write("bin/tw-x", "#!/bin/sh\n[ $1 = --help ] && echo ' --list-metrics' && exit\n"
                               "printf 'tw_open\\tgauge\\t-\\tx\\ntw_open_total\\tcounter\\t-\\tx\\n'\n")
        self.write("docs/tw-x.md", "| `tw_open`, `tw_open_total` | x |")
        self.assertEqual(list(check_docs.check_metrics("tw-x")),
                         ["docs/tw-x.md: tw_open_total and tw_open are one family of OpenMetrics"])

    def test_a_program_without_metrics_has_no_table(self):
        self.write("docs/tw-x.md", "| `tw_models` | models |")
        self.assertEqual(list(check_docs.check_metrics("tw-x")), [])

    def test_a_build_without_the_wing_needs_no_metrics_and_options_of_it(self):
        self.write("bin/tw-x", "#!/bin/sh\n[ $1 = --help ] && echo ' --list-metrics' && exit\n"
                               "[ $1 = --config ] && exec grep -vq pull $2\n"
                               "printf 'tw_models\\tgauge\\t-\\tHelp.\\n'\n")
        self.write("docs/tw-x.md", "| `tw_models` | models |\n| `tw_pull_state` | pulls |")
        self.write("etc/tallywatt/tw-x.conf", "pull = a\n")
        self.assertEqual(list(check_docs.check_metrics("tw-x")),
                         ["docs/tw-x.md: tw-x has no metric tw_pull_state"])
        self.assertEqual(len(list(check_docs.check_samples("tw-x"))), 1)
        self.write("bin/flags", "cc -DTW_FLEET=0\n")
        self.assertEqual(list(check_docs.check_metrics("tw-x")), [])
        self.assertEqual(list(check_docs.check_samples("tw-x")), [])

    def test_a_longer_option_does_not_stand_for_a_shorter(self):
        self.write("docs/tw-x.md", "`--listen-more` `--help`\n")
        self.write("bin/man/tw-x.1", "--listen --help\n")
        self.assertEqual(list(check_docs.check_options("tw-x")),
                         ["docs/tw-x.md: no word of --listen (tw-x)"])

    def test_a_program_whose_help_fails_is_an_error(self):
        self.write("bin/tw-x", "#!/bin/sh\nexit 1\n")
        with self.assertRaises(RuntimeError):
            list(check_docs.check_options("tw-x"))


if __name__ == "__main__":
    unittest.main()
