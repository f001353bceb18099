/* SPDX-License-Identifier: Apache-2.0 */
#include "trainer/unit/sci.h"

#include "lib/core/date.h"
#include "lib/core/err.h"
#include "lib/field/rate.h"
#include "trainer/unit/unit_blocks.h"
#include "trainer/unit/unit_fit.h"

#include <math.h>

#define S_PER_YEAR (365.25 * 86400)

int tw_sci_compute(const struct tw_unit_blocks *b, const struct tw_sci_input *in,
		   struct tw_sci *out, struct tw_err *err)
{
	struct tw_sci s = { 0 };
	double seconds = 0;

	for (size_t i = 0; i < b->count; i++) {
		const double block_s = tw_unit_block_s(b, i);
		const double kwh =
			(b->energy_j[i] + b->idle_j[i] + in->idle_w * block_s) /
			TW_J_PER_KWH;
		const double g = isnan(in->intensity) ? b->intensity[i] : in->intensity;
		char from[TW_DATE_TEXT];

		if (isnan(g)) {
			tw_format_date_ms(b->bound_ms[i], from);
			return tw_fail(err, TW_NOTFOUND,
				       "no carbon intensity in the block from %s", from);
		}
		s.energy_kwh += kwh;
		s.operational_g += kwh * g;
		s.units += b->work[i * b->works + in->work];
		seconds += block_s;
	}
	s.intensity = s.operational_g / s.energy_kwh;
	s.embodied_g = 1e3 * in->embodied_kg * in->reserved * seconds /
		       (in->lifespan_years * S_PER_YEAR);
	s.g_per_unit = (s.operational_g + s.embodied_g) / s.units;
	*out = s;
	return 0;
}
