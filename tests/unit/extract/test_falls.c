/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/falls.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/sampled.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <string.h>

#define PROCESS "kepler_process_cpu_seconds_total"

/* A series of `count` samples whose values are these, again and again. */
struct shape {
	size_t count;
	double growth; /* from one repetition to the next */
	double values[6];
	size_t period;
};

static void add_samples(struct tw_buf *b, const struct shape *s)
{
	for (size_t i = 0; i < s->count; i++)
		tw_buf_addf(b, "%s%zu,%.17g", i > 0 ? " " : "", 100 + 10 * i,
			    s->values[i % s->period] +
				    s->growth * (double)(i / s->period));
}

static int check_rates(const struct shape *one, const struct shape *two,
		       const struct tw_schema_metric *metric, bool guest,
		       enum tw_compat compat, struct tw_err *err)
{
	const struct tw_extract_args args = { .compat = compat };
	struct tw_buf text[2] = { { 0 }, { 0 } };
	struct sampled series[] = {
		{ PROCESS, guest ? "'pid':'1','job':'vm'" : "'pid':'1'", NULL },
		{ PROCESS, "'pid':'2'", NULL },
	};
	struct tw_metric_series m = { .metric = metric };
	struct tw_prom *p;
	int status;

	add_samples(&text[0], one);
	add_samples(&text[1], two);
	series[0].samples = text[0].data;
	series[1].samples = text[1].data;
	p = sampled_response(series, 2);
	m.series = tw_prom_series(p, PROCESS, &m.count);
	status = tw_metric_check_rates(&m, &args, err);
	tw_prom_free(p);
	tw_buf_clear(&text[0]);
	tw_buf_clear(&text[1]);
	return status;
}

static const struct tw_schema_metric counter = { .name = "m",
						 .kind = TW_METRIC_FEATURE,
						 .factor = 1 };
/* A series that falls twice in sequence, once. */
static const struct shape twice = { 7, 0, { 9, 5, 1, 3, 5, 7 }, 6 };
/* A series that stands, and one that rises by 20 steps. */
static const struct shape still = { 30, 0, { 7 }, 1 }, rising = { 21, 1, { 0 }, 1 };

static void a_counter_that_falls_often_is_a_rate(void **state)
{
	static const struct {
		struct shape one;
		const struct shape *two;
		const char *error; /* NULL: a counter */
	} cases[] = {
		/* A rate goes up and down as often: 10 falls of 20 steps. */
		{ { 21, 0, { 5, 1 }, 2 }, &still, "m: 10 of 20 steps fall, so" },
		{ { 20, 0, { 5, 1 }, 2 }, &still, NULL },
		/* Steps of counters that rise count, those of a still one do not. */
		{ { 21, 0, { 5, 1 }, 2 }, &rising, "m: 10 of 40 steps fall, so" },
		{ { 15, 0, { 5, 1 }, 2 }, &rising, "m: 7 of 34 steps fall, so" },
		{ { 13, 0, { 5, 1 }, 2 }, &rising, NULL },
		/* A counter that is reset rises in between. */
		{ { 31, 0, { 0, 5, 9 }, 3 }, &still, NULL },
		{ { 31, 0, { 0, 5, 5 }, 3 }, &still, "m: 10 of 30 steps fall, so" },
		/* A rate falls twice in sequence. */
		{ { 31, 0, { 0, 3, 6, 9, 5, 2 }, 6 }, &still, "m: 15 of 30" },
		{ { 31, 0, { 9, 5, 6, 7, 8, 9 }, 6 }, &still, NULL },
		{ { 37, 0, { 9, 5, 1, 3, 5, 7 }, 6 }, &still, "m: 12 of 36" },
		/* Few falls follow a fall: those are of a counter that is reset, too. */
		{ { 31, 0, { 0, 5, 9 }, 3 }, &twice, NULL },
		/* A fifth of the steps falls. */
		{ { 21, 0, { 9, 1, 1, 1, 1 }, 5 }, &still, "m: 4 of 20 steps fall, so" },
		{ { 22, 0, { 9, 1, 1, 1, 1, 1 }, 6 }, &still, NULL },
		/* Dips of rounding are no falls. */
		{ { 31, 0, { 5e9, 5e9 - 1, 3e9 }, 3 },
		  &still,
		  "m: 10 of 30 steps fall, so" },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		struct tw_err err = { 0 };
		const int status = check_rates(&cases[k].one, cases[k].two, &counter,
					       false, TW_COMPAT_NONE, &err);

		if (status != (cases[k].error != NULL ? -1 : 0) ||
		    (status < 0 &&
		     strncmp(err.text, cases[k].error, strlen(cases[k].error)) != 0))
			fail_msg("case %zu: %d, %s", k, status, err.text);
		if (status < 0)
			assert_int_equal(err.code, TW_INVALID);
	}
}

