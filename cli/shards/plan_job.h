/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_PLAN_JOB_H
#define TW_CLI_PLAN_JOB_H

/* A plan, and the training job that it describes. */

#include "cli/train/train_flags.h"
#include "cli/train/train_input.h"
#include "trainer/shards/plan.h"
#include "trainer/train_job.h"

struct tw_plan_job {
	struct tw_plan plan;
	struct tw_train_flags flags; /* of the plan */
	struct tw_train_job job;
	struct tw_train_planned *planned;
	struct tw_train_input in;
};

/*
 * Read the plan and the files that its options name, which must have the plan's digests.
 * The responses are named and not read; tables are read. *p must be all zero and stay
 * where it is; tw_plan_job_release() in any case. cache is borrowed.
 */
int tw_plan_job_open(const char *path, const struct tw_input_cache *cache,
		     struct tw_plan_job *p, struct tw_err *err);
void tw_plan_job_release(struct tw_plan_job *p);

/* A plan's name for the files that it has digests of, and the digests. */
typedef int tw_plan_file_fn(void *arg, const char *path, const char *sha256,
			    struct tw_err *err);

/* Call fn with each file or published pipeline that the options name, beside the data. */
int tw_plan_job_files(const struct tw_train_flags *f, const struct tw_train_job *job,
		      tw_plan_file_fn *fn, void *arg, struct tw_err *err);

#endif /* TW_CLI_PLAN_JOB_H */
