/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_REGISTRY_H
#define TW_TRAINER_REGISTRY_H

#include "trainer/trainer.h"

extern const struct tw_trainer tw_trainer_exponential;
extern const struct tw_trainer tw_trainer_linear;
extern const struct tw_trainer tw_trainer_logarithmic;
extern const struct tw_trainer tw_trainer_logistic;
extern const struct tw_trainer tw_trainer_polynomial;
extern const struct tw_trainer tw_trainer_ridge;
extern const struct tw_trainer tw_trainer_xgboost; /* not in builds with XGBOOST=0 */

#endif /* TW_TRAINER_REGISTRY_H */
