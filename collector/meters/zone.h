/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_ZONE_H
#define TW_COLLECTOR_ZONE_H

/*
 * Zones: the parts of a machine whose energy is told apart. A kind may be there several
 * times (a package for each socket). Kinds overlap: core, uncore and dies are parts of
 * package, and psys or platform contain them all, so kinds are never summed.
 */

#include <stdbool.h>
#include <stdint.h>

enum tw_zone_kind {
	TW_ZONE_PACKAGE, /* a socket's, or a die's where RAPL is by die */
	TW_ZONE_CORE,
	TW_ZONE_UNCORE,
	TW_ZONE_DRAM,
	TW_ZONE_PSYS,     /* RAPL's whole SoC or board */
	TW_ZONE_PLATFORM, /* the machine at its inlet: ACPI, BMC */
	TW_ZONE_GPU,
	TW_ZONE_OTHER,  /* of platform what is none of package, dram and gpu: reckoned */
	TW_ZONE_SENSOR, /* something; only its name says what: never a part of any sum */
	TW_ZONE_KIND_COUNT
};

/* "package", "core", "uncore", "dram", "psys", "platform", "gpu", "other", "sensor". */
const char *tw_zone_kind_name(enum tw_zone_kind kind);

/*
 * Energy charged to a workload or to the node, by kind of zone. Whole microjoules that
 * only grow.
 */
struct tw_charge {
	uint64_t dynamic_uj[TW_ZONE_KIND_COUNT];
	uint64_t idle_uj[TW_ZONE_KIND_COUNT];
};

/* to += more. */
void tw_charge_add(struct tw_charge *to, const struct tw_charge *more);

#endif /* TW_COLLECTOR_ZONE_H */
