/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_QUESTION_H
#define TW_ESTIMATOR_QUESTION_H

/*
 * What is asked on the estimator's socket and what is answered, as the one who asks has
 * it (docs/wire.md, "Estimator socket"; docs/tw-estimator.md, "Version 2").
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
	unsigned version;    /* 2: what the watts are worth is wanted, too */
};

/* Watts of each row by component; NULL: it is 0 in all of them. */
struct tw_watts {
	double *of[TW_COMPONENT_COUNT];
	size_t rows;
};

#define TW_WORTH_TEXT 256

/* What an answer of version 2 is worth. */
struct tw_worth {
	char model[TW_WORTH_TEXT]; /* its name; cut where it is longer */
	char origin[32];           /* "server", "database", .. */
	char from[TW_WORTH_TEXT];
	double core_ratio;                /* 1: not known */
	double mae_w[TW_COMPONENT_COUNT]; /* NaN: not known */
	bool has[TW_COMPONENT_COUNT];     /* what the model is of */
	uint64_t age_s; /* since the origin last said that this is the model */
	bool outside;   /* the first row is beyond what it was trained on */
};

/* The request at the end of out; failures stick to it. */
void tw_question_write(const struct tw_question *q, struct tw_buf *out);

/*
 * An answer to so many rows: untrusted. *out must be all zero; it is yours:
 * tw_watts_release(). worth is filled for version 2, NULL for 1. TW_NOTFOUND: there is no
 * model, and why.
 */
int tw_answer_read(const char *data, size_t len, size_t rows, struct tw_watts *out,
		   struct tw_worth *worth, struct tw_err *err);

void tw_watts_release(struct tw_watts *w);

#endif /* TW_ESTIMATOR_QUESTION_H */
