/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_OWN_JOB_H
#define TW_COLLECTOR_OWN_JOB_H

/* The common part of jobs for a user's own meter: a unit, an interval, a single zone. */

#include "collector/ask/ask_job.h"
#include "collector/ask/value.h"

#include <stdbool.h>
#include <stdint.h>

/* The state of such a job begins with it, as `own`. */
struct tw_own_job {
	struct tw_ask_state state;
	enum tw_unit unit;
	uint64_t window_ms; /* the time that a power averages; 0: unknown */
};

/* Rows of tw_ask_job.settings. */
#define TW_OWN_JOB_FIELDS(type)                                               \
	{ "unit", TW_FIELD_UINT, TW_FIELD_AT(type, own.unit),                 \
	  .max = TW_UNIT_COUNT - 1 },                                         \
		{ "interval_ms", TW_FIELD_UINT,                               \
		  TW_FIELD_AT(type, own.state.interval_ms), .min = 1,         \
		  .max = INT32_MAX },                                         \
	{                                                                     \
		"window_ms", TW_FIELD_UINT, TW_FIELD_AT(type, own.window_ms), \
			.max = INT32_MAX                                      \
	}

/* Send the zone's new value. False: the collector has closed its end. */
bool tw_own_job_send(const struct tw_own_job *j, const struct tw_value *v);

/* Send why the zone has no value now. False as above. */
bool tw_own_job_send_missing(const struct tw_own_job *j, const struct tw_err *why);

/* The same, as tw_ask_job.report. */
void tw_own_job_report(void *state, const struct tw_err *why);

#endif /* TW_COLLECTOR_OWN_JOB_H */
