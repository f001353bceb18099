/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ONLINE_MODELS_H
#define TW_ONLINE_MODELS_H

/*
 * The AbsPower models of a pipeline, and their errors on responses. DynPower models are
 * left out: no meter measures the power of workloads apart from that at rest.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_fileset;
struct tw_power_model;
struct tw_train_response;

struct tw_online_model {
	struct tw_power_model *model;
	bool certified;     /* its certificate holds */
	const char *reason; /* why not; a constant */
};

/* All zero bytes: no models. */
struct tw_online_models {
	struct tw_online_model *at;
	size_t count;
	int64_t last_ms; /* of the data that trained them; 0: unknown */
};

/* Read the models of a pipeline's files. *out must be empty; release it after a failure.
 */
int tw_online_models_read(const struct tw_fileset *pipeline, struct tw_online_models *out,
			  struct tw_err *err);

/* Read the models of a published pipeline. No models if there is no such directory. */
int tw_online_models_load(const char *dir, struct tw_online_models *out,
			  struct tw_err *err);
void tw_online_models_release(struct tw_online_models *m);

/* The index of the model with the same source, group and trainer; m->count: none. */
size_t tw_online_models_find(const struct tw_online_models *m,
			     const struct tw_power_model *like);

/*
 * The index of the model that speaks for the pipeline: of those with a certificate, else
 * of all, that with the least error of its blocked validation. m->count without models.
 */
size_t tw_online_models_main(const struct tw_online_models *m);

/* Errors of a model, in sums over rows. All zero bytes: no rows. */
struct tw_online_error {
	size_t rows;
	double error_sum_w; /* of |predicted - measured| */
	double bias_sum_w;
	double mean_error_sum_w; /* of |mean of the response - measured| */
};

/*
 * Add the errors of a model on a response of one machine. A response without the model's
 * metrics adds no rows. The power is that of the model's first component.
 */
int tw_online_error_add(struct tw_online_error *e, const struct tw_power_model *p,
			const struct tw_train_response *response, struct tw_err *err);

double tw_online_error_mae_w(const struct tw_online_error *e); /* NaN without rows */

/*
 * ---- live error ----
 *
 * The live error of a model: its mean absolute error on the samples of the last
 * intervals, which it has not seen.
 */

/* The live error is of the last this many intervals with rows. */
#define TW_LIVE_INTERVALS 5

/* The model drifts if its live error exceeds its expected error this many times. */
#define TW_LIVE_DRIFT 2.0

struct tw_live_interval {
	int64_t from_ms;
	struct tw_online_error error;
};

/* All zero bytes: no interval yet. */
struct tw_live {
	struct tw_live_interval at[TW_LIVE_INTERVALS]; /* the oldest first */
	size_t count;
};

/* Add an interval, or replace the last if it is that; one without rows is skipped. */
void tw_live_add(struct tw_live *l, const struct tw_live_interval *i);

double tw_live_mae_w(const struct tw_live *l);  /* NaN without rows */
double tw_live_bias_w(const struct tw_live *l); /* NaN without rows */

/*
 * Live error divided by the expected error; NaN if either is unknown, or if there are
 * fewer than two intervals, because the load of a single one may be unusual.
 */
double tw_live_drift(const struct tw_live *l, double expected_w);

/* The start of the first interval whose own error is that of a drift. */
int64_t tw_live_onset_ms(const struct tw_live *l, double expected_w);

#endif /* TW_ONLINE_MODELS_H */
