/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_PREDICTOR_H
#define TW_ESTIMATOR_PREDICTOR_H

/*
 * Predictors. Each evaluates one kind of model, component by component.
 *
 * A model names its predictor in its metadata (model_class). To add a predictor, write
 * estimator/predict/predict_<name>.c with a `const struct tw_predictor`, list it in
 * estimator/predict/registry.c and describe its file in docs/model-format.md.
 *
 * A state is immutable after load and may be used from several threads. Predicting does
 * not allocate and cannot fail.
 */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_categories;
struct json_t;
struct tw_err;
struct tw_strs;

/* Rows of raw feature values, in the units of docs/wire.md. */
struct tw_rows {
	const double *x; /* row r, column c: x[r * stride + c] */
	size_t rows;
	size_t stride;
	/* Column of each of the model's features; UINT32_MAX: absent. NULL: 0, 1, 2.. */
	const uint32_t *place;
	/* Rising times of the rows of a series. NULL: rows are independent. */
	const int64_t *time_ms;
	/* Number of earlier rows, which lie before x and time_ms in memory. */
	size_t before;
	/* Categories, which hold for all rows; NULL: none are known. */
	const struct tw_categories *categories;
};

/* The column of a feature, or UINT32_MAX. */
static inline uint32_t tw_rows_column(const struct tw_rows *in, size_t feature)
{
	return in->place != NULL ? in->place[feature] : (uint32_t)feature;
}

/* The value of a feature in a row; NaN if it is absent. */
static inline double tw_rows_value(const struct tw_rows *in, size_t r, size_t feature)
{
	const uint32_t column = tw_rows_column(in, feature);

	return column != UINT32_MAX ? in->x[r * in->stride + column] : NAN;
}

struct tw_predictor {
	const char *name; /* stable: stored in model files */
	const char *summary;

	size_t state_bytes;
	/*
	 * Fill a state of zeros from a component's file, untrusted; features are its
	 * inputs, in order. After a failure the state is released, too.
	 */
	int (*read)(const struct json_t *root, const struct tw_strs *features,
		    void *state, struct tw_err *err);
	/* Read the text in place of read(): for files that are large as json_t. */
	int (*read_text)(const char *text, size_t len, const struct tw_strs *features,
			 void *state, struct tw_err *err);
	/* Free what the state points to. NULL: nothing. */
	void (*release)(void *state);
	/* Set watts[rows]. A predictor defines what an absent feature does. */
	void (*predict)(const void *state, const struct tw_rows *in, double *watts);
	/* The number of earlier rows of a series that a prediction uses. NULL: 0. */
	size_t (*back)(const void *state);
	/* The time between rows of a series, in ms. NULL with back(). */
	double (*step_ms)(const void *state);
	/* Whether the form for series predicts the row. NULL: there is no such form. */
	bool (*in_series)(const void *state, const struct tw_rows *in, size_t row);
	/* Estimated time of a row in ns, for fair turns. NULL: negligible. */
	uint64_t (*row_ns)(const void *state);
};

/* Load a component's file. *out is yours: tw_predictor_free(). */
int tw_predictor_load(const struct tw_predictor *p, const char *text, size_t len,
		      const struct tw_strs *features, void **out, struct tw_err *err);

/* The same of a file within another one. */
int tw_predictor_load_json(const struct tw_predictor *p, const struct json_t *root,
			   const struct tw_strs *features, void **out,
			   struct tw_err *err);

void tw_predictor_free(const struct tw_predictor *p, void *state); /* NULL is fine */

static inline uint64_t tw_predictor_row_ns(const struct tw_predictor *p,
					   const void *state)
{
	return p->row_ns != NULL ? p->row_ns(state) : 0;
}

size_t tw_predictor_count(void);
const struct tw_predictor *tw_predictor_at(size_t i);

/* NULL: there is no predictor of that name. */
const struct tw_predictor *tw_predictor_find(const char *name);

extern const struct tw_predictor tw_predictor_curvefit;
extern const struct tw_predictor tw_predictor_ensemble;
extern const struct tw_predictor tw_predictor_isotonic;
extern const struct tw_predictor tw_predictor_knn;
extern const struct tw_predictor tw_predictor_linear;
extern const struct tw_predictor tw_predictor_polynomial;
extern const struct tw_predictor tw_predictor_svr;
extern const struct tw_predictor tw_predictor_trees;
extern const struct tw_predictor tw_predictor_xgboost;

#endif /* TW_ESTIMATOR_PREDICTOR_H */
