/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_profile.h"

#include "lib/core/err.h"
#include "model-db/pipeline.h"
#include "trainer/isolation.h"
#include "trainer/train_data.h"
#include "trainer/train_machines.h"

#include <stdlib.h>

/* One row in that many is at rest. */
#define REST_SHARE 20

/* A row's use, and its power in turn. */
struct row {
	double use;
	size_t at;
};

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->use != y->use)
		return x->use < y->use ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static int add_rest(struct tw_profile *p, const struct tw_train_data *d,
		    struct tw_err *err)
{
	const size_t rows = d->d.rows;
	const size_t rest = rows / REST_SHARE > 0 ? rows / REST_SHARE : 1;
	const double *use = tw_dataset_find(
		&d->d, d->feature[tw_main_feature(d->feature, d->cols, TW_PACKAGE)]);
	struct row *row = calloc(rows, sizeof(*row));
	double *part = calloc(rest, sizeof(*part));
	int rc = -1;

	if (row == NULL || part == NULL) {
		tw_fail(err, TW_NOMEM, "%zu rows at rest", rest);
		goto out;
	}
	for (size_t r = 0; r < rows; r++)
		row[r] = (struct row){ use[r], r };
	qsort(row, rows, sizeof(*row), compare_rows);
	for (size_t c = 0; c < d->components; c++) {
		const double *watts =
			tw_dataset_find(&d->d, tw_power_column(d->component[c]));

		for (size_t i = 0; i < rest; i++)
			part[i] = watts[row[i].at];
		if (tw_profile_add_power(p, d->source, d->component[c],
					 (uint32_t)d->machine->node_type, part, rest,
					 err) < 0)
			goto out;
	}
	rc = 0;
out:
	free(row);
	free(part);
	return rc;
}

static int add_scalers(struct tw_profile *p, const struct tw_train_data *d,
		       struct tw_err *err)
{
	for (size_t c = 0; c < d->cols; c++) {
		const double *v = tw_dataset_find(&d->d, d->feature[c]);
		double max = v[0];

		for (size_t r = 1; r < d->d.rows; r++)
			max = v[r] > max ? v[r] : max;
		if (tw_profile_add_scaler(p, d->group, (uint32_t)d->machine->node_type,
					  d->feature[c], max, err) < 0)
			return -1;
	}
	return 0;
}

int tw_train_profile_data(const struct tw_train_data *d, struct tw_profile *out,
			  struct tw_err *err)
{
	if (add_rest(out, d, err) < 0)
		return -1;
	return add_scalers(out, d, err);
}

/* Rows of all workloads; of DynPower some may be left out as background. */
static bool is_whole(const struct tw_train_data *d)
{
	return d->err.code == TW_OK && d->output == TW_ABS_POWER;
}

int tw_train_profile(const struct tw_train_data *data, size_t count,
		     const struct tw_isolation *isolation, struct tw_fileset *out,
		     struct tw_err *err)
{
	const struct tw_profile *rest = isolation->args.profile;
	struct tw_profile p = { 0 }, all = { 0 };
	bool whole = false;
	int rc = -1;

	for (size_t i = 0; i < count; i++)
		whole |= is_whole(&data[i]);
	for (size_t i = 0; i < count; i++) {
		const struct tw_train_data *d = &data[i];

		if (d->err.code == TW_OK && is_whole(d) == whole &&
		    tw_profile_update(&p, &d->profile, err) < 0)
			goto out;
	}
	/* What was recorded at rest goes before what was found in the data. */
	if ((rest != NULL && tw_profile_join(&all, rest, err) < 0) ||
	    tw_profile_join(&all, &p, err) < 0 ||
	    tw_pipeline_set_profile(out, &all, err) < 0)
		goto out;
	rc = 0;
out:
	tw_profile_release(&p);
	tw_profile_release(&all);
	return rc;
}
