/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_BOOST_H
#define TW_TRAINER_BOOST_H

/*
 * Gradient boosted regression trees for squared error, by the XGBoost library: 100 trees,
 * each shrunk to a tenth, exact splits on raw feature values (T. Chen, C. Guestrin,
 * XGBoost: A Scalable Tree Boosting System, KDD 2016). The library gets one thread, so
 * that sums are in a fixed order and the text is reproducible. Not in builds with
 * XGBOOST=0.
 */

#include <stdbool.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_samples;

#define TW_BOOST_ROWS_MIN 2

struct tw_boost {
	const char *max_depth;
	const char *lambda; /* L2 penalty on leaf values */
	bool from_mean;     /* start from the mean power, else from */
	double start_w;
	/*
	 * Power is monotone in features that are rates of work (tw_feature_is_work()).
	 * Anchors keep it at the power at rest where there is no work: a quarter of the
	 * rows again, without their work. Unconstrained samples have neither.
	 */
	bool monotone;
};

/* Append the model in XGBoost's JSON. For constant power, trees start from that power. */
int tw_boost(const struct tw_samples *s, const struct tw_boost *how, uint64_t seed,
	     struct tw_buf *text, struct tw_err *err);

#endif /* TW_TRAINER_BOOST_H */
