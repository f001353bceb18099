/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_DERIVED_H
#define TW_ESTIMATOR_DERIVED_H

/*
 * Columns derived from features: a value, one some rows back, the mean of a window of
 * rows, or the ratio of two features over such a window.
 *
 * Rows before a row count only in a series: rows with time stamps, each about a step
 * (half of it to twice) after the one before it. Where a window reaches beyond the start
 * of the series, its oldest row stands for what is missing.
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
	uint32_t from, to; /* rows back: 0, 0 is the row itself; 0, 2 the mean of three */
	uint32_t per;      /* the feature that it is divided by, or TW_DERIVED_NONE */
};

/*
 * "cpu_cycles", "cpu_cycles@1" (the row before), "cpu_cycles@0-2" (the mean of three),
 * "cache_miss/cpu_instructions".
 */
void tw_derived_name(const struct tw_derived *d, const char *const *features,
		     char out[TW_DERIVED_NAME]);

/*
 * obj[key]: a list of [feature, from, to] or [feature, from, to, per]. At most
 * TW_DERIVED_MAX, each at most `back` rows back. Returns their number in *count.
 */
int tw_derived_read(const json_t *obj, const char *where, const char *key,
		    size_t features, uint32_t back, struct tw_derived out[TW_DERIVED_MAX],
		    size_t *count, struct tw_err *err);

/* How many rows before row r are of its series: at most `most`. */
size_t tw_derived_history(const struct tw_rows *in, size_t r, double step_ms,
			  size_t most);

/* Finite. A feature that is absent or no number counts 0, and so does a ratio to 0. */
double tw_derived_value(const struct tw_derived *d, const struct tw_rows *in, size_t r,
			size_t history);

#endif /* TW_ESTIMATOR_DERIVED_H */
