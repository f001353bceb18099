/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_WORKER_H
#define TW_CLI_TRAIN_WORKER_H

/* `tallywatt train --plan`: trains units of a plan. */

struct tw_err;
struct tw_train_flags;

/* A failure is wrong use. */
int tw_train_worker_check(const struct tw_train_flags *f, struct tw_err *err);

int tw_train_worker(const struct tw_train_flags *f, struct tw_err *err);

#endif /* TW_CLI_TRAIN_WORKER_H */
