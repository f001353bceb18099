/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/response/prom_store.h"
#include "trainer/unit/sci.h"
#include "trainer/unit/selector.h"
#include "trainer/unit/unit_batch.h"
#include "trainer/unit/unit_blocks.h"
#include "trainer/unit/unit_fit.h"

#include <math.h>
#include <string.h>

#define START_MS 1.7e12
#define STEP_S 15
#define SAMPLES 200

/* A series of samples each step_s from first_s to last_s: what it has counted since
 * zero_s, at a rate. It falls to 0 at reset_s, and has no samples from gap_s to
 * gap_end_s. */
struct counter {
	const char *metric, *pod;
	double step_s, first_s, last_s, rate, zero_s, reset_s, gap_s, gap_end_s;
};

static double value_at(const struct counter *c, double s)
{
	const double zero_s = c->reset_s > 0 && s >= c->reset_s ? c->reset_s : c->zero_s;

	return c->rate * (s - zero_s);
}

static void add(struct tw_prom *p, const struct counter *c)
{
	double time_ms[4 * SAMPLES], value[4 * SAMPLES];
	const struct tw_label pod = { "pod", c->pod };
	struct tw_err err = { 0 };
	size_t n = 0, metric;

	for (double s = c->first_s; s <= c->last_s; s += c->step_s) {
		if (s > c->gap_s && s < c->gap_end_s)
			continue;
		assert_true(n < TW_COUNT(value));
		time_ms[n] = START_MS + 1e3 * s;
		value[n++] = value_at(c, s);
	}
	if (tw_prom_add_metric(p, c->metric, strlen(c->metric), &metric, &err) < 0 ||
	    tw_prom_add_series(p, metric, &pod, 1, time_ms, value, n, &err) < 0)
		fail_msg("%s", err.text);
}

struct fixture {
	struct tw_prom *prom;
	struct tw_selector by[3];
	struct tw_selection selection[3];
	struct tw_unit_input in;
};

static void open_fixture(struct fixture *f, const struct counter *counter, size_t count)
{
	static const char *const texts[] = { "j", "w", "i" };
	struct tw_err err = { 0 };

	*f = (struct fixture){ .prom = tw_prom_new(&err), .in = { .works = 1 } };
	for (size_t i = 0; i < count; i++)
		add(f->prom, &counter[i]);
	for (size_t i = 0; i < TW_COUNT(texts); i++)
		if (tw_selector_parse(texts[i], &f->by[i], &err) < 0 ||
		    tw_selection_add(&f->selection[i], f->prom, &f->by[i], &err) < 0)
			fail_msg("%s", err.text);
	f->in.energy = tw_selection_source(&f->selection[0], "energy");
	f->in.work[0] = tw_selection_source(&f->selection[1], "work");
	f->in.idle = tw_selection_source(&f->selection[2], "idle");
	f->in.intensity.name = "intensity";
}

static void close_fixture(struct fixture *f)
{
	for (size_t i = 0; i < TW_COUNT(f->by); i++) {
		tw_selector_release(&f->by[i]);
		tw_selection_release(&f->selection[i]);
	}
	tw_prom_free(f->prom);
}

static double sum(const double *v, size_t n)
{
	double s = 0;

	for (size_t i = 0; i < n; i++)
		s += v[i];
	return s;
}

static void expect_near(const char *what, double value, double want)
{
	if (!(fabs(value - want) < 1e-3))
		fail_msg("%s: %.17g, not %.17g", what, value, want);
}

struct want {
	double joules, idle_joules, units;
	double start_s, end_s;
	size_t merged;
};

