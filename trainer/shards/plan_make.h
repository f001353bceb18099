/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_PLAN_MAKE_H
#define TW_TRAINER_PLAN_MAKE_H

/*
 * Makes a plan (trainer/shards/plan.h). The inputs are looked at one at a time, so that
 * the memory is that of the largest input.
 */

#include "lib/core/strs.h"

#include <jansson.h>

struct tw_buf;
struct tw_err;
struct tw_plan_maker;
struct tw_train_job;

/* The job has the options, without inputs; it is borrowed. *out: tw_plan_maker_free(). */
int tw_plan_maker_new(const struct tw_train_job *job, struct tw_plan_maker **out,
		      struct tw_err *err);
void tw_plan_maker_free(struct tw_plan_maker *m); /* NULL is fine */

/* Add a file that the options name, with the digest of its content. */
int tw_plan_maker_add_file(struct tw_plan_maker *m, const char *path, const char *sha256,
			   struct tw_err *err);

/*
 * Look at the next input: its text on the command line, its digest, and a job that has
 * this response alone.
 */
int tw_plan_maker_look(struct tw_plan_maker *m, const char *text, const char *sha256,
		       const struct tw_train_job *one, struct tw_err *err);

/* Instead: all tables, which the job has, with the texts and digests of their files. */
int tw_plan_maker_look_at_tables(struct tw_plan_maker *m, const struct tw_strs *texts,
				 const struct tw_strs *sha256,
				 const struct tw_train_job *job, struct tw_err *err);

/*
 * Append the text of the plan. job is the whole one, without data: its specs and known
 * node types number the machines, and its isolator's inputs are checked.
 */
int tw_plan_maker_finish(struct tw_plan_maker *m, const struct tw_train_job *job,
			 const struct tw_strs *options, struct tw_buf *out,
			 struct tw_err *err);

#endif /* TW_TRAINER_PLAN_MAKE_H */
