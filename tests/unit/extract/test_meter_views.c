/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_power_series.c, for power across views. */
#include "trainer/extract/meter_views.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/prom.h"

#include <stdio.h>
#include <string.h>

#define ZONE "kepler_node_cpu_joules_total"
#define SERIES_MAX 4

static const struct tw_schema_metric energy = { .name = "m", .kind = TW_METRIC_ENERGY };
static const struct tw_schema_metric power = { .name = "m", .kind = TW_METRIC_POWER };

/* Series of paths and jobs: "/0 a", and the samples that are left of each. */
struct split {
	const struct tw_schema_metric *metric;
	const char *series[SERIES_MAX][2];
	size_t left[SERIES_MAX];
	struct tw_meter_view want[3]; /* in seconds; without keys: the end */
	const char *error;
};

#define STEPS(a, b, c, d) "100," #a " 110," #b " 120," #c " 130," #d
#define LATER(a, b, c, d) "200," #a " 210," #b " 220," #c " 230," #d
#define PART STEPS(0, 10, 20, 30)
#define WHOLE STEPS(5, 25, 45, 65)

static const struct split splits[] = {
	/* Packages of one exporter are one view, wherever their samples are. */
	{ &energy,
	  { { "/0 a", PART }, { "/1 a", "105,0 115,10 125,20" } },
	  { 4, 3 },
	  { { 100, 2 } },
	  NULL },
	/* So are those of two exporters that show the same packages. */
	{ &energy,
	  { { "/0 a", PART }, { "/0 b", LATER(1, 2, 3, 4) }, { "/1 b", "205,0 225,9" } },
	  { 4, 4, 2 },
	  { { 100, 2 } },
	  NULL },
	/* The sum of two packages by another exporter, in all of the time, for longer, in
	   a part of it. */
	{ &energy,
	  { { "/0 a", PART }, { "/1 a", PART }, { "/sum b", WHOLE } },
	  { 4, 4, 0 },
	  { { 100, 2 } },
	  NULL },
	{ &energy,
	  { { "/0 a", PART },
	    { "/1 a", PART },
	    { "/sum b", "110,0 120,20 130,40 140,60" } },
	  { 1, 1, 4 },
	  { { 100, 2 }, { 110, 1 } },
	  NULL },
	{ &energy,
	  { { "/0 a", PART }, { "/1 a", PART }, { "/sum b", "110,0 120,20" } },
	  { 4, 4, 0 },
	  { { 100, 2 } },
	  NULL },
	/* Scraped a little later, it is no reason to change. */
	{ &energy,
	  { { "/0 a", PART }, { "/sum b", "102,5 112,15 122,25 132,35" } },
	  { 4, 0 },
	  { { 100, 1 } },
	  NULL },
	/* One exporter that was updated; and one that was replaced, for good. */
	{ &energy,
	  { { "/0 a", PART }, { "/1 a", PART }, { "/sum a", LATER(0, 9, 18, 27) } },
	  { 4, 4, 4 },
	  { { 100, 2 }, { 200, 1 } },
	  NULL },
	{ &energy,
	  { { "/0 a", PART },
	    { "/sum b", LATER(0, 9, 18, 27) },
	    { "/0 c", "300,1 310,2" } },
	  { 4, 4, 0 },
	  { { 100, 1 }, { 200, 1 } },
	  NULL },
	/* For a moment both run, and the later one has little to show. */
	{ &energy,
	  { { "/0 a", PART }, { "/sum b", "130,7 200,9 300,9 400,9" } },
	  { 3, 4 },
	  { { 100, 1 }, { 130, 1 } },
	  NULL },
	/* One of them stands: a hung exporter, a server that repeats. */
	{ &energy,
	  { { "/0 a", PART }, { "/sum b", STEPS(7, 7, 7, 7) } },
	  { 4, 0 },
	  { { 100, 1 } },
	  NULL },
	{ &energy,
	  { { "/0 a", STEPS(7, 7, 7, 7) }, { "/sum b", "105,0 115,10 125,20" } },
	  { 1, 3 },
	  { { 100, 1 }, { 105, 1 } },
	  NULL },
	/* Other energy: a part, or another machine. */
	{ &energy,
	  { { "/0 a", PART }, { "/sum b", WHOLE } },
	  { 0 },
	  { { 0, 0 } },
	  "m: {job=\"a\"} and {job=\"b\"} differ at the same times: two machines" },
	/* A gauge has its mean. */
	{ &power,
	  { { "/0 a", STEPS(50, 90, 50, 90) }, { "/1 b", STEPS(72, 70, 70, 72) } },
	  { 4, 0 },
	  { { 100, 1 } },
	  NULL },
	{ &power,
	  { { "/0 a", STEPS(50, 90, 50, 90) }, { "/1 b", STEPS(30, 30, 30, 31) } },
	  { 0 },
	  { { 0, 0 } },
	  "m: {job=\"a\"} and {job=\"b\"} differ at the same times: two machines" },
};

static struct tw_prom *open_split(const struct split *s, struct tw_counter_set *c)
{
	static const char *const path[] = { "path", NULL };
	struct sampled sampled[SERIES_MAX];
	char labels[SERIES_MAX][80];
	struct tw_prom *prom;
	struct tw_err err = { 0 };
	const struct tw_series *series;
	size_t count = 0, found;

