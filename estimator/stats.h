/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_STATS_H
#define TW_ESTIMATOR_STATS_H

/*
 * Counters of the estimator, and its metrics (docs/tw-estimator.md, "Metrics"). For the
 * thread that answers requests. All zero bytes is a valid start.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_expo;
struct tw_history;
struct tw_models;
struct tw_node_series;

#define TW_STATS_BOUNDS 10

enum tw_refusal {
	TW_REFUSED_MALFORMED, /* invalid JSON, or invalid values */
	TW_REFUSED_NO_MODEL,  /* no usable model, or its prediction failed */
	TW_REFUSED_LATE,      /* incomplete at the deadline */
	TW_REFUSED_COUNT
};

struct tw_stats {
	uint64_t connections, denied, crowded_out;
	uint64_t answers, rows;
	uint64_t refused[TW_REFUSED_COUNT];
	/* Histogram of the time from the last byte of a request to that of its answer. */
	uint64_t took[TW_STATS_BOUNDS + 1];
	double took_s;
};

/* Count an answer that took ns. */
void tw_stats_took(struct tw_stats *s, uint64_t ns);

/* Write all metrics. open: the number of open connections. */
void tw_stats_write(const struct tw_stats *s, size_t open, const struct tw_history *h,
		    const struct tw_node_series *nodes, struct tw_models *m,
		    struct tw_expo *e);

/* For --list-metrics. */
void tw_stats_list(struct tw_buf *out);

#endif /* TW_ESTIMATOR_STATS_H */
