/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/calibrate_rows.h"

#include "estimator/predict/predictor.h"
#include "lib/core/array.h"
#include "lib/core/err.h"
#include "trainer/fit/trainer.h"

#include <math.h>
#include <stdlib.h>

static void add_column(struct tw_calibrate_rows *w, size_t feature, uint32_t back)
{
	w->column[w->cols++] = (struct tw_derived){
		.feature = (uint32_t)feature,
		.from = back,
		.to = back,
		.per = TW_DERIVED_NONE,
	};
}

static void choose_columns(struct tw_calibrate_rows *w, bool series)
{
	const size_t cols = w->samples->cols;

	for (uint32_t back = 0; back <= (series && 2 * cols <= TW_DERIVED_MAX); back++)
		for (size_t c = 0; c < cols; c++)
			add_column(w, c, back);
}

static void set_groups(struct tw_calibrate_rows *w, size_t folds)
{
	const size_t rows = w->samples->rows;

	w->groups = folds < TW_CALIBRATE_GROUPS ? folds : TW_CALIBRATE_GROUPS;
	for (size_t g = 0; g < w->groups; g++) {
		const size_t first = (g * folds + w->groups - 1) / w->groups;
		const size_t next = ((g + 1) * folds + w->groups - 1) / w->groups;

		w->block[g].from = tw_fold_at(rows, folds, first).from;
		w->block[g].to = tw_fold_at(rows, folds, next - 1).to;
	}
}

static int allocate(struct tw_calibrate_rows *w, struct tw_err *err)
{
	const size_t rows = w->samples->rows;

	if (TW_NEW(w->at, rows + 1, err) < 0 ||
	    tw_new(&w->x, rows + 1, w->cols * sizeof(*w->x), err) < 0 ||
	    TW_NEW(w->measured, rows + 1, err) < 0 ||
	    TW_NEW(w->watts, rows + 1, err) < 0 || TW_NEW(w->error, rows + 1, err) < 0 ||
	    TW_NEW(w->group, rows + 1, err) < 0 ||
	    TW_NEW(w->scratch, rows + 1, err) < 0 ||
	    TW_NEW(w->by_watts, rows + 1, err) < 0 ||
	    TW_NEW(w->name, w->cols + 1, err) < 0 ||
	    TW_NEW(w->names, w->cols + 1, err) < 0)
		return -1;
	for (size_t c = 0; c < w->cols; c++) {
		tw_derived_name(&w->column[c], w->samples->features, w->name[c]);
		w->names[c] = w->name[c];
	}
	return 0;
}

/* Validation predicts the first row of a fold by itself. */
static bool begins_fold(const struct tw_residuals *r, size_t row)
{
	for (size_t f = 0; f < r->folds; f++)
		if (tw_fold_at(r->samples->rows, r->folds, f).from == row)
			return true;
	return false;
}

static void add_row(struct tw_calibrate_rows *w, const struct tw_residuals *r,
		    const struct tw_rows *in, size_t row, size_t history)
{
	const size_t i = w->rows++;

	for (size_t c = 0; c < w->cols; c++)
		w->x[i * w->cols + c] = tw_derived_value(&w->column[c], in, row, history);
	w->at[i] = row;
	w->measured[i] = r->measured[row];
	w->watts[i] = r->predicted[row];
	w->error[i] = fabs(r->predicted[row] - r->measured[row]);
	while (row >= w->block[w->group[i]].to)
		w->group[i]++;
	if (w->own[w->group[i]].to == 0)
		w->own[w->group[i]].from = i;
	w->own[w->group[i]].to = i + 1;
}

static void widen_groups(struct tw_calibrate_rows *w)
{
	const struct tw_samples *s = w->samples;

	for (size_t g = 0; g < w->groups; g++) {
		const struct tw_fold block =
			tw_fold_widen(w->block[g], s->overlap, s->rows);
		size_t from = 0, to;

		while (from < w->rows && w->at[from] < block.from)
			from++;
		for (to = from; to < w->rows && w->at[to] < block.to;)
			to++;
		w->wide[g] = (struct tw_fold){ from, to };
	}
}

static int compare_watts(const void *a, const void *b, void *arg)
{
	const double *watts = arg, x = watts[*(const size_t *)a];
	const double y = watts[*(const size_t *)b];

	return x < y ? -1 : x > y;
}

static void sort_by_watts(struct tw_calibrate_rows *w)
{
	for (size_t r = 0; r < w->rows; r++)
		w->by_watts[r] = r;
	qsort_r(w->by_watts, w->rows, sizeof(*w->by_watts), compare_watts, w->watts);
}

int tw_calibrate_rows_take(struct tw_calibrate_rows *w, const struct tw_residuals *r,
			   struct tw_err *err)
{
	const struct tw_samples *s = r->samples;
	const bool series = r->step_ms > 0.0;
	const struct tw_rows in = { .x = s->x,
				    .rows = s->rows,
				    .stride = s->cols,
				    .time_ms = series ? s->time_ms : NULL };

	choose_columns(w, series);
	set_groups(w, r->folds);
	if (allocate(w, err) < 0)
		return -1;
	for (size_t row = 0; row < s->rows; row++) {
		const size_t history =
			series ? tw_derived_history(&in, row, r->step_ms, 1) : 0;

		if (!series || (history > 0 && !begins_fold(r, row)))
			add_row(w, r, &in, row, history);
	}
	widen_groups(w);
	sort_by_watts(w);
	return 0;
}

void tw_calibrate_rows_release(struct tw_calibrate_rows *w)
{
	free(w->at);
	free(w->x);
	free(w->measured);
	free(w->watts);
	free(w->error);
	free(w->group);
	free(w->name);
	free(w->names);
	free(w->sigma);
	free(w->scratch);
	free(w->by_watts);
}
