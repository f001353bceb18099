/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_PROFILER_TYPICAL_TDP_H
#define TW_PROFILER_TYPICAL_TDP_H

/*
 * The TDP of a processor whose vendor publishes none, such as a cloud's custom part. It
 * is that of the products of its generation with as many cores.
 *
 *	log TDP = a + b log cores
 *
 * by least squares over the products of the table with the same letters behind the
 * number, if there are some, else over all (b shrunk). With a product of Xeon Scalable,
 * Xeon 6 or EPYC left out, its TDP is wrong by a factor of 1.12 to 1.27.
 */

#include <stdbool.h>

struct tw_typical_tdp {
	double cores;  /* of the chip; the typical number if it was unknown */
	double tdp_w;  /* of the chip */
	double factor; /* exp of the standard deviation of log TDP */
	bool is_own;   /* of the generation itself, not of one before it */
};

/*
 * generation is a key of profiler/data/generations.csv, processor a canonical name ("":
 * unknown). cores <= 0 or NaN: unknown. A generation with too few products counts as the
 * one before it. False if the table has no products of any of them, or if the key is of
 * an architecture alone. It takes about a millisecond.
 */
bool tw_typical_tdp(const char *generation, const char *processor, double cores,
		    struct tw_typical_tdp *out);

#endif /* TW_PROFILER_TYPICAL_TDP_H */
