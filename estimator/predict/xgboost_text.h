/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_XGBOOST_TEXT_H
#define TW_ESTIMATOR_XGBOOST_TEXT_H

/*
 * XGBoost's own JSON, as XGBoost 1.6 to 2.1 write it, read as a stream: memory is that of
 * the trees and of one tree's arrays.
 *
 * Taken is gbtree with a regression objective that leaves the sum of the leaves as it is,
 * one output, no categorical splits. All else is refused, naming the place:
 * "learner.gradient_booster.model.trees[3].left_children[2]: out of range".
 */

#include <stddef.h>

struct tw_err;
struct tw_trees;

/* text[0..len) into an empty ensemble over `features` features. */
int tw_xgboost_read(const char *text, size_t len, size_t features, struct tw_trees *out,
		    struct tw_err *err);

#endif /* TW_ESTIMATOR_XGBOOST_TEXT_H */
