/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/core/buf.h"
#include "lib/core/err.h"
#include "trainer/fit/scaled_rows.h"
#include "trainer/fit/trainer.h"

/*
 * The mean power of the six nearest training rows, by Euclidean distance of the features,
 * each divided by its largest magnitude (E. Fix, J. L. Hodges, Discriminatory Analysis:
 * Nonparametric Discrimination, 1951). The model consists of the rows.
 */
#define NEIGHBOURS 6
/* Limit of rows in a model; of more rows, an even selection. */
#define ROWS_MAX 8192

static int fit_knn(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		   struct tw_err *err)
{
	struct tw_scaled_rows d = { 0 };
	int rc = -1;

	(void)seed;
	if (tw_samples_check(s, tw_trainer_knn.min_rows, err) < 0 ||
	    tw_scaled_rows_init(&d, s, ROWS_MAX, err) < 0)
		goto out;
	tw_buf_addf(text, "{\"knn\":{\"neighbors\":%zu",
		    d.rows < NEIGHBOURS ? d.rows : NEIGHBOURS);
	tw_scaled_rows_text(&d, d.y, text);
	tw_buf_adds(text, "}}");
	if (tw_buf_failed(text)) {
		tw_fail(err, TW_NOMEM, "model of %zu rows", d.rows);
		goto out;
	}

	rc = 0;
out:
	tw_scaled_rows_release(&d);
	return rc;
}

const struct tw_trainer tw_trainer_knn = {
	.name = "KNeighborsRegressorTrainer",
	.summary = "the mean of the six nearest training rows",
	.predictor = "knn",
	.min_rows = 2,
	.cost_ns = 4500,
	.fit = fit_knn,
};
