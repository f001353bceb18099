/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_PREDICTOR_H
#define TW_ESTIMATOR_PREDICTOR_H

/*
 * Predictors: each evaluates one kind of model, component by component.
 *
 * A model names its predictor (metadata's model_class). To add one, write
 * estimator/predict_<name>.c with a `const struct tw_predictor`, name it in
 * estimator/predict/registry.c and describe it in docs/model-format.md.
 *
 * State is immutable after load and may be used from several threads. Predicting
 * does not allocate and cannot fail.
 */

#include <stddef.h>
#include <stdint.h>

struct tw_categories;
struct tw_err;
struct tw_strs;

/* Rows of raw feature values, in the units of docs/wire.md. */
struct tw_rows {
	const double *x; /* row r, column c: x[r * stride + c] */
	size_t rows;
	size_t stride;
	/* Column of each of the model's features; UINT32_MAX: absent. NULL: 0, 1, 2.. */
	const uint32_t *place;
	/* Of each row, rising: a series. NULL: each row stands alone. */
	const int64_t *time_ms;
	/* Rows of the series before x and time_ms, to look back at. */
	size_t before;
	/* What is no number, the same for all rows; NULL: nothing is known. */
	const struct tw_categories *categories;
};

struct tw_predictor {
	const char *name; /* stable: stored in model files */
	const char *summary;

	/* text is a component's file: untrusted. features are its inputs, in order. */
	int (*load)(const char *text, size_t len, const struct tw_strs *features,
		    void **state, struct tw_err *err);
	/* watts[rows]. An absent or NaN feature is what the kind makes of it. */
	void (*predict)(const void *state, const struct tw_rows *in, double *watts);
	void (*free)(void *state); /* NULL is fine */
	/* How many rows of a series before a row it looks at. NULL: none. */
	size_t (*back)(const void *state);
	/* About how long a row takes, so that others' turns come. NULL: next to nothing.
	 */
	uint64_t (*row_ns)(const void *state);
};

static inline uint64_t tw_predictor_row_ns(const struct tw_predictor *p,
					   const void *state)
{
	return p->row_ns != NULL ? p->row_ns(state) : 0;
}

size_t tw_predictor_count(void);
const struct tw_predictor *tw_predictor_at(size_t i);

/* NULL if there is no predictor of that name. */
const struct tw_predictor *tw_predictor_find(const char *name);

#endif /* TW_ESTIMATOR_PREDICTOR_H */
