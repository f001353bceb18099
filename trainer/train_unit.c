/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/train_unit.h"

#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/json/json.h"
#include "model-db/fitness.h"
#include "model-db/pipeline.h"
#include "model-db/validation.h"
#include "trainer/fit/rest.h"
#include "trainer/fit/score.h"
#include "trainer/fit/validate.h"
#include "trainer/train_job.h"
#include "trainer/train_machines.h"
#include "trainer/train_refusal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CERTIFICATE_ROWS 64

void tw_train_unit_init(struct tw_train_unit *u, const struct tw_train_data *data,
			const struct tw_trainer *trainer)
{
	u->data = data;
	u->trainer = trainer;
	u->err = data->err;
	if (u->err.code != TW_OK)
		return;
	u->step_err = calloc(data->components * tw_train_data_splits(data),
			     sizeof(*u->step_err));
	if (u->step_err == NULL)
		tw_fail(&u->err, TW_NOMEM, "%s", trainer->name);
	else
		tw_train_scores_init(&u->scores, data,
				     tw_predictor_find(trainer->predictor)->back != NULL,
				     &u->err);
}

size_t tw_train_unit_steps(const struct tw_train_unit *u)
{
	return u->err.code == TW_OK ? u->data->components * tw_train_data_splits(u->data)
				    : 0;
}

static void validate_alt(struct tw_train_unit *u, size_t split, size_t c,
			 struct tw_err *err)
{
	const struct tw_samples s = tw_train_data_samples(u->data, split, c);
	uint32_t fold;
	const size_t alt = tw_train_data_alt(u->data, split, &fold);

	tw_folds_validate(&u->data->alt[alt], fold, u->trainer, &s, u->data->job->seed,
			  tw_train_scores_held_out(&u->scores, 1 + alt, c), err);
}

void tw_train_unit_step(struct tw_train_unit *u, size_t step)
{
	const struct tw_train_data *d = u->data;
	const size_t splits = tw_train_data_splits(d);
	const size_t c = step / splits, f = step % splits;
	const struct tw_samples s = tw_train_data_samples(d, f, c);
	struct tw_err *err = &u->step_err[step];
	double *series = tw_train_scores_series(&u->scores, c);
	struct tw_fold fold;

	if (f > d->folds) {
		validate_alt(u, f, c, err);
	} else if (f == d->folds) {
		tw_validate_fit(u->trainer, &s, u->data->job->seed, &u->text[c], err);
	} else {
		fold = tw_fold_at(d->rows, d->folds, f);
		if (series != NULL)
			series += fold.from;
		tw_validate_fold(u->trainer, &s, fold, u->data->job->seed,
				 tw_train_scores_held_out(&u->scores, 0, c) + fold.from,
				 series, err);
	}
	if (err->code != TW_OK)
		tw_err_wrap(err, "%s", tw_component_name(d->component[c]));
}

static int add_load(const struct tw_train_data *d, size_t c, struct tw_dataset *to,
		    struct tw_err *err)
{
	const size_t main = tw_main_feature(d->feature, d->cols, d->component[c]);
	double *v;

	if (tw_dataset_find(to, d->feature[main]) != NULL)
		return 0;
	if (tw_dataset_add(to, d->feature[main], &v, err) < 0)
		return -1;
	for (size_t i = 0; i < to->rows; i++)
		v[i] = d->x[tw_validation_row(d->rows, i) * d->cols + main];
	return 0;
}

/* Set times and folds of the rows that validation keeps. Blocks are in order of time. */
static void fill_folds(const struct tw_train_data *d, struct tw_dataset *v, double *fold)
{
	size_t f = 0;

	for (size_t i = 0; i < v->rows; i++) {
		const size_t row = tw_validation_row(d->rows, i);

		while (row >= tw_fold_at(d->rows, d->folds, f).to)
			f++;
		v->time_ms[i] = d->d.time_ms[row];
		fold[i] = (double)f;
	}
}

