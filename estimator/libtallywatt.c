/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/tallywatt.h"

#include "estimator/predict/categories.h"
#include "estimator/predict/certificate.h"
#include "estimator/predict/power_model.h"
#include "estimator/predict/series.h"
#include "lib/core/err.h"
#include "model-db/index/choose.h"
#include "model-db/index/index.h"
#include "model-db/index/index_load.h"
#include "model-db/index/index_use.h"
#include "model-db/model.h"
#include "profiler/discover.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(TW_COMPONENT_COUNT <= TALLYWATT_COMPONENTS_MAX,
	       "TALLYWATT_COMPONENTS_MAX is too small");

struct tallywatt_model {
	struct tw_power_model *model;
	const struct tw_model_info *info;
	size_t parts;
	uint32_t *place[TW_COMPONENT_COUNT]; /* columns of each part's features */
};

const char *tallywatt_version(void)
{
	return TW_VERSION;
}

static void copy_error(const struct tw_err *err, char *error, size_t size)
{
	if (error != NULL && size > 0)
		snprintf(error, size, "%s", err->text);
}

void tallywatt_close(struct tallywatt_model *m)
{
	if (m == NULL)
		return;
	for (size_t i = 0; i < m->parts; i++)
		free(m->place[i]);
	tw_power_model_free(m->model);
	free(m);
}

static int bind_parts(struct tallywatt_model *m, struct tw_err *err)
{
	for (size_t i = 0; i < m->parts; i++) {
		m->place[i] = calloc(m->info->features.count + 1, sizeof(*m->place[i]));
		if (m->place[i] == NULL)
			return tw_fail(err, TW_NOMEM, "model '%s'", m->info->name);
		if (tw_power_model_bind(m->model, i, &m->info->features, m->place[i],
					err) < 0)
			return -1;
	}
	return 0;
}

/* p is taken, even on failure. */
static int adopt(struct tw_power_model *p, struct tallywatt_model **out,
		 struct tw_err *err)
{
	struct tallywatt_model *m = calloc(1, sizeof(*m));
	int rc = -1;

	if (m == NULL) {
		tw_power_model_free(p);
		return tw_fail(err, TW_NOMEM, "model");
	}
	m->model = p;
	m->info = tw_power_model_info(m->model);
	m->parts = tw_power_model_parts(m->model);
	if (bind_parts(m, err) < 0)
		goto out;

	*out = m;
	m = NULL;
	rc = 0;
out:
	tallywatt_close(m);
	return rc;
}

static int load(const char *path, struct tallywatt_model **out, struct tw_err *err)
{
	struct tw_power_model *p = NULL;

	return tw_power_model_load(path, &p, err) < 0 ? -1 : adopt(p, out, err);
}

struct tallywatt_model *tallywatt_open(const char *path, char *error, size_t error_size)
{
	struct tallywatt_model *m = NULL;
	struct tw_err err = { 0 };

	if (path == NULL)
		tw_fail(&err, TW_INVALID, "path is NULL");
	else
		load(path, &m, &err);
	if (m == NULL)
		copy_error(&err, error, error_size);
	return m;
}

static int make_wanted(const char *output, const char *source,
		       const char *const *features, size_t count, struct tw_wanted *w,
		       struct tw_err *err)
{
	if (output == NULL || !tw_output_find(output, &w->output))
		return tw_fail(
			err, TW_INVALID,
			"output '%.64s' is not known, expected AbsPower or DynPower",
			output != NULL ? output : "");
	w->source = tw_energy_source_wanted(source);
	if (w->source == NULL)
		return tw_fail(err, TW_INVALID, "source '%.64s' is not known", source);
	for (size_t i = 0; i < count; i++)
		if (tw_strs_adds(&w->metrics, features[i], err) < 0)
			return -1;
	return 0;
}

/*
 * The prior's model of this machine, unless a measured one (NULL: there is none) is
 * better.
 */
static int load_prior(const struct tw_index *index, const struct tw_wanted *w,
		      const struct tw_choice *chosen, struct tallywatt_model **out,
		      struct tw_err *err)
{
	struct tw_wanted here = *w; /* borrows its texts */
	struct tw_power_model *p = NULL;
	struct tw_model m = { 0 };
	int rc = -1;

