/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/interval_score.h"

#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>

double tw_winkler(double measured, double predicted, double half_w)
{
	const double low = fmax(predicted - half_w, 0.0), high = predicted + half_w;
	const double missed = fmax(fmax(low - measured, measured - high), 0.0);

	/* NaN for an unknown half-width: high is NaN. */
	return high - low + 2.0 / (1.0 - TW_INTERVAL_LEVEL) * missed;
}

bool tw_interval_holds(double measured, double predicted, double half_w)
{
	return measured >= fmax(predicted - half_w, 0.0) &&
	       measured <= predicted + half_w;
}

double tw_conformal(double *v, size_t n, double share)
{
	const double rank = ceil((double)(n + 1) * share);

	const size_t place = rank < (double)n ? (size_t)rank - 1 : n - 1;

	tw_put_in_place(v, n, place);
	return v[place];
}

/* ---- misses ---- */

struct ranked {
	double expected;
	bool miss;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return x->expected < y->expected ? -1 : x->expected > y->expected;
}

/* The nearest rank of 95 %. */
static double percentile_95(double *v, size_t n)
{
	const size_t place = (n * 95 + 99) / 100 - 1;

	tw_put_in_place(v, n, place);
	return v[place];
}

/* By the sum of the ranks of the misses; equal values share their mean rank. */
static double area(const struct ranked *r, size_t rows, size_t misses)
{
	double sum = 0.0;
	size_t to;

	for (size_t from = 0; from < rows; from = to) {
		size_t found = 0;

		for (to = from; to < rows && r[to].expected == r[from].expected; to++)
			found += r[to].miss;
		sum += (double)found * (double)(from + 1 + to) / 2.0;
	}
	sum -= (double)misses * (double)(misses + 1) / 2.0;
	return sum / ((double)misses * (double)(rows - misses));
}

int tw_miss_auc(const double *abs_error, const double *expected, size_t rows, double *out,
		struct tw_err *err)
{
	struct ranked *r = calloc(rows + 1, sizeof(*r));
	double *sorted = calloc(rows + 1, sizeof(*sorted)), limit;
	size_t misses = 0;
	int rc = -1;

	if (r == NULL || sorted == NULL) {
		tw_fail(err, TW_NOMEM, "ranks of %zu rows", rows);
		goto out;
	}
	for (size_t i = 0; i < rows; i++)
		sorted[i] = abs_error[i];
	limit = rows > 0 ? percentile_95(sorted, rows) : 0.0;
	for (size_t i = 0; i < rows; i++) {
		r[i] = (struct ranked){ expected[i], abs_error[i] > limit };
		misses += r[i].miss;
	}
	qsort(r, rows, sizeof(*r), compare_ranked);

	*out = misses > 0 ? area(r, rows, misses) : NAN;
	rc = 0;
out:
	free(r);
	free(sorted);
	return rc;
}

/* ---- a recording ---- */

static double coverage_of(const struct tw_intervals *i, size_t from, size_t to)
{
	size_t held = 0;

	for (size_t r = from; r < to; r++)
		held += tw_interval_holds(i->measured[r], i->predicted[r], i->half_w[r]);
	return to > from ? (double)held / (double)(to - from) : NAN;
}

int tw_interval_score(const struct tw_intervals *i, struct tw_interval_score *out,
		      struct tw_err *err)
{
	struct tw_interval_score s = { .auc = NAN };
	double *error = calloc(i->rows + 1, sizeof(*error));
	bool known = true;
	int rc = -1;

	if (error == NULL) {
		tw_fail(err, TW_NOMEM, "intervals of %zu rows", i->rows);
		goto out;
	}
	for (size_t r = 0; r < i->rows; r++) {
		error[r] = fabs(i->predicted[r] - i->measured[r]);
		known = known && isfinite(i->expected_w[r]);
		s.score += tw_winkler(i->measured[r], i->predicted[r], i->half_w[r]) /
			   (double)i->rows;
		s.constant += tw_winkler(i->measured[r], i->predicted[r], i->constant_w) /
			      (double)i->rows;
	}
	s.coverage = isfinite(s.score) ? coverage_of(i, 0, i->rows) : NAN;
	for (size_t b = 0; b < TW_INTERVAL_BLOCKS; b++)
		s.block_coverage[b] =
			isfinite(s.score)
				? coverage_of(i, b * i->rows / TW_INTERVAL_BLOCKS,
					      (b + 1) * i->rows / TW_INTERVAL_BLOCKS)
				: NAN;
	if (known && tw_miss_auc(error, i->expected_w, i->rows, &s.auc, err) < 0)
		goto out;

	*out = s;
	rc = 0;
out:
	free(error);
	return rc;
}
