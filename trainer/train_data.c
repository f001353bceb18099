/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_data.h"

#include "trainer/fit/validate.h"
#include "trainer/train.h"
#include "trainer/train_machines.h"
#include "trainer/train_profile.h"

#include <stdlib.h>
#include <string.h>

#define FOLDS_DEFAULT 5

uint32_t tw_train_data_node_type(const struct tw_train_data *t)
{
	return t->machine != NULL ? (uint32_t)t->machine->node_type : 0;
}

static int find_columns(struct tw_train_data *t, struct tw_err *err)
{
	t->feature = calloc(t->group->count, sizeof(*t->feature));
	if (t->feature == NULL)
		return tw_fail(err, TW_NOMEM, "features of %s", t->group->name);
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
	t->x = calloc(t->d.rows, t->cols * sizeof(*t->x));
	if (t->x == NULL)
		return tw_fail(err, TW_NOMEM, "features of %zu rows", t->d.rows);
	for (size_t c = 0; c < t->cols; c++) {
		const double *v = tw_dataset_find(&t->d, t->feature[c]);

		for (size_t r = 0; r < t->d.rows; r++)
			t->x[r * t->cols + c] = v[r];
	}
	return 0;
}

/* Absolute power is the same in each view: one block serves all. */
static double *power_at(const struct tw_train_data *t, size_t view, size_t component)
{
	const size_t block = t->output == TW_DYN_POWER ? view : 0;

	return t->y + (block * t->components + component) * t->d.rows;
}

static void fill_power(struct tw_train_data *t, const struct tw_dataset *d, size_t fold)
{
	for (size_t c = 0; c < t->components; c++)
		memcpy(power_at(t, fold, c),
		       tw_dataset_find(d, tw_power_column(t->component[c])),
		       d->rows * sizeof(*t->y));
}

/* What was learnt from the whole is told in the models' metadata. */
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

/* keep: the rows that the isolator learns from. */
static int isolate_fold(struct tw_train_data *t, const struct tw_isolator *isolator,
			const bool *keep, size_t fold, struct tw_err *err)
{
	const struct tw_isolator_args args =
		tw_isolation_args(t->isolation, tw_train_data_node_type(t));
	struct tw_dataset training = { 0 }, all = { 0 };
	void *state = NULL;
	int rc = -1;

	if (tw_dataset_copy(&t->d, keep, &training, err) < 0)
		goto out;
	if (isolator->fit(&args, &training, t->source, &state, err) < 0) {
		tw_err_wrap(err, "%s", isolator->name);
		goto out;
	}
	/* It may be large: not both at a time. */
	tw_dataset_release(&training);
	if (tw_dataset_copy(&t->d, NULL, &all, err) < 0)
		goto out;
	if (isolator->apply(state, &all, err) < 0) {
		tw_err_wrap(err, "%s", isolator->name);
		goto out;
	}
	if (fold == t->folds && describe(t, isolator, state, err) < 0)
		goto out;
	fill_power(t, &all, fold);

	rc = 0;
out:
	isolator->free(state);
	tw_dataset_release(&training);
	tw_dataset_release(&all);
	return rc;
}

/* The rows that train in a view. */
static void keep_outside(const struct tw_train_data *t, size_t view, bool *keep)
{
	memset(keep, true, t->d.rows * sizeof(*keep));
	if (view < t->folds) {
		const struct tw_fold fold = tw_fold_widen(
			tw_fold_at(t->d.rows, t->folds, view), t->overlap, t->d.rows);

		memset(keep + fold.from, false, (fold.to - fold.from) * sizeof(*keep));
	} else if (view > t->folds) {
		uint32_t fold;
		const size_t extra = tw_train_data_extra(t, view, &fold);

		for (size_t r = 0; r < t->d.rows; r++)
			keep[r] = t->extra[extra].of[r] != fold;
	}
}

static int isolate(struct tw_train_data *t, const struct tw_isolator *isolator,
		   struct tw_err *err)
{
	bool *keep = malloc(t->d.rows * sizeof(*keep));
	int rc = -1;

	if (keep == NULL) {
		tw_fail(err, TW_NOMEM, "isolation of %zu rows", t->d.rows);
		goto out;
	}
	for (size_t v = 0; v < tw_train_data_views(t); v++) {
		keep_outside(t, v, keep);
		if (isolate_fold(t, isolator, keep, v, err) < 0)
			goto out;
	}

	rc = 0;
out:
	free(keep);
	return rc;
}

/* ---- other folds ---- */

size_t tw_train_data_views(const struct tw_train_data *t)
{
	size_t views = t->folds + 1;

	for (size_t i = 0; i < t->extras; i++)
		views += t->extra[i].count;
	return views;
}

