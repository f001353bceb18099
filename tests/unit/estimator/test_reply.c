/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/reply.h"
#include "estimator/request.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/sample_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 5

/* A knn model of this many points, which are all the same. */
static char *nearest_of(size_t points)
{
	struct tw_buf b = { 0 };
	size_t len;
	char *text;

	tw_buf_adds(&b, "{\"knn\":{\"neighbors\":1,\"scale\":[1,1,1],\"points\":[");
	for (size_t i = 0; i < points; i++)
		tw_buf_adds(&b, i > 0 ? ",[0,0,0]" : "[0,0,0]");
	tw_buf_adds(&b, "],\"values\":[");
	for (size_t i = 0; i < points; i++)
		tw_buf_adds(&b, i > 0 ? ",25" : "25");
	tw_buf_adds(&b, "]}}");
	text = tw_buf_detach(&b, &len);
	assert_non_null(text);
	return text;
}

static struct tw_power_model *load(struct tw_model *m)
{
	struct tw_power_model *p = NULL;
	struct tw_err err = { 0 };

	if (tw_power_model_new(m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static struct tw_power_model *make(const char *predictor, const char *text)
{
	const struct sample s = { .source = "acpi",
				  .predictor = predictor,
				  .text = text };
	struct tw_model m = { 0 };

	sample_model(&s, &m);
	return load(&m);
}

/* Package and dram, linear and without idle power: 0 where there is no use. */
#define NO_IDLE                                                               \
	"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{},"   \
	"\"Numerical_Variables\":{\"cache_miss\":{\"scale\":1,\"weight\":1}," \
	"\"cpu_cycles\":{\"scale\":1,\"weight\":0},"                          \
	"\"cpu_instructions\":{\"scale\":1,\"weight\":0}}}}"

static void make_without_idle(const char *source, struct tw_model *out)
{
	const struct sample s = { .source = source,
				  .output = TW_DYN_POWER,
				  .text = NO_IDLE };

	sample_model(&s, out);
}

/* The reply to rows of cache_miss, cpu_cycles and cpu_instructions, and its turns. */
struct outcome {
	struct tw_buf text;
	size_t turns;
	int rc;
	struct tw_err err;
};

/* Each turn is over before it begins. */
static void reply_as(enum tw_reply_form form, unsigned version, struct tw_power_model *m,
		     double *x, size_t rows, struct outcome *o)
{
	char from[] = "here";
	struct tw_served served = { .model = m, .core_ratio = "1", .from = from };
	struct tw_request r = { .x = x, .rows = rows, .version = version, .form = form };
	struct tw_reply reply = { 0 };
	bool done = false;

	*o = (struct outcome){ 0 };
	assert_int_equal(tw_strs_split(&r.metrics,
				       "cache_miss,cpu_cycles,cpu_instructions", &o->err),
			 0);
	assert_int_equal(tw_reply_begin(&reply, &r, &served,
					&(struct tw_series_scope){ 0 }, &o->text,
					&o->err),
			 0);
	for (; !done && o->rc == 0; o->turns++)
		o->rc = tw_reply_go_on(&reply, 0, &done, &o->err);
	tw_buf_add(&o->text, "", 1);
	tw_reply_release(&reply);
	tw_strs_clear(&r.metrics);
}

static void reply_to(struct tw_power_model *m, double *x, size_t rows, struct outcome *o)
{
	reply_as(TW_REPLY_CURRENT, 1, m, x, rows, o);
}

/* The number of turns that a reply to ROWS rows without use takes. */
static size_t turns_of(struct tw_power_model *m, const char *want)
{
	double x[3 * ROWS] = { 0 };
	struct outcome o;

	reply_to(m, x, ROWS, &o);
	assert_int_equal(o.rc, 0);
	assert_string_equal(o.text.data, want);
	tw_buf_clear(&o.text);
	return o.turns;
}

/* A package of as many watts as cache_miss, a dram of as many as cpu_cycles. */
static struct tw_power_model *make_of_two(void)
{
	struct tw_model m = { 0 };

	make_without_idle("rapl-sysfs", &m);
	free(m.part[1].text);
	m.part[1].text = strdup(
		"{\"All_Weights\":{\"Bias_Weight\":0,\"Categorical_Variables\":{},"
		"\"Numerical_Variables\":{\"cache_miss\":{\"scale\":1,\"weight\":0},"
		"\"cpu_cycles\":{\"scale\":1,\"weight\":1},"
		"\"cpu_instructions\":{\"scale\":1,\"weight\":0}}}}");
	assert_non_null(m.part[1].text);
	m.part[1].len = strlen(m.part[1].text);
	return load(&m);
}

/* A platform of as many watts as cache_miss. */
static struct tw_power_model *make_of_one(void)
{
	struct tw_model m = { 0 };

	make_without_idle("acpi", &m);
	return load(&m);
}

static void expect_of_two(const double (*watts)[2], size_t rows, const char *want)
{
	struct tw_power_model *m = make_of_two();
	double x[3 * ROWS] = { 0 };
	struct outcome o;

	for (size_t r = 0; r < rows; r++) {
		x[3 * r] = watts[r][0];
		x[3 * r + 1] = watts[r][1];
	}
	reply_to(m, x, rows, &o);
	assert_int_equal(o.rc, 0);
	assert_string_equal(o.text.data, want);
	tw_buf_clear(&o.text);
	tw_power_model_free(m);
}

static void reply_of_one(const double *watts, size_t rows, struct outcome *o)
{
	struct tw_power_model *m = make_of_one();
	double *x = calloc(rows, 3 * sizeof(*x));

	assert_non_null(x);
	for (size_t r = 0; r < rows; r++)
		x[3 * r] = watts[r];
	reply_to(m, x, rows, o);
	free(x);
	tw_power_model_free(m);
}

static void a_reply_is_the_wire_contracts_to_the_byte(void **state)
{
	static const double watts[][2] = { { 41.2, 8.25 }, { 3.1, 0.5 } };

	(void)state;
	expect_of_two(watts, 2,
		      "{\"powers\":{\"package\":[41.2,3.1],\"dram\":[8.25,0.5]},"
		      "\"msg\":\"\",\"core_ratio\":1}\n");
}

static void components_that_are_zero_in_every_row_are_left_out(void **state)
{
	static const double zero[][2] = { { 1, 0 }, { 2, 0.0004 }, { 3, -0.0 } };
	static const double some[][2] = { { 1, 0 }, { 2, 0.0005 }, { 3, 0 } };

	(void)state;
	expect_of_two(
		zero, 3,
		"{\"powers\":{\"package\":[1,2,3]},\"msg\":\"\",\"core_ratio\":1}\n");
	expect_of_two(some, 3,
		      "{\"powers\":{\"package\":[1,2,3],\"dram\":[0,0.001,0]},"
		      "\"msg\":\"\",\"core_ratio\":1}\n");
}

static void numbers_have_at_most_three_decimals_and_no_trailing_zeros(void **state)
{
	static const double watts[] = { 0,       1,          10,
					0.1,     0.01,       0.001,
					0.1239,  1.5e-9,     1000000,
					99.9996, 12345.6789, 100.05,
					0.12,    7.002,      TW_REPLY_WATTS_MAX };
	struct outcome o;

	(void)state;
	reply_of_one(watts, TW_COUNT(watts), &o);
	assert_string_equal(o.text.data,
			    "{\"powers\":{\"platform\":[0,1,10,0.1,0.01,0.001,0.124,0,"
			    "1000000,100,12345.679,100.05,0.12,7.002,1000000000]},"
			    "\"msg\":\"\",\"core_ratio\":1}\n");
	tw_buf_clear(&o.text);
}

static void numbers_read_back_within_half_a_milliwatt(void **state)
{
	(void)state;
	for (double w = 0.0007; w < 1e8; w *= 1.37) {
		struct outcome o;
		char *end;

		reply_of_one(&w, 1, &o);
		assert_true(fabs(strtod(strchr(o.text.data, '[') + 1, &end) - w) <
			    0.000501);
		assert_int_equal(*end, ']');
		tw_buf_clear(&o.text);
	}
}

static void a_row_without_a_power_is_null_and_the_others_have_watts(void **state)
{
	static const double bad[] = { INFINITY, 2e9 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(bad); i++) {
		const double watts[] = { 1, bad[i], 2.5 };
		struct outcome o;

		reply_of_one(watts, 3, &o);
		assert_int_equal(o.rc, 0);
		assert_string_equal(o.text.data,
				    "{\"powers\":{\"platform\":[1,null,2.5]},"
				    "\"msg\":\"\",\"core_ratio\":1}\n");
		tw_buf_clear(&o.text);
		/* Kepler crashes on no row with a number. */
		reply_of_one(watts + 1, 1, &o);
		assert_int_equal(o.rc, -1);
		assert_int_equal(o.err.code, TW_INVALID);
		assert_non_null(strstr(o.err.text, "platform of row 0 is "));
		tw_buf_clear(&o.text);
	}
}

/* 0 * infinity is NaN. */
static void a_prediction_of_nan_is_null_in_each_form_of_a_reply(void **state)
{
	static const struct {
		enum tw_reply_form form;
		unsigned version;
		const char *want;
	} cases[] = {
		{ TW_REPLY_CURRENT, 1, "{\"package\":[null,2],\"dram\":[null,0]}" },
		{ TW_REPLY_COMPONENTS, 1, "{\"pkg\":[null,2],\"dram\":[null,0]}" },
		{ TW_REPLY_TOTAL, 1, "{\"powers\":[null,2]" },
		{ TW_REPLY_CURRENT, 2, "\"expected_errors\":{\"package\":[null," },
		{ TW_REPLY_CURRENT, 2, "\"intervals\":{\"package\":[null," },
	};
	struct tw_power_model *m = make_of_two();

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		double x[] = { 1, INFINITY, 0, 2, 0, 0 };
		struct outcome o;

		reply_as(cases[i].form, cases[i].version, m, x, 2, &o);
		assert_int_equal(o.rc, 0);
		if (strstr(o.text.data, cases[i].want) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].want, o.text.data);
		tw_buf_clear(&o.text);
	}
	tw_power_model_free(m);
}

/* docs/wire.md: a client that reads 4096 bytes gets some 570 rows of one component. */
static void a_reply_of_570_rows_fits_into_one_read_of_old_clients(void **state)
{
	double watts[570];
	struct outcome o;

	(void)state;
	for (size_t i = 0; i < 570; i++)
		watts[i] = 1.345 + (double)(i % 90) / 10.0;
	reply_of_one(watts, 570, &o);
	assert_int_equal(o.rc, 0);
	assert_true(o.text.len - 1 <= 4096);
	tw_buf_clear(&o.text);
}

static void a_few_rows_of_a_cheap_model_take_one_turn(void **state)
{
	struct tw_power_model *m = make(NULL, NULL);

	(void)state;
	assert_int_equal(turns_of(m, "{\"powers\":{\"platform\":[10,10,10,10,10]},"
				     "\"msg\":\"\",\"core_ratio\":1}\n"),
			 1);
	tw_power_model_free(m);
}

static void each_row_of_a_costly_model_takes_a_turn(void **state)
{
	char *text = nearest_of(20000);
	struct tw_power_model *m = make("knn", text);

	(void)state;
	assert_true(tw_power_model_row_ns(m) == 60000);
	assert_true(turns_of(m, "{\"powers\":{\"platform\":[25,25,25,25,25]},"
				"\"msg\":\"\",\"core_ratio\":1}\n") >= ROWS);
	tw_power_model_free(m);
	free(text);
}

static void a_reply_of_zeros_has_the_package(void **state)
{
	struct tw_model m = { 0 };
	struct tw_power_model *p;

	(void)state;
	make_without_idle("rapl-sysfs", &m);
	p = load(&m);
	turns_of(
		p,
		"{\"powers\":{\"package\":[0,0,0,0,0]},\"msg\":\"\",\"core_ratio\":1}\n");
	tw_power_model_free(p);
}

static void a_reply_of_zeros_has_the_platform(void **state)
{
	struct tw_model m = { 0 };
	struct tw_power_model *p;

	(void)state;
	make_without_idle("acpi", &m);
	p = load(&m);
	turns_of(p, "{\"powers\":{\"platform\":[0,0,0,0,0]},\"msg\":\"\",\"core_ratio\":"
		    "1}\n");
	tw_power_model_free(p);
}

static void a_reply_of_zeros_without_a_package_has_the_first_component(void **state)
{
	struct tw_model m = { 0 };
	struct tw_power_model *p;

	(void)state;
	make_without_idle("rapl-sysfs", &m);
	m.part[0].component = TW_CORE;
	m.part[1].component = TW_DRAM;
	p = load(&m);
	turns_of(p,
		 "{\"powers\":{\"core\":[0,0,0,0,0]},\"msg\":\"\",\"core_ratio\":1}\n");
	tw_power_model_free(p);
}

/* An expected error of cache_miss / 10, and an interval of twice that on either side. */
static void version_2_has_the_expected_error_and_interval_of_each_row(void **state)
{
	static const char errors[] =
		"{\"ensemble\":{\"floor\":0,\"ceiling\":9,\"alone\":{\"bias\":0,"
		"\"columns\":[[0,0,0]],\"members\":[{\"weight\":0.1,\"columns\":[0],"
		"\"predictor\":\"linear\",\"model\":{\"All_Weights\":{"
		"\"Bias_Weight\":0,\"Numerical_Variables\":{\"cache_miss\":{"
		"\"scale\":1,\"weight\":1}}}}}]}}}";
	const struct sample s = { .source = "acpi",
				  .text = NO_IDLE,
				  .metadata = "{\"platform_mae\":1,\"platform_p95\":3,"
					      "\"platform_interval_factor\":2}" };
	double x[] = { 10, 0, 0, 50, 0, 0, 2e6, 0, 0 };
	struct tw_model m = { 0 };
	struct tw_power_model *p;
	struct outcome o;

	(void)state;
	sample_model(&s, &m);
	m.part[0].error_text = strdup(errors);
	m.part[0].error_len = strlen(errors);
	p = load(&m);
	reply_as(TW_REPLY_CURRENT, 2, p, x, 3, &o);
	assert_int_equal(o.rc, 0);
	assert_non_null(strstr(o.text.data,
			       "\"errors\":{\"platform\":{\"mae\":1,\"p95\":3}},"
			       "\"intervals\":{\"platform\":[[8,12],[40,60],null]},"
			       "\"expected_errors\":{\"platform\":[1,5,9]},"
			       "\"outside\":[2],\"extrapolated\":1}\n"));
	tw_buf_clear(&o.text);
	reply_to(p, x, 2, &o);
	assert_string_equal(o.text.data, "{\"powers\":{\"platform\":[10,50]},"
					 "\"msg\":\"\",\"core_ratio\":1}\n");
	tw_buf_clear(&o.text);
	tw_power_model_free(p);
}

static void kepler_0_5_gets_components_with_pkg_or_a_list_of_totals(void **state)
{
	/* Both components have the same law; core is a part of package. */
	static const struct {
		const char *source;
		enum tw_component second;
		enum tw_reply_form form;
		const char *want;
	} cases[] = {
		{ "rapl-sysfs", TW_DRAM, TW_REPLY_COMPONENTS,
		  "{\"powers\":{\"pkg\":[0,2,4.25],\"dram\":[0,2,4.25]},\"msg\":\"\"}"
		  "\n" },
		{ "rapl-sysfs", TW_DRAM, TW_REPLY_TOTAL,
		  "{\"powers\":[0,4,8.5],\"msg\":\"\"}\n" },
		{ "rapl-sysfs", TW_CORE, TW_REPLY_TOTAL,
		  "{\"powers\":[0,2,4.25],\"msg\":\"\"}\n" },
		{ "acpi", TW_PLATFORM, TW_REPLY_COMPONENTS,
		  "{\"powers\":{\"platform\":[0,2,4.25]},\"msg\":\"\"}\n" },
		{ "acpi", TW_PLATFORM, TW_REPLY_TOTAL,
		  "{\"powers\":[0,2,4.25],\"msg\":\"\"}\n" },
	};

	(void)state;
	for (size_t i = 0; i < TW_COUNT(cases); i++) {
		double x[9] = { [3] = 2, [6] = 4.25 };
		struct tw_model m = { 0 };
		struct tw_power_model *p;
		struct outcome o;

		make_without_idle(cases[i].source, &m);
		if (m.parts > 1)
			m.part[1].component = cases[i].second;
		p = load(&m);
		reply_as(cases[i].form, 1, p, x, 3, &o);
		assert_int_equal(o.rc, 0);
		assert_string_equal(o.text.data, cases[i].want);
		tw_buf_clear(&o.text);
		/* Without use: still a number for each row. */
		memset(x, 0, sizeof(x));
		reply_as(cases[i].form, 1, p, x, 2, &o);
		assert_non_null(strstr(o.text.data, "[0,0]"));
		tw_buf_clear(&o.text);
		tw_power_model_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_the_wire_contracts_to_the_byte),
		cmocka_unit_test(components_that_are_zero_in_every_row_are_left_out),
		cmocka_unit_test(
			numbers_have_at_most_three_decimals_and_no_trailing_zeros),
		cmocka_unit_test(numbers_read_back_within_half_a_milliwatt),
		cmocka_unit_test(a_row_without_a_power_is_null_and_the_others_have_watts),
		cmocka_unit_test(a_prediction_of_nan_is_null_in_each_form_of_a_reply),
		cmocka_unit_test(a_reply_of_570_rows_fits_into_one_read_of_old_clients),
		cmocka_unit_test(a_few_rows_of_a_cheap_model_take_one_turn),
		cmocka_unit_test(each_row_of_a_costly_model_takes_a_turn),
		cmocka_unit_test(a_reply_of_zeros_has_the_package),
		cmocka_unit_test(a_reply_of_zeros_has_the_platform),
		cmocka_unit_test(
			version_2_has_the_expected_error_and_interval_of_each_row),
		cmocka_unit_test(
			a_reply_of_zeros_without_a_package_has_the_first_component),
		cmocka_unit_test(kepler_0_5_gets_components_with_pkg_or_a_list_of_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
