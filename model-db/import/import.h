/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_H
#define TW_MODEL_DB_IMPORT_H

/*
 * A pipeline of kepler-model-server, 0.6 or 0.7, becomes ours: docs/model-db.md,
 * "Import". What is weights or XGBoost's JSON becomes a model; the rest is kept as it is,
 * below "foreign/", with the reason. No pickle is ever opened.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_model;

enum tw_import_outcome {
	TW_IMPORT_USABLE,  /* a model of ours */
	TW_IMPORT_KEPT,    /* to be downloaded as it is */
	TW_IMPORT_REFUSED, /* not even that: broken */
	TW_IMPORT_OUTCOMES
};

/* Told of each model: "rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0". */
typedef void tw_import_told_fn(void *arg, const char *model,
			       enum tw_import_outcome outcome, const char *why);

/* A further look at a model; one that it refuses is kept as it is. */
typedef int tw_import_look_fn(void *arg, const struct tw_model *m, struct tw_err *err);

struct tw_import_listener {
	tw_import_told_fn *told;
	tw_import_look_fn *look;
	void *arg; /* of both */
};

/* Sorts old. *out must be empty; it is yours. TW_INVALID: no model can be used. */
int tw_import_pipeline(struct tw_fileset *old, struct tw_fileset *out,
		       const struct tw_import_listener *listener, struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_H */
