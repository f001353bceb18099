/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/score.h"

#include "estimator/predict/power_model.h"
#include "lib/core/array.h"
#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/field/dataset.h"
#include "lib/json/json.h"
#include "model-db/model.h"

#include <math.h>
#include <stdlib.h>

/* A row index and the key to sort it by. */
struct ranked {
	double key;
	size_t row;
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The nearest rank of 95 %. */
static double percentile_95(double *v, size_t n)
{
	return tw_nth(v, n, (n * 95 + 99) / 100 - 1);
}

static int check_rows(const double *measured, const double *predicted, size_t rows,
		      struct tw_err *err)
{
	if (rows == 0)
		return tw_fail(err, TW_INVALID, "no rows to score");
	for (size_t i = 0; i < rows; i++)
		if (!isfinite(measured[i]) || !isfinite(predicted[i]))
			return tw_fail(err, TW_INVALID,
				       "row %zu: measured %g, predicted %g", i,
				       measured[i], predicted[i]);
	return 0;
}

static void add_errors(const double *measured, const double *predicted,
		       struct tw_score *s)
{
	const double n = (double)s->rows;
	double mean = 0.0, squares = 0.0, spread = 0.0;

	for (size_t i = 0; i < s->rows; i++)
		mean += measured[i] / n;
	s->mean = mean;
	for (size_t i = 0; i < s->rows; i++) {
		const double e = predicted[i] - measured[i];

		s->mae += fabs(e) / n;
		s->bias += e / n;
		squares += e * e / n;
		spread += (measured[i] - mean) * (measured[i] - mean) / n;
	}
	s->rmse = sqrt(squares);
	/* A smaller spread is rounding error. */
	s->r2 = spread > 1e-24 * mean * mean ? 1.0 - squares / spread : NAN;
}

static void add_percentage(const double *measured, const double *predicted,
			   struct tw_score *s)
{
	double low = measured[0], high = measured[0], sum = 0.0;
	size_t used = 0;

	for (size_t i = 1; i < s->rows; i++) {
		low = fmin(low, measured[i]);
		high = fmax(high, measured[i]);
	}
	s->mape_floor = fmax(1.0, 0.01 * (high - low));
	for (size_t i = 0; i < s->rows; i++) {
		if (measured[i] <= s->mape_floor)
			continue;
		sum += fabs(predicted[i] - measured[i]) / measured[i];
		used++;
	}
	s->mape = used > 0 ? 100.0 * sum / (double)used : NAN;
	s->mape_left_out = (double)(s->rows - used) / (double)s->rows;
}

/* The mean error of some rows in an order. */
static double mean_error(const double *measured, const double *predicted,
			 const struct ranked *order, size_t rows)
{
	double sum = 0.0;

	for (size_t i = 0; i < rows; i++)
		sum += predicted[order[i].row] - measured[order[i].row];
	return sum / (double)rows;
}

/* Sort rows by key, or leave them in order of time if key is NULL. */
static void rank(const double *key, size_t rows, struct ranked *order)
{
	for (size_t i = 0; i < rows; i++)
		order[i] = (struct ranked){ key != NULL ? key[i] : 0.0, i };
	qsort(order, rows, sizeof(*order), compare_ranked);
}

/* Biases of parts of the rows, which cancel out in the whole. */
static void add_biases(const double *measured, const double *predicted,
		       const double *main, struct ranked *order, struct tw_score *s)
{
	const size_t n = s->rows, half = (n + 1) / 2, fifth = (n + 4) / 5;

	rank(NULL, n, order);
	s->bias_drift = mean_error(measured, predicted, order + n - half, half) -
			mean_error(measured, predicted, order, half);
	rank(measured, n, order);
	s->bias_low = mean_error(measured, predicted, order, fifth);
	s->bias_high = mean_error(measured, predicted, order + n - fifth, fifth);
	if (main != NULL)
		rank(main, n, order);
	s->idle_bias = mean_error(measured, predicted, order, (n + 19) / 20);
}

int tw_score(const double *measured, const double *predicted, const double *main,
	     size_t rows, struct tw_score *out, struct tw_err *err)
{
	struct tw_score s = { .rows = rows };
	struct ranked *order;
	double *error;

	if (check_rows(measured, predicted, rows, err) < 0)
		return -1;
	order = calloc(rows, sizeof(*order));
	error = calloc(rows, sizeof(*error));
	if (order == NULL || error == NULL) {
		free(order);
		free(error);
		return tw_fail(err, TW_NOMEM, "order of %zu rows", rows);
	}

	add_errors(measured, predicted, &s);
	add_percentage(measured, predicted, &s);

	for (size_t i = 0; i < rows; i++)
		error[i] = fabs(predicted[i] - measured[i]);
	s.p95 = percentile_95(error, rows);

	add_biases(measured, predicted, main, order, &s);
	free(order);
	free(error);
	*out = s;
	return 0;
}

json_t *tw_score_to_json(const struct tw_score *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", /**/
			 "mae", tw_json_rounded(s->mae), "rmse", tw_json_rounded(s->rmse),
			 "r2", tw_json_rounded(s->r2), "bias", tw_json_rounded(s->bias),
			 "p95", tw_json_rounded(s->p95), "mape", tw_json_rounded(s->mape),
			 "mape_floor", tw_json_rounded(s->mape_floor), "mape_left_out",
			 tw_json_rounded(s->mape_left_out), "idle_bias",
			 tw_json_rounded(s->idle_bias));
}

