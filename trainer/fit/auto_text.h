/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_AUTO_TEXT_H
#define TW_TRAINER_AUTO_TEXT_H

/* The model of AutoTrainer as text: its members, fitted on all rows, and its choices. */

#include "trainer/fit/auto_trials.h"

struct tw_buf;

/* The choice of AutoTrainer. All zero bytes: no choice yet. */
struct tw_auto_fit {
	struct tw_rest rest;
	struct tw_auto_trials alone, series;
	struct tw_auto_blend alone_blend, series_blend;
	bool looks_back; /* the series form is kept */
	bool unbound;    /* power need not rise from rest */
};

/* Fit the members on all rows and append {"ensemble":{..}} (docs/model-format.md). */
int tw_auto_text(const struct tw_auto_fit *f, const struct tw_samples *s,
		 struct tw_buf *text, struct tw_err *err);

/* The trials and choices in such a text: struct tw_trainer, explain. */
int tw_auto_explain(const char *text, size_t len, json_t **lines, struct tw_err *err);

#endif /* TW_TRAINER_AUTO_TEXT_H */
