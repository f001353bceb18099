/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/tw_test.h"

#include "estimator/predict/power_model.h"
#include "lib/core/err.h"
#include "tests/unit/fail_alloc.h"
#include "tests/unit/sample_model.h"

#include <stdlib.h>

/* 30 W at rest, and 100 W more at the end of the training range, 1e6. */
#define LINEAR                                                                         \
	"{\"All_Weights\":{\"Bias_Weight\":30,\"Categorical_Variables\":{},"           \
	"\"Numerical_Variables\":{\"bpf_cpu_time_ms\":{\"scale\":1e6,\"weight\":100}," \
	"\"bpf_page_cache_hit\":{\"scale\":1e6,\"weight\":0}}}}"

static struct tw_power_model *make(bool ranges)
{
	const struct sample sample = { .source = "acpi",
				       .group = "BPFOnly",
				       .text = LINEAR };
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	struct tw_err err = { 0 };

	sample_model(&sample, &m);
	for (size_t i = 0; !ranges && i < m.parts; i++) {
		free(m.part[i].feature_min);
		free(m.part[i].feature_max);
		m.part[i].feature_min = m.part[i].feature_max = NULL;
	}
	if (tw_power_model_new(&m, &p, &err) < 0)
		fail_msg("%s", err.text);
	return p;
}

static void a_curve_goes_from_rest_to_the_largest_training_load(void **state)
{
	struct tw_power_model *p = make(true);
	struct tw_load_curve c;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_load_curve(p, 0, &c, &err), 0);
	assert_int_equal(c.component, TW_PLATFORM);
	for (size_t i = 0; i < TW_LOAD_CURVE_POINTS; i++)
		assert_float_equal(c.watts[i], 30 + 100 * tw_load_curve_share(i), 1e-6);
	assert_float_equal(tw_load_curve_share(0), 0, 0);
	assert_float_equal(tw_load_curve_share(TW_LOAD_CURVE_POINTS - 1), 1, 0);
	tw_power_model_free(p);
}

static void a_model_without_training_ranges_has_no_curve(void **state)
{
	struct tw_power_model *p = make(false);
	struct tw_load_curve c;
	struct tw_err err = { 0 };

	(void)state;
	assert_int_equal(tw_load_curve(p, 0, &c, &err), -1);
	assert_int_equal(err.code, TW_NOTFOUND);
	assert_string_equal(err.text,
			    "the model has no training range of 'bpf_cpu_time_ms'");
	tw_power_model_free(p);
}

static void a_curve_without_memory_fails(void **state)
{
	struct tw_power_model *p = make(true);

	(void)state;
	for (int n = 1;; n++) {
		struct tw_load_curve c;
		struct tw_err err = { 0 };
		int rc;

		fail_alloc_at(n);
		rc = tw_load_curve(p, 0, &c, &err);
		if (!fail_alloc_told(rc, &err))
			break;
	}
	tw_power_model_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_curve_goes_from_rest_to_the_largest_training_load),
		cmocka_unit_test(a_model_without_training_ranges_has_no_curve),
		cmocka_unit_test(a_curve_without_memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
