/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_WEIGHTS_H
#define TW_MODEL_DB_WEIGHTS_H

/*
 * Weights JSON: the form in which Kepler takes models (docs/wire.md, "Weights").
 *
 * A linear component's own file already is {"All_Weights":{..}}, so weights are those
 * files, checked, under their components' names. An xgboost component is carried as
 * base64 under XGboost_Weights, which only kepler-model-server's own estimator reads. A
 * curve goes under CurveFit_Weights, and only to clients that compute it right.
 */

#include <stdbool.h>

struct tw_buf;
struct tw_err;
struct tw_model;
struct tw_model_info;

/* Who asks, by docs/wire.md, "Client generations". */
enum tw_client {
	TW_CLIENT_CURRENT, /* Kepler 0.7.12 to 0.9, kepler-model-server's, ours */
	TW_CLIENT_0_7,     /* Kepler 0.5.4 to 0.7.11: component keys only */
	TW_CLIENT_0_5, /* Kepler up to 0.5.3, ..Component..: pkg, core, uncore, dram */
	TW_CLIENT_0_5_TOTAL, /* Kepler up to 0.5.3, the others: one bare All_Weights */
	TW_CLIENT_COUNT
};

/* Whether the model's kind has weights at all. */
bool tw_weights_exist(const struct tw_model *m);

/*
 * Whether Kepler itself computes with them, so that they may be given to who names no
 * trainer, and are kept in files of their own.
 */
bool tw_weights_plain(const struct tw_model *m);

/*
 * Whether a model of this predictor has components that are no more than its weights: a
 * few hundred bytes, which alone tell what follows here.
 */
bool tw_weights_small(const struct tw_model_info *i);

/*
 * The clients that there are weights for, a bit 1u << enum tw_client each, by kind and
 * components; those of a curve only if tw_weights_first_metric() knows one.
 */
unsigned tw_weights_clients(const struct tw_model *m);

/* What the power that weights give does as the use of a machine grows. */
struct tw_weights_shape {
	bool known; /* the model is a small set of weights; else all else is false */
	/*
	 * Package or platform has power without use. Kepler up to 0.7.12 has no dynamic
	 * power at all without it.
	 */
	bool floor;
	bool non_negative; /* every component, whatever the use */
	bool rises;        /* that, and package or platform rises with use */
	bool additive;     /* every component: non-negative weights and no constant */
};

int tw_weights_shape(const struct tw_model *m, struct tw_weights_shape *out,
		     struct tw_err *err);

/*
 * The metric that a request must name first for the client to compute the weights right:
 * of curves, since clients take the first for the curve's feature whatever it is. NULL:
 * any will do. *out is yours: free(). TW_UNSUPPORTED if no client computes them right.
 */
int tw_weights_first_metric(const struct tw_model *m, char **out, struct tw_err *err);

/*
 * Append the weights as the client takes them. TW_UNSUPPORTED if there are none for
 * it: only plain weights exist for old clients, a platform's power only as a total.
 * Weights that give negative power are refused: Kepler converts power to an unsigned
 * integer, so -77 W becomes 1.8e16 W there.
 */
int tw_weights_write(const struct tw_model *m, enum tw_client client, struct tw_buf *out,
		     struct tw_err *err);

#endif /* TW_MODEL_DB_WEIGHTS_H */
