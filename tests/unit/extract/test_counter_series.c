/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/arena.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "trainer/extract/counter_series.h"

#include <string.h>

static const char key_a[] = "a", key_b[] = "b";

/* A series with one label. */
static struct tw_series make_series(struct tw_arena *arena, const struct tw_label *label,
				    const double *time_ms, const double *v, size_t count)
{
	struct tw_series s = { .label = label, .labels = 1 };
	struct tw_err err = { 0 };

	assert_int_equal(tw_pack(time_ms, count, arena, &s.time_ms, &err), 0);
	assert_int_equal(tw_pack(v, count, arena, &s.value, &err), 0);
	return s;
}

static const struct tw_label first = { "command", "one" }, second = { "command", "two" };

static void assert_sample(const struct tw_merged_series *t, size_t i, int64_t time_ms,
			  double v, unsigned parts, unsigned keys)
{
	assert_true(i < t->count);
	assert_int_equal(t->at[i].time_ms, time_ms);
	assert_true(t->at[i].value == v);
	assert_int_equal(t->at[i].series, parts);
	assert_int_equal(t->at[i].keys, keys);
}

static void samples_of_one_time_are_added_up(void **state)
{
	static const double early[] = { 1000, 2000, 3000 }, late[] = { 2000, 3000, 9000 };
	static const double v[] = { 1, 2, 4 }, w[] = { 10, 20, 40 };
	struct tw_arena arena = { 0 };
	const struct tw_series s[] = { make_series(&arena, &first, early, v, 3),
				       make_series(&arena, &second, late, w, 3),
				       make_series(&arena, &first, late, w, 2) };
	const struct tw_counter_series at[] = { { key_a, 0, &s[0] },
						{ key_a, 0, &s[1] },
						{ key_b, 0, &s[2] } };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_merged_series_join(&t, at, 3, &err), 0);
	assert_int_equal(t.count, 4);
	assert_sample(&t, 0, 1000, 1, 1, 1);
	assert_sample(&t, 1, 2000, 22, 3, 2);
	assert_sample(&t, 2, 3000, 44, 3, 2);
	assert_sample(&t, 3, 9000, 40, 1, 1);
	/* A second join replaces the result. */
	assert_int_equal(tw_merged_series_join(&t, at, 1, &err), 0);
	assert_int_equal(t.count, 3);
	assert_sample(&t, 2, 3000, 4, 1, 1);
	assert_int_equal(tw_merged_series_join(&t, at, 0, &err), 0);
	assert_int_equal(t.count, 0);
	tw_merged_series_release(&t);
	tw_arena_release(&arena);
}

/* Enough series for a heap of several levels. */
static void many_series_are_merged_in_order_of_time(void **state)
{
	enum { SERIES = 40, SAMPLES = 50 };
	struct tw_series s[SERIES];
	struct tw_counter_series at[SERIES];
	double time_ms[SAMPLES], v[SAMPLES];
	struct tw_arena arena = { 0 };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < SERIES; i++) {
		for (size_t k = 0; k < SAMPLES; k++) {
			time_ms[k] = (double)(k * SERIES + (i * 17) % SERIES);
			v[k] = time_ms[k] * 2;
		}
		s[i] = make_series(&arena, &first, time_ms, v, SAMPLES);
		at[i] = (struct tw_counter_series){ key_a, 0, &s[i] };
	}
	assert_int_equal(tw_merged_series_join(&t, at, SERIES, &err), 0);
	assert_int_equal(t.count, SERIES * SAMPLES);
	for (size_t i = 0; i < t.count; i++)
		assert_sample(&t, i, (int64_t)i, (double)i * 2, 1, 1);
	tw_merged_series_release(&t);
	tw_arena_release(&arena);
}

/* Few series, each of one sample; the earliest is at any place among them. */
static void the_earliest_sample_comes_first_wherever_its_series_is(void **state)
{
	enum { MOST = 7 };
	static const double v[] = { 5 };

	(void)state;
	for (size_t n = 2; n <= MOST; n++)
		for (size_t earliest = 0; earliest < n; earliest++) {
			struct tw_series s[MOST];
			struct tw_counter_series at[MOST];
			struct tw_arena arena = { 0 };
			struct tw_merged_series t = { 0 };
			struct tw_err err = { 0 };

			for (size_t i = 0; i < n; i++) {
				const double ms = (double)((i + n - earliest) % n);

				s[i] = make_series(&arena, &first, &ms, v, 1);
				at[i] = (struct tw_counter_series){ key_a, 0, &s[i] };
			}
			assert_int_equal(tw_merged_series_join(&t, at, n, &err), 0);
			assert_int_equal(t.count, n);
			for (size_t i = 0; i < n; i++)
				assert_sample(&t, i, (int64_t)i, 5, 1, 1);
			tw_merged_series_release(&t);
			tw_arena_release(&arena);
		}
}

