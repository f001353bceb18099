/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_JOB_RECORD_H
#define TW_TRAINER_JOB_RECORD_H

/*
 * The state of a job of tw-trainer as JSON: in answers (docs/tw-trainer.md), and in the
 * files by which jobs outlive the process. Also the report on the models of a job.
 */

#include "lib/core/err.h"
#include "lib/json/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;

/* Sizes of texts, NUL included. */
#define TW_JOB_ID 32
#define TW_JOB_PIPELINE 129

enum tw_job_state {
	TW_JOB_WAITING,
	TW_JOB_RUNNING,
	TW_JOB_DONE,
	TW_JOB_FAILED,
	TW_JOB_CANCELLED,
	TW_JOB_LOST, /* the process ended before the job did */
	TW_JOB_STATES
};

/* Times are milliseconds since 1970; 0: not yet. */
struct tw_job_record {
	char id[TW_JOB_ID];
	char pipeline[TW_JOB_PIPELINE];
	enum tw_job_state state;
	int64_t created_ms, started_ms, ended_ms;
	/* While it runs. */
	const char *stage;  /* static text; or NULL */
	double fraction;    /* of all fits, 0 to 1 */
	double remaining_s; /* estimate; negative: not known */
	/* Set for a finished job: */
	size_t models;
	bool published;          /* in a model database */
	char error[TW_ERR_TEXT]; /* why it failed, was cancelled or lost; or "" */
};

/* "waiting", "running", ... */
const char *tw_job_state_name(enum tw_job_state s);

/* Whether the state never changes again. */
bool tw_job_state_ended(enum tw_job_state s);

/* The table of the record's members. */
extern const struct tw_fields tw_job_fields;

/* Append the record as a JSON object. */
void tw_job_record_write(const struct tw_job_record *r, struct tw_buf *out);

/* Parse a written record. stage, fraction and remaining_s are not read. */
int tw_job_record_read(const char *data, size_t len, struct tw_job_record *out,
		       struct tw_err *err);

/*
 * Append the report of a training as JSON (docs/tw-trainer.md): its models with their
 * errors and certificates, and the quality of its recordings, from the metadata in the
 * pipeline that it made, zip[0..len).
 */
int tw_job_report_write(const char *zip, size_t len, struct tw_buf *out,
			struct tw_err *err);

#endif /* TW_TRAINER_JOB_RECORD_H */