	if (index->prior.views == 0 ||
	    tw_machine_spec_discover("/proc", "/sys", &here.spec, err) < 0 ||
	    tw_choose_prior(index, &here, chosen, &m, err) < 0)
		return -1;
	if (tw_power_model_new(&m, &p, err) == 0)
		rc = adopt(p, out, err);
	tw_model_release(&m);
	return rc;
}

static int load_best(const char *database, const struct tw_wanted *w,
		     struct tallywatt_model **out, struct tw_err *err)
{
	struct tw_index *index = NULL;
	int rc = -1;

	if (tw_index_load(database, NULL, NULL, &index, err) < 0)
		goto out;
	for (;;) {
		struct tw_choice choice;
		struct tw_err why = { 0 }, no_prior = { 0 };
		const bool chosen = tw_choose(index, w, &choice, err) == 0;

		if (load_prior(index, w, chosen ? &choice : NULL, out, &no_prior) == 0)
			break;
		if (!chosen)
			goto out;
		if (tw_index_prove(index, choice.entry, tw_certify_model, &why) == 0) {
			if (load(choice.entry->zip_path, out, &why) == 0)
				break;
			tw_index_give_up(index, choice.entry);
		}
		if (why.code == TW_NOMEM) {
			tw_fail(err, TW_NOMEM, "%s", why.text);
			goto out;
		}
	}
	rc = 0;
out:
	tw_index_unref(index);
	return rc;
}

struct tallywatt_model *tallywatt_open_best(const char *database, const char *output,
					    const char *source,
					    const char *const *features, size_t count,
					    char *error, size_t error_size)
{
	struct tw_wanted w = { .classes = true,
			       .ensembles = true,
			       .trees = true,
			       .node_type = -1,
			       .loose_node_type = true,
			       .client = TW_CLIENT_CURRENT };
	struct tallywatt_model *m = NULL;
	struct tw_err err = { 0 };

	if (database == NULL || (features == NULL && count > 0))
		tw_fail(&err, TW_INVALID, "database or features is NULL");
	else if (make_wanted(output, source, features, count, &w, &err) == 0)
		load_best(database, &w, &m, &err);
	if (m == NULL)
		copy_error(&err, error, error_size);
	tw_wanted_release(&w);
	return m;
}

const char *tallywatt_name(const struct tallywatt_model *m)
{
	return m->info->name;
}

const char *tallywatt_output(const struct tallywatt_model *m)
{
	return tw_output_name(m->info->output);
}

const char *tallywatt_source(const struct tallywatt_model *m)
{
	return m->info->source->name;
}

unsigned tallywatt_cores(const struct tallywatt_model *m)
{
	return m->info->spec.cores;
}

size_t tallywatt_feature_count(const struct tallywatt_model *m)
{
	return m->info->features.count;
}

const char *tallywatt_feature(const struct tallywatt_model *m, size_t i)
{
	return i < m->info->features.count ? m->info->features.at[i] : NULL;
}

size_t tallywatt_component_count(const struct tallywatt_model *m)
{
	return m->parts;
}

const char *tallywatt_component(const struct tallywatt_model *m, size_t i)
{
	return i < m->parts ? tw_component_name(tw_power_model_component(m->model, i))
			    : NULL;
}

double tallywatt_mean_error(const struct tallywatt_model *m, size_t component)
{
	return component < m->parts ? tw_power_model_figure(m->model, component, "mae")
				    : NAN;
}

double tallywatt_error_95(const struct tallywatt_model *m, size_t component)
{
	return component < m->parts ? tw_power_model_figure(m->model, component, "p95")
				    : NAN;
}

static void predict(const struct tallywatt_model *m, struct tw_rows *in, double *watts)
{
	for (size_t i = 0; i < m->parts; i++) {
		in->place = m->place[i];
		tw_power_model_predict(m->model, i, in, watts + i * in->rows);
	}
}

int tallywatt_predict(const struct tallywatt_model *m, const double *x, size_t rows,
		      size_t stride, double *watts)
{
	return tallywatt_predict_known(m, NULL, NULL, 0, x, rows, stride, watts);
}

