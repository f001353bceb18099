/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run_verdict.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

/* Variance of the mixture: effects of about one standard deviation. */
#define MIXTURE 1.0

void tw_run_mean_add(struct tw_run_mean *m, double value)
{
	const double off = value - m->mean;

	m->count++;
	m->mean += off / (double)m->count;
	m->squares += off * (value - m->mean);
}

/* The standard error of the mean. */
static double spread_of(const struct tw_run_mean *m)
{
	const double n = (double)m->count;

	return sqrt(m->squares / (n - 1) / n);
}

double tw_run_mean_error(const struct tw_run_mean *m)
{
	if (m->count < 2)
		return NAN;
	return spread_of(m) *
	       gsl_cdf_tdist_Pinv(1 - TW_RUN_ERROR_RATE / 2, (double)m->count - 1);
}

void tw_run_pair_add(struct tw_run_mean *m, double joules, double other)
{
	tw_run_mean_add(m, log(joules / other));
}

/*
 * The largest |t| whose ratio of likelihoods, mixed over effects of N(0, MIXTURE), is
 * below 1 / TW_RUN_ERROR_RATE. With k = 1 + n MIXTURE and f = n - 1 the ratio is
 * k^(-1/2) ((1 + t^2/f) / (1 + t^2/(f k)))^(n/2).
 */
static double limit_of_t(double n)
{
	const double k = 1 + n * MIXTURE;
	const double r = pow(sqrt(k) / TW_RUN_ERROR_RATE, 2 / n);

	return r < k ? sqrt((n - 1) * (r - 1) / (1 - r / k)) : (double)INFINITY;
}

struct tw_run_ratio tw_run_pairs_ratio(const struct tw_run_mean *m)
{
	struct tw_run_ratio r = { .of = exp(m->mean), .high = (double)INFINITY };
	double t;

	if (m->count < TW_RUN_PAIRS_MIN)
		return r;
	t = limit_of_t((double)m->count);
	if (isinf(t))
		return r;
	r.low = exp(m->mean - t * spread_of(m));
	r.high = exp(m->mean + t * spread_of(m));
	return r;
}

bool tw_run_ratio_decides(const struct tw_run_ratio *r)
{
	return r->low > 1 || r->high < 1;
}
