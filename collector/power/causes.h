/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_CAUSES_H
#define TW_COLLECTOR_CAUSES_H

/*
 * Weights by which the energy of a package is divided among what ran on it, learned from
 * this machine's own meter. Power is taken for a sum of causes with weights of 0 or more;
 * a ridge draws them to a prior. Each tick makes one row of each package; old rows fade.
 *
 * The weights divide; they never change a sum. Until they predict the energy of ticks
 * that they have not seen well, and better than the plain rule does, they are not ready.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_package_use;

/* Causes of power, in W for 1 if all of the time one CPU does nothing else. */
enum tw_cause {
	TW_CAUSE_ALONE,      /* time without a busy sibling */
	TW_CAUSE_ALONE_FAST, /* the same, by the third power of the frequency */
	TW_CAUSE_ALONE_RUNS, /* the same, while it does not wait for memory */
	TW_CAUSE_SHARED,     /* time with a busy sibling; as above */
	TW_CAUSE_SHARED_FAST,
	TW_CAUSE_SHARED_RUNS,
	TW_CAUSE_INSTRUCTIONS,
	TW_CAUSE_MISSES,
	TW_CAUSE_AWAKE, /* a part of the time in which anything runs on the package */
	TW_CAUSE_SMALL, /* time on small cores; as above */
	TW_CAUSE_SMALL_FAST,
	TW_CAUSE_SMALL_RUNS,
	TW_CAUSE_COUNT
};

/* State of one kind of zone. All zero bytes: nothing learned. */
struct tw_causes {
	double rows; /* fading, as all sums */
	double xx[TW_CAUSE_COUNT][TW_CAUSE_COUNT], xy[TW_CAUSE_COUNT];
	double plain_xx, plain_xy;        /* of the plain rule */
	double error, plain_error, power; /* sums of W */
	double weight[TW_CAUSE_COUNT];    /* in W; 0 or more */
};

/* In ns. */
void tw_causes_of(const struct tw_package_use *u, double x[TW_CAUSE_COUNT]);

/*
 * Learn from a package: the sums of the causes and of the plain rule's measure over all
 * that ran on it for over_ns, and its energy without its idle part.
 */
void tw_causes_learn(struct tw_causes *w, const double x[TW_CAUSE_COUNT], double plain,
		     uint64_t energy_uj, uint64_t over_ns);

bool tw_causes_ready(const struct tw_causes *w);

/* The weight of these causes: their share of the energy, on any scale. */
double tw_causes_weigh(const struct tw_causes *w, const double x[TW_CAUSE_COUNT]);

#endif /* TW_COLLECTOR_CAUSES_H */
