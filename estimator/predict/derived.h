/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_DERIVED_H
#define TW_ESTIMATOR_DERIVED_H

/*
 * Columns derived from features: the value of a row, the value of an earlier row, the
 * mean of a window of rows, or the ratio of two such means.
 *
 * Earlier rows are used only in a series: rows with time stamps, where each row is half a
 * step to two steps after the row before it. If a window begins before the series, the
 * oldest row of the series replaces the missing rows.
 */

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_rows;

#define TW_DERIVED_MAX 256
#define TW_DERIVED_BACK_MAX 255
#define TW_DERIVED_NAME 288
#define TW_DERIVED_NONE UINT32_MAX

struct tw_derived {
	uint32_t feature;
	uint32_t from,
		to;   /* rows back: 0, 0 is the row itself; 0, 2 is the mean of three */
	uint32_t per; /* the divisor, a feature, or TW_DERIVED_NONE */
};

/*
 * The name of a column: "cpu_cycles", "cpu_cycles@1" (one row earlier), "cpu_cycles@0-2"
 * (the mean of three), "cache_miss/cpu_instructions".
 */
void tw_derived_name(const struct tw_derived *d, const char *const *features,
		     char out[TW_DERIVED_NAME]);

/*
 * Read obj[key]: a list of up to TW_DERIVED_MAX columns [feature, from, to] or
 * [feature, from, to, per], each at most `back` rows back. *count is their number.
 */
int tw_derived_read(const json_t *obj, const char *where, const char *key,
		    size_t features, uint32_t back, struct tw_derived out[TW_DERIVED_MAX],
		    size_t *count, struct tw_err *err);

/* The number of earlier rows in the series of row r, at most `most`. */
size_t tw_derived_history(const struct tw_rows *in, size_t r, double step_ms,
			  size_t most);

/* The value of a column; always finite. Absent and NaN features and ratios to 0 are 0. */
double tw_derived_value(const struct tw_derived *d, const struct tw_rows *in, size_t r,
			size_t history);

#endif /* TW_ESTIMATOR_DERIVED_H */
