/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of requests that are made by hand, for models that look back or do not. */
#include "tests/unit/tw_test.h"

#include "estimator/history.h"
#include "estimator/predict/power_model.h"
#include "estimator/predict/predictor.h"
#include "estimator/request.h"
#include "estimator/request_rows.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define STEP_MS 3000
#define FORM(columns, feature)                                                     \
	"{\"bias\":1,\"columns\":[" columns "],\"members\":[{\"weight\":1,"        \
	"\"columns\":[0],\"predictor\":\"linear\",\"model\":{\"All_Weights\":{"    \
	"\"Bias_Weight\":0,\"Numerical_Variables\":{\"" feature "\":{\"scale\":1," \
	"\"weight\":1}}}}}]}"

#define ENSEMBLE(columns, feature)                                   \
	"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"step_ms\":3000," \
	"\"alone\":" FORM("[0,0,0]",                                 \
			  "bpf_cpu_time_ms") ",\"series\":" FORM(columns, feature) "}}"

/* It uses one or two rows before a row. */
static struct tw_power_model *new_looking_back(size_t back)
{
	const struct sample sample = {
		.group = "BPFOnly",
		.trainer = "AutoTrainer",
		.predictor = "ensemble",
		.text = back == 1 ? ENSEMBLE("[0,1,1]", "bpf_cpu_time_ms@1")
				  : ENSEMBLE("[0,2,2]", "bpf_cpu_time_ms@2")
	};
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(&sample, &m);
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static char a[] = "a", b[] = "b", c[] = "c", s[] = "s", t[] = "t";
static char *ab[] = { a, b }, *ba[] = { b, a }, *cb[] = { c, b }, *abc[] = { a, b, c },
	    *st[] = { s, t };

/* A request of version 1 with columns a and b, as a client's node sends it. */
static struct tw_request make_request(double *x, size_t rows)
{
	return (struct tw_request){ .metrics = { .at = ab, .count = 2 },
				    .x = x,
				    .rows = rows,
				    .output = TW_ABS_POWER,
				    .source = tw_energy_source_find("rapl-sysfs"),
				    .version = 1 };
}

static void begin(struct tw_request_rows *rows, const struct tw_request *r,
		  const struct tw_power_model *model, const struct tw_series_scope *scope)
{
	struct tw_err err = { 0 };

	if (tw_request_rows_begin(rows, r, model, scope, &err) < 0)
		fail_msg("%s", err.text);
}

static struct tw_rows get(struct tw_request_rows *rows, size_t first, size_t most)
{
	struct tw_rows out = { 0 };
	struct tw_err err = { 0 };

