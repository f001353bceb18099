/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/err.h"
#include "trainer/design.h"
#include "trainer/linear_text.h"
#include "trainer/registry.h"
#include "trainer/ridge.h"
#include "trainer/samples.h"

#include <stdlib.h>

/*
 * A constant and a weight for each feature, of either sign, by ridge regression: the
 * formula and its source are in trainer/ridge.c.
 */
static int fit_ridge(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		     struct tw_err *err)
{
	struct tw_design design = { 0 };
	double *weight = NULL;
	int rc = -1;

	(void)seed;
	if (tw_samples_check(s, tw_trainer_ridge.min_rows, err) < 0)
		goto out;
	weight = calloc(s->cols, sizeof(*weight));
	if (weight == NULL) {
		tw_fail(err, TW_NOMEM, "ridge regression of %zu columns", s->cols);
		goto out;
	}
	if (tw_design_init(&design, s, err) < 0 ||
	    tw_ridge_solve(&design, weight, err) < 0 ||
	    tw_linear_text(s, &design, weight, text, err) < 0)
		goto out;

	rc = 0;
out:
	free(weight);
	tw_design_release(&design);
	return rc;
}

const struct tw_trainer tw_trainer_ridge = {
	.name = "SGDRegressorTrainer",
	.summary = "linear, shrunk by generalised cross validation (ridge)",
	.predictor = "linear",
	.min_rows = 2,
	.fit = fit_ridge,
};
