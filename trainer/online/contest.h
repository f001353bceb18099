/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_CONTEST_H
#define TW_ONLINE_CONTEST_H

/*
 * The contest of a candidate pipeline with the serving one, on held-out responses that
 * neither has seen. Models of the same source, group and trainer are compared; a model
 * wins if it has a certificate and its error is smaller by the margin. A candidate
 * without a counterpart has to beat the mean of the held-out power.
 */

#include "trainer/online/models.h"

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_prom;

struct tw_contest_terms {
	const struct tw_prom *const *held; /* responses of one machine */
	size_t count;
	double margin;   /* 0.05: the error must be smaller by 5 % */
	size_t rows_min; /* held-out rows that a verdict needs */
};

struct tw_contest {
	bool *won; /* for each candidate */
	size_t wins;
	size_t uncertified; /* candidates that lost for want of a certificate alone */
	size_t best;        /* the winner with the least error, else the candidate */
	/* Errors of the best on the held-out rows. serving_w: of its counterpart, else
	 * of the mean. */
	size_t rows;
	double candidate_w, serving_w;
	const char *reason; /* why the best has no certificate, or NULL */
};

/* serving may have no models. *out must be all zero; tw_contest_release() it. */
int tw_contest_run(const struct tw_online_models *candidates,
		   const struct tw_online_models *serving,
		   const struct tw_contest_terms *terms, struct tw_contest *out,
		   struct tw_err *err);
void tw_contest_release(struct tw_contest *c);

/*
 * Remove the files of the models that lost, and of the DynPower models of the same group
 * and trainer, from the candidate pipeline: publishing then keeps the serving ones.
 */
void tw_contest_drop_losers(const struct tw_contest *c,
			    const struct tw_online_models *candidates,
			    struct tw_fileset *pipeline);

#endif /* TW_ONLINE_CONTEST_H */
