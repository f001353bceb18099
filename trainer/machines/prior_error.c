/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/prior_error.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>

#define COVERAGE 0.9

/* A value and its weight: compared by the value, which is first. */
struct weighed {
	double value, weight;
};

int tw_prior_held_out_new(size_t rows, struct tw_prior_held_out *out, struct tw_err *err)
{
	out->log_w = calloc(rows + 1, sizeof(*out->log_w));
	out->log_ratio = calloc(rows + 1, sizeof(*out->log_ratio));
	out->group = calloc(rows + 1, sizeof(*out->group));
	out->rows = rows;
	if (out->log_w == NULL || out->log_ratio == NULL || out->group == NULL)
		return tw_fail(err, TW_NOMEM, "predictions of %zu machines", rows);
	return 0;
}

void tw_prior_held_out_release(struct tw_prior_held_out *h)
{
	free(h->log_w);
	free(h->log_ratio);
	free(h->group);
	*h = (struct tw_prior_held_out){ 0 };
}

/* The least value below which `share` of the weight lies. */
static double quantile(struct weighed *x, size_t n, double share)
{
	double total = 0, sum = 0;

	qsort(x, n, sizeof(*x), tw_compare_doubles);
	for (size_t i = 0; i < n; i++)
		total += x[i].weight;
	for (size_t i = 0; i < n; i++) {
		sum += x[i].weight;
		if (sum >= share * total)
			return x[i].value;
	}
	return x[n - 1].value;
}

int tw_prior_errors(const struct tw_prior_held_out *h, struct tw_prior_view *v,
		    struct tw_err *err)
{
	struct weighed *x = calloc(h->rows + 1, sizeof(*x));
	double *share = calloc(h->rows + 1, sizeof(*share)); /* of a row in its group */
	double groups = 0;
	int rc = -1;

	if (x == NULL || share == NULL) {
		tw_fail(err, TW_NOMEM, "%zu machines", h->rows);
		goto out;
	}
	for (size_t i = 0; i < h->rows; i++) {
		size_t same = 0;

		for (size_t k = 0; k < h->rows; k++)
			same += h->group[k] == h->group[i];
		share[i] = 1 / (double)same;
		groups += share[i];
	}
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		double log_factor, sum = 0;

		/* Between machines and processors: one over the root of its machines. */
		for (size_t i = 0; i < h->rows; i++)
			x[i] = (struct weighed){ h->log_ratio[i][l],
						 sqrt(share[i]) *
							 exp(-h->log_ratio[i][l]) };
		log_factor = quantile(x, h->rows, 0.5);
		v->factor[l] = exp(log_factor);
		for (size_t i = 0; i < h->rows; i++) {
			x[i] = (struct weighed){ fabs(h->log_ratio[i][l] - log_factor),
						 share[i] };
			sum += share[i] * fabs(exp(h->log_ratio[i][l] - log_factor) - 1);
		}
		v->width[l] =
			quantile(x, h->rows, fmin(COVERAGE * (groups + 1) / groups, 1));
		v->error[l] = sum / groups;
	}
	rc = 0;
out:
	free(x);
	free(share);
	return rc;
}
