/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_SEGMENT_H
#define TW_ONLINE_SEGMENT_H

/*
 * A segment: the samples of one machine in one interval, and a summary that tells how
 * usual its state of the machine is. A window is the list of a machine's segments.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_feature;
struct tw_prom;

/* Features of a summary. */
#define TW_SEGMENT_FEATURES_MAX 16

struct tw_segment {
	int64_t id;             /* in the store; 0: not stored */
	int64_t from_ms, to_ms; /* its samples are later than from_ms, up to to_ms */
	size_t rows;            /* rows of power */
	size_t bytes;           /* in the store */
	bool held;              /* held out: judges models, and does not train them */
	/* The mean of each feature over the rows. */
	const struct tw_feature *feature[TW_SEGMENT_FEATURES_MAX];
	double mean[TW_SEGMENT_FEATURES_MAX];
	size_t features;
	double load_low, load_high; /* range of the main feature */
};

/* In order of time. All zero bytes is empty. */
struct tw_segments {
	struct tw_segment *at;
	size_t count, size;
};

int tw_segments_add(struct tw_segments *l, const struct tw_segment *s,
		    struct tw_err *err);
void tw_segments_release(struct tw_segments *l);

/*
 * Summarize the samples of a machine: rows, means and load of *s. TW_NOTFOUND if the
 * response has no measured energy source with a feature group, or no row.
 */
int tw_segment_summarize(const struct tw_prom *p, struct tw_segment *s,
			 struct tw_err *err);

#endif /* TW_ONLINE_SEGMENT_H */
