/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_COUNTERS_H
#define TW_TRAINER_COUNTERS_H

/*
 * Counters behind series. A counter has a key (the labels that say whose it is) and a
 * number for what it counts; several series belong to one counter where another label
 * changed on the way, as `command` does at exec. A part of trainer/extract.
 */

#include "lib/core/intern.h"
#include "trainer/extract/prom.h"

#include <stddef.h>
#include <stdint.h>

struct tw_counter_series {
	const char *key; /* label texts joined by '/'; equal keys have equal addresses */
	size_t what;
	const struct tw_series *series;
};

/* All zero bytes is empty. */
struct tw_counters {
	struct tw_intern keys;
	struct tw_counter_series *at;
	size_t count, size;
};

/* labels is ended by NULL. The series is borrowed. */
int tw_counters_add(struct tw_counters *c, const char *const *labels, size_t what,
		    const struct tw_series *s, struct tw_err *err);

/* In order of key, then of what, then of their first samples' times. */
void tw_counters_sort(struct tw_counters *c);

/* Behind the last series of the counter that begins at i. */
size_t tw_counters_next(const struct tw_counters *c, size_t i);

void tw_counters_release(struct tw_counters *c);

/*
 * Samples of several series in order of time; those of one time are added up.
 */
struct tw_track_sample {
	int64_t time_ms;
	double value;
	uint32_t parts, keys; /* series and counters that it is the sum of */
};

struct tw_merge_source;

/* All zero bytes is empty. Memory is kept for the next. */
struct tw_track {
	struct tw_track_sample *at;
	size_t count, size;
	struct tw_merge_source *source; /* series on the way */
	size_t sources;
};

/*
 * Join at[0..count). Two series of one counter that nothing tells apart must not have
 * samples of the same time: TW_INVALID.
 */
int tw_track_join(struct tw_track *t, const struct tw_counter_series *at, size_t count,
		  struct tw_err *err);

void tw_track_release(struct tw_track *t);

#endif /* TW_TRAINER_COUNTERS_H */
