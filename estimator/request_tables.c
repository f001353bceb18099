/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request_tables.h"

#include "lib/core/array.h"
#include "lib/core/err.h"
#include "lib/core/num.h"
#include "lib/json/jsax.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A reset keeps the memory of a table up to this many numbers. */
#define VALUES_RETAINED 512

/* The largest integer up to which a double holds every integer: 2^53 - 1. */
#define TIME_MAX_MS 9007199254740991.0

/* ---- errors ---- */

int tw_request_fail_type(const char *name, const char *want,
			 const struct tw_jsax_event *e, struct tw_err *err)
{
	return tw_fail(err, TW_PARSE, "%s: expected %s, got %s", name, want,
		       tw_jsax_type_name(e->type));
}

/* Cold: hardly any request fails. */
__attribute__((cold)) int tw_request_fail_entry(const char *name, size_t i,
						const char *want,
						const struct tw_jsax_event *e,
						struct tw_err *err)
{
	char at[64];

	snprintf(at, sizeof(at), "%s[%zu]", name, i);
	return tw_request_fail_type(at, want, e, err);
}

bool tw_request_is_list(const struct tw_jsax_event *e)
{
	return e->depth == 1 && (e->type == TW_JSAX_ARRAY ||
				 e->type == TW_JSAX_ARRAY_END || e->type == TW_JSAX_NULL);
}

/* ---- values ---- */

static int values_reserve(struct tw_request_values *v, size_t count, struct tw_err *err)
{
	size_t size = v->size != 0 ? v->size * 2 : 32;

	if (count > TW_REQUEST_VALUES_MAX)
		return tw_fail(err, TW_INVALID, "values: more than %zu numbers",
			       TW_REQUEST_VALUES_MAX);
	if (count <= v->size)
		return 0;
	if (size < count)
		size = count;
	if (!tw_resize(&v->x, size, sizeof(*v->x)))
		return tw_fail(err, TW_NOMEM, "values: %zu numbers", size);
	v->size = size;
	return 0;
}

int tw_request_values_add(struct tw_request_values *v, double value, struct tw_err *err)
{
	if (v->in_row == TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID, "values[%zu]: more than %d values",
			       v->rows, TW_REQUEST_METRICS_MAX);
	if (values_reserve(v, v->count + 1, err) < 0)
		return -1;
	v->x[v->count++] = value;
	v->in_row++;
	return 0;
}

/* Add the number that the text holds; a text that is not a number is missing. */
static int add_text(struct tw_request_values *v, const char *text, size_t len,
		    struct tw_err *err)
{
	double value = NAN;

	tw_parse_double(text, len, &value);
	return tw_request_values_add(v, value, err);
}

int tw_request_values_end_row(struct tw_request_values *v, struct tw_err *err)
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

void tw_request_values_release(struct tw_request_values *v)
{
	free(v->x);
	*v = (struct tw_request_values){ 0 };
}

void tw_request_values_reset(struct tw_request_values *v)
{
	if (v->size > VALUES_RETAINED)
		tw_request_values_release(v);
	*v = (struct tw_request_values){ .x = v->x, .size = v->size };
}

/* ---- system features ---- */

static int system_add_text(struct tw_system_values *s, const struct tw_jsax_event *e,
			   struct tw_err *err)
{
	char number[TW_DOUBLE_TEXT];

	if (e->type == TW_JSAX_NUMBER)
		return tw_strs_add_in(&s->texts, s->arena, number,
				      tw_format_double(number, e->number), err);
	if (e->type == TW_JSAX_TEXT && e->len <= TW_REQUEST_TEXT_MAX &&
	    memchr(e->text, '\0', e->len) == NULL)
		return tw_strs_add_in(&s->texts, s->arena, e->text, e->len, err);
	return tw_strs_add_in(&s->texts, s->arena, "", 0, err);
}

int tw_system_values_add(struct tw_system_values *s, const struct tw_jsax_event *e,
			 struct tw_err *err)
{
	struct tw_request_values *v = &s->values;

	if (tw_request_is_list(e))
		return 0;
	if (e->depth == 1)
		return tw_request_fail_type("system_values", "an array", e, err);
	if (v->in_row == TW_REQUEST_METRICS_MAX)
		return tw_fail(err, TW_INVALID, "system_values: more than %d",
			       TW_REQUEST_METRICS_MAX);
	if (system_add_text(s, e, err) < 0)
		return -1;
	if (e->type == TW_JSAX_NUMBER)
		return tw_request_values_add(v, e->number, err);
	if (e->type == TW_JSAX_TEXT)
		return add_text(v, e->text, e->len, err);
	if (e->type == TW_JSAX_NULL)
		return tw_request_values_add(v, NAN, err);
	return tw_request_fail_entry("system_values", v->in_row, "a number or a string",
				     e, err);
}

int tw_system_values_finish(struct tw_system_values *s, struct tw_strs *metrics,
			    struct tw_err *err)
{
	double *x = s->values.x;

