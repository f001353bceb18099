/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_CLEAN_H
#define TW_TRAINER_CLEAN_H

/*
 * Cleaning of series, before anything is computed of them.
 *
 * Series of a counter whose labels are equal but for those of the scrape and the names of
 * the process count the same thing, as far as their times overlap. Their values decide:
 *
 * - Equal values, or values that a lag of up to a minute explains: an exporter that two
 *   jobs scrape, a process that is exported under two names. One of the two is dropped
 *   where they overlap.
 * - The earlier series stands still up to its end, and the later one goes on: the
 * exporter was replaced, and the server repeats its last samples. The repeats are
 * dropped.
 * - Both move, apart from each other: there are two. A node has one. If both do so for a
 *   moment, one exporter replaced the other, and the new one counts; else this is an
 * error.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_counter_set;
struct tw_err;
struct tw_metric_series;
struct tw_series;

/*
 * Clean the series of a set, which must be sorted; adds what was dropped to c->merged.
 * metric: of each column of the set; NULL: all are counters. of_node: two that move apart
 * are two machines behind one name, which is TW_INVALID.
 */
int tw_clean_series(struct tw_counter_set *c, const struct tw_metric_series *metric,
		    bool of_node, struct tw_err *err);

/*
 * Drop the counters of energy of intel-rapl-mmio that grow as one of intel-rapl, or the
 * other way round, and add their number to c->merged. The set is sorted. Two packages may
 * grow alike, too: a simulation, or a host that shares its energy among them.
 */
int tw_clean_twins(struct tw_counter_set *c, struct tw_err *err);

/* Equal for series whose labels of the scrape are equal. */
uint64_t tw_clean_scrape_hash(const struct tw_series *s);

/* Fail: two series of a metric are of two machines behind one name. */
int tw_clean_refuse(const char *metric, const struct tw_series *a,
		    const struct tw_series *b, struct tw_err *err);

#endif /* TW_TRAINER_CLEAN_H */
