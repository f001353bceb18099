/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/online/models.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "lib/zip/fileset.h"
#include "model-db/fitness.h"
#include "model-db/pipeline_merge.h"
#include "model-db/weights.h"
#include "trainer/extract/extract.h"
#include "trainer/fit/score.h"
#include "trainer/train_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Limits of a published pipeline. */
static const struct tw_fileset_limits limits = { .files = 100000,
						 .file_bytes = (size_t)256 << 20,
						 .total_bytes = (size_t)1 << 30 };

/* ---- reading ---- */

static void find_last(const struct tw_model_info *i, struct tw_online_models *out)
{
	const char *text = json_string_value(json_object_get(i->metadata, "data_last"));
	struct tw_err unused = { 0 };
	int64_t last_ms;

	if (text != NULL && tw_parse_date_ms(text, &last_ms, &unused) == 0 &&
	    last_ms > out->last_ms)
		out->last_ms = last_ms;
}

/* m is taken. */
static int add_model(struct tw_model *m, struct tw_online_models *out, struct tw_err *err)
{
	struct tw_online_model *new = &out->at[out->count];
	struct tw_weights_shape shape;

	if (tw_weights_shape(m, &shape, err) < 0)
		return -1;
	new->certified = tw_model_fitness(&m->info, &shape, &new->reason) == TW_FIT;
	find_last(&m->info, out);
	if (tw_power_model_new(m, &new->model, err) < 0)
		return -1;
	out->count++;
	return 0;
}

int tw_online_models_read(const struct tw_fileset *pipeline, struct tw_online_models *out,
			  struct tw_err *err)
{
	struct tw_pipeline_models all = { 0 };
	int rc = -1;

	if (tw_pipeline_read_models(pipeline, &all, err) < 0)
		return -1;
	if (TW_NEW(out->at, all.count + 1, err) < 0)
		goto out;
	for (size_t i = 0; i < all.count; i++)
		if (all.at[i].info.output == TW_ABS_POWER &&
		    add_model(&all.at[i], out, err) < 0)
			goto out;
	rc = 0;
out:
	tw_pipeline_models_release(&all);
	return rc;
}

int tw_online_models_load(const char *dir, struct tw_online_models *out,
			  struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct stat st;
	int rc = 0;

	if (stat(dir, &st) < 0)
		return 0;
	if (tw_fileset_read_dir(&files, dir, &limits, err) < 0 ||
	    tw_online_models_read(&files, out, err) < 0)
		rc = tw_err_wrap(err, "'%s'", dir);
	tw_fileset_clear(&files);
	return rc;
}

void tw_online_models_release(struct tw_online_models *m)
{
	for (size_t i = 0; i < m->count; i++)
		tw_power_model_free(m->at[i].model);
	free(m->at);
	*m = (struct tw_online_models){ 0 };
}

/* ---- choice ---- */

size_t tw_online_models_find(const struct tw_online_models *m,
			     const struct tw_power_model *like)
{
	const struct tw_model_info *a = tw_power_model_info(like);
	size_t i = 0;

	for (; i < m->count; i++) {
		const struct tw_model_info *b = tw_power_model_info(m->at[i].model);

		if (a->source == b->source && a->group == b->group &&
		    strcmp(a->name, b->name) == 0)
			break;
	}
	return i;
}

static bool is_better(const struct tw_online_model *a, const struct tw_online_model *b)
{
	if (a->certified != b->certified)
		return a->certified;
	return tw_power_model_info(a->model)->mae_w <
	       tw_power_model_info(b->model)->mae_w;
}

size_t tw_online_models_main(const struct tw_online_models *m)
{
	size_t best = 0;

	for (size_t i = 1; i < m->count; i++)
		if (is_better(&m->at[i], &m->at[best]))
			best = i;
	return best;
}

/* ---- errors ---- */

/* Sum of |mean - measured|: the error of a model that knows nothing of the load. */
static double spread(const double *watts, size_t rows)
{
	double mean = 0, sum = 0;

	for (size_t i = 0; i < rows; i++)
		mean += watts[i] / (double)rows;
	for (size_t i = 0; i < rows; i++)
		sum += fabs(watts[i] - mean);
	return sum;
}

int tw_online_error_add(struct tw_online_error *e, const struct tw_power_model *p,
			const struct tw_train_response *response, struct tw_err *err)
{
	const struct tw_model_info *info = tw_power_model_info(p);
	const struct tw_extract_args args = { .source = info->source,
					      .group = info->group,
					      .level = TW_ROWS_NODE,
					      .apart = true,
					      .span = response->span,
					      .spans = response->spans };
	struct tw_model_score score = { 0 };
	struct tw_dataset d = { 0 };
	struct tw_err why = { 0 };
	const double *watts;
	int rc = 0;

	if (tw_extract(response->prom, &args, &d, &why) < 0 ||
	    tw_model_score(p, &d, &score, &why) < 0)
		goto out;
	watts = tw_dataset_find(&d, tw_power_column(score.component[0]));
	e->rows += d.rows;
	e->error_sum_w += score.score[0].mae * (double)d.rows;
	e->bias_sum_w += score.score[0].bias * (double)d.rows;
	e->mean_error_sum_w += spread(watts, d.rows);
out:
	if (why.code == TW_NOMEM)
		rc = tw_fail(err, TW_NOMEM, "%s", why.text);
	tw_dataset_release(&d);
	return rc;
}

double tw_online_error_mae_w(const struct tw_online_error *e)
{
	return e->rows > 0 ? e->error_sum_w / (double)e->rows : NAN;
}

/* ---- live error ---- */

void tw_live_add(struct tw_live *l, const struct tw_live_interval *i)
{
	if (i->error.rows == 0)
		return;
	/* Read again after a failure of the store. */
	if (l->count > 0 && l->at[l->count - 1].from_ms == i->from_ms) {
		l->at[l->count - 1] = *i;
		return;
	}
	if (l->count == TW_LIVE_INTERVALS) {
		l->count--;
		memmove(l->at, l->at + 1, l->count * sizeof(l->at[0]));
	}
	l->at[l->count++] = *i;
}

static struct tw_online_error sum_intervals(const struct tw_live *l)
{
	struct tw_online_error sum = { 0 };

	for (size_t i = 0; i < l->count; i++) {
		sum.rows += l->at[i].error.rows;
		sum.error_sum_w += l->at[i].error.error_sum_w;
		sum.bias_sum_w += l->at[i].error.bias_sum_w;
	}
	return sum;
}

double tw_live_mae_w(const struct tw_live *l)
{
	const struct tw_online_error sum = sum_intervals(l);

	return tw_online_error_mae_w(&sum);
}

double tw_live_bias_w(const struct tw_live *l)
{
	const struct tw_online_error sum = sum_intervals(l);

	return sum.rows > 0 ? sum.bias_sum_w / (double)sum.rows : NAN;
}

double tw_live_drift(const struct tw_live *l, double expected_w)
{
	return l->count >= 2 && expected_w > 0 ? tw_live_mae_w(l) / expected_w : NAN;
}

int64_t tw_live_onset_ms(const struct tw_live *l, double expected_w)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->at[i].error.error_sum_w >
		    TW_LIVE_DRIFT * expected_w * (double)l->at[i].error.rows)
			return l->at[i].from_ms;
	return l->count > 0 ? l->at[l->count - 1].from_ms : 0;
}