	for (; count < SERIES_MAX && s->series[count][0] != NULL; count++) {
		const char *name = s->series[count][0], *job = strchr(name, ' ') + 1;

		snprintf(labels[count], sizeof(labels[count]), "'path':'%.*s','job':'%s'",
			 (int)(job - name - 1), name, job);
		sampled[count] =
			(struct sampled){ ZONE, labels[count], s->series[count][1] };
	}
	prom = sampled_response(sampled, count);
	series = tw_prom_series(prom, ZONE, &found);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(tw_counter_set_add(c, path, 0, &series[i], &err), 0);
	tw_counter_set_sort(c);
	return prom;
}

/* Samples that are left of a path, of the job. */
static size_t left_of(const struct tw_meter_views *v, const char *name)
{
	const char *job = strchr(name, ' ') + 1;
	size_t n = 0;

	for (size_t i = 0; i < v->counters.count; i++) {
		const struct tw_series *s = v->counters.at[i].series;

		if (strncmp(name, tw_series_label(s, "path"), (size_t)(job - name - 1)) ==
			    0 &&
		    strcmp(job, tw_series_label(s, "job")) == 0)
			n += s->value.count;
	}
	return n;
}

static void check(size_t k, const struct split *s, const struct tw_meter_views *v)
{
	for (size_t i = 0; i < SERIES_MAX && s->series[i][0] != NULL; i++)
		if (left_of(v, s->series[i][0]) != s->left[i])
			fail_msg("case %zu, %s: %zu samples", k, s->series[i][0],
				 left_of(v, s->series[i][0]));
	for (size_t i = 0; i <= v->count; i++) {
		const struct tw_meter_view *want = &s->want[i];

		if (i == v->count) {
			assert_int_equal(want->keys, 0);
			break;
		}
		if (v->at[i].from_ms != 1e3 * want->from_ms ||
		    v->at[i].keys != want->keys)
			fail_msg("case %zu: %zu from %g", k, v->at[i].keys,
				 v->at[i].from_ms);
	}
}

static void a_sum_is_of_one_view(void **state)
{
	(void)state;
	for (size_t k = 0; k < TW_COUNT(splits); k++)
		for (int n = 1;; n++) {
			const struct split *s = &splits[k];
			const struct tw_metric_series m = { .metric = s->metric };
			struct tw_meter_views v = { .count = 0 };
			struct tw_prom *prom = open_split(s, &v.counters);
			struct tw_err err = { 0 };
			int rc;
			bool hit;

			fail_alloc_at(n);
			rc = tw_meter_views_split(&v, &m, &err);
			hit = fail_alloc_hit();
			assert_int_equal(rc, hit || s->error != NULL ? -1 : 0);
			assert_int_equal(err.code == TW_NOMEM, hit);
			if (rc == 0)
				check(k, s, &v);
			else if (!hit &&
				 strncmp(err.text, s->error, strlen(s->error)) != 0)
				fail_msg("case %zu: %s", k, err.text);
			tw_meter_views_release(&v);
			tw_prom_free(prom);
			if (!hit)
				break;
		}
}

/* Exporters that show the meter for a moment, beside one that does so all the time. */
static void the_number_of_views_at_one_time_has_its_limit(void **state)
{
	static const char *const path[] = { "path", NULL };
	static char labels[66][40], samples[66][24];
	const struct tw_metric_series m = { .metric = &energy };

	(void)state;
	for (size_t count = 65; count <= 66; count++) {
		struct sampled sampled[66] = { { ZONE, "'path':'/','job':'a'",
						 "100,0 9000,8900" } };
		struct tw_meter_views v = { .count = 0 };
		struct tw_err err = { 0 };
		const struct tw_series *series;
		struct tw_prom *prom;
		size_t found;

		for (size_t i = 1; i < count; i++) {
			snprintf(labels[i], sizeof(labels[i]), "'path':'/%zu','job':'b'",
				 i);
			snprintf(samples[i], sizeof(samples[i]), "%zu,0 %zu,10",
				 100 * (i + 1), 100 * (i + 1) + 10);
			sampled[i] = (struct sampled){ ZONE, labels[i], samples[i] };
		}
		prom = sampled_response(sampled, count);
		series = tw_prom_series(prom, ZONE, &found);
		for (size_t i = 0; i < found; i++)
			assert_int_equal(tw_counter_set_add(&v.counters, path, 0,
							    &series[i], &err),
					 0);
		tw_counter_set_sort(&v.counters);
		assert_int_equal(tw_meter_views_split(&v, &m, &err),
				 count == 65 ? 0 : -1);
		if (count == 65)
			assert_int_equal(v.count, 1);
		else
			assert_string_equal(
				err.text, "m: more than 64 exporters show the meter "
					  "beside another one; choose one with --match");
		tw_meter_views_release(&v);
		tw_prom_free(prom);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_is_of_one_view),
		cmocka_unit_test(the_number_of_views_at_one_time_has_its_limit),
	};

	return cmocka_run_group_tests_name("meter_views", tests, NULL, NULL);
}
