/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/extract/series_draft.h"

#include "lib/core/num.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Seconds since the epoch that still are a date: the year 5138. */
#define TIME_MAX_S 1e11

/* Far above any counter, and far from where sums and squares overflow. */
#define VALUE_MAX 1e30

void tw_series_draft_begin(struct tw_series_draft *d)
{
	d->labels = 0;
	d->samples = 0;
}

const char *tw_series_draft_check_label(const struct tw_series_draft *d, const char *name)
{
	for (size_t i = 0; i < d->labels; i++)
		if (d->label[i].name == name)
			return "each label once";
	return d->labels < TW_SERIES_LABELS_MAX ? NULL : "fewer labels";
}

void tw_series_draft_add_label(struct tw_series_draft *d, const char *name,
			       const char *value)
{
	d->label[d->labels++] = (struct tw_label){ name, value };
}

static double to_ms(double time_s)
{
	return (double)(int64_t)(time_s * 1e3 + 0.5);
}

const char *tw_series_draft_check_time(const struct tw_series_draft *d, double time_s)
{
	if (!(time_s >= 0 && time_s <= TIME_MAX_S))
		return "not a time";
	if (d->samples == 0)
		return NULL;
	if (to_ms(time_s) == d->time_ms[d->samples - 1])
		return "repeats the time before it";
	if (to_ms(time_s) < d->time_ms[d->samples - 1])
		return "out of order: before the sample before it";
	return NULL;
}

static int grow(struct tw_series_draft *d, struct tw_err *err)
{
	const size_t size = d->size != 0 ? d->size * 2 : 256;
	double *time_ms, *value;

	if (d->size >= TW_PACKED_COUNT_MAX / 2)
		return tw_fail(err, TW_INVALID, "a series of more than %zu samples",
			       d->size);
	time_ms = realloc(d->time_ms, size * sizeof(*time_ms));
	if (time_ms == NULL)
		return tw_fail(err, TW_NOMEM, "series of %zu samples", size);
	d->time_ms = time_ms;
	value = realloc(d->value, size * sizeof(*value));
	if (value == NULL)
		return tw_fail(err, TW_NOMEM, "series of %zu samples", size);
	d->value = value;
	d->size = size;
	return 0;
}

int tw_series_draft_add_time(struct tw_series_draft *d, double time_s, struct tw_err *err)
{
	if (d->samples == d->size && grow(d, err) < 0)
		return -1;
	d->time_ms[d->samples] = to_ms(time_s);
	return 0;
}

static const char *check_value(double v)
{
	if (isnan(v))
		return "value is NaN";
	if (isinf(v))
		return "value is infinite";
	if (v < 0)
		return "value is negative";
	return v <= VALUE_MAX ? NULL : "value is too large for a counter";
}

const char *tw_series_draft_add_value(struct tw_series_draft *d, const char *text,
				      size_t len, enum tw_code *code)
{
	const char *fault;
	double v;

	if (!tw_parse_sample(text, len, &v)) {
		*code = TW_PARSE;
		return "value is not a number";
	}
	fault = check_value(v);
	if (fault != NULL) {
		*code = TW_INVALID;
		return fault;
	}
	d->value[d->samples++] = v;
	return NULL;
}

void tw_series_draft_release(struct tw_series_draft *d)
{
	free(d->time_ms);
	free(d->value);
	*d = (struct tw_series_draft){ 0 };
}