/* Without compensation, 1e16 + 1 + 1 rounds to 1e16. */
static void small_terms_of_a_large_sum_are_kept(void **state)
{
	static const double time_ms[] = { 1000 }, large[] = { 1e16 }, one[] = { 1 };
	static const struct tw_label third = { "command", "three" };
	struct tw_arena arena = { 0 };
	const struct tw_series s[] = { make_series(&arena, &first, time_ms, large, 1),
				       make_series(&arena, &second, time_ms, one, 1),
				       make_series(&arena, &third, time_ms, one, 1) };
	const struct tw_counter_series at[] = { { key_a, 0, &s[0] },
						{ key_a, 0, &s[1] },
						{ key_a, 0, &s[2] } };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_merged_series_join(&t, at, 3, &err), 0);
	assert_sample(&t, 0, 1000, 1e16 + 2, 3, 1);
	tw_merged_series_release(&t);
	tw_arena_release(&arena);
}

/* Two series of one counter with the same labels. */
struct pair {
	struct tw_arena arena;
	struct tw_series s[2];
	struct tw_counter_series at[2];
};

static void make_pair(struct pair *p, const double *time_ms, const double *later)
{
	static const double v[] = { 1, 2 };

	*p = (struct pair){ 0 };
	p->s[0] = make_series(&p->arena, &first, time_ms, v, 2);
	p->s[1] = make_series(&p->arena, &first, later, v, 2);
	for (size_t i = 0; i < 2; i++)
		p->at[i] = (struct tw_counter_series){ key_a, 0, &p->s[i] };
}

static void two_series_with_equal_labels_must_not_overlap(void **state)
{
	static const double time_ms[] = { 1000, 2000 }, later[] = { 2000, 3000 };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };
	struct pair p;

	(void)state;
	make_pair(&p, time_ms, later);
	assert_int_equal(tw_merged_series_join(&t, p.at, 2, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(err.text, "two series of 'a' have a sample at 2000 ms");
	tw_merged_series_release(&t);
	tw_arena_release(&p.arena);
}

/* The labels of one series are the first of the other's. */
static void series_with_more_labels_may_overlap(void **state)
{
	static const struct tw_label labels[] = { { "command", "one" },
						  { "comm", "two" } };
	static const double time_ms[] = { 1000, 2000 };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };
	struct pair p;

	(void)state;
	make_pair(&p, time_ms, time_ms);
	p.s[0].label = p.s[1].label = labels;
	p.s[1].labels = 2;
	assert_int_equal(tw_merged_series_join(&t, p.at, 2, &err), 0);
	assert_sample(&t, 1, 2000, 4, 2, 1);
	tw_merged_series_release(&t);
	tw_arena_release(&p.arena);
}

/* A counter with labels equal to those of another, then the same counter again. */
static void only_series_of_one_counter_must_not_overlap(void **state)
{
	static const double time_ms[] = { 1000 }, one[] = { 1 };
	struct tw_arena arena = { 0 };
	const struct tw_series s[] = { make_series(&arena, &first, time_ms, one, 1),
				       make_series(&arena, &first, time_ms, one, 1),
				       make_series(&arena, &first, time_ms, one, 1) };
	const struct tw_counter_series at[] = { { key_a, 0, &s[0] },
						{ key_b, 0, &s[1] },
						{ key_b, 0, &s[2] } };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_merged_series_join(&t, at, 2, &err), 0);
	assert_sample(&t, 0, 1000, 2, 2, 2);
	assert_int_equal(tw_merged_series_join(&t, at, 3, &err), -1);
	assert_string_equal(err.text, "two series of 'b' have a sample at 1000 ms");
	tw_merged_series_release(&t);
	tw_arena_release(&arena);
}

static void two_series_without_labels_must_not_overlap(void **state)
{
	static const double time_ms[] = { 1000, 2000 };
	struct tw_merged_series t = { 0 };
	struct tw_err err = { 0 };
	struct pair p;

	(void)state;
	make_pair(&p, time_ms, time_ms);
	for (size_t i = 0; i < 2; i++) {
		p.s[i].label = NULL;
		p.s[i].labels = 0;
	}
	assert_int_equal(tw_merged_series_join(&t, p.at, 2, &err), -1);
	assert_string_equal(err.text, "two series of 'a' have a sample at 1000 ms");
	tw_merged_series_release(&t);
	tw_arena_release(&p.arena);
}

