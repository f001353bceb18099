/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAININGS_H
#define TW_TRAINER_TRAININGS_H

/*
 * The trainings of tw-trainer: each request becomes a job (trainer/service/jobs.h) that
 * waits for its turn (trainer/service/turns.h), trains, publishes and makes a zip. A
 * failed training publishes nothing. Thread-safe.
 */

#include "trainer/extract/extract.h"
#include "trainer/service/jobs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_jobs;
struct tw_signer;
struct tw_train_request;
struct tw_train_response;
struct tw_train_result;
struct tw_training;
struct tw_trainings;

/* The texts must outlive the trainings. */
struct tw_trainings_config {
	const char *model_db; /* model database to publish in; NULL: do not publish */
	const struct tw_signer *signer; /* signs what is published; NULL: nobody */
	const struct tw_strs
		*rights;      /* rules of trainer/service/rights.h; NULL: no rules */
	const char *jobs_dir; /* where jobs outlive the process; or NULL */
	enum tw_resets resets;
	unsigned threads; /* threads of a training; 0: as many as CPUs */
	uint64_t seed;
	unsigned parallel; /* trainings that run at the same time; 0: 1 */
	unsigned queue;    /* trainings that wait besides */
};

/* *out is yours: tw_trainings_close(). */
int tw_trainings_open(const struct tw_trainings_config *c, struct tw_trainings **out,
		      struct tw_err *err);
struct tw_jobs *tw_trainings_jobs(struct tw_trainings *t);

/* Limit of trainings that wait and run. */
unsigned tw_trainings_max(const struct tw_trainings *t);

/*
 * Cancel the trainings that wait, give the others 1 s to finish, cancel them, and return
 * once all have ended.
 */
void tw_trainings_stop(struct tw_trainings *t);
void tw_trainings_close(struct tw_trainings *t); /* NULL is fine; call _stop() first */

/* Whether a user may train into a pipeline now. */
int tw_trainings_may(const struct tw_trainings *t, const char *user, const char *pipeline,
		     struct tw_err *err);

/*
 * Take the request as a job that waits; *q is then empty. Pass *out to one of the next
 * two functions, which free it. *full: there are too many trainings, or the program
 * stops; try later.
 */
int tw_training_new(struct tw_trainings *t, struct tw_train_request *q,
		    struct tw_training **out, bool *full, struct tw_err *err);
const char *tw_training_id(const struct tw_training *g);
const char *tw_training_pipeline(const struct tw_training *g); /* name */

/*
 * Train on this thread. *end tells how the job ended, also after a failure; its state is
 * TW_JOB_LOST if the program stops. take_zip: its zip is yours (free()); else the jobs
 * keep it.
 */
int tw_training_run(struct tw_training *g, bool take_zip, struct tw_job_end *end,
		    struct tw_err *err);

/* Train on a thread of its own; the jobs keep the zip. */
int tw_training_start(struct tw_training *g, struct tw_err *err);

/* Responses to train on instead of the request's, and how to read them. Borrowed. */
struct tw_training_inputs {
	const struct tw_train_response *responses;
	size_t response_count;
	const char *origin; /* of all data in the metadata */
	enum tw_resets resets;
};

/*
 * Train on this thread on other responses than the request's, which may have none, and
 * publish nothing. *out must be all zero; it is yours: tw_train_result_release().
 */
int tw_training_make(struct tw_training *g, const struct tw_training_inputs *in,
		     struct tw_train_result *out, struct tw_err *err);

#endif /* TW_TRAINER_TRAININGS_H */
