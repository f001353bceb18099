/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "cli/top/top_process.h"
#include "cli/top/top_view.h"
#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/meters/meter_tree.h"
#include "tests/unit/scratch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define ZONE(name, dynamic, idle)                                         \
	"{\"zone\":\"" name "\",\"dynamic_joules\":10,\"idle_joules\":5," \
	"\"dynamic_watts\":" dynamic ",\"idle_watts\":" idle              \
	",\"source\":\"x\",\"estimated\":false}"
#define PROCESS(pid, command, ms, zones)                                             \
	"{\"pid\":\"" pid "\",\"serial\":\"1\",\"command\":\"" command               \
	"\",\"cgroup\":\"/a\",\"container_id\":\"\",\"vm_id\":\"\",\"ended\":false," \
	"\"cpu_time_ms\":" ms ",\"zones\":[" zones "]}"
#define ANSWER_OF(sum, list)                                                             \
	"{\"elapsed_seconds\":3,\"sum\":[" sum "],\"workloads\":[" list "],\"models\":[" \
	"]}"
#define ANSWER(list) ANSWER_OF("\"package\",\"dram\"", list)

static const char two[] = ANSWER(PROCESS(
	"7", "b", "1000",
	ZONE("package", "1", "2") "," ZONE(
		"core", "1", "0")) "," PROCESS("8", "a", "61230",
					       ZONE("package", "4",
						    "0.5") "," ZONE("dram", "1", "0")));

static struct tw_top_rows read_rows(const char *text)
{
	struct tw_top_rows r = { .count = 0 };
	struct tw_err err = { 0 };

	if (tw_top_rows_add(&r, text, strlen(text), NULL, &err) < 0)
		fail_msg("%s", err.text);
	return r;
}

static void the_zones_of_the_answers_sum_are_added_up(void **state)
{
	struct tw_top_rows r = read_rows(two);

	(void)state;
	assert_int_equal(r.count, 2);
	assert_string_equal(r.at[0].id, "7");
	assert_string_equal(r.at[0].name, "b  /a");
	/* Idle power is not a power of a workload. */
	assert_true(fabs(r.at[0].watts - 1) <= 0);
	assert_true(fabs(r.at[0].idle_w - 2) <= 0);
	assert_true(fabs(r.at[1].watts - 5) <= 0);
	assert_true(fabs(r.at[1].joules - 20) <= 0);
	assert_true(isnan(r.at[0].zone_w[TW_TOP_DRAM]) && isnan(r.at[0].cpu));
	assert_false(r.estimated);
	tw_top_rows_release(&r);
	/* A GPU is a part of the platform. */
	r = read_rows(
		ANSWER_OF("\"platform\"",
			  PROCESS("7", "b", "1",
				  ZONE("platform", "9", "1") "," ZONE(
					  "psys", "3", "0") "," ZONE("gpu", "2", "0"))));
	assert_true(fabs(r.at[0].watts - 9) <= 0);
	assert_true(fabs(r.at[0].joules - 10) <= 0);
	tw_top_rows_release(&r);
	r = read_rows(ANSWER_OF("", PROCESS("7", "b", "1", ZONE("package", "9", "1"))));
	assert_true(isnan(r.at[0].watts) && isnan(r.at[0].joules));
	tw_top_rows_release(&r);
	r = read_rows(ANSWER(PROCESS("7", "b", "1", "")));
	assert_true(isnan(r.at[0].watts));
	tw_top_rows_release(&r);
}

static void rows_are_sorted_as_asked(void **state)
{
	static const struct {
		enum tw_top_sort by;
		bool reverse;
		const char *first;
	} cases[] = {
		{ TW_TOP_BY_WATTS, false, "8" }, { TW_TOP_BY_WATTS, true, "7" },
		{ TW_TOP_BY_NAME, false, "8" },  { TW_TOP_BY_TIME, false, "8" },
		{ TW_TOP_BY_TIME, true, "7" },   { TW_TOP_BY_JOULES, false, "8" },
		{ TW_TOP_BY_CPU, false, "7" }, /* neither is known: by key */
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_top_rows r = read_rows(two);

		tw_top_rows_sort(&r, cases[i].by, cases[i].reverse);
		assert_string_equal(r.at[0].id, cases[i].first);
		tw_top_rows_release(&r);
	}
}

