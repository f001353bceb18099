/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_JOBS_H
#define TW_TRAINER_JOBS_H

/*
 * The jobs of tw-trainer: those that wait and run, and the last ones that ended. With a
 * directory, each job has a small file there, <id>.json, which is replaced as a whole. A
 * job that has not ended when the process ends is "lost" for the next process.
 *
 * The table keeps at most TW_JOBS_MAX jobs, and ended ones for TW_JOBS_AGE_MS. It keeps
 * the pipelines of at most TW_JOBS_ZIPS jobs, in memory. Thread-safe.
 */

#include "trainer/service/job_record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_job;
struct tw_jobs;
struct tw_jobs_zip;

#define TW_JOBS_MAX 256
#define TW_JOBS_AGE_MS (INT64_C(7) * 24 * 3600 * 1000)
#define TW_JOBS_ZIPS 8
#define TW_JOBS_ZIP_BYTES ((size_t)256 << 20)

/*
 * Read the jobs of an earlier process from dir, which is made if it is missing; NULL:
 * jobs end with the process. Fails if another process uses dir. *unread is the number of
 * files that are not records; they stay. *out is yours: tw_jobs_close().
 */
int tw_jobs_open(const char *dir, struct tw_jobs **out, size_t *unread,
		 struct tw_err *err);
void tw_jobs_close(struct tw_jobs *t); /* NULL is fine; all jobs must have ended */

/*
 * Add a job that waits. cancel(arg) is called when somebody cancels it before it has
 * ended. *out belongs to the table and lives at least until the job has ended.
 */
int tw_jobs_add(struct tw_jobs *t, const char *pipeline, void (*cancel)(void *arg),
		void *arg, struct tw_job **out, struct tw_err *err);

/* The job's identity. It lives as long as the job. */
const char *tw_job_id(const struct tw_job *job);

/* The job begins to run. A failure means that its file could not be replaced. */
int tw_jobs_begin(struct tw_jobs *t, struct tw_job *job, struct tw_err *err);

/* remaining_s is negative if it is not known. */
void tw_jobs_progress(struct tw_jobs *t, struct tw_job *job, const char *stage,
		      double fraction, double remaining_s);

/* How a job ended. */
struct tw_job_end {
	enum tw_job_state state;
	const char *error; /* of a job that is not done */
	size_t models;
	bool published;
	char *zip; /* malloc'ed: the pipeline to keep, which the table takes; or NULL */
	size_t zip_len;
};

/* The job ends; do not use it afterwards. Failure: as of tw_jobs_begin(). */
int tw_jobs_end(struct tw_jobs *t, struct tw_job *job, const struct tw_job_end *e,
		struct tw_err *err);

/* Append the job as JSON. False: there is no such job. */
bool tw_jobs_show(struct tw_jobs *t, const char *id, struct tw_buf *out);

/* Whether somebody may see the jobs of a pipeline. */
typedef bool tw_jobs_may_fn(void *arg, const char *pipeline);

/*
 * Append {"jobs":[...]}, the newest first, of the pipelines that may be seen. may() is
 * called without the lock, so it may be slow.
 */
int tw_jobs_list(struct tw_jobs *t, tw_jobs_may_fn *may, void *arg, struct tw_buf *out,
		 struct tw_err *err);

/* The pipeline of a job. False: there is no such job. */
bool tw_jobs_pipeline(struct tw_jobs *t, const char *id, char out[TW_JOB_PIPELINE]);

/* Cancel a job. TW_NOTFOUND: there is no such job. TW_INVALID: it has ended. */
int tw_jobs_cancel(struct tw_jobs *t, const char *id, struct tw_err *err);

/*
 * The pipeline that a job made. *out is yours: tw_jobs_zip_free(). TW_NOTFOUND: there is
 * no such job. TW_INVALID: it has no pipeline, or it is no longer kept.
 */
int tw_jobs_zip(struct tw_jobs *t, const char *id, struct tw_jobs_zip **out,
		struct tw_err *err);
const char *tw_jobs_zip_data(const struct tw_jobs_zip *z, size_t *len);
void tw_jobs_zip_free(void *zip); /* NULL is fine */

/* Number of jobs in each state. */
void tw_jobs_count(struct tw_jobs *t, size_t count[TW_JOB_STATES]);

#endif /* TW_TRAINER_JOBS_H */
