/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation by workload and by shuffled rows, and the tables of what ran when.
 */
#include "lib/core/array.h"
#include "tests/unit/quick.h"
#include "tests/unit/tw_test.h"

#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/train_fixture.h"
#include "trainer/fit/trainer.h"
#include "trainer/fit/validate.h"
#include "trainer/fit/workload_runs.h"
#include "trainer/train_data.h"
#include "trainer/train_machines.h"
#include "trainer/train_rows.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

static void read_workloads(const char *text, struct tw_workload_runs *w)
{
	struct tw_err err = { 0 };

	if (tw_workload_runs_read(text, strlen(text), w, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_workload_is_found_by_time(void **state)
{
	struct tw_workload_runs w = { 0 };

	(void)state;
	read_workloads("note,end,workload,start\n"
		       "x,2023-09-22T05:43:58.5Z,stress,2023-09-22T05:43:48Z\n"
		       ",100.5,coremark,100\n"
		       ",300,coremark,200\n",
		       &w);
	assert_int_equal(w.names.count, 2);
	assert_int_equal(tw_workload_runs_at(&w, 99999), UINT32_MAX);
	assert_int_equal(tw_workload_runs_at(&w, 100000), 1);
	assert_int_equal(tw_workload_runs_at(&w, 100499), 1);
	assert_int_equal(tw_workload_runs_at(&w, 100500), UINT32_MAX);
	assert_int_equal(tw_workload_runs_at(&w, 250000), 1);
	assert_int_equal(tw_workload_runs_at(&w, 1695361428000), 0);
	assert_int_equal(tw_workload_runs_at(&w, 1695361438499), 0);
	assert_int_equal(tw_workload_runs_at(&w, 1695361438500), UINT32_MAX);
	assert_string_equal(w.names.at[0], "stress");
	tw_workload_runs_release(&w);
}

static void a_wrong_table_is_refused_by_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "the file is empty" },
		{ "workload,start\n", "no column 'end'" },
		{ "workload,start,end,end\n", "column 'end' appears twice" },
		{ "workload,start,end\n", "the file names no workload" },
		{ "workload,start,end\na,1\n", "line 2: the row has no end" },
		{ "workload,start,end\n,1,2\n", "line 2: the workload has no name" },
		{ "workload,start,end\n\xff,1,2\n", "line 2: the workload has no name" },
		{ "workload,start,end\na,2,2\n", "line 2: 'a' ends before it starts" },
		{ "workload,start,end\na,x,2\n", "line 2: 'x' is not a time such as" },
		{ "workload,start,end\na,2023-13-22T05:43:48Z,2\n",
		  "is not a time such as" },
		{ "workload,start,end\na,2023-09-22T05:43:48,2\n",
		  "is not a time such as" },
		{ "workload,start,end\na,-1,2\n", "line 2: '-1' is not a time" },
		{ "workload,start,end\na,1e300,2\n", "is not a time such as" },
		{ "workload,start,end\na,1,3\nb,2,4\n", "'a' and 'b' overlap" },
		{ "workload,start,end\n\"a,1,3\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_workload_runs w = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_workload_runs_read(cases[i].text,
						       strlen(cases[i].text), &w, &err),
				 -1);
		if (strstr(err.text, cases[i].error) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].error, err.text);
		assert_int_equal(w.count, 0);
	}
}

static void rows_of_no_workload_are_in_no_fold(void **state)
{
	static const int64_t time_ms[] = { 0, 1000, 2000, 3000, 4000, 5000 };
	struct tw_workload_runs w = { 0 };
	struct tw_folds f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	/* A workload without rows gives no fold. */
	read_workloads("workload,start,end\nlate,100,200\nb,4,5\na,1,3\n", &w);
	assert_int_equal(tw_folds_by_workload(&w, time_ms, 6, &f, &err), 0);
	assert_int_equal(f.count, 2);
	assert_string_equal(f.names.at[0], "b");
	assert_string_equal(f.names.at[1], "a");
	assert_int_equal(f.of[0], TW_FOLD_NONE);
	assert_int_equal(f.of[1], 1);
	assert_int_equal(f.of[2], 1);
	assert_int_equal(f.of[3], TW_FOLD_NONE);
	assert_int_equal(f.of[4], 0);
	tw_folds_release(&f);
	tw_workload_runs_release(&w);
}

