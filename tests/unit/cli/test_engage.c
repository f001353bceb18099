/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/engage/engage_record.h"
#include "cli/engage/report_page.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"
#include "model-db/report/svg.h"
#include "profiler/load.h"
#include "profiler/workload_plan.h"
#include "tests/unit/tw_test.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void plan_begins_and_ends_with_rest(void **state)
{
	const size_t last = tw_plan_count() - 1;

	(void)state;
	assert_string_equal(tw_plan_at(0)->name, "rest");
	assert_string_equal(tw_plan_at(last)->name, "rest");
	assert_int_equal(tw_plan_repeat(0), 0);
	assert_int_equal(tw_plan_repeat(last), 1);
	for (size_t i = 1; i < last; i++) {
		assert_int_equal(tw_plan_repeat(i), 0);
		assert_non_null(tw_plan_at(i)->stress);
		assert_int_not_equal(tw_plan_at(i)->spin, TW_SPIN_NONE);
		assert_in_range(tw_plan_at(i)->load_percent, 1, 100);
	}
}

static void processes_follow_the_cpus(void **state)
{
	const struct tw_planned one = { .cpus = TW_PLAN_ONE },
				half = { .cpus = TW_PLAN_HALF },
				all = { .cpus = TW_PLAN_ALL };

	(void)state;
	assert_int_equal(tw_planned_cpus(&one, 64), 1);
	assert_int_equal(tw_planned_cpus(&half, 64), 32);
	assert_int_equal(tw_planned_cpus(&half, 1), 1);
	assert_int_equal(tw_planned_cpus(&all, 64), 64);
}

static void stress_ng_gets_the_cpus_and_a_limit(void **state)
{
	const struct tw_planned p = { .cpus = TW_PLAN_ALL,
				      .stress = "--cpu,%n,--cpu-load,25" };
	static const char *const wanted[] = { "stress-ng", "--quiet",     "--timeout",
					      "90s",       "--temp-path", "/tmp/a,b",
					      "--cpu",     "8",           "--cpu-load",
					      "25" };
	struct tw_strs args = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_planned_stress(&p, 8, "/tmp/a,b", 90, &args, &err), 0);
	assert_int_equal(args.count, 10);
	for (size_t i = 0; i < args.count; i++)
		assert_string_equal(args.at[i], wanted[i]);
	tw_strs_clear(&args);
}

static struct tw_load start(enum tw_spin spin)
{
	const struct tw_planned p = {
		.name = "test", .cpus = TW_PLAN_ALL, .load_percent = 50, .spin = spin
	};
	const struct tw_load_config c = { .cpus = 2, .dir = "/tmp" };
	struct tw_load l;
	struct tw_err err = { 0 };

	assert_int_equal(tw_load_start(&p, &c, &l, &err), 0);
	return l;
}

