/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_EXPORT_H
#define TW_CLI_EXPORT_H

/*
 * `tallywatt export` prepares a pipeline for publication: it keeps the models within the
 * error limits, and adds a card and plots for each, an error report for each node type,
 * and a README with tables. The result is a pipeline that tw-server can serve.
 */

#include "model-db/model.h"
#include "model-db/pipeline_merge.h"

#include <stddef.h>

struct tw_buf;
struct tw_err;
struct tw_fileset;
struct tw_node_type;
struct tw_node_types;

struct tw_export_args {
	const char *name; /* name of the pipeline */
	double max_mae_w; /* limits: models with larger errors are left out; NaN: no limit
			   */
	double max_mape_percent;  /* an undefined error is above any limit */
	const char *publisher;    /* or NULL */
	const char *collect_date; /* of the recorded data; or NULL */
};

struct tw_export_counts {
	size_t models, left_out, node_types;
};

/*
 * pipeline: the files of a pipeline (model-db/pipeline.h). *out must be empty; it is
 * yours. TW_NOTFOUND if no model is within the limits.
 */
int tw_export(const struct tw_fileset *pipeline, const struct tw_export_args *a,
	      struct tw_fileset *out, struct tw_export_counts *counts,
	      struct tw_err *err);

/*
 * ---- cli/export/export_report.c ----
 *
 * The README of an export and its error report for each node type, in the layout of
 * kepler-model-db.
 */

struct tw_export_report {
	const struct tw_export_args *args;
	const struct tw_model *models; /* sorted by tw_export_sort() */
	size_t count, left_out;
	const struct tw_node_types *types;
	const struct tw_fileset *files; /* the files so far, as targets of links */
};

/* "rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0". */
void tw_export_base(const struct tw_model *m, char *out, size_t size);

/* Sort by source, output, node type, group and error. */
void tw_export_sort(struct tw_model *models, size_t count);

/* The node types of these models. *out must be empty; it is yours. */
int tw_export_node_types(const struct tw_fileset *pipeline, const struct tw_model *models,
			 size_t count, struct tw_node_types *out, struct tw_err *err);

void tw_export_readme(const struct tw_export_report *r, struct tw_buf *out);
void tw_export_error_report(const struct tw_export_report *r,
			    const struct tw_node_type *type, struct tw_buf *out);

#endif /* TW_CLI_EXPORT_H */
