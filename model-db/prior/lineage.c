/* SPDX-License-Identifier: Apache-2.0 */
#include "model-db/prior/lineage.h"

#include "lib/core/err.h"

#include <stdlib.h>

/* The generations that a and b both come from; older ones have lower places. */
static void count_common(const int *after, size_t n, double *common)
{
	for (size_t a = 0; a < n; a++) {
		const double *older =
			after[a] >= 0 ? common + (size_t)after[a] * n : NULL;

		for (size_t b = 0; b < a; b++)
			common[a * n + b] = common[b * n + a] =
				older != NULL ? older[b] : 0;
		common[a * n + a] = 1 + (older != NULL ? older[after[a]] : 0);
	}
}

/* The mean of of[0], of[stride] .. over the machines of the table; 0 without machines. */
static double mean_of(const double *of, size_t stride, const size_t *machines, size_t n)
{
	double sum = 0, count = 0;

	for (size_t a = 0; a < n; a++) {
		sum += of[a * stride] * (double)machines[a];
		count += (double)machines[a];
	}
	return count > 0 ? sum / count : 0;
}

int tw_lineage_find(const int *after, const size_t *machines, size_t n,
		    struct tw_lineage *out, struct tw_err *err)
{
	double *like = calloc(n * n + 1, sizeof(*like));
	double *mean = calloc(n + 1, sizeof(*mean)), all;

	if (like == NULL || mean == NULL) {
		free(like);
		free(mean);
		return tw_fail(err, TW_NOMEM, "%zu generations", n);
	}
	count_common(after, n, like);
	for (size_t a = 0; a < n; a++)
		mean[a] = mean_of(like + a * n, 1, machines, n);
	all = mean_of(mean, 1, machines, n);
	for (size_t a = 0; a < n; a++)
		for (size_t b = 0; b < n; b++)
			like[a * n + b] = (like[a * n + b] - mean[a] - mean[b] + all) /
					  TW_LINEAGE_STEPS;
	*out = (struct tw_lineage){ .like = like,
				    .count = n,
				    .unknown = mean_of(like, n + 1, machines, n) +
					       1.0 / TW_LINEAGE_STEPS };
	free(mean);
	return 0;
}

void tw_lineage_clear(struct tw_lineage *l)
{
	free(l->like);
	*l = (struct tw_lineage){ 0 };
}
