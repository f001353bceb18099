/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_WEIGHTS_H
#define TW_MODEL_DB_WEIGHTS_H

/*
 * Weights JSON: the form in which Kepler takes models (docs/wire.md, "Weights").
 *
 * The file of a linear component already has that form, {"All_Weights":{..}}; it is
 * checked and copied. The trees of an xgboost component go as base64 under
 * XGboost_Weights, which only kepler-model-server's estimator reads. A curve goes under
 * CurveFit_Weights, only to clients that compute it correctly.
 */

#include <stdbool.h>

struct tw_buf;
struct tw_err;
struct tw_model;
struct tw_model_info;

/* Generations of clients: docs/wire.md, "Client generations". */
enum tw_client {
	TW_CLIENT_CURRENT,   /* Kepler 0.7.12 to 0.9, kepler-model-server's, ours */
	TW_CLIENT_0_7,       /* Kepler 0.5.4 to 0.7.11: component keys only */
	TW_CLIENT_0_5,       /* Kepler up to 0.5.3, components: pkg, core, uncore, dram */
	TW_CLIENT_0_5_TOTAL, /* Kepler up to 0.5.3, node total: one bare All_Weights */
	TW_CLIENT_COUNT
};

/* Whether the model's predictor has weights at all. */
bool tw_weights_exist(const struct tw_model *m);

/*
 * Whether Kepler itself computes with the weights. Only such weights go to clients that
 * name no trainer, and into files of their own.
 */
bool tw_weights_plain(const struct tw_model *m);

/*
 * Whether the components of this predictor's models are a few hundred bytes of weights.
 * The functions below then need no other part of the model.
 */
bool tw_weights_small(const struct tw_model_info *i);

/*
 * The clients that can use the model's weights: bits 1u << enum tw_client. For a curve
 * valid only if tw_weights_first_metric() succeeds.
 */
unsigned tw_weights_clients(const struct tw_model *m);

/* How the power of small weights depends on the use of the machine. */
struct tw_weights_shape {
	bool known; /* false: the weights are not small, the other fields are false */
	/*
	 * Package or platform power is above 0 at zero use. Kepler up to 0.7.12 computes
	 * no dynamic power without it.
	 */
	bool idle_power;
	bool non_negative; /* every component at any use */
	bool rises;        /* non_negative, and package or platform rises with use */
	bool additive;     /* every component: non-negative weights and no constant */
};

int tw_weights_shape(const struct tw_model *m, struct tw_weights_shape *out,
		     struct tw_err *err);

/*
 * The metric that a request must name first. Clients compute a curve from the first
 * metric of their request, whatever it is. NULL: any metric. *out is yours: free().
 * TW_UNSUPPORTED if no client computes the weights correctly.
 */
int tw_weights_first_metric(const struct tw_model *m, char **out, struct tw_err *err);

/*
 * Append the weights in the client's form. TW_UNSUPPORTED if the client cannot use them:
 * old clients take only plain weights, and a platform's power only as a total. Also
 * TW_UNSUPPORTED if they can give negative power, because Kepler converts power to an
 * unsigned integer: -77 W becomes 1.8e16 W.
 */
int tw_weights_write(const struct tw_model *m, enum tw_client client, struct tw_buf *out,
		     struct tw_err *err);

#endif /* TW_MODEL_DB_WEIGHTS_H */