/* Counters of workloads and of energy only; not those of VMs, which are not asked for. */
static void only_counters_are_checked(void **state)
{
	static const struct shape rate = { 31, 0, { 5, 1 }, 2 };
	static const struct {
		enum tw_metric_kind kind;
		bool falls, guest;
		enum tw_compat compat;
		int status;
	} cases[] = {
		{ TW_METRIC_FEATURE, false, false, TW_COMPAT_NONE, -1 },
		{ TW_METRIC_ENERGY, false, false, TW_COMPAT_NONE, -1 },
		{ TW_METRIC_LEVEL, false, false, TW_COMPAT_NONE, 0 },
		{ TW_METRIC_POWER, false, false, TW_COMPAT_NONE, 0 },
		{ TW_METRIC_FEATURE, true, false, TW_COMPAT_NONE, 0 },
		{ TW_METRIC_FEATURE, false, true, TW_COMPAT_NONE, 0 },
		{ TW_METRIC_FEATURE, false, false, TW_COMPAT_KMS, 0 },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		const struct tw_schema_metric metric = { .name = "m",
							 .kind = cases[k].kind,
							 .falls = cases[k].falls };
		struct tw_err err = { 0 };

		if (check_rates(&rate, &still, &metric, cases[k].guest, cases[k].compat,
				&err) != cases[k].status)
			fail_msg("case %zu: %s", k, err.text);
	}
}

static void the_first_fall_is_named(void **state)
{
	static const struct {
		const char *samples, *error; /* NULL: none */
	} cases[] = {
		{ "100,1 110,2 120,2", NULL },
		{ "100,0.5 110,2 120,2", NULL },
		{ "100,1 110,0.5 120,2 130,1",
		  "m (pid=1): counter falls from 1 to 0.5 at time 110; --resets drop "
		  "leaves that step out" },
		{ "100,1 110,2 120.5,0", "m (pid=1): counter falls from 2 to 0 at time "
					 "120.5; " },
		{ "100,1e15 110,1e15", NULL },
		{ "100,1000000000000001 110,1000000000000000 120,3e15", NULL },
		{ "100,1000000000000001 110,1000000000000000 120,3",
		  "m (pid=1): counter falls from 1e+15 to 3 at time 120; " },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(cases); k++) {
		const struct sampled series = { PROCESS, "'pid':'1'", cases[k].samples };
		struct tw_prom *p = sampled_response(&series, 1);
		struct tw_err err = { 0 };
		size_t count;
		const int status = tw_series_check_resets(
			tw_prom_series(p, PROCESS, &count), "m", &err);

		if (status != (cases[k].error != NULL ? -1 : 0) ||
		    (status < 0 &&
		     strncmp(err.text, cases[k].error, strlen(cases[k].error)) != 0))
			fail_msg("case %zu: %d, %s", k, status, err.text);
		tw_prom_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_that_falls_often_is_a_rate),
		cmocka_unit_test(only_counters_are_checked),
		cmocka_unit_test(the_first_fall_is_named),
	};

	return cmocka_run_group_tests_name("falls", tests, NULL, NULL);
}
