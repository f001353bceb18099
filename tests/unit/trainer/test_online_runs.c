/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/field/feature.h"
#include "tests/unit/scratch.h"
#include "trainer/extract/extract.h"
#include "trainer/online/attempt.h"
#include "trainer/online/store.h"
#include "trainer/response/prom.h"
#include "trainer/response/prom_store.h"

#include <stdlib.h>
#include <string.h>

#define RESPONSE "tests/data/prom/simulated-0.7.json"

/* The samples of (from_ms, to_ms], as text. */
static void cut(const struct tw_prom *p, double from_ms, double to_ms, struct tw_buf *out)
{
	struct tw_err err = { 0 };
	struct tw_prom *part = tw_prom_new(&err);
	double time[256], value[256];

	for (size_t m = 0; m < p->count; m++) {
		const struct tw_prom_metric *metric = &p->metric[m];
		size_t at;

		assert_int_equal(tw_prom_add_metric(part, metric->name,
						    strlen(metric->name), &at, &err),
				 0);
		for (size_t k = 0; k < metric->count; k++) {
			const struct tw_series *s = &metric->series[k];
			struct tw_unpack t = tw_unpack_begin(&s->time_ms);
			struct tw_unpack v = tw_unpack_begin(&s->value);
			size_t n = 0;

			for (size_t i = 0; i < s->value.count; i++) {
				time[n] = tw_unpack_next(&t);
				value[n] = tw_unpack_next(&v);
				n += time[n] > from_ms && time[n] <= to_ms;
			}
			if (n > 0 && tw_prom_add_series(part, at, s->label, s->labels,
							time, value, n, &err) < 0)
				fail_msg("%s", err.text);
		}
	}
	tw_prom_text(part, out);
	assert_false(tw_buf_failed(out));
	tw_prom_free(part);
}

static struct tw_prom *read_response(void)
{
	struct tw_prom *p = NULL;
	struct tw_err err = { 0 };

