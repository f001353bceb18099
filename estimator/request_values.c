/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request_values.h"

#include "estimator/request.h"
#include "lib/core/err.h"
#include "lib/core/num.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Numbers for which there stays room. */
#define KEPT 512

static int reserve(struct tw_values *v, size_t count, struct tw_err *err)
{
	size_t size = v->size != 0 ? v->size * 2 : 32;
	double *x;

	if (count > TW_REQUEST_VALUES_MAX)
		return tw_fail(err, TW_INVALID, "values: more than %zu numbers",
			       TW_REQUEST_VALUES_MAX);
	if (count <= v->size)
		return 0;
	if (size < count)
		size = count;
	x = realloc(v->x, size * sizeof(*x));
	if (x == NULL)
		return tw_fail(err, TW_NOMEM, "values: %zu numbers", size);
	v->x = x;
	v->size = size;
	return 0;
}

int tw_values_add(struct tw_values *v, double value, struct tw_err *err)
{
	if (v->in_row == TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID, "values[%zu]: more than %d values",
			       v->rows, TW_REQUEST_METRICS_MAX);
	if (reserve(v, v->count + 1, err) < 0)
		return -1;
	v->x[v->count++] = value;
	v->in_row++;
	return 0;
}

int tw_values_add_missing(struct tw_values *v, struct tw_err *err)
{
	return tw_values_add(v, NAN, err);
}

int tw_values_add_text(struct tw_values *v, const char *text, size_t len,
		       struct tw_err *err)
{
	double value = NAN;

	tw_parse_double(text, len, &value);
	return tw_values_add(v, value, err);
}

int tw_values_end_row(struct tw_values *v, struct tw_err *err)
{
	if (v->rows == 0)
		v->cols = v->in_row;
	if (v->in_row != v->cols)
		return tw_fail(err, TW_INVALID,
			       "values[%zu]: %zu values, values[0] has %zu", v->rows,
			       v->in_row, v->cols);
	if (v->rows == TW_REQUEST_ROWS_MAX)
		return tw_fail(err, TW_INVALID, "values: more than %d rows",
			       TW_REQUEST_ROWS_MAX);
	v->rows++;
	v->in_row = 0;
	return 0;
}

bool tw_values_is_missing(double value)
{
	return isnan(value);
}

void tw_values_reset(struct tw_values *v)
{
	if (v->size > KEPT)
		tw_values_release(v);
	*v = (struct tw_values){ .x = v->x, .size = v->size };
}

void tw_values_release(struct tw_values *v)
{
	free(v->x);
	*v = (struct tw_values){ 0 };
}
