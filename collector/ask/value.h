/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_COLLECTOR_VALUE_H
#define TW_COLLECTOR_VALUE_H

/*
 * Values of a user's own meter: a number in a stated unit. A unit is of power, which is a
 * gauge, or of energy, which is a counter that grows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tw_err;

enum tw_unit {
	TW_UNIT_W,
	TW_UNIT_MW,
	TW_UNIT_UW,
	TW_UNIT_J,
	TW_UNIT_MJ,
	TW_UNIT_UJ,
	TW_UNIT_WH,
	TW_UNIT_KWH,
	TW_UNIT_COUNT
};

/* "W", "mW", "uW", "J", "mJ", "uJ", "Wh", "kWh", then NULL. */
extern const char *const tw_unit_names[];

/* Whether a unit is of energy. */
bool tw_unit_is_energy(enum tw_unit unit);

struct tw_value {
	double power_w;     /* of a unit of power */
	uint64_t energy_uj; /* of a unit of energy */
};

/*
 * Parse s[0..len), a number with blanks around it. TW_PARSE if it is not a number;
 * TW_INVALID if it is below 0 or larger than any meter's: 1 GW, or 10^12 J.
 */
int tw_value_parse(const char *s, size_t len, enum tw_unit unit, struct tw_value *out,
		   struct tw_err *err);

#endif /* TW_COLLECTOR_VALUE_H */
