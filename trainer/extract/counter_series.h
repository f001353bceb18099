/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_COUNTER_SERIES_H
#define TW_TRAINER_COUNTER_SERIES_H

/*
 * Counters (and gauges) that are made of several series.
 *
 * A counter has a key, the texts of its identifying labels, and the number of the column
 * that it fills. Several series belong to one counter if another label changed in
 * between, as `command` does at exec.
 */

#include "lib/core/intern.h"
#include "trainer/response/prom_store.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

/* A series and the counter that it belongs to. */
struct tw_counter_series {
	const char *key; /* label texts joined by '/'; equal keys have equal addresses */
	size_t column;
	const struct tw_series *series; /* borrowed */
};

/* Series of many counters. All zero bytes is empty. */
struct tw_counter_set {
	struct tw_intern keys;
	struct tw_counter_series *at;
	size_t count, size;
	struct tw_arena memory; /* parts of series (trainer/extract/clean.h) */
	size_t merged;          /* series of which clean.h dropped all or a part */
};

/* Add a series; its key is made of the labels, a list that ends with NULL. */
int tw_counter_set_add(struct tw_counter_set *c, const char *const *labels, size_t column,
		       const struct tw_series *s, struct tw_err *err);

/* Sort by key, then column, then time of the first sample. */
void tw_counter_set_sort(struct tw_counter_set *c);

/* Index after the last series of the counter that starts at i. The set is sorted. */
size_t tw_counter_set_next(const struct tw_counter_set *c, size_t i);

/* Keep the samples of the series at i that are before a time; there may be none. */
int tw_counter_set_cut(struct tw_counter_set *c, size_t i, double from_ms,
		       struct tw_err *err);

/* Drop the series without samples. */
void tw_counter_set_drop_empty(struct tw_counter_set *c);

void tw_counter_set_release(struct tw_counter_set *c);

/* The sum of all samples of one time stamp. */
struct tw_merged_sample {
	int64_t time_ms;
	double value;
	uint32_t series, keys; /* number of series and of counters in the sum */
};

struct tw_merge_source;

/* Samples of several series, in order of time. All zero bytes is empty. */
struct tw_merged_series {
	struct tw_merged_sample *at;
	size_t count, size;
	struct tw_merge_source
		*source; /* a heap of series, by their next sample's time */
	size_t sources;
};

/*
 * Replace m by the samples of at[0..count). m's memory is reused. TW_INVALID if two
 * series of one counter with equal labels have a sample at the same time.
 */
int tw_merged_series_join(struct tw_merged_series *m, const struct tw_counter_series *at,
			  size_t count, struct tw_err *err);

void tw_merged_series_release(struct tw_merged_series *m);

/* Index of the first of the ascending times from `from` on that is not before t; times if
 * all are before. Fast where that is near `from`. */
size_t tw_times_find(const int64_t *time_ms, size_t times, size_t from, int64_t t);

/* ---- ticks ---- */

/*
 * The times at which an exporter was read: the union of the times of its series. A series
 * that begins later than the first tick was absent at the tick before, so that its
 * workload began between the two.
 */

/* All zero bytes is empty. */
struct tw_ticks {
	int64_t *ms; /* ascending, without repeats */
	size_t count, size;
	int64_t *more; /* not sorted in yet */
	size_t waiting, room;
};

/* Add times. tw_ticks_settle() must follow before ->ms is read. */
int tw_ticks_add(struct tw_ticks *t, const int64_t *ms, size_t count, struct tw_err *err);

/* Add the times of all samples of a series, or of the set's series. */
int tw_ticks_add_series(struct tw_ticks *t, const struct tw_series *s,
			struct tw_err *err);
int tw_ticks_add_set(struct tw_ticks *t, const struct tw_counter_set *c,
		     struct tw_err *err);

/* Sort the added times into ->ms. Fails without memory only. */
int tw_ticks_settle(struct tw_ticks *t, struct tw_err *err);

/* The tick before a time; the time itself if there is none. *from, a place in ->ms of an
 * earlier call with a time not later, is advanced; it starts at 0. */
int64_t tw_ticks_before(const struct tw_ticks *t, int64_t ms, size_t *from);

void tw_ticks_release(struct tw_ticks *t);

#endif /* TW_TRAINER_COUNTER_SERIES_H */
