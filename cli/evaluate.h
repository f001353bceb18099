/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_EVALUATE_H
#define TW_CLI_EVALUATE_H

/*
 * Evaluate models against one recording, for `tallywatt validate`. Models may be of any
 * source, group and output; each gets the rows that its training would have extracted.
 */

#include "lib/field/dataset.h"
#include "trainer/extract/extract.h"
#include "trainer/extract/quality.h"
#include "trainer/fit/score.h"
#include "trainer/fit/workload_runs.h"
#include "trainer/isolation.h"

struct tw_buf;
struct tw_err;
struct tw_power_model;

/* Set the first members; all other bytes are zero before tw_evaluation_read(). */
struct tw_evaluation {
	const char *machine;
	const struct tw_isolator *isolator;          /* NULL: the isolator of the model */
	const struct tw_isolation_config *isolation; /* its arguments, or NULL */
	enum tw_resets resets;
	bool vm_metrics, correct_lag;
	struct tw_workload_runs
		workloads; /* to report errors by workload; may be empty */

	struct tw_prom *response;
	struct tw_dataset table; /* if the recording is a table */
};

/*
 * Read a response if the text begins with '{', with the metrics of the models that no
 * schema has (NULL: none); else a table.
 */
int tw_evaluation_read(struct tw_evaluation *j, const char *path,
		       const struct tw_strs *models, struct tw_err *err);
void tw_evaluation_release(struct tw_evaluation *j);

/* The rows for a model, with measured power as it was recorded. *out must be empty. */
int tw_evaluation_rows(const struct tw_evaluation *j, const struct tw_power_model *p,
		       struct tw_dataset *out, struct tw_err *err);

/* The errors of one model. */
struct tw_evaluated {
	const struct tw_power_model *model;
	const struct tw_isolator *isolator; /* NULL: no isolation */
	struct tw_model_score all;
	struct tw_model_score *by_workload; /* an entry a name; rows is 0 without data */
	const struct tw_strs *workloads;
	struct tw_quality quality; /* of the recording; no rows: it is a table */
};

/* *out must be all zero. It is yours, and must not outlive the model and j. */
int tw_evaluate_model(const struct tw_evaluation *j, const struct tw_power_model *p,
		      struct tw_evaluated *out, struct tw_err *err);

/* Append a table of text. path is the path of the model. */
void tw_evaluated_to_text(const struct tw_evaluated *g, const char *path,
			  struct tw_buf *out);

/* Append an object. */
void tw_evaluated_add_json(const struct tw_evaluated *g, const char *path,
			   const char *input, struct tw_buf *out);

void tw_evaluated_release(struct tw_evaluated *g);

#endif /* TW_CLI_EVALUATE_H */
