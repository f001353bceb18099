/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_WORKER_H
#define TW_TRAINER_WORKER_H

/*
 * Trains units of a plan and writes their parts. Machines with the same inputs are
 * trained together; inputs are loaded for these machines only and freed before the next.
 * A unit whose part is in the directory is not trained again, so a worker that was killed
 * goes on where it was.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_plan;
struct tw_train_job;

struct tw_worker {
	const struct tw_plan *plan;
	const struct tw_train_job *job; /* the options and planned machines, no data */
	const char *dir;                /* of the parts */
	const bool *wanted;             /* for each unit */
	/*
	 * Load these inputs of the plan into the job, and free them. Responses that are
	 * not loaded have prom NULL. unload is called after a failed load, too.
	 */
	int (*load)(void *arg, const size_t *input, size_t inputs,
		    struct tw_train_job *job, struct tw_err *err);
	void (*unload)(void *arg);
	void *arg;
};

struct tw_worker_result {
	size_t trained; /* parts written */
	size_t failed;  /* of these: without a model */
	size_t present; /* parts that were in the directory */
};

int tw_worker_run(const struct tw_worker *w, struct tw_worker_result *out,
		  struct tw_err *err);

/*
 * Choose units. "3/16": the third of sixteen shards of about equal cost, each of adjacent
 * units, so that few workers read the same input. "2+1/16" is the same, for an index that
 * counts from 0. Else the path of a file with a unit a line, by number or by address;
 * blank lines and lines that start with '#' are skipped. *wanted is yours (free()): an
 * entry for each unit.
 */
int tw_plan_select(const struct tw_plan *p, const char *text, bool **wanted,
		   struct tw_err *err);

#endif /* TW_TRAINER_WORKER_H */
