/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_ISOTONIC_TREES_H
#define TW_TRAINER_ISOTONIC_TREES_H

/*
 * Extremely randomised trees whose power is made to rise along each ray, after the fit,
 * by pooling adjacent violators on a grid of loads (docs/model-format.md, "isotonic").
 * The trees follow the rows freely: constraints on each feature cost more accuracy.
 *
 * The grid is the loads of the samples at even ranks: dense where rows are.
 */

#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_extra_trees;
struct tw_samples;

/* Append the text of a component, which predictor "isotonic" reads. */
int tw_isotonic_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		      uint64_t seed, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_ISOTONIC_TREES_H */