static void cpus_are_those_used_between_two_answers(void **state)
{
	struct tw_top_rows before = read_rows(two);
	struct tw_top_rows now = read_rows(
		ANSWER(PROCESS("8", "a", "62230", "") "," PROCESS("9", "c", "500", "")));

	(void)state;
	tw_top_rows_compare(&now, &before, 2);
	assert_true(fabs(now.at[0].cpu - 0.5) <= 1e-9);
	assert_true(fabs(now.at[1].cpu - 0.25) <= 1e-9);
	tw_top_rows_release(&before);
	tw_top_rows_release(&now);
}

static void shows(const char *text, size_t columns, const char *wanted, size_t used)
{
	struct tw_buf b = { 0 };

	assert_int_equal(tw_top_add_text(&b, text, columns, false), used);
	assert_string_equal(b.data != NULL ? b.data : "", wanted);
	tw_buf_clear(&b);
}

static void a_name_cannot_reach_the_terminal(void **state)
{
	(void)state;
	shows("plain \xc3\xa9", 0, "plain \xc3\xa9", 7);
	shows("\033[2J\x07\x7f\n", 0, "?[2J???", 7);
	shows("\xc2\x9b"
	      "31m",
	      0, "?31m", 4);
	shows("a\xe2\x80\xae"
	      "b",
	      0, "a?b", 3);
	shows("\xff\xc3", 0, "??", 2);
	shows("\xe6\xb1\x89\xe6\xb1\x89", 3, "\xe6\xb1\x89", 2);
	shows("abc", 2, "ab", 2);
}

static void a_picture_has_no_more_lines_and_columns_than_it_may(void **state)
{
	struct tw_top_rows r = read_rows(two);
	struct tw_top_node node = { .name = (char[]){ "vm" },
				    .power = (char[]){ "package 12.3 W (model)" },
				    .facts = (char[]){ "estimated with idle by M_0" },
				    .watts = 12.3,
				    .idle_w = 6,
				    .error_w = 1.25,
				    .known = TW_TOP_ESTIMATED };
	struct tw_top_view v = { .node = &node, .nodes = 1, .level = "process" };
	struct tw_buf b = { 0 };
	size_t lines = 0;

	(void)state;
	tw_top_rows_sort(&r, TW_TOP_BY_WATTS, false);
	tw_top_draw(&v, &r, &b);
	assert_non_null(strstr(b.data, "process: 2 by watts, mean of 3.0 s; + ended\n"));
	assert_non_null(strstr(b.data, "vm: ESTIMATED 12.3 W +-1.2: package 12.3 W "));
	assert_non_null(strstr(b.data, "\ntotal          12.300  ESTIMATED +-1.2 W\n"
				       "idle            6.000  the machine without load\n"
				       "8               5.000    0.500    4.00    1.00   "
				       "    -       20.0      -    1:01.23   a  /a\n"));
	tw_buf_clear(&b);
	v.columns = 70;
	v.lines = 7;
	v.from = 1;
	tw_top_draw(&v, &r, &b);
	for (const char *p = b.data, *end; (end = strchr(p, '\n')) != NULL; p = end + 1) {
		assert_true(end - p <= 70);
		lines++;
	}
	assert_int_equal(lines, 7);
	assert_non_null(strstr(b.data, "b  /a\n"));
	tw_buf_clear(&b);
	/* Nothing of the head and the help is cut in 80 columns. */
	v.screen = v.help = true;
	v.columns = 0;
	v.lines = 24;
	tw_top_draw(&v, &r, &b);
	assert_null(strstr(b.data, "b  /a\n"));
	assert_non_null(strstr(b.data, "q quit"));
	for (const char *p = b.data, *end; (end = strchr(p, '\n')) != NULL; p = end + 1)
		if (strncmp(p, "\033[KID", 5) != 0)
			assert_true(end - p <= 80 + 3);
	tw_buf_clear(&b);
	/* Until idle power is known, it is in the rows. */
	v = (struct tw_top_view){ .node = &node, .nodes = 1, .level = "process" };
	node.idle_w = node.error_w = NAN;
	node.known = TW_TOP_MEASURED;
	tw_top_draw(&v, &r, &b);
	assert_non_null(strstr(b.data, "vm: MEASURED 12.3 W: package"));
	assert_non_null(strstr(b.data, "\nidle                -  not known yet: "));
	tw_buf_clear(&b);
	tw_top_rows_release(&r);
}

