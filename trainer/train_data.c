/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_data.h"

#include "lib/core/date.h"
#include "lib/core/err.h"
#include "trainer/extract/smooth.h"
#include "trainer/fit/validate.h"
#include "trainer/isolation.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"

#include <stdlib.h>
#include <string.h>

#define FOLDS_DEFAULT 5

uint32_t tw_train_data_node_type(const struct tw_train_data *t)
{
	return t->machine != NULL ? (uint32_t)t->machine->node_type : 0;
}

/* ---- extraction ---- */

/*
 * Whether the isolator tells workloads apart. Where it does not, sums over all of them
 * are extracted: the same as tw_isolate_prepare() makes of their rows.
 */
static bool by_workload(const struct tw_train_data *t, const struct tw_train_job *job)
{
	return t->output == TW_DYN_POWER && job->isolator->is_background != NULL;
}

static bool is_prepared(const struct tw_train_data *t, const struct tw_train_job *job)
{
	return by_workload(t, job) || (t->output == TW_DYN_POWER && t->table != NULL);
}

static int extract(const struct tw_train_data *t, const struct tw_train_job *job,
		   const struct tw_train_part *part, struct tw_dataset *out,
		   struct tw_err *err)
{
	const struct tw_extract_args args = {
		.source = t->source,
		.group = t->group,
		.level = by_workload(t, job) ? TW_LEVEL_FINEST : TW_LEVEL_NODE,
		.resets = job->resets,
		.vm_metrics = job->vm_metrics,
		.apart = part->one_machine,
	};

	return tw_extract(part->response, &args, out, err);
}

/* One row a time stamp, from one recording. */
static int get_rows(const struct tw_train_data *t, const struct tw_train_job *job,
		    const struct tw_train_part *part, struct tw_dataset *out,
		    struct tw_err *err)
{
	const struct tw_isolator_args args =
		tw_isolation_args(t->isolation, tw_train_data_node_type(t));
	struct tw_dataset d = { 0 };
	int status;

	if (part == NULL)
		status = tw_dataset_copy(t->table->data, NULL, &d, err);
	else
		status = extract(t, job, part, &d, err);
	if (status < 0)
		return -1;
	if (!is_prepared(t, job)) {
		*out = d;
	} else {
		status = tw_isolate_prepare(job->isolator, &args, &d, out, err);
		tw_dataset_release(&d);
	}
	/* Summed over workloads first: one that ends is still in the means after it. */
	if (status < 0 || job->smooth == 0 || tw_smooth(out, job->smooth, err) == 0)
		return status;
	tw_dataset_release(out);
	return -1;
}

/* Rows of each recording that has the metrics, and which of the inputs it is. */
struct recordings {
	struct tw_dataset *d;
	const struct tw_dataset **at;
	uint32_t *input;
	size_t count;
};

static int extract_all(struct tw_train_data *t, const struct tw_train_job *job,
		       struct recordings *r, struct tw_err *err)
{
	struct tw_err absent = { 0 };

	for (size_t i = 0; i < t->machine->parts; i++) {
		const struct tw_train_part *part = &t->machine->part[i];
		struct tw_err why = { 0 };

		if (get_rows(t, job, part, &r->d[r->count], &why) == 0) {
			r->at[r->count] = &r->d[r->count];
			r->input[r->count++] = (uint32_t)part->input;
			continue;
		}
		if (t->machine->parts > 1)
			tw_err_wrap(&why, "'%.80s'", job->responses[part->input].origin);
		if (why.code != TW_NOTFOUND)
			return tw_fail(err, why.code, "%s", why.text);
		tw_fail(&absent, why.code, "%s", why.text);
	}
	return r->count > 0 ? 0 : tw_fail(err, absent.code, "%s", absent.text);
}

static int join(struct tw_train_data *t, struct recordings *r, struct tw_err *err)
{
	if (r->count > 1) {
		if (tw_dataset_join(r->at, r->count, &t->d, &t->input, err) < 0)
			return -1;
	} else {
		t->input = calloc(r->d[0].rows, sizeof(*t->input));
		if (t->input == NULL)
			return tw_fail(err, TW_NOMEM, "%zu rows", r->d[0].rows);
		/* It may be large: taken, not copied. */
		t->d = r->d[0];
		r->d[0] = (struct tw_dataset){ 0 };
	}
	for (size_t i = 0; i < t->d.rows; i++)
		t->input[i] = r->input[t->input[i]];
	return 0;
}

static int extract_parts(struct tw_train_data *t, const struct tw_train_job *job,
			 struct tw_err *err)
{
	const size_t parts = t->machine->parts;
	struct recordings r = { calloc(parts, sizeof(*r.d)), calloc(parts, sizeof(*r.at)),
				calloc(parts, sizeof(*r.input)), 0 };
	int rc = -1;

	if (r.d == NULL || r.at == NULL || r.input == NULL) {
		tw_fail(err, TW_NOMEM, "%zu recordings", parts);
		goto out;
	}
	if (extract_all(t, job, &r, err) < 0 || join(t, &r, err) < 0)
		goto out;

	rc = 0;
out:
	for (size_t i = 0; r.d != NULL && i < r.count; i++)
		tw_dataset_release(&r.d[i]);
	free(r.d);
	free(r.at);
	free(r.input);
	return rc;
}

void tw_train_data_extract(struct tw_train_data *t, const struct tw_train_job *job)
{
	if (t->table != NULL)
		get_rows(t, job, NULL, &t->d, &t->err);
	else
		extract_parts(t, job, &t->err);
	if (job->shares > 0)
		t->d.rows = t->d.rows * job->share / job->shares;
}

bool tw_train_data_is_twin(const struct tw_train_data *a, const struct tw_train_data *b,
			   const struct tw_train_job *job)
{
	return a->table == NULL && b->table == NULL && a->machine == b->machine &&
	       a->source == b->source && a->group == b->group && !is_prepared(a, job) &&
	       !is_prepared(b, job);
}

void tw_train_data_copy(struct tw_train_data *t, const struct tw_train_data *twin)
{
	const size_t bytes = twin->d.rows * sizeof(*t->input);

	t->err = twin->err;
	if (t->err.code != TW_OK || tw_dataset_copy(&twin->d, NULL, &t->d, &t->err) < 0)
		return;
	t->input = malloc(bytes);
	if (t->input == NULL)
		tw_fail(&t->err, TW_NOMEM, "%zu rows", twin->d.rows);
	else
		memcpy(t->input, twin->input, bytes);
}

/* ---- columns and power ---- */

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

/* ---- profile ---- */

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

static int make_profile(const struct tw_train_data *d, struct tw_profile *out,
			struct tw_err *err)
{
	if (add_rest(out, d, err) < 0)
		return -1;
	return add_scalers(out, d, err);
}

/* ---- preparation ---- */

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
	make_profile(t, &t->profile, &t->err);
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

json_t *tw_train_data_instant(int64_t ms)
{
	char text[TW_DATE_TEXT];

	return tw_format_date_ms(ms, text) ? json_string(text) : json_null();
}