double tw_winkler(double measured, double predicted, double half_w)
{
	const double low = fmax(predicted - half_w, 0.0), high = predicted + half_w;
	const double missed = fmax(fmax(low - measured, measured - high), 0.0);

	/* NaN for an unknown half-width: high is NaN. */
	return high - low + 2.0 / (1.0 - TW_INTERVAL_LEVEL) * missed;
}

bool tw_interval_holds(double measured, double predicted, double half_w)
{
	return measured >= fmax(predicted - half_w, 0.0) &&
	       measured <= predicted + half_w;
}

double tw_conformal(double *v, size_t n, double share)
{
	const double rank = ceil((double)(n + 1) * share);

	return tw_nth(v, n, rank < (double)n ? (size_t)rank - 1 : n - 1);
}

/* ---- misses ---- */

/* Compare the sums of the ranks of the misses; equal values share their mean rank. */
static double area(const struct ranked *r, const double *abs_error, double limit,
		   size_t rows, size_t misses)
{
	double sum = 0.0;
	size_t to;

	for (size_t from = 0; from < rows; from = to) {
		size_t found = 0;

		for (to = from; to < rows && r[to].key == r[from].key; to++)
			found += abs_error[r[to].row] > limit;
		sum += (double)found * (double)(from + 1 + to) / 2.0;
	}
	sum -= (double)misses * (double)(misses + 1) / 2.0;
	return sum / ((double)misses * (double)(rows - misses));
}

int tw_miss_auc(const double *abs_error, const double *expected, size_t rows, double *out,
		struct tw_err *err)
{
	struct ranked *r = NULL;
	double *sorted = NULL, limit;
	size_t misses = 0;
	int rc = -1;

	if (TW_NEW(r, rows + 1, err) < 0 || TW_NEW(sorted, rows + 1, err) < 0)
		goto out;
	for (size_t i = 0; i < rows; i++)
		sorted[i] = abs_error[i];
	limit = rows > 0 ? percentile_95(sorted, rows) : 0.0;
	for (size_t i = 0; i < rows; i++) {
		r[i] = (struct ranked){ expected[i], i };
		misses += abs_error[i] > limit;
	}
	qsort(r, rows, sizeof(*r), compare_ranked);

	*out = misses > 0 ? area(r, abs_error, limit, rows, misses) : NAN;
	rc = 0;
out:
	free(r);
	free(sorted);
	return rc;
}

/* ---- a recording ---- */

static double coverage_of(const struct tw_intervals *i, size_t from, size_t to)
{
	size_t held = 0;

	for (size_t r = from; r < to; r++)
		held += tw_interval_holds(i->measured[r], i->predicted[r], i->half_w[r]);
	return to > from ? (double)held / (double)(to - from) : NAN;
}

int tw_interval_score(const struct tw_intervals *i, struct tw_interval_score *out,
		      struct tw_err *err)
{
	struct tw_interval_score s = { .auc = NAN };
	double *error = NULL;
	bool known = true;
	int rc = -1;

	if (TW_NEW(error, i->rows + 1, err) < 0)
		goto out;
	for (size_t r = 0; r < i->rows; r++) {
		error[r] = fabs(i->predicted[r] - i->measured[r]);
		known = known && isfinite(i->expected_w[r]);
		s.score += tw_winkler(i->measured[r], i->predicted[r], i->half_w[r]) /
			   (double)i->rows;
		s.constant += tw_winkler(i->measured[r], i->predicted[r], i->constant_w) /
			      (double)i->rows;
	}
	s.coverage = isfinite(s.score) ? coverage_of(i, 0, i->rows) : NAN;
	for (size_t b = 0; b < TW_INTERVAL_BLOCKS; b++)
		s.block_coverage[b] =
			isfinite(s.score)
				? coverage_of(i, b * i->rows / TW_INTERVAL_BLOCKS,
					      (b + 1) * i->rows / TW_INTERVAL_BLOCKS)
				: NAN;
	if (known && tw_miss_auc(error, i->expected_w, i->rows, &s.auc, err) < 0)
		goto out;

	*out = s;
	rc = 0;
out:
	free(error);
	return rc;
}

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
	if (tw_new(&t->x, d->rows + 1, (d->cols + 1) * sizeof(*t->x), err) < 0 ||
	    TW_NEW(t->watts, d->rows + 1, err) < 0 ||
	    TW_NEW(t->expected_w, d->rows + 1, err) < 0 ||
	    TW_NEW(t->half_w, d->rows + 1, err) < 0 ||
	    TW_NEW(t->outside, d->rows + 1, err) < 0)
		return -1;
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
