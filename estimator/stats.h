/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_STATS_H
#define TW_ESTIMATOR_STATS_H

/*
 * What the estimator did since its start, and its metrics (docs/tw-estimator.md,
 * "Metrics"). Counted by the one thread that answers. All zero bytes is a start.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_expo;
struct tw_history;
struct tw_models;

#define TW_STATS_BOUNDS 10

enum tw_refusal {
	TW_REFUSED_MALFORMED, /* it is no request */
	TW_REFUSED_NO_MODEL,
	TW_REFUSED_LATE, /* it was not whole in time */
	TW_REFUSED_COUNT
};

struct tw_stats {
	uint64_t connections, denied, crowded_out;
	uint64_t answers, rows;
	uint64_t refused[TW_REFUSED_COUNT];
	/* Time from a request's last byte to its answer's. */
	uint64_t took[TW_STATS_BOUNDS + 1];
	double took_s;
};

void tw_stats_took(struct tw_stats *s, uint64_t ns);

/* open: connections that there are. */
void tw_stats_write(const struct tw_stats *s, size_t open, const struct tw_history *h,
		    struct tw_models *m, struct tw_expo *e);

#endif /* TW_ESTIMATOR_STATS_H */
