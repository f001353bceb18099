/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_data.h"

#include "lib/core/array.h"
#include "lib/core/date.h"
#include "trainer/fit/fits.h"
#include "trainer/fit/rest.h"
#include "trainer/isolation.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDS_DEFAULT 5

/* Adjacent rows that share samples with a row (struct tw_samples). */
static size_t overlap_of(const struct tw_train_data *t)
{
	return t->job->smooth > 0 ? t->job->smooth - 1 : 0;
}

/* ---- columns and power ---- */

static int find_columns(struct tw_train_data *t, struct tw_err *err)
{
	if (TW_NEW(t->feature, t->group->count, err) < 0)
		return -1;
	for (size_t i = 0; i < t->group->count; i++)
		if (tw_dataset_find(&t->d, t->group->features[i]) != NULL)
			t->feature[t->cols++] = t->group->features[i];
	if (t->cols == 0)
		return tw_fail(err, TW_INVALID, "the data has no feature of %s",
			       t->group->name);

	for (size_t i = 0; i < t->source->count; i++)
		if (tw_dataset_find(&t->d, tw_power_column(t->source->components[i])) !=
		    NULL)
			t->component[t->components++] = t->source->components[i];
	if (t->components == 0)
		return tw_fail(err, TW_INVALID, "the data has no power of %s",
			       t->source->name);
	return 0;
}

static int fill_x(struct tw_train_data *t, struct tw_err *err)
{
	if (tw_new(&t->x, t->d.rows + 1, t->cols * sizeof(*t->x), err) < 0)
		return -1;
	for (size_t c = 0; c < t->cols; c++) {
		const double *v = tw_dataset_find(&t->d, t->feature[c]);

		for (size_t r = 0; r < t->d.rows; r++)
			t->x[r * t->cols + c] = v[r];
	}
	return 0;
}

/* AbsPower is the same in each split and stored once. */
static double *power_at(const struct tw_train_data *t, size_t split, size_t component)
{
	const size_t block = t->output == TW_DYN_POWER ? split : 0;

	return t->y + (block * t->components + component) * t->d.rows;
}

static void fill_power(struct tw_train_data *t, const struct tw_dataset *d, size_t fold)
{
	for (size_t c = 0; c < t->components; c++)
		memcpy(power_at(t, fold, c),
		       tw_dataset_find(d, tw_power_column(t->component[c])),
		       d->rows * sizeof(*t->y));
}

/* Get the isolator's metadata for the models. */
static int describe(struct tw_train_data *t, const struct tw_isolator *isolator,
		    const void *state, struct tw_err *err)
{
	t->learnt = json_object();
	if (t->learnt == NULL)
		return tw_fail(err, TW_NOMEM, "metadata of the isolation");
	if (isolator->describe == NULL)
		return 0;
	return isolator->describe(state, t->learnt, err);
}

/* Isolate the rows after the job's share by what the isolator learned within it. */
static int apply_later(struct tw_train_data *t, const struct tw_isolator *isolator,
		       const void *state, struct tw_err *err)
{
	if (t->later.rows == 0 || isolator->apply(state, &t->later, err) == 0)
		return 0;
	return tw_err_wrap(err, "%s", isolator->name);
}

/* Fit the isolator on the rows of keep and isolate the power of all rows. */
static int isolate_fold(struct tw_train_data *t, const struct tw_isolator *isolator,
			const bool *keep, size_t fold, struct tw_err *err)
{
	const struct tw_isolator_args args =
		tw_isolation_args(t->isolation, (uint32_t)t->machine->node_type);
	struct tw_dataset training = { 0 }, all = { 0 };
	void *state = NULL;
	int rc = -1;

	if (tw_dataset_copy(&t->d, keep, &training, err) < 0)
		goto out;
	if (isolator->fit(&args, &training, t->source, &state, err) < 0) {
		tw_err_wrap(err, "%s", isolator->name);
		goto out;
	}
	/* Both copies may be large: free the first before the second is made. */
	tw_dataset_release(&training);
	if (tw_dataset_copy(&t->d, NULL, &all, err) < 0)
		goto out;
	if (isolator->apply(state, &all, err) < 0) {
		tw_err_wrap(err, "%s", isolator->name);
		goto out;
	}
	if (fold == t->folds && (describe(t, isolator, state, err) < 0 ||
				 apply_later(t, isolator, state, err) < 0))
		goto out;
	fill_power(t, &all, fold);

	rc = 0;
out:
	free(state);
	tw_dataset_release(&training);
	tw_dataset_release(&all);
	return rc;
}

