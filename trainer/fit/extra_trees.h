/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRA_TREES_H
#define TW_TRAINER_EXTRA_TREES_H

/*
 * Extremely randomised trees (P. Geurts, D. Ernst, L. Wehenkel, Extremely Randomized
 * Trees, Machine Learning 63, 2006): the mean of regression trees, each grown on all
 * rows. At a node thresholds are drawn evenly between the smallest and the largest value
 * of each feature, and the draw that leaves the least squared error is taken.
 *
 * Ours draw several thresholds a feature where there are few features, and a leaf may be
 * the median of its rows: power is measured with spikes, and the error that counts is the
 * absolute one.
 * Of samples that are from_zero, zero features are 0 W.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

struct tw_extra_trees {
	unsigned trees;
	size_t leaf;  /* rows of a leaf, at least; more where there are very many rows */
	bool median;  /* of a leaf's rows, instead of their mean */
	bool by_size; /* draw thresholds evenly by their logarithm */
};

/* Append the file of a component that predictor "trees" reads. */
int tw_extra_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		   uint64_t seed, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_EXTRA_TREES_H */
