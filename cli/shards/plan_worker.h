/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_PLAN_WORKER_H
#define TW_CLI_PLAN_WORKER_H

/* `tallywatt train --plan`: a worker that trains units of a plan. */

struct tw_err;
struct tw_train_flags;

/* Whether the options go together. A failure is wrong use. */
int tw_plan_worker_check(const struct tw_train_flags *f, struct tw_err *err);

/* Train the units that --units names, and put the parts into --parts. */
int tw_plan_worker_run(const struct tw_train_flags *f, struct tw_err *err);

#endif /* TW_CLI_PLAN_WORKER_H */
