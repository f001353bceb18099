/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MODEL_METRICS_H
#define TW_SERVER_MODEL_METRICS_H

/*
 * Metrics of the models in the index: an info series and the errors of each model; with
 * --weights-metrics also the weights of linear models, as the exporter of the old
 * programs has them.
 */

#include "lib/http/server/expo.h"

#include <stdbool.h>

struct tw_index;

/*
 * Limit of models with series of their own. The most preferred models get them;
 * tw_models_without_series counts the others.
 */
#define TW_MODEL_METRICS_MAX 1000

extern const struct tw_expo_table tw_model_families[];
void tw_model_metrics_write(struct tw_index *x, bool weights, struct tw_expo *e);

#endif /* TW_SERVER_MODEL_METRICS_H */