/* Fill the table of model-db/validation.h with the rows that it keeps. */
static int fill_validation(const struct tw_train_unit *u, struct tw_dataset *v,
			   struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	double *fold, *measured, *predicted;

	if (tw_dataset_init(v, tw_validation_rows(d->rows), false, err) < 0 ||
	    tw_dataset_add(v, "fold", &fold, err) < 0)
		return -1;
	fill_folds(d, v, fold);
	for (size_t c = 0; c < d->components; c++)
		if (add_load(d, c, v, err) < 0)
			return -1;
	for (size_t c = 0; c < d->components; c++) {
		if (tw_dataset_add(v, tw_power_column(d->component[c]), &measured, err) <
			    0 ||
		    tw_dataset_add(v, tw_validation_column(d->component[c]), &predicted,
				   err) < 0)
			return -1;
		for (size_t i = 0; i < v->rows; i++) {
			const size_t row = tw_validation_row(d->rows, i);

			measured[i] = tw_train_data_samples(d, (size_t)fold[i], c).y[row];
			predicted[i] = tw_train_scores_held_out(&u->scores, 0, c)[row];
		}
	}
	return 0;
}

static int add_validation(struct tw_train_unit *u, struct tw_err *err)
{
	struct tw_dataset v = { 0 };
	struct tw_buf b = { 0 };
	char *text;
	size_t len;
	int rc = -1;

	if (fill_validation(u, &v, err) < 0 || tw_validation_write(&v, &b, err) < 0)
		goto out;
	text = tw_buf_detach(&b, &len);
	if (text == NULL) {
		tw_fail(err, TW_NOMEM, "validation of %s", u->model.info.name);
		goto out;
	}
	if (tw_pipeline_take_validation(&u->files, &u->model, text, len, err) < 0)
		goto out;

	rc = 0;
out:
	tw_buf_clear(&b);
	tw_dataset_release(&v);
	return rc;
}

/*
 * The first failure of a step. Of one component, the fit on all rows comes first: row
 * numbers in its text are those of the data.
 */
static const struct tw_err *find_failure(const struct tw_train_unit *u)
{
	const size_t each = tw_train_data_splits(u->data);

	for (size_t c = 0; c < u->data->components; c++)
		for (size_t f = u->data->folds + 1; f-- > 0;)
			if (u->step_err[c * each + f].code != TW_OK)
				return &u->step_err[c * each + f];
	return NULL;
}

/* ---- certificate ---- */

/* The power at rest of each component. */
static int find_evidence(const struct tw_train_unit *u, struct tw_rest_evidence *out,
			 struct tw_rest *rest, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;

	for (size_t c = 0; c < d->components; c++) {
		const struct tw_samples s = tw_train_data_samples(d, d->folds, c);

		if (tw_rest_find(&s, &rest[c], err) < 0)
			return -1;
		out[c] = (struct tw_rest_evidence){
			.low = rest[c].low,
			.high = rest[c].high,
			.rested = rest[c].rested,
			.load = d->feature[rest[c].load],
			.low_load = rest[c].low_load,
		};
		if (d->output == TW_DYN_POWER)
			out[c].low = out[c].high = 0.0;
	}
	return 0;
}

static int write_certificate(struct tw_train_unit *u, const struct tw_certificate *c,
			     const struct tw_rest *rest, struct tw_err *err)
{
	json_t *metadata = u->model.info.metadata;
	const char *refused;

	if (tw_certificate_write(c, metadata, err) < 0 ||
	    tw_train_refusal_find(&u->scores, rest, &refused, err) < 0)
		return -1;
	if (json_object_set_new(metadata, TW_CERTIFICATE_BIAS,
				tw_json_rounded(tw_train_bias(&u->scores))) < 0)
		return tw_fail(err, TW_NOMEM, "certificate");
	if (refused == NULL)
		return 0;
	u->refusal_rows = tw_train_refusal_rows(&u->scores, refused);
	if (u->refusal_rows == NULL ||
	    json_object_set_new(metadata, TW_CERTIFICATE_REFUSED, json_string(refused)) <
		    0)
		return tw_fail(err, TW_NOMEM, "certificate");
	return 0;
}

