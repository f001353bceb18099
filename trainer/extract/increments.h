/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_INCREMENTS_H
#define TW_TRAINER_INCREMENTS_H

/*
 * Increments of a counter that is made of several series, without loss:
 *
 * - A series that begins after the first tick counts from 0: its workload began since the
 *   tick before. A series of one sample counts, too. A value that is too high for that
 *   shows that the workload was there before: it counts from its first sample. Where its
 *   start is known (starts.h), that decides, and its work is of the time since then.
 * - A series that begins where another of the counter has ended continues it (a label
 *   changed, as `command` does at exec), if its value is not lower.
 * - Where a counter dips (tw_counter_dips()), it stood still.
 * - Where a counter falls further, it is that of another workload, such as a process with
 * the same pid, and counts from 0; or the exporter was restarted. After a restart, half
 * of the exporter's counters of a metric, or more, fall at the same time. The rate before
 *   the restart continues then.
 * - An increase between two samples is spread evenly over the time between them.
 */

#include "trainer/extract/counter_series.h"

#include <stdbool.h>

struct tw_err;
struct tw_starts;

/* A restart of the exporter, as the counters of one column show it. */
struct tw_restart {
	size_t column;
	int64_t from_ms, ms; /* the last tick before it, and the first one after it */
	size_t fell;
	const struct tw_series *series; /* falls within itself; NULL: none does */
};

/* In order of column, then of time. All zero bytes is empty. */
struct tw_restarts {
	struct tw_restart *at;
	size_t count;
};

/* Find the restarts that the counters of a set show; the set is sorted. */
int tw_restarts_find(const struct tw_counter_set *c, const struct tw_ticks *ticks,
		     struct tw_restarts *out, struct tw_err *err);
void tw_restarts_release(struct tw_restarts *r);

/* Times at which workloads appeared that had run before. All zero bytes is empty. */
#define TW_HIDDEN_MAX 8
struct tw_hidden {
	int64_t ms[TW_HIDDEN_MAX];
	size_t count;
};

/* How the increments of one column are read. Borrowed. */
struct tw_increment_rules {
	const struct tw_ticks *ticks;
	const struct tw_restarts *restarts;
	/* Workloads begin and end: a series may begin after the first tick, and a counter
	 * that falls alone is another workload's. Else its rate continues. */
	bool births;
	int64_t first_ms; /* the first tick of features */
	/* A larger increase in a ms is impossible for one that began since the last tick:
	 * the workload was there before, and the exporter did not show it. INFINITY: not
	 * known. */
	double most_per_ms;
	const struct tw_starts *starts; /* or NULL */
	/*
	 * The workload's, shared by its counters: if one appeared late, the others do not
	 * count from 0 either. Or NULL.
	 */
	struct tw_hidden *hidden;
};

/* An increase within (from_ms, to_ms]; 0 where a workload only was there. */
struct tw_increment {
	int64_t from_ms, to_ms;
	double amount;
	bool born; /* counted from 0 */
};

/* The series that the rules decided about. */
struct tw_increment_counts {
	size_t births;              /* series that began within the recording */
	size_t singles;             /* of these, series of one sample */
	size_t reused;              /* counters that fell without a restart */
	size_t hidden;              /* series that began too high for a birth */
	size_t carried;             /* counters with a rate continued across a restart */
	struct tw_hidden hidden_at; /* the latest times of the hidden ones, ascending */
};

/* All zero bytes is empty. */
struct tw_increments {
	struct tw_increment *at;
	size_t count, size;
	struct tw_increment_counts counts; /* summed over all calls */
};

/* Replace i->at by the increments of the counter at[0..count), in order of its series. */
int tw_increments_read(struct tw_increments *i, const struct tw_counter_series *at,
		       size_t count, const struct tw_increment_rules *rules,
		       struct tw_err *err);
void tw_increments_release(struct tw_increments *i);

#endif /* TW_TRAINER_INCREMENTS_H */
