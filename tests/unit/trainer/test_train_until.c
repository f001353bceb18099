/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/train_fixture.h"
#include "trainer/train_until.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

static void an_accuracy_is_read_or_refused(void **state)
{
	static const struct {
		const char *text, *error;
	} wrong[] = {
		{ "", "no accuracy given" },
		{ "mae", "'mae' is neither mae:WATTS nor mape:PERCENT" },
		{ "rmse:1", "'rmse:1' is neither" },
		{ "mae:x", "'mae:x': want a number that is not negative" },
		{ "mae:-1", "'mae:-1': want a number that is not negative" },
		{ "mae:1,mae:2", "'mae:2': given twice" },
	};
	struct tw_until u = { 0 };
	struct tw_err ok = { 0 };

	(void)state;
	assert_int_equal(tw_until_parse("mape:20, mae:1.5", &u, &ok), 0);
	assert_true(u.mae_w == 1.5 && u.mape_percent == 20);
	assert_int_equal(tw_until_parse("mae:3", &u, &ok), 0);
	assert_true(u.mae_w == 3 && isnan(u.mape_percent));
	for (size_t i = 0; i < TW_COUNT(wrong); i++) {
		struct tw_err err = { 0 };

		assert_int_equal(tw_until_parse(wrong[i].text, &u, &err), -1);
		assert_int_equal(err.code, TW_INVALID);
		if (strstr(err.text, wrong[i].error) == NULL)
			fail_msg("'%s' is not in '%s'", wrong[i].error, err.text);
	}
}

struct steps {
	unsigned count, without_models;
};

static void count_step(void *arg, const struct tw_until_outcome *at,
		       const struct tw_train_result *r, const struct tw_err *why)
{
	struct steps *s = arg;

	s->count++;
	assert_int_equal(at->shares, s->count);
	s->without_models += r == NULL;
	assert_true((r == NULL) == (why != NULL));
}

/* Each third of the first rows is 20 W too high; the others keep to the law. */
static void run(size_t noisy, const char *wanted, struct steps *steps,
		struct tw_train_result *r, struct tw_until_outcome *o)
{
	struct training t;
	struct tw_until until;
	struct tw_err err = { 0 };

	train_set_up(&t, 100);
	for (size_t i = 0; i < noisy; i++)
		tw_dataset_find(&t.d, "package_power")[i] += i % 3 == 0 ? 20 : 0;
	assert_int_equal(tw_until_parse(wanted, &until, &err), 0);
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers,
			      "LinearRegressionTrainer,ExponentialRegressionTrainer",
			      &err),
		0);
	if (tw_train_until(&t.job, &until, count_step, steps, r, o, &err) < 0)
		fail_msg("%s", err.text);
	train_tear_down(&t);
}

static void training_stops_where_one_model_is_accurate_enough(void **state)
{
	const struct tw_until until = { 5, 50 };
	struct tw_until_outcome o = { 0 };
	struct tw_train_result r = { 0 };
	struct steps steps = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	run(20, "mae:5,mape:50", &steps, &r, &o);
	assert_true(o.reached);
	assert_int_equal(o.shares, steps.count);
	/* Of 20 rows a third is too high, of 100 one in fifteen. */
	assert_true(o.shares > 2 && o.shares < 10);
	assert_int_equal(r.row[0].rows, 10 * o.shares);
	tw_until_report(&until, &o, &b);
	assert_non_null(strstr(b.data, "accuracy reached: MAE 5 W and MAPE 50 %, with "));
	tw_buf_clear(&b);
	tw_train_result_release(&r);
}

