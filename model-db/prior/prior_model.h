/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_MODEL_H
#define TW_MODEL_DB_PRIOR_MODEL_H

/*
 * A model of a machine, made of the prior and the machine's spec: linear weights of CPU
 * time, which are non-negative and add up over shares. docs/machines.md has the formula.
 *
 * Wall power is the platform component of `acpi`. Package and DRAM power of rapl-sysfs
 * are shares of it that are derived from a recording, and marked as derived.
 */

#include "lib/field/energy.h"
#include "model-db/prior/prior.h"
#include "profiler/spec.h"

struct tw_err;
struct tw_model;
struct tw_strs;

/* The power of a whole machine, or of the share of it that the spec has. */
struct tw_prior_estimate {
	struct tw_prior_curve curve; /* W of the machine or share */
	double share;                /* of the unit that the view answers for */
	double error;                /* mean |error| over the loads, a share of W */
};

/*
 * TW_NOTFOUND if too little is known: the spec needs a processor of which the prior knows
 * the vendor, and the number of logical CPUs.
 */
int tw_prior_estimate(const struct tw_prior *p, const struct tw_machine_spec *s,
		      struct tw_prior_estimate *out, struct tw_err *err);

/*
 * Make the AbsPower model for a source with a platform, or with packages and DRAM
 * (TW_NOTFOUND for others), of the group of CPU time that the metrics have: BPFOnly or
 * NodeCPU (TW_NOTFOUND for others). *out must be all zero; it is yours:
 * tw_model_release().
 */
int tw_prior_model(const struct tw_prior *p, const struct tw_machine_spec *s,
		   const struct tw_energy_source *source, const struct tw_strs *metrics,
		   struct tw_model *out, struct tw_err *err);

#endif /* TW_MODEL_DB_PRIOR_MODEL_H */
