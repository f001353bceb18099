/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"

#include "lib/core/array.h"
#include "lib/core/err.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- registry ---- */

/* Sorted by name. */
static const struct tw_isolator *const isolators[] = {
	&tw_isolator_idle_regression, &tw_isolator_min_idle, &tw_isolator_none,
	&tw_isolator_profile,         &tw_isolator_train,
};

size_t tw_isolator_count(void)
{
	return TW_COUNT(isolators);
}

const struct tw_isolator *tw_isolator_at(size_t i)
{
	assert(i < TW_COUNT(isolators));
	return isolators[i];
}

const struct tw_isolator *tw_isolator_find(const char *name)
{
	for (size_t i = 0; i < TW_COUNT(isolators); i++)
		if (strcmp(isolators[i]->name, name) == 0)
			return isolators[i];
	return NULL;
}

/* ---- rows of all workloads ---- */

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

/* Set row[] to the output row of each row of d, whose times ascend. Returns the number of
 * output rows. */
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
	size_t n = 0; /* rows of the current time so far */

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
 * Average a package's share over the workloads i, weighted by their usage:
 *
 *	r = sum of r[i] use[i] / sum of use[i]
 *
 * or unweighted, if nothing is used.
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

/* ---- targets and background ---- */

#define COLUMN_TEXT 256

/* Aggregate the rows that are marked in keep. */
static int aggregate_marked(const struct tw_dataset *d, const bool *keep,
			    struct tw_dataset *out, struct tw_err *err)
{
	struct tw_dataset part = { 0 };
	int rc = -1;

	if (tw_dataset_copy(d, keep, &part, err) == 0 &&
	    tw_isolate_aggregate(&part, out, err) == 0)
		rc = 0;
	tw_dataset_release(&part);
	return rc;
}

/* Copy a column by time; times without background stay 0. Both datasets' times ascend. */
static void fill_background(const struct tw_dataset *background, const double *from,
			    const struct tw_dataset *targets, double *to)
{
	size_t b = 0;

	for (size_t r = 0; r < targets->rows; r++) {
		while (b < background->rows &&
		       background->time_ms[b] < targets->time_ms[r])
			b++;
		if (b < background->rows && background->time_ms[b] == targets->time_ms[r])
			to[r] = from[b];
	}
}

static int add_background(const struct tw_dataset *background, struct tw_dataset *targets,
			  struct tw_err *err)
{
	const size_t cols = background->cols;

	for (size_t i = 0; i < cols; i++) {
		const struct tw_column *c = &background->col[i];
		char name[COLUMN_TEXT];
		double *v;

		if (tw_isolate_is_of_node(c->name))
			continue;
		snprintf(name, sizeof(name), TW_BACKGROUND_PREFIX "%s", c->name);
		if (tw_dataset_add(targets, name, &v, err) < 0)
			return -1;
		fill_background(background, c->v, targets, v);
	}
	return 0;
}

int tw_isolate_prepare(const struct tw_isolator *it, const struct tw_isolator_args *args,
		       const struct tw_dataset *d, struct tw_dataset *out,
		       struct tw_err *err)
{
	struct tw_dataset targets = { 0 }, background = { 0 };
	bool *keep = NULL;
	size_t kept = 0;
	int rc = -1;

	if (it->is_background == NULL)
		return tw_isolate_aggregate(d, out, err);
	if (d->id == NULL)
		return tw_fail(err, TW_INVALID,
			       "%s needs container-level data, and this is node-level",
			       it->name);
	keep = calloc(d->rows + 1, sizeof(*keep));
	if (keep == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows", d->rows);
		goto out;
	}
	for (size_t r = 0; r < d->rows; r++) {
		keep[r] = !it->is_background(args, d->ids.at[d->id[r]]);
		kept += keep[r];
	}
	if (kept == 0) {
		tw_fail(err, TW_INVALID,
			"%s: all %zu workloads are background, none is a target",
			it->name, d->ids.count);
		goto out;
	}
	if (aggregate_marked(d, keep, &targets, err) < 0)
		goto out;
	for (size_t r = 0; r < d->rows; r++)
		keep[r] = !keep[r];
	if (it->keeps_background && (aggregate_marked(d, keep, &background, err) < 0 ||
				     add_background(&background, &targets, err) < 0))
		goto out;

	*out = targets;
	targets = (struct tw_dataset){ 0 };
	rc = 0;
out:
	tw_dataset_release(&targets);
	tw_dataset_release(&background);
	free(keep);
	return rc;
}

/*
 * ---- power of packages ----
 *
 * Packages u share the subtraction from their component:
 *
 *	P'[u][i] = P[u][i] - w[u] (P[i] - P'[i]),	sum of w[u] = 1
 *
 * Idle power is constant, so w[u] is the package's part in the sum of minimum powers.
 */

double tw_isolate_least(const double *v, size_t rows)
{
	double least = v[0];

	for (size_t r = 1; r < rows; r++)
		if (v[r] < least)
			least = v[r];
	return least;
}

/* Subtract from the packages what was subtracted from their component; before[] is the
 * component's power until then. */
static void subtract_from_packages(struct tw_dataset *d, enum tw_component c,
				   const double *before)
{
	const double *after = tw_dataset_find(d, tw_power_column(c));
	double least = 0.0, packages = 0.0;

	for (size_t i = 0; i < d->cols; i++) {
		if (!tw_is_package_power(d->col[i].name, c))
			continue;
		least += tw_isolate_least(d->col[i].v, d->rows);
		packages++;
	}
	for (size_t i = 0; i < d->cols; i++) {
		double *v = d->col[i].v, part;

		if (!tw_is_package_power(d->col[i].name, c))
			continue;
		part = least > 0.0 ? tw_isolate_least(v, d->rows) / least
				   : 1.0 / packages;
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
		const double *watts =
			tw_dataset_find(d, tw_power_column(source->components[k]));

		if (watts == NULL)
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
			subtract_from_packages(d, source->components[k], before[k]);
	rc = 0;
out:
	for (size_t k = 0; k < TW_COMPONENT_COUNT; k++)
		free(before[k]);
	return rc;
}
