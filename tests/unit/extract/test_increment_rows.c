/* SPDX-License-Identifier: Apache-2.0 */
/* See also tests/integration/test_mass_balance.py. */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/sampled.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <string.h>

#define CPU "kepler_process_cpu_seconds_total"
#define NODE_CPU "node_cpu_seconds_total"

#define INIT CPU, "'pid':'1'", "100,9 103,9 106,9 109,9 112,9"
#define JOULES                                              \
	"kepler_node_cpu_joules_total", "'zone':'package'", \
		"100,0 103,30 106,60 109,90 112,120"

static struct tw_extract_args make_args(const char *group)
{
	return (struct tw_extract_args){
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_feature_group_find(group),
		.level = TW_ROWS_NODE,
	};
}

static int extract(const struct sampled *series, size_t count,
		   const struct tw_extract_args *args, struct tw_dataset *out,
		   struct tw_err *err)
{
	struct tw_prom *p = sampled_response(series, count);
	const int status = tw_extract(p, args, out, err);

	tw_prom_free(p);
	return status;
}

/* CPU time of the rows at 103, 106, .., in ms a second. */
static void expect(const struct sampled *series, size_t count, enum tw_resets resets,
		   const double *want, size_t rows)
{
	struct tw_extract_args args = make_args("BPFOnly");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	args.resets = resets;
	if (extract(series, count, &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, rows);
	v = tw_dataset_find(&d, "bpf_cpu_time_ms");
	assert_non_null(v);
	for (size_t i = 0; i < rows; i++)
		if (fabs(v[i] - want[i]) > 1e-8)
			fail_msg("row %zu is %.17g, not %.17g", i, v[i], want[i]);
	tw_dataset_release(&d);
}

#define EXPECT_WITH(series, resets, ...)                                          \
	expect(series, TW_COUNT(series), resets, (const double[]){ __VA_ARGS__ }, \
	       TW_COUNT(((const double[]){ __VA_ARGS__ })))
#define EXPECT(series, ...) EXPECT_WITH(series, TW_RESETS_DROP, __VA_ARGS__)
#define EXPECT_CARRIED(series, ...) EXPECT_WITH(series, TW_RESETS_CARRY, __VA_ARGS__)

/* Extraction fails as TW_INVALID, with this in the text. */
static void refuse(const struct sampled *series, size_t count, const char *text)
{
	struct tw_extract_args args = make_args("BPFOnly");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	args.resets = TW_RESETS_REFUSE;
	assert_int_equal(extract(series, count, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	if (strstr(err.text, text) == NULL)
		fail_msg("'%s' is not in: %s", text, err.text);
}

/* ls begins from 0 while sh goes on. */
static void series_of_a_process_that_overlap_both_count(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'sh'", "100,3 103,3.3 106,3.6 109,3.9 112,4.2" },
		{ CPU, "'pid':'2','comm':'ls'", "103,0.3 106,1.2" },
		{ JOULES },
	};

	static const struct sampled later[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'sh'", "100,3 103,3.3 106,3.6 109,3.9 112,4.2" },
		{ CPU, "'pid':'2','comm':'ls'", "109,0.3 112,1.2" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 100 + 100, 100 + 300, 100, 100);
	EXPECT(later, 100, 100, 100 + 100, 100 + 300);
}

/* The collector's answer of 106 has the meter alone: process 2 began after it. */
static void a_process_begins_after_the_last_tick_of_the_meter(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1'", "100,9 103,9 109,9 112,9" },
		{ CPU, "'pid':'2'", "109,0.6 112,1.2" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 0, 200, 200);
}

/* The meter's last tick is at 112: process 2 used nothing of the time before. */
static void a_process_begins_after_the_last_row(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1'", "100,9 103,9 106,9 109,9 115,9" },
		{ CPU, "'pid':'2'", "115,0.6" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 0, 0, 0);
}

/* The meter stops for 33 s, so that no row ends at 145. Process 2 began after that. */
static void a_process_begins_after_a_tick_that_ends_no_row(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1'", "100,9 103,9 106,9 109,9 112,9 151,9" },
		{ CPU, "'pid':'2'", "151,0.6" },
		{ "kepler_node_cpu_joules_total", "'zone':'package'",
		  "100,0 103,30 106,60 109,90 112,120 145,120 151,180" },
	};

	(void)state;
	EXPECT(series, 0, 0, 0, 0);
}

static void a_process_of_one_sample_counts_whole(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,1.5" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 500, 0, 0);
}

static void a_series_that_begins_late_counts_from_zero(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,0.6 109,1.2" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 200, 200, 0);
}

/* It started at 105, of which the tick before knows nothing; and at 99, before the rows.
 */
static void a_known_start_decides(void **state)
{
	static const struct sampled within[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "109,1.2 112,1.2" },
		{ "process_start_time_seconds", "'pid':'2'", "109,105 112,105" },
		{ JOULES },
	};
	static const struct sampled before[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "109,1.2 112,1.5" },
		{ "process_start_time_seconds", "'pid':'2'", "109,99 112,99" },
		{ JOULES },
	};
	/* The exporter's own start, and that of another process. */
	static const struct sampled other[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "109,1.2 112,1.2" },
		{ "process_start_time_seconds", "'instance':'elsewhere:1'", "109,99" },
		{ "process_start_time_seconds", "'pid':'3'", "109,99" },
		{ JOULES },
	};

	(void)state;
	EXPECT(within, 0, 100, 300, 0);
	EXPECT(before, 0, 0, 0, 100);
	EXPECT(other, 0, 0, 400, 0);
}

