/* SPDX-License-Identifier: Apache-2.0 */
/* The meter "model": power by trained models, see collector/power/estimates.h. */
#include "collector/meters/meter.h"
#include "collector/power/estimates.h"
#include "lib/core/err.h"

static int open_model(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	if (c->estimates == NULL)
		return tw_fail(err, TW_NOTFOUND, "no model is configured (--model)");
	if (!tw_estimates_wanted(c->estimates, c->measured))
		return tw_fail(
			err, TW_NOTFOUND,
			"a meter measures this machine (--model-db adds estimates)");
	*state = c->estimates;
	return 0;
}

static const struct tw_zone *zones_of_model(const void *state, size_t *count)
{
	return tw_estimates_zones(state, count);
}

static void read_model(void *state, struct tw_reading *out)
{
	tw_estimates_read(state, out);
}

static bool retires_model(void *state, unsigned measured)
{
	if (tw_estimates_wanted(state, measured))
		return false;
	tw_estimates_retire(state);
	return true;
}

/* The owner of the estimates closes them. */
static void close_model(void *state)
{
	(void)state;
}

const struct tw_meter tw_meter_model = {
	.name = "model",
	.summary = "an estimate by a trained model: no measurement",
	.open = open_model,
	.zones = zones_of_model,
	.read = read_model,
	.retires = retires_model,
	.close = close_model,
};
