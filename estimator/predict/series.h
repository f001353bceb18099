/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_SERIES_H
#define TW_ESTIMATOR_SERIES_H

/*
 * The last rows of a series, for models that look back: the newest row, and as many
 * earlier rows as the model uses.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_rows;

/* All zero bytes is an empty series without room. */
struct tw_recent_rows {
	size_t cols;
	size_t room, rows; /* oldest first */
	double *x;         /* row major */
	int64_t *time_ms;
};

/* Make room for `back` rows and the newest. A failure leaves s unchanged. */
int tw_recent_rows_reserve(struct tw_recent_rows *s, size_t cols, size_t back,
			   struct tw_err *err);

/*
 * Add the newest row. A row of the same time replaces the last one. A row of an earlier
 * time restarts the series: the clock was set back.
 */
void tw_recent_rows_add(struct tw_recent_rows *s, int64_t time_ms, const double *row);

/* Set all of out except place and categories: the newest row and those before it. */
void tw_recent_rows_newest(const struct tw_recent_rows *s, struct tw_rows *out);

void tw_recent_rows_release(struct tw_recent_rows *s);

#endif /* TW_ESTIMATOR_SERIES_H */
