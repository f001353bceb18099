/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_TRAIN_REMOTE_H
#define TW_CLI_TRAIN_REMOTE_H

/* `tallywatt train --url`: a training as a job of a tw-trainer. */

struct tw_err;
struct tw_train_flags;
struct tw_train_job;

/* Check that a tw-trainer can do it. A failure is wrong use. */
int tw_train_remote_check(const struct tw_train_flags *f, struct tw_err *err);

/*
 * Send the job, show its progress on stderr until it has ended, and write the zip of
 * --output. Fails with the job's error.
 */
int tw_train_remote(const struct tw_train_flags *f, const struct tw_train_job *job,
		    struct tw_err *err);

#endif /* TW_CLI_TRAIN_REMOTE_H */
