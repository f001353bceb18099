/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_ANSWER_ERROR_H
#define TW_ESTIMATOR_ANSWER_ERROR_H

/*
 * The error to expect of each answer of a model's component, and its interval
 * (docs/accuracy.md, "Intervals"), from the metadata and the component's file of expected
 * errors. Immutable after load.
 */

#include "lib/field/energy.h"

#include <jansson.h>
#include <stddef.h>

struct tw_err;
struct tw_model_part;
struct tw_rows;

#define TW_INTERVAL_BINS_MAX 16

/* The half-width of the interval of an answer. All zero bytes: unknown. */
struct tw_answer_interval {
	/* Bins of predicted power, between the edges, in W; 1: a constant. */
	size_t bins;
	double edge[TW_INTERVAL_BINS_MAX - 1]; /* bins - 1, rising */
	double width[TW_INTERVAL_BINS_MAX];    /* half-width, W */
	double factor; /* above 0: the half-width is this times the expected error */
};

double tw_answer_interval_half(const struct tw_answer_interval *i, double watts,
			       double expected_w);

/* All zero bytes: nothing is known. */
struct tw_answer_error {
	struct tw_answer_interval alone, series;
	double mae_w;   /* of all rows; NaN: unknown */
	void *expected; /* state of the predictor "ensemble"; NULL: the mean for all */
};

/*
 * Read the keys of the part from the untrusted metadata, and its error_text. Metadata
 * without intervals gives constant ones of <component>_p95. *out must be all zero; it is
 * yours: tw_answer_error_release().
 */
int tw_answer_error_load(const json_t *metadata, const struct tw_model_part *part,
			 struct tw_answer_error *out, struct tw_err *err);

void tw_answer_error_release(struct tw_answer_error *e);

/* The number of earlier rows that the expected error uses. */
size_t tw_answer_error_back(const struct tw_answer_error *e);

/*
 * Set expected_w[rows] and half_w[rows] for predicted watts of the rows. NaN: unknown,
 * as the watts may be. Does not allocate.
 */
void tw_answer_error_of(const struct tw_answer_error *e, const struct tw_rows *in,
			const double *watts, double *expected_w, double *half_w);

#endif /* TW_ESTIMATOR_ANSWER_ERROR_H */
