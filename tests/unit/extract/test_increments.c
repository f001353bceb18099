/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "lib/core/arena.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/counter_series.h"
#include "trainer/extract/increments.h"
#include "trainer/response/prom.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 5, WANTED = 4 };

/* A series: "a0" is the counter of workload a in column 0. Samples "100,9 103,9.5" have
 * the value 9 at 100 ms. Series are in the order of tw_counter_set_sort(). */
struct line {
	const char *counter, *samples;
};

struct recorded {
	struct tw_arena arena;
	struct tw_series series[LINES];
	struct tw_counter_series at[LINES + 1]; /* the last has no series */
	struct tw_counter_set set;
	struct tw_ticks ticks;
};

static void record(struct recorded *r, const struct line *line, int64_t tick_ms)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	struct tw_err err = { 0 };

	*r = (struct recorded){ .set.at = r->at };
	for (size_t i = 0; i < LINES && line[i].counter != NULL; i++) {
		double ms[8], v[8];
		size_t n = 0;
		const char *next = line[i].samples;

		while (*next != '\0') {
			char *end;

			ms[n] = strtod(next, &end);
			v[n++] = strtod(end + 1, &end);
			next = end;
		}
		assert_int_equal(tw_pack(ms, n, &r->arena, &r->series[i].time_ms, &err),
				 0);
		assert_int_equal(tw_pack(v, n, &r->arena, &r->series[i].value, &err), 0);
		r->at[r->set.count++] = (struct tw_counter_series){
			.key = keys[line[i].counter[0] - 'a'],
			.column = (size_t)(line[i].counter[1] - '0'),
			.series = &r->series[i],
		};
	}
	assert_int_equal(tw_ticks_add_set(&r->ticks, &r->set, &err), 0);
	assert_int_equal(tw_ticks_add(&r->ticks, &tick_ms, tick_ms != 0, &err), 0);
	assert_int_equal(tw_ticks_settle(&r->ticks, &err), 0);
}

static void release(struct recorded *r)
{
	tw_ticks_release(&r->ticks);
	tw_arena_release(&r->arena);
}

#define STEADY(counter)                            \
	{                                          \
		counter, "100,1 103,1 106,1 109,1" \
	}

/* Half of the series that go on, or more, fall at once. */
static void a_restart_is_a_fall_of_half_of_the_counters(void **state)
{
	/* line: the number of the series that falls within itself; -1: none does. */
	static const struct {
		struct line line[LINES + 1];
		struct {
			size_t column;
			int64_t ms;
			size_t fell;
			int line;
		} want[WANTED];
	} cases[] = {
		{ { { "a0", "100,5 103,1" } }, { { 0, 103, 1, 0 } } },
		{ { { "a0", "100,5 103,1" }, STEADY("b0") }, { { 0, 103, 1, 0 } } },
		{ { { "a0", "100,5 103,1" }, STEADY("b0"), STEADY("c0") }, { { 0 } } },
		{ { { "a0", "100,5 103,1" },
		    STEADY("b0"),
		    { "c0", "100,5 103,1" },
		    STEADY("d0") },
		  { { 0, 103, 2, 0 } } },
		/* Each column by itself. */
		{ { { "a0", "100,5 103,1" },
		    { "a1", "100,5 103,1" },
		    STEADY("b1"),
		    STEADY("c1") },
		  { { 0, 103, 1, 0 } } },
		{ { { "a0", "100,5 103,1" }, { "a1", "100,5 103,1" } },
		  { { 0, 103, 1, 0 }, { 1, 103, 1, 1 } } },
		/* In order of time, not of the counters. */
		{ { { "a0", "100,5 103,5 106,5 109,1" },
		    { "b0", "100,5 103,1 106,1 109,1" } },
		  { { 0, 103, 1, 1 }, { 0, 109, 1, 0 } } },
		/* Series that ended before the fall, or begin after it, do not count. */
		{ { { "a0", "100,5 103,5 106,1 109,1" },
		    STEADY("b0"),
		    { "c0", "100,1 103,1" },
		    { "d0", "100,1 103,1" } },
		  { { 0, 106, 1, 0 } } },
		{ { { "a0", "100,5 103,5 106,1" },
		    { "b0", "100,1 103,1" },
		    { "c0", "109,1" } },
		  { { 0, 106, 1, 0 } } },
		{ { { "a0", "100,5 103,5 106,1" }, STEADY("b0"), { "c0", "109,1" } },
		  { { 0, 106, 1, 0 } } },
		/* From one series of the counter to the next. */
		{ { { "a0", "100,5" }, { "a0", "103,1 106,1" } }, { { 0, 103, 1, -1 } } },
		{ { { "a0", "100,5" }, { "a0", "103,1 106,1" }, { "b0", "100,5 103,1" } },
		  { { 0, 103, 2, 2 } } },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_restarts out = { 0 };
		struct tw_err err = { 0 };
		struct recorded r;
		size_t n = 0;

		record(&r, cases[i].line, 0);
		assert_int_equal(tw_restarts_find(&r.set, &r.ticks, &out, &err), 0);
		for (; n < WANTED && cases[i].want[n].ms != 0; n++) {
			const int line = cases[i].want[n].line;

			if (n >= out.count || out.at[n].ms != cases[i].want[n].ms ||
			    out.at[n].column != cases[i].want[n].column ||
			    out.at[n].fell != cases[i].want[n].fell ||
			    out.at[n].series != (line < 0 ? NULL : &r.series[line]))
				fail_msg("case %zu: restart %zu", i, n);
		}
		if (out.count != n)
			fail_msg("case %zu: %zu restarts", i, out.count);
		tw_restarts_release(&out);
		release(&r);
	}
}

