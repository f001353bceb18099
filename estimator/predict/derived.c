/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/predict/derived.h"

#include "estimator/predict/predictor.h"
#include "lib/core/err.h"
#include "lib/json/json.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

void tw_derived_name(const struct tw_derived *d, const char *const *features,
		     char out[TW_DERIVED_NAME])
{
	size_t at = (size_t)snprintf(out, TW_DERIVED_NAME, "%s", features[d->feature]);

	if (d->per != TW_DERIVED_NONE)
		at += (size_t)snprintf(out + at, TW_DERIVED_NAME - at, "/%s",
				       features[d->per]);
	if (d->from != d->to)
		snprintf(out + at, TW_DERIVED_NAME - at, "@%u-%u", d->from, d->to);
	else if (d->from > 0)
		snprintf(out + at, TW_DERIVED_NAME - at, "@%u", d->from);
}

/* Read list[i], an integer from 0 to max. */
static int read_place(const json_t *list, size_t i, const char *where, json_int_t max,
		      uint32_t *out, struct tw_err *err)
{
	const json_t *v = json_array_get(list, i);

	if (!json_is_integer(v) || json_integer_value(v) < 0 ||
	    json_integer_value(v) > max)
		return tw_fail(err, TW_INVALID,
			       "%s[%zu]: expected a whole number from 0 to %lld", where,
			       i, (long long)max);
	*out = (uint32_t)json_integer_value(v);
	return 0;
}

static int read_column(const json_t *v, const char *where, size_t features, uint32_t back,
		       struct tw_derived *out, struct tw_err *err)
{
	const json_int_t last = (json_int_t)features - 1;
	struct tw_derived d = { .per = TW_DERIVED_NONE };

	if (json_array_size(v) != 3 && json_array_size(v) != 4)
		return tw_fail(err, TW_PARSE, "%s: expected a list of 3 or 4 numbers",
			       where);
	if (read_place(v, 0, where, last, &d.feature, err) < 0 ||
	    read_place(v, 1, where, back, &d.from, err) < 0 ||
	    read_place(v, 2, where, back, &d.to, err) < 0)
		return -1;
	if (json_array_size(v) == 4 && read_place(v, 3, where, last, &d.per, err) < 0)
		return -1;
	if (d.from > d.to)
		return tw_fail(err, TW_INVALID, "%s: from %u to %u rows back", where,
			       d.from, d.to);
	*out = d;
	return 0;
}

int tw_derived_read(const json_t *obj, const char *where, const char *key,
		    size_t features, uint32_t back, struct tw_derived out[TW_DERIVED_MAX],
		    size_t *count, struct tw_err *err)
{
	const json_t *list;
	char place[128];

	if (tw_json_array(obj, where, key, false, &list, err) < 0)
		return -1;
	if (json_array_size(list) > TW_DERIVED_MAX)
		return tw_fail(err, TW_INVALID, "%s.%s: %zu columns, limit is %d", where,
			       key, json_array_size(list), TW_DERIVED_MAX);
	for (size_t i = 0; i < json_array_size(list); i++) {
		snprintf(place, sizeof(place), "%.64s.%s[%zu]", where, key, i);
		if (read_column(json_array_get(list, i), place, features, back, &out[i],
				err) < 0)
			return -1;
	}
	*count = json_array_size(list);
	return 0;
}

size_t tw_derived_history(const struct tw_rows *in, size_t r, double step_ms, size_t most)
{
	size_t n = 0;

	if (in->time_ms == NULL)
		return 0;
	while (n < most && n < r + in->before) {
		const int64_t *at = in->time_ms + r - n;
		const double gap = (double)at[0] - (double)at[-1];

		if (!(gap >= 0.5 * step_ms && gap <= 2.0 * step_ms))
			break;
		n++;
	}
	return n;
}

/* The mean of a feature over rows r - to .. r - from. */
static double window_mean(const struct tw_rows *in, size_t r, uint32_t feature,
			  size_t from, size_t to)
{
	const uint32_t column = tw_rows_column(in, feature);
	const double n = (double)(to - from + 1);
	double sum = 0.0;

	if (column == UINT32_MAX)
		return 0.0;
	for (size_t back = from; back <= to; back++) {
		const ptrdiff_t row = (ptrdiff_t)r - (ptrdiff_t)back;
		const double v = in->x[row * (ptrdiff_t)in->stride + column];

		if (isfinite(v))
			sum += v / n;
	}
	return sum;
}

double tw_derived_value(const struct tw_derived *d, const struct tw_rows *in, size_t r,
			size_t history)
{
	const size_t from = d->from < history ? d->from : history;
	const size_t to = d->to < history ? d->to : history;
	const double v = window_mean(in, r, d->feature, from, to);
	double per;

	if (d->per == TW_DERIVED_NONE)
		return v;
	per = window_mean(in, r, d->per, from, to);
	return per == 0.0 ? 0.0 : fmin(fmax(v / per, -DBL_MAX), DBL_MAX);
}
