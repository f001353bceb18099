/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_ESTIMATE_PIPELINE_H
#define TW_CLI_ESTIMATE_PIPELINE_H

/*
 * `tallywatt estimate --pipeline`: predict the rows of a recording by all models of a
 * pipeline, each with the rows that its training would have extracted.
 */

#include <jansson.h>
#include <stddef.h>

struct tw_buf;
struct tw_err;

struct tw_pipeline_estimate {
	const char *dir;     /* of the pipeline */
	const char *input;   /* a response or a table */
	const char *machine; /* or NULL */
};

/*
 * Append a line of CSV for each row and component to predictions, and to summary an
 * object for each model: {"model","source","output","group","rows","mae_watts":{..}} or
 * {"model","error"}. Fails if no model has rows.
 */
int tw_estimate_pipeline(const struct tw_pipeline_estimate *e, struct tw_buf *predictions,
			 json_t *summary, struct tw_err *err);

#endif /* TW_CLI_ESTIMATE_PIPELINE_H */
