/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_JOB_REPORT_H
#define TW_TRAINER_JOB_REPORT_H

/*
 * The report of a training: its models with their errors and certificates, and the
 * quality of its recordings, from the metadata in the pipeline that it made.
 */

#include <stddef.h>

struct tw_buf;
struct tw_err;

/* Append the report on the pipeline in zip[0..len) as JSON (docs/tw-trainer.md). */
int tw_job_report_write(const char *zip, size_t len, struct tw_buf *out,
			struct tw_err *err);

#endif /* TW_TRAINER_JOB_REPORT_H */
