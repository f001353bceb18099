/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/meters/zone.h"

static const char *const names[TW_ZONE_KIND_COUNT] = {
	[TW_ZONE_PACKAGE] = "package", [TW_ZONE_CORE] = "core",
	[TW_ZONE_UNCORE] = "uncore",   [TW_ZONE_DRAM] = "dram",
	[TW_ZONE_PSYS] = "psys",       [TW_ZONE_PLATFORM] = "platform",
	[TW_ZONE_GPU] = "gpu",         [TW_ZONE_OTHER] = "other",
	[TW_ZONE_SENSOR] = "sensor",
};

const char *tw_zone_kind_name(enum tw_zone_kind kind)
{
	return names[kind];
}

void tw_charge_add(struct tw_charge *to, const struct tw_charge *more)
{
	for (int i = 0; i < TW_ZONE_KIND_COUNT; i++) {
		to->dynamic_uj[i] += more->dynamic_uj[i];
		to->idle_uj[i] += more->idle_uj[i];
	}
	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		to->tariff_pico[i] += more->tariff_pico[i];
}

uint64_t tw_charge_sum(const struct tw_charge *c, unsigned kinds)
{
	uint64_t sum = 0;

	for (int k = 0; k < TW_ZONE_KIND_COUNT; k++)
		if ((kinds >> k & 1) != 0)
			sum += c->dynamic_uj[k] + c->idle_uj[k];
	return sum;
}

void tw_charge_add_tariff(struct tw_charge *c, unsigned kinds,
			  const double pico_per_uj[TW_TARIFF_COUNT])
{
	const double uj = (double)tw_charge_sum(c, kinds);

	for (int i = 0; i < TW_TARIFF_COUNT; i++)
		c->tariff_pico[i] += (tw_u128)(uj * pico_per_uj[i] + 0.5);
}
