/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_EXPORT_H
#define TW_TRAINER_EXPORT_H

/*
 * A pipeline made ready to be published: the models that are good enough, with a card and
 * plots each, an error report for each node type, and a README with tables. What comes
 * out is a pipeline again, which tw-server serves.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;

struct tw_export_args {
	const char *name;        /* of the pipeline */
	double max_mae_w;        /* leave models with larger errors out; NaN: none */
	double max_mape_percent; /* an error that is not defined is not within it */
	const char *publisher;   /* or NULL */
};

struct tw_export_counts {
	size_t models, left_out, node_types;
};

/*
 * From the pipeline's files (model-db/pipeline.h). *out must be empty; it is yours.
 * TW_NOTFOUND where no model is within the limits.
 */
int tw_export(const struct tw_fileset *pipeline, const struct tw_export_args *a,
	      struct tw_fileset *out, struct tw_export_counts *counts,
	      struct tw_err *err);

#endif /* TW_TRAINER_EXPORT_H */