/* The first 30 rows keep to the law, so that they are accurate by themselves. */
static void the_rows_after_the_share_judge_its_models(void **state)
{
	static const char *const output[] = { "abs", "dyn" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct tw_until until = { 4, NAN };
		struct tw_until_outcome o = { 0 };
		struct tw_train_result r = { 0 };
		struct steps steps = { 0 };
		struct tw_err err = { 0 };
		struct training t;

		train_set_up(&t, 100);
		for (size_t k = 30; k < 100; k++)
			tw_dataset_find(&t.d, "package_power")[k] *= 1.5;
		assert_int_equal(tw_strs_split(strcmp(output[i], "dyn") == 0
						       ? &t.job.dyn_trainers
						       : &t.job.abs_trainers,
					       "LinearRegressionTrainer", &err),
				 0);
		if (tw_train_until(&t.job, &until, count_step, &steps, &r, &o, &err) < 0)
			fail_msg("%s", err.text);
		assert_true(o.shares > 3);
		assert_true(o.shares == 10 || r.row[0].later_mae_w <= 4);
		tw_train_result_release(&r);
		train_tear_down(&t);
	}
}

static void data_that_runs_out_is_reported_and_trained_on(void **state)
{
	const struct tw_until until = { 1, NAN };
	struct tw_until_outcome o = { 0 };
	struct tw_train_result r = { 0 };
	struct steps steps = { 0 };
	struct tw_buf b = { 0 };

	(void)state;
	run(100, "mae:1", &steps, &r, &o);
	assert_false(o.reached);
	assert_int_equal(steps.count, 10);
	assert_int_equal(r.row[0].rows, 100);
	assert_int_equal(r.models, 2);
	tw_until_report(&until, &o, &b);
	assert_string_equal(b.data, "data ran out: MAE 1 W not reached by any model of "
				    "rapl-sysfs AbsPower, node type 0\n");
	tw_buf_clear(&b);
	tw_train_result_release(&r);
}

static void too_little_data_at_first_is_no_failure(void **state)
{
	struct training t;
	const struct tw_until until = { 1, NAN };
	struct steps steps = { 0 }, none = { 0 };
	struct tw_err err = { 0 }, too_few = { 0 };
	struct tw_until_outcome o = { 0 };
	struct tw_train_result r = { 0 };

	(void)state;
	train_set_up(&t, 12);
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers, "LinearRegressionTrainer", &err), 0);
	if (tw_train_until(&t.job, &until, count_step, &steps, &r, &o, &err) < 0)
		fail_msg("%s", err.text);
	/* 1 and 2 of 12 rows. */
	assert_int_equal(steps.without_models, 2);
	tw_train_result_release(&r);
	t.d.rows = 2;
	assert_int_equal(
		tw_train_until(&t.job, &until, count_step, &none, &r, &o, &too_few), -1);
	assert_non_null(strstr(too_few.text, "2 rows, need at least 3"));
	train_tear_down(&t);
}

static void every_failed_allocation_is_reported(void **state)
{
	struct training t;
	const struct tw_until until = { 1e9, NAN };
	struct tw_err setup = { 0 };
	int failures = 0;

	(void)state;
	train_set_up(&t, 60);
	t.job.folds = 2;
	assert_int_equal(
		tw_strs_split(&t.job.abs_trainers, "LinearRegressionTrainer", &setup), 0);
	for (int n = 1;; n++) {
		struct tw_until_outcome o = { 0 };
		struct tw_train_result r = { 0 };
		struct steps steps = { 0 };
		struct tw_err err = { 0 };
		int status;

		fail_alloc_at(n);
		status = tw_train_until(&t.job, &until, count_step, &steps, &r, &o, &err);
		tw_train_result_release(&r);
		if (!fail_alloc_told(status, &err))
			break;
		failures++;
	}
	assert_true(failures > 50);
	train_tear_down(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_accuracy_is_read_or_refused),
		cmocka_unit_test(training_stops_where_one_model_is_accurate_enough),
		cmocka_unit_test(the_rows_after_the_share_judge_its_models),
		cmocka_unit_test(data_that_runs_out_is_reported_and_trained_on),
		cmocka_unit_test(too_little_data_at_first_is_no_failure),
		cmocka_unit_test(every_failed_allocation_is_reported),
	};

	gsl_set_error_handler_off();
	return cmocka_run_group_tests_name("train_until", tests, NULL, NULL);
}