/* Mark the training rows of a split. */
static void keep_outside(const struct tw_train_data *t, size_t split, bool *keep)
{
	memset(keep, true, t->d.rows * sizeof(*keep));
	if (split < t->folds) {
		const struct tw_fold fold = tw_fold_widen(
			tw_fold_at(t->rows, t->folds, split), overlap_of(t), t->rows);

		for (size_t r = 0; r < t->d.rows; r++)
			keep[r] = r < fold.from || r >= fold.to;
	} else if (split > t->folds) {
		uint32_t fold;
		const size_t alt = tw_train_data_alt(t, split, &fold);

		for (size_t r = 0; r < t->d.rows; r++)
			keep[r] = t->alt[alt].of[r] != fold;
	}
}

static int isolate(struct tw_train_data *t, const struct tw_isolator *isolator,
		   struct tw_err *err)
{
	bool *keep = NULL;
	int rc = -1;

	if (TW_NEW(keep, t->d.rows, err) < 0)
		goto out;
	for (size_t v = 0; v < tw_train_data_splits(t); v++) {
		keep_outside(t, v, keep);
		if (isolate_fold(t, isolator, keep, v, err) < 0)
			goto out;
	}

	rc = 0;
out:
	free(keep);
	return rc;
}

/* ---- splits ---- */

size_t tw_train_data_alt_first(const struct tw_train_data *t, size_t alt)
{
	size_t first = t->folds + 1;

	for (size_t i = 0; i < alt; i++)
		first += t->alt[i].count;
	return first;
}

size_t tw_train_data_splits(const struct tw_train_data *t)
{
	return tw_train_data_alt_first(t, t->alts);
}

size_t tw_train_data_alt(const struct tw_train_data *t, size_t split, uint32_t *fold)
{
	size_t at = split - t->folds - 1, i = 0;

	while (at >= t->alt[i].count)
		at -= t->alt[i++].count;
	*fold = (uint32_t)at;
	return i;
}

static int fold_by_response(struct tw_train_data *t, struct tw_folds *out,
			    struct tw_err *err)
{
	const char **names = calloc(t->job->response_count + 1, sizeof(*names));
	int status;

	if (names == NULL)
		return tw_fail(err, TW_NOMEM, "%zu responses", t->job->response_count);
	for (size_t i = 0; i < t->job->response_count; i++)
		names[i] = t->job->responses[i].origin;
	status = tw_folds_by_recording(t->input, names, t->job->response_count, t->d.rows,
				       out, err);
	free(names);
	return status;
}

/* A failure is kept in alt_err, which the rows of the result report. */
static void make_alt_folds(struct tw_train_data *t)
{
	struct tw_folds *next = &t->alt[0];
	struct tw_err *err = &t->alt_err;

	if (t->job->workloads != NULL) {
		if (tw_folds_by_workload(t->job->workloads, t->d.time_ms, t->d.rows, next,
					 err) == 0)
			t->alts++;
	} else if (t->job->by_response && t->input != NULL) {
		if (fold_by_response(t, next, err) == 0)
			t->alts++;
	}
	next = &t->alt[t->alts];
	if (t->job->shuffled &&
	    tw_folds_shuffled(t->d.rows, t->folds, t->job->seed, next, err) == 0)
		t->alts++;
}

/* ---- profile ---- */

/* The rows with the least use count as idle: one row of this many. */
#define IDLE_SHARE 20

/* A row index with the row's use, to sort by. */
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

