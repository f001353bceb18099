/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_POLLED_H
#define TW_COLLECTOR_METER_POLLED_H

/*
 * What meters share that tw-ask asks (collector/ask/ask.h): zones of power, told now and
 * then. The last answer holds until the next, or for so long; then the zone is gone.
 */

#include "collector/meters/meter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;

struct tw_polled_config {
	const char *job;
	json_t *settings;     /* taken over, even on failure */
	const char *path;     /* of the first zone, until it is known better */
	uint64_t hold_ms;     /* for so long an answer is one */
	unsigned patience_ms; /* how long opening waits for the first answer */
	bool needed; /* opened even if what is asked has not got it: it was asked for */
};

/* For a meter's open(). Its other functions are the ones below. */
int tw_polled_open(const struct tw_meter_config *c, const struct tw_polled_config *asked,
		   void **state, struct tw_err *err);

const struct tw_zone *tw_polled_zones(const void *state, size_t *count);
bool tw_polled_grown(void *state);
void tw_polled_read(void *state, struct tw_reading *out);
void tw_polled_close(void *state);

#endif /* TW_COLLECTOR_METER_POLLED_H */
