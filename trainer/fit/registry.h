/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_REGISTRY_H
#define TW_TRAINER_REGISTRY_H

#include "trainer/fit/trainer.h"

extern const struct tw_trainer tw_trainer_auto;
extern const struct tw_trainer tw_trainer_exponential;
extern const struct tw_trainer tw_trainer_knn;
extern const struct tw_trainer tw_trainer_linear;
extern const struct tw_trainer tw_trainer_logarithmic;
extern const struct tw_trainer tw_trainer_logistic;
extern const struct tw_trainer tw_trainer_polynomial;
extern const struct tw_trainer tw_trainer_ridge;

/* Not in builds with LIBSVM=0. */
extern const struct tw_trainer tw_trainer_svr;

/* Not in builds with XGBOOST=0. */
extern const struct tw_trainer tw_trainer_gradient_boosting;
extern const struct tw_trainer tw_trainer_xgboost;

#endif /* TW_TRAINER_REGISTRY_H */
