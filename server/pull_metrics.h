/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_SERVER_PULL_METRICS_H
#define TW_SERVER_PULL_METRICS_H

/* Metrics of the pulled pipelines. */

#include "lib/http/server/expo.h"

struct tw_pulls;

extern const struct tw_expo_table tw_pull_families[];

/* p may be NULL: then nothing is written. */
void tw_pull_metrics_write(struct tw_pulls *p, struct tw_expo *e);

#endif /* TW_SERVER_PULL_METRICS_H */