static void an_estimate_is_labelled(void **state)
{
	static const char text[] =
		"{\"sum\":[\"package\",\"dram\"],\"workloads\":[{\"node_name\":\"vm\","
		"\"zones\":["
		"{\"zone\":\"package\",\"source\":\"model\",\"watts\":2},"
		"{\"zone\":\"package\",\"source\":\"model\",\"watts\":3,"
		"\"estimated\":true},"
		"{\"zone\":\"dram\",\"source\":\"model\",\"missing\":\"x\"}]}],"
		"\"models\":[{\"model\":\"M_0\",\"idle\":\"hidden\",\"extrapolating\":"
		"true,"
		"\"mae_watts\":{\"package\":1.25}}]}";
	struct tw_err err = { 0 };
	struct tw_top_node n = { .name = NULL };

	(void)state;
	assert_int_equal(tw_top_node_read(text, strlen(text), &n, &err), 0);
	assert_string_equal(n.name, "vm");
	assert_string_equal(n.power, "package 5.0 W (model)");
	assert_string_equal(n.facts,
			    "estimated above idle by M_0, package +-1.2 W, outside its "
			    "training data");
	assert_true(fabs(n.watts - 5) <= 0);
	assert_int_equal(n.known, TW_TOP_ABOVE_IDLE);
	assert_true(fabs(n.error_w - 1.25) <= 0 && isnan(n.idle_w));
	tw_top_node_release(&n);
}

static void the_prior_is_called_so(void **state)
{
	static const char text[] =
		"{\"sum\":[\"package\"],\"workloads\":[{\"node_name\":\"vm\",\"zones\":[]"
		"}],\"models\":[{\"model\":\"LinearRegressionTrainer_0\",\"idle\":"
		"\"hidden\",\"from\":\"prior of "
		"amd_epyc\",\"mae_watts\":{\"package\":2}}]"
		"}";
	struct tw_err err = { 0 };
	struct tw_top_node n = { .name = NULL };

	(void)state;
	assert_int_equal(tw_top_node_read(text, strlen(text), &n, &err), 0);
	assert_string_equal(n.facts,
			    "estimated above idle by the prior, package +-2.0 W");
	tw_top_node_release(&n);
}

static void nodes_of_one_name_are_told_apart(void **state)
{
	static const char *const told[][2] = {
		{ "localhost", "b1735566" },
		{ "other", "1" },
		{ "localhost", "08fe7788" },
	};
	static const char *const wanted[] = { "local~b173", "other", "local~08fe" };
	struct tw_top_node n[TW_COUNT(told)];

	(void)state;
	for (size_t i = 0; i < TW_COUNT(told); i++)
		n[i] = (struct tw_top_node){ .name = strdup(told[i][0]),
					     .instance = strdup(told[i][1]) };
	tw_top_nodes_tell_apart(n, TW_COUNT(told));
	for (size_t i = 0; i < TW_COUNT(told); i++) {
		assert_string_equal(n[i].name, wanted[i]);
		tw_top_node_release(&n[i]);
	}
}

static void the_summary_says_whether_estimates_include_idle_power(void **state)
{
	static const char *const wanted[][2] = {
		{ "hidden", "mean of 1.0 s, ESTIMATED above idle; + ended\n" },
		{ "scaled", "mean of 1.0 s, ESTIMATED with idle; + ended\n" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(wanted); i++) {
		struct tw_top_view v = { .level = "process" };
		struct tw_buf b = { 0 };
		struct tw_top_rows r;
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"elapsed_seconds\":1,\"workloads\":[{\"pid\":7,\"zones\":[{"
			 "\"zone\":\"package\",\"estimated\":true}]}],\"models\":[{"
			 "\"idle\":\"%s\"}]}",
			 wanted[i][0]);
		r = read_rows(text);
		tw_top_draw(&v, &r, &b);
		assert_non_null(strstr(b.data, wanted[i][1]));
		tw_buf_clear(&b);
		tw_top_rows_release(&r);
	}
}

