/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TRACK_H
#define TW_COLLECTOR_TRACK_H

/*
 * From what a zone shows to the energy between two readings: the one place where
 * differences of energy are made, and where what cannot be is refused.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one zone. All zero bytes: nothing read yet. */
struct tw_track {
	bool based;   /* before_uj was read at read_ns */
	bool moved;   /* the counter has, at moved_ns; else it may be none */
	bool doubted; /* the last power, of that sample */
	uint64_t doubted_sample;
	uint64_t before_uj, read_ns, moved_ns;
	uint64_t since_ns; /* when before_uj was first read */
	double power_w;    /* the last that was believed; 0: none */
	double carry_uj;   /* parts of an uJ that power has left over */
	/* Since the start. */
	uint64_t wraps;   /* counters that were 0 again as they should */
	uint64_t resets;  /* and as they should not: energy is lost */
	uint64_t refused; /* readings that cannot be */
};

/* Energy between two readings. */
struct tw_span {
	bool told; /* false: why not; the others are 0 */
	uint64_t energy_uj;
	uint64_t over_ns; /* since the last reading */
	/* What the energy is of: since the counter moved before; 0: it has not now. */
	uint64_t of_ns;
	const char *why;
};

/*
 * Take a reading of z made at now_ns, tick_ns after the last tick (0: there was none).
 * why of r lives as long as the span is used.
 */
struct tw_span tw_track_take(struct tw_track *t, const struct tw_zone *z,
			     const struct tw_reading *r, uint64_t now_ns,
			     uint64_t tick_ns);

#endif /* TW_COLLECTOR_TRACK_H */
