/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/model_score.h"

#include "estimator/predict/power_model.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/field/dataset.h"
#include "model-db/model.h"

#include <stdlib.h>
#include <string.h>

/* The data in the layout of the predictor. */
struct table {
	struct tw_strs names;
	double *x;
	double *watts, *expected_w, *half_w;
	unsigned char *outside;
	uint32_t place[TW_MODEL_FEATURES_MAX];
};

static void release(struct table *t)
{
	tw_strs_clear(&t->names);
	free(t->x);
	free(t->watts);
	free(t->expected_w);
	free(t->half_w);
	free(t->outside);
}

static int make_table(const struct tw_dataset *d, struct table *t, struct tw_err *err)
{
	t->x = calloc(d->rows + 1, (d->cols + 1) * sizeof(*t->x));
	t->watts = calloc(d->rows + 1, sizeof(*t->watts));
	t->expected_w = calloc(d->rows + 1, sizeof(*t->expected_w));
	t->half_w = calloc(d->rows + 1, sizeof(*t->half_w));
	t->outside = calloc(d->rows + 1, 1);
	if (t->x == NULL || t->watts == NULL || t->expected_w == NULL ||
	    t->half_w == NULL || t->outside == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows to score", d->rows);
	for (size_t c = 0; c < d->cols; c++) {
		if (tw_strs_adds(&t->names, d->col[c].name, err) < 0)
			return -1;
		for (size_t r = 0; r < d->rows; r++)
			t->x[r * d->cols + c] = d->col[c].v[r];
	}
	return 0;
}

/* The main feature of the model for a component; NULL if the data lacks it. */
static const double *load_of(const struct tw_power_model *p, const struct tw_dataset *d,
			     enum tw_component c)
{
	const struct tw_strs *names = &tw_power_model_info(p)->features;
	const size_t main =
		tw_main_feature((const char *const *)names->at, names->count, c);

	return names->count > 0 ? tw_dataset_find(d, names->at[main]) : NULL;
}

static int score_intervals(const struct tw_power_model *p, size_t part,
			   const struct tw_rows *rows, const double *measured,
			   struct table *t, struct tw_interval_score *out,
			   struct tw_err *err)
{
	const struct tw_intervals i = {
		.measured = measured,
		.predicted = t->watts,
		.half_w = t->half_w,
		.expected_w = t->expected_w,
		.constant_w = tw_power_model_figure(p, part, "p95"),
		.rows = rows->rows,
	};

	tw_power_model_errors(p, part, rows, t->watts, t->expected_w, t->half_w);
	return tw_interval_score(&i, out, err);
}

static int score_part(const struct tw_power_model *p, size_t part,
		      const struct tw_dataset *d, struct table *t,
		      struct tw_model_score *s, struct tw_err *err)
{
	const enum tw_component c = tw_power_model_component(p, part);
	const double *measured = tw_dataset_find(d, tw_power_column(c));
	const struct tw_rows rows = { .x = t->x,
				      .rows = d->rows,
				      .stride = d->cols,
				      .place = t->place,
				      .time_ms = d->time_ms };

	if (tw_power_model_bind(p, part, &t->names, t->place, err) < 0)
		return -1;
	tw_power_model_mark_outside(p, part, &rows, t->outside);
	if (measured == NULL)
		return 0;
	tw_power_model_predict(p, part, &rows, t->watts);
	if (tw_score(measured, t->watts, load_of(p, d, c), d->rows,
		     &s->score[s->components], err) < 0 ||
	    score_intervals(p, part, &rows, measured, t, &s->interval[s->components],
			    err) < 0)
		return tw_err_wrap(err, "%s", tw_component_name(c));
	s->component[s->components++] = c;
	return 0;
}

static size_t count_seen(const struct tw_power_model *p, const struct tw_dataset *d)
{
	const json_t *metadata = tw_power_model_info(p)->metadata;
	const char *first = json_string_value(json_object_get(metadata, "data_first"));
	const char *last = json_string_value(json_object_get(metadata, "data_last"));
	struct tw_err unused = { 0 };
	int64_t from, to;
	size_t seen = 0;

	if (first == NULL || last == NULL ||
	    tw_parse_date_ms(first, &from, &unused) < 0 ||
	    tw_parse_date_ms(last, &to, &unused) < 0)
		return 0;
	for (size_t r = 0; r < d->rows; r++)
		seen += d->time_ms[r] >= from && d->time_ms[r] <= to;
	return seen;
}

int tw_model_score(const struct tw_power_model *p, const struct tw_dataset *d,
		   struct tw_model_score *out, struct tw_err *err)
{
	struct tw_model_score s = { .rows = d->rows, .seen = count_seen(p, d) };
	struct table t = { 0 };
	int rc = -1;

	if (make_table(d, &t, err) < 0)
		goto out;
	for (size_t i = 0; i < tw_power_model_parts(p); i++)
		if (score_part(p, i, d, &t, &s, err) < 0)
			goto out;
	if (s.components == 0) {
		tw_fail(err, TW_NOTFOUND,
			"the data has power of none of the model's components");
		goto out;
	}
	for (size_t r = 0; r < d->rows; r++)
		s.outside += t.outside[r];

	*out = s;
	rc = 0;
out:
	release(&t);
	return rc;
}
