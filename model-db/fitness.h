/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_FITNESS_H
#define TW_MODEL_DB_FITNESS_H

/*
 * Fitness: whether a model may serve a client that names no trainer. Weights are served
 * from fit models only, in any case, because Kepler itself computes with them.
 *
 * The fitness of small weights follows from the weights; that of other models from the
 * certificate in their metadata (estimator/predict/certificate.h).
 */

struct tw_model_info;
struct tw_weights_shape;

/* Keys of metadata.json. */
#define TW_CERTIFICATE_RISES "certificate_rises"                     /* true or false */
#define TW_CERTIFICATE_ADDITIVE "certificate_additive"               /* true or false */
#define TW_CERTIFICATE_SHARE_DEVIATION "certificate_share_deviation" /* number */

/* Reasons why a model is unfit. */
#define TW_FITNESS_FALLS "power does not rise with load"
#define TW_FITNESS_NOT_ADDITIVE "power of the parts is not that of the whole"
#define TW_FITNESS_IDLE "idle power is in its target"

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

/* *why: the reason for TW_UNFIT, a constant; else NULL. */
enum tw_fitness tw_model_fitness(const struct tw_model_info *i,
				 const struct tw_weights_shape *shape, const char **why);

#endif /* TW_MODEL_DB_FITNESS_H */
