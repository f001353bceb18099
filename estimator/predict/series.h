/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SERIES_H
#define TW_ESTIMATOR_SERIES_H

/*
 * The last rows of a series, for models that look back: as many as such a model looks at,
 * and the newest.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_rows;

/* All zero bytes is empty, and without room. */
struct tw_recent_rows {
	size_t cols;
	size_t room, rows; /* oldest first */
	double *x;         /* row major */
	int64_t *time_ms;
};

/* Room for `back` rows and the newest. After a failure s is as it was. */
int tw_recent_rows_reserve(struct tw_recent_rows *s, size_t cols, size_t back,
			   struct tw_err *err);

/*
 * The newest row. One of the same time takes the place of the last; one from before it
 * begins the series anew: a clock was set back.
 */
void tw_recent_rows_add(struct tw_recent_rows *s, int64_t time_ms, const double *row);

/* The newest row with those before it, in out but for place and categories. */
void tw_recent_rows_newest(const struct tw_recent_rows *s, struct tw_rows *out);

void tw_recent_rows_release(struct tw_recent_rows *s);

#endif /* TW_ESTIMATOR_SERIES_H */