/* Process 2 of 104 is another one than that of 50. */
static void a_pid_that_is_used_again_has_two_starts(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'3'", "100,9 103,9 106,9 109,9 112,9" },
		{ CPU, "'pid':'2'", "100,60 103,60 106,0.6 109,0.6" },
		{ "process_start_time_seconds", "'pid':'2'",
		  "100,50 103,50 106,104 109,104" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 200, 0, 0);
}

static void a_process_continues_under_another_command(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'sh'", "100,3 103,3.3" },
		{ CPU, "'pid':'2','comm':'ls'", "106,3.6 109,4.2" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 100, 100, 200, 0);
}

static void a_process_goes_back_to_its_first_command(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'sh'", "100,3 103,3.3 109,4.2 112,4.5" },
		{ CPU, "'pid':'2','comm':'ls'", "106,3.6" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 100, 100, 200, 100);
}

/* ls continues sh, which ended last; cat continues make after a pause of 9 s. */
static void a_process_continues_the_command_that_ended_last(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'sh'", "100,1 103,1.2 106,1.5" },
		{ CPU, "'pid':'2','comm':'make'", "100,3 103,3.3" },
		{ CPU, "'pid':'2','comm':'ls'", "109,1.8 112,1.9" },
		{ CPU, "'pid':'2','comm':'cat'", "112,3.6" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 500 / 3.0, 400 / 3.0, 400 / 3.0, 200 / 3.0);
}

/* a and i ended at 103; j continues i, because a is the ninth last and forgotten. */
static void a_process_continues_one_of_the_last_eight_commands(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2','comm':'a'", "100,1 103,1.3" },
		{ CPU, "'pid':'2','comm':'b'", "100,5" },
		{ CPU, "'pid':'2','comm':'c'", "100,5" },
		{ CPU, "'pid':'2','comm':'d'", "100,5" },
		{ CPU, "'pid':'2','comm':'e'", "100,5" },
		{ CPU, "'pid':'2','comm':'f'", "100,5" },
		{ CPU, "'pid':'2','comm':'g'", "100,5" },
		{ CPU, "'pid':'2','comm':'h'", "100,5" },
		{ CPU, "'pid':'2','comm':'i'", "100,2 103,2.3" },
		{ CPU, "'pid':'2','comm':'j'", "106,2.6" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 200, 100, 0, 0);
}

/* 4.5 s of CPU time within 3 s on 2 CPUs. */
static void a_process_may_use_all_processors(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,4.5 109,5.1" },
		{ NODE_CPU, "'cpu':'0','mode':'idle'", "100,0 109,9" },
		{ NODE_CPU, "'cpu':'1','mode':'idle'", "100,0 109,9" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 1500, 200, 0);
}

static void a_reused_pid_counts_from_zero(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "100,3 103,3.3 106,0.3" },
		{ CPU, "'pid':'3'", "100,3 103,3 106,3" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 100, 100, 0, 0);
}

static void a_series_with_a_pause_is_spread_over_the_pause(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "100,3 109,3.9" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 100, 100, 100, 0);
}

/* The number of CPUs is not known. One may be all that there is, or twice as many as were
 * busy before. */