/* How the first counter is read. */
static const struct read_case {
	struct line line[LINES + 1];
	bool of_node;
	int64_t tick_ms; /* a tick of no series; 0: none */
	int64_t first_ms;
	double most_per_ms; /* 0: any */
	struct tw_increment want[WANTED];
	struct tw_increment_counts counts;
} read_cases[] = {
	{ .line = { { "a0", "100,3 103,4 106,6" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 1, false }, { 103, 106, 2, false } } },
	/* Births. */
	{ .line = { { "a0", "106,2" }, STEADY("b0") },
	  .first_ms = 100,
	  .want = { { 103, 106, 2, false } },
	  .counts = { .births = 1, .singles = 1 } },
	{ .line = { { "a0", "106,2" }, { "a0", "106,3" }, STEADY("b0") },
	  .first_ms = 100,
	  .want = { { 103, 106, 2, false }, { 103, 106, 3, false } },
	  .counts = { .births = 2, .singles = 2 } },
	{ .line = { { "a0", "106,2" }, { "a0", "106,3 109,3.5" }, STEADY("b0") },
	  .first_ms = 100,
	  .want = { { 103, 106, 2, false },
		    { 103, 106, 3, false },
		    { 106, 109, 0.5, false } },
	  .counts = { .births = 2, .singles = 1 } },
	/* No birth without a tick before it. */
	{ .line = { { "a0", "100,3 103,4" } },
	  .first_ms = 99,
	  .want = { { 100, 103, 1, false } } },
	/* No birth at the first tick of features, whatever else was read before it. */
	{ .line = { { "a0", "100,3 103,4" } },
	  .tick_ms = 97,
	  .first_ms = 100,
	  .want = { { 100, 103, 1, false } } },
	{ .line = { { "a0", "106,2 109,3" }, STEADY("b0") },
	  .of_node = true,
	  .first_ms = 100,
	  .want = { { 106, 109, 1, false } } },
	/* The most that a birth may have, and more. */
	{ .line = { { "a0", "106,3" }, STEADY("b0") },
	  .first_ms = 100,
	  .most_per_ms = 1,
	  .want = { { 103, 106, 3, false } },
	  .counts = { .births = 1, .singles = 1 } },
	{ .line = { { "a0", "106,3.5" }, STEADY("b0") },
	  .first_ms = 100,
	  .most_per_ms = 1,
	  .want = { { 103, 106, 0, false } },
	  .counts = { .hidden = 1 } },
	/* A fall alone: another process, or a rate of 1 a ms that goes on. */
	{ .line = { { "a0", "100,3 103,6 106,2 109,4" }, STEADY("b0"), STEADY("c0") },
	  .first_ms = 100,
	  .want = { { 100, 103, 3, false },
		    { 103, 106, 2, false },
		    { 106, 109, 2, false } },
	  .counts = { .reused = 1 } },
	{ .line = { { "a0", "100,3 103,6 106,2 109,4" }, STEADY("b0"), STEADY("c0") },
	  .of_node = true,
	  .first_ms = 100,
	  .want = { { 100, 103, 3, false },
		    { 103, 106, 3, false },
		    { 106, 109, 2, false } },
	  .counts = { .carried = 1 } },
	{ .line = { { "a0", "100,3 103,6 106,6" }, STEADY("b0") },
	  .of_node = true,
	  .first_ms = 100,
	  .want = { { 100, 103, 3, false }, { 103, 106, 0, false } } },
	/* Restarts: the last rate, here 0, goes on. */
	{ .line = { { "a0", "100,9 103,9.5 106,9.5 109,1" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 0.5, false },
		    { 103, 106, 0, false },
		    { 106, 109, 0, false } },
	  .counts = { .carried = 1 } },
	{ .line = { { "a0", "100,9 103,1" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 0, false } },
	  .counts = { .carried = 1 } },
	/* A fall alone has no rate that could go on at the restart after it. */
	{ .line = { { "a0", "100,6 103,2 106,1" },
		    { "b0", "100,3 103,3 106,1" },
		    { "c0", "100,3 103,3 106,1" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 2, false }, { 103, 106, 0, false } },
	  .counts = { .carried = 1, .reused = 1 } },
	/* Back to the first series after a pause, in which another went on. */
	{ .line = { { "a0", "100,1 109,4" }, { "a0", "103,2 106,3" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 1, false },
		    { 103, 106, 1, false },
		    { 106, 109, 1, false } } },
	{ .line = { { "a0", "0,1 9,4" }, { "a0", "3,2 6,3" } },
	  .first_ms = 0,
	  .want = { { 0, 3, 1, false }, { 3, 6, 1, false }, { 6, 9, 1, false } } },
	/* Of two series that ended at once, the first goes on. */
	{ .line = { { "a0", "100,1 103,2" },
		    { "a0", "100,5 103,5.5" },
		    { "a0", "106,6" } },
	  .first_ms = 100,
	  .want = { { 100, 103, 1, false },
		    { 100, 103, 0.5, false },
		    { 103, 106, 4, false } } },
};

