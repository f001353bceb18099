/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_ANSWER_H
#define TW_MODEL_DB_PRIOR_ANSWER_H

/* The prior's answer for a machine: a curve with intervals and expected errors. */

#include "model-db/prior/prior.h"

#include <stdbool.h>

struct tw_err;

struct tw_prior_curve {
	double w[TW_PRIOR_LOADS];                         /* rising */
	double low[TW_PRIOR_LOADS], high[TW_PRIOR_LOADS]; /* 90 % interval */
	double error[TW_PRIOR_LOADS];                     /* expected |error|, W */
	const struct tw_prior_view *view;
	bool later; /* the table lacks its generation */
};

/*
 * The power of a machine by a view (of view->unit). Curves do not fall and
 * are above 0. Errors: those of tw_prior_variance().
 */
int tw_prior_answer(const struct tw_prior *p, const struct tw_prior_view *v,
		    const struct tw_prior_machine *m, struct tw_prior_curve *out,
		    struct tw_err *err);

#endif /* TW_MODEL_DB_PRIOR_ANSWER_H */
