/* SPDX-License-Identifier: Apache-2.0 */
#include "estimator/request_times.h"

#include "estimator/request.h"
#include "lib/core/err.h"
#include "lib/json/jsax.h"

#include <math.h>
#include <stdlib.h>

/* Whole numbers that a double holds. */
#define TIME_MAX 9007199254740991.0

static bool is_list(const struct tw_jsax_event *e)
{
	return e->depth == 1 &&
	       (e->type == TW_JSAX_ARRAY || e->type == TW_JSAX_ARRAY_END);
}

int tw_request_times_series(struct tw_request_times *t, const struct tw_jsax_event *e,
			    struct tw_err *err)
{
	if (is_list(e) || (e->depth == 1 && e->type == TW_JSAX_NULL))
		return 0;
	if (e->type != TW_JSAX_TEXT)
		return tw_fail(err, TW_PARSE, "series[%zu]: expected a string, got %s",
			       t->series.count, tw_jsax_type_name(e->type));
	if (e->len == 0 || e->len > TW_REQUEST_SERIES_NAME_MAX)
		return tw_fail(err, TW_INVALID, "series[%zu]: %zu bytes, want 1 to %d",
			       t->series.count, e->len, TW_REQUEST_SERIES_NAME_MAX);
	if (t->series.count == TW_REQUEST_SERIES_MAX)
		return tw_fail(err, TW_INVALID, "series: more than %d",
			       TW_REQUEST_SERIES_MAX);
	if (tw_strs_add(&t->series, e->text, e->len, err) < 0)
		return tw_err_wrap(err, "series[%zu]", t->series.count);
	return 0;
}

static int add_time(struct tw_request_times *t, int64_t time_ms, struct tw_err *err)
{
	const size_t size = t->size != 0 ? 2 * t->size : 16;
	int64_t *at;

	if (t->count == t->size) {
		at = realloc(t->time_ms, size * sizeof(*at));
		if (at == NULL)
			return tw_fail(err, TW_NOMEM, "time_ms: %zu times", size);
		t->time_ms = at;
		t->size = size;
	}
	t->time_ms[t->count++] = time_ms;
	return 0;
}

int tw_request_times_time(struct tw_request_times *t, const struct tw_jsax_event *e,
			  struct tw_err *err)
{
	if (is_list(e) || (e->depth == 1 && e->type == TW_JSAX_NULL))
		return 0;
	if (e->type != TW_JSAX_NUMBER)
		return tw_fail(err, TW_PARSE, "time_ms[%zu]: expected a number, got %s",
			       t->count, tw_jsax_type_name(e->type));
	if (!(e->number >= 0.0 && e->number <= TIME_MAX) || e->number != trunc(e->number))
		return tw_fail(err, TW_INVALID,
			       "time_ms[%zu]: %g is no whole number of milliseconds",
			       t->count, e->number);
	if (t->count == TW_REQUEST_ROWS_MAX)
		return tw_fail(err, TW_INVALID, "time_ms: more than %d",
			       TW_REQUEST_ROWS_MAX);
	return add_time(t, (int64_t)e->number, err);
}

/* One for each row, or one for all. */
static int check_count(const char *name, size_t count, size_t rows, struct tw_err *err)
{
	if (count == 1 || count == rows)
		return 0;
	return tw_fail(err, TW_INVALID, "%s: %zu for %zu rows", name, count, rows);
}

/* Rows of one series have one time each, in order. */
static int check_order(const struct tw_request_times *t, size_t rows, struct tw_err *err)
{
	if (t->count != rows)
		return tw_fail(err, TW_INVALID, "time_ms: %zu for %zu rows of a series",
			       t->count, rows);
	for (size_t i = 1; i < rows; i++)
		if (t->time_ms[i] <= t->time_ms[i - 1])
			return tw_fail(err, TW_INVALID,
				       "time_ms[%zu]: not after the one before", i);
	return 0;
}

static int spread_time(struct tw_request_times *t, size_t rows, struct tw_err *err)
{
	if (t->count == rows)
		return 0;
	t->of_row = malloc(rows * sizeof(*t->of_row));
	if (t->of_row == NULL)
		return tw_fail(err, TW_NOMEM, "time_ms: %zu times", rows);
	for (size_t i = 0; i < rows; i++)
		t->of_row[i] = t->time_ms[0];
	return 0;
}

int tw_request_times_finish(struct tw_request_times *t, struct tw_request *r,
			    struct tw_err *err)
{
	if (t->count == 0 && t->series.count == 0)
		return 0;
	if (t->count == 0)
		return tw_fail(err, TW_INVALID, "time_ms: missing, there are series");
	if (check_count("time_ms", t->count, r->rows, err) < 0)
		return -1;
	if (t->series.count > 0 &&
	    check_count("series", t->series.count, r->rows, err) < 0)
		return -1;
	if ((t->series.count <= 1 && check_order(t, r->rows, err) < 0) ||
	    spread_time(t, r->rows, err) < 0)
		return -1;
	r->time_ms = t->of_row != NULL ? t->of_row : t->time_ms;
	r->series = &t->series;
	return 0;
}

void tw_request_times_release(struct tw_request_times *t)
{
	free(t->time_ms);
	free(t->of_row);
	tw_strs_clear(&t->series);
	*t = (struct tw_request_times){ 0 };
}
