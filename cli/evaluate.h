/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_EVALUATE_H
#define TW_CLI_EVALUATE_H

/*
 * What `tallywatt validate` does: models of any source, group and output against one
 * recording, which each takes as its training would have.
 */

#include "lib/field/dataset.h"
#include "trainer/extract/extract.h"
#include "trainer/fit/model_score.h"
#include "trainer/fit/workloads.h"
#include "trainer/isolation.h"

#include <jansson.h>

struct tw_buf;
struct tw_err;
struct tw_power_model;
struct tw_prom;

/* All zero bytes but for what is asked is ready for tw_evaluation_read(). */
struct tw_evaluation {
	const char *machine;
	const struct tw_isolator *isolator;          /* NULL: the model's own */
	const struct tw_isolation_config *isolation; /* what it is told, or NULL */
	enum tw_resets resets;
	bool vm_metrics;
	struct tw_workloads workloads; /* to judge by one by one; or none */

	struct tw_prom *response;
	struct tw_dataset table; /* where there is no response */
};

/* A response, if the text begins as an object does, with the metrics of more besides;
 * else a table. */
int tw_evaluation_read(struct tw_evaluation *j, const char *path,
		       const struct tw_strs *more, struct tw_err *err);

/* The features of a model that no schema knows: metrics by name. */
int tw_evaluation_metrics(const struct tw_power_model *p, struct tw_strs *out,
			  struct tw_err *err);
void tw_evaluation_release(struct tw_evaluation *j);

/* What is said of one model. */
struct tw_evaluated {
	const struct tw_power_model *model;
	const struct tw_isolator *isolator; /* NULL: none was at work */
	struct tw_model_score all;
	struct tw_model_score *by_workload; /* one a name, rows 0 where it has none */
	const struct tw_strs *workloads;
};

/* *out must be all zero; it is yours, and lives no longer than the model and j. */
int tw_evaluate_model(const struct tw_evaluation *j, const struct tw_power_model *p,
		      struct tw_evaluated *out, struct tw_err *err);

/* Append a table; path is the model's. */
void tw_evaluated_to_text(const struct tw_evaluated *g, const char *path,
			  struct tw_buf *out);

/* NULL without memory. */
json_t *tw_evaluated_to_json(const struct tw_evaluated *g, const char *path,
			     const char *input);

void tw_evaluated_release(struct tw_evaluated *g);

#endif /* TW_CLI_EVALUATE_H */
