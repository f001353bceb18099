/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REQUEST_SYSTEM_H
#define TW_ESTIMATOR_REQUEST_SYSTEM_H

/*
 * What is the same in all rows of a request: "system_features", their names, and
 * "system_values". Those that are numbers are columns too, all are categories.
 */

#include "estimator/request_values.h"
#include "lib/core/strs.h"

struct tw_arena;
struct tw_err;
struct tw_jsax_event;
struct tw_request;

/* As they come. All zero bytes, but for the arena, is none. */
struct tw_request_system {
	struct tw_arena *arena; /* which the texts of names and texts are in */
	struct tw_strs names;
	struct tw_strs texts;
	struct tw_values values; /* one row */
};

/* An event of the value of "system_values". */
int tw_request_system_value(struct tw_request_system *s, const struct tw_jsax_event *e,
			    struct tw_err *err);

/*
 * Set r's system and categories, which point into s, and put the names of those that are
 * numbers behind its metrics: but for those that are there already.
 */
int tw_request_system_finish(struct tw_request_system *s, struct tw_request *r,
			     struct tw_err *err);

/* None again, with the memory that a usual request takes. */
void tw_request_system_reset(struct tw_request_system *s);
void tw_request_system_release(struct tw_request_system *s);

#endif /* TW_ESTIMATOR_REQUEST_SYSTEM_H */
