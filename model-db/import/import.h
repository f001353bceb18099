/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_IMPORT_H
#define TW_MODEL_DB_IMPORT_H

/*
 * Converts a pipeline of kepler-model-server 0.6 or 0.7 (docs/model-db.md, "Import").
 * Weights and XGBoost's JSON become models. Other models are copied to "foreign/"
 * unchanged, with a reason. Pickles are never opened.
 */

struct tw_err;
struct tw_fileset;
struct tw_model;

enum tw_import_outcome {
	TW_IMPORT_USABLE,  /* converted */
	TW_IMPORT_KEPT,    /* copied unchanged, for download only */
	TW_IMPORT_REFUSED, /* left out: broken */
	TW_IMPORT_OUTCOMES
};

/* Called for each model: "rapl-sysfs/AbsPower/BPFOnly/SGDRegressorTrainer_0". */
typedef void tw_import_report_fn(void *arg, const char *model,
				 enum tw_import_outcome outcome, const char *why);

/* Checks a converted model; if it fails, the original is kept unchanged. */
typedef int tw_import_look_fn(void *arg, const struct tw_model *m, struct tw_err *err);

struct tw_import_listener {
	tw_import_report_fn *report;
	tw_import_look_fn *look;
	void *arg; /* for both */
};

/* Sorts old. *out must be empty; it is yours. TW_INVALID if no model is usable. */
int tw_import_pipeline(struct tw_fileset *old, struct tw_fileset *out,
		       const struct tw_import_listener *listener, struct tw_err *err);

#endif /* TW_MODEL_DB_IMPORT_H */