/* Add the power of a component in the idle rows, which come first in `row`. */
static int add_component(struct tw_profile *p, const struct tw_train_data *d,
			 enum tw_component c, const struct row *row, size_t idle_rows,
			 struct tw_err *err)
{
	const double *watts = tw_dataset_find(&d->d, tw_power_column(c));
	double *idle = calloc(idle_rows, sizeof(*idle));
	int rc;

	if (idle == NULL)
		return tw_fail(err, TW_NOMEM, "%zu idle rows", idle_rows);
	for (size_t i = 0; i < idle_rows; i++)
		idle[i] = watts[row[i].at];
	rc = tw_profile_add_power(p, d->source, c, (uint32_t)d->machine->node_type, idle,
				  idle_rows, err);
	free(idle);
	return rc;
}

static int add_idle_power(struct tw_profile *p, const struct tw_train_data *d,
			  struct tw_err *err)
{
	const size_t idle_rows = d->rows / IDLE_SHARE > 0 ? d->rows / IDLE_SHARE : 1;
	const double *use = tw_dataset_find(
		&d->d, d->feature[tw_main_feature(d->feature, d->cols, TW_PACKAGE)]);
	struct row *row = calloc(d->rows, sizeof(*row));
	int rc = -1;

	if (row == NULL)
		return tw_fail(err, TW_NOMEM, "%zu idle rows", idle_rows);
	for (size_t r = 0; r < d->rows; r++)
		row[r] = (struct row){ use[r], r };
	qsort(row, d->rows, sizeof(*row), compare_rows);
	for (size_t c = 0; c < d->components; c++)
		if (add_component(p, d, d->component[c], row, idle_rows, err) < 0)
			goto out;
	rc = 0;
out:
	free(row);
	return rc;
}

static int add_scalers(struct tw_profile *p, const struct tw_train_data *d,
		       struct tw_err *err)
{
	for (size_t c = 0; c < d->cols; c++) {
		const double *v = tw_dataset_find(&d->d, d->feature[c]);
		double max = -HUGE_VAL;

		for (size_t r = 0; r < d->d.rows; r++)
			max = v[r] > max ? v[r] : max;
		if (tw_profile_add_scaler(p, d->group, (uint32_t)d->machine->node_type,
					  d->feature[c], max, err) < 0)
			return -1;
	}
	return 0;
}

static int make_profile(const struct tw_train_data *d, struct tw_profile *out,
			struct tw_err *err)
{
	if (add_idle_power(out, d, err) < 0)
		return -1;
	return add_scalers(out, d, err);
}

/* ---- power at rest ---- */

/*
 * The training rows of a split. A fit checks them before it reads the power at rest,
 * which stays 0 if they fail.
 */
static int find_split_rest(struct tw_train_data *t, size_t split, size_t component,
			   const bool *keep, double *x, double *y, struct tw_err *err)
{
	struct tw_samples s = tw_train_data_samples(t, split, component);
	struct tw_err unfit = { 0 };

	s.x = x;
	s.y = y;
	s.rows = 0;
	s.rest = NULL;
	for (size_t r = 0; r < t->d.rows; r++) {
		if (!keep[r])
			continue;
		memcpy(x + s.rows * t->cols, t->x + r * t->cols, t->cols * sizeof(*x));
		y[s.rows++] = power_at(t, split, component)[r];
	}
	if (tw_samples_check(&s, 1, &unfit) < 0)
		return 0;
	return tw_rest_find(&s, &t->rest[split * t->components + component], err);
}

static int find_rest(struct tw_train_data *t, struct tw_err *err)
{
	const size_t splits = tw_train_data_splits(t);
	bool *keep = NULL;
	double *x = NULL;
	int rc = -1;

	if (TW_NEW(keep, t->d.rows, err) < 0 ||
	    TW_NEW(x, t->d.rows * (t->cols + 1), err) < 0 ||
	    TW_NEW(t->rest, splits * t->components, err) < 0)
		goto out;
	for (size_t v = 0; v < splits; v++) {
		keep_outside(t, v, keep);
		for (size_t c = 0; c < t->components; c++)
			if (find_split_rest(t, v, c, keep, x, x + t->d.rows * t->cols,
					    err) < 0)
				goto out;
	}

	rc = 0;
out:
	free(keep);
	free(x);
	return rc;
}

