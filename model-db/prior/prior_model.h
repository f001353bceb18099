/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_MODEL_DB_PRIOR_MODEL_H
#define TW_MODEL_DB_PRIOR_MODEL_H

/*
 * A model of a machine, made of the prior and the machine's spec: linear weights of CPU
 * time, which are non-negative and add up over shares. docs/machines.md has the formula.
 *
 * Wall power is the platform component of `acpi`. Package and DRAM power of rapl-sysfs
 * follow from TDP and memory, else from wall power, and are marked as derived.
 */

#include "lib/field/energy.h"
#include "model-db/prior/prior_answer.h"
#include "profiler/spec.h"

struct tw_err;
struct tw_model;

/* The power of a whole machine, or of the share of it that the spec has. */
struct tw_prior_estimate {
	struct tw_prior_curve curve; /* W of the machine or share */
	double share;                /* of the unit that the view answers for */
	double error;                /* mean |error| over the loads, a share of W */
	size_t readings;             /* of the machine itself; 0: the prior */
	/* TDP of its packages, and the factor by which it may be wrong; NaN: unknown. */
	double tdp_w, tdp_factor;
};

/* Metadata of a calibrated model: "match", and the number of readings. */
#define TW_PRIOR_CALIBRATED "calibrated prior"
#define TW_PRIOR_READINGS "prior_readings"
/* The trainer of a model that is the curve itself. */
#define TW_PRIOR_CURVE_TRAINER "CalibratedPrior"

/* The part of a chip, or the number of cores, that the machine has. */
double tw_prior_share(const struct tw_prior_view *v, const struct tw_machine_spec *s,
		      const struct tw_prior_machine *m);

/*
 * Make of an estimate of the view's unit (error is not set) that of its share.
 * TW_NOTFOUND if its power is not a number above 0.
 */
int tw_prior_take_share(const struct tw_prior_estimate *of_unit,
			struct tw_prior_estimate *out, struct tw_err *err);

/*
 * The logical CPUs are those of a typical machine if the table has neither the vendor nor
 * an architecture of the processor's line, or no chip of so low a TDP. TW_NOTFOUND if the
 * spec lacks the number of logical CPUs, TW_UNSUPPORTED for a mainframe.
 */
int tw_prior_estimate(const struct tw_prior *p, const struct tw_machine_spec *s,
		      struct tw_prior_estimate *out, struct tw_err *err);

/*
 * Make the AbsPower model of an estimate: for a source with a platform, or with packages
 * and DRAM (TW_NOTFOUND for others), of the group of CPU time that the metrics have:
 * BPFOnly or NodeCPU (TW_NOTFOUND for others). *out must be all zero; it is yours:
 * tw_model_release().
 */
int tw_prior_model_of(const struct tw_prior_estimate *e, const struct tw_machine_spec *s,
		      const struct tw_energy_source *source,
		      const struct tw_strs *metrics, struct tw_model *out,
		      struct tw_err *err);

/*
 * A model of wall power (acpi, BPFOnly) that is the curve, straight between its loads. It
 * has no weights.
 */
int tw_prior_curve_model(const struct tw_prior_estimate *e,
			 const struct tw_machine_spec *s, struct tw_model *out,
			 struct tw_err *err);

#endif /* TW_MODEL_DB_PRIOR_MODEL_H */