/* By key, column and first time; then as they were added. */
static void series_of_a_counter_are_in_order_of_their_begin(void **state)
{
	static const char *const labels[] = { "command", NULL };
	static const double v[] = { 1 };
	static const struct {
		const struct tw_label *label;
		size_t column;
		double time_ms;
		size_t want;
	} cases[] = {
		{ &second, 0, 1000, 5 }, { &first, 1, 1000, 4 }, { &first, 0, 3000, 3 },
		{ &first, 0, 1000, 0 },  { &first, 0, 2000, 1 }, { &first, 0, 2000, 2 },
	};
	enum { COUNT = TW_COUNT(cases) };
	struct tw_series s[COUNT];
	struct tw_arena arena = { 0 };
	struct tw_counter_set c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		s[i] = make_series(&arena, cases[i].label, &cases[i].time_ms, v, 1);
		assert_int_equal(
			tw_counter_set_add(&c, labels, cases[i].column, &s[i], &err), 0);
	}
	tw_counter_set_sort(&c);
	for (size_t i = 0; i < COUNT; i++)
		assert_ptr_equal(c.at[cases[i].want].series, &s[i]);
	assert_int_equal(tw_counter_set_next(&c, 0), 4);
	assert_int_equal(tw_counter_set_next(&c, 4), 5);
	assert_int_equal(tw_counter_set_next(&c, 5), 6);
	c.count = 2;
	assert_int_equal(tw_counter_set_next(&c, 0), 2);
	c.count = 6;
	tw_counter_set_release(&c);
	tw_arena_release(&arena);
}

static void two_series_are_sorted(void **state)
{
	static const char *const labels[] = { "command", NULL };
	static const double later[] = { 2000 }, time_ms[] = { 1000 }, v[] = { 1 };
	struct tw_arena arena = { 0 };
	const struct tw_series s[] = { make_series(&arena, &first, later, v, 1),
				       make_series(&arena, &first, time_ms, v, 1) };
	struct tw_counter_set c = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(tw_counter_set_add(&c, labels, 0, &s[i], &err), 0);
	tw_counter_set_sort(&c);
	assert_ptr_equal(c.at[0].series, &s[1]);
	assert_ptr_equal(c.at[1].series, &s[0]);
	tw_counter_set_release(&c);
	tw_arena_release(&arena);
}

/* As a search from one time to the next finds it. Times after the count are not read. */
static void the_first_time_that_is_not_before_another_is_found(void **state)
{
	static const int64_t ms[] = { 10, 20, 20, 30, 50, 60, 70, 80, 90 };
	enum { TIMES = TW_COUNT(ms) };

	(void)state;
	for (size_t times = 0; times <= TIMES; times++)
		for (size_t from = 0; from <= times; from++)
			for (int64_t t = 5; t <= 100; t += 5) {
				size_t want = from;

				while (want < times && ms[want] < t)
					want++;
				assert_int_equal(tw_times_find(ms, times, from, t), want);
			}
}

static void every_failed_allocation_is_reported(void **state)
{
	static const double time_ms[] = { 1000, 2000 }, later[] = { 3000, 4000 };
	struct pair p;

	(void)state;
	make_pair(&p, time_ms, later);
	for (int n = 1;; n++) {
		struct tw_merged_series t = { 0 };
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_merged_series_join(&t, p.at, 2, &err);
		if (!fail_alloc_told(rc, &err)) {
			assert_int_equal(t.count, 4);
			assert_true(n > 3);
			tw_merged_series_release(&t);
			break;
		}
		tw_merged_series_release(&t);
	}
	tw_arena_release(&p.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_of_one_time_are_added_up),
		cmocka_unit_test(many_series_are_merged_in_order_of_time),
		cmocka_unit_test(the_earliest_sample_comes_first_wherever_its_series_is),
		cmocka_unit_test(small_terms_of_a_large_sum_are_kept),
		cmocka_unit_test(two_series_with_equal_labels_must_not_overlap),
		cmocka_unit_test(series_with_more_labels_may_overlap),
		cmocka_unit_test(only_series_of_one_counter_must_not_overlap),
		cmocka_unit_test(two_series_without_labels_must_not_overlap),
		cmocka_unit_test(series_of_a_counter_are_in_order_of_their_begin),
		cmocka_unit_test(the_first_time_that_is_not_before_another_is_found),
		cmocka_unit_test(two_series_are_sorted),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	return cmocka_run_group_tests_name("counter_series", tests, NULL, NULL);
}
