/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TW_TRAINER_SCI_H
#define TW_TRAINER_SCI_H

/*
 * The Software Carbon Intensity of a recording (SCI specification 1.1 of the Green
 * Software Foundation, ISO/IEC 21031:2024):
 *
 *	SCI = (E * I + M) / R,	M = TE * TS * RS
 *
 * E: energy of the software, kWh, with its idle energy, since that was reserved for it;
 * I: carbon intensity of that energy, gCO2e/kWh; R: units of work; TE: embodied emissions
 * of the hardware, g; TS: the recording's share of its lifespan; RS: the reserved share
 * of it.
 */

#include <stddef.h>

struct tw_err;
struct tw_unit_blocks;

struct tw_sci_input {
	size_t work;      /* the counter that is R */
	double idle_w;    /* a constant, beside idle_j of the blocks */
	double intensity; /* gCO2e/kWh; NaN: the blocks' */
	double embodied_kg, lifespan_years, reserved; /* reserved: 0..1 */
};

struct tw_sci {
	double energy_kwh, intensity; /* mean, weighted by energy */
	double operational_g, embodied_g, units, g_per_unit;
};

/* TW_NOTFOUND if a block has no intensity. */
int tw_sci_compute(const struct tw_unit_blocks *b, const struct tw_sci_input *in,
		   struct tw_sci *out, struct tw_err *err);

#endif /* TW_TRAINER_SCI_H */
