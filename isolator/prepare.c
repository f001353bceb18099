/* SPDX-License-Identifier: Apache-2.0 */
#include "isolator/isolator.h"
#include "lib/core/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COLUMN_TEXT 256

/* The rows of d with (or without) keep, aggregated. */
static int aggregate_part(const struct tw_dataset *d, const bool *keep,
			  struct tw_dataset *out, struct tw_err *err)
{
	struct tw_dataset part = { 0 };
	int rc = -1;

	if (tw_dataset_copy(d, keep, &part, err) < 0 ||
	    tw_isolate_aggregate(&part, out, err) < 0)
		goto out;
	rc = 0;
out:
	tw_dataset_release(&part);
	return rc;
}

/* Both are in order of time; the targets' times without background stay 0. */
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
			       "%s tells workloads apart, and the data is of the node",
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
			"%s: each of %zu workloads is background, and none a target",
			it->name, d->ids.count);
		goto out;
	}
	if (aggregate_part(d, keep, &targets, err) < 0)
		goto out;
	for (size_t r = 0; r < d->rows; r++)
		keep[r] = !keep[r];
	if (it->keeps_background && (aggregate_part(d, keep, &background, err) < 0 ||
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
