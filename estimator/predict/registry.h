/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_REGISTRY_H
#define TW_ESTIMATOR_REGISTRY_H

/* The predictors that registry.c lists. */

#include "estimator/predict/predictor.h"

extern const struct tw_predictor tw_predictor_curvefit;
extern const struct tw_predictor tw_predictor_ensemble;
extern const struct tw_predictor tw_predictor_isotonic;
extern const struct tw_predictor tw_predictor_knn;
extern const struct tw_predictor tw_predictor_linear;
extern const struct tw_predictor tw_predictor_polynomial;
extern const struct tw_predictor tw_predictor_svr;
extern const struct tw_predictor tw_predictor_trees;
extern const struct tw_predictor tw_predictor_xgboost;

#endif /* TW_ESTIMATOR_REGISTRY_H */