static void a_series_that_appears_with_too_much_for_the_load_does_not_count(void **state)
{
	static const struct sampled old[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,50000 109,50000.6" },
		{ JOULES },
	};
	static const struct sampled thread[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,3.2 109,3.5" },
		{ JOULES },
	};
	static const struct sampled busy[] = {
		{ CPU, "'pid':'1'", "100,9 103,21 106,33 109,45 112,57" },
		{ CPU, "'pid':'2'", "106,23 109,23.3" },
		{ JOULES },
	};

	(void)state;
	EXPECT(old, 0, 0, 200, 0);
	EXPECT(thread, 0, 3200 / 3.0, 100, 0);
	EXPECT(busy, 4000, 4000 + 23000 / 3.0, 4100, 4000);
}

/* All counters of a process tell that it was there before. */
static void other_counters_of_an_old_process_do_not_count_either(void **state)
{
	static const struct sampled series[] = {
		{ "kepler_container_bpf_cpu_time_ms_total", "'container_id':'a'",
		  "100,9 103,9 106,9 109,9" },
		{ "kepler_container_bpf_cpu_time_ms_total", "'container_id':'b'",
		  "106,5e7 109,5e7" },
		{ "kepler_container_bpf_page_cache_hit_total", "'container_id':'a'",
		  "100,9 103,9 106,9 109,9" },
		{ "kepler_container_bpf_page_cache_hit_total", "'container_id':'b'",
		  "106,700 109,703" },
		{ "kepler_node_package_joules_total",
		  "'source':'rapl-sysfs','package':'0'", "100,0 103,30 106,60 109,90" },
	};
	const struct tw_extract_args args = make_args("BPFOnly");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	const double *v;

	(void)state;
	if (extract(series, TW_COUNT(series), &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	v = tw_dataset_find(&d, "bpf_page_cache_hit");
	assert_true(d.rows == 3 && v[0] == 0 && v[1] == 0 && v[2] == 1);
	tw_dataset_release(&d);
}

/* A day's total falls by a millisecond: a rounding step, no reset, no refusal. */
static void a_counter_that_dips_stands_still(void **state)
{
	static const struct sampled low[] = {
		{ CPU, "'pid':'1'", "100,86400 103,86403 106,86402.999 109,86405.999" },
		{ "kepler_node_cpu_joules_total", "'zone':'package'",
		  "100,9000 103,9030 106,9060 109,9090" },
	};
	static const struct sampled back[] = {
		{ CPU, "'pid':'1'", "100,86400 103,86403 106,86300 109,86409" },
		{ "kepler_node_cpu_joules_total", "'zone':'package'",
		  "100,9000 103,9030 106,9060 109,9090" },
	};
	static const struct sampled meter[] = {
		{ CPU, "'pid':'1'", "100,86400 103,86403 106,86406 109,86409" },
		{ "kepler_node_cpu_joules_total", "'zone':'package'",
		  "100,9000 103,9030 106,9029.999 109,9060" },
	};

	(void)state;
	EXPECT(low, 1000, 0, 2999 / 3.0);
	EXPECT(back, 1000, 0, 2000);
	EXPECT(meter, 1000, 1000, 1000);
}

/* 30 s of CPU time on 2 CPUs within 3 s: the process was there before, unexported. */
static void a_series_that_appears_with_an_impossible_value_does_not_count(void **state)
{
	static const struct sampled series[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,30 109,30.6" },
		{ NODE_CPU, "'cpu':'0','mode':'idle'", "100,0 103,3 106,6 109,9" },
		{ NODE_CPU, "'cpu':'1','mode':'idle'", "100,0 103,3 106,6 109,9" },
		{ JOULES },
	};

	(void)state;
	EXPECT(series, 0, 0, 200, 0);
}

/* Within 3 s a CPU gives 3.3 s at most: 10 % for the times at which samples are read. */
static void a_process_may_begin_with_the_time_of_its_processors(void **state)
{
#define CPUS_1                                                     \
	{                                                          \
		NODE_CPU, "'cpu':'0','mode':'idle'", "100,0 109,9" \
	}
#define CPUS_2                                                     \
	CPUS_1,                                                    \
	{                                                          \
		NODE_CPU, "'cpu':'1','mode':'idle'", "100,0 109,9" \
	}
	static const struct sampled possible_1[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,3.27" },
		CPUS_1,
		{ JOULES },
	};
	static const struct sampled impossible_1[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,3.33" },
		CPUS_1,
		{ JOULES },
	};
	static const struct sampled possible_2[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,6.57" },
		CPUS_2,
		{ JOULES },
	};
	static const struct sampled impossible_2[] = {
		{ INIT },
		{ CPU, "'pid':'2'", "106,6.63" },
		CPUS_2,
		{ JOULES },
	};

	(void)state;
	EXPECT(possible_1, 0, 1090, 0, 0);
	EXPECT(impossible_1, 0, 0, 0, 0);
	EXPECT(possible_2, 0, 2190, 0, 0);
	EXPECT(impossible_2, 0, 0, 0, 0);
}

static const struct sampled restart[] = {
	{ CPU, "'pid':'1'", "100,9 103,9.3 106,0.1 109,0.7 112,0.7" },
	{ CPU, "'pid':'2'", "100,5 103,5.6 106,0.2 109,0.2 112,0.2" },
	{ CPU, "'pid':'3'", "100,0 103,0 106,0 109,0 112,0" },
	{ JOULES },
};

static void a_restart_continues_the_rates_where_it_is_accepted(void **state)
{
	(void)state;
	refuse(restart, TW_COUNT(restart),
	       "counter falls from 9.3 to 0.1 at time 106; --resets drop leaves that "
	       "step out");
	EXPECT_CARRIED(restart, 300, 300, 200, 0);
	EXPECT(restart, 300, 200, 0);
}

/* The command changes between 103 and 106, and the exporter restarts. */
static void a_restart_continues_the_rate_of_another_command(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1'", "100,9 103,9 106,0 109,0 112,0" },
		{ CPU, "'pid':'2','comm':'sh'", "100,3 103,3.3" },
		{ CPU, "'pid':'2','comm':'ls'", "106,0.1 109,0.7" },
		{ JOULES },
	};

	(void)state;
	EXPECT_CARRIED(series, 100, 100, 200, 0);
}

/* At 106 process 1 falls from one series to another, process 2 within its series. At 103
 * pid 3 was reused. */
static void a_restart_is_reported_of_a_series_that_falls_within_itself(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1','command':'sh'", "100,9 103,9.3" },
		{ CPU, "'pid':'1','command':'ls'", "106,0.1 109,0.7" },
		{ CPU, "'pid':'2','command':'make'", "100,5 103,5.6 106,0.2 109,0.2" },
		{ CPU, "'pid':'3'", "100,3 103,0.3 106,0.3 109,0.3" },
		{ JOULES },
	};

	(void)state;
	refuse(series, TW_COUNT(series),
	       "kepler_process_cpu_seconds_total (command=make pid=2): counter falls "
	       "from "
	       "5.6 to "
	       "0.2 at time 106; --resets drop leaves that step out");
}