	if (s->names.count != s->values.in_row)
		return tw_fail(err, TW_INVALID,
			       "system_values: %zu for %zu system_features",
			       s->values.in_row, s->names.count);
	s->numeric = 0;
	for (size_t i = 0; i < s->names.count; i++) {
		if (isnan(x[i]) || tw_strs_has(metrics, s->names.at[i]))
			continue;
		if (metrics->count == TW_REQUEST_METRICS_MAX)
			return tw_fail(err, TW_INVALID, "metrics: more than %d",
				       TW_REQUEST_METRICS_MAX);
		if (tw_strs_add_in(metrics, s->arena, s->names.at[i],
				   strlen(s->names.at[i]), err) < 0)
			return -1;
		x[s->numeric++] = x[i];
	}
	return 0;
}

void tw_system_values_reset(struct tw_system_values *s)
{
	s->names.count = 0;
	s->texts.count = 0;
	tw_request_values_reset(&s->values);
}

void tw_system_values_release(struct tw_system_values *s)
{
	tw_strs_drop(&s->names);
	tw_strs_drop(&s->texts);
	tw_request_values_release(&s->values);
}

/* ---- times and series ---- */

int tw_row_times_add_series(struct tw_row_times *t, const struct tw_jsax_event *e,
			    struct tw_err *err)
{
	if (tw_request_is_list(e))
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return tw_request_fail_entry("series", t->series.count, "a string", e,
					     err);
	if (e->len == 0 || e->len > TW_REQUEST_SERIES_NAME_MAX)
		return tw_fail(err, TW_INVALID,
			       "series[%zu]: %zu bytes, expected 1 to %d",
			       t->series.count, e->len, TW_REQUEST_SERIES_NAME_MAX);
	if (t->series.count == TW_REQUEST_SERIES_MAX)
		return tw_fail(err, TW_INVALID, "series: more than %d",
			       TW_REQUEST_SERIES_MAX);
	if (tw_strs_add(&t->series, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "series[%zu]", t->series.count);
	return 0;
}

static int times_append(struct tw_row_times *t, int64_t time_ms, struct tw_err *err)
{
	if (!tw_grow(&t->time_ms, &t->size, t->count, sizeof(*t->time_ms)))
		return tw_fail(err, TW_NOMEM, "time_ms: %zu times", t->count);
	t->time_ms[t->count++] = time_ms;
	return 0;
}

int tw_row_times_add(struct tw_row_times *t, const struct tw_jsax_event *e,
		     struct tw_err *err)
{
	if (tw_request_is_list(e))
		return 0;
	if (e->type != TW_JSAX_NUMBER)
		return tw_request_fail_entry("time_ms", t->count, "a number", e, err);
	if (!(e->number >= 0.0 && e->number <= TIME_MAX_MS) ||
	    e->number != trunc(e->number))
		return tw_fail(err, TW_INVALID,
			       "time_ms[%zu]: %g is not an integer number of ms",
			       t->count, e->number);
	if (t->count == TW_REQUEST_ROWS_MAX)
		return tw_fail(err, TW_INVALID, "time_ms: more than %d",
			       TW_REQUEST_ROWS_MAX);
	return times_append(t, (int64_t)e->number, err);
}

/* A list has one entry for all rows, or one for each row. */
static int check_count(const char *name, size_t count, size_t rows, struct tw_err *err)
{
	if (count == 1 || count == rows)
		return 0;
	return tw_fail(err, TW_INVALID, "%s: %zu for %zu rows", name, count, rows);
}

/* The rows of one series have one time each, rising. */
static int check_order(const struct tw_row_times *t, size_t rows, struct tw_err *err)
{
	if (t->count != rows)
		return tw_fail(err, TW_INVALID, "time_ms: %zu for %zu rows of a series",
			       t->count, rows);
	for (size_t i = 1; i < rows; i++)
		if (t->time_ms[i] <= t->time_ms[i - 1])
			return tw_fail(err, TW_INVALID,
				       "time_ms[%zu]: not after the time before it", i);
	return 0;
}

/* Repeat a single time for every row. */
static int spread_time(struct tw_row_times *t, size_t rows, struct tw_err *err)
{
	if (t->count == rows)
		return 0;
	t->spread_ms = malloc(rows * sizeof(*t->spread_ms));
	if (t->spread_ms == NULL)
		return tw_fail(err, TW_NOMEM, "time_ms: %zu times", rows);
	for (size_t i = 0; i < rows; i++)
		t->spread_ms[i] = t->time_ms[0];
	return 0;
}

int tw_row_times_finish(struct tw_row_times *t, size_t rows, struct tw_err *err)
{
	if (t->count == 0 && t->series.count == 0)
		return 0;
	if (t->count == 0)
		return tw_fail(err, TW_INVALID, "time_ms: missing, but series is given");
	if (check_count("time_ms", t->count, rows, err) < 0)
		return -1;
	if (t->series.count > 0 && check_count("series", t->series.count, rows, err) < 0)
		return -1;
	if ((t->series.count <= 1 && check_order(t, rows, err) < 0) ||
	    spread_time(t, rows, err) < 0)
		return -1;
	return 0;
}

const int64_t *tw_row_times_ms(const struct tw_row_times *t)
{
	if (t->count == 0)
		return NULL;
	return t->spread_ms != NULL ? t->spread_ms : t->time_ms;
}

void tw_row_times_release(struct tw_row_times *t)
{
	free(t->time_ms);
	free(t->spread_ms);
	tw_strs_clear(&t->series);
	*t = (struct tw_row_times){ 0 };
}
