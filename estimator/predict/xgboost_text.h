/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_XGBOOST_TEXT_H
#define TW_ESTIMATOR_XGBOOST_TEXT_H

/*
 * A reader of XGBoost's JSON, as XGBoost 1.6 to 2.1 write it. It reads a stream, so it
 * needs the memory of the trees and of the arrays of one tree.
 *
 * The reader accepts gbtree with one output, no categorical splits, and a regression
 * objective that does not transform the sum of the leaves. Other errors name the place:
 * "learner.gradient_booster.model.trees[3].left_children[2]: out of range".
 */

#include <stddef.h>

struct tw_err;
struct tw_trees;

/* Read text[0..len) into an empty ensemble over `features` features. */
int tw_xgboost_read(const char *text, size_t len, size_t features, struct tw_trees *out,
		    struct tw_err *err);

#endif /* TW_ESTIMATOR_XGBOOST_TEXT_H */