/* sh has no sample at 106, and falls after it; ls ended before. */
static void a_series_that_falls_after_a_pause_is_reported(void **state)
{
	static const struct sampled series[] = {
		{ CPU, "'pid':'1','comm':'ls'", "100,1" },
		{ CPU, "'pid':'1','comm':'sh'", "100,9 103,9.3 109,0.1 112,0.7" },
		{ CPU, "'pid':'2'", "100,1 103,1 106,1 109,1 112,1" },
		{ JOULES },
	};

	(void)state;
	refuse(series, TW_COUNT(series), "counter falls from 9.3 to 0.1 at time 109");
}

/* The collector's tick of 106 was late: counters and energy of two ticks came at 109. */
static void rates_are_divided_by_the_published_time_of_the_ticks(void **state)
{
	static const struct sampled series[] = {
		{ "tallywatt_collector_tick_time_seconds", "",
		  "100,50 103,53 106,53 109,59 112,62" },
		{ "tallywatt_process_cpu_seconds_total", "'pid':'1'",
		  "100,0 103,3 106,3 109,9 112,12" },
		{ "tallywatt_node_energy_joules_total",
		  "'zone':'package','source':'rapl-sysfs'",
		  "100,0 103,30 106,30 109,90 112,120" },
	};
	/* The meter has no sample at 103 and 106: its clock stops within a row. */
	static const struct sampled stopped[] = {
		{ "tallywatt_collector_tick_time_seconds", "",
		  "100,50 103,53 106,53 109,59 112,62" },
		{ "tallywatt_process_cpu_seconds_total", "'pid':'1'",
		  "100,0 103,3 106,3 109,9 112,12" },
		{ "tallywatt_node_energy_joules_total",
		  "'zone':'package','source':'rapl-sysfs'", "100,0 109,90 112,120" },
	};
	const struct tw_extract_args args = make_args("BPFOnly");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	EXPECT(stopped, 1000, 1000);
	EXPECT(series, 1000, 1000, 1000);
	assert_int_equal(extract(series, TW_COUNT(series), &args, &d, &err), 0);
	for (size_t i = 0; i < d.rows; i++)
		assert_true(fabs(tw_dataset_find(&d, "package_power")[i] - 10) < 1e-9);
	tw_dataset_release(&d);
}

