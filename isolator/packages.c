/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Power of packages, told apart, follows what is done to the component's:
 *
 *	P'[u][i] = P[u][i] - w[u] (P[i] - P'[i]),	sum of w[u] = 1
 *
 * What idles in a package does so all the time; so w[u] is its part in the sum of the
 * packages' least watts.
 */
#include "isolator/isolator.h"
#include "lib/core/err.h"

#include <stdlib.h>
#include <string.h>

static double find_least(const double *v, size_t rows)
{
	double least = v[0];

	for (size_t r = 1; r < rows; r++)
		if (v[r] < least)
			least = v[r];
	return least;
}

static bool has_packages(const struct tw_dataset *d, enum tw_component c)
{
	for (size_t i = 0; i < d->cols; i++)
		if (tw_is_package_power(d->col[i].name, c))
			return true;
	return false;
}

/* Take from the packages of a component what was taken from it, of before[rows]. */
static void take_from_packages(struct tw_dataset *d, enum tw_component c,
			       const double *before)
{
	const double *after = tw_dataset_find(d, tw_power_column(c));
	double least = 0.0, packages = 0.0;

	for (size_t i = 0; i < d->cols; i++) {
		if (!tw_is_package_power(d->col[i].name, c))
			continue;
		least += find_least(d->col[i].v, d->rows);
		packages++;
	}
	for (size_t i = 0; i < d->cols; i++) {
		double *v = d->col[i].v, part;

		if (!tw_is_package_power(d->col[i].name, c))
			continue;
		part = least > 0.0 ? find_least(v, d->rows) / least : 1.0 / packages;
		for (size_t r = 0; r < d->rows; r++)
			v[r] -= part * (before[r] - after[r]);
	}
}

int tw_isolate_apply(const struct tw_isolator *it, const void *state,
		     const struct tw_energy_source *source, struct tw_dataset *d,
		     struct tw_err *err)
{
	double *before[TW_COMPONENT_COUNT] = { NULL };
	int rc = -1;

	for (size_t k = 0; k < source->count && d->rows > 0; k++) {
		const enum tw_component c = source->components[k];
		const double *watts = tw_dataset_find(d, tw_power_column(c));

		if (watts == NULL || !has_packages(d, c))
			continue;
		before[k] = malloc(d->rows * sizeof(*watts));
		if (before[k] == NULL) {
			tw_fail(err, TW_NOMEM, "power of %zu rows", d->rows);
			goto out;
		}
		memcpy(before[k], watts, d->rows * sizeof(*watts));
	}
	if (it->apply(state, d, err) < 0)
		goto out;
	for (size_t k = 0; k < source->count; k++)
		if (before[k] != NULL)
			take_from_packages(d, source->components[k], before[k]);
	rc = 0;
out:
	for (size_t k = 0; k < TW_COMPONENT_COUNT; k++)
		free(before[k]);
	return rc;
}
