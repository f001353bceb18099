/* SPDX-License-Identifier: Apache-2.0 */
/* See also test_exporters.c, for whole extractions. */
#include "trainer/extract/clean.h"

#include "lib/core/array.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sampled.h"
#include "tests/unit/tw_test.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/metric_series.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <string.h>

#define ZONE "kepler_node_cpu_joules_total"
#define PROCESS "kepler_process_cpu_seconds_total"

enum kind { OF_PROCESS, OF_NODE, OF_GAUGE };

/* Two series, and how many of their samples are left. */
struct pair {
	enum kind kind;
	const char *labels[2], *samples[2];
	size_t merged, left[2];
	const char *error; /* begins with this; NULL: none */
};

#define X "'pid':'1','comm':'x','job':'a'"
#define Y "'pid':'1','comm':'y','job':'a'"
#define B "'pid':'1','comm':'x','job':'b'"
#define ZONE_A "'zone':'package','path':'/0','job':'a'"
#define ZONE_B "'zone':'package','path':'/0','job':'b'"

static struct tw_prom *open_pair(const struct pair *p, struct tw_counter_set *c)
{
	static const char *const pid[] = { "pid", NULL }, *const zone[] = { "zone",
									    NULL };
	const char *metric = p->kind == OF_PROCESS ? PROCESS : ZONE;
	const struct sampled sampled[] = { { metric, p->labels[0], p->samples[0] },
					   { metric, p->labels[1], p->samples[1] } };
	struct tw_prom *prom = sampled_response(sampled, 2);
	struct tw_err err = { 0 };
	size_t count;
	const struct tw_series *s = tw_prom_series(prom, metric, &count);

