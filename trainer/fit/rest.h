/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_REST_H
#define TW_TRAINER_REST_H

/*
 * The power at rest that samples support: the target of fits and of certificates at zero
 * load (docs/accuracy.md, "Certificate").
 *
 * Load is one feature, tw_load_feature(). Idle power and its interval follow from the
 * rows with the lowest load (isolator/idle_power.h). If the machine never rested, no
 * intercept is known to be right, and the interval is 0 to the mean power of the lowest 2
 * % of the loads.
 */

#include <stdbool.h>
#include <stddef.h>

struct tw_err;
struct tw_samples;

struct tw_rest {
	size_t load;      /* index of the feature that measures load */
	double watts;     /* power at rest, within the interval */
	double low, high; /* interval of the power at rest, W */
	double low_load;  /* the lowest 2 % of the loads end here */
	double low_watts; /* mean power of these rows, at least that at rest */
	bool rested;      /* rows at rest are among the samples */
	/*
	 * The features show rest: rows with the lowest load draw about the lowest power.
	 * False if CPU time is missing from the recording.
	 */
	bool shown;
	/*
	 * CPU time and cycles contradict each other: among busy rows, a twentieth or more
	 * has more cycles per CPU second than any processor runs.
	 */
	bool contradicted;
};

/*
 * s has passed tw_samples_check(). If power is 0 W at zero features by definition
 * (from_zero), so is the power at rest. If s->rest is known, the result is a copy of it.
 */
int tw_rest_find(const struct tw_samples *s, struct tw_rest *out, struct tw_err *err);

/* The power within the interval that is nearest to watts. */
double tw_rest_limit(const struct tw_rest *r, double watts);

/*
 * Whether a twentieth or more of the busy rows has more cycles than CPU time can hold.
 * cycles: events/s; cpu_ms: ms/s.
 */
bool tw_rest_contradicts(const double *cycles, const double *cpu_ms, size_t rows);

#endif /* TW_TRAINER_REST_H */
