/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_MODEL_KEEPER_CHILD_H
#define TW_COLLECTOR_MODEL_KEEPER_CHILD_H

/*
 * Inside of model_keeper.h: the child.
 */

struct tw_keeper_config;

/* Names of features with commas between them: one datagram. */
#define TW_KEEPER_METRICS_MAX 2048

/* Until the other end of fd is closed. The exit status. */
int tw_keeper_run(const struct tw_keeper_config *c, int fd);

#endif /* TW_COLLECTOR_MODEL_KEEPER_CHILD_H */
