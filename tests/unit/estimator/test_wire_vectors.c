/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors of docs/wire.md, "Weights", that were observed in Kepler 0.7.12. */
#include "lib/core/array.h"
#include "tests/unit/tw_test.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <string.h>

struct vector {
	const struct tw_predictor *predictor;
	const char *text;
	long long power_mw, idle_mw; /* truncated, as the client does */
};

#define CURVE(name, weights)                                                     \
	"{\"curve\":\"" name "\",\"All_Weights\":{\"Categorical_Variables\":{}," \
	"\"Numerical_Variables\":{\"f\":{\"scale\":1000}},"                      \
	"\"CurveFit_Weights\":" weights "}}"

static const struct vector vectors[] = {
	/* Without its category, which is 2.5 W, and at a ratio of cores of 1, not a half.
	 */
	{ &tw_predictor_linear,
	  "{\"All_Weights\":{\"Bias_Weight\":10,\"Categorical_Variables\":{},"
	  "\"Numerical_Variables\":{\"f\":{\"scale\":1000,\"weight\":20}}}}",
	  32500 - 2500, 6250 * 2 - 2500 },
	{ &tw_predictor_curvefit, CURVE("exponential", "[2,1.5,7]"), 15963, 9000 },
	{ &tw_predictor_curvefit, CURVE("logarithmic", "[3,4,7]"), 11828, 7000 },
	{ &tw_predictor_curvefit, CURVE("logistic", "[30,0.5,8,7]"), 36460, 7539 },
};

static void the_vectors_of_the_wire_contract_are_predicted(void **state)
{
	static const double x[] = { 1000, 0 };
	const struct tw_rows rows = { .x = x, .rows = 2, .stride = 1 };

	(void)state;
	for (size_t i = 0; i < TW_COUNT(vectors); i++) {
		const struct vector *v = &vectors[i];
		struct tw_strs features = { 0 };
		struct tw_err err = { 0 };
		void *model = NULL;
		double watts[2];

		assert_int_equal(tw_strs_adds(&features, "f", &err), 0);
		if (tw_predictor_load(v->predictor, v->text, strlen(v->text), &features,
				      &model, &err) < 0)
			fail_msg("%s", err.text);
		v->predictor->predict(model, &rows, watts);
		assert_int_equal((long long)(watts[0] * 1000.0), v->power_mw);
		assert_int_equal((long long)(watts[1] * 1000.0), v->idle_mw);
		tw_predictor_free(v->predictor, model);
		tw_strs_clear(&features);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vectors_of_the_wire_contract_are_predicted),
	};

	return cmocka_run_group_tests_name("wire_vectors", tests, NULL, NULL);
}