#define CPU_MS "kepler_container_bpf_cpu_time_ms_total"
#define NET_RX "kepler_container_bpf_net_rx_irq_total"
#define PACKAGE "kepler_node_package_joules_total"
#define RAPL "'source':'rapl-sysfs','package':'0'"

static void a_counter_that_the_exporter_omits_is_zero(void **state)
{
	static const struct sampled series[] = {
		{ CPU_MS, "'container_id':'a'", "100,0 103,30" },
		{ NET_RX, "'container_id':'a'", "100,0 103,6" },
		{ PACKAGE, RAPL, "100,0 103,30" },
	};
	static const struct sampled without_softirqs[] = {
		{ CPU_MS, "'container_id':'a'", "100,0 103,30" },
		{ PACKAGE, RAPL, "100,0 103,30" },
	};
	const struct tw_extract_args args = make_args("BPFIRQ");
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	if (extract(series, TW_COUNT(series), &args, &d, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(d.rows, 1);
	assert_true(tw_dataset_find(&d, "bpf_net_rx_irq")[0] == 2);
	assert_true(tw_dataset_find(&d, "bpf_block_irq")[0] == 0);
	tw_dataset_release(&d);
	/* Without any softirq the exporter does not count them. */
	assert_int_equal(
		extract(without_softirqs, TW_COUNT(without_softirqs), &args, &d, &err),
		-1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_non_null(strstr(err.text, "kepler_container_bpf_block_irq_total"));
}

/* Samples of 90 s, each of the value that a function says. */
static void add_samples(struct tw_buf *out, double (*value)(size_t))
{
	for (size_t i = 0; i <= 30; i++)
		tw_buf_addf(out, "%s%zu,%g", i > 0 ? " " : "", 100 + 3 * i, value(i));
	tw_buf_add(out, "", 1);
}

static double rising(size_t i)
{
	return 100 + 30.0 * (double)i;
}

static double restarted_five_times(size_t i)
{
	return 2.0 * (double)(i % 6);
}

/* As an exporter that is out of memory again and again. */
static double restarted_at_each_third_step(size_t i)
{
	return 2.0 * (double)(i % 3);
}

static double restarted_at_each_second_step(size_t i)
{
	return 0.1 + (double)(i % 2);
}

static double rate(size_t i)
{
	return 50 + (double)(i * 17 % 40);
}

/* The mean of some minutes: it rises for 20 steps and falls for 10. */
static double smooth_rate(size_t i)
{
	return i <= 20 ? 50 + 5.0 * (double)i : 150 - 10.0 * (double)(i - 20);
}

/* want: NULL, or the end of the error. */
static void carry(double (*cpu)(size_t), double (*other_cpu)(size_t),
		  double (*joules)(size_t), const char *want)
{
	struct tw_extract_args args = make_args("BPFOnly");
	struct tw_buf text[4] = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	int rc;

	add_samples(&text[0], cpu);
	add_samples(&text[1], other_cpu);
	add_samples(&text[2], rising);
	add_samples(&text[3], joules);
	args.resets = TW_RESETS_CARRY;
	rc = extract(
		(const struct sampled[]){
			{ CPU, "'pid':'1'", text[0].data },
			{ CPU, "'pid':'2'", text[1].data },
			{ CPU, "'pid':'3'", text[2].data },
			{ "kepler_node_cpu_joules_total", "'zone':'package'",
			  text[3].data },
		},
		4, &args, &d, &err);
	assert_int_equal(rc, want == NULL ? 0 : -1);
	if (want != NULL && strstr(err.text, want) == NULL)
		fail_msg("'%s' is not in: %s", want, err.text);
	tw_dataset_release(&d);
	for (size_t i = 0; i < TW_COUNT(text); i++)
		tw_buf_clear(&text[i]);
}

static void rates_are_no_counters(void **state)
{
	(void)state;
	carry(rate, rate, rising,
	      CPU ": 24 of 90 steps fall, so it is a rate or a gauge, not a counter");
	carry(rising, rising, rate,
	      "kepler_node_cpu_joules_total: 12 of 30 steps fall, so it is a rate");
	carry(rising, rising, smooth_rate,
	      "kepler_node_cpu_joules_total: 10 of 30 steps fall, so it is a rate");
}

static void rates_of_the_host_are_no_counters_of_a_vm(void **state)
{
	struct tw_extract_args args = make_args("BPFOnly");
	struct tw_buf cpu = { 0 }, joules = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };
	int rc;

	(void)state;
	args.resets = TW_RESETS_CARRY;
	args.vm_metrics = true;
	add_samples(&cpu, rising);
	add_samples(&joules, rate);
	rc = extract(
		(const struct sampled[]){
			{ CPU, "'pid':'1','job':'vm','instance':'a'", cpu.data },
			{ "kepler_node_cpu_joules_total", "'zone':'package'",
			  joules.data },
		},
		2, &args, &d, &err);
	assert_int_equal(rc, -1);
	assert_non_null(strstr(err.text, "12 of 30 steps fall"));
	tw_buf_clear(&cpu);
	tw_buf_clear(&joules);
}

static void counters_that_restart_often_are_counters(void **state)
{
	(void)state;
	carry(restarted_five_times, restarted_five_times, rising, NULL);
	carry(rising, rising, restarted_five_times, NULL);
	carry(restarted_at_each_third_step, restarted_at_each_third_step,
	      restarted_at_each_third_step, NULL);
	/* A process that is started again and again. */
	carry(rising, restarted_at_each_second_step, rising, NULL);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct tw_extract_args args = make_args("BPFOnly");
	struct tw_prom *p = sampled_response(restart, TW_COUNT(restart));

	(void)state;
	args.resets = TW_RESETS_CARRY;
	sampled_extract_without_memory(p, &args);
	tw_prom_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_of_one_sample_counts_whole),
		cmocka_unit_test(series_of_a_process_that_overlap_both_count),
		cmocka_unit_test(a_process_begins_after_the_last_tick_of_the_meter),
		cmocka_unit_test(a_process_begins_after_the_last_row),
		cmocka_unit_test(a_process_begins_after_a_tick_that_ends_no_row),
		cmocka_unit_test(a_series_that_begins_late_counts_from_zero),
		cmocka_unit_test(a_known_start_decides),
		cmocka_unit_test(a_pid_that_is_used_again_has_two_starts),
		cmocka_unit_test(a_process_continues_under_another_command),
		cmocka_unit_test(a_process_goes_back_to_its_first_command),
		cmocka_unit_test(a_process_continues_the_command_that_ended_last),
		cmocka_unit_test(a_process_continues_one_of_the_last_eight_commands),
		cmocka_unit_test(a_process_may_use_all_processors),
		cmocka_unit_test(
			a_series_that_appears_with_too_much_for_the_load_does_not_count),
		cmocka_unit_test(other_counters_of_an_old_process_do_not_count_either),
		cmocka_unit_test(a_counter_that_dips_stands_still),
		cmocka_unit_test(a_process_may_begin_with_the_time_of_its_processors),
		cmocka_unit_test(a_reused_pid_counts_from_zero),
		cmocka_unit_test(a_series_with_a_pause_is_spread_over_the_pause),
		cmocka_unit_test(
			a_series_that_appears_with_an_impossible_value_does_not_count),
		cmocka_unit_test(a_restart_continues_the_rates_where_it_is_accepted),
		cmocka_unit_test(a_restart_continues_the_rate_of_another_command),
		cmocka_unit_test(
			a_restart_is_reported_of_a_series_that_falls_within_itself),
		cmocka_unit_test(a_series_that_falls_after_a_pause_is_reported),
		cmocka_unit_test(rates_are_divided_by_the_published_time_of_the_ticks),
		cmocka_unit_test(a_counter_that_the_exporter_omits_is_zero),
		cmocka_unit_test(rates_are_no_counters),
		cmocka_unit_test(rates_of_the_host_are_no_counters_of_a_vm),
		cmocka_unit_test(counters_that_restart_often_are_counters),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("increment_rows", tests, NULL, NULL);
}