	if (tw_request_rows_get(rows, first, most, &out, &err) < 0)
		fail_msg("%s", err.text);
	assert_ptr_equal(out.categories, &rows->r->categories);
	return out;
}

static void independent_rows_are_those_of_the_request(void **state)
{
	const struct tw_series_scope none = { 0 };
	double x[3 * TW_REQUEST_ROWS_BATCH];
	struct tw_request r = make_request(x, TW_COUNT(x) / 2);
	struct tw_request_rows rows = { 0 };
	struct tw_rows out;

	(void)state;
	begin(&rows, &r, NULL, &none);
	out = get(&rows, 0, TW_REQUEST_ROWS_BATCH);
	assert_ptr_equal(out.x, x);
	assert_int_equal(out.rows, TW_REQUEST_ROWS_BATCH);
	assert_int_equal(out.stride, 2);
	assert_null(out.time_ms);
	out = get(&rows, TW_REQUEST_ROWS_BATCH, 32);
	assert_ptr_equal(out.x, x + (size_t)2 * TW_REQUEST_ROWS_BATCH);
	assert_int_equal(out.rows, 32);
	/* Nothing was copied. */
	assert_null(rows.x);
	tw_request_rows_release(&rows);
}

static void the_memory_of_a_batch_grows_with_its_columns(void **state)
{
	static const double system[] = { 7, 8 };
	const struct tw_series_scope none = { 0 };
	double x[2 * TW_REQUEST_ROWS_BATCH];
	struct tw_request_rows rows = { 0 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(x); i++)
		x[i] = (double)i;
	/* One of two columns is the system's, then two of three, then one of two. */
	for (size_t round = 0; round < 3; round++) {
		struct tw_request r = make_request(x, TW_REQUEST_ROWS_BATCH);
		const size_t systems = round == 1 ? 2 : 1;
		struct tw_rows out;

		r.metrics = (struct tw_strs){ .at = abc, .count = systems + 1 };
		r.system = system;
		r.systems = systems;
		begin(&rows, &r, NULL, &none);
		assert_true(rows.size >= TW_REQUEST_ROWS_BATCH * (systems + 1));
		out = get(&rows, 0, TW_REQUEST_ROWS_BATCH);
		assert_int_equal(out.stride, systems + 1);
		for (size_t i = 0; i < out.rows; i++)
			for (size_t k = 0; k <= systems; k++)
				assert_true(out.x[i * out.stride + k] ==
					    (k == 0 ? (double)i : system[k - 1]));
		out = get(&rows, 5, 2);
		assert_true(out.x[0] == 5 && out.x[out.stride] == 6);
		assert_int_equal(out.rows, 2);
	}
	tw_request_rows_release(&rows);
}

static void system_features_follow_all_columns_of_a_row(void **state)
{
	static double x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const double system[] = { 9 };
	const struct tw_series_scope none = { 0 };
	struct tw_request r = make_request(x, 4);
	struct tw_request_rows rows = { 0 };
	struct tw_rows out;

	(void)state;
	r.metrics = (struct tw_strs){ .at = abc, .count = 3 };
	r.system = system;
	r.systems = 1;
	begin(&rows, &r, NULL, &none);
	out = get(&rows, 2, 2);
	assert_int_equal(out.stride, 3);
	assert_memory_equal(out.x, ((double[]){ 5, 6, 9, 7, 8, 9 }), 6 * sizeof(double));
	tw_request_rows_release(&rows);
}

/* Only a node's own row of Kepler continues a series without times. */
static void a_row_of_a_node_is_told_from_others(void **state)
{
	static double used[] = { 0, 5, 1, 2 }, idle[] = { 0, 0 };
	static const int64_t times[] = { 1, 2 };
	static const struct tw_strs unnamed = { 0 };
	struct tw_power_model *back = new_looking_back(2);
	struct tw_node_series *nodes = NULL;
	struct tw_series_scope scope = { .now_ms = 1000 };
	struct tw_request_rows rows = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_node_series_new(&nodes, &err), 0);
	for (int i = 0; i < 9; i++) {
		struct tw_request r = make_request(i == 1 ? idle : used, 1);
		const bool node = i == 0 || i == 8;

		scope.nodes = i == 2 ? NULL : nodes;
		r.version = i == 3 ? 2 : 1;
		r.rows = i == 4 ? 2 : 1;
		r.output = i == 5 ? TW_DYN_POWER : TW_ABS_POWER;
		r.time_ms = i == 6 ? times : NULL;
		r.series = &unnamed;
		/* The value of b is the system's then, and a is idle. */
		r.systems = i == 7 ? 1 : 0;
		r.system = &used[1];
		begin(&rows, &r, back, &scope);
		assert_int_equal(rows.node, node);
		assert_int_equal(rows.back, node || i == 6 ? 2 : 0);
		assert_true(rows.step_ms == STEP_MS);
	}
	begin(&rows, &(struct tw_request){ 0 }, NULL, &scope);
	assert_int_equal(rows.back, 0);
	assert_true(rows.step_ms == 0);
	assert_false(rows.node);
	tw_request_rows_release(&rows);
	tw_node_series_free(nodes);
	tw_power_model_free(back);
}

/* The number of earlier rows that a question gets at that time. */
static size_t ask_at(struct tw_request_rows *rows, const struct tw_request *r,
		     const struct tw_power_model *model, struct tw_series_scope *scope,
		     uint64_t now_ms)
{
	struct tw_rows out;

	scope->now_ms = now_ms;
	begin(rows, r, model, scope);
	out = get(rows, 0, 1);
	assert_int_equal(out.rows, 1);
	return out.before;
}

