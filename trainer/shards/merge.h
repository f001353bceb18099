/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_MERGE_H
#define TW_TRAINER_MERGE_H

/*
 * Makes the pipeline of a plan from the parts of its units: byte for byte that of one
 * training.
 */

struct tw_err;
struct tw_plan;
struct tw_strs;
struct tw_train_job;
struct tw_train_result;

/*
 * Read the parts in these directories and pack them. A unit may be in several directories
 * with the same bytes. TW_INVALID names two different parts of a unit, a part of another
 * plan, and a part that is damaged; TW_NOTFOUND the missing units. The job has the plan's
 * options, the names of its inputs and no data. *out must be all zero; it is yours.
 */
int tw_merge_parts(const struct tw_plan *p, const struct tw_train_job *job,
		   const struct tw_strs *dirs, struct tw_train_result *out,
		   struct tw_err *err);

#endif /* TW_TRAINER_MERGE_H */