/* Certify the model on rays to the corners of the data and to rows spread over it. */
static int add_certificate(struct tw_train_unit *u, struct tw_err *err)
{
	const struct tw_train_data *d = u->data;
	const size_t count = d->rows < CERTIFICATE_ROWS ? d->rows : CERTIFICATE_ROWS;
	double *rows = NULL;
	struct tw_rest_evidence evidence[TW_COMPONENT_COUNT];
	struct tw_power_model *p = NULL;
	struct tw_rest rest[TW_COMPONENT_COUNT];
	struct tw_certificate c;
	int rc = -1;

	if (TW_NEW(rows, count * d->cols, err) < 0)
		goto out;
	for (size_t i = 0; i < count; i++)
		memcpy(rows + i * d->cols, d->x + i * d->rows / count * d->cols,
		       d->cols * sizeof(*rows));
	if (tw_power_model_borrow(&u->model, &p, err) < 0 ||
	    find_evidence(u, evidence, rest, err) < 0 ||
	    tw_certify(p, rows, count, evidence, &c, err) < 0 ||
	    write_certificate(u, &c, rest, err) < 0)
		goto out;

	rc = 0;
out:
	tw_power_model_free(p);
	free(rows);
	return rc;
}

/* Judge the model by the rows after the job's share, which it did not see. */
static int judge_later(struct tw_train_unit *u, struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	struct tw_model_score s;
	int rc = -1;

	u->later_mae_w = u->later_mape_percent = NAN;
	if (u->data->later.rows == 0)
		return 0;
	if (tw_power_model_borrow(&u->model, &p, err) < 0 ||
	    tw_model_score(p, &u->data->later, &s, err) < 0)
		goto out;
	for (size_t c = 0; c < s.components; c++) {
		u->later_mae_w = fmax(u->later_mae_w, s.score[c].mae);
		u->later_mape_percent = fmax(u->later_mape_percent, s.score[c].mape);
	}
	rc = 0;
out:
	tw_power_model_free(p);
	return rc;
}

/* ---- model ---- */