/* All rows outside a fold train, whatever their neighbours share with them. */
static void overlap_of_neighbours_takes_no_rows_from_a_fold(void **state)
{
	enum { ROWS = 40 };
	static const char *const features[] = { "bpf_cpu_time_ms" };
	const struct tw_trainer *t = tw_trainer_find("LinearRegressionTrainer");
	struct tw_samples s = { .rows = ROWS, .cols = 1, .features = features };
	double x[ROWS], y[ROWS], without[ROWS] = { 0 }, with[ROWS] = { 0 };
	struct tw_folds f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[r] = (double)r;
		y[r] = 10 + (double)(r * r); /* a line is another for other rows */
	}
	s.x = x;
	s.y = y;
	assert_int_equal(tw_folds_shuffled(ROWS, 4, 3, &f, &err), 0);
	assert_int_equal(tw_folds_validate(&f, 1, t, &s, 1, without, &err), 0);
	s.overlap = 5;
	assert_int_equal(tw_folds_validate(&f, 1, t, &s, 1, with, &err), 0);
	for (size_t r = 0; r < ROWS; r++) {
		assert_true(with[r] == without[r]);
		assert_true((f.of[r] == 1) == (with[r] != 0));
	}
	tw_folds_release(&f);
}

static void one_workload_alone_cannot_be_left_out(void **state)
{
	static const uint32_t recording[] = { 0, 0, 0 };
	static const uint32_t nowhere[] = { TW_FOLD_NONE, TW_FOLD_NONE };
	static const char *const names[] = { "a.json", "b.json" };
	struct tw_folds f = { 0 };
	struct tw_err err = { 0 }, none = { 0 };

	(void)state;
	assert_int_equal(tw_folds_by_recording(recording, names, 2, 3, &f, &err), -1);
	assert_int_equal(err.code, TW_INVALID);
	assert_string_equal(
		err.text, "1 workloads have rows, need 2, or 1 and rows of no workload");
	assert_int_equal(tw_folds_by_recording(nowhere, names, 2, 2, &f, &none), -1);
	assert_string_equal(none.text, "0 workloads have rows, need 2, or 1 and rows of "
				       "no workload");
	assert_null(f.of);
}

static void recordings_with_rows_are_numbered_in_order(void **state)
{
	static const char *const names[] = { "a.json", "b.json", "c.json" };
	static const struct {
		uint32_t recording[3];
		size_t count;
		uint32_t of[3];
		const char *last;
	} cases[] = {
		{ { 2, 0, 0 }, 2, { 1, 0, 0 }, "c.json" },
		{ { 0, 2, 2 }, 2, { 0, 1, 1 }, "c.json" },
		{ { 2, 2, TW_FOLD_NONE }, 1, { 0, 0, TW_FOLD_NONE }, "c.json" },
		{ { 2, 0, 1 }, 3, { 2, 0, 1 }, "c.json" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		struct tw_folds f = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(
			tw_folds_by_recording(cases[i].recording, names, 3, 3, &f, &err),
			0);
		assert_string_equal(f.scheme, "workload");
		assert_int_equal(f.count, cases[i].count);
		assert_int_equal(f.names.count, cases[i].count);
		assert_string_equal(f.names.at[f.count - 1], cases[i].last);
		assert_memory_equal(f.of, cases[i].of, sizeof(cases[i].of));
		tw_folds_release(&f);
	}
}

/* 100 of 600 by chance; the standard deviation is 9. */
static void each_order_of_three_rows_is_as_likely(void **state)
{
	size_t count[6] = { 0 };

	(void)state;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		struct tw_folds f = { 0 };
		struct tw_err err = { 0 };

		assert_int_equal(tw_folds_shuffled(3, 7, seed, &f, &err), 0);
		assert_int_equal(f.count, 3);
		assert_int_equal(f.of[0] + f.of[1] + f.of[2], 3);
		count[2 * f.of[0] + (f.of[1] > f.of[2])]++;
		tw_folds_release(&f);
	}
	for (size_t i = 0; i < 6; i++)
		assert_true(count[i] > 46 && count[i] < 154);
}

/*
 * Rows outside fold 1 are at 0, 1 and 2 with 1, 1 and 4 W: the line of least squares is
 * 1.5 x + 0.5. Rows of the fold draw other power, which the line does not know.
 */