int tallywatt_predict_known(const struct tallywatt_model *m, const char *const *names,
			    const char *const *values, size_t count, const double *x,
			    size_t rows, size_t stride, double *watts)
{
	const struct tw_categories known = { .names = names,
					     .values = values,
					     .count = count };
	struct tw_rows in = {
		.x = x, .rows = rows, .stride = stride, .categories = &known
	};

	if (m == NULL || stride < m->info->features.count ||
	    (rows > 0 && (x == NULL || watts == NULL)) ||
	    (count > 0 && (names == NULL || values == NULL)))
		return -1;
	predict(m, &in, watts);
	return 0;
}

static void find_errors(const struct tallywatt_model *m, struct tw_rows *in,
			const double *watts, double *expected, double *half_width)
{
	for (size_t i = 0; i < m->parts; i++) {
		in->place = m->place[i];
		tw_power_model_errors(m->model, i, in, watts + i * in->rows,
				      expected + i * in->rows, half_width + i * in->rows);
	}
}

int tallywatt_errors(const struct tallywatt_model *m, const double *x, size_t rows,
		     size_t stride, const double *watts, double *expected,
		     double *half_width)
{
	struct tw_rows in = { .x = x, .rows = rows, .stride = stride };

	if (m == NULL || stride < m->info->features.count ||
	    (rows > 0 &&
	     (x == NULL || watts == NULL || expected == NULL || half_width == NULL)))
		return -1;
	find_errors(m, &in, watts, expected, half_width);
	return 0;
}

size_t tallywatt_back(const struct tallywatt_model *m)
{
	return tw_power_model_back(m->model);
}

struct tallywatt_series {
	const struct tallywatt_model *model;
	struct tw_recent_rows rows;
};

struct tallywatt_series *tallywatt_series_new(const struct tallywatt_model *m)
{
	struct tallywatt_series *s = m != NULL ? calloc(1, sizeof(*s)) : NULL;
	struct tw_err err = { 0 };

	if (s == NULL)
		return NULL;
	s->model = m;
	if (tw_recent_rows_reserve(&s->rows, m->info->features.count, tallywatt_back(m),
				   &err) < 0) {
		tallywatt_series_free(s);
		return NULL;
	}
	return s;
}

void tallywatt_series_free(struct tallywatt_series *s)
{
	if (s == NULL)
		return;
	tw_recent_rows_release(&s->rows);
	free(s);
}

int tallywatt_series_predict(struct tallywatt_series *s, int64_t time_ms, const double *x,
			     double *watts)
{
	struct tw_rows in;

	if (s == NULL || x == NULL || watts == NULL)
		return -1;
	tw_recent_rows_add(&s->rows, time_ms, x);
	tw_recent_rows_newest(&s->rows, &in);
	predict(s->model, &in, watts);
	return 0;
}

int tallywatt_series_errors(const struct tallywatt_series *s, const double *watts,
			    double *expected, double *half_width)
{
	struct tw_rows in;

	if (s == NULL || watts == NULL || expected == NULL || half_width == NULL ||
	    s->rows.rows == 0)
		return -1;
	tw_recent_rows_newest(&s->rows, &in);
	find_errors(s->model, &in, watts, expected, half_width);
	return 0;
}

/* True if a feature of the row is outside the training range of any component. */
static bool is_outside(const struct tallywatt_model *m, const double *row)
{
	for (size_t i = 0; i < m->parts; i++) {
		const struct tw_rows in = { .x = row, .rows = 1, .place = m->place[i] };
		unsigned char outside = 0;

		tw_power_model_mark_outside(m->model, i, &in, &outside);
		if (outside != 0)
			return true;
	}
	return false;
}

size_t tallywatt_extrapolated(const struct tallywatt_model *m, const double *x,
			      size_t rows, size_t stride, unsigned char *outside)
{
	size_t found = 0;

	if (m == NULL || x == NULL || stride < m->info->features.count)
		return 0;
	for (size_t r = 0; r < rows; r++) {
		const bool out = is_outside(m, x + r * stride);

		found += out;
		if (outside != NULL)
			outside[r] = out;
	}
	return found;
}