/* Add "package_choice": the trainer's explanation of its choices. */
static int describe_choice(json_t *obj, const struct tw_train_unit *u, size_t c)
{
	const struct tw_buf *text = &u->text[c];
	json_t *lines = NULL;
	struct tw_err err = { 0 };
	char key[64];

	if (u->trainer->explain == NULL)
		return 0;
	if (u->trainer->explain(text->data, text->len, &lines, &err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%s_choice", tw_component_name(u->data->component[c]));
	return json_object_set_new(obj, key, lines);
}

/* Watts and percents to four decimals, as in the metadata. */
static double round4(double v)
{
	return round(v * 1e4) / 1e4;
}

/* The largest error over the components whose error is defined. */
static void set_errors(struct tw_model_info *info, const struct tw_train_unit *u)
{
	info->mae_w = 0.0;
	info->mape_percent = NAN;
	for (size_t c = 0; c < u->data->components; c++) {
		const struct tw_score *score = &u->scores.score[0][c];

		info->mae_w = fmax(info->mae_w, round4(score->mae));
		info->mape_percent = fmax(info->mape_percent, round4(score->mape));
	}
}

static int add_features(struct tw_strs *to, const struct tw_train_data *d,
			struct tw_err *err)
{
	for (size_t i = 0; i < d->cols; i++)
		if (tw_strs_adds(to, d->feature[i], err) < 0)
			return -1;
	return 0;
}

static int set_info(struct tw_model_info *info, const struct tw_train_unit *u,
		    struct tw_err *err)
{
	bool failed;

	snprintf(info->name, sizeof(info->name), "%s_%zu", u->trainer->name,
		 u->data->machine->node_type);
	snprintf(info->trainer, sizeof(info->trainer), "%s", u->trainer->name);
	snprintf(info->predictor, sizeof(info->predictor), "%s", u->trainer->predictor);
	info->source = u->data->source;
	info->output = u->data->output;
	info->group = u->data->group;
	info->node_type = (long long)u->data->machine->node_type;
	info->spec = u->data->machine->spec;
	set_errors(info, u);
	if (add_features(&info->features, u->data, err) < 0)
		return -1;
	info->metadata = tw_train_metadata(&u->scores);
	failed = info->metadata == NULL;
	for (size_t c = 0; !failed && c < u->data->components; c++)
		failed = describe_choice(info->metadata, u, c) < 0;
	if (failed)
		return tw_fail(err, TW_NOMEM, "metadata of %s", info->name);
	return 0;
}

static int set_part(struct tw_model_part *p, struct tw_train_unit *u, size_t c,
		    struct tw_err *err)
{
	const struct tw_train_data *d = u->data;

	p->component = d->component[c];
	p->text = tw_buf_detach(&u->text[c], &p->len);
	p->feature_min = malloc(d->cols * sizeof(*p->feature_min));
	p->feature_max = malloc(d->cols * sizeof(*p->feature_max));
	if (p->text == NULL || p->feature_min == NULL || p->feature_max == NULL)
		return tw_fail(err, TW_NOMEM, "%s of %s", tw_component_name(p->component),
			       u->trainer->name);
	for (size_t i = 0; i < d->cols; i++) {
		p->feature_min[i] = HUGE_VAL;
		p->feature_max[i] = -HUGE_VAL;
		for (size_t r = 0; r < d->d.rows; r++) {
			p->feature_min[i] =
				fmin(p->feature_min[i], d->x[r * d->cols + i]);
			p->feature_max[i] =
				fmax(p->feature_max[i], d->x[r * d->cols + i]);
		}
	}
	if (tw_train_scores_set_errors(&u->scores, c, p, err) < 0)
		return -1;
	return add_features(&p->features, d, err);
}

static int make_model(struct tw_train_unit *u, struct tw_model *out, struct tw_err *err)
{
	struct tw_model m = { 0 };
	int rc = -1;

	if (set_info(&m.info, u, err) < 0)
		goto out;
	for (size_t c = 0; c < u->data->components; c++)
		if (set_part(&m.part[m.parts++], u, c, err) < 0)
			goto out;

	*out = m;
	m = (struct tw_model){ 0 };
	rc = 0;
out:
	tw_model_release(&m);
	return rc;
}

static void finish(struct tw_train_unit *u)
{
	const struct tw_err *failure;

	failure = find_failure(u);
	if (failure != NULL) {
		u->err = *failure;
		return;
	}
	if (tw_train_scores_compute(&u->scores, u->step_err, &u->err) < 0)
		return;
	if (make_model(u, &u->model, &u->err) < 0)
		return;
	if (add_certificate(u, &u->err) < 0 ||
	    tw_pipeline_add_model(&u->files, &u->model, &u->err) < 0)
		return;
	if (add_validation(u, &u->err) == 0)
		judge_later(u, &u->err);
}

void tw_train_unit_finish(struct tw_train_unit *u)
{
	if (u->err.code == TW_OK)
		finish(u);
	free(u->step_err);
	u->step_err = NULL;
	tw_train_scores_drop(&u->scores);
}

const struct tw_err *tw_train_unit_note(const struct tw_train_unit *u)
{
	const struct tw_err *why = &u->data->alt_err;

	for (size_t i = 0; why->code == TW_OK && i < u->data->alts; i++)
		why = &u->scores.alt_err[i];
	return why;
}

void tw_train_unit_release(struct tw_train_unit *u)
{
	for (size_t c = 0; c < TW_COMPONENT_COUNT; c++)
		tw_buf_clear(&u->text[c]);
	tw_train_scores_release(&u->scores);
	free(u->step_err);
	tw_model_release(&u->model);
	json_decref(u->refusal_rows);
	tw_fileset_clear(&u->files);
	*u = (struct tw_train_unit){ 0 };
}
