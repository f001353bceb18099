/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_TRACK_H
#define TW_COLLECTOR_TRACK_H

/*
 * Energy of a zone between two readings. Differences of energy counters are computed here
 * only, and impossible readings are rejected here.
 *
 * No energy is lost in a gap, because readers of the exported counter take its growth for
 * the energy of the time between two scrapes. A counter has grown in the gap. Power in
 * the gap is the mean of the powers before and after it.
 */

#include "collector/meters/meter.h"

#include <stdbool.h>
#include <stdint.h>

/* State of one zone. All zero bytes: nothing was read yet. */
struct tw_track {
	bool based; /* there was a reading: before_uj and its times, or power_w, is valid
		     */
	bool moved; /* the counter has changed, at moved_ns */
	bool doubted; /* the last power was rejected; it was of doubted_sample */
	uint64_t doubted_sample;
	uint64_t before_uj;
	/* Between two ticks: the last value seen, its time, and the growth until then. */
	uint64_t watched_uj, watched_ns, ahead_uj;
	bool broken;        /* the counter was set to another value since */
	uint64_t booted_ns; /* time of the last reading, suspend included */
	/* The times below are of the zone's clock: clock_of(). */
	uint64_t awake_ns; /* time awake since the first reading */
	uint64_t read_ns, moved_ns;
	uint64_t since_ns; /* time of the first reading of before_uj */
	double power_w;    /* the last accepted power */
	uint64_t gap_ns;   /* time awake since the last span that was reported */
	double carry_uj;   /* fraction of an uJ left over from power */
	/* Since the start: */
	uint64_t wraps;   /* wrap-arounds at the range */
	uint64_t resets;  /* other resets: energy is lost */
	uint64_t refused; /* rejected readings */
};

/* Energy between two readings. */
struct tw_span {
	bool known; /* false: `why` is set, and of the rest only `lost` may be */
	bool lost;  /* the energy before this span will never be reported */
	bool gap;   /* the span begins before the last tick */
	uint64_t energy_uj;
	uint64_t over_ns; /* time since the last reading */
	/*
	 * Time in which the energy was used: since the counter changed before; 0: it has
	 * not changed now.
	 */
	uint64_t of_ns;
	const char *why;
};

/*
 * Take a reading of z made at now_ns, suspend included, tick_ns awake after the last tick
 * (0: the first tick).
 * The span's `why` may be r's.
 */
struct tw_span tw_track_take(struct tw_track *t, const struct tw_zone *z,
			     const struct tw_reading *r, uint64_t now_ns,
			     uint64_t tick_ns);

/*
 * Look at a counter between two ticks that are far apart, at now_ns: it may wrap around
 * more than once until the next one.
 */
void tw_track_watch(struct tw_track *t, const struct tw_zone *z,
		    const struct tw_reading *r, uint64_t now_ns);

/* ---- idle power ---- */

/*
 * The idle power of a zone, learned while the machine runs. Power is recorded by load;
 * the line through the medians at low and high load is extended to no load. The lowest
 * sample is not used, because it falls with the length of the wait.
 */

#define TW_IDLE_BINS 20
#define TW_IDLE_KEPT 32 /* newest samples of a bin */

/* All zero bytes: nothing learned. */
struct tw_idle {
	float power_w[TW_IDLE_BINS][TW_IDLE_KEPT];
	float load[TW_IDLE_BINS][TW_IDLE_KEPT];
	uint32_t seen[TW_IDLE_BINS];
	/* The current, incomplete sample. */
	double energy_uj, load_ns;
	uint64_t over_ns;
	double idle_w; /* the learned idle power; 0: unknown */
};

/*
 * Learn from energy_uj over over_ns at a load from 0 to 1. A sample lasts at least a
 * second and ends with energy, because a counter may update less often than it is read.
 */
void tw_idle_learn(struct tw_idle *i, uint64_t energy_uj, uint64_t over_ns, double load);

#endif /* TW_COLLECTOR_TRACK_H */
