/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXTRA_TREES_H
#define TW_TRAINER_EXTRA_TREES_H

/*
 * Extremely randomised trees (P. Geurts, D. Ernst, L. Wehenkel, Extremely Randomized
 * Trees, Machine Learning 63, 2006): the mean of regression trees, each grown on all
 * rows. At a node, thresholds are drawn uniformly between the smallest and the largest
 * value of each feature; the threshold with the least squared error is taken.
 *
 * Differences from the paper: with few features, several thresholds are drawn for each,
 * and a leaf may be the median of its rows, because measured power has spikes and models
 * are compared by absolute error. For samples that are from_zero, zero features give 0 W.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_samples;
struct tw_trees;

struct tw_extra_trees {
	unsigned trees;
	size_t leaf;  /* least rows of a leaf; larger for very many rows */
	bool median;  /* a leaf is the median of its rows, else their mean */
	bool by_size; /* draw half of the thresholds on a logarithmic scale */
};

/*
 * Append the text of a component, which predictor "trees" reads, and the same trees; text
 * and trees may be NULL. trees is the caller's, also after a failure, and of at most
 * TW_TREE_FEATURES_MAX features.
 */
int tw_extra_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		   uint64_t seed, struct tw_buf *text, struct tw_trees *trees,
		   struct tw_err *err);

/*
 * Append the text of a component, which predictor "isotonic" reads: trees whose power is
 * made to rise along each ray, after the fit, by pooling adjacent violators on a grid of
 * loads (docs/model-format.md, "isotonic"). The trees follow the rows freely: constraints
 * on each feature cost more accuracy. The grid is the loads of the samples at even ranks:
 * dense where rows are.
 */
int tw_isotonic_trees(const struct tw_samples *s, const struct tw_extra_trees *how,
		      uint64_t seed, struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_EXTRA_TREES_H */
