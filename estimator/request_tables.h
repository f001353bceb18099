/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_TABLES_H
#define TW_ESTIMATOR_REQUEST_TABLES_H

/*
 * The tables of a request while its parser fills them, event by event: the rows of
 * "values", the system features, and the times and series of the rows. Functions that
 * return int fail with -1 and an error that names the key and the entry.
 */

#include "lib/core/strs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_arena;
struct tw_err;
struct tw_jsax_event;

#define TW_REQUEST_ROWS_MAX 100000
#define TW_REQUEST_METRICS_MAX 256
#define TW_REQUEST_VALUES_MAX ((size_t)1 << 21)
#define TW_REQUEST_TEXT_MAX 1024
/* Limits of a request that names series: names in a request, bytes of a name. */
#define TW_REQUEST_SERIES_MAX 10000
#define TW_REQUEST_SERIES_NAME_MAX 256

/* ---- errors of events ---- */

/* "NAME: expected WANT, got ..." */
int tw_request_fail_type(const char *name, const char *want,
			 const struct tw_jsax_event *e, struct tw_err *err);

/* The same of entry i of a list. */
int tw_request_fail_entry(const char *name, size_t i, const char *want,
			  const struct tw_jsax_event *e, struct tw_err *err);

/* The opening or closing bracket of a key's list, or null for an empty list. */
bool tw_request_is_list(const struct tw_jsax_event *e);

/* ---- "values" ---- */

/* Filled number by number. All rows are as long as the first. All zero bytes is an empty
 * table. */
struct tw_request_values {
	double *x; /* row major; NaN: missing */
	size_t count, size;
	size_t rows, cols;
	size_t in_row; /* values of the row being read */
};

int tw_request_values_add(struct tw_request_values *v, double value, struct tw_err *err);
int tw_request_values_end_row(struct tw_request_values *v, struct tw_err *err);

/* Empty the table; a large one gives its memory back. */
void tw_request_values_reset(struct tw_request_values *v);
void tw_request_values_release(struct tw_request_values *v);

/* ---- "system_features", the names, and "system_values" ---- */

/* They hold for all rows. A numeric system feature is a column too; all of them are
 * categories. */
struct tw_system_values {
	struct tw_arena *arena; /* owns the names and texts */
	struct tw_strs names;
	struct tw_strs texts;
	struct tw_request_values values; /* one row */
	size_t numeric;                  /* of them, moved to its begin by the finish */
};

/* Take an event of the value of "system_values". */
int tw_system_values_add(struct tw_system_values *s, const struct tw_jsax_event *e,
			 struct tw_err *err);

/* Append the names of numeric system features to metrics, except names that are there
 * already, and move their values to the begin of the row. */
int tw_system_values_finish(struct tw_system_values *s, struct tw_strs *metrics,
			    struct tw_err *err);
void tw_system_values_reset(struct tw_system_values *s);
void tw_system_values_release(struct tw_system_values *s);

/* ---- "time_ms" and "series" ---- */

struct tw_row_times {
	int64_t *time_ms;
	size_t count, size;
	struct tw_strs series;
	int64_t *spread_ms; /* one time_ms repeated for every row, or NULL */
};

/* Take an event of the value of "time_ms", or of "series". */
int tw_row_times_add(struct tw_row_times *t, const struct tw_jsax_event *e,
		     struct tw_err *err);
int tw_row_times_add_series(struct tw_row_times *t, const struct tw_jsax_event *e,
			    struct tw_err *err);

/* Check them against the number of rows. */
int tw_row_times_finish(struct tw_row_times *t, size_t rows, struct tw_err *err);

/* After that: the time of each row, or NULL if the request has no times. */
const int64_t *tw_row_times_ms(const struct tw_row_times *t);
void tw_row_times_release(struct tw_row_times *t);

#endif /* TW_ESTIMATOR_REQUEST_TABLES_H */
