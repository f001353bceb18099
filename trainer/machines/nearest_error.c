/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/machines/nearest_error.h"

#include "model-db/prior/prior.h"
#include "profiler/likeness.h"
#include "trainer/machines/machine_table.h"

#include <math.h>

/* The error of the least alike machine, if no machine of the table shows it. */
#define UNKNOWN_ERROR 1.0

#define LAST (TW_PRIOR_LIKENESSES - 1)

static double error_of(const struct tw_measured_machine *m,
		       const struct tw_measured_machine *nearest)
{
	const double cpus = (double)m->spec.cores / nearest->spec.cores;
	double sum = 0;

	for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
		sum += fabs(nearest->w[l] * cpus / m->w[l] - 1) / TW_PRIOR_LOADS;
	return sum;
}

static const struct tw_measured_machine *find_nearest(const struct tw_machine_table *t,
						      const bool *use, size_t self,
						      double *likeness)
{
	const struct tw_measured_machine *found = NULL;
	struct tw_likeness mine, other;

	tw_likeness_of(&t->machine[self].spec, &mine);
	*likeness = -1;
	for (size_t i = 0; i < t->count; i++) {
		double l;

		if (!use[i] || t->machine[i].processor == t->machine[self].processor)
			continue;
		tw_likeness_of(&t->machine[i].spec, &other);
		l = tw_likeness(&mine, &other);
		if (l > *likeness) {
			*likeness = l;
			found = &t->machine[i];
		}
	}
	return found;
}

/* Pool adjacent violators, from the least likeness: errors must not rise. */
static void pool(const double *error, const double *weight, double *out)
{
	double value[TW_PRIOR_LIKENESSES], mass[TW_PRIOR_LIKENESSES];
	size_t size[TW_PRIOR_LIKENESSES], n = 0, at = 0;

	for (size_t k = 0; k < TW_PRIOR_LIKENESSES; k++) {
		value[n] = weight[k] > 0 ? error[k] / weight[k]
			   : n > 0       ? value[n - 1]
					 : UNKNOWN_ERROR;
		mass[n] = weight[k];
		size[n++] = 1;
		while (n > 1 && value[n - 2] < value[n - 1]) {
			const double both = mass[n - 2] + mass[n - 1];

			value[n - 2] = both > 0 ? (value[n - 2] * mass[n - 2] +
						   value[n - 1] * mass[n - 1]) /
							  both
						: value[n - 2];
			mass[n - 2] = both;
			size[n - 2] += size[n - 1];
			n--;
		}
	}
	for (size_t b = 0; b < n; b++)
		for (size_t k = 0; k < size[b]; k++)
			out[at++] = value[b];
}

void tw_nearest_error(const struct tw_machine_table *t, const bool *use,
		      struct tw_prior *p)
{
	double error[TW_PRIOR_LIKENESSES] = { 0 }, weight[TW_PRIOR_LIKENESSES] = { 0 };

	for (size_t i = 0; i < t->count; i++) {
		const struct tw_measured_machine *nearest;
		double likeness, same = 0;
		size_t k;

		nearest = use[i] ? find_nearest(t, use, i, &likeness) : NULL;
		if (nearest == NULL)
			continue;
		for (size_t j = 0; j < t->count; j++)
			same += use[j] &&
				t->machine[j].processor == t->machine[i].processor;
		k = (size_t)lround(likeness * LAST);
		error[k] += error_of(&t->machine[i], nearest) / same;
		weight[k] += 1 / same;
	}
	pool(error, weight, p->nearest_error);
}
