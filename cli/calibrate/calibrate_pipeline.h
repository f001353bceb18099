/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_CLI_CALIBRATE_PIPELINE_H
#define TW_CLI_CALIBRATE_PIPELINE_H

/*
 * The pipeline of a calibrated machine: its curve as a model for estimators, and linear
 * weights of CPU time for Kepler, each with a certificate.
 */

#include <stddef.h>

struct tw_err;
struct tw_fileset;
struct tw_machine_spec;
struct tw_prior_estimate;
struct tw_power_reading;

/* *out must be empty; it is yours. */
int tw_calibrate_pipeline(const char *name, const struct tw_prior_estimate *e,
			  const struct tw_machine_spec *spec,
			  const struct tw_power_reading *r, size_t readings,
			  struct tw_fileset *out, struct tw_err *err);

#endif /* TW_CLI_CALIBRATE_PIPELINE_H */
