/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_MODEL_METRICS_H
#define TW_SERVER_MODEL_METRICS_H

/*
 * The models of an index as metrics: one info series and the errors of each, and on
 * request the weights of linear ones, as the old programs' exporter posted them.
 */

#include <stdbool.h>

struct tw_expo;
struct tw_index;

/* Of more models than these, only the most preferred are written; how many are not is
 * said. */
#define TW_MODEL_METRICS_MAX 1000

void tw_model_metrics_write(struct tw_index *x, bool weights, struct tw_expo *e);

#endif /* TW_SERVER_MODEL_METRICS_H */