/* ---- preparation ---- */

static void prepare(struct tw_train_data *t)
{
	size_t blocks;

	if (t->err.code != TW_OK || find_columns(t, &t->err) < 0)
		return;
	t->rows = t->d.rows;
	if (t->rows > 0) {
		t->first_ms = t->d.time_ms[0];
		t->last_ms = t->d.time_ms[t->rows - 1];
	}
	if (t->rows < TW_TRAIN_ROWS_MIN) {
		tw_fail(&t->err, TW_INVALID,
			"%zu rows, need at least %d to train and to validate", t->rows,
			TW_TRAIN_ROWS_MIN);
		return;
	}

	t->folds = t->job->folds > 0 ? t->job->folds : FOLDS_DEFAULT;
	t->folds = t->folds < t->rows ? t->folds : t->rows;
	make_alt_folds(t);
	blocks = t->output == TW_DYN_POWER ? tw_train_data_splits(t) : 1;
	t->y = calloc(t->d.rows + 1, blocks * t->components * sizeof(*t->y));
	if (t->y == NULL) {
		tw_fail(&t->err, TW_NOMEM, "power of %zu rows", t->d.rows);
		return;
	}
	if (t->output == TW_ABS_POWER && (t->fits = tw_fits_new()) == NULL) {
		tw_fail(&t->err, TW_NOMEM, "fits of %zu rows", t->d.rows);
		return;
	}
	if (t->output == TW_ABS_POWER)
		fill_power(t, &t->d, 0);
	else if (isolate(t, t->job->isolator, &t->err) < 0)
		return;
	if (fill_x(t, &t->err) < 0)
		return;
	make_profile(t, &t->profile, &t->err);
}

void tw_train_data_isolate(struct tw_train_data *t)
{
	prepare(t);
	tw_dataset_clear_columns(&t->d);
	if (t->err.code == TW_OK)
		find_rest(t, &t->err);
}

struct tw_samples tw_train_data_samples(const struct tw_train_data *t, size_t split,
					size_t component)
{
	return (struct tw_samples){
		.rows = t->d.rows,
		.cols = t->cols,
		.x = t->x,
		.y = power_at(t, split, component),
		.features = t->feature,
		.component = t->component[component],
		/* Isolated power is 0 W at zero features. */
		.from_zero = t->output == TW_DYN_POWER && t->job->isolator->from_zero &&
			     !t->job->unconstrained,
		.overlap = overlap_of(t),
		.time_ms = t->d.time_ms,
		.blocks = t->folds,
		.fits = t->fits,
		.unconstrained = t->job->unconstrained,
		.rest = &t->rest[split * t->components + component],
	};
}

void tw_train_data_drop(struct tw_train_data *t)
{
	tw_dataset_release(&t->d);
	tw_dataset_release(&t->later);
	for (size_t i = 0; i < t->alts; i++)
		tw_folds_release(&t->alt[i]);
	free(t->input);
	free(t->x);
	free(t->y);
	free(t->rest);
	t->input = NULL;
	t->x = NULL;
	t->y = NULL;
	t->rest = NULL;
	tw_fits_free(t->fits);
	t->fits = NULL;
}

void tw_train_data_release(struct tw_train_data *t)
{
	tw_train_data_drop(t);
	free(t->feature);
	json_decref(t->learnt);
	json_decref(t->quality);
	tw_buf_clear(&t->quality_text);
	tw_profile_release(&t->profile);
	*t = (struct tw_train_data){ 0 };
}

json_t *tw_train_data_instant(int64_t ms)
{
	char text[TW_DATE_TEXT];

	return tw_format_date_ms(ms, text) ? json_string(text) : json_null();
}