static void expect(const struct counter *counter, size_t count, struct want want)
{
	struct fixture f;
	struct tw_unit_blocks b = { 0 };
	struct tw_err err = { 0 };

	open_fixture(&f, counter, count);
	if (tw_unit_blocks_make(&f.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	expect_near("joules", sum(b.energy_j, b.count), want.joules);
	expect_near("idle joules", sum(b.idle_j, b.count), want.idle_joules);
	expect_near("units", sum(b.work, b.count), want.units);
	expect_near("start", ((double)b.bound_ms[0] - START_MS) / 1e3, want.start_s);
	expect_near("end", ((double)b.bound_ms[b.count] - START_MS) / 1e3, want.end_s);
	assert_int_equal(b.merged, want.merged);
	for (size_t i = 0; i < b.count; i++)
		assert_true(b.bound_ms[i] < b.bound_ms[i + 1] &&
			    b.inner_work[i] <= b.work[i] + 1e-9);
	tw_unit_blocks_release(&b);
	close_fixture(&f);
}

#define EXPECT(counters, ...) \
	expect(counters, TW_COUNT(counters), (struct want){ __VA_ARGS__ })

#define LAST_S ((SAMPLES - 1.0) * STEP_S)
#define EACH .step_s = STEP_S, .last_s = LAST_S

static void sums_are_those_of_the_samples(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "w", "a", EACH, .rate = 20, .zero_s = -2000 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * LAST_S, .units = 20 * LAST_S, .end_s = LAST_S);
}

static void other_scrape_intervals_give_the_same_sums(void **state)
{
	const struct counter c[] = {
		{ "j", "a", .step_s = 5, .first_s = 3, .last_s = 2403, .rate = 5 },
		{ "w", "a", .step_s = 30, .last_s = 2400, .rate = 20 },
		{ "w", "b", .step_s = 20, .first_s = 1, .last_s = 2401, .rate = 1 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * (2401.0 - 3), .units = 20 * (2400.0 - 3) + 2401 - 3,
	       .start_s = 3, .end_s = 2401);
}

/* What was counted between the last sample and the reset is in no sample. */
static void a_reset_of_work_counts_from_zero(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "w", "a", EACH, .rate = 20, .zero_s = -2000, .reset_s = 1505 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * LAST_S, .units = 20 * (LAST_S - 5), .end_s = LAST_S);
}

static void a_meter_goes_on_while_its_exporter_restarts(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000, .reset_s = 1505 },
		{ "w", "a", EACH, .rate = 20, .zero_s = -2000 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * LAST_S, .units = 20 * LAST_S, .end_s = LAST_S);
}

static void replicas_that_come_and_go_count_whole(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "j", "b", STEP_S, 900, 1800, .rate = 7, .zero_s = 890 },
		{ "w", "a", EACH, .rate = 20, .zero_s = -2000 },
		{ "w", "b", STEP_S, 900, 1800, .rate = 30, .zero_s = 890 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * LAST_S + 7 * 910, .units = 20 * LAST_S + 30 * 910,
	       .end_s = LAST_S);
}

static void blocks_on_both_sides_of_a_gap_are_one(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "w", "a", EACH, .rate = 20, .gap_s = 1000, .gap_end_s = 1300 },
	};

	(void)state;
	/* Samples at 990 and 1305, blocks of 60 s: bounds at 1020, 1080, .., 1260. */
	EXPECT(c, .joules = 5 * LAST_S, .units = 20 * LAST_S, .end_s = LAST_S,
	       .merged = 5);
}

static void a_counter_that_was_there_before_is_known_from_its_first_sample(void **state)
{
	const struct counter late[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "w", "a", STEP_S, 900, LAST_S, .rate = 20, .zero_s = -1e6 },
	};
	const struct counter beside[] = {
		late[0],
		{ "w", "a", EACH, .rate = 20, .zero_s = -1e6 },
		{ "w", "b", STEP_S, 900, LAST_S, .rate = 20, .zero_s = -1e6 },
	};

	(void)state;
	EXPECT(late, .joules = 5 * (LAST_S - 900), .units = 20 * (LAST_S - 900),
	       .start_s = 900, .end_s = LAST_S);
	EXPECT(beside, .joules = 5 * LAST_S, .units = 20 * (2 * LAST_S - 900),
	       .end_s = LAST_S);
}

/* Else it would be subtracted from a part of the blocks only. */
static void blocks_are_of_the_time_in_which_idle_energy_is_known(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000 },
		{ "i", "a", STEP_S, 900, 1800, .rate = 2, .zero_s = -1000 },
		{ "w", "a", EACH, .rate = 20, .zero_s = -2000 },
	};

	(void)state;
	EXPECT(c, .joules = 5 * 900, .idle_joules = 2 * 900, .units = 20 * 900,
	       .start_s = 900, .end_s = 1800);
}

/* ---- gauges, and the Software Carbon Intensity ---- */