static void a_fold_is_predicted_by_the_rows_outside(void **state)
{
	static const char *const features[] = { "bpf_cpu_time_ms" };
	static const double x[] = { 0, 3, 1, 5, 2 }, y[] = { 1, 99, 1, 77, 4 };
	static const double want[] = { -7, 5, -7, 8, -7 };
	uint32_t of[] = { 0, 1, TW_FOLD_NONE, 1, 0, 0 };
	const struct tw_folds f = { .of = of, .count = 2 };
	const struct tw_samples s = {
		.rows = 5, .cols = 1, .features = features, .x = x, .y = y
	};
	double predicted[] = { -7, -7, -7, -7, -7 };
	struct tw_err err = { 0 };

	(void)state;
	if (tw_folds_validate(&f, 1, tw_trainer_find("LinearRegressionTrainer"), &s, 1,
			      predicted, &err) < 0)
		fail_msg("%s", err.text);
	for (size_t r = 0; r < 5; r++)
		assert_float_equal(predicted[r], want[r], 1e-6);
}

static void folds_without_memory_are_an_error(void **state)
{
	static const uint32_t recording[] = { 0, 1, 0, 1, 0 };
	static const char *const names[] = { "a.json", "b.json" };
	static const char *const features[] = { "bpf_cpu_time_ms" };
	static const double x[] = { 0, 3, 1, 5, 2 }, y[] = { 1, 5, 2, 8, 4 };
	const struct tw_samples s = {
		.rows = 5, .cols = 1, .features = features, .x = x, .y = y
	};

	(void)state;
	for (int n = 1;; n++) {
		struct tw_folds recorded = { 0 }, shuffled = { 0 };
		struct tw_err err = { 0 };
		double predicted[5];
		int rc;

		fail_alloc_at(n);
		rc = tw_folds_by_recording(recording, names, 2, 5, &recorded, &err);
		if (rc == 0)
			rc = tw_folds_validate(&recorded, 1,
					       tw_trainer_find("LinearRegressionTrainer"),
					       &s, 1, predicted, &err);
		if (rc == 0)
			rc = tw_folds_shuffled(5, 2, 1, &shuffled, &err);
		tw_folds_release(&recorded);
		tw_folds_release(&shuffled);
		if (!fail_alloc_told(rc, &err)) {
			assert_true(n > 8);
			break;
		}
	}
}

/* Two features: 1 + 2 a + 3 b. */
static void each_row_keeps_its_features(void **state)
{
	enum { ROWS = 40 };
	static const char *const features[] = { "bpf_cpu_time_ms", "cpu_cycles" };
	double x[2 * ROWS], y[ROWS], predicted[ROWS];
	const struct tw_samples s = {
		.rows = ROWS,
		.cols = 2,
		.features = features,
		.x = x,
		.y = y,
		.unconstrained = true, /* no limit of the constant at the power at rest */
	};
	struct tw_folds f = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (size_t r = 0; r < ROWS; r++) {
		x[2 * r] = (double)(r * 7 % 40);
		x[2 * r + 1] = (double)(r * 11 % 40);
		y[r] = 1 + 2 * x[2 * r] + 3 * x[2 * r + 1];
	}
	assert_int_equal(tw_folds_shuffled(ROWS, 4, 3, &f, &err), 0);
	for (uint32_t k = 0; k < 4; k++)
		assert_int_equal(
			tw_folds_validate(&f, k,
					  tw_trainer_find("LinearRegressionTrainer"), &s,
					  1, predicted, &err),
			0);
	for (size_t r = 0; r < ROWS; r++)
		assert_float_equal(predicted[r], y[r], 1e-6);
	tw_folds_release(&f);
}

static void shuffled_folds_are_even_and_follow_from_the_seed(void **state)
{
	struct tw_folds a = { 0 }, again = { 0 }, other = { 0 };
	size_t count[5] = { 0 }, neighbours = 0;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_folds_shuffled(1003, 5, 1, &a, &err), 0);
	assert_int_equal(tw_folds_shuffled(1003, 5, 1, &again, &err), 0);
	assert_int_equal(tw_folds_shuffled(1003, 5, 2, &other, &err), 0);
	assert_memory_equal(a.of, again.of, 1003 * sizeof(*a.of));
	assert_memory_not_equal(a.of, other.of, 1003 * sizeof(*a.of));
	for (size_t r = 0; r < 1003; r++) {
		count[a.of[r]]++;
		neighbours += r > 0 && a.of[r] == a.of[r - 1];
	}
	for (size_t i = 0; i < 5; i++)
		assert_true(count[i] == 200 || count[i] == 201);
	/* One in five by chance; six standard deviations of it. */
	assert_true(neighbours > 124 && neighbours < 277);
	tw_folds_release(&a);
	tw_folds_release(&again);
	tw_folds_release(&other);
}

