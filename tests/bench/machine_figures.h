/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_BENCH_MACHINE_FIGURES_H
#define TW_TESTS_BENCH_MACHINE_FIGURES_H

/* Errors of a method that predicts the power of machines, for bench-machines. */

#include "model-db/prior/prior.h"

#include <stddef.h>
#include <stdio.h>

#define MACHINE_PATH_MAX 512

/*
 * A line of the plan that tests/bench/bench_machines.py writes: a protocol, the file of a
 * prior, the file of that prior with weights of all other machines than those judged, and
 * the numbers of the judged machines.
 */
struct machine_case {
	char protocol[64];
	char learned[MACHINE_PATH_MAX];
	char conditioned[MACHINE_PATH_MAX];
	bool judged[TW_PRIOR_ROWS_MAX];
};

/* False at the end. A line that cannot be read ends the program. */
bool machine_case_next(FILE *plan, struct machine_case *out);

/* In place of the prior that *p has. A file that cannot be read ends the program. */
void machine_prior_load(const char *path, struct tw_prior *p);

struct machine_figures {
	const char *name;
	double w[TW_PRIOR_ROWS_MAX][TW_PRIOR_LOADS]; /* NaN: no prediction */
	double inside[TW_PRIOR_ROWS_MAX];            /* share of the known loads */
	/* Expected error, a share of the answer; NaN where the power is unknown. */
	double claimed[TW_PRIOR_ROWS_MAX][TW_PRIOR_LOADS];
	double width[TW_PRIOR_ROWS_MAX]; /* half of the interval of log W, mean of idle
					    and full */
};

void machine_figures_clear(struct machine_figures *f);

/*
 * Print "protocol method n all idle full median p90 coverage claimed width": mean
 * absolute percentage errors over the loads whose power is known, at idle and full load;
 * the median and the 90th percentile of machines; the coverage of 90 % intervals, with
 * one weight a processor; expected error over error; and the factor of the mean interval.
 * Nothing if there are no predictions. The machines are the rows of the prior.
 */
void machine_figures_print(const char *protocol, const struct machine_figures *f,
			   const struct tw_prior *p);

#endif /* TW_TESTS_BENCH_MACHINE_FIGURES_H */
