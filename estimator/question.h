/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_QUESTION_H
#define TW_ESTIMATOR_QUESTION_H

/*
 * The client's side of the estimator's socket: writing a request and reading its answer
 * (docs/wire.md, "Estimator socket"; docs/tw-estimator.md, "Version 2").
 */

#include "lib/field/energy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;
struct tw_strs;

struct tw_question {
	const struct tw_strs *metrics;
	const double *x; /* rows * metrics->count, row major; NaN: missing */
	size_t rows;
	const char *output;  /* "AbsPower" */
	const char *source;  /* NULL: the estimator's default */
	const char *trainer; /* NULL: any */
	const char *filter;  /* NULL: none */
	unsigned version;    /* 2: the answer describes the model, too */
	/* Version 2: the series of each row, all at time_ms. NULL: independent rows. */
	const char *const *series;
	int64_t time_ms;
};

/* Watts of each row, by component. NULL: the component is 0 in all rows, or unknown. */
struct tw_watts {
	double *of[TW_COMPONENT_COUNT];
	size_t rows;
};

#define TW_WORTH_TEXT 256

/* The model of an answer of version 2, and its errors. */
struct tw_worth {
	char model[TW_WORTH_TEXT]; /* name, truncated */
	char origin[32];           /* "server", "database", .. */
	char from[TW_WORTH_TEXT];
	double core_ratio;                /* 1: unknown */
	double mae_w[TW_COMPONENT_COUNT]; /* mean absolute error; NaN: unknown */
	bool has[TW_COMPONENT_COUNT];     /* the model predicts the component */
	uint64_t age_s;                   /* since the origin last confirmed the model */
	bool outside; /* the first row is outside the training range */
};

/* Append the request to out; check tw_buf_failed() afterwards. */
void tw_question_write(const struct tw_question *q, struct tw_buf *out);

/*
 * Read an untrusted answer to a request of `rows` rows. *out must be all zero; release it
 * with tw_watts_release(). worth is NULL for version 1. TW_NOTFOUND: the estimator has no
 * model; the error has its reason.
 */
int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_worth *worth, struct tw_err *err);

void tw_watts_release(struct tw_watts *w);

#endif /* TW_ESTIMATOR_QUESTION_H */
