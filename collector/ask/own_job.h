/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_OWN_JOB_H
#define TW_COLLECTOR_OWN_JOB_H

/* What the jobs of a user's own meter share: a unit, an interval, a single zone. */

#include "collector/ask/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;

struct tw_own_job {
	enum tw_unit unit;
	uint64_t interval_ms;
	uint64_t window_ms; /* the time that a power averages; 0: unknown */
};

/* Read "unit", "interval_ms" and "window_ms". */
int tw_own_job_read(const json_t *settings, struct tw_own_job *out, struct tw_err *err);

/* Send the zone's new value. False: the collector has closed its end. */
bool tw_own_job_send(const struct tw_own_job *j, int fd, const struct tw_value *v);

/* Send why the zone has no value now. False as above. */
bool tw_own_job_send_missing(int fd, const struct tw_err *why);

#endif /* TW_COLLECTOR_OWN_JOB_H */
