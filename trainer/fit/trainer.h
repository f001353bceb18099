/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_H
#define TW_TRAINER_H

/*
 * Trainers: each fits one kind of model to samples of one energy component.
 *
 * To add one, write trainer/fit_<name>.c with a `const struct tw_trainer`, name it in
 * trainer/fit/registry.c, and describe it in docs/trainers.md. The registry test and
 * `make check-docs` fail until all are done.
 *
 * A fit is deterministic: the same samples and seed give the same text, byte for
 * byte, whatever the number of threads around it. It is reentrant.
 */

#include "trainer/fit/samples.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;

struct tw_trainer {
	const char *name;    /* "LinearRegressionTrainer": in requests and model names */
	const char *summary; /* one line, for --list */
	const char *predictor; /* of estimator/ that reads the text */
	size_t min_rows;       /* refuse fewer */
	bool slow;             /* by name only: it is not one of "all trainers" */

	/* Append the component's file (JSON) to text. */
	int (*fit)(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		   struct tw_err *err);
	/*
	 * How that text came about: a list of lines for the metadata; yours. NULL where
	 * there is nothing to tell.
	 */
	int (*explain)(const char *text, size_t len, json_t **lines, struct tw_err *err);
};

size_t tw_trainer_count(void);
const struct tw_trainer *tw_trainer_at(size_t i);

/* NULL if there is no trainer of that name. */
const struct tw_trainer *tw_trainer_find(const char *name);

#endif /* TW_TRAINER_H */
