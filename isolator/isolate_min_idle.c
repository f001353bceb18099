/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MinIdleIsolator: subtract each component's lowest power.
 *
 *	P'[i] = P[i] - min P
 *
 * Validation rows, which do not contribute to the minimum, may become negative. They are
 * not clamped: that would hide the error of the minimum.
 */
#include "isolator/isolator.h"

#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>

struct idle {
	const struct tw_energy_source *source;
	double watts[TW_COMPONENT_COUNT]; /* in the source's order */
};

static double find_minimum(const double *v, size_t rows)
{
	double min = HUGE_VAL;

	for (size_t r = 0; r < rows; r++)
		if (v[r] < min)
			min = v[r];
	return min;
}

static int fit_min_idle(const struct tw_isolator_args *args, const struct tw_dataset *d,
			const struct tw_energy_source *source, void **state,
			struct tw_err *err)
{
	double *watts[TW_COMPONENT_COUNT];
	struct idle *idle;

	(void)args;
	if (d->rows == 0)
		return tw_fail(err, TW_INVALID, "no rows to find idle power in");
	if (tw_isolate_power(d, source, watts, err) < 0)
		return -1;
	idle = calloc(1, sizeof(*idle));
	if (idle == NULL)
		return tw_fail(err, TW_NOMEM, "idle power");
	idle->source = source;
	for (size_t k = 0; k < source->count; k++)
		if (watts[k] != NULL)
			idle->watts[k] = find_minimum(watts[k], d->rows);
	*state = idle;
	return 0;
}

static int apply_min_idle(const void *state, struct tw_dataset *d, struct tw_err *err)
{
	const struct idle *idle = state;
	double *watts[TW_COMPONENT_COUNT];

	if (tw_isolate_power(d, idle->source, watts, err) < 0)
		return -1;
	for (size_t k = 0; k < idle->source->count; k++)
		for (size_t r = 0; watts[k] != NULL && r < d->rows; r++)
			watts[k][r] -= idle->watts[k];
	return 0;
}

const struct tw_isolator tw_isolator_min_idle = {
	.name = "MinIdleIsolator",
	.summary = "subtracts each component's lowest power",
	.from_zero = true,
	.fit = fit_min_idle,
	.apply = apply_min_idle,
	.free = free,
};
