/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_FITNESS_H
#define TW_MODEL_DB_FITNESS_H

/*
 * Fitness: whether a model may serve a client that names no trainer. Weights are served
 * from fit models only, in any case, because Kepler itself computes with them.
 *
 * The fitness of small weights follows from the weights; that of other models from the
 * certificate in their metadata (estimator/predict/certificate.h). A failed test of rest,
 * jump or sign makes any model unfit. Models of earlier releases lack these keys.
 */

#include <stdbool.h>

struct tw_model_info;
struct tw_weights_shape;

/* Keys of metadata.json. */
#define TW_CERTIFICATE_RISES "certificate_rises"                     /* true or false */
#define TW_CERTIFICATE_ADDITIVE "certificate_additive"               /* true or false */
#define TW_CERTIFICATE_SHARE_DEVIATION "certificate_share_deviation" /* number */
#define TW_CERTIFICATE_NON_NEGATIVE "certificate_non_negative"       /* true or false */
#define TW_CERTIFICATE_REST "certificate_rest"                       /* true or false */
#define TW_CERTIFICATE_NO_JUMP "certificate_no_jump"                 /* true or false */
/*
 * Number: the largest mean error on held-out rows, as a share of its limit below. Models
 * above 1 are refused.
 */
#define TW_CERTIFICATE_BIAS "certificate_bias"
/*
 * Text, one of the reasons below: the model gets no certificate, whatever the tests above
 * say. Absent: no such reason.
 */
#define TW_CERTIFICATE_REFUSED "certificate_refused"

/* Reasons why a model is unfit. */
#define TW_FITNESS_FALLS "power does not rise with load"
#define TW_FITNESS_NOT_ADDITIVE "power of the parts is not that of the whole"
#define TW_FITNESS_IDLE "idle power is in its target"
#define TW_FITNESS_NEGATIVE "power can be negative"
#define TW_FITNESS_REST "power at rest is not that of the recording"
#define TW_FITNESS_JUMP "power jumps just above rest"
/* Reasons of TW_CERTIFICATE_REFUSED. */
#define TW_REFUSED_NO_REST \
	"its features do not show rest: with the least load, power is not lowest"
#define TW_REFUSED_CPU_TIME \
	"its CPU time is incomplete: the recorded cycles do not fit into it"
#define TW_REFUSED_BALANCE "its recording has other CPU time than the node's total"
#define TW_REFUSED_NO_LOAD "its recording has no load: power does not vary with it"
#define TW_REFUSED_LOAD "its recording has more load than the machine has CPUs"
#define TW_REFUSED_STEP \
	"its recording has a step that does not divide the scrape interval"
#define TW_REFUSED_TIMES "its recording has power of other times than its load"
#define TW_REFUSED_UNSEEN \
	"its recording lacks the work of workloads that ran before they appeared"
#define TW_REFUSED_NOISE "its recording has too few readings for the noise of its power"
#define TW_REFUSED_POWER "its recording has power outside physics"
#define TW_REFUSED_UNIT \
	"its recording has a wrong unit: the watts of a busy CPU are outside physics"
#define TW_REFUSED_ERROR "its own error is above 50 %"
#define TW_REFUSED_DRIFT "its power drifts with time, which no feature explains"
#define TW_REFUSED_BIAS                                                       \
	"its mean error is too large, on all rows, at little or much power, " \
	"or between both halves"

/* The largest error on held-out rows of a model with a certificate, percent. */
#define TW_CERTIFICATE_ERROR_MAX 50.0
/*
 * The largest mean errors there, percent of the mean power: of all rows, of the fifth
 * with the least or the most power, and of the second half less that of the first. Models
 * of recorded machines reach 12, 20 and 9; models without rest 12, 41 and 21.
 */
#define TW_BIAS_MAX 15.0
#define TW_BIAS_END_MAX 25.0
#define TW_BIAS_DRIFT_MAX 15.0

/*
 * A model with a larger TW_CERTIFICATE_BIAS, a third of the limits, serves where no other
 * model of an equally near machine does. The prior of machines goes before it, unless the
 * model is of the very machine.
 */
#define TW_BIAS_PREFERRED (1.0 / 3)

/*
 * The largest deviation (struct tw_certificate) at which a model of a whole machine also
 * serves a machine that is a small share of it. At 1 it might predict 0 W.
 */
#define TW_SHARE_DEVIATION_MAX 0.5

enum tw_fitness {
	TW_FITNESS_UNKNOWN, /* AbsPower without a certificate */
	TW_FIT,
	TW_UNFIT,
};

/* "yes", "no", or "-" for TW_FITNESS_UNKNOWN: whether a model has a certificate. */
const char *tw_fitness_word(enum tw_fitness f);

/* Above TW_BIAS_PREFERRED. Earlier releases did not judge it: false. */
bool tw_model_is_biased(const struct tw_model_info *i);

/* *why: the reason for TW_UNFIT, a constant; else NULL. */
enum tw_fitness tw_model_fitness(const struct tw_model_info *i,
				 const struct tw_weights_shape *shape, const char **why);

#endif /* TW_MODEL_DB_FITNESS_H */
