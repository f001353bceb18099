/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/power_model.h"

#include "estimator/predict/answer_error.h"
#include "lib/core/err.h"
#include "lib/core/file.h"
#include "lib/field/feature.h"
#include "lib/zip/fileset.h"
#include "lib/zip/zip.h"
#include "model-db/model_files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct tw_power_model {
	struct tw_model model;
	bool borrowed; /* the caller owns what model points to */
	const struct tw_predictor *predictor;
	void *state[TW_COMPONENT_COUNT]; /* of each part */
	struct tw_answer_error error[TW_COMPONENT_COUNT];
};

static int load_part(struct tw_power_model *p, size_t i, struct tw_err *err)
{
	struct tw_model_part *part = &p->model.part[i];

	if (tw_predictor_load(p->predictor, part->text, part->len, &part->features,
			      &p->state[i], err) < 0)
		return tw_err_wrap(err, "%s", tw_component_name(part->component));
	if (tw_answer_error_load(p->model.info.metadata, part, &p->error[i], err) < 0)
		return tw_err_wrap(err, "%s", tw_component_name(part->component));
	if (p->borrowed)
		return 0;
	/* The states of predictors replace the texts. */
	free(part->text);
	free(part->error_text);
	part->text = part->error_text = NULL;
	part->len = part->error_len = 0;
	return 0;
}

static int load_parts(struct tw_power_model *p, struct tw_err *err)
{
	const struct tw_model_info *info = &p->model.info;

	p->predictor = tw_predictor_find(info->predictor);
	if (p->predictor == NULL)
		return tw_fail(err, TW_UNSUPPORTED, "no predictor '%.64s'",
			       info->predictor);
	for (size_t i = 0; i < p->model.parts; i++)
		if (load_part(p, i, err) < 0)
			return -1;
	return 0;
}

static int make(const struct tw_model *m, bool borrowed, struct tw_power_model **out,
		struct tw_err *err)
{
	struct tw_power_model *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return tw_fail(err, TW_NOMEM, "model '%s'", m->info.name);
	p->model = *m;
	p->borrowed = borrowed;
	*out = p;
	if (load_parts(p, err) < 0)
		return tw_err_wrap(err, "model '%s'", p->model.info.name);
	return 0;
}

int tw_power_model_new(struct tw_model *m, struct tw_power_model **out,
		       struct tw_err *err)
{
	struct tw_power_model *p = NULL;
	const int rc = make(m, false, &p, err);

	if (p == NULL)
		tw_model_release(m);
	*m = (struct tw_model){ 0 };
	if (rc < 0)
		tw_power_model_free(p);
	else
		*out = p;
	return rc;
}

int tw_power_model_borrow(const struct tw_model *m, struct tw_power_model **out,
			  struct tw_err *err)
{
	struct tw_power_model *p = NULL;

	if (make(m, true, &p, err) < 0) {
		tw_power_model_free(p);
		return -1;
	}
	*out = p;
	return 0;
}

static int read_zip(const char *path, struct tw_fileset *files, struct tw_err *err)
{
	char *data = NULL;
	size_t len;
	int rc = -1;

	if (tw_file_read(path, tw_zip_model_limits.total_bytes, &data, &len, err) < 0)
		goto out;
	if (tw_zip_read(data, len, &tw_zip_model_limits, files, err) < 0)
		goto out;
	rc = 0;
out:
	free(data);
	return rc;
}

static int read_files(const char *path, struct tw_fileset *files, struct tw_err *err)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return tw_fail_errno(err, errno, "cannot open");
	if (S_ISDIR(st.st_mode))
		return tw_fileset_read_dir(files, path, &tw_zip_model_limits, err);
	return read_zip(path, files, err);
}

int tw_power_model_load(const char *path, struct tw_power_model **out, struct tw_err *err)
{
	struct tw_fileset files = { 0 };
	struct tw_model m = { 0 };
	int rc = -1;

	if (read_files(path, &files, err) < 0 ||
	    tw_model_from_files(&files, &m, err) < 0 ||
	    tw_power_model_new(&m, out, err) < 0) {
		tw_err_wrap(err, "'%s'", path);
		goto out;
	}
	rc = 0;
out:
	tw_fileset_clear(&files);
	return rc;
}

void tw_power_model_free(struct tw_power_model *p)
{
	if (p == NULL)
		return;
	for (size_t i = 0; i < p->model.parts; i++) {
		if (p->state[i] != NULL)
			tw_predictor_free(p->predictor, p->state[i]);
		tw_answer_error_release(&p->error[i]);
	}
	if (!p->borrowed)
		tw_model_release(&p->model);
	free(p);
}

const struct tw_model_info *tw_power_model_info(const struct tw_power_model *p)
{
	return &p->model.info;
}

size_t tw_power_model_parts(const struct tw_power_model *p)
{
	return p->model.parts;
}

enum tw_component tw_power_model_component(const struct tw_power_model *p, size_t part)
{
	return p->model.part[part].component;
}

/* Try the model's own order first, in which most names come. -1: not found. */
static ptrdiff_t column_of(const struct tw_strs *names, const char *feature, size_t guess)
{
	if (guess < names->count && strcmp(names->at[guess], feature) == 0)
		return (ptrdiff_t)guess;
	return tw_strs_find(names, feature);
}

int tw_power_model_bind(const struct tw_power_model *p, size_t part,
			const struct tw_strs *names, uint32_t *place, struct tw_err *err)
{
	const struct tw_strs *features = &p->model.part[part].features;

	for (size_t i = 0; i < features->count; i++) {
		const ptrdiff_t column = column_of(names, features->at[i], i);

		if (column < 0)
			return tw_fail(err, TW_NOTFOUND,
				       "model '%s' needs '%s', which is missing",
				       p->model.info.name, features->at[i]);
		place[i] = (uint32_t)column;
	}
	return 0;
}

