/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated meter for demos and tests. For each processor, at a load of u (0 to 1),
 *
 *	package	3 W + 9 W * u^0.8
 *	core	1 W + 8 W * u^0.8	(a part of package)
 *	dram	0.4 W + 0.8 W * u
 *
 * times uniform noise from 0.98 to 1.02, in counters that wrap like those of RAPL.
 */
#include "collector/meters/meter.h"
#include "collector/power/node.h"
#include "lib/core/array.h"
#include "lib/core/err.h"

#include <math.h>
#include <stdlib.h>

#define RANGE_UJ UINT64_C(262143328850)
#define NOISE 0.02

static const struct law {
	double idle_w, busy_w, power;
} laws[] = {
	{ 3.0, 9.0, 0.8 },
	{ 1.0, 8.0, 0.8 },
	{ 0.4, 0.8, 1.0 },
};

static const struct tw_zone fake_zones[TW_COUNT(laws)] = {
	{ .kind = TW_ZONE_PACKAGE,
	  .name = "package-0",
	  .path = "fake:package-0",
	  .range_uj = RANGE_UJ },
	{ .kind = TW_ZONE_CORE,
	  .name = "core",
	  .path = "fake:core",
	  .range_uj = RANGE_UJ },
	{ .kind = TW_ZONE_DRAM,
	  .name = "dram",
	  .path = "fake:dram",
	  .range_uj = RANGE_UJ },
};

struct fake {
	const struct tw_node *node;
	uint64_t energy_uj[TW_COUNT(laws)];
	uint32_t seed;
};

static int open_fake(const struct tw_meter_config *c, void **state, struct tw_err *err)
{
	struct fake *f = calloc(1, sizeof(*f));

	if (f == NULL)
		return tw_fail(err, TW_NOMEM, "fake meter");
	*f = (struct fake){ .node = c->node, .seed = c->seed };
	*state = f;
	return 0;
}

static const struct tw_zone *zones_of_fake(const void *state, size_t *count)
{
	(void)state;
	*count = TW_COUNT(laws);
	return fake_zones;
}

static double noise(struct fake *f)
{
	f->seed = f->seed * 1664525u + 1013904223u;
	return 1 + NOISE * (2.0 * (f->seed >> 8) / (1u << 24) - 1);
}

static void read_fake(void *state, struct tw_reading *out)
{
	struct fake *f = state;
	const double load = fmax(tw_node_load(f->node), 0);

	for (size_t i = 0; i < TW_COUNT(laws); i++) {
		const struct law *l = &laws[i];
		const double power_w = (l->idle_w + l->busy_w * pow(load, l->power)) *
				       f->node->cpus * noise(f);
		const double uj = power_w * (double)f->node->used_ns / 1e3;

		f->energy_uj[i] = (f->energy_uj[i] + (uint64_t)uj) % (RANGE_UJ + 1);
		out[i] = (struct tw_reading){ .readable = true,
					      .energy_uj = f->energy_uj[i] };
	}
}

static void close_fake(void *state)
{
	free(state);
}

const struct tw_meter tw_meter_fake = {
	.name = "fake",
	.summary = "a simulation by CPU time: no measurement",
	.only_by_name = true,
	.open = open_fake,
	.zones = zones_of_fake,
	.read = read_fake,
	.close = close_fake,
};
