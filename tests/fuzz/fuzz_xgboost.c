/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/core/strs.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ROWS 9

/* Property: what is loaded can predict, and a row's watts do not depend on its company.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const double x[2 * ROWS] = { 0,    1,   -1,  NAN, 1e300, -1e300,
					    5,    NAN, NAN, NAN, 0.5,   1e6,
					    1e-9, 4,   5,   7,   2,     3 };
	const struct tw_predictor *p = tw_predictor_find("xgboost");
	struct tw_strs features = { 0 };
	struct tw_err err = { 0 };
	double all[ROWS], one;
	void *state = NULL;

	if (tw_strs_split(&features, "f0,f1", &err) < 0 ||
	    tw_predictor_load(p, (const char *)data, size, &features, &state, &err) < 0) {
		tw_strs_clear(&features);
		return 0;
	}
	p->predict(state, &(struct tw_rows){ .x = x, .rows = ROWS, .stride = 2 }, all);
	for (size_t r = 0; r < ROWS; r++) {
		p->predict(state,
			   &(struct tw_rows){ .x = x + 2 * r, .rows = 1, .stride = 2 },
			   &one);
		if (isnan(all[r]) ? !isnan(one) : one != all[r])
			abort();
	}
	tw_predictor_free(p, state);
	tw_strs_clear(&features);
	return 0;
}