static void a_series_of_a_node_is_of_one_question(void **state)
{
	static double x[] = { 1, 5 };
	struct tw_power_model *back = new_looking_back(2);
	struct tw_series_scope scope = { .client = { .process = 1 } };
	struct tw_request_rows rows = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	for (int i = 0; i < 6; i++) {
		struct tw_request first = make_request(x, 1), other = first;

		other.source = tw_energy_source_find(i == 1 ? "acpi" : "rapl-sysfs");
		other.trainer = i == 2 || i == 5 ? "T" : NULL;
		other.filter = i == 3 ? "mae:1" : i == 5 ? "" : NULL;
		other.metrics.at = i == 4 ? ba : ab;
		/* An absent filter is the same as an empty one; "T" may be either's. */
		first.trainer = i == 5 ? "" : NULL;
		first.filter = i == 5 ? "T" : NULL;
		assert_int_equal(tw_node_series_new(&scope.nodes, &err), 0);
		assert_int_equal(ask_at(&rows, &first, back, &scope, 100000), 0);
		assert_int_equal(ask_at(&rows, &first, back, &scope, 103000), 0);
		assert_int_equal(ask_at(&rows, &first, back, &scope, 106000), 2);
		assert_int_equal(ask_at(&rows, &other, back, &scope, 109000),
				 i == 0 ? 2 : 0);
		assert_int_equal(tw_node_series_count(scope.nodes), i == 0 ? 1 : 2);
		tw_node_series_free(scope.nodes);
	}
	tw_request_rows_release(&rows);
	tw_power_model_free(back);
}

/* Bytes behind a text are no part of the question. */
static void the_texts_of_a_question_are_compared_and_not_their_memory(void **state)
{
	static const char texts[][4] = { "T\0x", "T\0y", "T\0z" };
	static double x[] = { 1, 5 };
	struct tw_power_model *back = new_looking_back(2);
	struct tw_series_scope scope = { .client = { .process = 1 } };
	struct tw_request_rows rows = { 0 };
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_node_series_new(&scope.nodes, &err), 0);
	for (size_t i = 0; i < TW_COUNT(texts); i++) {
		struct tw_request r = make_request(x, 1);

		r.trainer = r.filter = texts[i];
		assert_int_equal(ask_at(&rows, &r, back, &scope, 100000 + i * STEP_MS),
				 i < 2 ? 0 : 2);
	}
	tw_request_rows_release(&rows);
	tw_node_series_free(scope.nodes);
	tw_power_model_free(back);
}

static void rows_without_a_name_are_a_series_of_their_request(void **state)
{
	static double x[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const int64_t times[] = { 10, 20, 30, 40 };
	static const struct tw_strs unnamed = { 0 };
	const struct tw_series_scope none = { 0 };
	struct tw_request r = make_request(x, 4);
	struct tw_request_rows rows = { 0 };

	(void)state;
	r.version = 2;
	r.time_ms = times;
	r.series = &unnamed;
	for (size_t back = 1; back <= 2; back++) {
		struct tw_power_model *model = new_looking_back(back);

		begin(&rows, &r, model, &none);
		for (size_t i = 0; i < 4; i++) {
			const struct tw_rows out = get(&rows, i, 4 - i);

			assert_int_equal(out.rows, 1);
			assert_int_equal(out.before, i < back ? i : back);
			assert_int_equal(out.time_ms[0], times[i]);
			assert_true(out.x[0] == x[2 * i] && out.x[1] == x[2 * i + 1]);
		}
		tw_power_model_free(model);
	}
	tw_request_rows_release(&rows);
}

/* A name is of a user and of columns in their order. */
static void rows_with_a_name_continue_its_series(void **state)
{
	static double x[] = { 1, 2, 3, 4 };
	static const int64_t times[] = { 10, 20 }, later[] = { 30, 40 };
	static char **const others[] = { ba, cb };
	const struct tw_strs one = { .at = st, .count = 1 },
			     both = { .at = st, .count = 2 };
	struct tw_power_model *back = new_looking_back(1);
	struct tw_series_scope scope = { .user = 1 };
	struct tw_request r = make_request(x, 2);
	struct tw_request_rows rows = { 0 };
	struct tw_rows out;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_history_new(1 << 20, &scope.history, &err), 0);
	r.version = 2;
	r.time_ms = times;
	r.series = &both;
	begin(&rows, &r, back, &scope);
	assert_int_equal(get(&rows, 0, 1).before, 0);
	assert_int_equal(get(&rows, 1, 1).before, 0);
	assert_int_equal(tw_history_count(scope.history), 2);
	/* Both rows are of the first series now, which has the first row. */
	r.time_ms = later;
	r.series = &one;
	begin(&rows, &r, back, &scope);
	out = get(&rows, 0, 2);
	assert_int_equal(out.before, 1);
	assert_true(out.x[-2] == 1 && out.x[-1] == 2 && out.x[0] == 1);
	assert_int_equal(out.time_ms[-1], 10);
	out = get(&rows, 1, 1);
	assert_int_equal(out.before, 1);
	assert_int_equal(out.time_ms[-1], 30);
	assert_int_equal(tw_history_count(scope.history), 2);
	for (size_t i = 0; i < TW_COUNT(others); i++) {
		r.metrics.at = others[i];
		begin(&rows, &r, back, &scope);
		assert_int_equal(get(&rows, 1, 1).before, 0);
		assert_int_equal(tw_history_count(scope.history), 3 + i);
	}
	r.metrics.at = ab;
	scope.user = 2;
	begin(&rows, &r, back, &scope);
	assert_int_equal(get(&rows, 1, 1).before, 0);
	assert_int_equal(tw_history_count(scope.history), 5);
	tw_request_rows_release(&rows);
	tw_history_free(scope.history);
	tw_power_model_free(back);
}

