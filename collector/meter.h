/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_METER_H
#define TW_COLLECTOR_METER_H

/*
 * Meters: what can tell the energy or the power of zones. One file each,
 * collector/meter_<name>.c, with a const entry in the registry, most trusted first.
 */

#include "collector/zone.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;
struct tw_roots;

#define TW_ZONES_MAX 64 /* of one meter */
#define TW_ZONE_NAME 64

/* A zone of a meter. Does not change while the meter is open. */
struct tw_zone {
	enum tw_zone_kind kind;
	char name[TW_ZONE_NAME]; /* "package-0", "package-0-die-1", "dram": the meter's
				    own */
	int package, die;        /* -1: not told */
	/* Largest value of an energy counter before it is 0 again, in uJ; 0: it tells
	 * power in W instead. */
	uint64_t range_uj;
	uint64_t window_ms; /* what a power value is the average of; 0: not known */
};

/* What a zone showed. */
struct tw_reading {
	bool there;         /* false: not readable now; why is in the error */
	uint64_t energy_uj; /* where range_uj is not 0 */
	double power_w;     /* where it is */
};

struct tw_meter_config {
	const struct tw_roots *roots;
};

struct tw_meter {
	const char *name;    /* "rapl-sysfs": source in metrics */
	const char *summary; /* one line */
	/* *state is yours: close(). Fails with why where the machine has no such meter.
	 */
	int (*open)(const struct tw_meter_config *c, void **state, struct tw_err *err);
	/* Lives as long as the state. */
	const struct tw_zone *(*zones)(const void *state, size_t *count);
	/* One reading for each zone. Fails only if no zone could be read. No
	 * allocation. */
	int (*read)(void *state, uint64_t now_ns, struct tw_reading *out,
		    struct tw_err *err);
	void (*close)(void *state); /* NULL is fine */
};

size_t tw_meter_count(void);
const struct tw_meter *tw_meter_at(size_t i);

/* NULL if there is none. */
const struct tw_meter *tw_meter_find(const char *name);

#endif /* TW_COLLECTOR_METER_H */
