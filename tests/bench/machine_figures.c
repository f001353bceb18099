/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/machine_figures.h"

#include "lib/core/num.h"
#include "trainer/machines/machine_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LAST (TW_PRIOR_LOADS - 1)

void machine_figures_clear(struct machine_figures *f)
{
	for (size_t i = 0; i < TW_PRIOR_ROWS_MAX; i++)
		f->w[i][0] = NAN;
}

static double error_at(const struct machine_figures *f, const struct tw_machine_table *t,
		       size_t i, size_t l)
{
	return fabs(f->w[i][l] / t->machine[i].w[l] - 1);
}

void machine_figures_print(const char *protocol, const struct machine_figures *f,
			   const struct tw_machine_table *t)
{
	double machine[TW_PRIOR_ROWS_MAX], all = 0, idle = 0, half = 0, full = 0;
	double *inside = calloc(2 * t->processors, sizeof(*inside)), covered = 0;
	size_t n = 0, processors = 0;

	if (inside == NULL)
		exit(1);
	for (size_t i = 0; i < t->count; i++) {
		if (isnan(f->w[i][0]))
			continue;
		machine[n] = 0;
		for (size_t l = 0; l < TW_PRIOR_LOADS; l++)
			machine[n] += error_at(f, t, i, l) / TW_PRIOR_LOADS;
		all += machine[n++];
		idle += error_at(f, t, i, 0);
		half += error_at(f, t, i, TW_PRIOR_LOADS / 2);
		full += error_at(f, t, i, LAST);
		inside[2 * t->machine[i].processor] += f->inside[i];
		inside[2 * t->machine[i].processor + 1]++;
	}
	for (size_t p = 0; p < t->processors; p++)
		if (inside[2 * p + 1] > 0) {
			covered += inside[2 * p] / inside[2 * p + 1];
			processors++;
		}
	free(inside);
	if (n == 0)
		return;
	qsort(machine, n, sizeof(*machine), tw_compare_doubles);
	printf("%s %s %zu %.2f %.2f %.2f %.2f %.2f %.2f %.1f\n", protocol, f->name, n,
	       100 * all / (double)n, 100 * idle / (double)n, 100 * half / (double)n,
	       100 * full / (double)n, 100 * machine[n / 2], 100 * machine[n * 9 / 10],
	       100 * covered / (double)processors);
}

size_t machine_fold_of(size_t processor)
{
	return processor * 7919 % MACHINE_FOLDS;
}