/* Rows of one workload have 50 W more: who has not seen it does not know that. */
static void set_up_two_workloads(struct training *t)
{
	double *package;

	train_set_up(t, 40);
	package = tw_dataset_find(&t->d, "package_power");
	for (size_t r = 20; r < 30; r++)
		package[r] += 50;
}

static void a_workload_that_was_left_out_is_judged_without_it(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_workload_runs w = { 0 };
	struct tw_err err = { 0 };
	const json_t *maes;
	json_t *m;

	(void)state;
	set_up_two_workloads(&t);
	read_workloads("workload,start,end\nquiet,1700000000,1700000030\n"
		       "loud,1700000060,1700000090\n",
		       &w);
	t.job.workloads = &w;
	t.job.shuffled = true;
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers, "KNeighborsRegressorTrainer", &err),
		0);
	assert_int_equal(
		tw_strs_split(&t.job.dyn_trainers, "LinearRegressionTrainer", &err), 0);
	if (tw_train(&t.job, &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_string_equal(r.row[0].note, "");
	m = train_parse_file(&r, "rapl-sysfs/AbsPower/CounterOnly/"
				 "KNeighborsRegressorTrainer_0/metadata.json");
	assert_int_equal(json_integer_value(json_object_get(m, "workload_folds")), 2);
	assert_int_equal(json_integer_value(json_object_get(m, "workload_rows")), 20);
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(m, "workload_names"), 1)),
			    "loud");
	/* Ten rows are 50 W too low and ten about right. */
	assert_true(json_real_value(json_object_get(m, "package_workload_bias")) < -15);
	assert_true(json_real_value(json_object_get(m, "workload_mae")) ==
		    json_real_value(json_object_get(m, "package_workload_mae")));
	/* Both have ten rows: the error of all is the mean of theirs. */
	maes = json_object_get(m, "package_workload_maes");
	assert_int_equal(json_array_size(maes), 2);
	assert_true(json_number_value(json_array_get(maes, 1)) > 20);
	assert_true(json_number_value(json_array_get(maes, 0)) < 20);
	assert_true(fabs((json_number_value(json_array_get(maes, 0)) +
			  json_number_value(json_array_get(maes, 1))) /
				 2 -
			 json_real_value(json_object_get(m, "package_workload_mae"))) <
		    2e-4);
	assert_null(json_object_get(m, "package_shuffled_maes"));
	assert_int_equal(json_integer_value(json_object_get(m, "shuffled_rows")), 40);
	assert_true(json_is_real(json_object_get(m, "package_shuffled_mae")));
	json_decref(m);
	tw_train_result_release(&r);
	tw_workload_runs_release(&w);
	train_tear_down(&t);
}

/* The whole and the blocks are as they are without the other folds. */
static void other_folds_leave_the_model_as_it_is(void **state)
{
	struct training t;
	struct tw_train_result plain = { 0 }, judged = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	set_up_two_workloads(&t);
	train_add_most(&t.job.abs_trainers);
	train_add_quick(&t.job.dyn_trainers);
	assert_int_equal(tw_train(&t.job, &plain, &err), 0);
	t.job.shuffled = true;
	assert_int_equal(tw_train(&t.job, &judged, &err), 0);
	assert_int_equal(plain.rows, judged.rows);
	for (size_t i = 0; i < plain.rows; i++)
		assert_true(plain.row[i].mae_w == judged.row[i].mae_w);
	for (size_t i = 0; i < plain.pipeline.count; i++) {
		const struct tw_fileset_file *f = &plain.pipeline.at[i];

		if (strstr(f->name, "package.json") != NULL)
			assert_string_equal(
				f->data,
				tw_fileset_find(&judged.pipeline, f->name)->data);
	}
	tw_train_result_release(&plain);
	tw_train_result_release(&judged);
	train_tear_down(&t);
}