static void measured_power_is_stated_with_idle_power_and_interval(void **state)
{
	static const char text[] =
		"{\"interval_seconds\":3,\"sum\":[\"package\",\"dram\"],\"workloads\":[{"
		"\"node_name\":\"n\",\"zones\":["
		"{\"zone\":\"package\",\"source\":\"rapl\",\"watts\":9,"
		"\"idle_power_watts\":5.5},{\"zone\":\"core\",\"source\":\"rapl\","
		"\"watts\":4},{\"zone\":\"dram\",\"source\":\"rapl\",\"watts\":1,"
		"\"idle_power_watts\":0.5},{\"zone\":\"package\",\"source\":\"acpi\","
		"\"watts\":70,\"used\":false}]}],\"models\":[]}";
	struct tw_top_node n = { .name = NULL };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_top_node_read(text, strlen(text), &n, &err), 0);
	assert_string_equal(n.power, "package 9.0 W, core 4.0 W, dram 1.0 W (rapl)");
	assert_string_equal(n.facts, "measured; idle 6.0 W; tick 3 s");
	assert_true(fabs(n.watts - 10) <= 0);
	tw_top_node_release(&n);
}

static void idle_power_of_a_part_of_the_zones_is_none_of_the_machine(void **state)
{
	static const char text[] =
		"{\"sum\":[\"package\"],\"workloads\":[{\"node_name\":\"n\",\"zones\":["
		"{\"zone\":\"package\",\"source\":\"rapl\",\"watts\":9,"
		"\"idle_known\":true,\"idle_power_watts\":5.5},"
		"{\"zone\":\"package\",\"source\":\"rapl\",\"watts\":30,"
		"\"idle_known\":false}]}],\"models\":[]}";
	struct tw_top_node n = { .name = NULL };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_top_node_read(text, strlen(text), &n, &err), 0);
	assert_string_equal(n.facts, "measured; idle power not known yet");
	tw_top_node_release(&n);
}

static void the_course_of_power_is_drawn_from_zero_watts(void **state)
{
	struct tw_top_node node = { .name = (char[]){ "n" },
				    .power = (char[]){ "p" },
				    .facts = (char[]){ "f" } };
	struct tw_top_course c = { .count = 0 };
	struct tw_top_view v = {
		.node = &node, .nodes = 1, .level = "pod", .course = &c, .ascii = true
	};
	struct tw_top_rows none = { .count = 0 };
	struct tw_buf b = { 0 };

	(void)state;
	tw_top_draw(&v, &none, &b);
	assert_non_null(strstr(b.data, "power: not known yet\n"));
	tw_buf_clear(&b);
	tw_top_course_add(&c, 4, 3);
	tw_top_course_add(&c, NAN, 3);
	tw_top_course_add(&c, 0, 3);
	tw_top_course_add(&c, 8, 60);
	tw_top_draw(&v, &none, &b);
	assert_non_null(strstr(b.data, "power = _# 0.0 to 8.0 W in 1:06 min\n"));
	tw_buf_clear(&b);
	v.ascii = false;
	tw_top_draw(&v, &none, &b);
	assert_non_null(
		strstr(b.data, "power \xe2\x96\x85 \xe2\x96\x81\xe2\x96\x88 0.0"));
	tw_buf_clear(&b);
	for (int i = 0; i < 2 * TW_TOP_COURSE; i++)
		tw_top_course_add(&c, 1, 3);
	assert_int_equal(c.count, TW_TOP_COURSE);
	v.columns = 80;
	tw_top_draw(&v, &none, &b);
	assert_non_null(strstr(b.data, " 1.0 to 1.0 W in 1:"));
	tw_buf_clear(&b);
}

