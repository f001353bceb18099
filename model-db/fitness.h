/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_FITNESS_H
#define TW_MODEL_DB_FITNESS_H

/*
 * Whether a model may be chosen for a client that does not name its trainer. Weights are
 * given of fit models only, named or not, because Kepler computes with them itself.
 *
 * Models that are a few weights are judged by these, others by their certificate, which
 * stands in their metadata (estimator/predict/certificate.h).
 */

struct tw_model_info;
struct tw_weights_shape;

/* Keys of metadata.json. */
#define TW_CERTIFICATE_RISES "certificate_rises"                     /* true or false */
#define TW_CERTIFICATE_ADDITIVE "certificate_additive"               /* true or false */
#define TW_CERTIFICATE_SHARE_DEVIATION "certificate_share_deviation" /* number */

/* Why a model is unfit. */
#define TW_FITNESS_FALLS "power does not rise with load"
#define TW_FITNESS_NOT_ADDITIVE "power of the parts is not that of the whole"
#define TW_FITNESS_IDLE "idle power is in its target"

/*
 * Up to this deviation (struct tw_certificate) a model of a whole machine serves a
 * machine that is a small share of it. At 1 the answer could be nothing.
 */
#define TW_SHARE_DEVIATION_MAX 0.5

enum tw_fitness {
	TW_FITNESS_UNKNOWN, /* AbsPower without a certificate */
	TW_FIT,
	TW_UNFIT,
};

/* *why is a constant: the reason for TW_UNFIT, else NULL. */
enum tw_fitness tw_model_fitness(const struct tw_model_info *i,
				 const struct tw_weights_shape *shape, const char **why);

#endif /* TW_MODEL_DB_FITNESS_H */
