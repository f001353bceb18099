/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_TRAIN_REFUSAL_H
#define TW_TRAINER_TRAIN_REFUSAL_H

/*
 * Why a trained model gets no certificate, whatever its own tests say: its recording or
 * its errors on held-out rows are at fault (model-db/fitness.h, TW_REFUSED_..).
 */

#include <jansson.h>

struct tw_err;
struct tw_rest;
struct tw_train_scores;

/*
 * *why: the most telling reason, a constant; NULL: none. rest: of each component. Call
 * these while the scores have their predictions.
 */
int tw_train_refusal_find(const struct tw_train_scores *s, const struct tw_rest *rest,
			  const char **why, struct tw_err *err);

/* The largest mean error, as a share of its limit: TW_CERTIFICATE_BIAS. */
double tw_train_bias(const struct tw_train_scores *s);

/* The five rows that show the reason best, as texts with time and watts. NULL without
 * memory. */
json_t *tw_train_refusal_rows(const struct tw_train_scores *s, const char *why);

/* The advice for a reason, as the end of a sentence. */
const char *tw_train_refusal_advice(const char *why);

#endif /* TW_TRAINER_TRAIN_REFUSAL_H */
