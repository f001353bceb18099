/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALL_WORKLOADS "all containers"

bool tw_isolate_is_share(const char *name)
{
	return strncmp(name, TW_RATIO_PREFIX, sizeof(TW_RATIO_PREFIX) - 1) == 0;
}

bool tw_isolate_is_of_node(const char *name)
{
	size_t len = strlen(name);

	return strcmp(name, "node_type") == 0 || tw_isolate_is_share(name) ||
	       (len > 6 && strcmp(name + len - 6, "_power") == 0);
}

/* Row of out for each row of d, which is in order of time. Returns how many there are. */
static size_t map_rows(const struct tw_dataset *d, size_t *row)
{
	size_t rows = 0;

	for (size_t r = 0; r < d->rows; r++) {
		rows += r == 0 || d->time_ms[r] != d->time_ms[r - 1];
		row[r] = rows - 1;
	}
	return rows;
}

static int add_column(const struct tw_dataset *d, const struct tw_column *from,
		      const size_t *row, struct tw_dataset *out, struct tw_err *err)
{
	bool mean = tw_isolate_is_of_node(from->name);
	double *v;
	size_t n = 0; /* rows so far of the time being read */

	if (tw_dataset_add(out, from->name, &v, err) < 0)
		return -1;
	for (size_t r = 0; r < d->rows; r++) {
		n = r > 0 && row[r] == row[r - 1] ? n + 1 : 1;
		if (mean)
			v[row[r]] += (from->v[r] - v[row[r]]) / (double)n;
		else
			v[row[r]] += from->v[r];
	}
	return 0;
}

/*
 * The share in the sum of what the workloads use:
 *
 *	r = sum of r[i] use[i] / sum of use[i]
 *
 * or the mean, where nothing is used.
 */
static int add_share(const struct tw_dataset *d, const struct tw_column *from,
		     const double *use, const size_t *row, struct tw_dataset *out,
		     struct tw_err *err)
{
	double *v, part = 0.0, whole = 0.0;

	if (add_column(d, from, row, out, err) < 0)
		return -1;
	v = out->col[out->cols - 1].v;
	for (size_t r = 0; r < d->rows; r++) {
		if (r == 0 || row[r] != row[r - 1])
			part = whole = 0.0;
		part += from->v[r] * use[r];
		whole += use[r];
		if ((r + 1 == d->rows || row[r + 1] != row[r]) && whole > 0.0 &&
		    isfinite(part / whole))
			v[row[r]] = part / whole;
	}
	return 0;
}

int tw_isolate_aggregate(const struct tw_dataset *d, struct tw_dataset *out,
			 struct tw_err *err)
{
	const double *use = tw_dataset_find(d, TW_PACKAGE_USAGE);
	struct tw_dataset sum = { 0 };
	size_t *row = calloc(d->rows + 1, sizeof(*row));
	int rc = -1;

	if (row == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows", d->rows);
		goto out;
	}
	if (tw_dataset_init(&sum, map_rows(d, row), true, err) < 0 ||
	    tw_strs_adds(&sum.ids, ALL_WORKLOADS, err) < 0)
		goto out;
	for (size_t r = 0; r < d->rows; r++)
		sum.time_ms[row[r]] = d->time_ms[r];
	for (size_t i = 0; i < d->cols; i++) {
		const struct tw_column *c = &d->col[i];

		if ((use != NULL && tw_isolate_is_share(c->name)
			     ? add_share(d, c, use, row, &sum, err)
			     : add_column(d, c, row, &sum, err)) < 0)
			goto out;
	}

	*out = sum;
	sum = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_dataset_release(&sum);
	free(row);
	return rc;
}

int tw_isolate_power(const struct tw_dataset *d, const struct tw_energy_source *source,
		     double **out, struct tw_err *err)
{
	bool any = false;

	for (size_t k = 0; k < source->count; k++) {
		out[k] = tw_dataset_find(d, tw_power_column(source->components[k]));
		any |= out[k] != NULL;
	}
	if (!any)
		return tw_fail(err, TW_NOTFOUND, "no column '%s'",
			       tw_power_column(source->components[0]));
	return 0;
}