	assert_int_equal(count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(tw_counter_set_add(c, p->kind == OF_PROCESS ? pid : zone,
						    0, &s[i], &err),
				 0);
	tw_counter_set_sort(c);
	return prom;
}

static int clean(const struct pair *p, struct tw_counter_set *c, struct tw_err *err)
{
	const struct tw_schema_metric metric = { .name = "m",
						 .kind = p->kind == OF_GAUGE
								 ? TW_METRIC_POWER
								 : TW_METRIC_ENERGY };
	const struct tw_metric_series m = { .metric = &metric };

	return tw_clean_series(c, p->kind == OF_PROCESS ? NULL : &m,
			       p->kind != OF_PROCESS, err);
}

static void check(size_t k, const struct pair *p)
{
	struct tw_counter_set c = { 0 };
	struct tw_prom *prom = open_pair(p, &c);
	struct tw_err err = { 0 };
	size_t n = 0;

	if (clean(p, &c, &err) < 0) {
		if (p->error == NULL ||
		    strncmp(err.text, p->error, strlen(p->error)) != 0)
			fail_msg("case %zu: %s", k, err.text);
		assert_int_equal(err.code, TW_INVALID);
	} else if (p->error != NULL || c.merged != p->merged) {
		fail_msg("case %zu: merged %zu", k, c.merged);
	} else {
		for (size_t i = 0; i < 2; i++)
			if (p->left[i] > 0) {
				assert_true(n < c.count);
				if (c.at[n].series->value.count != p->left[i])
					fail_msg("case %zu: %zu", k,
						 (size_t)c.at[n].series->value.count);
				n++;
			}
		assert_int_equal(c.count, n);
	}
	tw_counter_set_release(&c);
	tw_prom_free(prom);
}

static void check_all(const struct pair *p, size_t count)
{
	for (size_t k = 0; k < count; k++)
		check(k, &p[k]);
}

static void a_counter_of_two_scrapes_counts_once(void **state)
{
	static const char a[] = "100,0 110,10 120,20 130,30";
	static const struct pair pairs[] = {
		{ OF_PROCESS, { X, B }, { a, a }, 1, { 4, 0 }, NULL },
		/* The series that goes on counts from its start. */
		{ OF_PROCESS,
		  { X, B },
		  { a, "110,10 120,20 130,30 140,35" },
		  1,
		  { 1, 4 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { "100,0 110,10 120,20 130,90", "110,10 120,20" },
		  1,
		  { 4, 0 },
		  NULL },
		/* Its samples lie between those of the first, or it lags. */
		{ OF_PROCESS,
		  { X, B },
		  { a, "103,3 113,13 123,23 133,33" },
		  1,
		  { 1, 4 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { a, "100,5 110,15 120,25 130,35" },
		  1,
		  { 4, 0 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { a, "100,7 110,17 120,27 130,37" },
		  0,
		  { 4, 4 },
		  NULL },
		/* One of them stands: it is another counter, unless they are equal. */
		{ OF_PROCESS,
		  { X, B },
		  { "100,0 110,0.1 120,0.2 130,0.3",
		    "103,0.035 113,0.135 123,0.235 133,0.335" },
		  1,
		  { 1, 4 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { a, "100,1 110,1 120,1 130,1" },
		  0,
		  { 4, 4 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { "100,5 110,5", "100,5 110,5" },
		  1,
		  { 2, 0 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { "100,0 110,0", "100,0 110,0" },
		  0,
		  { 2, 2 },
		  NULL },
		/* Two samples or one are few. */
		{ OF_PROCESS,
		  { X, B },
		  { "100,0 110,10", "101,1.1 111,11" },
		  0,
		  { 2, 2 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { "100,0 110,10", "110,10 120,20" },
		  0,
		  { 2, 2 },
		  NULL },
		/* One after the other. */
		{ OF_PROCESS,
		  { X, B },
		  { a, "131,30 140,40 150,50" },
		  0,
		  { 4, 3 },
		  NULL },
	};

	(void)state;
	check_all(pairs, TW_COUNT(pairs));
}

/* Names of a process in one scrape: values of a scrape have no lag. */
static void a_process_of_two_names_counts_once(void **state)
{
	static const char a[] = "100,0 110,10 120,20 130,30";
	static const struct pair pairs[] = {
		{ OF_PROCESS, { X, Y }, { a, a }, 1, { 4, 0 }, NULL },
		{ OF_PROCESS,
		  { X, Y },
		  { a, "100,1 110,11 120,21 130,31" },
		  0,
		  { 4, 4 },
		  NULL },
		/* Samples of the one between those of the other are of two scrapes. */
		{ OF_PROCESS,
		  { X, Y },
		  { a, "103,3.5 113,13.5 123,23.5 133,33.5" },
		  1,
		  { 1, 4 },
		  NULL },
		/* It fills gaps of the other. */
		{ OF_PROCESS,
		  { X, Y },
		  { "100,0 110,2 130,14 140,15 150,16 170,30 180,31", "120,12 160,18" },
		  0,
		  { 7, 2 },
		  NULL },
	};

	(void)state;
	check_all(pairs, TW_COUNT(pairs));
}

static void repeats_of_an_exporter_that_was_replaced_are_dropped(void **state)
{
	static const char still[] = "100,5 110,9 120,9 130,9";
	static const struct pair pairs[] = {
		{ OF_PROCESS,
		  { X, B },
		  { still, "120,30 130,40 140,50" },
		  1,
		  { 2, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { still, "120,0 130,1 140,2" },
		  1,
		  { 2, 3 },
		  NULL },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { still, "120,30 130,40 140,50" },
		  1,
		  { 2, 3 },
		  NULL },
		/* It goes on as long, or had moved since. */
		{ OF_PROCESS, { X, B }, { still, "120,30 130,40" }, 0, { 4, 2 }, NULL },
		{ OF_PROCESS,
		  { X, B },
		  { still, "110,30 130,40 140,50" },
		  0,
		  { 4, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, B },
		  { "100,5 110,9 120,9 130,9.5", "120,30 140,50" },
		  0,
		  { 4, 2 },
		  NULL },
		/* In one scrape a process may be idle: the other goes on from there. */
		{ OF_PROCESS,
		  { X, Y },
		  { still, "120,9 130,10 140,12" },
		  1,
		  { 2, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, Y },
		  { still, "120,9.5 130,10 140,12" },
		  1,
		  { 2, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, Y },
		  { still, "120,11 130,12 140,13" },
		  1,
		  { 2, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, Y },
		  { still, "120,12 130,13 140,14" },
		  0,
		  { 4, 3 },
		  NULL },
		{ OF_PROCESS,
		  { X, Y },
		  { still, "120,8.5 130,10 140,12" },
		  0,
		  { 4, 3 },
		  NULL },
	};

	(void)state;
	check_all(pairs, TW_COUNT(pairs));
}

/* A node has one of each meter. */
/* A minute and two steps of 100 s are 0.13 of 2,000 s: two machines that were started at
 * about the same time differ by more. */
static void a_lag_is_at_most_a_minute(void **state)
{
	static const char a[] = "100,100 200,200 300,300 400,400 500,500 600,600 700,700 "
				"800,800 900,900 1000,1000 1100,1100",
			  near[] = "100,250 200,350 300,450 400,550 500,650 600,750 "
				   "700,850 800,950 900,1050 1000,1150 1100,1250",
			  longer[] = "100,100 200,200 300,300 400,400 500,500 600,600 "
				     "700,700 800,800 900,900 1000,1000 1100,1100 "
				     "1200,1200 1300,1300 1400,1400 1500,1500 1600,1600 "
				     "1700,1700 1800,1800 1900,1900 2000,2000 2100,2100",
			  apart[] = "100,370 200,470 300,570 400,670 500,770 600,870 "
				    "700,970 800,1070 900,1170 1000,1270 1100,1370 "
				    "1200,1470 1300,1570 1400,1670 1500,1770 1600,1870 "
				    "1700,1970 1800,2070 1900,2170 2000,2270 2100,2370",
			  names[] = "m: {job=\"a\"} and {job=\"b\"} differ";
	static const struct pair pairs[] = {
		{ OF_NODE, { ZONE_A, ZONE_B }, { a, near }, 1, { 11, 0 }, NULL },
		{ OF_NODE, { ZONE_A, ZONE_B }, { longer, apart }, 0, { 0 }, names },
		/* Gauges move up and down. */
		{ OF_GAUGE, { ZONE_A, ZONE_B }, { longer, apart }, 1, { 21, 0 }, NULL },
	};

	(void)state;
	check_all(pairs, TW_COUNT(pairs));
}

static void two_meters_of_a_name_are_two_machines(void **state)
{
	static const char a[] = "100,0 110,10 120,20 130,30",
			  other[] = "100,500 110,600 120,620 130,700",
			  names[] = "m: {job=\"a\"} and {job=\"b\"} differ at the same "
				    "times: two machines have one name";
	static const struct pair pairs[] = {
		{ OF_NODE, { ZONE_A, ZONE_B }, { a, other }, 0, { 0 }, names },
		{ OF_PROCESS, { X, B }, { a, other }, 0, { 4, 4 }, NULL },
		/* The order of labels does not matter; more than one may differ. */
		{ OF_NODE,
		  { "'job':'a','zone':'package','service':'s','path':'/0'",
		    "'service':'t','path':'/0','zone':'package','job':'b'" },
		  { a, other },
		  0,
		  { 0 },
		  "m: {job=\"a\",service=\"s\"} and {service=\"t\",job=\"b\"} differ" },
		{ OF_NODE,
		  { ZONE_A, ZONE_A },
		  { a, other },
		  0,
		  { 0 },
		  "m: two series {job=\"a\"} differ at the same times: the label that" },
		{ OF_NODE,
		  { ZONE_A ",'instance':'i'", ZONE_A },
		  { a, other },
		  0,
		  { 0 },
		  "m: {instance=\"i\"} and {} differ" },
		/* A meter that stands is none; nor do two common samples show two. */
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { a, "100,7 110,7 120,7 130,7" },
		  0,
		  { 4, 4 },
		  NULL },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { a, "120,500 130,700" },
		  0,
		  { 4, 2 },
		  NULL },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { a, "110,500 120,600 130,700" },
		  0,
		  { 0 },
		  names },
		{ OF_NODE,
		  { ZONE_A, "'zone':'package','path':'/1','job':'b'" },
		  { a, other },
		  0,
		  { 4, 4 },
		  NULL },
		/* A gauge moves up and down, a counter up. */
		{ OF_GAUGE,
		  { ZONE_A, ZONE_B },
		  { a, "100,900 110,800 120,700 130,600" },
		  0,
		  { 0 },
		  names },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { a, "100,900 110,800 120,700 130,600" },
		  0,
		  { 4, 4 },
		  NULL },
		/* Both for a tenth of all of the time: one replaced the other. */
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { "100,0 280,15 290,20 300,30", "280,500 290,600 300,620" },
		  1,
		  { 1, 3 },
		  NULL },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { "100,0 279,15 290,20 300,30", "279,500 290,600 300,620" },
		  0,
		  { 0 },
		  "m: " },
	};

	(void)state;
	check_all(pairs, TW_COUNT(pairs));
}

/* Gauges of a workload and counters that may fall are no counts of the same. */
static void levels_and_falling_counters_stay(void **state)
{
	static const struct tw_schema_metric metrics[] = {
		{ .name = "m", .kind = TW_METRIC_LEVEL },
		{ .name = "m", .kind = TW_METRIC_FEATURE, .falls = true },
		{ .name = "m", .kind = TW_METRIC_FEATURE },
	};
	static const char a[] = "100,0 110,10 120,20";
	static const struct pair equal = {
		OF_PROCESS, { X, B }, { a, a }, 0, { 0 }, NULL
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(metrics); k++) {
		const struct tw_metric_series m = { .metric = &metrics[k] };
		struct tw_counter_set c = { 0 };
		struct tw_prom *prom = open_pair(&equal, &c);
		struct tw_err err = { 0 };

		assert_int_equal(tw_clean_series(&c, &m, false, &err), 0);
		assert_int_equal(c.merged, k == 2);
		assert_int_equal(c.count, k == 2 ? 1 : 2);
		tw_counter_set_release(&c);
		tw_prom_free(prom);
	}
}

/* A counter of this many samples by two paths, which differ once. */
static void check_twins(size_t samples, double scale, double more, const char *labels,
			size_t left)
{
	struct pair p = { .kind = OF_NODE,
			  .labels = { "'zone':'package','path':'/intel-rapl:0'",
				      labels } };
	struct tw_counter_set c = { 0 };
	struct tw_buf text[2] = { { 0 }, { 0 } };
	struct tw_err err = { 0 };
	struct tw_prom *prom;

	for (size_t i = 0; i < samples; i++) {
		const double joules = (double)(30 * i + i * i % 7) * scale;

		for (size_t k = 0; k < 2; k++)
			tw_buf_addf(&text[k], "%s%zu,%.17g", i > 0 ? " " : "", 100 + i,
				    joules + (k == 0 ? 0 : 77 + (i == 9 ? more : 0)));
	}
	p.samples[0] = text[0].data;
	p.samples[1] = text[1].data;
	prom = open_pair(&p, &c);
	if (left == 1) {
		fail_alloc_at(1);
		assert_int_equal(tw_clean_twins(&c, &err), -1);
		assert_true(fail_alloc_hit() && err.code == TW_NOMEM);
	}
	assert_int_equal(tw_clean_twins(&c, &err), 0);
	assert_int_equal(c.count, left);
	assert_int_equal(c.merged, 2 - left);
	for (size_t i = 0; i < left; i++)
		assert_int_equal(c.at[i].series->value.count, samples);
	tw_counter_set_release(&c);
	tw_prom_free(prom);
	tw_buf_clear(&text[0]);
	tw_buf_clear(&text[1]);
}

static void mapped_registers_of_a_meter_count_once(void **state)
{
	static const char mapped[] = "'zone':'package','path':'/sys/intel-rapl-mmio:0'";

	(void)state;
	check_twins(20, 1, 0, mapped, 1);
	check_twins(19, 1, 0, mapped, 2);
	check_twins(20, 1, 0, "'zone':'package','path':'/intel-rapl:1'", 2);
	check_twins(20, 1, 0, "'zone':'dram','path':'/intel-rapl-mmio:0'", 2);
	/* They differ once, by 0.01 % of the growth for each of 20 samples: 1.14 J. */
	check_twins(20, 1, 1.1, mapped, 1);
	check_twins(20, 1, 1.2, mapped, 2);
	/* Meters that stand still are not shown to be one. */
	check_twins(20, 0, 0, mapped, 2);
}

static void without_memory_nothing_is_cleaned(void **state)
{
	static const char a[] = "100,0 110,10 120,20 130,30";
	static const struct pair pairs[] = {
		{ OF_PROCESS, { X, B }, { a, a }, 1, { 4, 0 }, NULL },
		{ OF_NODE,
		  { ZONE_A, ZONE_B },
		  { a, "100,9 110,90 120,95 130,99" },
		  0,
		  { 0 },
		  "m: " },
	};

	(void)state;
	for (size_t k = 0; k < TW_COUNT(pairs); k++)
		for (int n = 1;; n++) {
			struct tw_counter_set c = { 0 };
			struct tw_prom *prom = open_pair(&pairs[k], &c);
			struct tw_err err = { 0 };
			int rc;
			bool hit;

			fail_alloc_at(n);
			rc = clean(&pairs[k], &c, &err);
			hit = fail_alloc_hit();
			assert_int_equal(rc, hit || pairs[k].error != NULL ? -1 : 0);
			assert_int_equal(err.code == TW_NOMEM, hit);
			tw_counter_set_release(&c);
			tw_prom_free(prom);
			if (!hit)
				break;
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_counter_of_two_scrapes_counts_once),
		cmocka_unit_test(a_process_of_two_names_counts_once),
		cmocka_unit_test(repeats_of_an_exporter_that_was_replaced_are_dropped),
		cmocka_unit_test(a_lag_is_at_most_a_minute),
		cmocka_unit_test(two_meters_of_a_name_are_two_machines),
		cmocka_unit_test(levels_and_falling_counters_stay),
		cmocka_unit_test(mapped_registers_of_a_meter_count_once),
		cmocka_unit_test(without_memory_nothing_is_cleaned),
	};

	return cmocka_run_group_tests_name("clean", tests, NULL, NULL);
}