/* A gauge each 15 s: one value until 1500 s, then another. */
static void add_gauge(struct fixture *f, struct tw_selection *s, const char *metric,
		      double first, double then)
{
	double time_ms[SAMPLES], value[SAMPLES];
	struct tw_selector by = { 0 };
	struct tw_err err = { 0 };
	size_t at;

	for (size_t i = 0; i < SAMPLES; i++) {
		time_ms[i] = START_MS + 1e3 * STEP_S * (double)i;
		value[i] = STEP_S * i < 1500 ? first : then;
	}
	if (tw_prom_add_metric(f->prom, metric, 1, &at, &err) < 0 ||
	    tw_prom_add_series(f->prom, at, NULL, 0, time_ms, value, SAMPLES, &err) < 0 ||
	    tw_selector_parse(metric, &by, &err) < 0 ||
	    tw_selection_add(s, f->prom, &by, &err) < 0)
		fail_msg("%s", err.text);
	tw_selector_release(&by);
}

static void carbon_follows_the_energy_and_the_time(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5 },
		{ "w", "a", EACH, .rate = 20 },
	};
	const struct tw_sci_input in = { .idle_w = 3,
					 .intensity = NAN,
					 .embodied_kg = 1000,
					 .lifespan_years = 4,
					 .reserved = 0.5 };
	const double kg_s = 1000 * 0.5 / (4 * 365.25 * 86400);
	struct tw_selection gauge = { 0 };
	struct tw_unit_blocks b = { 0 };
	struct tw_sci sci = { 0 };
	struct tw_err err = { 0 };
	struct fixture f;

	(void)state;
	open_fixture(&f, c, TW_COUNT(c));
	if (tw_unit_blocks_make(&f.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(tw_sci_compute(&b, &in, &sci, &err), -1);
	assert_string_equal(err.text, "no carbon intensity in the block from "
				      "2023-11-14T22:13:20.000Z");
	tw_unit_blocks_release(&b);
	add_gauge(&f, &gauge, "i", 300, 500);
	f.in.intensity = tw_selection_source(&gauge, "intensity");
	tw_err_clear(&err);
	if (tw_unit_blocks_make(&f.in, &b, &err) < 0 ||
	    tw_sci_compute(&b, &in, &sci, &err) < 0)
		fail_msg("%s", err.text);
	expect_near("kWh", 1e6 * sci.energy_kwh, 1e6 * 8 * LAST_S / 3.6e6);
	expect_near("g", sci.operational_g,
		    8 * (1500 * 300 + (LAST_S - 1500) * 500) / 3.6e6);
	expect_near("M", sci.embodied_g, 1e3 * kg_s * LAST_S);
	expect_near("R", sci.units, 20 * LAST_S);
	expect_near("SCI", 1e6 * sci.g_per_unit,
		    1e6 * (sci.operational_g + sci.embodied_g) / (20 * LAST_S));
	tw_unit_blocks_release(&b);
	tw_selection_release(&gauge);
	close_fixture(&f);
}

static void joules_are_told_by_the_size_of_batches(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5 },
		{ "w", "a", EACH, .rate = 20 },
	};
	struct tw_unit_batch out[TW_UNIT_BATCH_PARTS];
	struct tw_selection gauge = { 0 };
	struct tw_unit_blocks b = { 0 };
	struct tw_unit_fit fit = { .works = 1 };
	struct tw_err err = { 0 };
	double predicted[SAMPLES];
	struct fixture f;

	(void)state;
	open_fixture(&f, c, TW_COUNT(c));
	add_gauge(&f, &gauge, "i", 16, 4);
	f.in.batch = tw_selection_source(&gauge, "batch");
	if (tw_unit_blocks_make(&f.in, &b, &err) < 0)
		fail_msg("%s", err.text);
	/* A unit takes 0.05 J more than the fit's 0.2 J, in large batches 0.2 J less. */
	fit.work[0].joules.at = 0.2;
	fit.predicted_j = predicted;
	for (size_t i = 0; i < b.count; i++)
		predicted[i] =
			b.energy_j[i] - (b.batch[i] > 10 ? -0.2 : 0.05) * b.work[i];
	if (tw_unit_batches(&b, &fit, out, &err) < 0)
		fail_msg("%s", err.text);
	expect_near("small batches", out[0].size, 4);
	expect_near("large batches", out[3].size, 16);
	expect_near("J of small batches", out[0].joules[0], 0.25);
	expect_near("J of large batches", out[3].joules[0], 0);
	assert_int_equal(out[0].blocks + out[1].blocks + out[2].blocks + out[3].blocks,
			 b.count);
	tw_unit_blocks_release(&b);
	tw_selection_release(&gauge);
	close_fixture(&f);
}

