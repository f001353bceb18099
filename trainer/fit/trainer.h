/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_H
#define TW_TRAINER_H

/*
 * A trainer fits one type of model to samples of one energy component.
 *
 * To add a trainer, write trainer/fit/fit_<name>.c with a `const struct tw_trainer`, list
 * it in trainer/fit/registry.c, and describe it in docs/trainers.md. The registry test
 * and `make check-docs` fail until all are done.
 *
 * A fit is reentrant and deterministic: the same samples and seed give the same text,
 * byte for byte, with any number of threads.
 */

#include "trainer/fit/samples.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_buf;
struct tw_err;

struct tw_trainer {
	const char *name;    /* "LinearRegressionTrainer", in requests and model names */
	const char *summary; /* one line, for --list */
	const char *predictor; /* predictor of estimator/predict/ that reads the text */
	size_t min_rows;       /* the fit rejects fewer rows */
	double cost_ns;        /* CPU time of a fit for each row: docs/scale.md */
	bool slow;             /* "all" trainers excludes it; it must be named */

	/* Append the component's file (JSON) to text. */
	int (*fit)(const struct tw_samples *s, uint64_t seed, struct tw_buf *text,
		   struct tw_err *err);
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

#endif /* TW_TRAINER_H */
