/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run_tariff.h"

#include "lib/core/clock.h"
#include "lib/core/err.h"

#include <math.h>
#include <string.h>

int tw_run_tariff_open(struct tw_run_tariff *t, char *const given[TW_TARIFF_COUNT],
		       struct tw_err *err)
{
	static const char *const options[TW_TARIFF_COUNT] = { "--carbon", "--price" };

	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		if (given[i] != NULL && tw_rate_open(given[i], &t->rate[i], err) < 0)
			return tw_err_wrap(err, "%s", options[i]);
	return 0;
}

void tw_run_tariff_release(struct tw_run_tariff *t)
{
	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		tw_rate_release(&t->rate[i]);
}

void tw_run_tariff_begin(struct tw_run_tariff *t)
{
	memset(t->sum, 0, sizeof(t->sum));
	t->count = 0;
}

void tw_run_tariff_look(struct tw_run_tariff *t, const struct tw_run_rates *of)
{
	for (int i = 0; i < TW_TARIFF_COUNT; i++) {
		double v = of != NULL ? of->per_kwh[i] : NAN;

		if (t->rate[i].count > 0)
			v = tw_rate_at(&t->rate[i], tw_wall_ms());
		t->sum[i] += v;
	}
	t->count++;
}

struct tw_run_rates tw_run_tariff_end(const struct tw_run_tariff *t)
{
	struct tw_run_rates r;

	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		r.per_kwh[i] = t->count > 0 ? t->sum[i] / t->count : NAN;
	return r;
}