static void rows_of_two_nodes_are_apart(void **state)
{
	char fact[] = "x";
	struct tw_top_node node[2] = {
		{ .name = (char[]){ "one" }, .watts = 2, .idle_w = NAN, .error_w = NAN },
		{ .name = (char[]){ "zw\xc3\xb6lf" },
		  .watts = NAN,
		  .idle_w = NAN,
		  .error_w = NAN }
	};
	struct tw_top_view v = {
		.node = node, .nodes = 2, .level = "process", .ascii = true
	};
	struct tw_top_rows r = { .count = 0 };
	struct tw_err err = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		node[i].power = node[i].facts = fact;
		assert_int_equal(
			tw_top_rows_add(&r, two, strlen(two), node[i].name, &err), 0);
	}
	assert_int_equal(r.count, 4);
	assert_string_not_equal(r.at[0].key, r.at[2].key);
	v.columns = 80;
	tw_top_draw(&v, &r, &b);
	assert_non_null(
		strstr(b.data, "2 nodes, MEASURED 2.0 W of 1: one 2.0 W, zw?lf -\n"));
	assert_non_null(strstr(b.data, "\nNODE       ID              WATTS"));
	assert_non_null(strstr(b.data, "\nzw?lf      8 "));
	tw_buf_clear(&b);
	v.columns = 40;
	tw_top_draw(&v, &r, &b);
	assert_null(strstr(b.data, "IDLE"));
	tw_buf_clear(&b);
	tw_top_rows_release(&r);
}

static void a_malformed_answer_is_rejected(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "", "answer" },
		{ "{}", "elapsed_seconds" },
		{ "{\"elapsed_seconds\":1}", "workloads" },
		{ "{\"elapsed_seconds\":1,\"workloads\":[7]}",
		  "answer.workloads[0]: expected an object" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_top_rows r = { .count = 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_top_rows_add(&r, cases[i].text, strlen(cases[i].text),
						 NULL, &err),
				 -1);
		assert_int_equal(err.code, TW_PARSE);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].why, err.text);
	}
}

static int add_rows(void *arg, struct tw_err *err)
{
	struct tw_top_rows r = { .count = 0 };
	const int rc = tw_top_rows_add(&r, two, strlen(two), arg, err);

	tw_top_rows_release(&r);
	return rc;
}

static void every_failed_allocation_is_reported(void **state)
{
	size_t ended = 0;
	int n = 1;

	(void)state;
	while (fail_alloc_ends(n, add_rows, NULL, &ended))
		n++;
	assert_true(ended > 5);
}

