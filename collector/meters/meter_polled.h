/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_POLLED_H
#define TW_COLLECTOR_METER_POLLED_H

/*
 * The common part of meters behind tw-ask (lib/ask/ask.h): zones of power that are polled
 * or of energy that are polled now and then. The last value holds until the next one, or
 * for hold_ms; after that the zone is unreadable.
 */

#include "collector/meters/meter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct tw_err;

/* The zone of a management controller. */
#define TW_POLLED_PLATFORM                                                      \
	{                                                                       \
		.kind = TW_ZONE_PLATFORM, .reports_power = true, .package = -1, \
		.name = "platform"                                              \
	}

struct tw_polled_config {
	const char *job;
	json_t *settings; /* taken, even on failure */
	/* The first zone, until the helper names it; the kind and source of all. */
	const struct tw_zone *zone;
	uint64_t hold_ms;     /* how long a value stays valid */
	unsigned patience_ms; /* how long opening waits for the first value */
	bool needed; /* open the meter even if the service has no power reading: the user
			config for it */
};

/* For open() of a meter. The functions below are the rest of its operations. */
int tw_polled_open(const struct tw_meter_config *c, const struct tw_polled_config *config,
		   void **state, struct tw_err *err);

const struct tw_zone *tw_polled_zones(const void *state, size_t *count);
bool tw_polled_grown(void *state);
void tw_polled_read(void *state, struct tw_reading *out);
void tw_polled_close(void *state);

#endif /* TW_COLLECTOR_METER_POLLED_H */