/* ---- refusals ---- */

static void refuse(const struct counter *c, size_t count, uint64_t block_ms,
		   const char *text)
{
	struct fixture f;
	struct tw_unit_blocks b = { 0 };
	struct tw_err err = { 0 };

	open_fixture(&f, c, count);
	f.in.block_ms = block_ms;
	assert_int_equal(tw_unit_blocks_make(&f.in, &b, &err), -1);
	assert_string_equal(err.text, text);
	close_fixture(&f);
}

static void what_makes_no_blocks_is_refused(void **state)
{
	const struct counter good[] = {
		{ "j", "a", EACH, .rate = 5 },
		{ "w", "a", EACH, .rate = 20 },
	};
	const struct counter apart[] = {
		{ "j", "a", STEP_S, 1500, LAST_S, .rate = 5 },
		{ "w", "a", STEP_S, 0, 900, .rate = 20 },
	};
	const struct counter single[] = {
		{ "j", "a", STEP_S, 0, 0, .rate = 5 },
		{ "w", "a", STEP_S, 0, 0, .rate = 20 },
	};

	(void)state;
	refuse(good, 1, 0, "no series of the work work");
	refuse(good, 2, 20000,
	       "blocks of 20 s are too short for samples each 15 s: want 45 s or more");
	refuse(good, 2, 4000000,
	       "energy and work have 2.98e+03 s in common, less than a block of 4e+03 s");
	refuse(apart, 2, 0,
	       "energy and work have no time in common: energy begins at 1700001500 s, "
	       "work ends at 1700000900 s");
	refuse(single, 2, 0, "no series has two samples");
}

static void every_failed_allocation_is_reported(void **state)
{
	const struct counter c[] = {
		{ "j", "a", EACH, .rate = 5, .zero_s = -1000, .reset_s = 1505 },
		{ "w", "a", EACH, .rate = 20, .gap_s = 1000, .gap_end_s = 1300 },
	};
	struct fixture f;

	(void)state;
	open_fixture(&f, c, TW_COUNT(c));
	for (int n = 1;; n++) {
		struct tw_unit_blocks b = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_unit_blocks_make(&f.in, &b, &err);
		tw_unit_blocks_release(&b);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 20);
			break;
		}
	}
	close_fixture(&f);
}

/* ---- energy by zone and mode ---- */

static void add_zone(struct tw_prom *p, const char *instance, const char *zone,
		     const char *mode)
{
	const struct tw_label label[] = { { "instance", instance },
					  { "zone", zone },
					  { "mode", mode } };
	const double time_ms = START_MS, value = 1;
	struct tw_err err = { 0 };
	size_t metric;

	if (tw_prom_add_metric(p, "j", 1, &metric, &err) < 0 ||
	    tw_prom_add_series(p, metric, label, 3, &time_ms, &value, 1, &err) < 0)
		fail_msg("%s", err.text);
}

