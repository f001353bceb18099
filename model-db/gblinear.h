/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_GBLINEAR_H
#define TW_MODEL_DB_GBLINEAR_H

/*
 * Linear models as files of XGBoost, whose booster gblinear is a bias and a weight for
 * each feature. kepler-model-server's estimator reads JSON of XGBoost only.
 */

struct tw_err;
struct tw_model;

/*
 * Turn a linear model into one of class xgboost. XGBoost has 32-bit floats, so its watts
 * differ by some 1e-6 of their value. A model of another class, or with weights of
 * categories, stays as it is.
 */
int tw_model_to_gblinear(struct tw_model *m, struct tw_err *err);

#endif /* TW_MODEL_DB_GBLINEAR_H */
