/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_H
#define TW_TRAINER_H

/*
 * A trainer fits one type of model to samples of one energy component.
 *
 * To add a trainer, write trainer/fit/fit_<name>.c with a `const struct tw_trainer`,
 * declare it here, list it in trainer/fit/trainer.c, and describe it in docs/trainers.md.
 * The test of the trainers and `make check-docs` fail until all are done.
 *
 * A fit is reentrant and deterministic: the same samples and seed give the same text,
 * byte for byte, with any number of threads.
 */

#include "lib/field/energy.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_fits;
struct tw_rest;

/* Power and features of one energy component, row by row. All pointers are borrowed. */
struct tw_samples {
	size_t rows;
	size_t cols;
	const double *x;             /* rows * cols, row major, raw units */
	const double *y;             /* rows: power, W */
	const char *const *features; /* cols: names */
	enum tw_component component; /* component of the power */
	/* Power is 0 W at zero features: a linear model has no constant. */
	bool from_zero;
	/*
	 * This many rows before and after a row share measurements with it. They must
	 * not train a model that the row validates.
	 */
	size_t overlap;
	const int64_t *time_ms; /* of each row, ascending; NULL: unknown */
	/* Fit as kepler-model-server does, with no regard to certificates. */
	bool unconstrained;
	/*
	 * Rest of these rows or, in a validation, of the training rows; NULL: not known
	 * yet.
	 */
	const struct tw_rest *rest;
	/*
	 * cols: whether the column grows with the load on a ray (docs/accuracy.md,
	 * "Certificate"). NULL: names decide, tw_feature_is_work().
	 */
	const bool *work;
	/*
	 * Blocks of validation (tw_fold_at()) that the rows consist of; 0: unknown. Inner
	 * folds of the same blocks share fits with other outer folds.
	 */
	size_t blocks;
	struct tw_fits *fits; /* where AutoTrainer shares fits; NULL: it does not */
};

/*
 * Limit of the magnitude of a feature or a power, far above any measurement. Its square
 * is finite as a double, and the value itself as a float.
 */
#define TW_SAMPLE_MAX 1e30

/* Copy a feature of the rows to out[s->rows]. */
void tw_samples_column(const struct tw_samples *s, size_t c, double *out);

/* The largest magnitude of a feature; 1 if it is not above `least`. */
double tw_samples_scale(const struct tw_samples *s, size_t c, double least);

/*
 * TW_INVALID for fewer than min_rows rows, for no features, and for values that are not
 * finite or larger than TW_SAMPLE_MAX; the text names the row and the feature.
 */
int tw_samples_check(const struct tw_samples *s, size_t min_rows, struct tw_err *err);

struct tw_trainer {
	const char *name;    /* "LinearRegressionTrainer", in requests and model names */
	const char *summary; /* one line, for --list */
	const char *predictor; /* predictor of estimator/predict/ that reads the text */
	size_t min_rows;       /* the fit rejects fewer rows */
	double cost_ns;        /* CPU time of a fit for each row: docs/scale.md */
	bool slow;             /* "all" trainers excludes it; it must be named */

	const void *how; /* of the trainers that share a fit */

	/* Append the component's file (JSON) to text. t is the trainer itself. */
	int (*fit)(const struct tw_trainer *t, const struct tw_samples *s, uint64_t seed,
		   struct tw_buf *text, struct tw_err *err);
	/*
	 * Get the choices that led to the text, a list of lines for the metadata. *lines
	 * is yours. NULL for a trainer without choices.
	 */
	int (*explain)(const char *text, size_t len, json_t **lines, struct tw_err *err);
};

size_t tw_trainer_count(void);
const struct tw_trainer *tw_trainer_at(size_t i);

/* NULL if there is no trainer of that name. */
const struct tw_trainer *tw_trainer_find(const char *name);

extern const struct tw_trainer tw_trainer_auto;
extern const struct tw_trainer tw_trainer_exponential;
extern const struct tw_trainer tw_trainer_knn;
extern const struct tw_trainer tw_trainer_linear;
extern const struct tw_trainer tw_trainer_logarithmic;
extern const struct tw_trainer tw_trainer_logistic;
extern const struct tw_trainer tw_trainer_polynomial;
extern const struct tw_trainer tw_trainer_ridge;

/* Not in builds with LIBSVM=0. */
extern const struct tw_trainer tw_trainer_svr;

/*
 * Not in builds with XGBOOST=0. tw_trainer_auto_boost and tw_trainer_sampled_boost are
 * learners of AutoTrainer only.
 */
extern const struct tw_trainer tw_trainer_auto_boost;
extern const struct tw_trainer tw_trainer_sampled_boost;
extern const struct tw_trainer tw_trainer_gradient_boosting;
extern const struct tw_trainer tw_trainer_xgboost;

#endif /* TW_TRAINER_H */
