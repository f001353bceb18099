/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CERTIFICATE_H
#define TW_ESTIMATOR_CERTIFICATE_H

/*
 * The certificate of a model: properties tested by predictions. Does power rise with
 * load? Is power at rest that of the recording, and does it grow from there without a
 * step? Is it never negative? Does the power of the parts of a machine add up to the
 * power of the whole? A low error on a recording proves no such property
 * (docs/accuracy.md, "Certificate").
 *
 * A ray is a row of features multiplied by factors from 0 to 1. Features that do not
 * count work, such as a clock frequency, keep their values on a ray.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_model;
struct tw_power_model;

/* The evidence of a recording about the power of a component at rest. */
struct tw_rest_evidence {
	double low, high; /* interval of the power at rest, W; 0, 0 of a workload */
	bool rested;      /* measured at rest; else low and high only bound it */
	/* The lowest 2 % of the loads are below low_load; load is their feature. */
	const char *load;
	double low_load;
};

struct tw_certificate {
	/*
	 * On every ray, no component falls by more than 1 % of its range. Package or
	 * platform power is higher at the corner of the training ranges than at rest.
	 */
	bool rises;
	/* Power at rest is 0, and f(x) + f(y) equals f(x + y) within 2 %. */
	bool additive;
	/*
	 * The largest |k (P(x / k) - P(0)) / (P(x) - P(0)) - 1| for k = 2, 8, 32, where P
	 * is package or platform power: the deviation of the power of k parts of a
	 * machine from the power of the whole. NaN if P(x) equals P(0).
	 */
	double share_deviation;
	/*
	 * No component is below 0 W by more than 1 % of its range in the box of features
	 * from 0 to twice the corner: at its edges and at random places of it.
	 * Predictions have no limit at 0, as in a client that computes from weights.
	 */
	bool non_negative;
	bool recorded; /* tested with evidence of a recording; else the next two are true
			*/
	/* Power at rest is in the interval of the evidence, give or take 1 % of the
	 * range. */
	bool rest;
	/* On no ray is there a step above 5 % of the range within the lowest 2 % of
	 * loads. */
	bool no_jump;
};

/*
 * Test the rays to rows[count * columns], in the order of the model's features, and to
 * the corner of the training ranges. A model without training ranges is tested with the
 * features of a busy machine with the model's number of cores. rows may be NULL.
 * evidence: one entry for each part of the model; NULL: the recording is not known.
 */
int tw_certify(const struct tw_power_model *p, const double *rows, size_t count,
	       const struct tw_rest_evidence *evidence, struct tw_certificate *out,
	       struct tw_err *err);

/*
 * Check that a model is fit to be a default, which requests use without naming its
 * trainer. TW_INVALID: it can be negative, AbsPower does not rise, or DynPower is not
 * additive.
 */
int tw_certify_default(const struct tw_power_model *p, struct tw_err *err);

/* The same for a model that is not loaded yet. m is taken: all zero afterwards. */
int tw_certify_model(struct tw_model *m, struct tw_err *err);

/* Add the keys of model-db/fitness.h to a model's metadata. */
int tw_certificate_write(const struct tw_certificate *c, json_t *metadata,
			 struct tw_err *err);

#endif /* TW_ESTIMATOR_CERTIFICATE_H */