static void the_isolator_does_not_see_the_workload_that_judges(void **state)
{
	struct training t;
	const struct tw_train_machine machine = { 0 };
	struct tw_train_data data;
	struct tw_workload_runs w = { 0 };
	double *package;

	(void)state;
	train_set_up(&t, 40);
	data = (struct tw_train_data){ .job = &t.job,
				       .source = t.table.source,
				       .group = t.table.group,
				       .output = TW_DYN_POWER,
				       .machine = &machine,
				       .table = &t.table };
	package = tw_dataset_find(&t.d, "package_power");
	for (size_t r = 0; r < 40; r++)
		package[r] = 100 + (double)r;
	read_workloads("workload,start,end\nfirst,1700000000,1700000030\n", &w);
	t.job.workloads = &w;
	tw_train_rows_extract(&data);
	tw_train_data_isolate(&data);
	assert_int_equal(data.err.code, TW_OK);
	assert_int_equal(tw_train_data_splits(&data), 5 + 1 + 1);
	/* Without the first ten rows the least is 110 W. */
	assert_true(tw_train_data_samples(&data, 6, 0).y[39] == 29);
	assert_true(tw_train_data_samples(&data, 5, 0).y[39] == 39);
	tw_train_data_release(&data);
	tw_workload_runs_release(&w);
	train_tear_down(&t);
}

static void data_that_cannot_be_scored_is_reported_and_the_model_stays(void **state)
{
	struct training t;
	struct tw_train_result r = { 0 };
	struct tw_workload_runs w = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	train_set_up(&t, 40);
	read_workloads("workload,start,end\nall,1700000000,1800000000\n", &w);
	t.job.workloads = &w;
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	assert_int_equal(tw_train(&t.job, &r, &err), 0);
	assert_int_equal(r.models, 1);
	assert_string_equal(
		r.row[0].note,
		"1 workloads have rows, need 2, or 1 and rows of no workload");
	tw_train_result_release(&r);
	tw_workload_runs_release(&w);
	train_tear_down(&t);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct training t;
	struct tw_workload_runs w = { 0 };
	struct tw_err setup = { 0 };
	/* Folds and components repeat most allocations. */
	const int step = quick() ? 7 : 3;
	int failures = 0;

	(void)state;
	set_up_two_workloads(&t);
	t.job.folds = 2;
	t.job.shuffled = true;
	assert_int_equal(
		tw_strs_split(&t.job.dyn_trainers, "LinearRegressionTrainer", &setup), 0);
	for (int n = 1;; n += step) {
		struct tw_train_result r = { 0 };
		struct tw_err err = { 0 };
		const char text[] = "workload,start,end\nloud,1700000060,1700000090\n";
		int status;

		fail_alloc_at(n);
		status = tw_workload_runs_read(text, strlen(text), &w, &err);
		t.job.workloads = &w;
		if (status == 0)
			status = tw_train(&t.job, &r, &err);
		tw_workload_runs_release(&w);
		tw_train_result_release(&r);
		if (!fail_alloc_told(status, &err))
			break;
		failures++;
	}
	assert_true(failures * step > 100);
	train_tear_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_workload_is_found_by_time),
		cmocka_unit_test(a_wrong_table_is_refused_by_line),
		cmocka_unit_test(rows_of_no_workload_are_in_no_fold),
		cmocka_unit_test(overlap_of_neighbours_takes_no_rows_from_a_fold),
		cmocka_unit_test(one_workload_alone_cannot_be_left_out),
		cmocka_unit_test(recordings_with_rows_are_numbered_in_order),
		cmocka_unit_test(each_order_of_three_rows_is_as_likely),
		cmocka_unit_test(a_fold_is_predicted_by_the_rows_outside),
		cmocka_unit_test(folds_without_memory_are_an_error),
		cmocka_unit_test(each_row_keeps_its_features),
		cmocka_unit_test(shuffled_folds_are_even_and_follow_from_the_seed),
		cmocka_unit_test(a_workload_that_was_left_out_is_judged_without_it),
		cmocka_unit_test(other_folds_leave_the_model_as_it_is),
		cmocka_unit_test(the_isolator_does_not_see_the_workload_that_judges),
		cmocka_unit_test(
			data_that_cannot_be_scored_is_reported_and_the_model_stays),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("folds", tests, NULL, NULL);
}
