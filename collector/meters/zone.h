/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ZONE_H
#define TW_COLLECTOR_ZONE_H

/*
 * Zones: the parts of a machine with separate energy. A machine may have several zones of
 * a kind, such as a package for each socket. Kinds overlap: core and uncore are parts of
 * package, and psys or platform contain everything, so kinds are never summed.
 */

#include "lib/core/num.h"

#include <stdbool.h>
#include <stdint.h>

enum tw_zone_kind {
	TW_ZONE_PACKAGE, /* a socket, or a die if RAPL counts by die */
	TW_ZONE_CORE,
	TW_ZONE_UNCORE,
	TW_ZONE_DRAM,
	TW_ZONE_PSYS,     /* the whole SoC or board, by RAPL */
	TW_ZONE_PLATFORM, /* the machine at its power inlet: ACPI, BMC */
	TW_ZONE_GPU,
	TW_ZONE_OTHER,  /* calculated: platform without package, dram and gpu */
	TW_ZONE_SENSOR, /* unknown coverage, see the name: never part of a sum */
	TW_ZONE_KIND_COUNT
};

/* "package", "core", "uncore", "dram", "psys", "platform", "gpu", "other", "sensor". */
const char *tw_zone_kind_name(enum tw_zone_kind kind);

/* Emissions and costs of energy. */
enum tw_tariff { TW_TARIFF_CO2E, TW_TARIFF_PRICE, TW_TARIFF_COUNT };

/*
 * Energy charged to a workload or to the node, by kind of zone, in whole microjoules, and
 * what that energy emitted, in picograms of CO2e, and cost, in 10^-12 of the currency. It
 * only grows: 64 bits would wrap around at 18.4 million grams.
 */
struct tw_charge {
	uint64_t dynamic_uj[TW_ZONE_KIND_COUNT];
	uint64_t idle_uj[TW_ZONE_KIND_COUNT];
	tw_u128 tariff_pico[TW_TARIFF_COUNT];
};

/* Energy of a package in a tick, without its idle part. */
struct tw_package_energy {
	uint64_t dynamic_uj[TW_ZONE_KIND_COUNT];
	/* It was used in that tick, all of it: what ran may be learned to cause it. */
	bool whole[TW_ZONE_KIND_COUNT];
	/* False: its idle part is not known, and is in it. */
	bool idle_known[TW_ZONE_KIND_COUNT];
};

/* Add more to to. */
void tw_charge_add(struct tw_charge *to, const struct tw_charge *more);

/* The energy, dynamic and idle, of the kinds whose bits (1 << kind) are set, in uJ. */
uint64_t tw_charge_sum(const struct tw_charge *c, unsigned kinds);

/* Add what the energy of these kinds emitted and cost, rounded. */
void tw_charge_add_tariff(struct tw_charge *c, unsigned kinds,
			  const double pico_per_uj[TW_TARIFF_COUNT]);

#endif /* TW_COLLECTOR_ZONE_H */