size_t tw_train_data_extra(const struct tw_train_data *t, size_t view, uint32_t *fold)
{
	size_t at = view - t->folds - 1, i = 0;

	while (at >= t->extra[i].count)
		at -= t->extra[i++].count;
	*fold = (uint32_t)at;
	return i;
}

static int fold_by_response(struct tw_train_data *t, const struct tw_train_job *job,
			    struct tw_folds *out, struct tw_err *err)
{
	const char **names = calloc(job->response_count + 1, sizeof(*names));
	int status;

	if (names == NULL)
		return tw_fail(err, TW_NOMEM, "%zu responses", job->response_count);
	for (size_t i = 0; i < job->response_count; i++)
		names[i] = job->responses[i].origin;
	status = tw_folds_by_recording(t->input, names, job->response_count, t->d.rows,
				       out, err);
	free(names);
	return status;
}

/* What cannot be had does not stop the rest: it is told with each model. */
static void make_extras(struct tw_train_data *t, const struct tw_train_job *job)
{
	struct tw_folds *next = &t->extra[0];
	struct tw_err *err = &t->extra_err;

	if (job->workloads != NULL) {
		if (tw_folds_by_workload(job->workloads, t->d.time_ms, t->d.rows, next,
					 err) == 0)
			t->extras++;
	} else if (job->by_response && t->input != NULL) {
		if (fold_by_response(t, job, next, err) == 0)
			t->extras++;
	}
	next = &t->extra[t->extras];
	if (job->shuffled &&
	    tw_folds_shuffled(t->d.rows, t->folds, job->seed, next, err) == 0)
		t->extras++;
}

static void prepare(struct tw_train_data *t, const struct tw_train_job *job)
{
	const size_t rows = t->d.rows;
	size_t blocks;

	if (t->err.code != TW_OK)
		return;
	t->rows = rows;
	if (rows < TW_TRAIN_ROWS_MIN) {
		tw_fail(&t->err, TW_INVALID,
			"%zu rows, need at least %d to train and to judge", rows,
			TW_TRAIN_ROWS_MIN);
		return;
	}
	if (find_columns(t, &t->err) < 0)
		return;

	t->first_ms = t->d.time_ms[0];
	t->last_ms = t->d.time_ms[rows - 1];
	t->folds = job->folds > 0 ? job->folds : FOLDS_DEFAULT;
	t->folds = t->folds < rows ? t->folds : rows;
	make_extras(t, job);
	blocks = t->output == TW_DYN_POWER ? tw_train_data_views(t) : 1;
	t->y = calloc(rows, blocks * t->components * sizeof(*t->y));
	if (t->y == NULL) {
		tw_fail(&t->err, TW_NOMEM, "power of %zu rows", rows);
		return;
	}
	t->overlap = job->smooth > 0 ? job->smooth - 1 : 0;
	t->from_zero = t->output == TW_DYN_POWER && job->isolator->from_zero;
	if (t->output == TW_ABS_POWER)
		fill_power(t, &t->d, 0);
	else if (isolate(t, job->isolator, &t->err) < 0)
		return;
	if (fill_x(t, &t->err) < 0)
		return;
	tw_train_profile_data(t, &t->profile, &t->err);
}

void tw_train_data_isolate(struct tw_train_data *t, const struct tw_train_job *job)
{
	prepare(t, job);
	tw_dataset_clear_columns(&t->d);
}

struct tw_samples tw_train_data_samples(const struct tw_train_data *t, size_t view,
					size_t component)
{
	return (struct tw_samples){
		.rows = t->d.rows,
		.cols = t->cols,
		.x = t->x,
		.y = power_at(t, view, component),
		.features = t->feature,
		.component = t->component[component],
		.from_zero = t->from_zero,
		.overlap = t->overlap,
		.time_ms = t->d.time_ms,
	};
}

void tw_train_data_feature(const struct tw_train_data *t, size_t col, double *out)
{
	for (size_t r = 0; r < t->d.rows; r++)
		out[r] = t->x[r * t->cols + col];
}

void tw_train_data_drop(struct tw_train_data *t)
{
	tw_dataset_release(&t->d);
	for (size_t i = 0; i < t->extras; i++)
		tw_folds_release(&t->extra[i]);
	free(t->input);
	free(t->x);
	free(t->y);
	t->input = NULL;
	t->x = NULL;
	t->y = NULL;
}

void tw_train_data_release(struct tw_train_data *t)
{
	tw_train_data_drop(t);
	free(t->feature);
	json_decref(t->learnt);
	tw_profile_release(&t->profile);
	*t = (struct tw_train_data){ 0 };
}
