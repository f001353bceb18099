/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_BOOST_H
#define TW_TRAINER_BOOST_H

/*
 * Gradient boosted regression trees for squared error, by the XGBoost library: 100 trees,
 * each shrunk to a tenth, exact splits on raw feature values (T. Chen, C. Guestrin,
 * XGBoost: A Scalable Tree Boosting System, KDD 2016). One thread: the order of sums, and
 * so the text, is the same on every machine of a kind. Not in builds with XGBOOST=0.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

#define TW_BOOST_ROWS_MIN 2

struct tw_boost {
	const char *max_depth;
	const char *lambda; /* shrinks the values of leaves */
	bool from_mean;     /* where trees start: the mean power, or */
	double start_w;
	/* Power does not fall where a known rate of work rises (lib/field/feature.h). */
	bool monotone;
};

/* Append XGBoost's own JSON. Constant power starts from itself, and needs no trees. */
int tw_boost(const struct tw_samples *s, const struct tw_boost *how, uint64_t seed,
	     struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_BOOST_H */
