/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/fit/auto_design.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "trainer/fit/samples.h"

#include <math.h>
#include <stdlib.h>

static struct tw_rows rows_of(const struct tw_samples *s)
{
	return (struct tw_rows){
		.x = s->x, .rows = s->rows, .stride = s->cols, .time_ms = s->time_ms
	};
}

int tw_auto_rows_init(struct tw_auto_rows *out, const struct tw_samples *s,
		      double step_ms, size_t most, struct tw_err *err)
{
	const struct tw_rows in = rows_of(s);
	size_t count = 0;

	out->at = malloc((s->rows + 1) * sizeof(*out->at));
	if (out->at == NULL)
		return tw_fail(err, TW_NOMEM, "choice of %zu rows", s->rows);
	for (size_t r = 0; r < s->rows; r++)
		if (step_ms == 0.0 || tw_derived_history(&in, r, step_ms, 1) > 0)
			out->at[count++] = (uint32_t)r;
	out->count = count < most ? count : most;
	for (size_t i = 0; i < out->count; i++)
		out->at[i] = out->at[i * count / out->count];
	out->step_ms = step_ms;
	return 0;
}

static int compare_int64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

int tw_auto_step(const struct tw_samples *s, double *step_ms, struct tw_err *err)
{
	int64_t *step;

	*step_ms = 0.0;
	if (s->time_ms == NULL || s->rows < 2)
		return 0;
	step = malloc(s->rows * sizeof(*step));
	if (step == NULL)
		return tw_fail(err, TW_NOMEM, "steps of %zu rows", s->rows);
	/* Differences wrap where foreign time stamps are far apart; such are no steps. */
	for (size_t r = 1; r < s->rows; r++)
		step[r - 1] =
			(int64_t)((uint64_t)s->time_ms[r] - (uint64_t)s->time_ms[r - 1]);
	qsort(step, s->rows - 1, sizeof(*step), compare_int64);
	*step_ms = fmax(0.0, (double)step[(s->rows - 1) / 2]);
	free(step);
	return 0;
}

int tw_auto_design_init(struct tw_auto_design *out, const struct tw_samples *s,
			const struct tw_auto_rows *rows, const struct tw_auto_columns *c,
			struct tw_err *err)
{
	const struct tw_rows in = rows_of(s);

	out->x = malloc((rows->count * c->count + 1) * sizeof(*out->x));
	out->y = malloc((rows->count + 1) * sizeof(*out->y));
	out->names = malloc((c->count + 1) * sizeof(*out->names));
	out->name = malloc((c->count + 1) * sizeof(*out->name));
	if (out->x == NULL || out->y == NULL || out->names == NULL || out->name == NULL)
		return tw_fail(err, TW_NOMEM, "%zu rows of %zu columns", rows->count,
			       c->count);
	for (size_t i = 0; i < rows->count; i++) {
		const size_t r = rows->at[i];
		const size_t history = rows->step_ms > 0.0
					       ? tw_derived_history(&in, r, rows->step_ms,
								    TW_DERIVED_BACK_MAX)
					       : 0;

		for (size_t k = 0; k < c->count; k++) {
			const double v = tw_derived_value(&c->at[k], &in, r, history);

			out->x[i * c->count + k] =
				fmin(fmax(v, -TW_SAMPLE_MAX), TW_SAMPLE_MAX);
		}
		out->y[i] = s->y[r];
	}
	for (size_t k = 0; k < c->count; k++) {
		tw_derived_name(&c->at[k], s->features, out->names[k]);
		out->name[k] = out->names[k];
	}
	out->samples = (struct tw_samples){ .rows = rows->count,
					    .cols = c->count,
					    .x = out->x,
					    .y = out->y,
					    .features = out->name,
					    .component = s->component,
					    .from_zero = s->from_zero,
					    .overlap = s->overlap };
	return 0;
}

void tw_auto_design_release(struct tw_auto_design *d)
{
	free(d->x);
	free(d->y);
	free(d->names);
	free(d->name);
	*d = (struct tw_auto_design){ 0 };
}