static void select_energy(const struct tw_prom *p, const char *text, size_t want,
			  size_t want_idle)
{
	struct tw_selector by = { 0 };
	struct tw_selection s = { 0 }, idle = { 0 };
	struct tw_err err = { 0 };

	/* Twice: a series counts once. */
	if (tw_selector_parse(text, &by, &err) < 0 ||
	    tw_selection_add_energy(&s, &idle, p, &by, &err) < 0 ||
	    tw_selection_add_energy(&s, &idle, p, &by, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	if (s.count != want || idle.count != want_idle)
		fail_msg("%s: %zu and %zu series", text, s.count, idle.count);
	tw_selection_release(&s);
	tw_selection_release(&idle);
	tw_selector_release(&by);
}

static void energy_counts_no_watt_twice_and_idle_apart(void **state)
{
	struct tw_err err = { 0 };
	struct tw_prom *p = tw_prom_new(&err);
	static const char *const all[] = { "package", "core", "dram", "platform" };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(all); i++) {
		add_zone(p, "a", all[i], "dynamic");
		add_zone(p, "a", all[i], "idle");
	}
	add_zone(p, "b", "platform", "dynamic");
	add_zone(p, "b", "dram", "dynamic");
	/* package and dram of a, platform of b */
	select_energy(p, "j", 3, 2);
	select_energy(p, "j{instance=\"b\"}", 1, 0);
	select_energy(p, "j{zone=\"core\"}", 1, 1);
	select_energy(p, "j{mode=~\"idle|dynamic\"}", 5, 0);
	tw_prom_free(p);
}

/* ---- selectors ---- */

static void selectors_take_series_as_promql_does(void **state)
{
	static const struct {
		const char *text;
		bool takes; /* pod="web-1" */
	} cases[] = {
		{ "m", true },
		{ " m { } ", true },
		{ "m{pod=\"web-1\"}", true },
		{ "m{pod='web-1',}", true },
		{ "m{pod=\"web\"}", false },
		{ "m{pod!=\"web\"}", true },
		{ "m{pod=~\"web-.*\"}", true },
		{ "m{pod=~\"web\"}", false },
		{ "m{pod=~\"db|web-1\"}", true },
		{ "m{pod!~\"web-.*\"}", false },
		{ "m{node=\"\"}", true },
		{ "m{node!=\"\"}", false },
		{ "m{pod=\"web-1\", node = \"a\"}", false },
		{ "m{pod=\"web\\-1\"}", true },
	};
	const struct tw_label pod = { "pod", "web-1" };
	const struct tw_series s = { .label = &pod, .labels = 1 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_selector by = { 0 };
		struct tw_err err = { 0 };

		if (tw_selector_parse(cases[i].text, &by, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_string_equal(by.metric, "m");
		if (tw_selector_takes(&by, &s) != cases[i].takes)
			fail_msg("%s", cases[i].text);
		tw_selector_release(&by);
	}
}

static void malformed_selectors_name_their_fault(void **state)
{
	static const struct {
		const char *text, *fault;
	} cases[] = {
		{ "", "no name of a metric at ''" },
		{ "{a=\"b\"}", "no name of a metric at '{a=\"b\"}'" },
		{ "9m", "no name of a metric at '9m'" },
		{ "m{", "no label at ''" },
		{ "m{a}", "no operator =, !=, =~ or !~ at '}'" },
		{ "m{a!\"b\"}", "no operator =, !=, =~ or !~ at '!\"b\"}'" },
		{ "m{a=b}", "no value in quotes at 'b}'" },
		{ "m{a=\"b}", "a value without its end: \"b}" },
		{ "m{a=\"b\" c=\"d\"}", "neither , nor } at 'c=\"d\"}'" },
		{ "m{a=~\"(\"}", "'(' is not a regular expression" },
		{ "m[5m]", "'[5m]' behind the selector: want metric{label=\"value\"}" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_selector by = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_selector_parse(cases[i].text, &by, &err), -1);
		assert_string_equal(err.text, cases[i].fault);
		assert_null(by.metric);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_the_samples),
		cmocka_unit_test(other_scrape_intervals_give_the_same_sums),
		cmocka_unit_test(a_reset_of_work_counts_from_zero),
		cmocka_unit_test(a_meter_goes_on_while_its_exporter_restarts),
		cmocka_unit_test(replicas_that_come_and_go_count_whole),
		cmocka_unit_test(blocks_on_both_sides_of_a_gap_are_one),
		cmocka_unit_test(
			a_counter_that_was_there_before_is_known_from_its_first_sample),
		cmocka_unit_test(blocks_are_of_the_time_in_which_idle_energy_is_known),
		cmocka_unit_test(carbon_follows_the_energy_and_the_time),
		cmocka_unit_test(joules_are_told_by_the_size_of_batches),
		cmocka_unit_test(what_makes_no_blocks_is_refused),
		cmocka_unit_test(every_failed_allocation_is_reported),
		cmocka_unit_test(energy_counts_no_watt_twice_and_idle_apart),
		cmocka_unit_test(selectors_take_series_as_promql_does),
		cmocka_unit_test(malformed_selectors_name_their_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