static void own_workloads_run_until_they_are_ended(void **state)
{
	(void)state;
	for (unsigned spin = TW_SPIN_CPU; spin <= TW_SPIN_FLOAT; spin++) {
		struct tw_load l = start((enum tw_spin)spin);
		struct tw_err err = { 0 };
		const pid_t group = tw_load_group(&l);

		assert_int_equal(l.count, spin == TW_SPIN_MIXED ? 4 : 2);
		assert_int_equal(kill(-group, 0), 0);
		assert_int_equal(tw_load_check(&l, &err), 0);
		tw_load_end(&l);
		assert_int_equal(tw_load_group(&l), 0);
		/* The partner of a process that switches is reaped by init. */
		while (kill(-group, 0) == 0)
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* Fixed work ends by itself, with status 0. */
static void fixed_work_ends(void **state)
{
	static const enum tw_spin spins[] = { TW_SPIN_CPU, TW_SPIN_FLOAT, TW_SPIN_MEMORY,
					      TW_SPIN_CACHE };
	const struct tw_load_config c = { .cpus = 2, .dir = "/tmp" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct tw_planned p = {
			.name = "test",
			.spin = spins[i],
			.processes = 3,
			.pace = { .steps = 2, .period_ms = 1, .periods = 3 }
		};
		struct tw_load l;
		struct tw_err err = { 0 };

		assert_true(tw_spinner_speed(spins[i], 1) > 0);
		assert_int_equal(tw_load_start(&p, &c, &l, &err), 0);
		assert_int_equal(l.count, 3);
		while (tw_load_runs(&l))
			nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
		assert_int_equal(tw_load_check(&l, &err), -1);
		assert_string_equal(err.text,
				    "a process of the workload ended by status 0");
		tw_load_end(&l);
	}
}

static void rest_has_no_processes(void **state)
{
	struct tw_load l = start(TW_SPIN_NONE);
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(l.count, 0);
	assert_int_equal(tw_load_check(&l, &err), 0);
	tw_load_end(&l);
}

static void a_process_that_ends_is_reported(void **state)
{
	struct tw_load l = start(TW_SPIN_CPU);
	struct tw_err err = { 0 };

	(void)state;
	kill(l.pid[1], SIGKILL);
	while (tw_load_check(&l, &err) == 0)
		;
	assert_string_equal(err.text, "a process of the workload ended by signal 9");
	tw_load_end(&l);
}

static void other_processes_are_counted_without_the_group(void **state)
{
	struct tw_others first = { 0 };
	struct tw_others_use with = { 0 }, without = { 0 };
	struct tw_load l;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_others_look(&first, &err), 0);
	assert_true(first.count > 0);
	l = start(TW_SPIN_MEMORY);
	/* Until the kernel's clock has counted ticks of both. */
	do {
		assert_int_equal(tw_others_compare(&first, 0, &with, &err), 0);
		assert_int_equal(
			tw_others_compare(&first, tw_load_group(&l), &without, &err), 0);
	} while (!(with.cpus > without.cpus));
	assert_true(with.most[0] != '\0');
	tw_load_end(&l);
	tw_others_release(&first);
}

static void a_page_escapes_texts_in_both_forms(void **state)
{
	struct tw_page p = { .dir = "/nonexistent" };

	(void)state;
	tw_page_begin(&p, "a <b> & \"c\"");
	tw_page_table(&p, (const char *const[]){ "x|y", "z" }, 2);
	tw_page_row(&p, (const char *const[]){ "1", "<script>" });
	tw_page_table_end(&p);
	tw_page_lines(&p, "one\ntwo\n");
	tw_page_lines(&p, "");
	assert_non_null(strstr(p.html.data, "<h1>a &lt;b&gt; &amp; &quot;c&quot;</h1>"));
	assert_non_null(strstr(p.html.data, "<td>&lt;script&gt;</td>"));
	assert_non_null(strstr(p.html.data, "<li>one</li>\n<li>two</li>\n</ul>"));
	assert_non_null(strstr(p.html.data, "<li>none</li>"));
	assert_non_null(
		strstr(p.md.data, "| x\\|y | z |\n|---|---|\n| 1 | \\<script\\> |"));
	tw_page_release(&p);
}

static void a_chart_in_a_page_has_bands_and_no_address(void **state)
{
	const double x[] = { 0, 1 }, y[] = { 5, 9 };
	const struct tw_svg_series s = { "s", "#000", true, x, y, 2 };
	const struct tw_svg_band band[] = { { "rest", 0, 0.5 },
					    { "cpu & more", 0.5, 1 } };
	struct tw_svg_chart c = { .title = "t",
				  .x_label = "x",
				  .y_label = "y",
				  .series = &s,
				  .count = 1,
				  .bands = band,
				  .band_count = 2,
				  .in_page = true };
	struct tw_buf b = { 0 };

	(void)state;
	tw_svg_chart(&c, &b);
	assert_null(strstr(b.data, "http"));
	assert_non_null(strstr(b.data, ">rest</text>"));
	assert_non_null(strstr(b.data, ">cpu &amp; more</text>"));
	c.in_page = false;
	tw_buf_clear(&b);
	tw_svg_chart(&c, &b);
	assert_non_null(strstr(b.data, "xmlns="));
	tw_buf_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plan_begins_and_ends_with_rest),
		cmocka_unit_test(processes_follow_the_cpus),
		cmocka_unit_test(stress_ng_gets_the_cpus_and_a_limit),
		cmocka_unit_test(own_workloads_run_until_they_are_ended),
		cmocka_unit_test(fixed_work_ends),
		cmocka_unit_test(rest_has_no_processes),
		cmocka_unit_test(a_process_that_ends_is_reported),
		cmocka_unit_test(other_processes_are_counted_without_the_group),
		cmocka_unit_test(a_page_escapes_texts_in_both_forms),
		cmocka_unit_test(a_chart_in_a_page_has_bands_and_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
