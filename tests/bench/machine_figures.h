/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TESTS_BENCH_MACHINE_FIGURES_H
#define TW_TESTS_BENCH_MACHINE_FIGURES_H

/* Errors of a method that predicts the power of machines, for bench-machines. */

#include "model-db/prior/prior.h"

#include <stddef.h>

struct tw_machine_table;

#define MACHINE_FOLDS 12
#define MACHINE_SPLIT_YEAR 2016

struct machine_figures {
	const char *name;
	double w[TW_PRIOR_ROWS_MAX][TW_PRIOR_LOADS]; /* NaN: no prediction */
	double inside[TW_PRIOR_ROWS_MAX];            /* share of the loads; may be NaN */
};

void machine_figures_clear(struct machine_figures *f);

/*
 * Print "protocol method n all idle half full median p90 coverage": mean absolute
 * percentage errors over eleven load points, at idle, 50 and 100 %; the median and the
 * 90th percentile of machines; and the coverage of 90 % intervals, with one weight a
 * processor. Nothing if there are no predictions.
 */
void machine_figures_print(const char *protocol, const struct machine_figures *f,
			   const struct tw_machine_table *t);

/* The fold of a processor; neighbours in the table fall apart. */
size_t machine_fold_of(size_t processor);

#endif /* TW_TESTS_BENCH_MACHINE_FIGURES_H */
