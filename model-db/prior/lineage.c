/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/lineage.h"

#include "lib/core/err.h"
#include "model-db/prior/prior.h"

#include <stdlib.h>

/* The generation before, or -1. Older ones have lower places. */
static int before(const struct tw_prior *p, size_t at)
{
	return at < p->afters ? p->after[at] : -1;
}

/* The number of generations that a and b have in common. */
static void count_common(const struct tw_prior *p, size_t n, double *common)
{
	for (size_t a = 0; a < n; a++) {
		const int older = before(p, a);

		for (size_t b = 0; b < a; b++)
			common[a * n + b] = common[b * n + a] =
				older >= 0 ? common[(size_t)older * n + b] : 0;
		common[a * n + a] =
			1 + (older >= 0 ? common[(size_t)older * n + (size_t)older] : 0);
	}
}

/* The mean of each row of the matrix over the machines of the table, and that of all. */
static double find_means(const struct tw_prior *p, size_t n, const double *of,
			 double *mean)
{
	double machines = 0, all = 0;

	for (size_t i = 0; i < p->rows; i++) {
		const int at = p->row[i].category[TW_PRIOR_GENERATION];

		for (size_t b = 0; at >= 0 && b < n; b++)
			mean[b] += of[(size_t)at * n + b];
		machines += at >= 0;
	}
	for (size_t b = 0; b < n && machines > 0; b++)
		mean[b] /= machines;
	for (size_t i = 0; i < p->rows; i++)
		if (p->row[i].category[TW_PRIOR_GENERATION] >= 0)
			all += mean[p->row[i].category[TW_PRIOR_GENERATION]] / machines;
	return all;
}

/* Centred, in the unit of a kernel's variance. */
static void centre(size_t n, const double *mean, double all, double *like)
{
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			like[a * n + b] = (like[a * n + b] - mean[a] - mean[b] + all) /
					  TW_PRIOR_STEPS;
}

int tw_prior_find_lineage(struct tw_prior *p, struct tw_err *err)
{
	const size_t n = p->names[TW_PRIOR_GENERATION].count;
	double *like = calloc(n * n + 1, sizeof(*like));
	double *mean = calloc(n + 1, sizeof(*mean));
	size_t machines = 0;

	free(p->like);
	p->like = like;
	p->unknown_like = 0;
	if (like == NULL || mean == NULL) {
		free(mean);
		return tw_fail(err, TW_NOMEM, "%zu generations", n);
	}
	count_common(p, n, like);
	centre(n, mean, find_means(p, n, like, mean), like);
	free(mean);
	for (size_t i = 0; i < p->rows; i++) {
		tw_prior_set_lineage(p, &p->row[i], 0);
		if (p->row[i].like == NULL)
			continue;
		p->unknown_like += p->row[i].own_like;
		machines++;
	}
	p->unknown_like = p->unknown_like / (machines > 0 ? (double)machines : 1) +
			  1.0 / TW_PRIOR_STEPS;
	return 0;
}

void tw_prior_set_lineage(const struct tw_prior *p, struct tw_prior_row *r, unsigned more)
{
	const int at = r->category[TW_PRIOR_GENERATION];

	r->like = at >= 0 ? p->like + (size_t)at * p->names[TW_PRIOR_GENERATION].count
			  : NULL;
	r->own_like =
		at >= 0 ? r->like[at] + (double)more / TW_PRIOR_STEPS : p->unknown_like;
}
