/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/models.h"
#include "estimator/predict/power_model.h"
#include "estimator/reply.h"
#include "estimator/request.h"
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "tests/unit/sample_model.h"

#include <stdlib.h>

#define ROWS 5

/* The nearest of so many points, which are all the same. */
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

/* How many turns, each of them over before it begins, a reply of ROWS rows takes. */
static size_t turns_of(struct tw_power_model *m, const char *want)
{
	static double x[3 * ROWS];
	struct tw_served served = { .model = m, .core_ratio = "1" };
	struct tw_request r = { .x = x, .rows = ROWS, .version = 1 };
	struct tw_reply reply = { 0 };
	struct tw_buf out = { 0 };
	struct tw_err err = { 0 };
	size_t turns = 0;
	bool done = false;

	assert_int_equal(
		tw_strs_split(&r.metrics, "cache_miss,cpu_cycles,cpu_instructions", &err),
		0);
	assert_int_equal(tw_reply_begin(&reply, &r, &served,
					&(struct tw_reply_series){ 0 }, &out, &err),
			 0);
	for (; !done; turns++)
		assert_int_equal(tw_reply_go_on(&reply, 0, &done, &err), 0);
	tw_buf_add(&out, "", 1);
	assert_string_equal(out.data, want);
	tw_reply_release(&reply);
	tw_buf_clear(&out);
	tw_strs_clear(&r.metrics);
	return turns;
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

static void each_row_of_a_costly_model_gives_others_their_turn(void **state)
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

static void an_idle_request_is_answered_with_the_packages_zeros(void **state)
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

static void an_idle_request_is_answered_with_the_platforms_zeros(void **state)
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

static void a_model_without_a_package_tells_its_first_component(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_rows_of_a_cheap_model_take_one_turn),
		cmocka_unit_test(each_row_of_a_costly_model_gives_others_their_turn),
		cmocka_unit_test(an_idle_request_is_answered_with_the_packages_zeros),
		cmocka_unit_test(an_idle_request_is_answered_with_the_platforms_zeros),
		cmocka_unit_test(a_model_without_a_package_tells_its_first_component),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