static int read_first(const struct read_case *c, struct recorded *r,
		      struct tw_increments *out, struct tw_err *err)
{
	struct tw_restarts restarts = { 0 };
	const struct tw_increment_rules rules = {
		.ticks = &r->ticks,
		.restarts = &restarts,
		.births = !c->of_node,
		.first_ms = c->first_ms,
		.most_per_ms = c->most_per_ms > 0 ? c->most_per_ms : INFINITY,
	};
	int status = tw_restarts_find(&r->set, &r->ticks, &restarts, err);

	if (status == 0)
		status = tw_increments_read(out, r->at, tw_counter_set_next(&r->set, 0),
					    &rules, err);
	tw_restarts_release(&restarts);
	return status;
}

static void a_counter_is_read_by_the_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(read_cases); i++) {
		const struct read_case *c = &read_cases[i];
		struct tw_increments out = { 0 };
		struct tw_err err = { 0 };
		struct recorded r;
		size_t n = 0;

		record(&r, c->line, c->tick_ms);
		assert_int_equal(read_first(c, &r, &out, &err), 0);
		for (; n < WANTED && c->want[n].to_ms != 0; n++)
			if (n >= out.count || out.at[n].from_ms != c->want[n].from_ms ||
			    out.at[n].to_ms != c->want[n].to_ms ||
			    fabs(out.at[n].amount - c->want[n].amount) > 1e-12)
				fail_msg("case %zu: increment %zu", i, n);
		if (out.count != n)
			fail_msg("case %zu: %zu increments", i, out.count);
		assert_int_equal(out.counts.hidden_at.count, out.counts.hidden > 0);
		out.counts.hidden_at = (struct tw_hidden){ .count = 0 };
		if (memcmp(&out.counts, &c->counts, sizeof(out.counts)) != 0)
			fail_msg("case %zu: counts", i);
		tw_increments_release(&out);
		release(&r);
	}
}

static void a_counter_without_memory_is_an_error(void **state)
{
	(void)state;
	for (size_t i = 0; i < TW_COUNT(read_cases); i++) {
		struct recorded r;
		bool told = true;

		record(&r, read_cases[i].line, read_cases[i].tick_ms);
		for (int n = 1; told; n++) {
			struct tw_increments out = { 0 };
			struct tw_err err = { 0 };

			fail_alloc_at(n);
			told = fail_alloc_told(read_first(&read_cases[i], &r, &out, &err),
					       &err);
			tw_increments_release(&out);
		}
		release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_restart_is_a_fall_of_half_of_the_counters),
		cmocka_unit_test(a_counter_is_read_by_the_rules),
		cmocka_unit_test(a_counter_without_memory_is_an_error),
	};

	return cmocka_run_group_tests_name("increments", tests, NULL, NULL);
}
