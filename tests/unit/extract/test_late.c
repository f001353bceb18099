/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/extract/extract.h"
#include "trainer/response/prom.h"

#include <math.h>

#define STEPS 8

/* A recording of Kepler 0.10: joules and CPU seconds within each step of 3 s. */
struct recording {
	double joules[STEPS], cpu_s[STEPS];
	int cpus; /* of a node_exporter beside it; 0: none */
};

static void add_counter(struct tw_buf *b, const char *metric, const char *labels,
			const double *step)
{
	double sum = 0;

	tw_buf_addf(b, "\"%s\":[{\"metric\":{%s},\"values\":[[100,\"0\"]", metric,
		    labels);
	for (size_t i = 0; i < STEPS; i++) {
		sum += step[i];
		tw_buf_addf(b, ",[%zu,\"%.6f\"]", 103 + 3 * i, sum);
	}
	tw_buf_adds(b, "]}]");
}

static void add_cpus(struct tw_buf *b, int cpus)
{
	tw_buf_adds(b, ",\"node_cpu_seconds_total\":[");
	for (int cpu = 0; cpu < cpus; cpu++) {
		tw_buf_addf(b,
			    "%s{\"metric\":{\"cpu\":\"%d\",\"mode\":\"idle\"},"
			    "\"values\":[[100,\"0\"]",
			    cpu > 0 ? "," : "", cpu);
		for (size_t i = 0; i < STEPS; i++)
			tw_buf_addf(b, ",[%zu,\"%zu\"]", 103 + 3 * i, 3 + 3 * i);
		tw_buf_adds(b, "]}");
	}
	tw_buf_adds(b, "]");
}

static void extract(const struct recording *r, struct tw_dataset *out)
{
	const struct tw_extract_args args = {
		.source = tw_energy_source_find("rapl-sysfs"),
		.group = tw_feature_group_find("BPFOnly"),
		.level = TW_ROWS_NODE,
	};
	struct tw_buf b = { 0 };
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	tw_buf_adds(&b, "{");
	add_counter(&b, "kepler_process_cpu_seconds_total", "\"pid\":\"1\"", r->cpu_s);
	tw_buf_adds(&b, ",");
	add_counter(&b, "kepler_node_cpu_joules_total", "\"zone\":\"package\"",
		    r->joules);
	if (r->cpus > 0)
		add_cpus(&b, r->cpus);
	tw_buf_adds(&b, "}");
	if (tw_prom_parse(b.data, b.len, &p, &err) < 0 ||
	    tw_extract(p, &args, out, &err) < 0)
		fail_msg("%s", err.text);
	tw_prom_free(p);
	tw_buf_clear(&b);
}

static void expect_rows(const struct recording *r, size_t rows, double most_w,
			double most_cpu_ms)
{
	struct tw_dataset d = { 0 };

	extract(r, &d);
	assert_int_equal(d.rows, rows);
	for (size_t i = 0; i < rows; i++) {
		assert_true(tw_dataset_find(&d, "package_power")[i] <= most_w + 1e-6);
		assert_true(tw_dataset_find(&d, "bpf_cpu_time_ms")[i] <=
			    most_cpu_ms + 1e-6);
	}
	tw_dataset_release(&d);
}

static void rows_beside_a_late_scrape_become_one(void **state)
{
	/* 20 W and one CPU throughout; the sample of 112 came 2.1 s late. */
	static const struct recording late = {
		.joules = { 60, 60, 60, 102, 18, 60, 60, 60 },
		.cpu_s = { 3, 3, 3, 5.1, 0.9, 3, 3, 3 },
	};
	/* The same, with the missing energy before it. */
	static const struct recording early = {
		.joules = { 60, 60, 60, 18, 102, 60, 60, 60 },
		.cpu_s = { 3, 3, 3, 0.9, 5.1, 3, 3, 3 },
	};

	(void)state;
	expect_rows(&late, STEPS - 1, 20, 1000);
	expect_rows(&early, STEPS - 1, 20, 1000);
}

/* 10 W idle and 10 W a CPU: the idle part does not move with the load. */
static void a_load_that_comes_and_goes_stays_as_it_is(void **state)
{
	static const struct recording loads = {
		.joules = { 60, 60, 60, 90, 30, 60, 60, 60 },
		.cpu_s = { 3, 3, 3, 6, 0, 3, 3, 3 },
	};

	(void)state;
	expect_rows(&loads, STEPS, 30, 2000);
}

static void more_cpu_time_than_cpus_is_joined_or_dropped(void **state)
{
	/* Power hides the late scrape: it is all idle power of an even meter. */
	static const struct recording joined = {
		.joules = { 60, 60, 60, 60, 60, 60, 60, 60 },
		.cpu_s = { 6, 6, 6, 9, 3, 6, 6, 6 },
		.cpus = 2,
	};
	static const struct recording dropped = {
		.joules = { 60, 60, 60, 60, 60, 60, 60, 60 },
		.cpu_s = { 6, 6, 6, 30, 6, 6, 6, 6 },
		.cpus = 2,
	};

	(void)state;
	expect_rows(&joined, STEPS - 1, 20, 2000);
	expect_rows(&dropped, STEPS - 1, 20, 2000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_beside_a_late_scrape_become_one),
		cmocka_unit_test(a_load_that_comes_and_goes_stays_as_it_is),
		cmocka_unit_test(more_cpu_time_than_cpus_is_joined_or_dropped),
	};

	return cmocka_run_group_tests_name("late", tests, NULL, NULL);
}
