/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_TIMES_H
#define TW_ESTIMATOR_REQUEST_TIMES_H

/*
 * When the rows of a request are of, and in which series, for models that look back:
 *
 *	"time_ms": T or [T, ..], "series": "name" or ["name", ..]
 *
 * one for all rows or one for each (docs/tw-estimator.md, "Series").
 */

#include "lib/core/strs.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_jsax_event;
struct tw_request;

/* As they come. All zero bytes is none. */
struct tw_request_times {
	int64_t *time_ms;
	size_t count, size;
	struct tw_strs series;
	int64_t *of_row; /* where one time is that of several rows */
};

/* An event of the value of "series", or of "time_ms". */
int tw_request_times_series(struct tw_request_times *t, const struct tw_jsax_event *e,
			    struct tw_err *err);
int tw_request_times_time(struct tw_request_times *t, const struct tw_jsax_event *e,
			  struct tw_err *err);

/* Set r's time_ms and series from what has come; they point into t. r has its rows. */
int tw_request_times_finish(struct tw_request_times *t, struct tw_request *r,
			    struct tw_err *err);

void tw_request_times_release(struct tw_request_times *t);

#endif /* TW_ESTIMATOR_REQUEST_TIMES_H */