	if (tw_prom_read(RESPONSE, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static double first_ms(const struct tw_prom *p)
{
	return tw_packed_first(&p->metric[0].series[0].time_ms);
}

static struct tw_extract_args make_args(const struct tw_train_response *r)
{
	return (struct tw_extract_args){ .source = tw_energy_source_find("rapl-sysfs"),
					 .group = tw_feature_group_find("BPFOnly"),
					 .level = TW_ROWS_NODE,
					 .resets = TW_RESETS_CARRY,
					 .apart = true,
					 .span = r->span,
					 .spans = r->spans };
}

static void extract(const struct tw_train_response *r, struct tw_dataset *out)
{
	const struct tw_extract_args args = make_args(r);
	struct tw_err err = { 0 };

	if (tw_extract(r->prom, &args, out, &err) < 0)
		fail_msg("%s", err.text);
}

/* Store the response in segments of 30 s, but for those of a bit set. */
static struct tw_store *store_segments(const char *dir, const struct tw_prom *p,
				       unsigned without, struct tw_segments *out)
{
	char *path = scratch_path(dir, "online.sqlite");
	const double start = first_ms(p) - 1;
	struct tw_store *s = NULL;
	struct tw_err err = { 0 };

	if (tw_store_open(path, &s, &err) < 0)
		fail_msg("%s", err.text);
	free(path);
	for (unsigned i = 0; i < 10; i++) {
		struct tw_segment g = { .from_ms = (int64_t)start + 30000 * i,
					.to_ms = (int64_t)start + 30000 * (i + 1),
					.rows = 10 };
		struct tw_buf text = { 0 };

		cut(p, (double)g.from_ms, (double)g.to_ms, &text);
		if ((without >> i & 1) == 0 &&
		    tw_store_add(s, "m", &g, text.data, text.len, &err) < 0)
			fail_msg("%s", err.text);
		tw_buf_clear(&text);
	}
	assert_int_equal(tw_store_segments(s, "m", out, &err), 0);
	return s;
}

static void a_text_is_read_as_the_response_that_it_was(void **state)
{
	struct tw_prom *p = read_response(), *again = NULL;
	struct tw_dataset a = { 0 }, b = { 0 };
	struct tw_buf text = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	tw_prom_text(p, &text);
	if (tw_prom_parse(text.data, text.len, &again, &err) < 0)
		fail_msg("%s", err.text);
	extract(&(struct tw_train_response){ .prom = p }, &a);
	extract(&(struct tw_train_response){ .prom = again }, &b);
	assert_int_equal(a.rows, b.rows);
	for (size_t c = 0; c < a.cols; c++)
		assert_memory_equal(a.col[c].v, b.col[c].v, a.rows * sizeof(double));
	tw_dataset_release(&a);
	tw_dataset_release(&b);
	tw_buf_clear(&text);
	tw_prom_free(again);
	tw_prom_free(p);
}

static void a_run_gives_the_rows_of_the_whole_response(void **state)
{
	struct tw_prom *p = read_response();
	struct tw_segments w = { 0 };
	struct tw_store *s = store_segments(*state, p, 0, &w);
	struct tw_dataset a = { 0 }, b = { 0 };
	struct tw_runs runs = { 0 };
	struct tw_err err = { 0 };

	if (tw_runs_read(s, &w, (struct tw_window_choice){ 0 }, "m", *state, &runs,
			 &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(runs.count, 1);
	assert_string_equal(runs.response[0].machine, "m");
	extract(&(struct tw_train_response){ .prom = p }, &a);
	extract(&runs.response[0], &b);
	assert_int_equal(a.rows, b.rows);
	assert_memory_equal(a.time_ms, b.time_ms, a.rows * sizeof(a.time_ms[0]));
	for (size_t c = 0; c < a.cols; c++)
		assert_memory_equal(a.col[c].v, b.col[c].v, a.rows * sizeof(double));
	tw_dataset_release(&a);
	tw_dataset_release(&b);
	tw_runs_release(&runs);
	tw_segments_release(&w);
	tw_store_close(s);
	tw_prom_free(p);
}

/* They are cleaned with those of the other segments. */
static void a_run_has_the_rows_of_the_chosen_segments(void **state)
{
	struct tw_prom *p = read_response();
	struct tw_segments w = { 0 };
	struct tw_store *s = store_segments(*state, p, 0, &w);
	struct tw_dataset all = { 0 };
	struct tw_err err = { 0 };
	size_t rows[2] = { 0 };

	w.at[2].held = w.at[5].held = true;
	extract(&(struct tw_train_response){ .prom = p }, &all);
	for (int held = 0; held < 2; held++) {
		const struct tw_window_choice choice = { .held = held };
		struct tw_dataset some = { 0 };
		struct tw_runs runs = { 0 };

		assert_int_equal(tw_runs_read(s, &w, choice, "m", *state, &runs, &err),
				 0);
		assert_int_equal(runs.count, 1);
		extract(&runs.response[0], &some);
		for (size_t r = 0, i = 0; r < all.rows; r++) {
			while (all.time_ms[r] > w.at[i].to_ms)
				i++;
			if (w.at[i].held != held)
				continue;
			assert_true(rows[held] < some.rows);
			assert_int_equal(some.time_ms[rows[held]], all.time_ms[r]);
			for (size_t c = 0; c < all.cols; c++)
				assert_float_equal(some.col[c].v[rows[held]],
						   all.col[c].v[r], 0);
			rows[held]++;
		}
		assert_int_equal(some.rows, rows[held]);
		tw_dataset_release(&some);
		tw_runs_release(&runs);
	}
	assert_true(rows[0] > rows[1] && rows[1] > 0);
	tw_dataset_release(&all);
	tw_segments_release(&w);
	tw_store_close(s);
	tw_prom_free(p);
}

/* Other recordings may teach: train_rows.c goes on without this one. */
static void spans_without_rows_are_not_found(void **state)
{
	struct tw_prom *p = read_response();
	const int64_t start_ms = (int64_t)first_ms(p);
	const struct tw_time_span span[] = {
		{ start_ms - 60000, start_ms },
		{ start_ms + 60000, start_ms + 60000 },
	};
	const struct tw_extract_args args = make_args(
		&(struct tw_train_response){ .span = span, .spans = TW_COUNT(span) });
	struct tw_dataset d = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_extract(p, &args, &d, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text, "no row is left in the spans of time");
	tw_prom_free(p);
}

static void gaps_divide_runs_and_segments_without_rows_are_none(void **state)
{
	struct tw_prom *p = read_response();
	struct tw_segments w = { 0 };
	struct tw_store *s = store_segments(*state, p, 1u << 3 | 1u << 7, &w);
	struct tw_runs runs = { 0 };
	struct tw_err err = { 0 };

	w.at[w.count - 1].rows = w.at[w.count - 2].rows = 0;
	assert_int_equal(tw_runs_read(s, &w, (struct tw_window_choice){ 0 }, "m", *state,
				      &runs, &err),
			 0);
	assert_int_equal(runs.count, 2);
	tw_runs_release(&runs);
	/* A segment that is gone is an error, and leaves nothing behind. */
	assert_int_equal(tw_store_remove(s, w.at[1].id, &err), 0);
	assert_int_equal(tw_runs_read(s, &w, (struct tw_window_choice){ 0 }, "m", *state,
				      &runs, &err),
			 -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	tw_runs_release(&runs);
	tw_segments_release(&w);
	tw_store_close(s);
	tw_prom_free(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_set_up, scratch_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_is_read_as_the_response_that_it_was),
		TEST(a_run_gives_the_rows_of_the_whole_response),
		TEST(a_run_has_the_rows_of_the_chosen_segments),
		TEST(spans_without_rows_are_not_found),
		TEST(gaps_divide_runs_and_segments_without_rows_are_none),
	};

	return cmocka_run_group_tests_name("online_runs", tests, NULL, NULL);
}
