/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_EXPORT_H
#define TW_CLI_EXPORT_H

/*
 * `tallywatt export` prepares a pipeline for publication: it keeps the models within the
 * error limits, and adds a card and plots for each, an error report for each node type,
 * and a README with tables. The result is a pipeline that tw-server can serve.
 */

#include "cli/export/export_report.h"

#include <stddef.h>

struct tw_err;
struct tw_fileset;

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

#endif /* TW_CLI_EXPORT_H */
