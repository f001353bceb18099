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
	out->log_ratio = calloc(rows + 1, sizeof(*out->log_ratio));
	out->variance = calloc(rows + 1, sizeof(*out->variance));
	out->group = calloc(rows + 1, sizeof(*out->group));
	out->rows = rows;
	if (out->log_ratio == NULL || out->variance == NULL || out->group == NULL)
		return tw_fail(err, TW_NOMEM, "predictions of %zu machines", rows);
	return 0;
}

void tw_prior_held_out_release(struct tw_prior_held_out *h)
{
	free(h->log_ratio);
	free(h->variance);
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

/* share[rows]: of each row in its group. Returns the number of groups. */
static double find_shares(const struct tw_prior_held_out *h, double *share)
{
	double groups = 0;

	for (size_t i = 0; i < h->rows; i++) {
		size_t same = 0;

		for (size_t k = 0; k < h->rows; k++)
			same += h->group[k] == h->group[i];
		share[i] = 1 / (double)same;
		groups += share[i];
	}
	return groups;
}

/* Between machines and processors: a processor counts with the root of its machines. */
static void find_factors(const struct tw_prior_held_out *h, const double *share,
			 struct weighed *x, double *factor)
{
	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		for (size_t i = 0; i < h->rows; i++)
			x[i] = (struct weighed){ h->log_ratio[i][l],
						 sqrt(share[i]) *
							 exp(-h->log_ratio[i][l]) };
		factor[l] = exp(quantile(x, h->rows, 0.5));
	}
}

static void find_misses(const struct tw_prior_held_out *h, const double *share,
			double groups, const double *factor, struct weighed *x,
			struct tw_prior_misses *out)
{
	const double coverage = fmin(COVERAGE * (groups + 1) / groups, 1);

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++) {
		double sum = 0;

		for (size_t i = 0; i < h->rows; i++) {
			const double sd = sqrt(h->variance[i][l]);
			const double miss = h->log_ratio[i][l] - log(factor[l]);

			x[i] = (struct weighed){ fabs(miss) / sd, share[i] };
			sum += share[i] * fabs(exp(-miss) - 1) / sd;
		}
		out->width[l] = quantile(x, h->rows, coverage);
		out->error[l] = sum / groups;
	}
}

int tw_prior_errors(const struct tw_prior_held_out *h, struct tw_prior_view *v,
		    struct tw_err *err)
{
	struct weighed *x = calloc(h->rows + 1, sizeof(*x));
	double *share = calloc(h->rows + 1, sizeof(*share)), groups;
	int rc = -1;

	if (x == NULL || share == NULL) {
		tw_fail(err, TW_NOMEM, "%zu machines", h->rows);
		goto out;
	}
	groups = find_shares(h, share);
	find_factors(h, share, x, v->factor);
	find_misses(h, share, groups, v->factor, x, &v->known);
	rc = 0;
out:
	free(x);
	free(share);
	return rc;
}