/* The rows after it have those before it. */
static void a_row_with_an_absurd_value_is_no_part_of_its_series(void **state)
{
	static double x[] = { 1, 2, 1e300, 2, 2, -1, 3, 4 };
	static const int64_t times[] = { 0, 3000, 4500, 6000 };
	const struct tw_strs none = { .count = 0 };
	struct tw_power_model *model = new_looking_back(2);
	const struct tw_series_scope scope = { .user = 1 };
	struct tw_request r = make_request(x, 4);
	struct tw_request_rows rows = { 0 };
	struct tw_rows out;

	(void)state;
	r.version = 2;
	r.time_ms = times;
	r.series = &none;
	begin(&rows, &r, model, &scope);
	assert_int_equal(get(&rows, 0, 1).before, 0);
	out = get(&rows, 1, 1);
	assert_true(out.before == 0 && out.time_ms == NULL && out.x[0] > 1e299);
	out = get(&rows, 2, 1);
	assert_true(out.before == 0 && out.time_ms == NULL && out.x[1] == -1);
	out = get(&rows, 3, 1);
	assert_int_equal(out.before, 1);
	assert_true(out.x[-2] == 1 && out.x[0] == 3);
	tw_request_rows_release(&rows);
	tw_power_model_free(model);
}

static void running_out_of_memory_is_reported(void **state)
{
	static double x[] = { 1, 2 };
	static const double system[] = { 7 };
	static const int64_t times[] = { 10 };
	static const struct tw_strs unnamed = { 0 };
	struct tw_power_model *back = new_looking_back(2);
	const struct tw_series_scope none = { 0 };
	struct tw_request r = make_request(x, 1);
	bool failed = true;
	int failures = 0;

	(void)state;
	r.version = 2;
	r.time_ms = times;
	r.series = &unnamed;
	r.system = system;
	r.systems = 1;
	for (int n = 1; failed; n++, failures += failed) {
		struct tw_request_rows rows = { 0 };
		struct tw_rows out;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_request_rows_begin(&rows, &r, back, &none, &err);
		if (rc == 0)
			rc = tw_request_rows_get(&rows, 0, 1, &out, &err);
		failed = fail_alloc_told(rc, &err);
		if (!failed)
			assert_true(out.x[0] == 1 && out.x[1] == 7);
		tw_request_rows_release(&rows);
	}
	assert_true(failures >= 3);
	tw_power_model_free(back);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(independent_rows_are_those_of_the_request),
		cmocka_unit_test(the_memory_of_a_batch_grows_with_its_columns),
		cmocka_unit_test(system_features_follow_all_columns_of_a_row),
		cmocka_unit_test(a_row_of_a_node_is_told_from_others),
		cmocka_unit_test(a_series_of_a_node_is_of_one_question),
		cmocka_unit_test(
			the_texts_of_a_question_are_compared_and_not_their_memory),
		cmocka_unit_test(rows_without_a_name_are_a_series_of_their_request),
		cmocka_unit_test(rows_with_a_name_continue_its_series),
		cmocka_unit_test(a_row_with_an_absurd_value_is_no_part_of_its_series),
		cmocka_unit_test(running_out_of_memory_is_reported),
	};

	return cmocka_run_group_tests_name("request_rows", tests, NULL, NULL);
}
