/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_ESTIMATOR_CERTIFICATE_H
#define TW_ESTIMATOR_CERTIFICATE_H

/*
 * What a model guarantees, found by asking it: whether power rises with load, and whether
 * the power of the parts of a machine adds up to the power of the whole. A low error on a
 * recording says neither (docs/accuracy.md, "Certificate").
 *
 * A ray is a row of features times 0 to 1. On it, features that are no work, as a clock
 * frequency, keep their values.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_model;
struct tw_power_model;

struct tw_certificate {
	/*
	 * On every ray no component falls by more than 1 % of its range. At the corner of
	 * the ranges package or platform is higher than at rest.
	 */
	bool rises;
	/* Nothing at rest, and f(x) + f(y) is f(x + y) within 2 %. */
	bool additive;
	/*
	 * Of package or platform, the largest |k (P(x / k) - P(0)) / (P(x) - P(0)) - 1|
	 * with k = 2, 8, 32: how far the power of k small machines is from that of the
	 * whole. NaN where P(x) is P(0).
	 */
	double share_deviation;
};

/*
 * The rays go to rows[count * columns], in the order of the model's features, and to the
 * corners of the ranges that the model was trained on. Without ranges they go to a busy
 * machine of the model's number of cores. rows may be NULL.
 */
int tw_certify(const struct tw_power_model *p, const double *rows, size_t count,
	       struct tw_certificate *out, struct tw_err *err);

/*
 * TW_INVALID, with the reason, for a model that must not be chosen unless its trainer is
 * named: AbsPower that does not rise, DynPower that is not additive.
 */
int tw_certify_default(const struct tw_power_model *p, struct tw_err *err);

/* The same for a model that is not loaded yet. Takes m: it is all zero afterwards. */
int tw_certify_model(struct tw_model *m, struct tw_err *err);

/* Add the keys of model-db/fitness.h to a model's metadata. */
int tw_certificate_write(const struct tw_certificate *c, json_t *metadata,
			 struct tw_err *err);

#endif /* TW_ESTIMATOR_CERTIFICATE_H */
