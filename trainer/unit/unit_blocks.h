/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_UNIT_BLOCKS_H
#define TW_TRAINER_UNIT_BLOCKS_H

/*
 * Energy and counters of work in common blocks of time.
 *
 * A counter is the sum of its series. Increases are those of
 * trainer/extract/increments.h: resets, replicas that come and go, and gaps lose nothing
 * that the samples show. An increase is spread evenly over its time, so that the sum of
 * the blocks is the sum of the increases between the first and the last bound.
 *
 * No bound lies in a gap of a series: blocks on both sides of it are one block.
 */

#include "trainer/extract/increments.h"

#include <stddef.h>
#include <stdint.h>

struct tw_err;

#define TW_UNIT_WORKS_MAX 8

/* The series of one counter or gauge. Borrowed. */
struct tw_unit_source {
	const char *name; /* "requests" */
	const struct tw_series **series;
	size_t count;
};

struct tw_unit_input {
	struct tw_unit_source energy; /* J */
	struct tw_unit_source idle;   /* J that are not attributed; may be empty */
	struct tw_unit_source work[TW_UNIT_WORKS_MAX]; /* units */
	size_t works;
	/* Gauges, which may be empty: gCO2e/kWh, and the size of batches. */
	struct tw_unit_source intensity, batch;
	uint64_t block_ms; /* 0: chosen by the intervals of the samples */
};

/* All zero bytes is empty. Arrays have `count` entries, those of work count * works,
 * block by block. */
struct tw_unit_blocks {
	size_t count, works;
	const char *name[TW_UNIT_WORKS_MAX]; /* of the work; borrowed from the input */
	int64_t *bound_ms;                   /* count + 1, ascending */
	double *energy_j, *idle_j, *work;
	/* The work of a block without its ends, where increases may be given to the wrong
	 * block: an eighth of its length each, scrape_ms at least. */
	double *inner_work;
	double *intensity, *batch; /* means of the gauges; NaN: no sample */
	int64_t block_ms;          /* of a block that no gap has made longer */
	int64_t scrape_ms; /* the longest usual time between two samples of a series */
	size_t merged;     /* bounds that a gap has removed */
	struct tw_increment_counts energy_counts, work_counts[TW_UNIT_WORKS_MAX];
};

/* Names the input in errors: TW_NOTFOUND without series, TW_INVALID without a common time
 * of some blocks. */
int tw_unit_blocks_make(const struct tw_unit_input *in, struct tw_unit_blocks *out,
			struct tw_err *err);
void tw_unit_blocks_release(struct tw_unit_blocks *b);

#endif /* TW_TRAINER_UNIT_BLOCKS_H */