void tw_power_model_predict_raw(const struct tw_power_model *p, size_t part,
				const struct tw_rows *in, double *watts)
{
	p->predictor->predict(p->state[part], in, watts);
}

/* A feature is below 0 if a client's counter was reset. */
static bool is_below_zero(const struct tw_rows *in, size_t r, size_t features)
{
	for (size_t f = 0; f < features; f++)
		if (tw_rows_value(in, r, f) < 0)
			return true;
	return false;
}

void tw_power_model_predict(const struct tw_power_model *p, size_t part,
			    const struct tw_rows *in, double *watts)
{
	tw_power_model_predict_raw(p, part, in, watts);
	for (size_t r = 0; r < in->rows; r++) {
		if (watts[r] < 0.0)
			watts[r] = 0.0;
		if (is_below_zero(in, r, p->model.part[part].features.count))
			watts[r] = NAN;
	}
}

size_t tw_power_model_back(const struct tw_power_model *p)
{
	size_t most = 0;

	for (size_t i = 0; p->predictor->back != NULL && i < p->model.parts; i++) {
		const size_t back = p->predictor->back(p->state[i]);
		const size_t error_back = tw_answer_error_back(&p->error[i]);

		most = back > most ? back : most;
		most = back > 0 && error_back > most ? error_back : most;
	}
	return most;
}

double tw_power_model_core_ratio(const struct tw_power_model *p, uint32_t cores)
{
	const uint32_t theirs = p->model.info.spec.cores;

	return cores > 0 && theirs > 0 ? (double)cores / (double)theirs : 1.0;
}

double tw_power_model_step_ms(const struct tw_power_model *p)
{
	double most = 0;

	for (size_t i = 0; p->predictor->step_ms != NULL && i < p->model.parts; i++)
		most = fmax(most, p->predictor->step_ms(p->state[i]));
	return most;
}

uint64_t tw_power_model_row_ns(const struct tw_power_model *p)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < p->model.parts; i++)
		sum += tw_predictor_row_ns(p->predictor, p->state[i]);
	return sum;
}

void tw_power_model_errors(const struct tw_power_model *p, size_t part,
			   const struct tw_rows *in, const double *watts,
			   double *expected_w, double *half_w)
{
	tw_answer_error_of(&p->error[part], in, watts, expected_w, half_w);
}

double tw_power_model_figure(const struct tw_power_model *p, size_t part,
			     const char *name)
{
	return tw_model_figure(p->model.info.metadata, p->model.part[part].component,
			       name);
}

void tw_power_model_mark_outside(const struct tw_power_model *p, size_t part,
				 const struct tw_rows *in, unsigned char *outside)
{
	const struct tw_model_part *m = &p->model.part[part];

	if (m->feature_min == NULL)
		return;
	for (size_t f = 0; f < m->features.count; f++) {
		const uint32_t column = tw_rows_column(in, f);

		if (column == UINT32_MAX)
			continue;
		for (size_t r = 0; r < in->rows; r++) {
			const double v = in->x[r * in->stride + column];

			/* Both comparisons are false for NaN. */
			outside[r] |= v < m->feature_min[f] || v > m->feature_max[f];
		}
	}
}

const char *tw_power_model_range(const struct tw_power_model *p, size_t part, size_t i,
				 double *min, double *max)
{
	const struct tw_model_part *m = &p->model.part[part];
	const bool known = m->feature_min != NULL;

	if (i >= m->features.count)
		return NULL;
	*min = known ? m->feature_min[i] : NAN;
	*max = known ? m->feature_max[i] : NAN;
	return m->features.at[i];
}

/* ---- the load curve ---- */

double tw_load_curve_share(size_t point)
{
	return (double)point / (TW_LOAD_CURVE_POINTS - 1);
}

/* Rows of the part's own features, in its order. */
static int fill_rows(const struct tw_power_model *p, size_t part, double *x,
		     size_t *columns, struct tw_err *err)
{
	double min, max;
	const char *name;
	size_t count = 0;

	while (tw_power_model_range(p, part, count, &min, &max) != NULL)
		count++;
	for (size_t i = 0; (name = tw_power_model_range(p, part, i, &min, &max)) != NULL;
	     i++) {
		if (isnan(max))
			return tw_fail(err, TW_NOTFOUND,
				       "the model has no training range of '%s'", name);
		for (size_t r = 0; r < TW_LOAD_CURVE_POINTS; r++)
			x[r * count + i] = tw_feature_is_work(name)
						   ? max * tw_load_curve_share(r)
						   : max;
	}
	*columns = count;
	return 0;
}

int tw_load_curve(const struct tw_power_model *p, size_t part, struct tw_load_curve *out,
		  struct tw_err *err)
{
	struct tw_load_curve c = { .component = tw_power_model_component(p, part) };
	double expected_w[TW_LOAD_CURVE_POINTS];
	struct tw_rows in = { .rows = TW_LOAD_CURVE_POINTS };
	double *x = calloc(TW_LOAD_CURVE_POINTS * TW_MODEL_FEATURES_MAX, sizeof(*x));
	int rc = -1;

	if (x == NULL) {
		tw_fail(err, TW_NOMEM, "load curve");
		goto out;
	}
	if (fill_rows(p, part, x, &in.stride, err) < 0)
		goto out;
	in.x = x;
	tw_power_model_predict(p, part, &in, c.watts);
	tw_power_model_errors(p, part, &in, c.watts, expected_w, c.half_w);
	*out = c;

	rc = 0;
out:
	free(x);
	return rc;
}