static void a_container_has_its_name_and_its_pod(void **state)
{
	static const char *const answers[][2] = {
		{ "\"container_id\":\"c1\",\"runtime\":\"docker\",\"container_name\":"
		  "\"web\"",
		  "web" },
		{ "\"container_id\":\"c1\",\"runtime\":\"docker\",\"container_name\":"
		  "\"\"",
		  "docker" },
		{ "\"container_id\":\"c1\",\"container_name\":\"web\",\"pod_name\":\"web-"
		  "1\","
		  "\"namespace\":\"shop\"",
		  "web  shop/web-1" },
		{ "\"pod_id\":\"p\",\"pod_name\":\"web-1\",\"namespace\":\"shop\"",
		  "web-1  shop" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(answers); i++) {
		char text[512];
		struct tw_top_rows r;

		snprintf(text, sizeof(text), ANSWER("{%s,\"zones\":[]}"), answers[i][0]);
		r = read_rows(text);
		assert_string_equal(r.at[0].name, answers[i][1]);
		tw_top_rows_release(&r);
	}
}

static void rows_of_this_machine_have_user_and_command_line(void **state)
{
	static const char line[] = "/usr/b\0--name\0x/y";
	char name[] = "n", none[] = "";
	struct tw_top_node node = { .name = name, .power = none, .facts = none };
	struct tw_top_rows r = read_rows(two);
	struct tw_top_view v = { .node = &node, .nodes = 1, .level = "process" };
	char *proc = scratch_new(), *file = scratch_path(proc, "7/cmdline");
	struct tw_buf b = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tree_write(proc, "7/comm", "b\n");
	if (tw_file_replace(file, line, sizeof(line), &err) < 0)
		fail_msg("%s", err.text);
	/* The pid is of another process meanwhile. */
	tree_write(proc, "8/comm", "other\n");
	tree_write(proc, "8/cmdline", "secret\n");
	v.proc = proc;
	tw_top_draw(&v, &r, &b);
	assert_non_null(strstr(b.data, "USER     COMMAND LINE\n"));
	assert_non_null(strstr(b.data, geteuid() == 0 ? "root     b --name x/y\n"
						      : " b --name x/y\n"));
	assert_non_null(strstr(b.data, "-        a  /a\n"));
	assert_null(strstr(b.data, "secret"));
	tw_buf_clear(&b);
	tw_top_rows_release(&r);
	free(file);
	scratch_free(proc);
}

static void a_worker_of_the_kernel_shows_its_work_behind_its_name(void **state)
{
	char *proc = scratch_new();
	struct tw_top_process p;

	(void)state;
	tree_write(proc, "5/comm", "kworker/0:1-events\n");
	tree_write(proc, "5/cmdline", "");
	assert_true(tw_top_process_read(proc, "5", "kworker/0:1  /", &p));
	assert_string_equal(p.line, "");
	assert_true(tw_top_process_read(proc, "5", "kworker/0:1-events  /", &p));
	assert_false(tw_top_process_read(proc, "5", "kworker/0:2  /", &p));
	assert_false(tw_top_process_read(proc, "5", "  /", &p));
	tree_write(proc, "5/cmdline", "program");
	assert_false(tw_top_process_read(proc, "5", "kworker/0:1  /", &p));
	scratch_free(proc);
}

static void a_program_s_folder_ends_before_its_arguments(void **state)
{
	char *proc = scratch_new();
	struct tw_top_process p;

	(void)state;
	tree_write(proc, "5/comm", "b\n");
	tree_write(proc, "5/cmdline", "/opt/b --dir=/x/y --z");
	assert_true(tw_top_process_read(proc, "5", "b  /", &p));
	assert_string_equal(p.line, "b --dir=/x/y --z");
	scratch_free(proc);
}

static void a_collector_elsewhere_has_no_processes_of_here(void **state)
{
	struct utsname u;

	(void)state;
	assert_int_equal(uname(&u), 0);
	assert_true(tw_top_is_here("http://127.0.0.1:8103", u.nodename));
	assert_true(tw_top_is_here("https://localhost:8103", u.nodename));
	assert_true(tw_top_is_here("http://[::1]:8103", u.nodename));
	assert_false(tw_top_is_here("http://10.0.0.1:8103", u.nodename));
	/* A port that is forwarded. */
	assert_false(tw_top_is_here("http://127.0.0.1:8103", "another"));
	assert_false(tw_top_is_here("127.0.0.1", u.nodename));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_its_name_and_its_pod),
		cmocka_unit_test(rows_of_this_machine_have_user_and_command_line),
		cmocka_unit_test(a_worker_of_the_kernel_shows_its_work_behind_its_name),
		cmocka_unit_test(a_program_s_folder_ends_before_its_arguments),
		cmocka_unit_test(a_collector_elsewhere_has_no_processes_of_here),
		cmocka_unit_test(the_zones_of_the_answers_sum_are_added_up),
		cmocka_unit_test(rows_are_sorted_as_asked),
		cmocka_unit_test(cpus_are_those_used_between_two_answers),
		cmocka_unit_test(a_name_cannot_reach_the_terminal),
		cmocka_unit_test(a_picture_has_no_more_lines_and_columns_than_it_may),
		cmocka_unit_test(an_estimate_is_labelled),
		cmocka_unit_test(the_prior_is_called_so),
		cmocka_unit_test(nodes_of_one_name_are_told_apart),
		cmocka_unit_test(the_summary_says_whether_estimates_include_idle_power),
		cmocka_unit_test(measured_power_is_stated_with_idle_power_and_interval),
		cmocka_unit_test(
			idle_power_of_a_part_of_the_zones_is_none_of_the_machine),
		cmocka_unit_test(the_course_of_power_is_drawn_from_zero_watts),
		cmocka_unit_test(rows_of_two_nodes_are_apart),
		cmocka_unit_test(a_malformed_answer_is_rejected),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
